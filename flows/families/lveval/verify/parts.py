"""Proves of pairs, documents, rules and keywords that each is what it claims."""

from collections.abc import Iterable, Iterator

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval import datasets
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify.answers import keyword_problems
from flows.families.lveval.verify.origins import is_corrected, missing_rules
from flows.families.lveval.verify.replacements import rule_problems
from flows.families.lveval.verify.texts import BORDER, LONGEST_SENTENCE, count, says_something, yes_or_no
from flows.language import keywords, language_of
from schemas.base import content_hash, key_of
from schemas.lveval import AnswerKeywords, Pair, PoolDocument, Replacements, RuleConflicts


def verify_pairs(rows: Iterable[Pair], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that each is a question whose documents hold an answer, and that none stands twice in a dataset."""
    seen = Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row.dataset, row.language)]
        problems += seen.twice("question with these answers", row.dataset, row.question, row.answers)
        if row.dataset in datasets.BY_NAME:
            problems += _pair_problems(row, datasets.BY_NAME[row.dataset])
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
    seen = Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row.dataset, row.language)]
        if not (row.dataset in datasets.BY_NAME and datasets.BY_NAME[row.dataset].recalls_fact):
            problems += seen.twice("text", row.dataset, row.text)
        if not row.text.strip():
            problems.append("the text is empty")
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def verify_replacements(rows: Iterable[Replacements], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that the rules of a pair can be undone, and that each replaces something."""
    seen = Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row.dataset, row.language, "replacements")]
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

    Where their decisions are there, they tell a rule that people left out from one that was lost, and a pair whose
    rules people rejected from one that is missing.
    """
    proposed = {proposal.pair_id: proposal for proposal in ctx.rows("replacements")}
    verdicts = ctx.verdicts("conflicts") if ctx.verdicts is not None else None
    pairs = set()
    for row in rows:
        pairs.add(row.pair_id)
        before = proposed.get(row.pair_id)
        if proposed and (before is None or before.id not in row.provenance.parents):
            yield Fault(
                id=row.id, problem="it was not made from its pair's rules in 'replacements' as they stand there"
            )
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
    """Check that each keyword is a word of the answer, and that they stand in its order."""
    seen = Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row.dataset, row.language, "keywords")]
        problems += seen.twice("pair", row.pair_id)
        if row.dataset in datasets.BY_NAME:
            wrong = list(keyword_problems(row.keywords, row.answer, datasets.BY_NAME[row.dataset]))
            problems += wrong or _sequence_problems(row)
        yield from (Fault(id=row.id, problem=problem) for problem in problems)


def _sequence_problems(row: AnswerKeywords) -> Iterator[str]:
    answer, at = row.answer.casefold(), 0
    for keyword in row.keywords.casefold().split():
        if (place := answer.find(keyword, at)) < 0:
            yield f"the keyword {keyword!r} is out of the answer's order"
            return
        at = place + len(keyword)


def dataset_problems(name: str, language: str, has: str = "name") -> Iterator[str]:
    """Check that the dataset is known, of this language, and has such records."""
    dataset = datasets.BY_NAME.get(name)
    if dataset is None:
        yield f"no dataset is called {name!r}"
        return
    if language != dataset.language:
        yield f"its language is {language!r}, that of {name} {dataset.language!r}"
    if not getattr(dataset, has):
        yield f"{name} has no {has.replace('_', ' ')}"


class Seen:
    """Checksums of the values so far."""

    def __init__(self) -> None:
        self._before: set[str] = set()

    def twice(self, what: str, *values: object) -> Iterator[str]:
        """Yield a problem if the values came before under that name."""
        name = content_hash(what, *values)
        if name in self._before:
            yield f"its {what} stands twice"
        self._before.add(name)
