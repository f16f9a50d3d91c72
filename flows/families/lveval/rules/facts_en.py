"""English confusing facts without a model: about another subject, or something else about the same (section 3.2.2).

Subject facts, best first:
- the supporting sentence or the question's statement about an invented subject, with another answer (figure A7: about
  Fuzhou, where the question asks about Wuzhou);
- what the collection says about another entity of the same type, or in the same article;
- what the collection says of the subject, under an invented name (figures 2 and A10: a biography of "Albert Beverley").

Object facts, best first:
- the question's statement with another year (figure A7: sections D to F, where the question asks about A to C);
- what else the collection says about the subject, those most similar to question and sentence first;
- what else the page's first sentence says about it;
- the question's statement with another place or rank.

Departure: the paper's annotators and GPT-4 write every fact; here many are lifted (`sentences_en.py`).
"""

import random
import re
from collections.abc import Iterator, Sequence

from flows.families.lveval.confusing_facts import CandidateFact
from flows.families.lveval.inputs import ToConfuse
from flows.families.lveval.rules import entities_en, sentences_en
from flows.families.lveval.rules.entities_en import other_answers
from flows.families.lveval.rules.search_en import UNIQUE, PairSearch, is_part
from flows.families.lveval.rules.vocabulary import pattern
from flows.language import CannotReplace, en
from flows.language.alternatives import LAST_YEAR
from flows.language.choices import is_yes_or_no
from flows.language.en.names import is_of_a_people, place_class
from flows.language.en.phrases import article
from flows.language.en.statements import statement, untimed
from flows.language.tables import invented_names

_ONCE = re.compile(r"\b(?:became|born|died|founded|only|first|last|since|\w{3,}est)\b")  # happens once, or to only one
_YEAR_ASKED = re.compile(r"\b(?:in|around|by|since|during) (?:[A-Z][a-z]+ )?((?:1\d|20)\d\d)(?![\d–'’s-])")
_DATE_ASKED = re.compile(
    r"When\b|(?:In|On|Since|Until) (?:what|which) (?:year|date|day|month)|What year", re.IGNORECASE
)
LEAST_WORDS = 6  # the fewest words of a statement without the time asked for
_RANK = re.compile(r"\bthe (?:[A-Za-z]+['’]s )?(?P<rank>first|second|third|main|primary|\w{3,}est)\b(?! of)")
_NEXT = {"first": "second", "second": "third", "third": "fourth"}
_PLACES = ("city", "country", "region", "island", "continent", "building")
_TIME_ASKED = pattern("time_asked", re.IGNORECASE)
_PLACE_ASKED = pattern("place_asked", re.IGNORECASE)
_KIND_ASKED = re.compile(r"\b(?:common|kinds?|types?|genre|profession|occupation|job)\b", re.IGNORECASE)
_OF_WHAT_KIND = re.compile(r"\b(?:[Ww]hich|[Ww]hat)(?: [a-z]+)?(?= )")
_DEFINES = re.compile(r"(?:The )?,?.{0,30}? (?:is|was|are|were) (?:an?|the) ")
"""Questions, and clauses that may not answer them."""
_BEGINNING = re.compile(r"(?:The |In [\w ]+ |[^,]+, (?:the )?)?")  # may stand before the subject of a sentence


class EnglishFacts(PairSearch):
    """Makes the facts of one pair, best first."""

    def subject_facts(self) -> Iterator[CandidateFact]:
        """Yield candidates for subject facts."""
        asked = self.asked
        for text in self.supporting():
            for renamed in self._of_another(text):
                answered = _answered(renamed, asked.answers[0], _others_to(asked, self.rng))
                yield from (CandidateFact(fact, stated=True) for fact in answered)
        for text in statements(asked, self.rng):
            yield from (CandidateFact(fact, stated=True) for fact in self._of_another(text, stated=True))
        others = [CandidateFact(sentence.text, stated=False, lifted=True) for sentence in self.of_others()]
        yield from others if self.pages or not self.names else ()
        of_it = self.of_the_subject()
        near = sorted(self.from_documents, key=self.likeness, reverse=True)
        for sentence in dict.fromkeys((*of_it[1:], *of_it[:1], *near)):
            if not UNIQUE.search(sentence.text):
                led = any(entities_en.stands_whole(sentence.lead, name) for name in self.names)
                yield from (CandidateFact(fact, stated=led, lifted=True) for fact in self._of_another(sentence.text))
        for text in self._besides():
            yield from (CandidateFact(fact, stated=True, lifted=True) for fact in self._of_another(text))
        yield from others

    def object_facts(self) -> Iterator[CandidateFact]:
        """Yield candidates for object facts."""
        stated = list(statements(self.asked, self.rng))
        for text in stated:
            yield from (CandidateFact(fact, stated=True) for fact in _of_another_year(text, self.asked, self.rng))
        lifted = (*self.of_the_subject(), *(sentence for sentence in self.from_documents if sentence.page))
        for text in (*(sentence.text for sentence in lifted), *self._besides()):
            if self._keeps_off(text):
                yield CandidateFact(text, stated=True, lifted=True)
        for text in stated:
            yield from (CandidateFact(fact, stated=True) for fact in (*self._elsewhere(text), *_of_the_next(text)))

    def _elsewhere(self, text: str) -> Iterator[str]:
        """Yield the question's statement with another place instead of the last that it names."""
        for name in reversed(self.asked_names):
            type_ = entities_en.entity_type(name, tuple(self.documents), self.asked.question)
            if type_ is None or type_.of not in _PLACES or len(self.asked_names) == 1:
                continue
            at = re.search(rf"\b(?:in|at|to|from|into) {re.escape(name)}(?=[ .,])", text)
            if at is not None and entities_en.stands_whole(text, name):
                for other in entities_en.others_than(name, type_, text, self.rng)[: entities_en.TRIED]:
                    yield f"{text[: at.end() - len(name)]}{other}{text[at.end() :]}"
            return

    def _besides(self) -> Iterator[str]:
        """Yield clauses of the pages' first sentences."""
        for sentence in self.openings():
            if any(is_part(name, sentence.page) or is_part(sentence.page, name) for name in self.names):
                yield from sentences_en.clauses(sentence.text, sentence.page)

    def _keeps_off(self, text: str) -> bool:
        """Return whether a sentence says nothing about the things that a question for a choice compares."""
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
        """Yield the text about an invented entity in place of its subject, or of any entity if it is `stated`."""
        first = text if stated else sentences_en.lead(text)
        entities_named = _entities(first, self.asked, self.documents)
        if (
            not entities_named
            and not stated
            and (name := sentences_en.leading_name(first))
            and not any(en.contains(answer, name) or en.contains(name, answer) for answer in self.asked.answers)
            and (type_ := entities_en.entity_type(name, tuple(self.documents))) is not None
        ):
            entities_named = [(name, type_)] if type_.of not in ("thing", "people") else []
        for name, type_ in entities_named:
            before = text.partition(name)[0]
            if not entities_en.stands_whole(text, name) or not (stated or _BEGINNING.fullmatch(before)):
                continue
            if before.endswith((" a ", " an ")) or f'{name} "' in text:
                return
            if stated and any(named != name and named in before and place_class(named) is None for named in self.names):
                continue  # of something else that stays, and may be true only of this
            for other in entities_en.others_than(name, type_, text, self.rng)[: entities_en.TRIED]:
                bare = type_.of in ("work", "piece", "paper", "band", "country") or name.isupper()
                the = "(?:[Tt]he )?" if bare else ""
                changed = re.sub(rf"(?<!\w){the}{re.escape(name)}(?!\w)", other, text)
                changed = re.sub(rf"(?i)(?<!\w)an? {re.escape(other)}", f"{article(other)} {other}", changed)
                if not any(len(word) > 3 and word in changed for word in name.split() if word not in other):
                    yield changed[:1].upper() + changed[1:]
            return


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
    for other in others[: entities_en.TRIED]:
        try:
            replaced = en.replace(text, answer, other).text
            is_country = other in invented_names("en")["country"]
            yield re.sub(rf"\b[Tt]he {other}\b", other, replaced) if is_country else replaced
        except CannotReplace:
            continue


def _of_another_year(text: str, asked: ToConfuse, rng: random.Random) -> Iterator[str]:
    years = [year for year in _YEAR_ASKED.findall(asked.question) if text.count(year) == 1]
    if len(years) == 1 and not _ONCE.search(text) and not _DATE_ASKED.match(asked.question):
        year = int(years[0]) + rng.choice([3, 4, 5])
        yield text.replace(years[0], str(year if year <= LAST_YEAR else 2 * int(years[0]) - year))


def _of_the_next(text: str) -> Iterator[str]:
    """Yield a statement about the first, the largest or the main thing, changed to be about the next."""
    if len(_RANK.findall(text)) == 1 and (rank := _RANK.search(text)) is not None:
        word = rank["rank"]
        other = _NEXT.get(word, f"second {word}")
        yield f"{text[: rank.start('rank')]}{other}{text[rank.end('rank') :]}"


def _tells_place(text: str) -> bool:
    names_told = (run["name"] for run in entities_en.NAME.finditer(text))
    return any(place_class(word) or is_of_a_people(word) for name in names_told for word in (name, *name.split()))


def _entities(text: str, asked: ToConfuse, documents: Sequence[str]) -> list[tuple[str, entities_en.EntityType]]:
    """Return the entities of question and page titles that occur in the text, in its order."""
    matches: list[tuple[int, int, str, entities_en.EntityType]] = []
    for name in entities_en.names(asked.question, documents):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at is None or (name not in asked.question and any(en.contains(answer, name) for answer in asked.answers)):
            continue
        if (type_ := entities_en.entity_type(name, tuple(documents), asked.question)) is not None:
            matches.append((at.start(), at.end(), name, type_))
    return [
        (name, type_)
        for start, end, name, type_ in sorted(matches, key=lambda match: match[:2])
        if not any(first <= start and end <= last and other != name for first, last, other, _ in matches)
    ]
