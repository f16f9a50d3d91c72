"""The ratings of a file that can be scored: those that this build would plan for the models that the file names.

The seeds and the settings of a build say which dialogues it would hold with a model, and which ratings it would ask
for. A file of ratings is compared with that plan before it is scored.
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.plan import dialogues_of, ratings_of, ratings_planned, style_in
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.on_disk import Rows
from flows.scoring.tables import PartialScores, ScoreError
from schemas.base import Dropped, content_hash, key_of
from schemas.refutebench import RATINGS, Rating, Seed


class Place(NamedTuple):
    """The fields that distinguish a rating from every other."""

    task: str
    query: str
    protocol: str
    unrelated: int
    refuter: str
    style: str
    model: str
    evaluator: str
    refutation: int | None
    answer: int

    @classmethod
    def of(cls, rating: Rating) -> "Place":
        """The place of a rating."""
        return cls(
            rating.task, rating.query, rating.protocol, rating.unrelated, rating.refuter, rating.style, rating.model,
            rating.evaluator, rating.refutation_number, rating.answer_number,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """A short text that no other place has."""
        return content_hash(*self)

    def __str__(self) -> str:
        about = "task" if self.refutation is None else f"r{self.refutation}"
        after = f" (C = {self.unrelated})" if self.protocol == "persistent" else ""
        return (
            f"{self.evaluator} on a{self.answer} after {about}, {self.protocol}{after} with {self.model}, "
            f"{self.query.partition(chr(10))[0][:60]!r}"
        )


class PlannedRating(NamedTuple):
    """A rating that a build would ask for: the key of its dialogue, and its own key."""

    dialogue: str
    key: str


def select_ratings(ctx: DialogueContext, partial: bool) -> DialogueContext:
    """Return `ctx` with only those ratings, dialogues and drops that this build plans for the models of the file.

    Every planned rating must be there, unless it or its dialogue is among the drops. Raises `ScoreError` if a
    rating is missing, double, or of a dialogue that this build does not plan. With `partial`, unknown ratings are left
    out, of two for one place the first counts, and a warning, `PartialScores`, gives the numbers.
    """
    settings: RefuteBenchSettings = ctx.settings.model_copy(update={"evaluated": _evaluated(ctx)})
    plan = _Plan(ctx, settings)
    rating_keys = Rows(
        (key_of("refutebench", "ratings", dialogue.key, slot), True)
        for dialogue in ctx.records("dialogues")
        if plan.dialogues.get(dialogue.key)
        for slot in ratings_of(dialogue, settings.evaluators)
    )
    keys = {"dialogues": plan.dialogues, "ratings": rating_keys}

    def dropped(part: str) -> Iterator[Dropped]:
        return (drop for drop in ctx.dropped(part) if keys[part].get(drop.key))

    def records(part: str) -> Iterable[Any]:
        if part == "ratings":
            return plan.scored(ctx.records("ratings"))
        if part == "dialogues":
            return (dialogue for dialogue in ctx.records("dialogues") if plan.dialogues.get(dialogue.key))
        return ctx.records(part) if part == "seeds" else ()

    _check(ctx.records("ratings"), plan, Rows((drop.key, True) for part in keys for drop in dropped(part)), partial)
    return replace(ctx, settings=settings, records=records, dropped=dropped)


def _evaluated(ctx: DialogueContext) -> tuple[str, ...]:
    """The models of the file's records on this build's queries; if no query is this build's, all its models."""
    queries = Rows((seed.query, True) for seed in ctx.records("seeds"))
    models, others = set[str](), set[str]()
    for record in chain(ctx.records("ratings"), ctx.records("dialogues")):
        (models if queries.get(record.query) else others).add(record.model)
    return tuple(sorted(models or others))


class _Plan:
    """The ratings that a build would ask for, and the keys of their dialogues, in temporary files."""

    def __init__(self, ctx: DialogueContext, settings: RefuteBenchSettings) -> None:
        self._seeds, self._settings = ctx.records("seeds"), settings
        self._places, self.dialogues = Rows(), Rows()
        for place, rating in self:
            self._places.add(place.name, True)
            self.dialogues.add(rating.dialogue, True)

    def __contains__(self, place: Place) -> bool:
        return self._places.get(place.name) is not None

    def __iter__(self) -> Iterator[tuple[Place, PlannedRating]]:
        return _planned(self._seeds, self._settings)

    def scored(self, ratings: Iterable[Rating]) -> Iterator[Rating]:
        """Yield the first rating of each planned place. Unrated records are skipped."""
        scored = Rows()
        for rating in ratings:
            place = Place.of(rating)
            if rating.rating in RATINGS and place in self and scored.add(place.name, True):
                yield rating


def _planned(seeds: Iterable[Seed], settings: RefuteBenchSettings) -> Iterator[tuple[Place, PlannedRating]]:
    for seed in seeds:
        for slot in dialogues_of(seed, settings):
            dialogue = key_of("refutebench", "dialogues", seed.key, slot)
            for rating in ratings_planned(slot, settings):
                place = Place(
                    task=seed.task,
                    query=seed.query,
                    protocol=str(slot["protocol"]),
                    unrelated=int(slot["unrelated"]),
                    refuter=str(slot["refuter"]),
                    style=style_in(slot, settings),
                    model=str(slot["model"]),
                    evaluator=str(rating["evaluator"]),
                    refutation=int(rating["refutation"]) if rating["aspect"] == "refutation" else None,
                    answer=int(rating["answer"]),
                )
                yield place, PlannedRating(dialogue, key_of("refutebench", "ratings", dialogue, rating))


@dataclass
class _Ratings:
    """How many ratings there are of a kind, and the first of them."""

    number: int = 0
    dialogues: int = 0
    first: Place | None = None
    _dialogue: str = ""

    def add(self, place: Place, dialogue: str = "") -> None:
        """Count a rating. Those of a dialogue follow each other."""
        self.first = self.first or place
        self.number += 1
        self.dialogues += dialogue != self._dialogue
        self._dialogue = dialogue

    def counted(self, fault: str, within: str = "") -> str:
        """Return how many ratings have a fault, with the first of them."""
        return f"{self.number:,} {fault}" + (f"{within} (first: {self.first})" if self.number else "")


def _check(submitted: Iterable[Rating], plan: _Plan, lost: Rows, partial: bool) -> None:
    """Raise or warn as `select_ratings` says; `lost` are the keys of dropped dialogues and ratings."""
    scored, double, unknown = Rows(), _Ratings(), _Ratings()
    for rating in submitted:
        place = Place.of(rating)
        if place not in plan:
            unknown.add(place)
        elif rating.rating in RATINGS and not scored.add(place.name, True):
            double.add(place)
    expected, missing = _Ratings(), _Ratings()
    for place, planned in plan:
        if not any(map(lost.get, planned)):
            expected.add(place, planned.dialogue)
            if not scored.get(place.name):
                missing.add(place, planned.dialogue)
    if missing.number or double.number or unknown.number:
        faults = ", ".join(
            (
                missing.counted("missing", f" of {missing.dialogues:,} dialogues"),
                double.counted("double"),
                unknown.counted("unknown"),
            )
        )
        _report(len(scored), expected, faults, partial)


def _report(scored: int, expected: _Ratings, faults: str, partial: bool) -> None:
    """Warn if ratings are left out on purpose, else raise `ScoreError`."""
    if scored and partial:
        message = f"{scored:,} of {expected.number:,} ratings are scored: {faults}"
        warnings.warn(PartialScores(message), stacklevel=4)
        return
    advice = (
        "give them all, or score what is there with --partial"
        if scored
        else "they seem to be of another build; name theirs by --out"
    )
    raise ScoreError(
        f"ratings: expected {expected.number:,} of {expected.dialogues:,} dialogues, found {faults}; {advice}"
    )
