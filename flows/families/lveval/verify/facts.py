"""Proves that a confusing fact is near the question and does not answer it."""

import re
from collections.abc import Iterable, Iterator

from flows.construct.verification import Fault, VerifyContext
from flows.families.lveval.verify.parts import Seen, dataset_problems
from flows.families.lveval.verify.placement import CLOSING
from flows.families.lveval.verify.texts import LONGEST_SENTENCE, count, plain, yes_or_no
from flows.language import Language, language_of
from flows.language.en.names import is_of_a_people, same_name
from flows.language.matter import speaks_of_another
from schemas.lveval import ConfusingFact

LEAST_IN_COMMON = {"en": 2, "zh": 2}
"""Content words (characters) of question or original fact that a confusing fact holds."""
LONGEST_FACT = {"en": 120, "zh": 240}  # words (characters) of a confusing fact
_HAN = re.compile(r"[㐀-鿿豈-﫿]")
_EMPTY_HAN = frozenset(
    "的了着过地得之是在于与和及或而但也都就还又则并且以为被把将对从由向到等其该这那此他她它有一个所者不无我你们"
    "什么谁哪如何怎样多少几年月日"
)
_CAPITALISED = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’']*")
_NAME_AT_FIRST = re.compile(r"(?:[A-ZÀ-ÖØ-Þ0-9][\w’'.-]*[\s,]*(?:(?:of|the|and|for|in|de|la|von|van)\s+)*)*")
_DECLARED = {"en": re.compile(rf"[.!…]{CLOSING}\Z"), "zh": re.compile(rf"[。！….!．]{CLOSING}\Z")}


def verify_facts(rows: Iterable[ConfusingFact], ctx: VerifyContext) -> Iterator[Fault]:
    """Check that each fact is near the question and does not answer it; a pair has at most one of each kind."""
    seen = Seen()
    for row in rows:
        problems = [*seen.twice("key", row.key), *dataset_problems(row.dataset, row.language, "confusing_facts")]
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
    if len(common) < (least := 1 if by_name else LEAST_IN_COMMON[row.language]):
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

    To the object fact the name that the original begins with will do, since a question may only describe its subject.
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
    known = asked | frozenset(_folded_words(" ".join(leading)))
    if row.changes == "object" and named and not any(same_name(name, word) for name in known for word in words):
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
