"""English statements that run parallel to the fact: of another than the question's subject, or of what is beside it.

What is said comes from the question with its answer, from the fact, and from the pages' opening sentences. The answer
gives way to another of its kind; a name gives way to an invented one (subject facts), or to what belongs to it or is
next to it ("a cousin of", "a suburb of"; object facts).
"""

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.things_en import (
    DEFINED,
    LONGEST_TITLE,
    NAME,
    TRIED,
    Sort,
    coined,
    is_opening_name,
    names,
    others_than,
    renamed,
    sort_of,
    without_asides,
)
from flows.language import CannotReplace, en
from flows.language.alternatives import LAST_YEAR, NUMBER, YEAR, counted_anew, is_plausible, moved, persons
from flows.language.choices import is_yes_or_no
from flows.language.en_names import classes, place_class
from flows.language.en_phrases import PREPOSITIONS, article, is_dictionary_word, parts_of_speech
from flows.language.en_statements import WORK_ASKED, statement, untimed
from flows.language.invented import invented_names
from flows.language.pointing import points_outside

_LATER_BY = {"the forerunner of": -4, "the sequel to": 4}
"""Years between a thing and what went before or came after it."""
_ALONE = re.compile(r"\b(?:is|was|are|were) (?:the|King|Queen|President)\b")
"""What one alone is."""
LONGEST = 45
"""Words of a sentence that is taken up."""
_BESIDE = {
    "person": ("a cousin of", "a former pupil of", "a former assistant of"),
    "mountain": ("a lower neighbour of",),
    "water": ("a smaller neighbour of",),
    "country": ("a small neighbour of",),
    "region": ("a small neighbour of",),
    "island": ("a smaller neighbour of",),
    "organisation": ("the forerunner of",),
    "team": ("the reserve side of",),
    "law": ("the forerunner of",),
    "work": ("the sequel to",),
    "piece": ("a parody of",),
    "paper": ("a rival of",),
    "species": ("a close relative of",),
}
"""What is not the thing itself, and of a kind with it, by the sort of thing."""
_UNIQUE = re.compile(r"\b(?:only|first|capital|most|last|largest|highest|\w{3,}est|also known|better known|second)\b")
_YEARS = re.compile(r"(?<![\d.,–-])(?:1\d|20)\d\d(?![\d–'’s-])")
_PRONOUN = re.compile(r"\b(?:he|she|his|her|hers|him|it|its|they|their|them|this|these|those|who|whose|which)\b", re.I)
_OWN = re.compile(r"\b(?:its|his|her|their|who|which|whose|those)\b")
_BORN_ASKED = re.compile(r"\b(?:born|older|younger|age)\b")
_BORN = re.compile(r"\((?:[^()]*; )?(?:born )?[^()–-]*?\b(1\d{3}|20\d\d)\b")
_LEANS = re.compile(
    r"(?:Additionally|Again|Also|Another|As a result|But|Fifth|Finally|First|Firstly|For example|For instance|"
    r"Furthermore|Hence|However|In addition|In contrast|Instead|Later|Likewise|Meanwhile|Moreover|Nevertheless|Next|"
    r"Other|Otherwise|Second|Secondly|Similarly|Still|Such|Then|Therefore|Third|Thus|Yet|And|Or|So|In case|Some|"
    r"In fact|By contrast|Here|There|As with|As in|If|While|When|Although|Though|Since|Word of|As such|Much|"
    r"\w+er than)\b"
)
"""Words at the beginning of a sentence that goes on from the one before it."""
_CLAUSE_ENDS = re.compile(
    r",? (?:which|that|who|whose|where|best known|known|whose)\b|;|, (?:and (?:was|is)|also|when|after)\b|\.$"
)
_IN_PHRASE = re.compile(r" (?!(?:is|was|are|were|has|had|in|on|at|to|of|by|for|from|with)\b)[a-z]+(?<!ed) [a-z]+")
"""What shows that a short name is a part of a longer phrase: "the SNP overall majority"."""
_LEANING = re.compile(r"\b(?:this|these|such|also|too|however|then|later|other|another)\b")
"""What leans on the sentence before it."""
_ONCE = re.compile(r"\b(?:became|born|died|founded|only|first|last|since|\w{3,}est)\b")
"""What happens once, or to one alone."""
_DATE_ASKED = re.compile(
    r"When\b|(?:In|On|Since|Until) (?:what|which) (?:year|date|day|month)|What year", re.IGNORECASE
)
FURTHEST = 8
"""Words before the name of what a sentence is on: a time, or what of it is meant."""
LEAST_WORDS = 6
"""Words that say something without the time that is asked for."""
LEAST_ALIKE = 2
"""Content words of the question in another sentence of its documents."""


class Made(NamedTuple):
    """A fact that may do, and whether it says what the question says."""

    text: str
    stated: bool


def statements(asked: ToConfuse, rng: random.Random) -> Iterator[str]:
    """What the question says with other answers, or without any."""
    answer = asked.answers[0]
    if all(map(is_yes_or_no, asked.answers)):
        return
    made = statement(asked.question, answer, asked.fact)
    if made is not None and en.contains(made, answer.strip(" .")):
        yield from _answered(made, answer, _others_to(asked, rng))
    if (bare := untimed(asked.question)) is not None and len(bare.split()) > LEAST_WORDS:
        yield bare


def texts(asked: ToConfuse, documents: Sequence[str], rng: random.Random) -> Iterator[str]:
    """What the fact and the pages say, with other answers."""
    yesno = all(map(is_yes_or_no, asked.answers))
    fact = without_asides(asked.fact)
    if not yesno and stands_alone(fact) and not _ALONE.search(fact):
        yield from _answered(fact, asked.answers[0], _others_to(asked, rng))
        yield fact
    for opening in _openings(documents, rng, dated=_BORN_ASKED.search(asked.question) is not None):
        if yesno or not any(en.contains(opening, one) for one in asked.answers):
            yield opening
        else:
            yield from _answered(opening, asked.answers[0], _others_to(asked, rng))
    yield from _further(asked, documents)


def _others_to(asked: ToConfuse, rng: random.Random) -> list[str]:
    return list(dict.fromkeys(other_answers(asked.answers[0], asked.question, asked.fact, rng)))


def further(asked: ToConfuse, documents: Sequence[str]) -> Iterator[str]:
    """What the pages say besides of what the question names first, each as far as it goes without another clause.

    A pronoun or last name at the beginning gives way to the name that the page is of.
    """
    own = names(asked.question, ())
    for document in documents if own else ():
        title, _, body = document.partition("\n")
        about = re.sub(r"\s*\(.*$", "", title) if body and len(title) < LONGEST_TITLE else ""
        of = about if about and en.content_words(about) >= en.content_words(own[0]) else own[0]
        for sentence in en.sentences(body if about else document):
            said = sentence
            if of == about and (lead := re.match(rf"(?:He|She|It|{re.escape(of.split()[-1])})(?= [a-z]+)", said)):
                said = of + said[lead.end() :]
            plain = without_asides(said)
            begins = re.match(rf"(?:The )?{re.escape(of)} [a-z]+", plain)
            if begins is None:
                continue
            short = f"{_first_clause(plain, begins.end()).rstrip(' ,')}."
            if len(short.split()) > LEAST_WORDS and stands_alone(short) and not _LEANING.search(short):
                yield short


def _further(asked: ToConfuse, documents: Sequence[str]) -> Iterator[str]:
    """Other sentences that make sense alone and begin with what the question names, the likest the question first."""
    wanted = en.content_words(asked.question)
    found: list[tuple[int, str]] = []
    for document in documents:
        for sentence in en.sentences(document):
            if (
                stands_alone(sentence)
                and not _LEANS.match(sentence)
                and not _UNIQUE.search(sentence)
                and sentence != asked.fact
            ):
                alike = len(wanted & en.content_words(sentence))
                if alike >= LEAST_ALIKE and not any(en.contains(sentence, one) for one in asked.answers):
                    found.append((-alike, sentence))
    yield from (sentence for _, sentence in sorted(found))


def sayings(document: str) -> Iterator[str]:
    """The sentences of a document that make sense alone; of a page on one thing none, for they speak of that."""
    title, _, body = document.partition("\n")
    titled = bool(body) and len(title) < LONGEST_TITLE
    for sentence in () if titled else en.sentences(document):
        if stands_alone(sentence) and "\n" not in sentence and not _LEANS.match(sentence):
            yield sentence


def _answered(text: str, answer: str, others: Sequence[str]) -> Iterator[str]:
    for other in others[:TRIED]:
        try:
            yield en.replace(text, answer, other).text
        except CannotReplace:
            continue


def stands_alone(sentence: str) -> bool:
    """Whether a sentence says all by itself, of one that it names."""
    return (
        len(sentence.split()) <= LONGEST
        and sentence[:1].isupper()
        and sentence.endswith((".", "!"))
        and not _PRONOUN.search(sentence if not NAME.match(sentence) else _OWN.sub("", sentence))
        and en.dangling_subject(sentence) is None
        and points_outside("en", sentence) is None
    )


def _openings(documents: Sequence[str], rng: random.Random, *, dated: bool) -> Iterator[str]:
    """What each page says first of what it is about, without asides, as far as it goes without another clause."""
    for document in documents:
        title, _, body = document.partition("\n")
        sentence = next(iter(en.sentences(body)), "") if body else ""
        name = re.sub(r"\s*\(.*$", "", title)
        plain = without_asides(sentence)
        parts = re.escape(name).split("\\ ")
        begins = re.match(rf"(?P<the>The )?(?:{re.escape(name)}|{parts[0]}(?: \S+){{1,2}} {parts[-1]})(?=[ ,])", plain)
        defined = DEFINED.match(plain, begins.end()) if begins is not None else None
        if begins is not None and defined is not None and defined["article"] in ("a ", "an ", "one of the "):
            born = _BORN.search(sentence) if dated else None
            aside = f", born in {moved(born[1], YEAR, rng)}," if born else ""
            onward = _first_clause(plain, defined.start("what"))[begins.end() :]
            if re.search(r"\b\d{1,3}$", onward):
                continue
            yield f"{begins['the'] or ''}{name}{aside}{onward}."


def _first_clause(text: str, start: int) -> str:
    end = _CLAUSE_ENDS.search(text, start)
    return text[: end.start()] if end else text.rstrip(".")


# ---- other answers ----


def other_answers(answer: str, question: str, text: str, rng: random.Random) -> Iterator[str]:
    """Others of the answer's kind: near years and quantities, invented persons, places and names."""
    bare = re.sub(r"^(?:the|an?)\s+(?=\S+\s)", "", answer.strip(' ."“”'), flags=re.IGNORECASE)
    kind = en.kind(bare, question)
    of, _, shape = kind.partition(":")
    if of in ("number", "date") or NUMBER.search(bare):
        yield from _counted(bare, rng)
    elif of == "person":
        yield from _persons(bare, text, shape, rng)
    elif (WORK_ASKED.search(question) or "journal" in question) and bare[:1].isupper() and of == "other":
        yield from rng.sample(invented_names("en")["title"], TRIED)
    else:
        yield from _named(bare, of, rng)


def _counted(answer: str, rng: random.Random) -> Iterator[str]:
    numbers = YEAR if len(YEAR.findall(answer)) == 1 else NUMBER
    if len(numbers.findall(answer)) == 1:
        near = (moved(answer, numbers, rng) for _ in range(TRIED))
        yield from (one for one in near if one != answer and is_plausible(answer, one))
    yield from counted_anew(answer, rng)


def _persons(answer: str, text: str, shape: str, rng: random.Random) -> Iterator[str]:
    words = answer.split()
    if shape.strip(":").endswith(":titled") and len(words) == len(("Colonel", "Monckton")):
        yield from (f"{words[0]} {surname}" for surname in rng.sample(invented_names("en")["surname"], TRIED))
    elif not shape.startswith("alone"):
        yield from persons(answer, text, shape.split(":"), rng)


def _named(bare: str, of: str, rng: random.Random) -> Iterator[str]:
    """Other places, bodies and things, by what the words of the name tell; "within the borders of Dornwick"."""
    words = bare.split()
    places = [run["name"] for run in NAME.finditer(bare) if place_class(run["name"]) in ("city", "country")]
    if (
        len(places) == 1
        and places[0] != bare
        and (bare[0].islower() or bare.split(maxsplit=1)[0].casefold() in PREPOSITIONS)
    ):
        table = "town" if place_class(places[0]) == "city" else "country"
        yield from (bare.replace(places[0], one) for one in rng.sample(invented_names("en")[table], TRIED))
        return
    if not bare[:1].isupper():
        return
    if of == "place" and place_class(bare) in ("country", "state"):
        yield from rng.sample(invented_names("en")["country"], TRIED)
    noun = en.head(bare)
    towns = rng.sample(invented_names("en")["town"], TRIED)
    made = [other for town in towns if (other := renamed(bare, town)) is not None] if len(words) > 1 else []
    if made:
        yield from made
    elif len(words) > 1 and noun.casefold() in classes("head") and noun[:1].isupper():
        yield from (f"{town} {noun}" for town in towns)
    elif place_class(bare) == "city":
        yield from towns
    elif len(words) == 1 and bare.isalpha() and len(bare) > 3 and not is_dictionary_word(bare.casefold()):
        yield from (coined(bare, rng) for _ in range(TRIED))


# ---- facts ----


def facts(
    asked: ToConfuse, documents: Sequence[str], said: Sequence[str], rng: random.Random
) -> tuple[Iterator[Made], Iterator[Made]]:
    """Subject facts and object facts that may do, the best first; `said` are sentences of other documents."""
    stated = tuple(dict.fromkeys(statements(asked, rng)))
    given = tuple(dict.fromkeys((*stated, *texts(asked, documents, rng))))
    return (
        (
            Made(fact, text in stated)
            for text in (*given, *said)
            for fact in _of_another(text, asked, documents, rng, stated=text in stated)
        ),
        (Made(fact, text in stated) for text in given for fact in _beside(text, asked, documents, stated, rng)),
    )


def _is_bound(text: str, name: str, asked: ToConfuse, things: Sequence[tuple[str, Sort]]) -> bool:
    """Whether something else that the question names stands before the name and stays: of that it may not be true."""
    before = text[: text.index(name)]
    kept = [run["name"] for run in NAME.finditer(asked.question) if run["name"] != name and run["name"] in before]
    return any(
        one not in name
        and place_class(one) is None
        and (one, Sort("person", "")) not in things
        and not _is_opening(asked.question, one)
        for one in kept
    )


def _is_opening(question: str, name: str) -> bool:
    return question.startswith(name) and not is_opening_name(name.split())


def _is_in_phrase(text: str, name: str) -> bool:
    return name.isupper() and _IN_PHRASE.match(text[text.index(name) + len(name) :]) is not None


def _leads(text: str, name: str) -> bool:
    """Whether a sentence is on what has the name: it begins with it, or with a time or circumstance before it."""
    before = text[: text.index(name)]
    return before in ("", "The ") or (
        len(before.split()) <= FURTHEST
        and re.search(r"\b(?:is|was|are|were|has|had)\b|,", before.rstrip(", ")) is None
        and re.fullmatch(r"[A-Z][^A-Z]*(?:[A-Z]\w+ )?", before) is not None
    )


def _of_another(
    text: str, asked: ToConfuse, documents: Sequence[str], rng: random.Random, *, stated: bool
) -> Iterator[str]:
    things = _things(text, asked, documents)
    if not stated and things and not _leads(text, things[0][0]):
        return
    for name, sort in things if stated else things[:1]:
        if _is_bound(text, name, asked, things) or _is_in_phrase(text, name):
            continue
        for other in others_than(name, sort, text, rng)[:TRIED]:
            bare = sort.of in ("work", "piece", "paper", "band") or name.isupper()
            the = "(?:[Tt]he )?" if bare else ""
            said = re.sub(rf"(?<!\w){the}{re.escape(name)}(?!\w)", other, text)
            yield _capital(
                re.sub(rf"(?<!\w)an? {re.escape(other)}", f"{article(other)} {other}", said, flags=re.IGNORECASE)
            )


def _beside(
    text: str, asked: ToConfuse, documents: Sequence[str], stated: Sequence[str], rng: random.Random
) -> Iterator[str]:
    years = [year for year in _YEARS.findall(asked.question) if text.count(year) == 1]
    if len(years) == 1 and text in stated and not _ONCE.search(text) and not _DATE_ASKED.match(asked.question):
        year = int(years[0]) + rng.choice([3, 4, 5])
        yield text.replace(years[0], str(year if year <= LAST_YEAR else 2 * int(years[0]) - year))
    things = _things(text, asked, documents)
    if text not in stated and things and not _leads(text, things[0][0]):
        return
    for name, sort in things if text in stated else things[:1]:
        if sort.of not in _BESIDE or _is_bound(text, name, asked, things):
            continue
        found = re.search(rf"(?<!\w)(?:[Tt]he )?{re.escape(name)}(?!\w)(?!['’]s?\b| and\b|-|['’]s)", text)
        if found is None or len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text)) != 1:
            continue
        said = found[0] if not found[0].startswith("The ") or name.startswith("The ") else "t" + found[0][1:]
        before = text[: found.start()]
        if not _takes_a_phrase(before) or _is_in_phrase(text, name):
            continue
        relations = _BESIDE[sort.of]
        for relation in rng.sample(relations, len(relations)):
            onward = text[found.end() :]
            if not relation.endswith(("s of", "s to")):
                onward = re.sub(r"^ (are|were) ", lambda verb: {"are": " is ", "were": " was "}[verb[1]], onward)
            changed = f"{before}{relation} {said}{onward}"
            yield _capital(_shifted(changed, _LATER_BY.get(relation, 0)))


def _shifted(text: str, by: int) -> str:
    """What comes before or after another thing is of other years; what went before it was."""
    moved_ = re.sub(
        rf"\b(in (?:[A-Z][a-z]+ )?|an? )({_YEARS.pattern})",
        lambda found: f"{found[1]}{min(int(found[2]) + by, LAST_YEAR)}",
        text,
    )
    return re.sub(r" is (an?|one) ", r" was \1 ", moved_, count=1) if by < 0 else moved_


def _takes_a_phrase(before: str) -> bool:
    """Whether "a cousin of Somebody" can follow: at the beginning, behind a preposition, or behind a verb."""
    words = before.split()
    if not words:
        return True
    last = words[-1]
    return (
        last.islower()
        and last != "as"
        and (last in PREPOSITIONS or last.endswith("ed") or parts_of_speech(last) == {"VERB"})
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _things(text: str, asked: ToConfuse, documents: Sequence[str]) -> list[tuple[str, Sort]]:
    """What the text names of what the question or a page's title names, with its sort, in the order of the text."""
    found: list[tuple[int, int, str, Sort]] = []
    for name in names(asked.question, documents):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at is None or any(en.contains(answer, name) for answer in asked.answers):
            continue
        if (sort := sort_of(name, tuple(documents), asked.question)) is not None:
            found.append((at.start(), at.end(), name, sort))
    whole = [one for one in found if not any(o[0] <= one[0] and one[1] <= o[1] and o[2] != one[2] for o in found)]
    return [(name, sort) for _, _, name, sort in sorted(whole, key=lambda one: one[:2])]
