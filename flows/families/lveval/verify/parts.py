"""Proves that each pair, document, fact, rule and keyword is what it claims."""

import re
from collections.abc import Iterable, Iterator

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify.answers import keyword_problems, rule_problems
from flows.families.lveval.verify.case import BORDER, CLOSING, LONGEST_SENTENCE, count, plain, says_something, yes_or_no
from flows.families.lveval.verify.origins import is_corrected, missing_rules
from flows.language import Language, keywords, language_of
from flows.language.en.names import is_of_a_people, same_name
from flows.language.matter import speaks_of_another
from schemas.base import content_hash, key_of
from schemas.lveval import AnswerKeywords, ConfusingFact, Pair, PoolDocument, Replacements, RuleConflicts

LEAST_IN_COMMON = 2  # content words (characters) of question or original fact that a confusing fact has
LONGEST_FACT = {"en": 120, "zh": 240}  # words (characters) of a confusing fact
_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_EMPTY_HAN = frozenset(
    "的了着过地得之是在于与和及或而但也都就还又则并且以为被把将对从由向到等其该这那此他她它有一个所者不无我你们"
    "什么谁哪如何怎样多少几年月日"
)
_CAPITALISED = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’']*")
_NAME_AT_FIRST = re.compile(r"(?:[A-ZÀ-ÖØ-Þ0-9][\w’'.-]*[\s,]*(?:(?:of|the|and|for|in|de|la|von|van)\s+)*)*")
_DECLARED = {"en": re.compile(rf"[.!…]{CLOSING}\Z"), "zh": re.compile(rf"[。！….!．]{CLOSING}\Z")}


def verify_pairs(rows: Iterable[Pair], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that each is a question whose documents contain an answer, and that none occurs twice in a dataset."""
    seen, known = Seen(), ctx.settings.known
    for row in rows:
        dataset = known.get(row.dataset)
        problems = [*seen.twice("key", row.key), *dataset_problems(row, dataset)]
        problems += seen.twice("question with these answers", row.dataset, row.question, row.answers)
        if dataset is not None:
            problems += _pair_problems(row, dataset)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _pair_problems(row: Pair, dataset: Dataset) -> Iterator[str]:
    language = language_of(dataset.language)
    if not says_something(row.question):
        yield "the question is empty"
    for answer in row.answers:
        if not says_something(answer):
            yield f"the answer {answer!r} says nothing"
    if not all(map(yes_or_no, row.answers)) and not any(
        language.contains(document.text, answer) for document in row.documents for answer in row.answers
    ):
        yield f"no document holds the answer {row.answers[0]!r}"
    if dataset.longest_answer is not None and (length := count(row.answers[0], row.language)) > dataset.longest_answer:
        yield f"the answer has {length} words, at most {dataset.longest_answer} are wanted"
    if len({document.id for document in row.documents}) != len(row.documents):
        yield "two of its documents have one id"
    for document in row.documents:
        if not document.text.strip():
            yield f"the document {document.id!r} is empty"


def verify_documents(rows: Iterable[PoolDocument], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that none is empty, and no two of a dataset have the same text; only a book may repeat itself."""
    seen, known = Seen(), ctx.settings.known
    for row in rows:
        dataset = known.get(row.dataset)
        problems = [*seen.twice("key", row.key), *dataset_problems(row, dataset)]
        if dataset is None or not dataset.recalls_fact:
            problems += seen.twice("text", row.dataset, row.text)
        if not row.text.strip():
            problems.append("the text is empty")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_replacements(rows: Iterable[Replacements], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that the rules of a pair can be undone, and that each replaces something."""
    seen, known = Seen(), ctx.settings.known
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row, known.get(row.dataset), "replacements")]
        problems += seen.twice("pair", row.pair_id)
        if row.language in LONGEST_SENTENCE:
            problems += rule_problems(row.rules, row.language)
            text = BORDER.join((row.question, *row.answers, *row.excerpts))
            olds = [rule.old for rule in row.rules]
            for old in sorted(set(olds) - keywords.occurs(text, olds, row.language)):
                problems.append(f"the keyword {old!r} stands in no question, answer or excerpt")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_conflicts(rows: Iterable[RuleConflicts], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that each conflict is of a rule and shows where, and that the rules come from those proposed.

    If people's decisions are there, they distinguish a rule that people left out from a lost rule, and a pair whose
    rules people rejected from a missing pair.
    """
    proposed = ctx.rows_by("replacements", lambda proposal: proposal.pair_id)
    is_known = bool(proposed)
    verdicts = ctx.verdicts("conflicts") if ctx.verdicts is not None else None
    pairs = set()
    for row in rows:
        pairs.add(row.pair_id)
        before = proposed.get(row.pair_id)
        if is_known and (before is None or before.id not in row.provenance.parents):
            problem = "it was not made from its pair's rules in 'replacements' as they stand there"
            yield Fault(id=row.id, problem=problem)
        elif before is not None and verdicts is not None and not is_corrected(row, verdicts):
            for rule in missing_rules(before.rules, row.rules):
                yield Fault(id=row.id, problem=f"the rule {rule} was lost: it stands in 'replacements'")
        keywords_of_rules = {rule.old for rule in row.rules}
        for conflict in row.conflicts:
            if conflict.old not in keywords_of_rules:
                yield Fault(id=row.id, problem=f"a conflict of {conflict.old!r}, which is the keyword of no rule")
            if not conflict.excerpt.strip():
                yield Fault(id=row.id, problem=f"the conflict of {conflict.old!r} shows nothing")
    if verdicts is not None:
        rejected = {key for key, verdict in verdicts.items() if verdict.decision == "reject"}
        for proposal in proposed.values():
            if proposal.pair_id not in pairs and key_of("lveval", "conflicts", proposal.key, None) not in rejected:
                yield Fault(id=proposal.id, problem="the rules of its pair were lost: 'conflicts' has none of them")


def verify_keywords(rows: Iterable[AnswerKeywords], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that each keyword is a word of the answer, and that they are in its order."""
    seen, known = Seen(), ctx.settings.known
    for row in rows:
        dataset = known.get(row.dataset)
        problems = [*seen.twice("key", row.key), *dataset_problems(row, dataset, "keywords")]
        problems += seen.twice("pair", row.pair_id)
        if dataset is not None:
            wrong = list(keyword_problems(row.keywords, row.answer, dataset))
            problems += wrong or _sequence_problems(row)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _sequence_problems(row: AnswerKeywords) -> Iterator[str]:
    answer, at = row.answer.casefold(), 0
    for keyword in row.keywords.casefold().split():
        if (place := answer.find(keyword, at)) < 0:
            yield f"the keyword {keyword!r} is out of the answer's order"
            return
        at = place + len(keyword)


def dataset_problems(
    row: Pair | PoolDocument | ConfusingFact | Replacements | AnswerKeywords, dataset: Dataset | None, has: str = "name"
) -> Iterator[str]:
    """Check that the row's dataset is known, of its language, and has such records."""
    if dataset is None:
        yield f"no dataset is called {row.dataset!r}"
        return
    if row.language != dataset.language:
        yield f"its language is {row.language!r}, that of {row.dataset} {dataset.language!r}"
    if not getattr(dataset, has):
        yield f"{row.dataset} has no {has.replace('_', ' ')}"


class Seen:
    """Checksums of the values so far."""

    def __init__(self) -> None:
        self._before: set[str] = set()

    def twice(self, what: str, *values: object) -> Iterator[str]:
        """Yield a problem if the same values came before under that name."""
        name = content_hash(what, *values)
        if name in self._before:
            yield f"its {what} stands twice"
        self._before.add(name)


def verify_facts(rows: Iterable[ConfusingFact], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that each fact is near the question and does not answer it; a pair has at most one fact of each kind."""
    seen, known = Seen(), ctx.settings.known
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row, known.get(row.dataset), "confusing_facts")]
        problems += seen.twice(f"fact with another {row.changes} of this pair", row.pair_id, row.changes)
        if row.language in LONGEST_SENTENCE:
            problems += _confusion_problems(row, language_of(row.language))
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _confusion_problems(row: ConfusingFact, language: Language) -> Iterator[str]:
    if not _DECLARED[row.language].search(row.fact.strip()):
        yield f"the fact is no statement: it ends with {row.fact.strip()[-1:]!r}"
    for answer in row.answers:
        if not yes_or_no(answer) and language.contains(row.fact, answer):
            yield f"the fact holds the answer {answer!r}"
    asked = f"{row.question}\n{row.original_fact}"
    common = _meaningful(asked, row.language, language) & _meaningful(row.fact, row.language, language)
    by_name = row.changes == "object" and row.language == "en" and bool(_names(row.question))
    if len(common) < (least := 1 if by_name else LEAST_IN_COMMON):
        unit = "characters" if row.language == "zh" else "content words"
        yield f"the fact has {len(common)} {unit} of question and original, expected {least} or more"
    if plain(row.fact) == plain(row.original_fact):
        yield "the fact is the original one"
    if (length := count(row.fact, row.language)) > (most := LONGEST_FACT[row.language]):
        yield f"the fact has {length} {'characters' if row.language == 'zh' else 'words'}, at most {most} are wanted"
    if row.language == "en":
        yield from _subject_problems(row, language)
    if _says_all_that_is_asked(row, language):
        yield "the fact says all that the question asks about, and may answer it"


def _meaningful(text: str, code: str, language: Language) -> frozenset[str]:
    return frozenset(_HAN.findall(text)) - _EMPTY_HAN if code == "zh" else language.content_words(text)


def _subject_problems(row: ConfusingFact, language: Language) -> Iterator[str]:
    """Check names: a subject fact with the question's names says less than is asked; an object fact has one of them.

    For an object fact, the name that begins the original also counts: a question may only describe its subject.
    """
    asked, words = _names(row.question), _folded_words(row.fact)
    begins = _NAME_AT_FIRST.match(row.original_fact)
    if row.changes == "subject" and asked and asked <= frozenset(words):
        if not speaks_of_another(row.language, row.question, row.fact) and language.content_words(
            row.question
        ) <= language.content_words(row.fact):
            yield "the fact with another subject says all that the question does"
        return
    named = [name for name in asked if not is_of_a_people(name)]
    leading = language.content_words(begins[0]) if begins else frozenset()
    names = asked | frozenset(_folded_words(" ".join(leading)))
    if row.changes == "object" and named and not any(same_name(name, word) for name in names for word in words):
        yield "the fact with another object names nothing that the question names"


def _names(text: str) -> frozenset[str]:
    """Return the capitalised words; the first word of the text only if another capitalised one follows."""
    words = _CAPITALISED.findall(text)
    begins = _CAPITALISED.match(text.lstrip()) is not None
    alone = begins and not re.match(r"\W*\w+\s+[^\W\d_a-z]", text)
    return frozenset(word for name in (words[1:] if alone else words) for word in _folded_words(name))


def _folded_words(text: str) -> list[str]:
    """Return the words in lower case, without possessives and plurals."""
    words = re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", text).casefold())
    return [word.removesuffix("es").removesuffix("s") for word in words if len(word) > 1]


def _says_all_that_is_asked(row: ConfusingFact, language: Language) -> bool:
    asked = language.content_words(row.question)
    if not asked or not asked <= language.content_words(row.fact):
        return False
    if speaks_of_another(row.language, row.question, row.fact):
        return False
    of = "other" if yes_or_no(row.answers[0]) else language.answer_type(row.answers[0], row.question)
    named = (row.fact[start:end] for start, end in language.spans_of_type(row.fact, of)) if of != "other" else ()
    return of == "other" or any(not language.contains(row.question, name) for name in named)
