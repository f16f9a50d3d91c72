"""Measures of agreement between people, each over items that they both did.

Pearson's coefficient is NumPy's, and Spearman's ranks are SciPy's. Krippendorff's alpha and the two kappas are written
out here, in a few lines each. The maintained package for alpha is under the GPL, which a package under the Apache
licence cannot build on. The library that has Fleiss' kappa (statsmodels) is too large for one formula. scikit-learn's
Cohen's kappa gives the same numbers, but takes 35 times as long, and a bootstrap asks for a thousand.

A measure that is not defined is None with the reason, never a number. Answers are options, called by their own names.
"""

import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000
"""Samples of a bootstrap: of the items, as many as there are, with replacement."""
INTERVAL = (2.5, 97.5)
DEFINED = 0.9
"""An interval needs this share of samples in which the measure is defined."""
NOT_SHARED = "no item was done by two people"
ONE_PERSON = "only one person answered"
ONE_ANSWER = "all answers are the same, so chance would agree as well"
ONE_RATING = "somebody gave the same rating throughout"
FEW_ITEMS = "fewer than two items were rated by both"
NO_PAIR = "no two people share enough items on which it is defined"
FEW_PAIRED = 2
"""Items that two people must share for a measure between them."""

Item = Mapping[str, str]
"""By person's code, the answer to one item."""
T = TypeVar("T")


class Measured(NamedTuple):
    """A measure's value, or why there is none."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class Measure(Generic[T]):
    """A measure in two steps: a bootstrap takes the first, which is the slow one, once for all its samples."""

    rows: Callable[[Sequence[Mapping[str, T]]], NDArray[Any]]
    """What the measure needs of items that two people or more did, a row for each."""
    of_rows: Callable[[NDArray[Any]], Measured]

    def __call__(self, items: Sequence[Mapping[str, T]]) -> Measured:
        """Return the measure over the items, without those that one person did."""
        shared = [item for item in items if len(item) > 1]
        return self.of_rows(self.rows(shared)) if shared else Measured(None, not_shared(items))


def _mean_over_pairs(compare: Callable[[T, T], float]) -> Measure[T]:
    """Return the mean over the items of the mean over pairs of people."""
    return Measure(
        lambda items: np.array([fmean(compare(*pair) for pair in combinations(item.values(), 2)) for item in items]),
        lambda means: Measured(fmean(means.tolist())),
    )


percent_agreement: Measure[str] = _mean_over_pairs(operator.eq)
"""The share of pairs of people who gave the same answer, averaged over the items; from 0 to 1."""


def _pairs(items: Sequence[Item]) -> NDArray[np.int64]:
    """Return, by item and two people who did it, numbers of the two and of both answers, (items, pairs, 3).

    Items that fewer people did have -1 where there is no pair.
    """
    options = {
        option: place for place, option in enumerate(sorted({answer for item in items for answer in item.values()}))
    }
    couples: dict[tuple[str, str], int] = {}
    rows = [
        [(couples.setdefault((one, two), len(couples)), options[item[one]], options[item[two]])
         for one, two in combinations(sorted(item), 2)]
        for item in items
    ]  # fmt: skip
    most = max(map(len, rows))
    return np.array([row + [(-1, -1, -1)] * (most - len(row)) for row in rows], dtype=np.int64)


def _kappas(rows: NDArray[np.int64]) -> Measured:
    pairs: NDArray[np.int64] = rows.reshape(-1, 3)
    pairs = pairs[pairs[:, 0] >= 0]
    size = int(pairs[:, 1:].max()) + 1
    cells = (pairs[:, 0] * size + pairs[:, 1]) * size + pairs[:, 2]
    tables = np.bincount(cells, minlength=(int(pairs[:, 0].max()) + 1) * size * size).reshape(-1, size, size)
    return _mean_of([_kappa(table) for table in tables[tables.sum(axis=(1, 2)) >= FEW_PAIRED]])


def _kappa(counts: NDArray[np.int64]) -> Measured:
    """Cohen's kappa of one table of two people's answers."""
    given = counts.any(axis=0) | counts.any(axis=1)
    if given.sum() == 1:
        return Measured(None, ONE_ANSWER)
    counts = counts[given][:, given]
    expected = np.outer(counts.sum(axis=0), counts.sum(axis=1)) / counts.sum()
    differ = 1 - np.eye(len(counts))
    return Measured(1 - float((differ * counts).sum()) / float((differ * expected).sum()))


cohen_kappa: Measure[str] = Measure(_pairs, _kappas)
"""Cohen's kappa (1960), (P_o - P_e) / (1 - P_e) between two people; of more, the mean over pairs (Light 1971)."""


def fleiss(options: Sequence[str]) -> Measure[str]:
    """Fleiss' kappa (1971): people may differ from item to item, their number may not.

    With n people per item, P_i is the share of agreeing pairs of item i, p_j the share of all answers that are option
    j: (mean P_i - sum p_j^2) / (1 - sum p_j^2). It uses the items that the commonest number of people did.
    """
    return Measure(lambda items: _counts(of_one_size(items), options), _fleiss_kappa)


def _fleiss_kappa(counts: NDArray[np.int64]) -> Measured:
    people = int(counts[0].sum())
    chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    if np.count_nonzero(counts.sum(axis=0)) == 1:
        return Measured(None, ONE_ANSWER)
    agreed = float(((counts * (counts - 1)).sum(axis=1) / (people * (people - 1))).mean())
    return Measured((agreed - chance) / (1 - chance))


def krippendorff(options: Sequence[str], level: Literal["nominal", "ordinal"] = "nominal") -> Measure[str]:
    """Krippendorff's alpha, 1 - D_o / D_e ("Computing Krippendorff's Alpha-Reliability", 2011).

    People may have left items out; an item that one person did is ignored. The coincidences o_ck count each pair of
    answers c, k of an item with m answers 1 / (m - 1) times; their margins are n_c and their total n. Then
    D_o = sum o_ck d_ck / n and D_e = sum n_c n_k d_ck / (n (n - 1)). d_ck is 1 between different options (nominal), or
    the square of the sum of n_g from c to k less (n_c + n_k) / 2 (ordinal, options in order).
    """
    return Measure(lambda items: _counts(items, options), lambda counts: _alpha(counts, level))


def _alpha(counts: NDArray[np.int64], level: Literal["nominal", "ordinal"]) -> Measured:
    options = range(counts.shape[1])
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(options))
    coincidences = (pairs / (counts.sum(axis=1) - 1)[:, None, None]).sum(axis=0)
    margins = coincidences.sum(axis=0)
    if level == "nominal":
        distances = 1 - np.eye(len(options))
    else:
        up_to = np.cumsum(margins)
        places = np.arange(len(options))
        low, high = np.minimum.outer(places, places), np.maximum.outer(places, places)
        between = up_to[high] - up_to[low] + margins[low]
        distances = (between - np.add.outer(margins, margins) / 2) ** 2
    expected = float((np.outer(margins, margins) * distances).sum())
    if np.count_nonzero(margins) == 1:
        return Measured(None, ONE_ANSWER)
    return Measured(1 - (float(margins.sum()) - 1) * float((coincidences * distances).sum()) / expected)


def pearson(items: Sequence[Item], options: Sequence[str]) -> Measured:
    """Pearson's correlation of two people's ratings, options taken as 1, 2, ...; of more, the mean over pairs."""
    return _between_two(items, lambda pairs: pearson_of(_ratings(pairs, options)))


def spearman(items: Sequence[Item], options: Sequence[str]) -> Measured:
    """Spearman's rank correlation of two people's ratings, ties sharing their ranks; of more, the mean over pairs."""
    return _between_two(items, lambda pairs: spearman_of(_ratings(pairs, options)))


def pearson_of(pairs: Sequence[tuple[float, float]]) -> Measured:
    """Pearson's correlation of pairs of ratings."""
    return _correlation(np.array(pairs))


def spearman_of(pairs: Sequence[tuple[float, float]]) -> Measured:
    """Spearman's rank correlation of pairs of ratings."""
    from scipy.stats import rankdata

    return _correlation(rankdata(pairs, axis=0) if pairs else np.array([]))


def token_f1(first: Iterable[str], second: Iterable[str]) -> float:
    """F1 of the tokens of two people's spans, each as often as it occurs; 1 if neither marked anything.

    A token is a word in lower case, or a Chinese character. F1 is symmetric.
    """
    a, b = _tokens(first), _tokens(second)
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 1.0


mean_token_f1: Measure[tuple[str, ...]] = _mean_over_pairs(token_f1)
"""The mean over the items of the mean `token_f1` over pairs of people."""


def of_one_size(items: Sequence[Mapping[str, T]]) -> list[Mapping[str, T]]:
    """Return the items done by the commonest number of people, two or more; of equally common numbers, the larger."""
    sizes = Counter(len(item) for item in items if len(item) > 1)
    if not sizes:
        return []
    size = max(sizes, key=lambda size: (sizes[size], size))
    return [item for item in items if len(item) == size]


def bootstrap(
    items: Sequence[T], function: Callable[[Sequence[T]], Measured], seed: str, draws: int = DRAWS
) -> tuple[float | None, float | None]:
    """Return the 95 % percentile interval of a measure over samples of the items; None twice if too few define it.

    `seed` is hexadecimal.
    """
    random = np.random.default_rng(int(seed, 16))
    places = random.integers(0, len(items), size=(draws, len(items)))
    if isinstance(function, Measure):
        rows = function.rows(cast(Sequence[Item], items))
        values = [function.of_rows(rows[row]).value for row in places]
    else:
        values = [function([items[place] for place in row]).value for row in places]
    defined = [value for value in values if value is not None]
    if len(defined) < DEFINED * draws:
        return None, None
    low, high = np.percentile(defined, INTERVAL)
    return float(low), float(high)


def share_interval(share: float, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share among `number` items: Wilson's (1927).

    It holds for items that agree in part as well, which vary less than those that agree or do not. A bootstrap would
    claim certainty where all items are the same.
    """
    z = 1.959964
    middle = share + z * z / (2 * number)
    half = z * (share * (1 - share) / number + z * z / (4 * number * number)) ** 0.5
    scale = 1 + z * z / number
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def not_shared(items: Sequence[Mapping[str, object]]) -> str:
    """Return why there is nothing to compare."""
    return ONE_PERSON if len({by for item in items for by in item}) == 1 else NOT_SHARED


def _counts(items: Sequence[Item], options: Sequence[str]) -> NDArray[np.int64]:
    """Return how many people chose each option, (items, options)."""
    return np.array(
        [[sum(answer == option for answer in item.values()) for option in options] for item in items], dtype=np.int64
    ).reshape(len(items), len(options))


def _between_two(items: Sequence[Item], measure: Callable[[Sequence[tuple[str, str]]], Measured]) -> Measured:
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for item in items:
        for first, second in combinations(sorted(item), 2):
            pairs[first, second].append((item[first], item[second]))
    if not pairs:
        return Measured(None, not_shared(items))
    return _mean_of([measure(answers) for answers in pairs.values() if len(answers) >= FEW_PAIRED])


def _mean_of(measured: Sequence[Measured]) -> Measured:
    """Return the mean over pairs of people."""
    values = [pair.value for pair in measured if pair.value is not None]
    if values:
        return Measured(fmean(values))
    return measured[0] if len(measured) == 1 else Measured(None, NO_PAIR)


def _ratings(pairs: Sequence[tuple[str, str]], options: Sequence[str]) -> list[tuple[float, float]]:
    """Return the ratings as numbers: 1, 2, ..."""
    place = {option: float(number) for number, option in enumerate(options, 1)}
    return [(place[first], place[second]) for first, second in pairs]


def _correlation(pairs: NDArray[np.float64]) -> Measured:
    """Pearson's coefficient of pairs of ratings, (items, 2)."""
    if len(pairs) < FEW_PAIRED:
        return Measured(None, FEW_ITEMS)
    if (pairs == pairs[0]).all(axis=0).any():
        return Measured(None, ONE_RATING)
    return Measured(float(np.corrcoef(pairs.T)[0, 1]))


def _tokens(spans: Iterable[str]) -> Counter[str]:
    return Counter(token for span in spans for token in _TOKEN.findall(span.lower()))


_HAN = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(f"[{_HAN}]|[^\\W{_HAN}]+")
