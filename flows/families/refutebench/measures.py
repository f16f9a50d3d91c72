"""The lines of RefuteBench's tables, and the measures of rated dialogues in them (tables 4 to 7, figure 6)."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from flows.scoring.on_disk import Lines, Spooled
from schemas.refutebench import PLAIN, Rating, RefutationDialogue

if TYPE_CHECKING:
    import pandas as pd

LineName = Callable[..., str]
"""(condition, evaluator, *more) -> the name of the line."""


class Condition(NamedTuple):
    """The fields that the dialogues of a line share."""

    model: str
    refuter: str
    style: str

    @classmethod
    def of(cls, record: Rating | RefutationDialogue) -> "Condition":
        """The condition of a dialogue, or of the dialogue that is rated."""
        return cls(record.model, record.refuter, record.style)


class Line(NamedTuple):
    """The fields that the ratings of a line share."""

    condition: Condition
    evaluator: str
    task: str

    @property
    def alike(self) -> tuple[str, str, str, str]:
        """What lines have in common whose models are compared: those were refuted and rated alike."""
        return self.condition.refuter, self.condition.style, self.evaluator, self.task


def line_names(conditions: Iterable[Condition], evaluators: Iterable[str]) -> LineName:
    """Name lines by model, and by refuter, style and evaluator where there are several. Plain refutations say so."""
    several = {name for name in ("refuter", "style") if len({getattr(condition, name) for condition in conditions}) > 1}
    rated_by_several = len(set(evaluators)) > 1

    def name(condition: Condition, evaluator: str | None = None, *more: str) -> str:
        parts = [condition.model]
        parts += [f"refuted by {condition.refuter}"] if "refuter" in several else []
        parts += [f"style: {condition.style}"] if "style" in several or condition.style == PLAIN else []
        parts += [f"rated by {evaluator}"] if evaluator is not None and rated_by_several else []
        return " / ".join((", ".join(parts), *more))

    return name


def cell_frame(lines: Iterable[tuple[str, str | int, float, int]]) -> "pd.DataFrame":
    """The cells of a table, one per line, as `ScoreTables.of` takes them."""
    import pandas as pd

    return pd.DataFrame(list(lines), columns=["row", "column", "value", "n"])


# ---- the ratings, in the order of their queries ----


@dataclass
class Rated:
    """A dialogue's ratings by one evaluator."""

    protocol: str
    unrelated: int
    by_place: dict[tuple[int | None, int], int] = field(default_factory=dict)
    """(i, j) -> R(a_j, r_i); (None, j) -> R(q, a_j)."""

    def all_of(self, *wanted: tuple[int | None, int]) -> list[float] | None:
        """The ratings, where each was given."""
        ratings = [float(self.by_place[place]) for place in wanted if place in self.by_place]
        return ratings if len(ratings) == len(wanted) else None


class OfQuery(NamedTuple):
    """A line's rated dialogues about one query."""

    query: str
    dialogues: Sequence[Rated]
    counts: Sequence[int]
    """Each C of the line's persistent dialogues but 0, in order."""


class Ratings:
    """The ratings of all lines, in a temporary file: there may be millions."""

    def __init__(self) -> None:
        self.lines: dict[Line, int] = {}
        """The number of each line, in the order of their first ratings."""
        self._counts: dict[Line, set[int]] = defaultdict(set)
        self._groups: dict[tuple[str, ...], int] = {}
        self._file = Lines(9)

    def add(self, rating: Rating) -> None:
        """Add a rating that was given."""
        line = Line(Condition.of(rating), rating.evaluator, rating.task)
        number = self.lines.setdefault(line, len(self.lines))
        group = self._groups.setdefault(line.alike, len(self._groups))
        if rating.protocol == "persistent" and rating.unrelated:
            self._counts[line].add(rating.unrelated)
        place = rating.refutation_number, rating.answer_number, rating.rating
        self._file.add([(group, rating.query, number, rating.dialogue, rating.protocol, rating.unrelated, *place)])

    def by_query(self) -> Iterator[Mapping[Line, OfQuery]]:
        """Yield by query the rated dialogues of lines whose models are compared, in the order of the queries."""
        lines = list(self.lines)
        counts = {line: sorted(self._counts[line]) for line in lines}
        for (_, query), of_query in self._file.groups(2):
            rated: dict[Line, dict[str, Rated]] = defaultdict(dict)
            for number, dialogue, protocol, unrelated, refutation, answer, rating in of_query:
                of_dialogue = rated[lines[number]].setdefault(dialogue, Rated(protocol, unrelated))
                of_dialogue.by_place[refutation, answer] = rating
            yield {line: OfQuery(query, [*dialogues.values()], counts[line]) for line, dialogues in rated.items()}


# ---- measures: each gives a query's values by column ----

Values = Mapping[str | int, float]
"""By column, the value of a query's dialogues."""
Measure = Callable[[OfQuery], Values]
"""A query's values; none where not all that they need was rated."""


def _transient(rated: OfQuery, *wanted: tuple[int | None, int]) -> Sequence[float]:
    """These ratings of the query's transient dialogue, if all of them were given."""
    ratings: Sequence[float] = ()
    for dialogue in rated.dialogues:
        if dialogue.protocol == "transient":
            ratings = dialogue.all_of(*wanted) or ratings
    return ratings


def overall(rounds: int) -> Measure:
    """Table 4: a dialogue's mean R(a_{i+1}, r_i) over its rounds."""

    def mean(rated: OfQuery) -> Values:
        ratings = _transient(rated, *((i, i + 1) for i in range(rounds)))
        return {"mean": fmean(ratings)} if ratings else {}

    return mean


def first_and_last(first: tuple[int | None, int], last: tuple[int | None, int], names: tuple[str, str]) -> Measure:
    """Tables 5 and 6: two ratings of a transient dialogue, and how much lower the last is than the first."""

    def both(rated: OfQuery) -> Values:
        if not (ratings := _transient(rated, first, last)):
            return {}
        before, after = ratings
        return {names[0]: before, names[1]: after, "Δ": before - after}

    return both


def persistent(rated: OfQuery) -> Values:
    """Table 7: the answer to the refutation, C = 0, and the answers after C unrelated pairs."""
    by_count = _by_unrelated(rated)
    values: dict[str | int, float] = {f"C = {count}": value for count, value in by_count.items()}
    later = [count for count in by_count if count]
    names = {count: "Δ" if len(later) == 1 else f"Δ at C = {count}" for count in later}
    return values | {name: by_count[0] - by_count[count] for count, name in names.items()}


def _by_unrelated(rated: OfQuery) -> Values:
    """Where a query's persistent dialogues of every C are rated, R(a, r0) by C, in order.

    A query's dialogues of several C share its beginning: C = 0 is the mean of their R(a0', r0).
    """
    at_once: list[float] = []
    later: dict[int, float] = {}
    for dialogue in rated.dialogues:
        wanted = [(0, 1), (0, 2)] if dialogue.unrelated else [(0, 1)]
        if dialogue.protocol == "persistent" and (ratings := dialogue.all_of(*wanted)) is not None:
            at_once.append(ratings[0])
            later[dialogue.unrelated] = ratings[-1]
    if not at_once or any(count not in later for count in rated.counts):
        return {}
    return {0: fmean(at_once), **{count: later[count] for count in rated.counts}}


def over_turns(places: Sequence[tuple[int | None, int]]) -> Measure:
    """Figure 6: by answer, the ratings of the transient dialogue in which all of them were rated."""

    def over(rated: OfQuery) -> Values:
        return {place[1]: rating for place, rating in zip(places, _transient(rated, *places), strict=False)}

    return over


def over_unrelated(rated: OfQuery) -> Values:
    """Figure 6: by C, if there are several besides C = 0; with one, the table says it all."""
    by_count = _by_unrelated(rated)
    return by_count if len(by_count) > 2 else {}


# ---- models compared ----


class SeedCount(NamedTuple):
    """How many seeds a line is compared on, and for how many its model has values."""

    compared: int
    finished: int


class Compared(NamedTuple):
    """A line's values over the seeds that all models of its group finished, in the same order for all."""

    columns: Mapping[str | int, Sequence[float]]
    seeds: SeedCount


class SeedValues:
    """The values of a measure, seed by seed, in a temporary file."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self._columns: dict[Line, Sequence[str | int]] = {}
        self._finished = Counter[Line]()
        self._of_seeds = Spooled()
        """Of a seed: the numbers of the lines that have values, and those."""

    def add(self, rated: Mapping[Line, OfQuery], numbers: Mapping[Line, int]) -> None:
        """Add the values of a seed's dialogues; `numbers` are those of the lines."""
        of_seed = []
        for line, of_query in rated.items():
            if values := self.measure(of_query):
                self._columns.setdefault(line, [*values])
                self._finished[line] += 1
                of_seed.append((numbers[line], [*values.values()]))
        if of_seed:
            self._of_seeds.append(of_seed)

    def compared(self, lines: Iterable[Line]) -> Mapping[Line, Compared]:
        """By line, its values over the seeds for which all models that were refuted and rated alike have values.

        A model without any has no line, and does not reduce the seeds of the others. `lines` are all, by number.
        """
        numbered = list(lines)
        models = Counter(line.alike for line in self._finished)
        values = {line: [array("d") for _ in columns] for line, columns in self._columns.items()}
        for of_seed in self._of_seeds:
            if len(of_seed) == models[numbered[of_seed[0][0]].alike]:
                for number, of_line in of_seed:
                    for column, value in zip(values[numbered[number]], of_line, strict=True):
                        column.append(value)
        return {
            line: Compared(
                dict(zip(self._columns[line], values[line], strict=True)),
                SeedCount(len(values[line][0]), self._finished[line]),
            )
            for line in numbered
            if line in values
        }
