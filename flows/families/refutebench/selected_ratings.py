"""The ratings of a file that can be scored: those that this build would plan for the models that the file names.

The seeds and the settings of a build say which dialogues it would hold with a model, and which ratings it would ask
for. A file of ratings is compared with that plan before it is scored.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.plan import dialogues_of, ratings_of, ratings_planned, style_in
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.tables import PartialScores, ScoreError
from schemas.base import key_of
from schemas.refutebench import RATINGS, Rating, RefutationDialogue, Seed


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
    submitted: list[Rating] = list(ctx.records("ratings"))
    dialogues: list[RefutationDialogue] = list(ctx.records("dialogues"))
    seeds: list[Seed] = list(ctx.records("seeds"))
    settings: RefuteBenchSettings = ctx.settings.model_copy(
        update={"evaluated": _evaluated([*submitted, *dialogues], seeds)}
    )
    planned = dict(_planned(seeds, settings))
    dialogue_keys = {rating.dialogue for rating in planned.values()}
    dialogues = [dialogue for dialogue in dialogues if dialogue.key in dialogue_keys]
    rating_keys = {
        key_of("refutebench", "ratings", dialogue.key, slot)
        for dialogue in dialogues
        for slot in ratings_of(dialogue, settings.evaluators)
    }
    dropped = {
        "dialogues": [drop for drop in ctx.dropped("dialogues") if drop.key in dialogue_keys],
        "ratings": [drop for drop in ctx.dropped("ratings") if drop.key in rating_keys],
    }
    lost = {drop.key for drops in dropped.values() for drop in drops}
    expected = {place: rating for place, rating in planned.items() if not lost & set(rating)}
    ratings = _check(submitted, planned, expected, partial)
    records: Mapping[str, Sequence[object]] = {"ratings": ratings, "dialogues": dialogues, "seeds": seeds}
    return replace(ctx, settings=settings, records=lambda part: records.get(part, ()), dropped=dropped.__getitem__)


def _evaluated(records: Sequence[Rating | RefutationDialogue], seeds: Sequence[Seed]) -> tuple[str, ...]:
    """The models of the file's records on this build's queries; if no query is this build's, all its models."""
    queries = {seed.query for seed in seeds}
    models = {record.model for record in records if record.query in queries} or {record.model for record in records}
    return tuple(sorted(models))


def _planned(seeds: Sequence[Seed], settings: RefuteBenchSettings) -> Iterator[tuple[Place, PlannedRating]]:
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


def _check(
    submitted: Sequence[Rating],
    planned: Mapping[Place, PlannedRating],
    expected: Mapping[Place, PlannedRating],
    partial: bool,
) -> Sequence[Rating]:
    """Return the ratings of planned places; raise or warn as `select_ratings` says. Unrated records are skipped."""
    ratings: dict[Place, Rating] = {}
    double, unknown = [], []
    for rating in submitted:
        place = Place.of(rating)
        if place not in planned:
            unknown.append(place)
        elif rating.rating in RATINGS and ratings.setdefault(place, rating) is not rating:
            double.append(place)
    missing = [place for place in expected if place not in ratings]
    if missing or double or unknown:
        dialogues = len({expected[place].dialogue for place in missing})
        faults = ", ".join(
            (
                _counted("missing", missing, f" of {dialogues:,} dialogues"),
                _counted("double", double),
                _counted("unknown", unknown),
            )
        )
        _report(len(ratings), expected, faults, partial)
    return list(ratings.values())


def _counted(fault: str, places: Sequence[Place], within: str = "") -> str:
    """Return how many ratings have a fault, with the first of them."""
    return f"{len(places):,} {fault}" + (f"{within} (first: {places[0]})" if places else "")


def _report(scored: int, expected: Mapping[Place, PlannedRating], faults: str, partial: bool) -> None:
    """Warn if ratings are left out on purpose, else raise `ScoreError`."""
    if scored and partial:
        message = f"{scored:,} of {len(expected):,} ratings are scored: {faults}"
        warnings.warn(PartialScores(message), stacklevel=4)
        return
    dialogues = len({rating.dialogue for rating in expected.values()})
    advice = (
        "give them all, or score what is there with --partial"
        if scored
        else "they seem to be of another build; name theirs by --out"
    )
    raise ScoreError(f"ratings: expected {len(expected):,} of {dialogues:,} dialogues, found {faults}; {advice}")
