"""The lines of RefuteBench's tables, and the measures of rated dialogues in them (tables 4 to 7, figure 6)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

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


# ---- measures: each gives values by query and column ----


@dataclass
class Rated:
    """A dialogue's ratings by one evaluator."""

    protocol: str
    unrelated: int
    query: str
    by_place: dict[tuple[int | None, int], int] = field(default_factory=dict)
    """(i, j) -> R(a_j, r_i); (None, j) -> R(q, a_j)."""

    def all_of(self, *wanted: tuple[int | None, int]) -> list[float] | None:
        """The ratings, where each was given."""
        ratings = [float(self.by_place[place]) for place in wanted if place in self.by_place]
        return ratings if len(ratings) == len(wanted) else None


Dialogues = Mapping[Line, Sequence[Rated]]
Values = Mapping[str | int, float]
"""By column, the value of a seed's dialogues."""
Measure = Callable[[Sequence[Rated]], Mapping[str, Values]]
"""By query, its values, where all that they need was rated."""


class Compared(NamedTuple):
    """A line's values over the seeds that all models of its group finished, in the same order for all."""

    columns: Mapping[str | int, Sequence[float]]
    seeds: int
    finished: int
    """The number of seeds for which this model has them."""


def by_line(ratings: Iterable[Rating]) -> Dialogues:
    """The rated dialogues of each line."""
    lines: dict[Line, dict[str, Rated]] = defaultdict(dict)
    for rating in ratings:
        line = Line(Condition.of(rating), rating.evaluator, rating.task)
        dialogue = lines[line].setdefault(rating.dialogue, Rated(rating.protocol, rating.unrelated, rating.query))
        dialogue.by_place[rating.refutation_number, rating.answer_number] = rating.rating
    return {line: list(dialogues.values()) for line, dialogues in lines.items()}


def compared_values(rated: Dialogues, measure: Measure) -> Mapping[Line, Compared]:
    """By line, its values over the seeds for which all models that were refuted and rated alike have values.

    A model without any has no line, and does not reduce the seeds of the others.
    """
    measured = {line: values for line, dialogues in rated.items() if (values := measure(dialogues))}
    groups: dict[tuple[str, ...], list[Line]] = defaultdict(list)
    for line in measured:
        groups[line.condition.refuter, line.condition.style, line.evaluator, line.task].append(line)
    compared = {}
    for lines in groups.values():
        common = sorted(set.intersection(*(set(measured[line]) for line in lines)))
        for line in lines:
            seeds = [measured[line][query] for query in common]
            columns = {name: [values[name] for values in seeds] for name in (seeds[0] if seeds else ())}
            compared[line] = Compared(columns, len(common), len(measured[line]))
    return {line: compared[line] for line in measured}


def _transient(dialogues: Sequence[Rated], *wanted: tuple[int | None, int]) -> Mapping[str, Sequence[float]]:
    """By query, these ratings of its transient dialogue, if all of them were given."""
    transient = [dialogue for dialogue in dialogues if dialogue.protocol == "transient"]
    return {rated.query: ratings for rated in transient if (ratings := rated.all_of(*wanted)) is not None}


def overall(dialogues: Sequence[Rated], rounds: int) -> Mapping[str, Values]:
    """Table 4: a dialogue's mean R(a_{i+1}, r_i) over its rounds."""
    rated = _transient(dialogues, *((i, i + 1) for i in range(rounds)))
    return {query: {"mean": fmean(ratings)} for query, ratings in rated.items()}


def first_and_last(
    dialogues: Sequence[Rated],
    first: tuple[int | None, int],
    last: tuple[int | None, int],
    names: tuple[str, str],
) -> Mapping[str, Values]:
    """Tables 5 and 6: two ratings of a transient dialogue, and how much lower the last is than the first."""
    return {
        query: {names[0]: before, names[1]: after, "Δ": before - after}
        for query, (before, after) in _transient(dialogues, first, last).items()
    }


def persistent(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
    """Table 7: the answer to the refutation, C = 0, and the answers after C unrelated pairs."""
    return {query: _with_loss(by_count) for query, by_count in _by_unrelated(dialogues).items()}


def _with_loss(by_count: Values) -> Values:
    later = [count for count in by_count if count]
    values: dict[str | int, float] = {f"C = {count}": value for count, value in by_count.items()}
    names = {count: "Δ" if len(later) == 1 else f"Δ at C = {count}" for count in later}
    return values | {name: by_count[0] - by_count[count] for count, name in names.items()}


def _by_unrelated(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
    """By query whose persistent dialogues of every C are rated, R(a, r0) by C, in order.

    A query's dialogues of several C share its beginning: C = 0 is the mean of their R(a0', r0).
    """
    at_once: dict[str, list[float]] = defaultdict(list)
    later: dict[str, dict[int, float]] = defaultdict(dict)
    counts = sorted({dialogue.unrelated for dialogue in dialogues if dialogue.protocol == "persistent"} - {0})
    for dialogue in dialogues:
        wanted = [(0, 1), (0, 2)] if dialogue.unrelated else [(0, 1)]
        if dialogue.protocol == "persistent" and (ratings := dialogue.all_of(*wanted)) is not None:
            at_once[dialogue.query].append(ratings[0])
            later[dialogue.query][dialogue.unrelated] = ratings[-1]
    whole = [query for query in at_once if all(count in later[query] for count in counts)]
    return {query: {0: fmean(at_once[query]), **{count: later[query][count] for count in counts}} for query in whole}


def over_turns(places: Sequence[tuple[int | None, int]]) -> Measure:
    """Figure 6: by answer, the ratings of the transient dialogues in which all of them were rated."""

    def over(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
        rated = _transient(dialogues, *places)
        return {
            query: {place[1]: rating for place, rating in zip(places, ratings, strict=True)}
            for query, ratings in rated.items()
        }

    return over


def over_unrelated(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
    """Figure 6: by C, if there are several besides C = 0; with one, the table says it all."""
    return {query: by_count for query, by_count in _by_unrelated(dialogues).items() if len(by_count) > 2}
