"""RefuteBench's tables (tables 2 and 4 to 7, figure 6), from the ratings of finished dialogues.

A rating that was not given is no score: a dialogue that would need it is left out, and both are counted. Models are
compared on the seeds that all of them finished: they are a line's n, and a note says how many more a model finished.
"""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.dialogue_tables import (
    TOKENS_TOLD,
    account_cells,
    account_note,
    accounts_of,
    statistics,
)
from flows.families.refutebench.measures import (
    Compared,
    Condition,
    Dialogues,
    Line,
    LineName,
    Measure,
    by_line,
    cell_frame,
    compared_values,
    first_and_last,
    line_names,
    over_turns,
    over_unrelated,
    overall,
    persistent,
)
from flows.families.refutebench.protocol import FOLLOWING
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.intervals import DRAWS, INTERVAL, LEAST_FOR_INTERVAL
from flows.scoring.tables import Layout, ScoreTables, Unit
from flows.scoring.values import Value
from schemas.base import content_hash
from schemas.refutebench import RATINGS, RefutationDialogue, Seed

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
    ratings = [rating for rating in ctx.records("ratings") if rating.rating in RATINGS]
    dialogues: list[RefutationDialogue] = list(ctx.records("dialogues"))
    seeds: list[Seed] = list(ctx.records("seeds"))
    accounts = accounts_of(ctx, settings, ratings, dialogues, seeds)
    conditions = {Condition.of(record) for record in [*ratings, *dialogues]} | set(accounts)
    named = line_names(conditions, {rating.evaluator for rating in ratings})
    rated, ids = by_line(ratings), {seed.query: seed.id for seed in seeds}
    rounds = settings.rounds
    turns = "turn 1", f"turn {rounds}"
    curves: dict[str, Measure] = {
        "over turns: the first refutation": over_turns([(0, j) for j in range(1, rounds + 1)]),
        "over turns: the task": over_turns([(None, j) for j in range(rounds + 1)]),
        "over C": over_unrelated,
    }
    means: dict[str, Measure] = {
        "overall": lambda rated: overall(rated, rounds),
        "memory": lambda rated: first_and_last(rated, (0, 1), (0, rounds), turns),
        "task consistency": lambda rated: first_and_last(rated, (None, 0), (None, rounds), ("initial", "final")),
        "persistent": persistent,
    }
    if rounds == 1:
        del means["memory"]
    compared = {name: compared_values(rated, measure) for name, measure in {**means, **curves}.items()}
    frames = {name: _with_intervals(name, compared[name], named, ctx.seed) for name in means}
    frames |= {name: _curve(compared[name], named) for name in curves}
    units: dict[str, Unit] = dict.fromkeys(frames, "rating")
    if len({line.condition.model for line in rated}) > 1:
        frames["seeds compared"] = _seeds_compared({name: compared[name] for name in means}, named)
    notes = list(_left_out({name: compared[name] for name in means}, named))
    if dialogues:
        frames["statistics"] = statistics(dialogues, ratings, named)
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
        values=[] if rounds == 1 else list(_values(rated, means["memory"], turns, named, ids)),
    )  # fmt: skip


def _values(
    rated: Dialogues, memory: Measure, turns: Iterable[str], named: LineName, seeds: Mapping[str, str]
) -> Iterator[Value]:
    """How each model's answers follow the first refutation, at the first turn and at the last, in all its seeds."""
    for line, dialogues in rated.items():
        for query, ratings in memory(dialogues).items():
            for turn in turns:
                model, seed = named(line.condition, line.evaluator), seeds.get(query, "")
                yield Value(model, FOLLOWING, turn, query, query, ratings[turn], seed)


def _with_intervals(table: str, compared: Mapping[Line, Compared], named: LineName, seed: int) -> "pd.DataFrame":
    """The means of each line, each beside the ends of its interval."""
    lines: list[tuple[str, str | int, float, int]] = []
    for line, result in compared.items():
        if not result.seeds:
            continue
        row = named(line.condition, line.evaluator, line.task)
        values = np.array(list(result.columns.values()), dtype=np.float64)
        low, high = bootstrap_means(values, content_hash(seed, table, *line.condition, *line[1:]))
        ends = result.seeds if result.seeds >= LEAST_FOR_INTERVAL else 0
        for place, name in enumerate(result.columns):
            several = len(result.columns) > 1
            lines += [
                (row, name, float(values[place].mean()), result.seeds),
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
    places = np.random.default_rng(int(seed, 16)).integers(0, number, size=(DRAWS, number))
    drawn = np.stack([measure[places].mean(axis=1) for measure in values])
    low, high = np.percentile(drawn, INTERVAL, axis=1)
    return low, high


def _curve(compared: Mapping[Line, Compared], named: LineName) -> "pd.DataFrame":
    return cell_frame(
        (named(line.condition, line.evaluator, line.task), place, fmean(values), result.seeds)
        for line, result in compared.items()
        for place, values in result.columns.items()
    )


def _seeds_compared(tables: Mapping[str, Mapping[Line, Compared]], named: LineName) -> "pd.DataFrame":
    """On how many seeds each line of each table stands; n is how many its model finished."""
    return cell_frame(
        (named(line.condition, line.evaluator, line.task), table, float(result.seeds), result.finished)
        for table, compared in tables.items()
        for line, result in compared.items()
    )


def _left_out(tables: Mapping[str, Mapping[Line, Compared]], named: LineName) -> Iterator[str]:
    """In a sentence a table and line, which seeds are not compared."""
    for table, compared in tables.items():
        for line, result in compared.items():
            if result.seeds < result.finished:
                yield (
                    f"{table}: {named(line.condition, line.evaluator, line.task)}: compared on {result.seeds:,} seeds, "
                    f"which all models finished; of {result.finished - result.seeds:,} more it has the ratings, and "
                    "another model has not"
                )
