"""RefuteBench's tables (tables 2 and 4 to 7, figure 6), from the ratings of finished dialogues.

A rating that was not given is no score: what would need it leaves the dialogue out, and both are counted. Models are
compared on the seeds that all of them finished: a line's n, and how many more each model finished is told.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from annotation.measures import DRAWS, INTERVAL
from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.plan import dialogues_of, ratings_of
from flows.families.refutebench.prompts import ANSWER_TOKENS, RATE_REFUTATION, RATE_TASK, ToRate, ToRateTask
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.llm.prices import estimate_tokens
from flows.scoring.tables import Layout, ScoreTables, Unit
from schemas.base import content_hash, key_of
from schemas.refutebench import PLAIN, RATINGS, TASKS, Rating, RefutationDialogue, Seed, style_of

LEAST_FOR_INTERVAL = 5
"""Seeds: of fewer, samples drawn anew show little but those few, and an interval would promise what it cannot hold."""
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
"""By table, what its lines are, where they are not models and tasks."""
TOKENS_TOLD = (
    "tokens are estimated from the texts: one a Chinese, Japanese or Korean character, one for four others; a "
    "dialogue's are all that the model was sent, the whole history with each message, and all that it said; its "
    "evaluation's are the packaged prompts of the ratings that were given, and what the evaluators said"
)


class Condition(NamedTuple):
    """What dialogues have in common that stand in one line of a table."""

    model: str
    refuter: str
    style: str

    @classmethod
    def of(cls, one: Rating | RefutationDialogue) -> "Condition":
        """That of a dialogue, or of the one that is rated."""
        return cls(one.model, one.refuter, one.style)


class Line(NamedTuple):
    """What ratings have in common that stand in one line."""

    condition: Condition
    evaluator: str
    task: str


@dataclass
class Rated:
    """A dialogue's ratings by one evaluator."""

    protocol: str
    unrelated: int
    query: str
    given: dict[tuple[int | None, int], int] = field(default_factory=dict)
    """(i, j) -> R(a_j, r_i); (None, j) -> R(q, a_j)."""

    def all_of(self, *wanted: tuple[int | None, int]) -> list[float] | None:
        """The ratings, where each was given."""
        found = [float(self.given[one]) for one in wanted if one in self.given]
        return found if len(found) == len(wanted) else None


Dialogues = Mapping[Line, Sequence[Rated]]
Values = Mapping[str | int, float]
"""By column, what one seed's dialogues come to."""
Measure = Callable[[Sequence[Rated]], Mapping[str, Values]]
"""By query, its values, where all that they need was rated."""


class Compared(NamedTuple):
    """A line's values over the seeds that all models of its group finished, in one order for all of them."""

    columns: Mapping[str | int, Sequence[float]]
    seeds: int
    finished: int
    """Of how many seeds this model has them."""


def tables(ctx: DialogueContext) -> ScoreTables:
    """Sections 5.1 and 5.2; of ratings alone, without their dialogues, the tables of ratings."""
    settings: RefuteBenchSettings = ctx.settings
    ratings = [one for one in ctx.records("ratings") if one.rating in RATINGS]
    dialogues: list[RefutationDialogue] = list(ctx.records("dialogues"))
    seeds: list[Seed] = list(ctx.records("seeds"))
    accounts = _accounts(ctx, settings, ratings, dialogues, seeds)
    conditions = {Condition.of(one) for one in [*ratings, *dialogues]} | set(accounts)
    named = _names(conditions, {one.evaluator for one in ratings})
    rated = _by_line(ratings)
    rounds = settings.rounds
    curves: dict[str, Measure] = {
        "over turns: the first refutation": _over([(0, j) for j in range(1, rounds + 1)]),
        "over turns: the task": _over([(None, j) for j in range(rounds + 1)]),
        "over C": _over_c,
    }
    means: dict[str, Measure] = {
        "overall": lambda own: _overall(own, rounds),
        "memory": lambda own: _first_and_last(own, (0, 1), (0, rounds), ("turn 1", f"turn {rounds}")),
        "task consistency": lambda own: _first_and_last(own, (None, 0), (None, rounds), ("initial", "final")),
        "persistent": _persistent,
    }
    if rounds == 1:
        del means["memory"]
    compared = {name: _compared(rated, measure) for name, measure in {**means, **curves}.items()}
    frames = {name: _with_intervals(name, compared[name], named, ctx.seed) for name in means}
    frames |= {name: _curve(compared[name], named) for name in curves}
    units: dict[str, Unit] = dict.fromkeys(frames, "rating")
    if len({line.condition.model for line in rated}) > 1:
        frames["seeds compared"] = _seeds_compared({name: compared[name] for name in means}, named)
    notes = list(_left_out({name: compared[name] for name in means}, named))
    if dialogues:
        frames["statistics"] = _statistics(dialogues, ratings, named)
        notes.append(TOKENS_TOLD)
    if accounts:
        frames["not rated and not finished"] = _account_cells(accounts, named)
        notes += [note for condition in sorted(accounts) if (note := _told(named(condition), accounts[condition]))]
    units |= {name: "count" for name in frames if name not in units}
    layouts = {name: Layout(LINES.get(name, "model / task"), what) for name, what in COLUMNS.items()}
    return ScoreTables.of({name: one for name, one in frames.items() if len(one)}, notes, units=units, layouts=layouts)


# ---- lines ----


def _names(conditions: Iterable[Condition], evaluators: Iterable[str]) -> Callable[..., str]:
    """What a line is called: its model, and what there are several of. Plain refutations always say so."""
    several = {name for name in ("refuter", "style") if len({getattr(one, name) for one in conditions}) > 1}
    rated_by_several = len(set(evaluators)) > 1

    def name(condition: Condition, evaluator: str | None = None, *more: str) -> str:
        said = [condition.model]
        said += [f"refuted by {condition.refuter}"] if "refuter" in several else []
        said += [f"style: {condition.style}"] if "style" in several or condition.style == PLAIN else []
        said += [f"rated by {evaluator}"] if evaluator is not None and rated_by_several else []
        return " / ".join((", ".join(said), *more))

    return name


def _by_line(ratings: Iterable[Rating]) -> Dialogues:
    """The rated dialogues of each line."""
    lines: dict[Line, dict[str, Rated]] = defaultdict(dict)
    for one in ratings:
        line = Line(Condition.of(one), one.evaluator, one.task)
        dialogue = lines[line].setdefault(one.dialogue, Rated(one.protocol, one.unrelated, one.query))
        dialogue.given[one.refutation_number, one.answer_number] = one.rating
    return {line: list(own.values()) for line, own in lines.items()}


# ---- what is measured ----


def _compared(rated: Dialogues, measure: Measure) -> Mapping[Line, Compared]:
    """By line, its values over the seeds of which all models have them that were refuted and rated alike.

    A model that has none at all is no line, and takes nothing from the others.
    """
    measured = {line: values for line, own in rated.items() if (values := measure(own))}
    groups: dict[tuple[str, ...], list[Line]] = defaultdict(list)
    for line in measured:
        groups[line.condition.refuter, line.condition.style, line.evaluator, line.task].append(line)
    found = {}
    for lines in groups.values():
        common = sorted(set.intersection(*(set(measured[line]) for line in lines)))
        for line in lines:
            own = [measured[line][query] for query in common]
            columns = {name: [one[name] for one in own] for name in (own[0] if own else ())}
            found[line] = Compared(columns, len(common), len(measured[line]))
    return {line: found[line] for line in measured}


def _transient(dialogues: Sequence[Rated], *wanted: tuple[int | None, int]) -> Mapping[str, Sequence[float]]:
    """By query, these ratings of its transient dialogue, where all of them were given."""
    transient = [one for one in dialogues if one.protocol == "transient"]
    return {one.query: ratings for one in transient if (ratings := one.all_of(*wanted)) is not None}


def _overall(dialogues: Sequence[Rated], rounds: int) -> Mapping[str, Values]:
    """Table 4: a dialogue's mean R(a_{i+1}, r_i) over its rounds."""
    found = _transient(dialogues, *((i, i + 1) for i in range(rounds)))
    return {query: {"mean": fmean(ratings)} for query, ratings in found.items()}


def _first_and_last(
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


def _persistent(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
    """Table 7: the answer to the refutation, C = 0, and the answers after C unrelated pairs."""
    return {query: _with_loss(by_count) for query, by_count in _by_count(dialogues).items()}


def _with_loss(by_count: Values) -> Values:
    later = [count for count in by_count if count]
    found: dict[str | int, float] = {f"C = {count}": value for count, value in by_count.items()}
    names = {count: "Δ" if len(later) == 1 else f"Δ at C = {count}" for count in later}
    return found | {name: by_count[0] - by_count[count] for count, name in names.items()}


def _by_count(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
    """By query whose persistent dialogues of every C are rated, R(a, r0) by C, in order.

    A query's dialogues of several C share its beginning: C = 0 is the mean of their R(a0', r0).
    """
    at_once: dict[str, list[float]] = defaultdict(list)
    later: dict[str, dict[int, float]] = defaultdict(dict)
    counts = sorted({one.unrelated for one in dialogues if one.protocol == "persistent"} - {0})
    for one in dialogues:
        wanted = [(0, 1), (0, 2)] if one.unrelated else [(0, 1)]
        if one.protocol == "persistent" and (ratings := one.all_of(*wanted)) is not None:
            at_once[one.query].append(ratings[0])
            later[one.query][one.unrelated] = ratings[-1]
    whole = [query for query in at_once if all(count in later[query] for count in counts)]
    return {query: {0: fmean(at_once[query]), **{count: later[query][count] for count in counts}} for query in whole}


def _over(places: Sequence[tuple[int | None, int]]) -> Measure:
    """Figure 6: by answer, the ratings of the transient dialogues in which all of them were rated."""

    def over(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
        found = _transient(dialogues, *places)
        return {
            query: {place[1]: rating for place, rating in zip(places, ratings, strict=True)}
            for query, ratings in found.items()
        }

    return over


def _over_c(dialogues: Sequence[Rated]) -> Mapping[str, Values]:
    found = _by_count(dialogues)
    # Of C = 0 and one other, the table says it all.
    return {query: by_count for query, by_count in found.items() if len(by_count) > 2}


# ---- cells ----


def _frame(lines: Iterable[tuple[str, str | int, float, int]]) -> pd.DataFrame:
    return pd.DataFrame(list(lines), columns=["row", "column", "value", "n"])


def _with_intervals(
    table: str, compared: Mapping[Line, Compared], named: Callable[..., str], seed: int
) -> pd.DataFrame:
    """The means of each line, each beside the ends of its interval."""
    lines: list[tuple[str, str | int, float, int]] = []
    for line, own in compared.items():
        if not own.seeds:
            continue
        row = named(line.condition, line.evaluator, line.task)
        values = np.array(list(own.columns.values()), dtype=np.float64)
        low, high = bootstrap_means(values, content_hash(seed, table, *line.condition, *line[1:]))
        ends = own.seeds if own.seeds >= LEAST_FOR_INTERVAL else 0
        for place, name in enumerate(own.columns):
            several = len(own.columns) > 1
            lines += [
                (row, name, float(values[place].mean()), own.seeds),
                (row, f"{name} low" if several else "low", float(low[place]), ends),
                (row, f"{name} high" if several else "high", float(high[place]), ends),
            ]
    return _frame(lines)


def bootstrap_means(values: NDArray[np.float64], seed: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95 % percentile interval of each mean over samples of the dialogues: `values` is (measures, dialogues).

    All measures are taken over the same samples, so that a difference is one of pairs. `seed` is hexadecimal. Of fewer
    than `LEAST_FOR_INTERVAL` dialogues there is no interval: not a number.
    """
    measures, number = values.shape
    if number < LEAST_FOR_INTERVAL:
        return np.full(measures, np.nan), np.full(measures, np.nan)
    places = np.random.default_rng(int(seed, 16)).integers(0, number, size=(DRAWS, number))
    drawn = np.stack([one[places].mean(axis=1) for one in values])
    low, high = np.percentile(drawn, INTERVAL, axis=1)
    return low, high


def _curve(compared: Mapping[Line, Compared], named: Callable[..., str]) -> pd.DataFrame:
    return _frame(
        (named(line.condition, line.evaluator, line.task), place, fmean(values), own.seeds)
        for line, own in compared.items()
        for place, values in own.columns.items()
    )


def _seeds_compared(tables: Mapping[str, Mapping[Line, Compared]], named: Callable[..., str]) -> pd.DataFrame:
    """On how many seeds each line of each table stands; n is how many its model finished."""
    return _frame(
        (named(line.condition, line.evaluator, line.task), table, float(own.seeds), own.finished)
        for table, compared in tables.items()
        for line, own in compared.items()
    )


def _left_out(tables: Mapping[str, Mapping[Line, Compared]], named: Callable[..., str]) -> Iterator[str]:
    """In a sentence a table and line, which seeds are not compared."""
    for table, compared in tables.items():
        for line, own in compared.items():
            if own.seeds < own.finished:
                yield (
                    f"{table}: {named(line.condition, line.evaluator, line.task)}: compared on {own.seeds:,} seeds, "
                    f"which all models finished; of {own.finished - own.seeds:,} more it has the ratings, and another "
                    "model has not"
                )


# ---- how much was said (table 2) ----


def _statistics(
    dialogues: Sequence[RefutationDialogue], ratings: Sequence[Rating], named: Callable[..., str]
) -> pd.DataFrame:
    evaluation: Counter[str] = Counter()
    for rating in ratings:
        evaluation[rating.dialogue] += _tokens_of_rating(rating)
    groups: dict[tuple[str, ...], list[RefutationDialogue]] = defaultdict(list)
    for one in dialogues:
        protocol = f"persistent, C = {one.unrelated}" if one.protocol == "persistent" else one.protocol
        condition = Condition.of(one)
        groups[named(condition, None, protocol, one.task),].append(one)
    lines: list[tuple[str, str | int, float, int]] = []
    for (row,), own in groups.items():
        turns = [[estimate_tokens(turn.text) for turn in one.turns] for one in own]
        columns = {
            "seeds": float(len({one.seed for one in own})),
            "turns": fmean(map(len, turns)),
            "tokens a turn": fmean(tokens for one in turns for tokens in one),
            # What is sent for an answer, and the answer, are all that was said up to it.
            "tokens a dialogue": fmean(sum(list(accumulate(one))[1::2]) for one in turns),
            "tokens of its evaluation": fmean(evaluation[one.id] for one in own),
        }
        lines += [(row, name, value, len(own)) for name, value in columns.items()]
    return _frame(lines)


def _tokens_of_rating(rating: Rating) -> int:
    if rating.refutation_number is None:
        messages = RATE_TASK.messages(ToRateTask(query=rating.query, response=rating.response))
    else:
        asked = ToRate(
            query=rating.query, previous=rating.previous, refutation=rating.refutation, response=rating.response
        )
        messages = RATE_REFUTATION.messages(asked)
    return sum(estimate_tokens(one["content"]) for one in messages) + estimate_tokens(rating.explanation)


# ---- what is not there ----

CUT_OFF = "answers cut off"
PROMPT_CUT = "dialogues cut to the window"
Account = Counter[tuple[str, str]]
"""(what, task) -> how many."""


def _accounts(
    ctx: DialogueContext,
    settings: RefuteBenchSettings,
    ratings: Sequence[Rating],
    dialogues: Sequence[RefutationDialogue],
    seeds: Sequence[Seed],
) -> dict[Condition, Account]:
    """What became of every dialogue and rating that was planned; nothing where the dialogues are not known."""
    accounts: dict[Condition, Account] = defaultdict(Counter)
    conditions = {
        key_of("refutebench", "dialogues", seed.key, slot): (
            Condition(
                str(slot["model"]),
                str(slot["refuter"]),
                style_of(settings.style) if slot["refuter"] == "agent" else PLAIN,
            ),
            seed.task,
        )
        for seed in seeds
        for slot in dialogues_of(seed, settings)
    }
    evaluators = {
        key_of("refutebench", "ratings", one.key, slot): (
            Condition.of(one), one.task, str(slot["evaluator"])
        )
        for one in dialogues
        for slot in ratings_of(one, settings.evaluators)
    }  # fmt: skip
    for one in dialogues:
        own = accounts[Condition.of(one)]
        own.update([("dialogues planned", one.task), ("dialogues finished", one.task)])
        own.update((CUT_OFF, one.task) for turn in one.turns if turn.cut_off)
        own[PROMPT_CUT, one.task] += any(turn.prompt_cut for turn in one.turns)
    for dropped in ctx.dropped("dialogues"):
        condition, task = conditions[dropped.key]
        accounts[condition].update([("dialogues planned", task), (f"dialogues dropped: {dropped.reason}", task)])
    if not accounts:
        return {}
    left = dict(evaluators)
    for condition, task, _ in evaluators.values():
        accounts[condition]["ratings planned", task] += 1
    for rating in ratings:
        accounts[Condition.of(rating)]["ratings given", rating.task] += 1
        left.pop(rating.key, None)
    for dropped in ctx.dropped("ratings"):
        condition, task, evaluator = left.pop(dropped.key)
        by = f" ({evaluator})" if len(settings.evaluators) > 1 else ""
        accounts[condition][f"ratings failed: {dropped.reason}{by}", task] += 1
    for condition, task, _ in left.values():
        accounts[condition]["ratings missing", task] += 1
    return dict(accounts)


def _account_cells(accounts: Mapping[Condition, Account], named: Callable[..., str]) -> pd.DataFrame:
    there = {task for account in accounts.values() for _, task in account}
    return _frame(
        (named(condition, None, what), task, float(account[what, task]), 1)
        for condition, account in sorted(accounts.items())
        for what in sorted({what for what, _ in account} | {"dialogues finished", "ratings planned", "ratings given"})
        for task in TASKS
        if task in there
    )


def _told(line: str, account: Account) -> str | None:
    """In one sentence, what a line lacks; None where that is nothing."""
    said = []
    for things, fault, verb in (("dialogues", "dropped", "finished"), ("ratings", "failed", "given")):
        reasons: Counter[str] = Counter()
        for (what, _), count in account.items():
            if what.startswith(f"{things} {fault}: "):
                reasons[what.partition(": ")[2]] += count
        planned = sum(count for (what, _), count in account.items() if what == f"{things} planned")
        if reasons:
            listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
            said.append(f"{reasons.total():,} of {planned:,} {things} were not {verb} ({listed})")
    if said:
        said.append("they are no scores")
    if cut := sum(count for (what, _), count in account.items() if what == CUT_OFF):
        said.append(f"answers refuted and rated as they were cut off at {ANSWER_TOKENS:,} tokens: {cut:,}")
    if cut := sum(count for (what, _), count in account.items() if what == PROMPT_CUT):
        said.append(f"dialogues whose longest messages were cut to fit into the model's window: {cut:,}")
    return f"{line}: {'; '.join(said)}" if said else None
