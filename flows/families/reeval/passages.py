"""The passages that evidence is enriched with (ReEval, section 3.2)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from flows.construct.embed import Embedder
from flows.construct.retrieve import IntMatrix, Retriever, diverse, retriever_for
from flows.families.reeval import checks
from flows.language.matter import matter_of, speaks_of
from schemas.base import SourceRef
from schemas.reeval import Case, PassageRef
from schemas.source import Passage

RANKED = 100
"""Passages of the ranking that are walked for three of different pages; of fewer, all are."""
LEAST_NEAR = {"en": 0.45, "zh": 0.35}
"""Similarity to the question or the evidence below which a passage is on another matter though it names what the
question does: by the packaged embedder, and by the bigrams of characters. Of English passages that name it, read by
eye, those from 0.4 to 0.45 were related where the pages were known, and mostly not where names alone told; from 0.45 on
most were."""
LOOSELY_NEAR = {"en": 0.5, "zh": 0.4}
"""Below it, a passage may well have little to do with the question: people are to look."""
MOST_SHARED = 1
"""Passages that both expansions of a case draw on, where the collection has others."""
EXPANSIONS = ("question", "evidence")  # section 3.2: question-focused and evidence-focused


@dataclass(frozen=True)
class Drawn:
    """Passages for one expansion of a case."""

    passages: tuple[PassageRef, ...]
    doubts: tuple[str, ...]
    """What people should look at: a passage that may answer the question otherwise, or that the other expansion has."""
    sources: tuple[SourceRef, ...]
    """Where the passages come from."""
    far: int = 0
    """How many were passed over as on another matter."""


@dataclass(frozen=True)
class Shelf:
    """The collection's passages in one language."""

    passages: tuple[PassageRef, ...]
    sources: tuple[SourceRef, ...]
    """Of each of them."""
    retriever: Retriever | None
    """None where there are no passages, or nobody asks."""

    @cached_property
    def titles(self) -> list[str | None]:
        """The pages' names; some sources write them with underscores."""
        return [passage.title.replace("_", " ") if passage.title else None for passage in self.passages]

    @cached_property
    def texts(self) -> list[str]:
        """What the passages say."""
        return [passage.text for passage in self.passages]


@dataclass(frozen=True)
class Collection:
    """The passages, ranked for every case and expansion."""

    shelves: Mapping[str, Shelf]
    """By language."""
    ranks: Mapping[tuple[str, str], Sequence[int]]
    """(key of the case, expansion) -> places of its shelf's passages, best first."""
    notes: tuple[str, ...]

    def passages(
        self, case: Case, sentence: str, expansion: str, most: int, others: Sequence[PassageRef] = ()
    ) -> Drawn:
        """The best passages of different pages that repeat neither the evidence nor each other.

        At most `MOST_SHARED` of them are among `others`, those of the case's other expansion, unless there are too few
        beside them.

        Each names what the question or its supporting sentence is about (`flows.language.matter`), is near the question
        or the evidence (`LEAST_NEAR`) and has a sentence to begin with (`checks.opening`), and none answers the
        question otherwise, as far as strings tell (`checks.rival`).
        """
        shelf = self.shelves[case.language]
        if shelf.retriever is None:
            return Drawn((), (), ())
        known = {passage.id for passage in others}
        rivals: dict[int, float] = {}
        nearness: dict[int, float] = {}
        far: set[int] = set()
        similarity = shelf.retriever.similarity
        matter = matter_of(case.language, case.question, case.answer, case.evidence, sentence, case.title)

        @cache  # a second walk asks again
        def unfit(place: int) -> bool:
            nearness[place] = max(similarity(said, place) for said in (case.evidence, case.question))
            text, near = shelf.passages[place].text, nearness[place]
            if near < LEAST_NEAR[case.language] or not speaks_of(case.language, text, matter):
                far.add(place)
                return True
            if checks.opening(case.language, shelf.passages[place].text, shelf.titles[place]) is None:
                return True
            rival = checks.rival(case, shelf.passages[place].text)
            rivals[place] = rival[1] if rival else 0.0
            return rivals[place] > checks.RIVAL_ABOVE

        def walk(most_shared: int) -> list[int]:
            shared: set[int] = set()

            def refuse(place: int) -> bool:
                if unfit(place):
                    return True
                if shelf.passages[place].id in known:
                    shared.add(place)  # nothing is asked after this: what passes here is taken
                return len(shared) > most_shared and place in shared

            return diverse(
                self.ranks[case.key, expansion],
                shelf.titles,
                shelf.texts,
                query=case.question,
                evidence=case.evidence,
                similarity=similarity,
                most=most,
                refuse=refuse,
            )

        places = walk(MOST_SHARED)
        doubts = []
        if len(places) < most and known:
            places = walk(most)
            doubts.append("both expansions draw on the same passages; to be reviewed")
        for number, place in enumerate(places, 1):
            if rivals[place] > checks.UNSURE_ABOVE:
                doubts.append(f"passage {number} may bring another answer; to be reviewed")
            if nearness[place] < LOOSELY_NEAR[case.language]:
                doubts.append(f"passage {number} has little to do with the question; to be reviewed")
        return Drawn(
            tuple(shelf.passages[place] for place in places),
            tuple(doubts),
            tuple(shelf.sources[place] for place in places),
            len(far),
        )


def collect(cases: Sequence[Case], passages: Iterable[Passage], embedder: Embedder) -> Collection:
    """Rank the passages of each language for all its cases at once."""
    by_language: dict[str, list[PassageRef]] = {}
    sources: dict[str, list[SourceRef]] = {}
    for passage in passages:
        ref = PassageRef(id=passage.id, title=passage.title, text=passage.text)
        by_language.setdefault(passage.language, []).append(ref)
        sources.setdefault(passage.language, []).append(passage.source)
    shelves: dict[str, Shelf] = {}
    ranks: dict[tuple[str, str], Sequence[int]] = {}
    notes = []
    for language in sorted({case.language for case in cases}):
        own = by_language.get(language, [])
        asked = [case for case in cases if case.language == language]
        if not own:
            shelves[language] = Shelf((), (), None)
            notes.append(f"there are no passages in the language {language}: nothing can be enriched")
            continue
        retriever = retriever_for(language, [passage.text for passage in own], embedder)
        shelves[language] = Shelf(tuple(own), tuple(sources[language]), retriever)
        notes.append(f"{language}: {len(own):,} passages, ranked by {retriever.name}")
        for expansion in EXPANSIONS:
            queries = [case.question if expansion == "question" else case.evidence for case in asked]
            found: IntMatrix = retriever.rank(queries, RANKED)
            ranks |= {(case.key, expansion): row.tolist() for case, row in zip(asked, found, strict=True)}
    return Collection(shelves, ranks, tuple(notes))
