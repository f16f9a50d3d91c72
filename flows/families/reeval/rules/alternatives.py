"""Alternative answers for the rules to choose from (ReEval, section 3.1).

The paper's model invents alternatives. The rules take those that fit the passage as well as the old answer: persons,
places, organisations and titles are invented, because what a passage says about a real one is not true of another;
countries are from the same region, years and quantities are near. A passage about anything else fits only that.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from flows.families.reeval.checks.alternative import Answered, alternative_problem
from flows.language import language_of
from flows.language.alternatives import CENTURY, FEW, NUMBER, YEAR, counted_anew, is_plausible, moved, persons
from flows.language.en.names import (
    Country,
    classes,
    countries,
    country_of_city,
    is_common_surname,
    named_in,
    place_class,
)
from flows.language.en.phrases import is_dictionary_word
from flows.language.tables import invented_names
from flows.language.zh.types import is_personal_name, surname
from schemas.base import content_hash

CANDIDATES = 24
"""The number of alternatives offered for a case."""
LEAST_WORDS = 2
"""The fewest words of a name that says what kind of thing it is."""


def candidates_for(case: Answered, others: Sequence[str], rng: random.Random) -> Sequence[str]:
    """Up to `CANDIDATES` alternatives, the best first; `others` are the numbers or dates that other cases ask for."""
    fitting = (answer for answer in _ordered(case, others, rng) if alternative_problem(case, answer) is None)
    return list(islice(dict.fromkeys(fitting), CANDIDATES))


def _ordered(case: Answered, others: Sequence[str], rng: random.Random) -> Iterator[str]:
    kind = language_of(case.language).kind(case.answer, case.question)
    of = kind.partition(":")[0]
    if of in ("number", "date"):
        yield from _counted(case, others, rng)
    elif case.language == "en" and not is_alone(kind) and (of == "person" or not _is_in_question(case)):
        yield from _INVENTED[of](case, kind.split(":")[1:], rng)
    elif case.language == "zh" and of == "person":
        yield from _chinese_persons(case, rng)


def _counted(case: Answered, others: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Numbers and dates near the answer, then those of other cases.

    Each of those has a place of its own in the order, so that one more or less moves no other.
    """
    salt = rng.random()
    shuffled = sorted(others, key=lambda other: content_hash(salt, other))
    plausible = [other for other in shuffled if is_plausible(case.answer, other)]
    numbers = YEAR if len(YEAR.findall(case.answer)) == 1 else NUMBER
    movable = len(numbers.findall(case.answer)) == 1 and not CENTURY.search(case.answer)
    near = (moved(case.answer, numbers, rng) for _ in range(FEW if movable else 0))
    yield from (number for number in near if is_plausible(case.answer, number))
    yield from _counted_anew(case, rng)
    yield from plausible


def is_alone(kind: str) -> bool:
    """Return whether a kind has only one answer: no words showed what else could replace it."""
    return kind.partition(":")[2].startswith("alone:")


def _counted_anew(case: Answered, rng: random.Random) -> Iterator[str]:
    """Yield other numbers, unless the evidence has the number elsewhere too: it may count the same things."""
    rest = re.sub(re.escape(case.answer), " ", case.evidence, flags=re.IGNORECASE)
    words = {word.casefold() for word in re.findall(r"\w+", rest)}
    for other in counted_anew(case.answer, rng):
        if not any(old in words for old, new in zip(case.answer.split(), other.split(), strict=True) if old != new):
            yield other


# ---- invented names ----


def _persons(case: Answered, shape: Sequence[str], rng: random.Random) -> Iterator[str]:
    country = _country_of(case)
    yield from persons(case.answer, case.evidence, shape, rng, country.people if country is not None else "")


BESIDE = 60
"""Characters before a person's name in which a text may give a nationality: "the Danish architect"."""


def _country_of(case: Answered) -> Country | None:
    """The country of a person, from the words beside the name; for a rare name, the first country in the text."""
    beside = re.search(
        rf"([^.;()]{{0,{BESIDE}}}){re.escape(case.answer)}(?: (?:from|of|in) (?:[A-Z][\w ]*))?", case.evidence
    )
    if beside is not None and (named := named_in(beside[0])):
        return named[-1]
    is_rare = not is_common_surname(case.answer.split()[-1])
    return next(iter(named_in(case.evidence)), None) if is_rare else None


def _chinese_persons(case: Answered, rng: random.Random) -> Iterator[str]:
    """Invented persons: of the same family, because fathers and sons share its name; foreign for foreign persons."""
    names, parts = invented_names("zh"), case.answer.split("·")
    if len(parts) > 1:
        of = "female" if "她" in case.evidence and not re.search("他(?!们)", case.evidence) else "male"
        for last in rng.sample(names["foreign-surname"], FEW):
            yield "·".join((*rng.sample(names[f"foreign-{of}"], len(parts) - 1), last))
        return
    if (family := surname(case.answer)) and is_personal_name(case.answer):
        for _ in range(FEW):
            yield family + "".join(rng.sample(names["given"], len(case.answer) - len(family)))


def _is_in_question(case: Answered) -> bool:
    """Return whether the question mentions the answer's thing by a name that only the answer has."""
    names = {word.casefold() for word in case.answer.split() if _is_own(word)} or {case.answer.casefold()}
    return bool(names & {word.casefold() for word in re.findall(r"[\w'’-]+", case.question)})


def is_person(answer: str, question: str, evidence: str, language_code: str) -> bool:
    """Return whether an answer to "who" is a person: by the name, or by what the evidence calls it.

    "Who" asks for companies and believers as well.
    """
    language = language_of(language_code)
    if language.answer_type(answer) == "person":
        return True
    words = answer.split()
    if language_code != "en" or language.answer_type(answer, question) != "person" or len(words) not in (2, 3):
        return False
    if not all(word[:1].isupper() and not is_dictionary_word(word.casefold()) for word in words):
        return False
    called = re.findall(rf"([a-z]+)\s+{re.escape(answer)}", evidence)
    alone = re.search(rf"(?<!{re.escape(words[-2])} ){re.escape(words[-1])}\b", evidence)
    return alone is not None or any(classes("focus").get(word, ("",))[0] == "person" for word in called)


def _places(case: Answered, shape: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Countries of the same region; invented towns, and other places with the words that say what they are."""
    words = case.answer.split()
    if re.match(r"(?:who|whom|whose)\b", case.question, re.IGNORECASE):
        return  # George Strait sings
    if shape[0] == "country":
        yield from _countries(case, rng)
        return
    lone = shape[0] in ("city", "town") or (shape[0] == "island" and len(words) == 1)
    if lone and not any(shape[2:]) and all(word[:1].isupper() for word in words):
        yield from rng.sample(_towns(case), min(FEW, len(_towns(case))))
        return
    yield from _with_its_kind(case, shape, rng)


def _towns(case: Answered) -> Sequence[str]:
    """Names of towns that sound like those of the answer's country, if it is known."""
    sentences = language_of(case.language).sentences(case.evidence)
    beside = " ".join(sentence for sentence in sentences if case.answer in sentence)
    named = [*named_in(beside), *named_in(case.evidence)]
    country = country_of_city(case.answer) or next(iter(named), None)
    names = invented_names("en")
    people = "english" if country is None else country.people or "other"
    return names[f"{people}-town"]


def _countries(case: Answered, rng: random.Random) -> Iterator[str]:
    """Other countries of the region, if nothing else in the evidence belongs to the country: no people, no cities."""
    country = countries().get(case.answer)
    if country is None or not country.region or _has_more_of(country, case.evidence):
        return
    others = sorted({other.name for other in countries().values() if other.region == country.region} - {country.name})
    yield from rng.sample(others, len(others))


_CAPITALISED = re.compile(r"(?<![\w'’-])[A-ZÀ-Þ][\w'’-]+(?:\s[A-ZÀ-Þ][\w'’-]+)?")


def _has_more_of(country: Country, evidence: str) -> bool:
    if any(re.search(rf"\b{word}\b", evidence) for word in country.adjectives):
        return True
    return any(
        country_of_city(name) == country for words in _CAPITALISED.findall(evidence) for name in {words, *words.split()}
    )


_TITLED = {
    "novel": "title", "book": "title", "story": "title", "play": "title", "film": "title", "movie": "title",
    "opera": "title-opera", "song": "title-song", "single": "title-song",
    "journal": "title-periodical",
}  # fmt: skip
"""The kinds of works that questions ask for, and invented titles for them."""


_PLAYS_ON_NAME = (
    r"\b(?:same name|eponymous|titular|self-titled|named after|name comes|title (?:character|role|refers))\b"
)


def _titles(case: Answered, shape: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Invented works, if the page is not about the work and nothing else in the evidence alludes to it."""
    kind = _TITLED.get(shape[2]) if shape[1:2] == ["one"] and len(shape) > 2 else None
    language = language_of(case.language)
    if kind is None or (case.title and language.contains(case.title, case.answer)):
        return
    if re.search(rf"(?m)^\W*{re.escape(case.answer)}\b|{_PLAYS_ON_NAME}", case.evidence):
        return
    rest = re.sub(re.escape(case.answer), " ", case.evidence, flags=re.IGNORECASE)
    if language.content_words(case.answer) & language.content_words(rest):
        return
    alike = [title for title in invented_names("en")[kind] if _article(title) == _article(case.answer)]
    yield from rng.sample(alike, len(alike))


def _article(title: str) -> str:
    """The article that a title begins with; titles with the same article can replace each other."""
    first = title.partition(" ")[0]
    return first if first in ("The", "A", "An") else ""


_SCOPES = {"International": "World", "World": "International", "National": "Federal", "Federal": "National"}
"""Words at the beginning of an organisation's name that may replace each other."""


def _with_its_kind(case: Answered, shape: Sequence[str], rng: random.Random) -> Iterator[str]:
    """The name with an invented word in place of its distinctive word, if the others say what kind of thing it is."""
    words = case.answer.split()
    if "," in case.answer or words[-1] in ("Sea", "Ocean"):
        return  # there are so few seas that everybody knows them
    if words[0] in _SCOPES and len(words) > LEAST_WORDS:
        yield " ".join([_SCOPES[words[0]], *words[1:]])
        return
    places = [place for place, word in enumerate(words) if _is_own(word)]
    if not places and len(words) == LEAST_WORDS and _is_named_after(words, shape) and not _is_spoken_of(case, words[0]):
        places = [0]
    if len(words) < LEAST_WORDS or len(places) != 1 or len(places) == len(words):
        return
    others = [word for place, word in enumerate(words) if place != places[0]]
    if places[0] == len(words) - 1 and not {"of", "for"} & set(words):
        return  # "Lush Ltd.": the kind of thing comes last
    if any(word in ("New", "v") or is_common_surname(word.removesuffix("s'")) for word in others if not _is_head(word)):
        return  # "New Mexico", "Roger Dean Stadium": more than one word is distinctive
    for name in rng.sample(_towns(case), min(FEW, len(_towns(case)))):
        yield " ".join([*words[: places[0]], name, *words[places[0] + 1 :]])


def _is_head(word: str) -> bool:
    return word.casefold() in classes("head")


def _is_spoken_of(case: Answered, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", case.question, re.IGNORECASE) is not None


def _is_named_after(words: Sequence[str], shape: Sequence[str]) -> bool:
    """Return whether the first of two words only distinguishes things of a kind: "Elephant Island", "Smith College"."""
    if words[-1].casefold() not in classes("head") or not words[0][:1].isupper():
        return False
    return shape[0] in ("island", "mountain") or is_common_surname(words[0])


def _is_own(word: str) -> bool:
    """Return whether a word of a name is distinctive, and does not say what kind of thing it is."""
    folded = word.casefold()
    if not word[:1].isupper() or folded in classes("head"):
        return False
    return place_class(word) is not None or not is_dictionary_word(folded)


_INVENTED: Mapping[str, Callable[[Answered, Sequence[str], random.Random], Iterator[str]]] = {
    "person": _persons,
    "place": _places,
    "organisation": _with_its_kind,
    "other": _titles,
}
