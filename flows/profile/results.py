"""What a profile finds: each family's values for all models, and what stands beside the scores."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from flows.construct.engine import Family
from flows.construct.evaluation import Measure
from flows.evaluate.headline import measured_by
from flows.evaluate.scores_file import Spent
from flows.evaluate.signature import Signature
from flows.evaluate.source_time import by_source_time
from flows.scoring.intervals import Figure, Measured
from flows.scoring.on_disk import Lines, Rows
from flows.scoring.tables import BESIDE, ScoreTables
from flows.scoring.values import Value, Values, stored

Source = tuple[str, str]
"""A source and the id of what stands there."""


@dataclass
class Outcome:
    """A model on a family."""

    model: str
    values: Collection[Value]
    """Of one way of asking, with the model's key as their group."""
    way: str
    """Prompting and shots, if there are several: the first of the configuration."""
    signature: Signature
    spent: Spent
    beside: Mapping[str, int]
    """What stands beside the scores -> number of replies: failures, empty ones, those that were cut off."""
    lacks: str
    """Why not all was answered, and the scores are of the rest; empty if all was."""


@dataclass
class FamilyResult:
    """A family's outcomes, by model; a model that could not be asked has a reason instead."""

    family: Family
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    sources: Rows = field(default_factory=Rows)
    """By row, what it stands on."""
    dates: Rows = field(default_factory=Rows)
    """By row, the date of its sources, where they state one."""
    has_rows: bool = True
    """Whether the build has rows of it that a model can be asked about."""

    @cached_property
    def measured(self) -> Mapping[str, Measured]:
        """The values of all models, by measure."""
        return measured_by(self.family.evaluation.measures, self._values)

    @cached_property
    def _values(self) -> Values:
        return Values(value for outcome in self.outcomes.values() for value in outcome.values)

    @cached_property
    def over_time(self) -> tuple[Measure, Measured] | None:
        """The first measure by windows of source time; None without dates of several windows."""
        timed = by_source_time(self.family.evaluation.measures, self._values, self.dates)
        if timed is None:
            return None
        measure, values = timed
        return measure, measured_by([measure], values)[measure.name]

    @property
    def measures(self) -> Iterator[tuple[Measure, Measured]]:
        """The family's measures that have values, the first of all first."""
        yield from (
            (measure, self.measured[measure.name])
            for measure in self.family.evaluation.measures
            if measure.name in self.measured
        )


def of_first_way(values: Collection[Value], name: str, model: str) -> tuple[Collection[Value], str]:
    """Return the values of the first way of asking, with `model` as their group, and that way.

    `name` is the model's own, with which its groups begin; what follows it are prompting, shots, or a style.
    """
    if not values:
        return (), ""
    first = next(iter(values)).group
    of_first = Values(value._replace(group=model) for value in values if value.group == first)
    return of_first, first.removeprefix(name).lstrip(", ")


def beside_scores(result: ScoreTables) -> Mapping[str, int]:
    """Return what the tables count beside the scores, over all ways of asking."""
    counts: Counter[str] = Counter()
    for cell in result.tables:
        if cell.table == BESIDE:
            counts[cell.row.rpartition(" / ")[2]] += cell.n
    return counts


def ranks(measured: Measured, at: str) -> Mapping[str, tuple[int, int]]:
    """Return the best and the worst rank of each model that the intervals of its differences leave open."""
    groups = [group for group in measured.groups if measured.of(group, at) is not None]
    places: dict[str, tuple[int, int]] = {}
    for group in groups:
        differences = [measured.between(group, other, at) for other in groups if other != group]
        better = sum(1 for figure in differences if figure is not None and figure.differs and figure.value > 0)
        worse = sum(1 for figure in differences if figure is not None and figure.differs and figure.value < 0)
        places[group] = (1 + better, len(groups) - worse)
    return places


@dataclass(frozen=True)
class Alike:
    """Items that tell no model from another."""

    measure: str
    at: str
    all_right: tuple[str, ...]
    """Ids of their rows; so are those that none has right."""
    none_right: tuple[str, ...]
    items: int
    """That all models answered."""


def alike(measure: Measure, measured: Measured) -> Alike | None:
    """Return the items that all models have right, and those that none has, under the last condition.

    None for a single model, and for ratings.
    """
    at, models = measured.conditions[-1], len(measured.groups)
    if models < 2 or not measure.is_share:
        return None
    all_right, none_right, number = [], [], 0
    for of_models in measured.items(at):
        if len(of_models) == models:
            number += 1
            rows = [value.row or value.item for value in of_models.values()]
            amounts = {value.value for value in of_models.values()}
            if amounts == {1}:
                all_right.append(rows[-1])
            elif amounts == {0}:
                none_right.append(rows[-1])
    return Alike(measure.name, at, tuple(all_right), tuple(none_right), number)


@dataclass(frozen=True)
class Fact:
    """A source on which items of several families stand, and how the models did on each."""

    source: Source
    shares: Mapping[tuple[str, str], Figure]
    """By family and model: its first measure over the family's items that stand on it, under the last condition."""

    @property
    def families(self) -> set[str]:
        """The names of the families."""
        return {family for family, _ in self.shares}


def facts(results: Sequence[FamilyResult]) -> Iterator[Fact]:
    """Yield the sources on which items of two families or more stand, in order."""
    values = Lines(5, (line for result in results for line in _by_source(result)))
    for source, of_source in values.groups(2):
        sums: dict[tuple[str, str], list[float]] = {}
        for family, model, value in of_source:
            sums.setdefault((family, model), []).append(value)
        fact = Fact(
            source, {key: Figure(sum(values) / len(values), None, None, len(values)) for key, values in sums.items()}
        )
        if len(fact.families) > 1:
            yield fact


def _by_source(result: FamilyResult) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield the values of the first measure under its last condition: (source, its row, family, model, value)."""
    for measure, measured in islice(result.measures, 1):
        for outcome in result.outcomes.values():
            for value in stored(outcome.values).where(measure=measure.name, at=measured.conditions[-1]):
                share = (value.value - 1) / 4 if measure.unit == "rating" else value.value
                for source, id_ in result.sources.get(value.row or value.item) or ():
                    yield source, id_, result.family.name, outcome.model, share
