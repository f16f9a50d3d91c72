"""The passages that evidence is enriched with (ReEval, section 3.2): collected, ranked and drawn."""

from array import array
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flows.construct.embed import Embedder
from flows.construct.engine import Drop, SetContext
from flows.construct.records import Records, with_first
from flows.construct.retrieve import Retriever, diverse, retriever_for
from flows.construct.rows_on_disk import RowsOnDisk
from flows.construct.sequences_on_disk import SequenceOnDisk
from flows.families.reeval.checks.passage import RIVAL_ABOVE, UNSURE_ABOVE, opening, rival
from flows.families.reeval.filters import LANGUAGES, MOST_EVIDENCE_CHARACTERS, is_in
from flows.families.reeval.settings import ReEvalSettings
from flows.language import language_of
from flows.language.en.nouns import Entity
from flows.language.matter import matter_of, speaks_of
from schemas.base import Record, SourceRef
from schemas.reeval import Case, PassageRef
from schemas.source import Passage

PASSAGES = 3  # section 3.2, "Condense the three passages into one passage"
RANKED = 100
"""The passages of the ranking that are searched for three of different pages; all, if there are fewer."""
RANKED_AT_ONCE = 4096
"""Cases that passages are ranked for at once: as many as FAISS compares with a passage while it has it at hand."""
LEAST_NEAR = {"en": 0.45, "zh": 0.35}
"""Similarity to the question or the evidence below which a passage is on another matter, though it names what the
question's subject: by the packaged embedder, and by character bigrams. Of English passages that name it, read by
eye, those from 0.4 to 0.45 were related if the pages were known, and mostly not if only names decided; from 0.45 on
most were."""
LOOSELY_NEAR = {"en": 0.5, "zh": 0.4}
"""Below it, a passage may have little to do with the question: people should look at it."""
MOST_SHARED = 1
"""Passages that both expansions of a case draw on, if the collection has others."""
PAGE_SHOWN = 40
"""The characters by which a drop names a passage without a title."""
Expansion = Literal["question", "evidence"]
EXPANSIONS: tuple[Expansion, ...] = ("question", "evidence")  # section 3.2: question-focused and evidence-focused


async def drop_duplicate_passages(
    passages: Records[Passage], ctx: SetContext[ReEvalSettings]
) -> AsyncIterator[Passage]:
    """Each passage once, whichever sources have it, if its length suits an evidence; so headings are left out."""
    for passage, first in with_first(passages, lambda passage: passage.id, ctx.step.arrival):
        refusal = _refusal(passage, ctx.step.embedder)
        if refusal is not None:
            ctx.drop(passage, refusal)
        elif first is not None:
            ctx.drop(passage, Drop("duplicate passage", passage.text[:200], related_id=passage.id))
        else:
            yield passage


def _refusal(passage: Passage, embedder: Embedder) -> Drop | None:
    """The drop of a passage that is too long or too short, or in another language than its source's."""
    text, language, limits = passage.text, passage.language, LANGUAGES[passage.language]
    if len(text) > MOST_EVIDENCE_CHARACTERS:
        return Drop(f"passage over {MOST_EVIDENCE_CHARACTERS} characters", text[:200], value=float(len(text)))
    if (language == "en" and not embedder.reads(text)) or not is_in(language, text):
        return Drop("passage in another language than the source's", text[:200])
    length = language_of(language).count(text)
    if length < limits.least_evidence:
        return Drop(f"passage under {limits.least_evidence} {limits.unit}", text[:200], value=float(length))
    if length > limits.most_evidence:
        return Drop(f"passage over {limits.most_evidence} {limits.unit}", text[:200], value=float(length))
    return None


@dataclass(frozen=True)
class Drawn:
    """Passages for one expansion of a case."""

    passages: tuple[PassageRef, ...]
    doubts: tuple[str, ...]
    """For people to check: a passage that may give another answer, or that the other expansion has."""
    sources: tuple[SourceRef, ...]
    """Where the passages come from."""
    far: int = 0
    """How many were skipped as off the matter."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(passage.id for passage in self.passages)

    @property
    def pages(self) -> str:
        """The passages by their titles, or else their beginnings."""
        return "; ".join(passage.title or passage.text[:PAGE_SHOWN] for passage in self.passages)


class Suitability(NamedTuple):
    """How well a passage suits a case."""

    is_fit: bool
    is_far: bool = False
    """True for a passage on another matter."""
    near: float = 0.0
    """Similarity to the question or the evidence, whichever is larger."""
    rival: float = 0.0
    """How near its nearest sentence comes to giving another answer."""

    def doubts(self, number: int, language: str) -> Iterator[str]:
        """Notes that ask people to look at the passage, which is drawn as number `number`."""
        if self.rival > UNSURE_ABOVE:
            yield f"passage {number} may bring another answer; to be reviewed"
        if self.near < LOOSELY_NEAR[language]:
            yield f"passage {number} has little to do with the question; to be reviewed"


@dataclass(frozen=True)
class PassageIndex:
    """The passages of one language that were there when some cases came. Their texts are on disk."""

    texts: Sequence[str]
    titles: Sequence[str | None]
    """The pages' names; some sources write them with underscores."""
    others: Sequence["_Beside"]
    """What else is known of each passage."""
    retriever: Retriever

    def passage(self, place: int) -> PassageRef:
        """The passage at a place."""
        return PassageRef(id=self.others[place].id, title=self.others[place].title, text=self.texts[place])

    def suitability(self, place: int, case: Case, matter: Sequence[Entity]) -> Suitability:
        """How well the passage at `place` suits a case, whose question or sentence is about `matter`."""
        text = self.texts[place]
        near = max(self.retriever.similarity(wanted, place) for wanted in (case.evidence, case.question))
        if near < LEAST_NEAR[case.language] or not speaks_of(case.language, text, matter):
            return Suitability(is_fit=False, is_far=True)
        if opening(case.language, text, self.titles[place]) is None:
            return Suitability(is_fit=False)
        nearest = rival(case, text)
        near_another_answer = nearest[1] if nearest else 0.0
        return Suitability(near_another_answer <= RIVAL_ABOVE, False, near, near_another_answer)


class _Beside(NamedTuple):
    """A passage without its text."""

    id: str
    title: str | None
    source: SourceRef


class Ranks(NamedTuple):
    """The passages of a case, best first: their places in the index of this number."""

    number: int
    places: Mapping[Expansion, NDArray[np.int32]]


@dataclass(frozen=True)
class Collection:
    """The passages as they were when cases came, ranked for every case and expansion."""

    indexes: Sequence[PassageIndex]
    """One for each release and language of the cases, if there are passages."""
    ranks: Mapping[str, Ranks]
    """By the key of the case, if its language has passages."""
    notes: tuple[str, ...]
    """For the manifest."""

    def draw(self, case: Case, sentence: str, expansion: Expansion, others: Sequence[str] = ()) -> Drawn:
        """The best `PASSAGES` passages of different pages that repeat neither the evidence nor each other.

        At most `MOST_SHARED` of them are among `others`, the ids of the case's other expansion, unless there are too
        few beside them.

        Each names what the question or its supporting sentence is about (`flows.language.matter`), is near the question
        or the evidence (`LEAST_NEAR`) and has a sentence to begin with (`opening`), and none gives another answer
        as far as strings show (`rival`).
        """
        ranks = self.ranks.get(case.key)
        if ranks is None:
            return Drawn((), (), ())
        index = self.indexes[ranks.number]
        matter = matter_of(case.language, case.question, case.answer, case.evidence, sentence, case.title)
        judged: dict[int, Suitability] = {}

        def is_unfit(place: int) -> bool:
            if place not in judged:
                judged[place] = index.suitability(place, case, matter)
            return not judged[place].is_fit

        diverse_places = partial(
            diverse,
            ranks.places[expansion].tolist(),
            index.titles,
            index.texts,
            query=case.question,
            evidence=case.evidence,
            similarity=index.retriever.similarity,
            most=PASSAGES,
        )
        shared: set[int] = set()

        def is_unfit_or_shared(place: int) -> bool:
            if is_unfit(place):
                return True
            if index.others[place].id in others:
                shared.add(place)  # `diverse` asks nothing after this: a passage accepted here is taken
            return len(shared) > MOST_SHARED and place in shared

        places = diverse_places(refuse=is_unfit_or_shared)
        doubts = []
        if len(places) < PASSAGES and others:
            places = diverse_places(refuse=is_unfit)
            doubts = ["both expansions draw on the same passages; to be reviewed"]
        for number, place in enumerate(places, 1):
            doubts += judged[place].doubts(number, case.language)
        return Drawn(
            tuple(map(index.passage, places)),
            tuple(doubts),
            tuple(index.others[place].source for place in places),
            sum(suitability.is_far for suitability in judged.values()),
        )


class _Asked(NamedTuple):
    """A case, as far as passages are ranked for it."""

    key: str
    question: str
    evidence: str


def collect(
    cases: Iterable[Case], passages: Iterable[Passage], embedder: Embedder, arrival: Callable[[Record], int]
) -> Collection:
    """Rank for each case the passages of its language that were there when it came."""
    asked = SequenceOnDisk[_Asked]()
    by_cohort: dict[tuple[int, str], array[int]] = defaultdict(lambda: array("i"))
    for number, case in enumerate(cases):
        by_cohort[arrival(case), case.language].append(number)
        asked.append(_Asked(case.key, case.question, case.evidence))
    pool = _PassagesOnDisk(passages, arrival)
    indexes: list[PassageIndex] = []
    notes: dict[str, None] = {}

    def ranks() -> Iterator[tuple[str, Ranks]]:
        for (release, language), numbers in sorted(by_cohort.items()):
            index = pool.index(release, language, embedder)
            if index is None:
                notes[f"there are no passages in the language {language}: nothing can be enriched"] = None
                continue
            notes[f"{language}: {len(index.texts):,} passages, ranked by {index.retriever.name}"] = None
            indexes.append(index)
            cohort = iter(asked.at(numbers))
            while some := list(islice(cohort, RANKED_AT_ONCE)):
                by_question = index.retriever.rank([case.question for case in some], RANKED).astype(np.int32)
                by_evidence = index.retriever.rank([case.evidence for case in some], RANKED).astype(np.int32)
                for case, *places in zip(some, by_question, by_evidence, strict=True):
                    yield case.key, Ranks(len(indexes) - 1, dict(zip(EXPANSIONS, places, strict=True)))

    return Collection(indexes, RowsOnDisk(ranks()), tuple(notes))


class _PassagesOnDisk:
    """All passages."""

    def __init__(self, passages: Iterable[Passage], arrival: Callable[[Record], int]) -> None:
        self._texts, self._titles = SequenceOnDisk[str](), SequenceOnDisk[str | None]()
        self._others = SequenceOnDisk[_Beside]()
        self._releases, self._languages = array("i"), array("i")
        self._number_of: dict[str, int] = {}
        for passage in passages:
            self._texts.append(passage.text)
            self._titles.append(passage.title.replace("_", " ") if passage.title else None)
            self._others.append(_Beside(passage.id, passage.title, passage.source))
            self._releases.append(arrival(passage))
            self._languages.append(self._number_of.setdefault(passage.language, len(self._number_of)))

    def index(self, release: int, language: str, embedder: Embedder) -> PassageIndex | None:
        """Those in a language that were there with a release; None if there are none."""
        is_there = np.array(self._releases) <= release
        is_there &= np.array(self._languages) == self._number_of.get(language, -1)
        places = np.flatnonzero(is_there)
        if not len(places):
            return None
        texts = self._texts.at(places)
        retriever = retriever_for(language, texts, embedder)
        return PassageIndex(texts, self._titles.at(places), self._others.at(places), retriever)
