"""English statements that run parallel to the fact: of another than the question's subject, or of something of its own.

What is said comes from the question with its answer, from the fact, and from the pages' opening sentences. The answer
gives way to another of its kind; a name gives way to an invented one (subject facts), or to what belongs to it or is
next to it ("a cousin of", "a suburb of"; object facts).
"""

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from flows.families.lveval.library import is_yes_or_no
from flows.families.lveval.prompts import ToConfuse
from flows.language import CannotReplace, en
from flows.language.alternatives import INVENTED, LAST_YEAR, NUMBER, YEAR, counted_anew, is_plausible, moved
from flows.language.en_names import TITLES, classes, is_first_name, is_surname, place_class
from flows.language.en_phrases import PREPOSITIONS, article, is_dictionary_word, parts_of_speech
from flows.language.en_statements import WORK_ASKED, statement, untimed
from flows.language.en_tokens import word_set
from flows.language.invented import invented_names
from flows.language.pointing import points_outside

TRIED = 3
"""Other answers that are tried for a text."""
LONGEST = 45
"""Words of a sentence that is taken up."""
_BESIDE = {
    "person": ("a cousin of", "a former pupil of", "a former assistant of"),
    "river": ("a tributary of",),
    "mountain": ("a lower neighbour of",),
    "water": ("a smaller neighbour of",),
    "city": ("a suburb of",),
    "country": ("a small neighbour of",),
    "region": ("a small neighbour of",),
    "island": ("a smaller neighbour of",),
    "building": ("the forerunner of",),
    "organisation": ("the forerunner of",),
    "team": ("the reserve side of",),
    "band": ("the support act of",),
    "work": ("the sequel to",),
    "piece": ("a parody of",),
    "paper": ("a rival of",),
    "people": ("the neighbours of",),
    "event": ("the opponents of",),
    "law": ("the forerunner of",),
    "thing": ("the forerunner of",),
    "drink": ("a close relative of",),
    "species": ("a close relative of",),
}
"""What is not the thing itself, and of a kind with it, by the sort of thing."""
_EARLIER, _LATER = ("the forerunner of",), ("the sequel to",)
_SORTS = {
    "work": "film movie documentary album book novel series game show comedy sitcom memoir",
    "piece": "song single poem opera symphony play musical",
    "paper": "magazine newspaper journal",
    "drink": "drink cocktail dish cake soup cheese liqueur",
    "person": "actor actress singer author writer president leader scientist player director governor mayor composer "
    "artist poet philosopher physicist architect coach manager musician historian politician minister inventor "
    "explorer engineer mathematician chemist economist scholar commander novelist screenwriter producer naturalist "
    "pianist pilot songwriter footballer jurist magician practitioner maker theorist lawyer painter sculptor "
    "astronomer biologist model comedian presenter journalist jumper guitarist rapper wrestler driver golfer",
    "river": "river stream creek waterway",
    "mountain": "mountain volcano peak",
    "water": "lake sea bay reservoir",
    "city": "city town village municipality suburb borough place settlement",
    "country": "country nation republic kingdom",
    "region": "county region district province state territory",
    "island": "island",
    "building": "building museum stadium airport hotel park castle palace theatre theater bridge tower church "
    "station canal mall opera-house telescope",
    "organisation": "organization organisation agency company university college school academy society institute "
    "association laboratory orchestra federation union committee council court firm station network service think-tank "
    "tank body club foundation festival",
    "band": "band group duo trio quartet",
    "team": "team",
    "species": "genus species breed whale penguin lemur bird fish tree shrub plant terrier hound dog",
}
_SORT_OF = {noun: sort for sort, nouns in _SORTS.items() for noun in nouns.split()}
_HEADS = {"street": "building", "school": "organisation", "company": "organisation", "agency": "organisation",
          "body": "organisation", "network": "organisation", "party": "organisation", "settlement": "city",
          "band": "band", "team": "team", "military": "organisation", "event": "event", "law": "law"}  # fmt: skip
_NAME = re.compile(
    r"(?:[Tt]he\s+)?(?P<name>[A-ZÀ-Þ][\w’'&-]*(?:\.(?=\s+[A-Z]))?"
    r"(?:\s+(?:(?:of|the|and|de|la|von|van|for)\s+){0,2}[A-ZÀ-Þ][\w’'&-]*(?:\.(?=\s+[A-Z]))?)*)"
)
_DEFINED = re.compile(
    r"\s*(?:(?:in|on|of|near|at) [^,.]{1,40} )?(?:,[^,]{1,60},\s+)?(?:is|was|are|were)\s+(?:an?\s|the\s|one of the\s)?(?P<what>.+)", re.DOTALL
)
_ASIDE = re.compile(r"\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])")
_UNIQUE = re.compile(r"\b(?:only|first|capital|most|last|largest|highest|\w{3,}est|also known|better known|second)\b")
_YEARS = re.compile(r"(?<![\d.,–-])(?:1\d|20)\d\d(?![\d–'’s-])")
_PRONOUN = re.compile(r"\b(?:he|she|his|her|hers|him|it|its|they|their|them|this|these|those|who|whose|which)\b", re.I)
_OWN = re.compile(r"\b(?:its|his|her|their|who|which|whose|those)\b")
_LEANS = re.compile(
    r"(?:Additionally|Again|Also|Another|As a result|But|Fifth|Finally|First|Firstly|For example|For instance|"
    r"Furthermore|Hence|However|In addition|In contrast|Instead|Later|Likewise|Meanwhile|Moreover|Nevertheless|Next|"
    r"Other|Otherwise|Second|Secondly|Similarly|Still|Such|Then|Therefore|Third|Thus|Yet|And|Or|So|In case|Some|In fact|"
    r"By contrast|Here|There|As with|As in|If|While|When|Although|Though|Since|Word of|\w+er than)\b"
)
"""Words at the beginning of a sentence that goes on from the one before it."""
_LINKS = word_set("of the and de la von van for in")
_FIRST = {"mount": "mountain", "mont": "mountain", "lake": "water", "rio": "river", "river": "river", "fort": "building"}
LONGEST_TITLE = 80
LEAST_IN_NAME = 2
"""Words of a name that says what it is, and what follows it."""
LEAST_WORDS = 4
"""Words that say something without the time that is asked for."""
LEAST_ALIKE = 2
"""Content words of the question in another sentence of its documents."""


class Sort(NamedTuple):
    """What sort of thing a name is of, and the noun that tells it."""

    of: str
    noun: str


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
    if not yesno and stands_alone(asked.fact):
        yield from _answered(asked.fact, asked.answers[0], _others_to(asked, rng))
        yield asked.fact
    for opening in _openings(documents):
        if yesno or not any(en.contains(opening, one) for one in asked.answers):
            yield opening
        else:
            yield from _answered(opening, asked.answers[0], _others_to(asked, rng))
    yield from _further(asked, documents)


def _others_to(asked: ToConfuse, rng: random.Random) -> list[str]:
    return list(dict.fromkeys(other_answers(asked.answers[0], asked.question, asked.fact, rng)))


def _further(asked: ToConfuse, documents: Sequence[str]) -> Iterator[str]:
    """Other sentences that make sense alone and begin with what the question names, the likest the question first."""
    wanted = en.content_words(asked.question)
    found: list[tuple[int, str]] = []
    for document in documents:
        for sentence in en.sentences(document):
            if stands_alone(sentence) and not _LEANS.match(sentence) and not _UNIQUE.search(sentence) and sentence != asked.fact:
                alike = len(wanted & en.content_words(sentence))
                if alike >= LEAST_ALIKE and not any(en.contains(sentence, one) for one in asked.answers):
                    found.append((-alike, sentence))
    yield from (sentence for _, sentence in sorted(found))


def sayings(document: str) -> Iterator[str]:
    """The sentences of a document that make sense alone, of what is true of one alone none."""
    title, _, body = document.partition("\n")
    for sentence in en.sentences(body if body and len(title) < LONGEST_TITLE else document):
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
        and not _PRONOUN.search(sentence if not _NAME.match(sentence) else _OWN.sub("", sentence))
        and en.dangling_subject(sentence) is None
        and points_outside("en", sentence) is None
    )


def _openings(documents: Sequence[str]) -> Iterator[str]:
    """What each page says first of what it is about, without asides, as far as it goes without another clause."""
    for document in documents:
        title, _, body = document.partition("\n")
        sentence = next(iter(en.sentences(body)), "") if body else ""
        name = re.sub(r"\s*\(.*$", "", title)
        plain = re.sub(r"\s+", " ", _ASIDE.sub("", sentence)).replace(" ,", ",").replace(" .", ".")
        parts = re.escape(name).split("\\ ")
        begins = re.match(rf"(?P<the>The )?(?:{re.escape(name)}|{parts[0]}(?: \S+){{1,2}} {parts[-1]})(?=[ ,])", plain)
        defined = _DEFINED.match(plain, begins.end()) if begins is not None else None
        if begins is not None and defined is not None:
            yield f"{begins['the'] or ''}{name}{_first_clause(plain, defined.start('what'))[begins.end() :]}."


_CLAUSE_ENDS = re.compile(r",? (?:which|that|who|whose|where|best known|known|whose)\b|;|, (?:and (?:was|is)|also|when|after)\b|\.$")


def _first_clause(text: str, start: int) -> str:
    end = _CLAUSE_ENDS.search(text, start)
    return text[: end.start()] if end else text.rstrip(".")


# ---- other answers ----


def other_answers(answer: str, question: str, text: str, rng: random.Random) -> Iterator[str]:
    """Others of the answer's kind: near years and quantities, invented persons, places and names."""
    bare = re.sub(r"^(?:the|an?)\s+(?=\S+\s)", "", answer.strip(" .\"“”"), flags=re.IGNORECASE)
    kind = en.kind(bare, question)
    of, _, shape = kind.partition(":")
    if of in ("number", "date") or NUMBER.search(bare):
        numbers = YEAR if len(YEAR.findall(bare)) == 1 else NUMBER
        if len(numbers.findall(bare)) == 1:
            near = (moved(bare, numbers, rng) for _ in range(TRIED))
            yield from (one for one in near if one != bare and is_plausible(bare, one))
        yield from counted_anew(bare, rng)
        return
    words = bare.split()
    if shape.strip(":").endswith(":titled") and len(words) == 2:
        yield from (f"{words[0]} {surname}" for surname in rng.sample(invented_names("en")["surname"], TRIED))
        return
    if of == "person" and not shape.startswith("alone"):
        yield from INVENTED[of](bare, text, shape.split(":"), rng)
    if (WORK_ASKED.search(question) or "journal" in question) and bare[:1].isupper() and of == "other":
        yield from rng.sample(invented_names("en")["title"], TRIED)
        return
    places = [run["name"] for run in _NAME.finditer(bare) if place_class(run["name"]) in ("city", "country")]
    if len(places) == 1 and places[0] != bare and (bare[0].islower() or bare.split()[0].casefold() in PREPOSITIONS):
        other = "town" if place_class(places[0]) == "city" else "country"
        yield from (bare.replace(places[0], one) for one in rng.sample(invented_names("en")[other], TRIED))
        return
    if of == "person" or not bare[:1].isupper():
        return
    if of == "place" and place_class(bare) in ("country", "state"):
        yield from rng.sample(invented_names("en")["country"], TRIED)
    noun = en.head(bare)
    towns = rng.sample(invented_names("en")["town"], TRIED)
    if len(words) > 1 and (made := [other for town in towns if (other := renamed(bare, town))]):
        yield from made
    elif len(words) > 1 and noun.casefold() in classes("head") and noun[:1].isupper():
        yield from (f"{town} {noun}" for town in towns)
    elif place_class(bare) == "city":
        yield from towns
    elif len(words) == 1 and bare.isalpha() and len(bare) > 3 and not is_dictionary_word(bare.casefold()):
        yield from (coined(bare, rng) for _ in range(TRIED))


def coined(word: str, rng: random.Random) -> str:
    """A word that nobody knows, with the ending of the given one."""
    start = "".join(rng.sample(invented_names("en")["syllable"], 2)).capitalize()
    ending = re.search(r"[aeiouy]+[^aeiouy]*$", word.casefold())
    return start + (ending[0] if ending else "a")


# ---- names ----


def facts(
    asked: ToConfuse, documents: Sequence[str], said: Sequence[str], rng: random.Random
) -> tuple[Iterator[Made], Iterator[Made]]:
    """Subject facts and object facts that may do, the best first; `said` are sentences of other documents."""
    stated = tuple(dict.fromkeys(statements(asked, rng)))
    given = tuple(dict.fromkeys((*stated, *texts(asked, documents, rng))))
    return (
        (Made(fact, text in stated) for text in (*given, *said) for fact in _of_another(text, asked, documents, rng)),
        (Made(fact, text in stated) for text in given for fact in _beside(text, asked, documents, stated, rng)),
    )


def _is_bound(text: str, name: str, asked: ToConfuse, things: Sequence[tuple[str, Sort]]) -> bool:
    """Whether something else that the question names stands before the name and stays: of that it may not be true."""
    before = text[: text.index(name)]
    kept = [run["name"] for run in _NAME.finditer(asked.question) if run["name"] != name and run["name"] in before]
    return any(
        one not in name and place_class(one) is None and not any(thing == one and sort.of == "person" for thing, sort in things)
        and not _is_opening(asked.question, one)
        for one in kept
    )  # fmt: skip


def _is_opening(question: str, name: str) -> bool:
    return question.startswith(name) and not _is_opening_name(name.split())


def _of_another(text: str, asked: ToConfuse, documents: Sequence[str], rng: random.Random) -> Iterator[str]:
    things = _things(text, asked, documents)
    for name, sort in things:
        if _is_bound(text, name, asked, things):
            continue
        for other in _others(name, sort, text, rng)[:TRIED]:
            the = "(?:[Tt]he )?" if sort.of in ("work", "piece", "paper", "band") else ""
            said = re.sub(rf"(?<!\w){the}{re.escape(name)}(?!\w)", other, text)
            yield _capital(re.sub(rf"(?<!\w)an? {re.escape(other)}", f"{article(other)} {other}", said, flags=re.IGNORECASE))


def _beside(
    text: str, asked: ToConfuse, documents: Sequence[str], stated: Sequence[str], rng: random.Random
) -> Iterator[str]:
    years = [year for year in _YEARS.findall(asked.question) if text.count(year) == 1]
    if len(years) == 1 and text in stated and not _ONCE.search(text) and not _DATE_ASKED.match(asked.question):
        year = int(years[0]) + rng.choice([3, 4, 5])
        yield text.replace(years[0], str(year if year <= LAST_YEAR else 2 * int(years[0]) - year))
    things = _things(text, asked, documents)
    for name, sort in things:
        if sort.of not in _BESIDE or _is_bound(text, name, asked, things):
            continue
        found = re.search(rf"(?<!\w)(?:[Tt]he )?{re.escape(name)}(?!\w)(?!['’]s?\b| and\b|-|['’]s)", text)
        if found is None or len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text)) != 1:
            continue
        said = found[0] if not found[0].startswith("The ") or name.startswith("The ") else "t" + found[0][1:]
        before = text[: found.start()]
        if not _takes_a_phrase(before):
            continue
        relations = _BESIDE[sort.of]
        if sort.of == "event" and not before:
            relations = ("the planning of",) if _BEGINS.match(text[found.end() :]) else ()
        for relation in rng.sample(relations, len(relations)):
            changed = f"{before}{relation} {said}{text[found.end() :]}"
            shift = -4 if relation in _EARLIER else 4 if relation in _LATER else 0
            yield _capital(_YEARS.sub(lambda year, by=shift: str(min(int(year[0]) + by, LAST_YEAR)), changed))


def _takes_a_phrase(before: str) -> bool:
    """Whether "a cousin of Somebody" can follow: at the beginning, behind a preposition, or behind a verb."""
    words = before.split()
    if not words:
        return True
    last = words[-1]
    return last.islower() and last != "as" and (last in PREPOSITIONS or last.endswith("ed") or parts_of_speech(last) == {"VERB"})


_BEGINS = re.compile(r" (?:began|begins|started|starts)\b")
_ONCE = re.compile(r"\b(?:became|born|died|founded|only|first|last|since|\w{3,}est)\b")
"""What happens once, or to one alone."""
_DATE_ASKED = re.compile(r"When\b|(?:In|On|Since|Until) (?:what|which) (?:year|date|day|month)|What year", re.IGNORECASE)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _things(text: str, asked: ToConfuse, documents: Sequence[str]) -> list[tuple[str, Sort]]:
    """What the text names of what the question or a page's title names, with its sort, in the order of the text."""
    found: list[tuple[int, int, str, Sort]] = []
    for name in _names(asked.question, documents):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at is None or any(en.contains(answer, name) for answer in asked.answers):
            continue
        if (sort := sort_of(name, tuple(documents), asked.question)) is not None:
            found.append((at.start(), at.end(), name, sort))
    whole = [
        one for one in found if not any(o[0] <= one[0] and one[1] <= o[1] and o[2] != one[2] for o in found)
    ]
    return [(name, sort) for _, _, name, sort in sorted(whole, key=lambda one: one[:2])]


def _names(question: str, documents: Sequence[str]) -> list[str]:
    """What pages are about, and the names of the question, whole and in parts."""
    names = [name for document in documents if (name := _about(document))]
    for run in _NAME.finditer(question):
        name = re.sub(r"['’]s?$", "", run["name"].rstrip(".,"))
        words = name.split()
        if run.start("name") == 0 and not _is_opening_name(words):
            name = " ".join(words[1:])
        parts = [name, *re.split(r" and | of ", name)]
        names += [part for one in parts if len(part := one.removeprefix("the ").removeprefix("The ")) > 1]
        if run[0].startswith("The ") and run.start():
            names.append(run[0])
    return [name for name in dict.fromkeys(names) if name and name.split()[0].casefold() not in _LINKS - {"the"}]


def _about(document: str) -> str:
    """The page's title, without what tells it from others of that name; else what its first sentence begins with."""
    title, _, body = document.partition("\n")
    if body and len(title) < LONGEST_TITLE:
        return re.sub(r"\s*\(.*$", "", title)
    begins = re.match(r"(?:The |An? )?((?:[\w'’.-]+ ){0,3}[\w'’.-]+?),? (?:is|was|are|were) ", document)
    return begins[1] if begins else ""


def _is_opening_name(words: Sequence[str]) -> bool:
    first = words[0].casefold()
    return first not in en.STOP_WORDS and first not in PREPOSITIONS and first not in ("after", "before", "name")


@cache
def sort_of(name: str, documents: tuple[str, ...], question: str = "") -> Sort | None:
    """What sort of thing has the name: by the page that begins with it, as a person's, by its words, as a place."""
    for document in documents:
        for text in (document.partition("\n")[2], document):
            begins = re.match(rf"(?:The |An? )?{re.escape(name)}(?!\w)", text, re.IGNORECASE)
            plain = _ASIDE.sub("", text[begins.end() : begins.end() + 400]) if begins else ""
            defined = _DEFINED.match(plain)
            if defined is not None and (sort := _sort_defined(defined["what"])) is not None:
                return sort
    words = name.split()
    if question and re.search(rf"(?<!\w){re.escape(name)} by [A-Z]", question):
        return Sort("work", "")
    pages = "\n".join(documents)
    if _looks_personal(words) and not re.search(rf"\b[Tt]he {re.escape(name)}", pages):
        return Sort("person", "")
    for word in (words[-1], words[0], *(before for before, link in zip(words, words[1:], strict=False) if link in _LINKS)):
        if len(words) > 1 and (sort := _sort_of_head(word.casefold())) is not None:
            return sort
    if (place := place_class(name)) is not None:
        sort = {"city": "city", "country": "country", "state": "region", "continent": "continent"}[place]
        return Sort(sort, "") if sort else None
    if name.isupper() and len(name) > 2:
        return Sort("organisation", "")
    called = re.findall(rf"\b(\w+) {re.escape(name)}\b", pages)
    if len(words) == 1 and any(one.casefold() in TITLES or (is_first_name(one) and one[0].isupper()) for one in called):
        return Sort("person", "surname")
    if len(words) > 1 or not name.isalpha() or len(name) < 4 or is_dictionary_word(name.casefold()):
        return None
    if is_surname(name) and re.search(rf"\b[A-Z][a-z]+ {name}\b|\bdeath of {name}\b", pages):
        return Sort("person", "surname")
    if re.search(rf"\b[Tt]he {name}\b", f"{pages}\n{question}") and name.endswith("s"):
        return Sort("people", "")
    return Sort("city" if re.search(rf"\b(?:in|at|near|from|to|attack\w*|invaded) {name}\b", pages) else "thing", "")


def _looks_personal(words: Sequence[str]) -> bool:
    return (
        len(words) in (2, 3)
        and all(word[:1].isupper() for word in words)
        and is_first_name(words[0])
        and en.answer_type(" ".join(words)) == "person"
        and words[-1].casefold() not in classes("head")
    )


def _sort_of_head(word: str) -> Sort | None:
    if word in _FIRST:
        return Sort(_FIRST[word], word)
    of, group = classes("head").get(word, ("", ""))
    sort = _HEADS.get(group, group if group in _SORTS else "")
    if word in ("tribes", "people", "peoples"):
        return Sort("people", word)
    return Sort(sort, word) if sort and word not in ("town", "games", "olympics", "cup") and of != "person" else None


def _sort_defined(what: str) -> Sort | None:
    """The sort of the noun that a definition has first."""
    phrase = re.split(
        r"\b(?:in|of|from|that|which|who|by|for|at|on|with|formed|located|produced|directed)\b|[.;]", what
    )[0]
    nouns = [word.casefold().strip(",") for word in re.split(r"[\s/]+", phrase)]
    nouns = [noun if noun in _SORT_OF else re.sub("ies$", "y", noun).removesuffix("s") for noun in nouns]
    known = [noun for noun in nouns if noun in _SORT_OF]
    return Sort(_SORT_OF[known[-1]], known[-1]) if known else None


def _others(name: str, sort: Sort, text: str, rng: random.Random) -> list[str]:
    """Invented names in the place of one of that sort."""
    names, words = invented_names("en"), name.split()
    towns = rng.sample(names["town"], TRIED)
    if sort == Sort("person", "surname"):
        return rng.sample(names["surname"], TRIED)
    if sort.of == "person":
        kind = en.kind(name).split(":")[1:]
        shape = kind if len(kind) > 2 and kind[1] == "full" else ["unknown", "full", ""]
        return list(INVENTED["person"](name, text, shape, rng))
    if sort.of in ("work", "piece", "paper"):
        return rng.sample(names["title"], TRIED)
    if sort.of == "band":
        return rng.sample(names["band"], TRIED)
    if sort.of == "species":
        if len(words) > 1:
            marked = rng.sample(names["marked"], TRIED)
            return [f"{one.capitalize() if words[0][0].isupper() else one} {words[-1]}" for one in marked]
        return [coined(name, rng) for _ in range(TRIED)] if name[0].isupper() and name.isalpha() else []
    if len(words) > 1 and (made := [other for town in towns if (other := renamed(name, town))]):
        return made
    if sort.of in ("thing", "people") or (sort.of == "drink" and len(words) == 1):
        return [coined(name, rng) for _ in range(TRIED)]
    if name.isupper() and len(name) > 2:
        return rng.sample(names["acronym"], TRIED)
    if sort.of in ("city", "river", "mountain", "water", "island", "region"):
        return towns
    if sort.of in ("country", "continent"):
        return rng.sample(names["country"], TRIED)
    return [f"{town} {sort.noun.capitalize()}" for town in towns] if len(words) == 1 and sort.noun else []


def renamed(name: str, town: str) -> str | None:
    """A name of several words with another word for its own, which tells it from others of its kind."""
    words = name.split()
    if words[0].casefold() in _FIRST:
        return f"{words[0]} {town}"
    if words[-1].islower() and len(words) > LEAST_IN_NAME:
        made = renamed(" ".join(words[:-1]), town)
        return f"{made} {words[-1]}" if made else None
    link = next((at for at, word in enumerate(words) if word in ("of", "for")), None)
    if link is not None and link and words[link - 1].casefold() in classes("head"):
        if link == 1 and words[link] == "of":
            return " ".join((*words[: link + 1], town))
        return " ".join((town, *words[1:]))
    if words[-1].casefold() not in classes("head") or not words[-1][0].isupper():
        return None
    return " ".join((town, *words[1:]))
