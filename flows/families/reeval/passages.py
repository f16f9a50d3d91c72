"""The passages that evidence is enriched with (ReEval, section 3.2): collected, ranked and drawn."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple

from flows.construct.arrivals import cohorts
from flows.construct.embed import Embedder
from flows.construct.engine import Drop, SetContext
from flows.construct.records import Records, with_first
from flows.construct.retrieve import IntMatrix, Retriever, diverse, retriever_for
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
    """The collection's passages in one language."""

    passages: tuple[PassageRef, ...]
    sources: tuple[SourceRef, ...]
    """The source of each passage."""
    retriever: Retriever

    @cached_property
    def titles(self) -> list[str | None]:
        """The pages' names; some sources write them with underscores."""
        return [passage.title.replace("_", " ") if passage.title else None for passage in self.passages]

    @cached_property
    def texts(self) -> list[str]:
        return [passage.text for passage in self.passages]

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


@dataclass(frozen=True)
class Collection:
    """The passages, ranked for every case and expansion."""

    indexes: Mapping[str, PassageIndex]
    """By language, if there are passages."""
    ranks: Mapping[tuple[str, Expansion], IntMatrix]
    """(key of the case, expansion) -> places in its index, best first."""
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
        index = self.indexes.get(case.language)
        if index is None:
            return Drawn((), (), ())
        matter = matter_of(case.language, case.question, case.answer, case.evidence, sentence, case.title)
        judged: dict[int, Suitability] = {}

        def is_unfit(place: int) -> bool:
            if place not in judged:
                judged[place] = index.suitability(place, case, matter)
            return not judged[place].is_fit

        diverse_places = partial(
            diverse,
            self.ranks[case.key, expansion].tolist(),
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
            if index.passages[place].id in others:
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
            tuple(index.passages[place] for place in places),
            tuple(doubts),
            tuple(index.sources[place] for place in places),
            sum(suitability.is_far for suitability in judged.values()),
        )


@dataclass(frozen=True)
class Collections:
    """The collection as it was when cases came."""

    by_case: Mapping[str, Collection]
    """By the key of the case."""
    notes: tuple[str, ...]
    """For the manifest."""

    def draw(self, case: Case, sentence: str, expansion: Expansion, others: Sequence[str] = ()) -> Drawn:
        """See `Collection.draw`."""
        return self.by_case[case.key].draw(case, sentence, expansion, others)


def collect(
    cases: Iterable[Case], passages: Iterable[Passage], embedder: Embedder, arrival: Callable[[Record], int]
) -> Collections:
    """Rank for each case the passages of its language that were there when it came."""
    by_case: dict[str, Collection] = {}
    notes: dict[str, None] = {}
    for arrived, there in cohorts(arrival, cases, passages):
        collection = _collect(arrived, there, embedder)
        by_case |= dict.fromkeys((case.key for case in arrived), collection)
        notes |= dict.fromkeys(collection.notes)
    return Collections(by_case, tuple(notes))


def _collect(cases: Sequence[Case], passages: Iterable[Passage], embedder: Embedder) -> Collection:
    """Rank the passages of each language for all its cases at once."""
    by_language: dict[str, list[tuple[PassageRef, SourceRef]]] = {}
    for passage in passages:
        ref = PassageRef(id=passage.id, title=passage.title, text=passage.text)
        by_language.setdefault(passage.language, []).append((ref, passage.source))
    indexes: dict[str, PassageIndex] = {}
    ranks: dict[tuple[str, Expansion], IntMatrix] = {}
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
            ranks |= {(case.key, expansion): row for case, row in zip(asked, rows, strict=True)}
    return Collection(indexes, ranks, tuple(notes))
