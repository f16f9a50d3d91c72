"""Answer swapping by rules (ReEval, section 3.1)."""

import random
import re
from collections.abc import Sequence

from flows.families.reeval.checks.alternative import repeated_problem
from flows.families.reeval.checks.swap import swap_problem
from flows.families.reeval.prompts import Alternative, Replaced, ToAlter, ToReplace
from flows.families.reeval.rules.alternatives import candidates_for, is_alone, is_person
from flows.language import CannotReplace, Language, language_of
from flows.language.en.names import classes
from flows.language.other_names import names_of
from flows.llm.model import Invalid

_MONTHS = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = re.compile(r"(?<!\d)(?<!\d[.,])(?:1\d|20)\d\d(?!\d|[.,]\d)")
_CONVERTED = re.compile(r"[^()（）.,;]{0,20}[(（][^()（）]{0,8}\d")
_SHARE = re.compile(r"per\s?cent|%|百分之|％")


def alternative_answer(asked: ToAlter, rng: random.Random) -> Alternative:
    """The first candidate that can replace the answer in the evidence."""
    # Seeded by the case, not by the prompt: a candidate does not change when the prompt's inputs do.
    candidates = candidates_for(asked, asked.others, random.Random(asked.seed))
    return first_fitting(asked, [one for one in candidates if not repeated_problem(one, asked.before, asked.language)])


def first_fitting(asked: ToAlter, candidates: Sequence[str]) -> Alternative:
    """The first candidate, in order, that can replace the answer in the evidence."""
    language = language_of(asked.language)
    names = names_of(asked.language, asked.answer, asked.aliases, asked.evidence)
    kind = language.kind(asked.answer, asked.question)
    if not candidates:
        reason = "kind of the answer cannot be told" if is_alone(kind) else "no other answer of its kind"
        raise Invalid(reason, f"{asked.answer} ({asked.question})")
    if kind.startswith("person:") and not is_person(asked.answer, asked.question, asked.evidence, asked.language):
        raise Invalid("kind of the answer cannot be told", f"{asked.answer} ({asked.question})")
    if _is_converted(asked.evidence, asked.answer):
        raise Invalid("number beside its conversion", asked.answer)
    if kind.startswith("number:") and _is_reckoned_with(language, asked.evidence, asked.answer):
        raise Invalid("number of which a share is told", asked.answer)
    refusal = ""
    for candidate in candidates:
        if not _keeps_order(asked.evidence, asked.answer, candidate) or _dates_meet(asked, candidate):
            refusal = "a date would be out of its order"
            continue
        try:
            evidence = language.replace(asked.evidence, asked.answer, candidate, names).text
        except CannotReplace as error:
            refusal = str(error)
            continue
        if (part := _left(asked, candidate, evidence)) is not None:
            raise Invalid("a part of the old answer stays", f"{part} of {asked.answer}")
        problem = swap_problem(asked.language, asked.evidence, asked.answer, names, candidate, evidence)
        if problem is None:
            return Alternative(answer=candidate)
        refusal = problem[0]
    raise Invalid("no alternative answer fits", refusal)


def _left(asked: ToAlter, candidate: str, evidence: str) -> str | None:
    """A part of the name of a person or place, or the year of a date, that the rewritten evidence still has.

    "Guy" of Guy de Lusignan is a word like others, and 2012 stands in "Rio 2012": nothing shows that they are mentions.
    "Otto Frisch" is another Otto.
    """
    if asked.language != "en":
        return None
    kind = language_of("en").kind(asked.answer, asked.question)
    if kind.startswith(("person:", "place:")):
        parts = [word for word in asked.answer.split() if word[:1].isupper() and len(word.strip(".")) > 1]
        parts = [part for part in parts if part.casefold() not in classes("head")]
    else:
        parts = _YEAR.findall(asked.answer)
    left = (part for part in parts if part not in candidate)
    return next((part for part in left if re.search(rf"(?<!\w){re.escape(part)}(?!\w| [A-Z])", evidence)), None)


def _dates_meet(asked: ToAlter, candidate: str) -> bool:
    """Return whether another month would occur among other days of its year, whose order is not checked."""
    months, others = (re.findall(_MONTHS, date) for date in (asked.answer, candidate))
    if asked.language != "en" or not months or months == others:
        return False
    rest = re.sub(re.escape(asked.answer), " ", asked.evidence, flags=re.IGNORECASE)
    return any(re.search(rf"{_MONTHS}[^.]{{0,10}}{year}", rest) for year in _YEAR.findall(candidate))


def _is_converted(evidence: str, answer: str) -> bool:
    """Return whether the answer is a number that the text gives in another unit, in brackets beside it."""
    if not any(sign.isdigit() for sign in answer) or _YEAR.search(answer):
        return False
    places = re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", evidence)
    return any(_CONVERTED.match(evidence, place.end()) for place in places)


def _is_reckoned_with(language: Language, evidence: str, answer: str) -> bool:
    """Return whether a sentence gives a share beside an answer that is no share: "74 per cent, or 260 of 352 votes"."""
    if _SHARE.search(answer):
        return False
    number = re.escape(next(iter(re.findall(r"\d[\d.,]*", answer)), answer))
    beside = (text for text in language.sentences(evidence) if re.search(rf"(?<![\d.,]){number}(?!\d)", text))
    return any(_SHARE.search(text) and not re.search(rf"{number}\s*(?:{_SHARE.pattern})", text) for text in beside)


def _keeps_order(evidence: str, answer: str, candidate: str) -> bool:
    """Return whether a year lies between the same years of the text as the answer's: texts keep the order of events."""
    old, new = (_YEAR.findall(date) for date in (answer, candidate))
    if len(old) != 1 or len(new) != 1:
        return True
    before, after = int(old[0]), int(new[0])
    others = {int(year) for year in _YEAR.findall(evidence)} - {before}
    return all((year < before) == (year < after) and year != after for year in others)


def replace_answer(asked: ToReplace, rng: random.Random) -> Replaced:
    """The evidence with every mention replaced, and the words that must agree."""
    try:
        replaced = language_of(asked.language).replace(asked.evidence, asked.answer, asked.alternative, asked.aliases)
    except CannotReplace as error:
        raise Invalid("answer cannot be replaced", str(error)) from error
    return Replaced(evidence=replaced.text)
