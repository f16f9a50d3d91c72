"""Ratings that come in a file, before they are scored: whether they are all there, and of this build's dialogues.

What a build would hold and rate with the models that the file names follows from its seeds and settings, before any of
it is said.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from flows.construct.evaluation import HeldContext
from flows.families.refutebench.dialogues import slots_of
from flows.families.refutebench.ratings import ratings_of, ratings_planned
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.tables import PartialScores, ScoreError
from schemas.base import key_of
from schemas.refutebench import PLAIN, RATINGS, Rating, RefutationDialogue, Seed, style_of


class Place(NamedTuple):
    """What tells a rating from every other."""

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
    def of(cls, one: Rating) -> "Place":
        """That of a rating."""
        return cls(one.task, one.query, one.protocol, one.unrelated, one.refuter, one.style, one.model, one.evaluator,
                   one.refutation_number, one.answer_number)  # fmt: skip

    def __str__(self) -> str:
        about = "task" if self.refutation is None else f"r{self.refutation}"
        after = f" (C = {self.unrelated})" if self.protocol == "persistent" else ""
        return (
            f"{self.evaluator} on a{self.answer} after {about}, {self.protocol}{after} with {self.model}, "
            f"{self.query.partition(chr(10))[0][:60]!r}"
        )


@dataclass(frozen=True)
class Planned:
    """A rating that would be given."""

    dialogue: str
    """Key of its dialogue."""
    key: str


def fitting(ctx: HeldContext, partial: bool) -> HeldContext:
    """What of the given is of this build's dialogues with the models that are named there.

    Each rating is to be there that is of no dialogue and no rating told to be dropped. Raises `ScoreError` where one is
    missing, double, or of a dialogue that is not there. With `partial` the unknown are left out, of two the first
    counts, and a warning, `PartialScores`, says how many were missing, double and unknown.
    """
    given: list[Rating] = list(ctx.records("ratings"))
    seeds: list[Seed] = list(ctx.records("seeds"))
    queries = {seed.query for seed in seeds}
    named = [*given, *ctx.records("dialogues")]
    models = {one.model for one in named if one.query in queries} or {one.model for one in named}
    settings: RefuteBenchSettings = ctx.settings.model_copy(update={"evaluated": tuple(sorted(models))})
    planned = dict(_planned(seeds, settings))
    keys = {one.dialogue for one in planned.values()}
    dialogues: list[RefutationDialogue] = [one for one in ctx.records("dialogues") if one.key in keys]
    rated = {
        key_of("refutebench", "ratings", one.key, slot)
        for one in dialogues
        for slot in ratings_of(one, settings.evaluators)
    }
    dropped = {
        "dialogues": [one for one in ctx.dropped("dialogues") if one.key in keys],
        "ratings": [one for one in ctx.dropped("ratings") if one.key in rated],
    }
    lost = {one.key for own in dropped.values() for one in own}
    expected = {place: one for place, one in planned.items() if not lost & {one.dialogue, one.key}}
    ratings, faults = _sorted_out(given, planned)
    missing = [place for place in expected if place not in ratings]
    if missing or faults["double"] or faults["unknown"]:
        _complain(expected, missing, faults, len(ratings), partial)
    records: Mapping[str, Sequence[object]] = {
        "ratings": list(ratings.values()), "dialogues": dialogues, "seeds": seeds,
    }  # fmt: skip
    return replace(ctx, settings=settings, records=lambda name: records.get(name, ()), dropped=dropped.__getitem__)


def _planned(seeds: Sequence[Seed], settings: RefuteBenchSettings) -> Iterator[tuple[Place, Planned]]:
    for seed in seeds:
        for slot in slots_of(seed, settings):
            dialogue = key_of("refutebench", "dialogues", seed.key, slot)
            for one in ratings_planned(slot, settings):
                about = one["aspect"] == "refutation"
                yield (
                    Place(
                        task=seed.task,
                        query=seed.query,
                        protocol=str(slot["protocol"]),
                        unrelated=int(slot["unrelated"]),
                        refuter=str(slot["refuter"]),
                        style=style_of(settings.style) if slot["refuter"] == "agent" else PLAIN,
                        model=str(slot["model"]),
                        evaluator=str(one["evaluator"]),
                        refutation=int(one["refutation"]) if about else None,
                        answer=int(one["answer"]),
                    ),
                    Planned(dialogue, key_of("refutebench", "ratings", dialogue, one)),
                )


def _sorted_out(
    given: Sequence[Rating], planned: Mapping[Place, Planned]
) -> tuple[dict[Place, Rating], dict[str, list[Place]]]:
    """The ratings, and those that are double or of a dialogue that is not there; what is not rated yet is neither."""
    ratings: dict[Place, Rating] = {}
    faults: dict[str, list[Place]] = {"double": [], "unknown": []}
    for one in given:
        place = Place.of(one)
        if place not in planned:
            faults["unknown"].append(place)
        elif one.rating in RATINGS and ratings.setdefault(place, one) is not one:
            faults["double"].append(place)
    return ratings, faults


def _complain(
    expected: Mapping[Place, Planned],
    missing: Sequence[Place],
    faults: Mapping[str, Sequence[Place]],
    scored: int,
    partial: bool,
) -> None:
    dialogues = len({expected[place].dialogue for place in missing})
    counts = ", ".join(
        f"{len(found):,} {fault}"
        + (f" of {dialogues:,} dialogues" if fault == "missing" and found else "")
        + (f" (first: {found[0]})" if found else "")
        for fault, found in {"missing": missing, **faults}.items()
    )
    if scored and partial:
        # As `flows.scoring.tables.fitting` has it: whoever scores shows it.
        warnings.warn(PartialScores(f"{scored:,} of {len(expected):,} ratings are scored: {counts}"), stacklevel=3)
        return
    whole = len({one.dialogue for one in expected.values()})
    advice = "give them all, or score what is there with --partial"
    if not scored:
        advice = "they seem to be of another build; name theirs by --out"
    raise ScoreError(f"ratings: expected {len(expected):,} of {whole:,} dialogues, found {counts}; {advice}")
