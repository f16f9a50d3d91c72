"""The passages that evidence is enriched with (ReEval, section 3.2): collected, ranked and drawn."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from flows.construct.embed import Embedder
from flows.construct.engine import Drop, SetContext
from flows.construct.records import Records
from flows.construct.retrieve import IntMatrix, Retriever, diverse, retriever_for
from flows.families.reeval.checks.passage import RIVAL_ABOVE, UNSURE_ABOVE, opening, rival
from flows.families.reeval.filters import LANGUAGES, MOST_EVIDENCE_CHARACTERS, is_in
from flows.families.reeval.settings import ReEvalSettings
from flows.language import language_of
from flows.language.en.nouns import Entity
from flows.language.matter import matter_of, speaks_of
from schemas.base import SourceRef
from schemas.reeval import Case, PassageRef
from schemas.source import Passage

PASSAGES = 3  # section 3.2, "Condense the three passages into one passage"
RANKED = 100
"""Passages of the ranking that are searched for three of different pages; of fewer, all are."""
LEAST_NEAR = {"en": 0.45, "zh": 0.35}
"""Similarity to the question or the evidence below which a passage is on another matter, though it names what the
question does: by the packaged embedder, and by the bigrams of characters. Of English passages that name it, read by
eye, those from 0.4 to 0.45 were related where the pages were known, and mostly not where names alone told; from 0.45 on
most were."""
LOOSELY_NEAR = {"en": 0.5, "zh": 0.4}
"""Below it, a passage may well have little to do with the question: people are to look."""
MOST_SHARED = 1
"""Passages that both expansions of a case draw on, if the collection has others."""
PAGE_SHOWN = 40
"""Characters of a passage without a title by which a drop names it."""
Expansion = Literal["question", "evidence"]
EXPANSIONS: tuple[Expansion, ...] = ("question", "evidence")  # section 3.2: question-focused and evidence-focused


async def drop_duplicate_passages(
    passages: Records[Passage], ctx: SetContext[ReEvalSettings]
) -> AsyncIterator[Passage]:
    """One of each passage, whichever sources they are of; as long as an evidence may be, so headings are none."""
    seen: dict[str, str] = {}
    for passage in passages:
        refusal = _refusal(passage, ctx.step.embedder)
        if refusal is not None:
            ctx.drop(passage, refusal)
        elif seen.setdefault(passage.id, passage.key) != passage.key:
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
    """For people to look at: a passage that may answer the question otherwise, or that the other expansion has."""
    sources: tuple[SourceRef, ...]
    """Where the passages come from."""
    far: int = 0
    """How many were passed over as on another matter."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(passage.id for passage in self.passages)

    @property
    def pages(self) -> str:
        """The passages by their titles, or else their beginnings."""
        return "; ".join(passage.title or passage.text[:PAGE_SHOWN] for passage in self.passages)


@dataclass(frozen=True)
class PassageIndex:
    """The collection's passages in one language."""

    passages: tuple[PassageRef, ...]
    sources: tuple[SourceRef, ...]
    """Of each of them."""
    retriever: Retriever

    @cached_property
    def titles(self) -> list[str | None]:
        """The pages' names; some sources write them with underscores."""
        return [passage.title.replace("_", " ") if passage.title else None for passage in self.passages]

    @cached_property
    def texts(self) -> list[str]:
        return [passage.text for passage in self.passages]


@dataclass
class _Suitability:
    """How well each passage of an index suits a case, judged when it is first asked about."""

    index: PassageIndex
    case: Case
    sentence: str
    unfit: dict[int, bool] = field(default_factory=dict)
    """By place in the index."""
    near: dict[int, float] = field(default_factory=dict)
    """Similarity to the question or the evidence, whichever is larger."""
    rival: dict[int, float] = field(default_factory=dict)
    """How near its nearest sentence comes to answering the question otherwise."""
    far: set[int] = field(default_factory=set)
    """Places of passages on another matter."""

    def is_unfit(self, place: int) -> bool:
        """Return whether the passage must not be drawn."""
        if place not in self.unfit:
            self.unfit[place] = self._judged_unfit(place)
        return self.unfit[place]

    def _judged_unfit(self, place: int) -> bool:
        case, passage = self.case, self.index.texts[place]
        self.near[place] = max(self.index.retriever.similarity(text, place) for text in (case.evidence, case.question))
        if self.near[place] < LEAST_NEAR[case.language] or not speaks_of(case.language, passage, self._matter):
            self.far.add(place)
            return True
        if opening(case.language, passage, self.index.titles[place]) is None:
            return True
        nearest = rival(case, passage)
        self.rival[place] = nearest[1] if nearest else 0.0
        return self.rival[place] > RIVAL_ABOVE

    @cached_property
    def _matter(self) -> tuple[Entity, ...]:
        case = self.case
        return matter_of(case.language, case.question, case.answer, case.evidence, self.sentence, case.title)

    def doubts(self, places: Sequence[int]) -> list[str]:
        """Notes on drawn passages that people should look at."""
        doubts = []
        for number, place in enumerate(places, 1):
            if self.rival[place] > UNSURE_ABOVE:
                doubts.append(f"passage {number} may bring another answer; to be reviewed")
            if self.near[place] < LOOSELY_NEAR[self.case.language]:
                doubts.append(f"passage {number} has little to do with the question; to be reviewed")
        return doubts


@dataclass(frozen=True)
class Collection:
    """The passages, ranked for every case and expansion."""

    indexes: Mapping[str, PassageIndex]
    """By language, where there are passages."""
    ranks: Mapping[tuple[str, Expansion], Sequence[int]]
    """(key of the case, expansion) -> places in its index, best first."""
    notes: tuple[str, ...]
    """For the manifest."""

    def draw(self, case: Case, sentence: str, expansion: Expansion, others: Sequence[str] = ()) -> Drawn:
        """The best `PASSAGES` passages of different pages that repeat neither the evidence nor each other.

        At most `MOST_SHARED` of them are among `others`, the ids of the case's other expansion, unless there are too
        few beside them.

        Each names what the question or its supporting sentence is about (`flows.language.matter`), is near the question
        or the evidence (`LEAST_NEAR`) and has a sentence to begin with (`opening`), and none answers the question
        otherwise, as far as strings tell (`rival`).
        """
        index = self.indexes.get(case.language)
        if index is None:
            return Drawn((), (), ())
        suitability = _Suitability(index, case, sentence)

        def diverse_places(refuse: Callable[[int], bool]) -> list[int]:
            return diverse(
                self.ranks[case.key, expansion],
                index.titles,
                index.texts,
                query=case.question,
                evidence=case.evidence,
                similarity=index.retriever.similarity,
                most=PASSAGES,
                refuse=refuse,
            )

        shared: set[int] = set()

        def is_unfit_or_shared(place: int) -> bool:
            if suitability.is_unfit(place):
                return True
            if index.passages[place].id in others:
                shared.add(place)  # `diverse` asks nothing after this: what passes here is taken
            return len(shared) > MOST_SHARED and place in shared

        places = diverse_places(is_unfit_or_shared)
        doubts = []
        if len(places) < PASSAGES and others:
            places = diverse_places(suitability.is_unfit)
            doubts = ["both expansions draw on the same passages; to be reviewed"]
        return Drawn(
            tuple(index.passages[place] for place in places),
            (*doubts, *suitability.doubts(places)),
            tuple(index.sources[place] for place in places),
            len(suitability.far),
        )


def collect(cases: Sequence[Case], passages: Iterable[Passage], embedder: Embedder) -> Collection:
    """Rank the passages of each language for all its cases at once."""
    by_language: dict[str, list[tuple[PassageRef, SourceRef]]] = {}
    for passage in passages:
        ref = PassageRef(id=passage.id, title=passage.title, text=passage.text)
        by_language.setdefault(passage.language, []).append((ref, passage.source))
    indexes: dict[str, PassageIndex] = {}
    ranks: dict[tuple[str, Expansion], Sequence[int]] = {}
    notes = []
    for language in sorted({case.language for case in cases}):
        if language not in by_language:
            notes.append(f"there are no passages in the language {language}: nothing can be enriched")
            continue
        refs, sources = zip(*by_language[language], strict=True)
        retriever = retriever_for(language, [ref.text for ref in refs], embedder)
        indexes[language] = PassageIndex(refs, sources, retriever)
        notes.append(f"{language}: {len(refs):,} passages, ranked by {retriever.name}")
        asked = [case for case in cases if case.language == language]
        for expansion in EXPANSIONS:
            queries = [case.question if expansion == "question" else case.evidence for case in asked]
            rows: IntMatrix = retriever.rank(queries, RANKED)
            ranks |= {(case.key, expansion): row.tolist() for case, row in zip(asked, rows, strict=True)}
    return Collection(indexes, ranks, tuple(notes))
