"""X"""

import random
import re
from collections.abc import Iterator, Sequence

from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.rules.answers_en import other_answers
from flows.families.lveval.rules.candidate_fact import CandidateFact
from flows.families.lveval.rules.entities_en import (
    NAME,
    TRIED,
    Sort,
    names,
    others_than,
    sort_of,
    stands_whole,
    whole_names,
    without_asides,
)
from flows.families.lveval.rules.sentences_en import (
    Collection,
    Saying,
    clauses,
    lead,
    leading_name,
    parts,
    sayings,
    stands_alone,
)
from flows.families.lveval.rules.vocabulary import pattern
from flows.language import CannotReplace, en
from flows.language.alternatives import LAST_YEAR
from flows.language.choices import is_yes_or_no
from flows.language.en.names import is_of_a_people, place_class
from flows.language.en.nouns import entities
from flows.language.en.phrases import article, parts_of_speech
from flows.language.en.statements import statement, untimed
from flows.language.en.tokens import word_set
from flows.language.invented import invented_names

NEAR = 40  # documents nearest to the question that are looked through for one pair
IN_ARTICLE = 12  # documents nearest to one without a page that are taken to be of the same article
LEAST_TOLD = 8.0  # what a question or sentence is taken to tell at least (`Collection.weight`)
LEAST_LIKE = 0.1  # share of what question or supporting sentence tells in a lifted sentence that is of another subject
LEAST_OF_IT, LEAST_FAR = 0.01, 0.2
"""The same in one that is of the subject, and in one that speaks of it, or has but one word in common."""
_UNIQUE = pattern("unique")
_ONCE = re.compile(r"\b(?:became|born|died|founded|only|first|last|since|\w{3,}est)\b")
"""What happens once, or to one alone."""
_YEAR_ASKED = re.compile(r"\b(?:in|around|by|since|during) (?:[A-Z][a-z]+ )?((?:1\d|20)\d\d)(?![\d–'’s-])")
_DATE_ASKED = re.compile(
    r"When\b|(?:In|On|Since|Until) (?:what|which) (?:year|date|day|month)|What year", re.IGNORECASE
)
LEAST_WORDS = 6  # words that say something without the time that is asked for
_RANK = re.compile(r"\bthe (?:[A-Za-z]+['’]s )?(?P<rank>first|second|third|main|primary|\w{3,}est)\b(?! of)")
_TIMES = word_set("year month week day date time century decade age period war begin start end last first")
_NEXT = {"first": "second", "second": "third", "third": "fourth"}
_PLACES = ("city", "country", "region", "island", "continent", "building")
_TIME_ASKED = pattern("time_asked", re.IGNORECASE)
_PLACE_ASKED = pattern("place_asked", re.IGNORECASE)
_KIND_ASKED = re.compile(r"\b(?:common|kinds?|types?|genre|profession|occupation|job)\b", re.IGNORECASE)
_OF_WHAT_KIND = re.compile(r"\b(?:[Ww]hich|[Ww]hat)(?: [a-z]+)?(?= )")
_DEFINES = re.compile(r"(?:The )?,?.{0,30}? (?:is|was|are|were) (?:an?|the) ")
"""What a clause may not tell, by the words of the question."""
_BEGINNING = re.compile(r"(?:The |In [\w ]+ |[^,]+, (?:the )?)?")
"""What may stand before the name of whom or what a sentence is of."""


def facts(
    asked: ToConfuse, documents: Sequence[str], collection: Collection, rng: random.Random
) -> tuple[Iterator[CandidateFact], Iterator[CandidateFact]]:
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
        self.asked_names = list(self.names)
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
        near = [saying for words in queries for saying in collection.near(words, NEAR)]
        article = [
            saying for document in documents for saying in collection.near(en.content_words(document), IN_ARTICLE)
        ]
        self.near = list(dict.fromkeys((*near, *article)))
        self.beside = self.near if self.pages else list(dict.fromkeys((*article, *self.own)))

    def _topics(self) -> list[frozenset[str]]:
        """The words of the noun phrases that a question without names asks about, the longest first."""
        kind = re.search(r"\b(?:what|which)\s+((?:\w+\s+){0,2}\w+)", self.asked.question, re.IGNORECASE)
        asked_for = en.content_words(kind[1]) if kind else frozenset[str]()
        phrases = [en.content_words(entity.text) for entity in entities(self.asked.question)]
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
        of = leading_name(lead(self.asked.fact)) if self.names and not self.pages else ""
        beside = frozenset((*self.beside, *self.own))
        for saying in dict.fromkeys((*self.near, *self.own)):
            if saying.page and saying.page in self.names and saying.page not in self.pages:
                continue  # of another that is called so
            if self.names:
                called = [name for name in self.names if not is_of_a_people(name)]
                led = any(stands_whole(saying.lead, name) for name in (*called, of) if name in called or " " in name)
                fits = led or any(stands_whole(saying.text, name) for name in called if not saying.page or " " in name)
            else:
                led = any(topic <= saying.leads for topic in self.topics)
                fits = saying in self.own or (
                    not saying.page
                    and (led or (saying in beside and any(topic <= saying.words for topic in self.topics)))
                )
            likeness = self._likeness(saying)
            if fits and likeness >= (0 if led else LEAST_OF_IT if saying in self.own else LEAST_FAR):
                found.append((not led, -likeness, saying))
        return [saying for *_, saying in sorted(found, key=lambda one: one[:2])]

    def _of_others(self) -> list[Saying]:
        """What is of another of the same sort; or of another thing, where no page says the sort."""
        sorts = {saying.sort.of for saying in self.own if saying.sort is not None}
        found: list[tuple[float, Saying]] = []
        for saying in self.beside:
            words, told_of = saying.words, saying.words if saying.page else saying.leads
            if (
                " v " in saying.text
                or saying.page in self.pages
                or words <= en.content_words(self.asked.fact)
                or any(en.content_words(name) <= told_of for name in (*self.names, *self.pages))
            ):
                continue
            if not saying.page and not self._is_of_the_sort(saying):
                continue
            if saying.page and (
                saying.sort is None or saying.sort.of not in sorts or not stands_whole(saying.lead, saying.page)
            ):
                continue
            asked, told = (len(_core(words & one)) for one in (self.question, self.fact))
            likeness, common = self._likeness(saying), max(asked, told)
            if common and likeness >= (LEAST_LIKE if common > 1 else LEAST_FAR):
                found.append((-likeness, saying))
        return [saying for _, saying in sorted(found, key=lambda one: one[0])]

    def _is_of_the_sort(self, saying: Saying) -> bool:
        """Whether a sentence of no page may be of another subject of the question's sort, by its name or its noun."""
        if not self.names:
            return not any(topic <= saying.leads for topic in self.topics)
        name = leading_name(saying.lead)
        sorts = {sort.of for name in self.names if (sort := sort_of(name, tuple(self.documents))) is not None}
        sort = sort_of(name, ()) if name else None
        return sort is None or not sorts or sort.of in sorts

    def _supporting(self) -> list[str]:
        """What the documents say with the answer in it, the supporting sentence first."""
        answer, fact = self.asked.answers[0].strip(" ."), without_asides(self.asked.fact)
        said = [fact, *parts(fact)] if stands_alone(fact) else [part for part in parts(fact) if stands_alone(part)]
        told = (*said, *(saying.text for saying in sorted(self.own, key=self._likeness, reverse=True)))
        if all(map(is_yes_or_no, self.asked.answers)):
            return []
        holding = [one for one in dict.fromkeys(told) if en.contains(one, answer) and not _UNIQUE.search(one)]
        return [one for one in holding if self.pages or any(stands_whole(lead(one), name) for name in self.names)]

    def subject_facts(self) -> Iterator[CandidateFact]:
        asked = self.asked
        for text in self._supporting():
            for said in self._of_another(text):
                yield from (
                    CandidateFact(one, stated=True)
                    for one in _answered(said, asked.answers[0], _others_to(asked, self.rng))
                )
        for text in statements(asked, self.rng):
            yield from (CandidateFact(fact, stated=True) for fact in self._of_another(text, stated=True))
        others = [CandidateFact(saying.text, stated=False, lifted=True) for saying in self._of_others()]
        yield from others if self.pages or not self.names else ()
        of_it = self._of_the_subject()
        near = sorted(self.own, key=self._likeness, reverse=True)
        for saying in dict.fromkeys((*of_it[1:], *of_it[:1], *near)):
            if not _UNIQUE.search(saying.text):
                led = any(stands_whole(saying.lead, name) for name in self.names)
                yield from (CandidateFact(one, stated=led, lifted=True) for one in self._of_another(saying.text))
        for text in self._besides():
            yield from (CandidateFact(one, stated=True, lifted=True) for one in self._of_another(text))
        yield from others

    def object_facts(self) -> Iterator[CandidateFact]:
        stated = list(statements(self.asked, self.rng))
        for text in stated:
            yield from (CandidateFact(fact, stated=True) for fact in _of_another_year(text, self.asked, self.rng))
        lifted = (*self._of_the_subject(), *(saying for saying in self.own if saying.page))
        for text in (*(one.text for one in lifted), *self._besides()):
            if self._keeps_off(text):
                yield CandidateFact(text, stated=True, lifted=True)
        for text in stated:
            yield from (CandidateFact(fact, stated=True) for fact in (*self._elsewhere(text), *_of_the_next(text)))

    def _elsewhere(self, text: str) -> Iterator[str]:
        """What the question says of its subject, with another place than the one that it names last."""
        for name in reversed(self.asked_names):
            sort = sort_of(name, tuple(self.documents), self.asked.question)
            if sort is None or sort.of not in _PLACES or len(self.asked_names) == 1:
                continue
            at = re.search(rf"\b(?:in|at|to|from|into) {re.escape(name)}(?=[ .,])", text)
            if at is not None and stands_whole(text, name):
                for other in others_than(name, sort, text, self.rng)[:TRIED]:
                    yield f"{text[: at.end() - len(name)]}{other}{text[at.end() :]}"
            return

    def _besides(self) -> Iterator[str]:
        """Clauses of the pages' first sentences."""
        for saying in self._openings():
            if any(_is_part(name, saying.page) or _is_part(saying.page, name) for name in self.names):
                yield from clauses(saying.text, saying.page)

    def _keeps_off(self, text: str) -> bool:
        """Whether a sentence has nothing to do with what a question for a choice compares."""
        question = self.asked.question
        if not (is_yes_or_no(self.asked.answers[0]) or re.search(r"\bor\b", question)):
            return True
        rest, asked = text, question
        for name in sorted((*self.pages, *self.names), key=len, reverse=True):
            rest, asked = rest.replace(name, ""), asked.replace(name, "")
        asked = _OF_WHAT_KIND.sub("", asked)
        return not (
            en.content_words(rest) & en.content_words(asked)
            or (_TIME_ASKED.search(asked) and re.search(r"\d{4}|century", rest))
            or ((_PLACE_ASKED.search(asked) or _tells_place(asked)) and _tells_place(rest))
            or (_KIND_ASKED.search(asked) and _DEFINES.match(rest))
        )

    def _of_another(self, text: str, *, stated: bool = False) -> Iterator[str]:
        """The text of an invented one in the place of whom or what it is of; of any that it names, if it is stated."""
        first = text if stated else lead(text)
        things = _things(first, self.asked, self.documents)
        if (
            not things
            and not stated
            and (name := leading_name(first))
            and not any(en.contains(answer, name) or en.contains(name, answer) for answer in self.asked.answers)
            and (sort := sort_of(name, tuple(self.documents))) is not None
        ):
            things = [(name, sort)] if sort.of not in ("thing", "people") else []
        for name, sort in things:
            if not stands_whole(text, name) or not (stated or _BEGINNING.fullmatch(text[: text.index(name)])):
                continue
            before = text[: text.index(name)]
            if before.endswith((" a ", " an ")) or f'{name} "' in text:
                return
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


def _core(words: frozenset[str]) -> frozenset[str]:
    """The words that are of no time and of no place."""
    return frozenset(
        word
        for word in words - _TIMES
        if not word[0].isdigit() and place_class(word.capitalize()) is None and not is_of_a_people(word.capitalize())
    )


def _of_the_next(text: str) -> Iterator[str]:
    """What is true of the first, the largest or the main one, said of the next."""
    if len(_RANK.findall(text)) == 1 and (rank := _RANK.search(text)) is not None:
        word = rank["rank"]
        other = _NEXT.get(word, f"second {word}")
        yield f"{text[: rank.start('rank')]}{other}{text[rank.end('rank') :]}"


def _tells_place(text: str) -> bool:
    found = (run["name"] for run in NAME.finditer(text))
    return any(place_class(word) or is_of_a_people(word) for name in found for word in (name, *name.split()))


def _things(text: str, asked: ToConfuse, documents: Sequence[str]) -> list[tuple[str, Sort]]:
    """What the text names of what the question or a page's title names, with its sort, in the order of the text."""
    found: list[tuple[int, int, str, Sort]] = []
    for name in names(asked.question, documents):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at is None or (name not in asked.question and any(en.contains(answer, name) for answer in asked.answers)):
            continue
        if (sort := sort_of(name, tuple(documents), asked.question)) is not None:
            found.append((at.start(), at.end(), name, sort))
    whole = [one for one in found if not any(o[0] <= one[0] and one[1] <= o[1] and o[2] != one[2] for o in found)]
    return [(name, sort) for _, _, name, sort in sorted(whole, key=lambda one: one[:2])]
