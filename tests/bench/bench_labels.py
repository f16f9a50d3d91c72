"""Labels by value beside a fixed number of people, and crowd-kit's methods beside one another.

    python tests/bench/bench_labels.py [seeds] [rows]      (TOUCHSTONE_SHARED: the public data)

Rows are SQuAD 2.0's questions with passage and answer, as ReEval's form shows them: 85 % answerable, 15 % not, whose
plausible answer the passage does not support. Five planted people judge them (`tests/planted.py`): two good ones, one
who accepts nearly everything, a careless one and a harsh one. "hard": of the fifth with the longest passages, everybody
is 20 points less often right, all on the same rows. The first 7 % of the rows go to three people in any case.

Above: the share of right decisions and the judgements per row (gold tasks apart), by the majority of three, by the
likeliest decision of three, and by value. "said" and "is": of the decisions whose posterior is in a range, the mean
posterior and the share that is right. Below: the same for methods, on three people's decisions for each row; "log loss"
of the probability of the right decision.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from pathlib import Path
from statistics import fmean

import pandas as pd
from crowdkit.aggregation import GLAD, DawidSkene, MajorityVote, OneCoinDawidSkene

sys.path.insert(0, str(Path(__file__).parents[2]))

from annotation.reliability import reliabilities
from flows.families.reeval.rubric import SUPPORT
from tests.planted import ROOT, Result, World, squad_rows

SHARED = Path(os.environ.get("TOUCHSTONE_SHARED", ROOT.parent / "shared"))
CERTAINTIES = (0.85, 0.9, 0.95)
RANGES = ((0.0, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01))
LEAST = 0.001
"""A method that is certain and wrong has this probability: the logarithm of 0 has no mean."""


def calibration(pairs: Sequence[tuple[float, bool]]) -> str:
    """Mean posterior and share of right decisions, by range of the posterior."""
    cells = []
    for low, high in RANGES:
        held = [pair for pair in pairs if low <= pair[0] < high]
        if held:
            cells.append(
                f"{fmean(said for said, _ in held):.3f} {fmean(right for _, right in held):.3f} ({len(held):,})"
            )
    return "  ".join(cells)


def by_value(worlds: Sequence[World]) -> list[Result]:
    """Print a line for each way to ask; return the results of three people for each row."""
    size = len(worlds[0].tasks)
    print(f"{'':>18}{'right':>8}{'per row':>9}  said, is (decisions)")
    fixed = [world.run(None, pace=10 * size) for world in worlds]
    likeliest = [
        (max(posterior, 1 - posterior), right == (posterior >= 0.5))
        for each in fixed
        for (posterior, right) in zip(each.posteriors.values(), each.right.values(), strict=True)
    ]
    judged = fmean(each.judgements for each in fixed) / size
    print(f"{'majority of 3':>18}{fmean(each.accuracy for each in fixed):>8.4f}{judged:>9.2f}", flush=True)
    print(f"{'likeliest of 3':>18}{fmean(ok for _, ok in likeliest):>8.4f}{judged:>9.2f}  {calibration(likeliest)}")
    for certainty in CERTAINTIES:
        made = [world.run(certainty) for world in worlds]
        pairs = [(each.posteriors[key], right) for each in made for key, right in each.right.items()]
        judged = fmean(each.judgements for each in made) / size
        accuracy = fmean(each.accuracy for each in made)
        print(f"{f'by value, {certainty}':>18}{accuracy:>8.4f}{judged:>9.2f}  {calibration(pairs)}", flush=True)
    return fixed


def methods(fixed: Sequence[Result]) -> None:
    """Print a line for each method."""
    print(f"{'':>18}{'right':>8}{'log loss':>9}  said, is (decisions)")
    ways: Mapping[str, Callable[[pd.DataFrame, pd.Series], pd.DataFrame]] = {
        "votes": lambda data, known: MajorityVote().fit_predict_proba(data),
        "one coin": lambda data, known: OneCoinDawidSkene().fit_predict_proba(data),
        "GLAD": lambda data, known: GLAD().fit_predict_proba(data),
        "Dawid and Skene": lambda data, known: DawidSkene().fit_predict_proba(data, known),
    }
    for name, way in ways.items():
        _print(name, [_of_crowdkit(each, way) for each in fixed], fixed)
    _print("ours", [_ours(each) for each in fixed], fixed)


def _print(name: str, accepted: Iterable[Mapping[str, float]], fixed: Iterable[Result]) -> None:
    pairs, losses = [], []
    for chances, each in zip(accepted, fixed, strict=True):
        for key, chance in chances.items():
            truth = each.world.truth[key]
            losses.append(-log(max(chance if truth else 1 - chance, LEAST)))
            pairs.append((max(chance, 1 - chance), (chance >= 0.5) == truth))
    print(
        f"{name:>18}{fmean(right for _, right in pairs):>8.4f}{fmean(losses):>9.4f}  {calibration(pairs)}", flush=True
    )


def _of_crowdkit(result: Result, way: Callable[[pd.DataFrame, pd.Series], pd.DataFrame]) -> dict[str, float]:
    """By task, the probability that it is to be accepted."""
    given, known = result.given()
    data = pd.DataFrame(given, columns=["task", "worker", "label"])
    chances = way(data, pd.Series(known))
    return {task.key: float(chances["accept"][task.key]) for task in result.world.tasks}


def _ours(result: Result) -> dict[str, float]:
    made = reliabilities(*result.given(), SUPPORT)
    assert made is not None
    return {key: chances["accept"] for key, chances in made.tasks.items()}


def main(seeds: int, size: int) -> None:
    """Print both tables, for rows that are as easy as one another and for some hard ones."""
    warnings.simplefilter("ignore", DeprecationWarning)
    rows = squad_rows(SHARED)
    for hard in (0.0, 0.2):
        print(f"\n{size:,} rows, {seeds} seeds{', a fifth of them hard' if hard else ''}")
        worlds = [World(rows, size, seed, hard=hard, overlap_first=round(0.07 * size)) for seed in range(seeds)]
        methods(by_value(worlds))


if __name__ == "__main__":
    main(*((int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (5, 300)))
