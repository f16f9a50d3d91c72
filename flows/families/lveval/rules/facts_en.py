"""English confusing facts without a model: about another subject, or something else about the same (section 3.2.2).

Subject facts, best first:
- the supporting sentence or the question's statement about an invented subject, with another answer (figure A7: about
  Fuzhou, where the question asks about Wuzhou);
- what the collection says of another entity of the same type, or in the same article;
- what the collection says of the subject, under an invented name (figures 2 and A10: a biography of "Albert Beverley").

Object facts, best first:
- the question's statement with another year (figure A7: sections D to F, where the question asks about A to C);
- what else the collection says of the subject, the most similar to question and sentence first, or a part of it;
- what else the page's first sentence says of it;
- the question's statement with another place or rank.

Departure: the paper's annotators and GPT-4 write every fact; here many are lifted (`sentences_en.py`).
"""

import random
import re
from collections.abc import Iterator, Sequence

from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.rules.answers_en import other_answers
from flows.families.lveval.rules.candidate_fact import CandidateFact
from flows.families.lveval.rules.entities_en import (
    NAME,
    TRIED,
    EntityType,
    entity_type,
    names,
    others_than,
    stands_whole,
    whole_names,
    without_asides,
)
from flows.families.lveval.rules.sentences_en import (
    Collection,
    Sentence,
    clauses,
    lead,
    leading_name,
    parts,
    sentences,
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
    """Return candidates for subject facts and for object facts, best first."""
    maker = _Maker(asked, documents, collection, rng)
    return maker.subject_facts(), maker.object_facts()


class _Maker:
    """Makes the facts of one pair."""

    def __init__(self, asked: ToConfuse, documents: Sequence[str], collection: Collection, rng: random.Random) -> None:
        self.asked, self.documents, self.rng = asked, documents, rng
        self.names = [
            name
            for name in whole_names(asked.question, documents)
            if not any(answer and answer <= en.content_words(name) for answer in map(en.content_words, asked.answers))
            and (" " in name or not parts_of_speech(name) & {"ADJ", "ADV", "AUX"} or place_class(name))
        ]
        self.own = [sentence for document in documents for sentence in sentences(document)]
        self.pages = {sentence.page for sentence in self.own if sentence.page}
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
            *(en.content_words(opening.text) for opening in self._openings()),
        ]
        near = [sentence for words in queries for sentence in collection.near(words, NEAR)]
        article = [
            sentence for document in documents for sentence in collection.near(en.content_words(document), IN_ARTICLE)
        ]
        self.near = list(dict.fromkeys((*near, *article)))
        self.beside = self.near if self.pages else list(dict.fromkeys((*article, *self.own)))

    def _topics(self) -> list[frozenset[str]]:
        """Return the words of the noun phrases that a question without names asks about, longest first."""
        kind = re.search(r"\b(?:what|which)\s+((?:\w+\s+){0,2}\w+)", self.asked.question, re.IGNORECASE)
        asked_for = en.content_words(kind[1]) if kind else frozenset[str]()
        phrases = [en.content_words(entity.text) for entity in entities(self.asked.question)]
        phrases = [phrase for phrase in phrases if phrase and not phrase <= asked_for] or phrases
        return sorted(filter(None, dict.fromkeys(phrases)), key=len, reverse=True)

    def _openings(self) -> list[Sentence]:
        firsts: dict[str, Sentence] = {}
        for sentence in self.own:
            if sentence.page:
                firsts.setdefault(sentence.page, sentence)
        return list(firsts.values())

    def _likeness(self, sentence: Sentence) -> float:
        """Return the share of what question or supporting sentence tells, names aside, that a sentence has."""
        weight = self.collection.weight
        return max(
            weight(sentence.words & wanted) / max(weight(wanted), LEAST_TOLD) for wanted in (self.question, self.fact)
        )

    def _of_the_subject(self) -> list[Sentence]:
        """Return sentences about the subject of the question, or what belongs to it, the most similar first."""
        ranked: list[tuple[bool, float, Sentence]] = []
        of = leading_name(lead(self.asked.fact)) if self.names and not self.pages else ""
        beside = frozenset((*self.beside, *self.own))
        for sentence in dict.fromkeys((*self.near, *self.own)):
            if sentence.page and sentence.page in self.names and sentence.page not in self.pages:
                continue  # of another that is called so
            if self.names:
                called = [name for name in self.names if not is_of_a_people(name)]
                led = any(stands_whole(sentence.lead, name) for name in (*called, of) if name in called or " " in name)
                fits = led or any(
                    stands_whole(sentence.text, name) for name in called if not sentence.page or " " in name
                )
            else:
                led = any(topic <= sentence.leads for topic in self.topics)
                fits = sentence in self.own or (
                    not sentence.page
                    and (led or (sentence in beside and any(topic <= sentence.words for topic in self.topics)))
                )
            likeness = self._likeness(sentence)
            if fits and likeness >= (0 if led else LEAST_OF_IT if sentence in self.own else LEAST_FAR):
                ranked.append((not led, -likeness, sentence))
        return [sentence for *_, sentence in sorted(ranked, key=lambda entry: entry[:2])]

    def _of_others(self) -> list[Sentence]:
        """Return sentences about another entity of the same type, or of any type where no page tells it."""
        types = {sentence.type.of for sentence in self.own if sentence.type is not None}
        ranked: list[tuple[float, Sentence]] = []
        for sentence in self.beside:
            words, told_of = sentence.words, sentence.words if sentence.page else sentence.leads
            if (
                " v " in sentence.text
                or sentence.page in self.pages
                or words <= en.content_words(self.asked.fact)
                or any(en.content_words(name) <= told_of for name in (*self.names, *self.pages))
            ):
                continue
            if not sentence.page and not self._is_of_the_type(sentence):
                continue
            if sentence.page and (
                sentence.type is None or sentence.type.of not in types or not stands_whole(sentence.lead, sentence.page)
            ):
                continue
            asked, supported = (len(_core(words & wanted)) for wanted in (self.question, self.fact))
            likeness, common = self._likeness(sentence), max(asked, supported)
            if common and likeness >= (LEAST_LIKE if common > 1 else LEAST_FAR):
                ranked.append((-likeness, sentence))
        return [sentence for _, sentence in sorted(ranked, key=lambda wanted: wanted[0])]

    def _is_of_the_type(self, sentence: Sentence) -> bool:
        """Return whether a sentence without a page may be about another entity of the question's type."""
        if not self.names:
            return not any(topic <= sentence.leads for topic in self.topics)
        name = leading_name(sentence.lead)
        types = {type_.of for name in self.names if (type_ := entity_type(name, tuple(self.documents))) is not None}
        type_ = entity_type(name, ()) if name else None
        return type_ is None or not types or type_.of in types

    def _supporting(self) -> list[str]:
        """Return the sentences of the documents that hold the answer, the supporting sentence first."""
        answer, fact = self.asked.answers[0].strip(" ."), without_asides(self.asked.fact)
        of_fact = [fact, *parts(fact)] if stands_alone(fact) else [part for part in parts(fact) if stands_alone(part)]
        candidates = (*of_fact, *(sentence.text for sentence in sorted(self.own, key=self._likeness, reverse=True)))
        if all(map(is_yes_or_no, self.asked.answers)):
            return []
        holding = [
            sentence
            for sentence in dict.fromkeys(candidates)
            if en.contains(sentence, answer) and not _UNIQUE.search(sentence)
        ]
        return [
            sentence
            for sentence in holding
            if self.pages or any(stands_whole(lead(sentence), name) for name in self.names)
        ]

    def subject_facts(self) -> Iterator[CandidateFact]:
        asked = self.asked
        for text in self._supporting():
            for renamed_text in self._of_another(text):
                yield from (
                    CandidateFact(one, stated=True)
                    for one in _answered(renamed_text, asked.answers[0], _others_to(asked, self.rng))
                )
        for text in statements(asked, self.rng):
            yield from (CandidateFact(fact, stated=True) for fact in self._of_another(text, stated=True))
        others = [CandidateFact(sentence.text, stated=False, lifted=True) for sentence in self._of_others()]
        yield from others if self.pages or not self.names else ()
        of_it = self._of_the_subject()
        near = sorted(self.own, key=self._likeness, reverse=True)
        for sentence in dict.fromkeys((*of_it[1:], *of_it[:1], *near)):
            if not _UNIQUE.search(sentence.text):
                led = any(stands_whole(sentence.lead, name) for name in self.names)
                yield from (CandidateFact(one, stated=led, lifted=True) for one in self._of_another(sentence.text))
        for text in self._besides():
            yield from (CandidateFact(one, stated=True, lifted=True) for one in self._of_another(text))
        yield from others

    def object_facts(self) -> Iterator[CandidateFact]:
        stated = list(statements(self.asked, self.rng))
        for text in stated:
            yield from (CandidateFact(fact, stated=True) for fact in _of_another_year(text, self.asked, self.rng))
        lifted = (*self._of_the_subject(), *(sentence for sentence in self.own if sentence.page))
        for text in (*(sentence.text for sentence in lifted), *self._besides()):
            if self._keeps_off(text):
                yield CandidateFact(text, stated=True, lifted=True)
        for text in stated:
            yield from (CandidateFact(fact, stated=True) for fact in (*self._elsewhere(text), *_of_the_next(text)))

    def _elsewhere(self, text: str) -> Iterator[str]:
        """Yield the question's statement with another place than the last that it names."""
        for name in reversed(self.asked_names):
            type_ = entity_type(name, tuple(self.documents), self.asked.question)
            if type_ is None or type_.of not in _PLACES or len(self.asked_names) == 1:
                continue
            at = re.search(rf"\b(?:in|at|to|from|into) {re.escape(name)}(?=[ .,])", text)
            if at is not None and stands_whole(text, name):
                for other in others_than(name, type_, text, self.rng)[:TRIED]:
                    yield f"{text[: at.end() - len(name)]}{other}{text[at.end() :]}"
            return

    def _besides(self) -> Iterator[str]:
        """Yield clauses of the pages' first sentences."""
        for sentence in self._openings():
            if any(_is_part(name, sentence.page) or _is_part(sentence.page, name) for name in self.names):
                yield from clauses(sentence.text, sentence.page)

    def _keeps_off(self, text: str) -> bool:
        """Return whether a sentence tells nothing of what a question for a choice compares."""
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
        """Yield the text about an invented entity: its subject, or any that it names if it is `stated`."""
        first = text if stated else lead(text)
        entities_named = _entities(first, self.asked, self.documents)
        if (
            not entities_named
            and not stated
            and (name := leading_name(first))
            and not any(en.contains(answer, name) or en.contains(name, answer) for answer in self.asked.answers)
            and (type_ := entity_type(name, tuple(self.documents))) is not None
        ):
            entities_named = [(name, type_)] if type_.of not in ("thing", "people") else []
        for name, type_ in entities_named:
            if not stands_whole(text, name) or not (stated or _BEGINNING.fullmatch(text[: text.index(name)])):
                continue
            before = text[: text.index(name)]
            if before.endswith((" a ", " an ")) or f'{name} "' in text:
                return
            if stated and any(named != name and named in before and place_class(named) is None for named in self.names):
                continue  # of something else that stays, and may be true of this alone
            for other in others_than(name, type_, text, self.rng)[:TRIED]:
                bare = type_.of in ("work", "piece", "paper", "band", "country") or name.isupper()
                the = "(?:[Tt]he )?" if bare else ""
                changed = re.sub(rf"(?<!\w){the}{re.escape(name)}(?!\w)", other, text)
                changed = re.sub(
                    rf"(?<!\w)an? {re.escape(other)}", f"{article(other)} {other}", changed, flags=re.IGNORECASE
                )
                if not any(len(word) > 3 and word in changed for word in name.split() if word not in other):
                    yield changed[:1].upper() + changed[1:]
            return


def _is_part(name: str, other: str) -> bool:
    return en.content_words(name) <= en.content_words(other)


def statements(asked: ToConfuse, rng: random.Random) -> Iterator[str]:
    """Yield the question as a statement, with other answers or without any."""
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
            replaced = en.replace(text, answer, other).text
            yield (
                re.sub(rf"\b[Tt]he {other}\b", other, replaced)
                if other in invented_names("en")["country"]
                else replaced
            )
        except CannotReplace:
            continue


def _of_another_year(text: str, asked: ToConfuse, rng: random.Random) -> Iterator[str]:
    years = [year for year in _YEAR_ASKED.findall(asked.question) if text.count(year) == 1]
    if len(years) == 1 and not _ONCE.search(text) and not _DATE_ASKED.match(asked.question):
        year = int(years[0]) + rng.choice([3, 4, 5])
        yield text.replace(years[0], str(year if year <= LAST_YEAR else 2 * int(years[0]) - year))


def _core(words: frozenset[str]) -> frozenset[str]:
    """Return the words that name no time and no place."""
    return frozenset(
        word
        for word in words - _TIMES
        if not word[0].isdigit() and place_class(word.capitalize()) is None and not is_of_a_people(word.capitalize())
    )


def _of_the_next(text: str) -> Iterator[str]:
    """Yield a statement about the first, the largest or the main one, made about the next."""
    if len(_RANK.findall(text)) == 1 and (rank := _RANK.search(text)) is not None:
        word = rank["rank"]
        other = _NEXT.get(word, f"second {word}")
        yield f"{text[: rank.start('rank')]}{other}{text[rank.end('rank') :]}"


def _tells_place(text: str) -> bool:
    names_told = (run["name"] for run in NAME.finditer(text))
    return any(place_class(word) or is_of_a_people(word) for name in names_told for word in (name, *name.split()))


def _entities(text: str, asked: ToConfuse, documents: Sequence[str]) -> list[tuple[str, EntityType]]:
    """Return the entities of question and page titles that stand in the text, in its order."""
    matches: list[tuple[int, int, str, EntityType]] = []
    for name in names(asked.question, documents):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at is None or (name not in asked.question and any(en.contains(answer, name) for answer in asked.answers)):
            continue
        if (type_ := entity_type(name, tuple(documents), asked.question)) is not None:
            matches.append((at.start(), at.end(), name, type_))
    whole = [
        match
        for match in matches
        if not any(o[0] <= match[0] and match[1] <= o[1] and o[2] != match[2] for o in matches)
    ]
    return [(name, type_) for _, _, name, type_ in sorted(whole, key=lambda match: match[:2])]
