"""English confusing facts by rule: the like of another subject, and something else of the same (section 3.2.2).

Subject facts, the best first:
- the question's own statement, or the supporting sentence, of an invented subject and with another answer (figure A7:
  of Fuzhou, where the question asks of Wuzhou);
- what the collection says of another of the same sort, or where the question names nothing, of another thing;
- what the collection says of the subject, under an invented name (figures 2 and A10: a biography of "Albert Beverley").

Object facts, the best first:
- what the question says of another year (figure A7: of sections D to F, where the question asks of A to C);
- what the collection says besides of the subject, the likest to question and sentence first; the pair's own documents
  in other words;
- that somebody spoke or wrote of it: a person, a place or a time that the question might ask for, and does not.

Departure: the paper's annotators and GPT-4 write every fact; here many are lifted (`sayings_en.py`).
"""

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flows.families.lveval.prompts import ToConfuse
from flows.families.lveval.sayings_en import Collection, Saying, lead, leading_name, reworded, sayings, stands_alone
from flows.families.lveval.things_en import (
    NAME,
    TRIED,
    Sort,
    coined,
    names,
    others_than,
    renamed,
    sort_of,
    stands_whole,
    whole_names,
    without_asides,
)
from flows.language import CannotReplace, en
from flows.language.alternatives import LAST_YEAR, NUMBER, YEAR, counted_anew, is_plausible, moved, persons
from flows.language.choices import is_yes_or_no
from flows.language.en_names import classes, is_of_a_people, place_class
from flows.language.en_nouns import entities
from flows.language.en_phrases import ARTICLES, PREPOSITIONS, article, is_dictionary_word, is_plural, parts_of_speech
from flows.language.en_statements import WORK_ASKED, is_finite, statement, untimed
from flows.language.en_tokens import MONTHS, word_set
from flows.language.invented import invented_names

NEAR = 40
"""Documents nearest to the question that are looked through for one pair."""
LEAST_TOLD = 8.0
"""What a question or sentence is taken to tell at least (`Collection.weight`)."""
LEAST_COMMON = 2
"""Content words that a sentence of another subject has in common with question or supporting sentence."""
LEAST_LIKE = 0.2
"""Share of what question or supporting sentence tells in a lifted sentence that is of another subject."""
LEAST_OF_IT, LEAST_FAR = 0.05, 0.3
"""The same in one that is of the subject, and in one that speaks of it."""
_UNIQUE = re.compile(
    r"\b(?:only|first|capital|most|last|largest|\w{3,}est|known as|called|named|second|name|word|term)\b|"
    r"\b(?:styli[sz]ed|originally|formerly|sometimes|abbreviated|nicknamed|short for)\b|"
    r"\b(?:is|was|are|were) (?:the|King|Queen|President)\b"
)
"""What is true of one alone, and of no other under another name."""
_ONCE = re.compile(r"\b(?:became|born|died|founded|only|first|last|since|\w{3,}est)\b")
"""What happens once, or to one alone."""
_YEAR_ASKED = re.compile(r"\b(?:in|around|by|since|during) (?:[A-Z][a-z]+ )?((?:1\d|20)\d\d)(?![\d–'’s-])")
_DATE_ASKED = re.compile(
    r"When\b|(?:In|On|Since|Until) (?:what|which) (?:year|date|day|month)|What year", re.IGNORECASE
)
_EMPTY = word_set(
    "name names number term type kind sort word result percentage year date day month time part one first second third "
    "last only same other main most example use amount country person city place people"
)
"""Nouns and adjectives of which nobody speaks."""
LEAST_LETTERS = 3
"""Letters of a name that somebody speaks of."""
LEAST_WORDS = 6
"""Words that say something without the time that is asked for."""


_SPOKEN = {
    "date": ("A lecture on {of} was given in {said}.", "An essay on {of} was written in {said}."),
    "place": ("A lecture on {of} was given in {said}.", "An essay on {of} was written in {said}."),
    "person": ("{said} gave a lecture on {of}.", "{said} wrote an essay on {of}.", "{said} wrote a study of {of}."),
}
"""What else may be said of anything, by what the question asks for."""


_BEGINNING = re.compile(r"(?:The |In [\w ]+ |[^,]+, (?:the )?)?")
"""What may stand before the name of whom or what a sentence is of."""
_OF_ITS_OWN = re.compile(
    r"\bthe (?:(?:[a-z-]+ )?[a-z-]+ of (?:the )?[a-z-]+|[a-z-]+ [a-z-]+)"
    r"(?=\?|$| (?:[a-z]+ed|in|on|by|at|for|is|was|are|were|has|have|had|to)\b)"
)
"""A noun phrase that makes sense alone: "the price of oil"."""


class Made(NamedTuple):
    """A fact that may do, and whether it says what the question says."""

    text: str
    stated: bool


def facts(
    asked: ToConfuse, documents: Sequence[str], collection: Collection, rng: random.Random
) -> tuple[Iterator[Made], Iterator[Made]]:
    """Subject facts and object facts that may do, the best first."""
    maker = _Maker(asked, documents, collection, rng)
    return maker.subject_facts(), maker.object_facts()


class _Maker:
    """Facts of one pair."""

    def __init__(self, asked: ToConfuse, documents: Sequence[str], collection: Collection, rng: random.Random) -> None:
        self.asked, self.documents, self.rng = asked, documents, rng
        self.names = [
            name
            for name in whole_names(asked.question, documents)
            if not any(answer and answer <= en.content_words(name) for answer in map(en.content_words, asked.answers))
            and (" " in name or not parts_of_speech(name) & {"ADJ", "ADV", "AUX"} or place_class(name))
        ]
        self.own = [saying for document in documents for saying in sayings(document)]
        self.pages = {saying.page for saying in self.own if saying.page}
        paged = [
            name for name in self.names if any(_is_part(name, page) or _is_part(page, name) for page in self.pages)
        ]
        named = en.content_words(" ".join(whole_names(asked.question, documents)))
        self.names = paged or (self.names[:1] if self.pages else self.names)
        self.question = en.content_words(asked.question) - named
        self.fact = en.content_words(asked.fact) - named
        self.topics = [] if named else self._topics()
        self.collection = collection
        queries = [
            en.content_words(asked.question),
            en.content_words(asked.fact),
            en.content_words(" ".join(self.names)),
            *(en.content_words(one.text) for one in self._openings()),
        ]
        self.near = list(dict.fromkeys(saying for words in queries for saying in collection.near(words, NEAR)))

    def _topics(self) -> list[frozenset[str]]:
        """The words of the noun phrases that a question without names asks about, the longest first."""
        kind = re.search(r"\b(?:what|which)\s+((?:\w+\s+){0,2}\w+)", self.asked.question, re.IGNORECASE)
        asked_for = en.content_words(kind[1]) if kind else frozenset[str]()
        phrases = [en.content_words(one.text) for one in entities(self.asked.question)]
        phrases = [phrase for phrase in phrases if phrase and not phrase <= asked_for] or phrases
        return sorted(filter(None, dict.fromkeys(phrases)), key=len, reverse=True)

    def _openings(self) -> list[Saying]:
        firsts: dict[str, Saying] = {}
        for saying in self.own:
            if saying.page:
                firsts.setdefault(saying.page, saying)
        return list(firsts.values())

    def _likeness(self, saying: Saying) -> float:
        """Share of what the question tells that the saying has, or of what the supporting sentence tells; but names."""
        weight = self.collection.weight
        return max(weight(saying.words & one) / max(weight(one), LEAST_TOLD) for one in (self.question, self.fact))

    def _of_the_subject(self) -> list[Saying]:
        """What is of what the question asks about, or of what belongs to it, the likest first."""
        found: list[tuple[bool, float, Saying]] = []
        for saying in dict.fromkeys((*self.near, *self.own)):
            if saying.page and saying.page in self.names and saying.page not in self.pages:
                continue  # of another that is called so
            if self.names:
                led = any(stands_whole(saying.lead, name) for name in self.names)
                fits = led or (
                    not saying.page
                    and any(stands_whole(saying.text, name) and place_class(name) is None for name in self.names)
                )
            else:
                led = any(topic <= saying.leads for topic in self.topics)
                fits = led or any(topic <= saying.words for topic in self.topics)
            likeness = self._likeness(saying)
            if fits and likeness >= (LEAST_OF_IT if led else LEAST_FAR):
                found.append((not led, -likeness, saying))
        return [saying for *_, saying in sorted(found, key=lambda one: one[:2])]

    def _of_others(self) -> list[Saying]:
        """What is of another of the same sort; or of another thing, where no page says the sort."""
        sorts = {saying.sort.of for saying in self.own if saying.sort is not None}
        found: list[tuple[float, Saying]] = []
        for saying in self.near:
            words = saying.words
            if saying.page in self.pages or any(en.content_words(name) <= words for name in (*self.names, *self.pages)):
                continue
            if not self.names and any(topic <= saying.leads for topic in self.topics):
                continue
            if saying.page and (
                saying.sort is None or saying.sort.of not in sorts or not stands_whole(saying.lead, saying.page)
            ):
                continue
            common = max(len(saying.words & self.question), len(saying.words & self.fact))
            if common >= LEAST_COMMON and (likeness := self._likeness(saying)) >= LEAST_LIKE:
                found.append((-likeness, saying))
        return [saying for _, saying in sorted(found, key=lambda one: one[0])]

    def subject_facts(self) -> Iterator[Made]:
        asked = self.asked
        for text in statements(asked, self.rng):
            yield from (Made(fact, stated=True) for fact in self._of_another(text, stated=True))
        fact = without_asides(asked.fact)
        if not all(map(is_yes_or_no, asked.answers)) and stands_alone(fact) and not _UNIQUE.search(fact):
            for text in _answered(fact, asked.answers[0], _others_to(asked, self.rng)):
                yield from (Made(one, stated=False) for one in self._of_another(text))
        others = (Made(one, stated=False) for saying in self._of_others() for one in self._not_repeated(saying))
        if not self.names or self.pages:
            yield from others
        of_it = self._of_the_subject()
        near = sorted(self.own, key=self._likeness, reverse=True)
        for saying in dict.fromkeys((*of_it[1:], *of_it[:1], *near)):
            if not _UNIQUE.search(saying.text):
                yield from (Made(one, stated=False) for one in self._of_another(saying.text))
        yield from others

    def object_facts(self) -> Iterator[Made]:
        stated = list(statements(self.asked, self.rng))
        for text in stated:
            yield from (Made(fact, stated=True) for fact in _of_another_year(text, self.asked, self.rng))
        yield from self._lifted()
        yield from (Made(fact, stated=True) for fact in self._spoken())

    def _spoken(self) -> Iterator[str]:
        """That somebody spoke or wrote of it: somebody, a time or a place that might be the answer, and is not."""
        answer = re.sub(r"^(?:in|on|at|by) ", "", self.asked.answers[0].strip(" ."), flags=re.IGNORECASE)
        of = en.answer_type(answer, self.asked.question)
        names_of = invented_names("en")
        if of == "date":
            said = [one for one in _counted(answer, self.rng) if re.fullmatch(r"(?:[A-Z][a-z]+ )?\d{3,4}s?", one)]
        else:
            said = self.rng.sample(names_of["town"], TRIED) if of == "place" else []
        if not said:
            of = "person"
            first = self.rng.choice(("male", "female"))
            pairs = zip(
                self.rng.sample(names_of[first], TRIED), self.rng.sample(names_of["surname"], TRIED), strict=True
            )
            said = [" ".join(pair) for pair in pairs]
        form = self.rng.choice(_SPOKEN[of])
        phrases = phrases_asked(self.asked.question, self.names)
        phrases += [f"{phrase} and {name}" for phrase in phrases[:1] for name in self._besides(phrase)[:1]]
        yield from (form.format(of=phrase, said=one) for phrase in phrases for one in said[:1])

    def _besides(self, phrase: str) -> list[str]:
        """Names of the supporting sentence that the phrase lacks, without the answers."""
        return [
            name
            for name in whole_names(self.asked.fact, self.documents)
            if not (
                " and " in name
                or is_of_a_people(name)
                or self.asked.fact.startswith(name)
                or any(map(is_dictionary_word, name.casefold().split()))
            )
            and name.casefold() not in MONTHS
            and not any(name[:LEAST_LETTERS] in one for one in (phrase, *self.asked.answers))
        ]

    def _lifted(self) -> Iterator[Made]:
        for saying in (*self._of_the_subject(), *(one for one in self.own if one.page)):
            yield from (Made(one, stated=True) for one in self._not_repeated(saying))

    def _not_repeated(self, saying: Saying) -> Iterator[str]:
        """The sentence, in other words where it stands in the pair's own documents."""
        is_own = any(saying.text in document for document in self.documents)
        yield from reworded(saying.text) if is_own else (saying.text,)

    def _of_another(self, text: str, *, stated: bool = False) -> Iterator[str]:
        """The text of an invented one in the place of whom or what it is of; of any that it names, if it is stated."""
        first = text if stated else lead(text)
        things = _things(first, self.asked, self.documents)
        if not things and (name := leading_name(first)) and (sort := sort_of(name, tuple(self.documents))) is not None:
            things = [(name, sort)] if sort.of not in ("thing", "people") else []
        for name, sort in things:
            if not stands_whole(text, name) or not (stated or _BEGINNING.fullmatch(text[: text.index(name)])):
                continue
            before = text[: text.index(name)]
            if stated and any(one != name and one in before and place_class(one) is None for one in self.names):
                continue  # of something else that stays, and may be true of this alone
            for other in others_than(name, sort, text, self.rng)[:TRIED]:
                bare = sort.of in ("work", "piece", "paper", "band", "country") or name.isupper()
                the = "(?:[Tt]he )?" if bare else ""
                said = re.sub(rf"(?<!\w){the}{re.escape(name)}(?!\w)", other, text)
                said = re.sub(rf"(?<!\w)an? {re.escape(other)}", f"{article(other)} {other}", said, flags=re.IGNORECASE)
                if not any(len(word) > 3 and word in said for word in name.split() if word not in other):
                    yield said[:1].upper() + said[1:]
            return


def phrases_asked(question: str, named: Sequence[str]) -> list[str]:
    """The noun phrases in which a question names something ("Watt's discovery of latent heat"), or that it has else."""
    found = []
    for name in named if named else ():
        at = re.search(
            rf"(?P<of>\bthe (?:[a-z-]+ )?[a-z-]+ of )?(?P<the>\b[Tt]he )?(?<!\w){re.escape(name)}(?!\w)", question
        )
        if at is not None and len(name) >= LEAST_LETTERS:
            owned = _owned(question[at.end() :]) if re.match(r"['’]s? ", question[at.end() :]) else ""
            found.append(f"{_noun_phrase(at['of'] or '')}{(at['the'] or '').lower()}{name}{owned}")
    the = (phrase[0] for phrase in re.finditer(_OF_ITS_OWN, question))
    several = [one.text for one in entities(question) if not one.is_name and " " in one.text]
    several = [one if is_plural(one) else f"the {one}" for one in several if one.split()[-1] not in _EMPTY]
    common = list(dict.fromkeys((*filter(_noun_phrase, the), *several)))
    return [*found, *(f"{phrase} and {one}" for phrase in found[:1] for one in common[:1])] if found else common


def _noun_phrase(text: str) -> str:
    """The text, if its words can all be of a noun phrase that says something; else nothing."""
    words = [word for word in text.removesuffix(" of ").split() if word not in ARTICLES | {"of"}]
    fits = all(parts_of_speech(word) & {"NOUN", "ADJ"} and not is_finite(word) and word not in _EMPTY for word in words)
    ends = text.endswith(" of ") or text.split()[-1:] == words[-1:]
    return text if fits and words and ends and "NOUN" in parts_of_speech(words[-1]) else ""


def _owned(text: str) -> str:
    """What is said to belong: "'s discovery of latent heat"."""
    sign, *words = re.findall(r"['’]s?|[\w-]+|[^\w\s]", text)
    found: list[str] = []
    for word in words:
        of = parts_of_speech(word)
        if not (word[:1].isupper() or of & {"NOUN", "ADJ"}) or word in PREPOSITIONS or "AUX" in of or is_finite(word):
            break
        found.append(word)
    while found and "NOUN" not in parts_of_speech(found[-1]) and not found[-1][:1].isupper():
        found.pop()
    return f"{sign} {' '.join(found)}" if found else ""


def _is_part(name: str, other: str) -> bool:
    return en.content_words(name) <= en.content_words(other)


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


def _others_to(asked: ToConfuse, rng: random.Random) -> list[str]:
    return list(dict.fromkeys(other_answers(asked.answers[0], asked.question, asked.fact, rng)))


def _answered(text: str, answer: str, others: Sequence[str]) -> Iterator[str]:
    for other in others[:TRIED]:
        try:
            said = en.replace(text, answer, other).text
            yield re.sub(rf"\b[Tt]he {other}\b", other, said) if other in invented_names("en")["country"] else said
        except CannotReplace:
            continue


def _of_another_year(text: str, asked: ToConfuse, rng: random.Random) -> Iterator[str]:
    years = [year for year in _YEAR_ASKED.findall(asked.question) if text.count(year) == 1]
    if len(years) == 1 and not _ONCE.search(text) and not _DATE_ASKED.match(asked.question):
        year = int(years[0]) + rng.choice([3, 4, 5])
        yield text.replace(years[0], str(year if year <= LAST_YEAR else 2 * int(years[0]) - year))


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
