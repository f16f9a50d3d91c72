"""RefuteBench's tables (tables 2 and 4 to 7, figure 6), from the ratings of finished dialogues.

A rating that was not given is no score: a dialogue that would need it is left out, and both are counted. Models are
compared on the seeds that all of them finished: they are a line's n, and a note says how many more a model finished.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.dialogue_tables import (
    TOKENS_TOLD,
    Account,
    Accounts,
    Statistics,
    account_cells,
    account_note,
)
from flows.families.refutebench.measures import (
    Compared,
    Condition,
    Line,
    LineName,
    Measure,
    OfQuery,
    Ratings,
    SeedCount,
    SeedValues,
    cell_frame,
    first_and_last,
    line_names,
    over_turns,
    over_unrelated,
    overall,
    persistent,
)
from flows.families.refutebench.protocol import FOLLOWING
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.intervals import DRAWN_AT_ONCE, DRAWS, DRAWS_AT_ONCE, INTERVAL, LEAST_FOR_INTERVAL
from flows.scoring.on_disk import Rows
from flows.scoring.tables import Layout, ScoreTables, Unit
from flows.scoring.values import Value, Values
from schemas.base import content_hash
from schemas.refutebench import RATINGS

if TYPE_CHECKING:
    import pandas as pd

BRACKETS = "in brackets, 95 % intervals"
COLUMNS = {
    "overall": f"mean over refutations and seeds; {BRACKETS}",
    "memory": f"how well the first refutation is followed at two turns, and Δ, what was lost; {BRACKETS}",
    "task consistency": f"how well the task is done at first and at last, and Δ, what was lost; {BRACKETS}",
    "persistent": f"C, unrelated pairs between refutation and rating, and what was lost; {BRACKETS}",
    "over turns: the first refutation": "turn",
    "over turns: the task": "turn",
    "over C": "C, unrelated pairs between refutation and rating",
    "seeds compared": "seeds that stand behind the table of that name",
    "statistics": "number of seeds, and means",
    "not rated and not finished": "task",
}
"""By table, what its columns are."""
LINES = {"statistics": "model / protocol / task", "not rated and not finished": "model / what became of them"}
"""By table, its lines, if they are not models and tasks."""


def tables(ctx: DialogueContext) -> ScoreTables:
    """Return the tables of sections 5.1 and 5.2; for ratings without their dialogues, the tables of ratings."""
    settings: RefuteBenchSettings = ctx.settings
    rounds, turns = settings.rounds, ("turn 1", f"turn {settings.rounds}")
    curves: dict[str, Measure] = {
        "over turns: the first refutation": over_turns([(0, j) for j in range(1, rounds + 1)]),
        "over turns: the task": over_turns([(None, j) for j in range(rounds + 1)]),
        "over C": over_unrelated,
    }
    means: dict[str, Measure] = {
        "overall": overall(rounds),
        "memory": first_and_last((0, 1), (0, rounds), turns),
        "task consistency": first_and_last((None, 0), (None, rounds), ("initial", "final")),
        "persistent": persistent,
    }
    if rounds == 1:
        del means["memory"]
    statistics, accounts, ratings = _read(ctx)
    conditions = {line.condition for line in ratings.lines} | statistics.conditions | set(accounts)
    named = line_names(conditions, {line.evaluator for line in ratings.lines})
    measured = {name: SeedValues(measure) for name, measure in {**means, **curves}.items()}
    ids, values = Rows((seed.query, seed.id) for seed in ctx.records("seeds")), Values()
    for rated in ratings.by_query():
        for of_measure in measured.values():
            of_measure.add(rated, ratings.lines)
        if rounds > 1:
            values.add(_values(rated, ratings.lines, means["memory"], turns, named, ids))
    counts: dict[str, Mapping[Line, SeedCount]] = {}

    def table_of(name: str) -> "pd.DataFrame":
        compared = measured[name].compared(ratings.lines)
        if name in curves:
            return _curve(compared, named)
        counts[name] = {line: result.seeds for line, result in compared.items()}
        return _with_intervals(name, compared, named, ctx.seed)

    frames = {name: table_of(name) for name in measured}
    units: dict[str, Unit] = dict.fromkeys(frames, "rating")
    if len({line.condition.model for line in ratings.lines}) > 1:
        frames["seeds compared"] = _seeds_compared(counts, named)
    notes = list(_left_out(counts, named))
    if len(table := statistics.cells(named)):
        frames["statistics"] = table
        notes.append(TOKENS_TOLD)
    if accounts:
        frames["not rated and not finished"] = account_cells(accounts, named)
        notes += [
            note for condition in sorted(accounts) if (note := account_note(named(condition), accounts[condition]))
        ]
    units |= {name: "count" for name in frames if name not in units}
    layouts = {name: Layout(LINES.get(name, "model / task"), what) for name, what in COLUMNS.items()}
    return ScoreTables.of(
        {name: frame for name, frame in frames.items() if len(frame)}, notes, units=units, layouts=layouts,
        values=values,
    )  # fmt: skip


def _read(ctx: DialogueContext) -> tuple[Statistics, Mapping[Condition, Account], Ratings]:
    """Read each dialogue and each rating once."""
    statistics, accounts, ratings = Statistics(), Accounts(ctx), Ratings()
    for dialogue in ctx.records("dialogues"):
        statistics.add(dialogue)
        accounts.add(dialogue)
    for rating in ctx.records("ratings"):
        if rating.rating in RATINGS:
            statistics.add_rating(rating)
            accounts.add_rating(rating)
            ratings.add(rating)
    return statistics, accounts.by_condition(), ratings


def _values(
    rated: Mapping[Line, OfQuery],
    numbers: Mapping[Line, int],
    memory: Measure,
    turns: Sequence[str],
    named: LineName,
    seeds: Rows,
) -> Iterator[tuple[float, int, Value]]:
    """How each model's answers follow the first refutation, at the first turn and at the last, in all its seeds."""
    for line, of_query in rated.items():
        if ratings := memory(of_query):
            model, seed = named(line.condition, line.evaluator), seeds.get(of_query.query) or ""
            for turn in turns:
                value = Value(model, FOLLOWING, turn, of_query.query, of_query.query, ratings[turn], seed)
                yield numbers[line], 0, value


def _with_intervals(table: str, compared: Mapping[Line, Compared], named: LineName, seed: int) -> "pd.DataFrame":
    """The means of each line, each beside the ends of its interval."""
    lines: list[tuple[str, str | int, float, int]] = []
    for line, (columns, (seeds, _)) in compared.items():
        if not seeds:
            continue
        row = named(line.condition, line.evaluator, line.task)
        values = np.array(list(columns.values()), dtype=np.float64)
        low, high = bootstrap_means(values, content_hash(seed, table, *line.condition, *line[1:]))
        ends = seeds if seeds >= LEAST_FOR_INTERVAL else 0
        for place, name in enumerate(columns):
            several = len(columns) > 1
            lines += [
                (row, name, float(values[place].mean()), seeds),
                (row, f"{name} low" if several else "low", float(low[place]), ends),
                (row, f"{name} high" if several else "high", float(high[place]), ends),
            ]
    return cell_frame(lines)


def bootstrap_means(values: NDArray[np.float64], seed: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95 % percentile interval of each mean over samples of the dialogues: `values` is (measures, dialogues).

    All measures are taken over the same samples, so that differences are paired. `seed` is hexadecimal. With fewer
    than `LEAST_FOR_INTERVAL` dialogues there is no interval: not a number.
    """
    measures, number = values.shape
    if number < LEAST_FOR_INTERVAL:
        return np.full(measures, np.nan), np.full(measures, np.nan)
    random, drawn = np.random.default_rng(int(seed, 16)), np.empty((measures, DRAWS))
    at_once = max(1, min(DRAWS_AT_ONCE, DRAWN_AT_ONCE // number))
    for start in range(0, DRAWS, at_once):
        places = random.integers(0, number, size=(min(at_once, DRAWS - start), number))
        for measure, means in zip(values, drawn, strict=True):
            means[start : start + at_once] = measure[places].mean(axis=1)
    low, high = np.percentile(drawn, INTERVAL, axis=1)
    return low, high


def _curve(compared: Mapping[Line, Compared], named: LineName) -> "pd.DataFrame":
    return cell_frame(
        (named(line.condition, line.evaluator, line.task), place, fmean(values), seeds.compared)
        for line, (columns, seeds) in compared.items()
        for place, values in columns.items()
        if seeds.compared
    )


def _seeds_compared(tables: Mapping[str, Mapping[Line, SeedCount]], named: LineName) -> "pd.DataFrame":
    """On how many seeds each line of each table stands; n is how many its model finished."""
    return cell_frame(
        (named(line.condition, line.evaluator, line.task), table, float(count.compared), count.finished)
        for table, counts in tables.items()
        for line, count in counts.items()
    )


def _left_out(tables: Mapping[str, Mapping[Line, SeedCount]], named: LineName) -> Iterator[str]:
    """In a sentence a table and line, which seeds are not compared."""
    for table, counts in tables.items():
        for line, (seeds, finished) in counts.items():
            if seeds < finished:
                yield (
                    f"{table}: {named(line.condition, line.evaluator, line.task)}: compared on {seeds:,} seeds, "
                    f"which all models finished; of {finished - seeds:,} more it has the ratings, and another model "
                    "has not"
                )
