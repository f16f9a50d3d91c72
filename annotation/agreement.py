"""How far people agree on what they both did.

Cohen's kappa is scikit-learn's, Pearson's coefficient NumPy's, and the ranks that Spearman's is of are SciPy's:
maintained, and installed anyway for the embedder. Krippendorff's alpha and Fleiss' kappa are written out here, a
few lines each: the maintained package for the first is under the GPL, which a package under the Apache licence
cannot build on, and the library that has the second (statsmodels) would be a large one for one formula.

Where a measure is not defined, it is None with the reason, never a number. Questions are answered by
options, which are their own names; an item is a task, under the id of what people saw.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from schemas.annotation import Agreement, Annotation, Comparison, Means
from schemas.base import content_hash
from schemas.rubric import Choice, Rubric

DRAWS = 1000
"""Of a bootstrap: so many samples of the items, of their number, with replacement."""
INTERVAL = (2.5, 97.5)
DEFINED = 0.9
"""An interval needs so large a share of the draws in which the measure is defined."""
NOT_SHARED = "no item was done by two people"
ONE_PERSON = "only one person answered"
ONE_ANSWER = "all answers are the same, so that chance would agree as well"
ONE_RATING = "somebody gave one rating throughout"
FEW_ITEMS = "fewer than two items were rated by both"
NO_PAIR = "no two people share enough items on which it is defined"
FEW_PAIRED = 2
"""Items that two people share at least, for a measure between them."""

Item = Mapping[str, str]
"""By person's code, the answer to one item."""
T = TypeVar("T")


class Measured(NamedTuple):
    """A measure's value, or why there is none."""

    value: float | None
    reason: str = ""


def percent_agreement(items: Sequence[Item]) -> Measured:
    """The share of pairs of people who gave the same answer, averaged over the items; from 0 to 1."""
    shared = [list(item.values()) for item in items if len(item) > 1]
    if not shared:
        return Measured(None, _not_shared(items))
    return Measured(fmean(fmean(one == other for one, other in combinations(answers, 2)) for answers in shared))


def cohen_kappa(items: Sequence[Item]) -> Measured:
    """Cohen's kappa (1960), (P_o - P_e) / (1 - P_e) between two people; of more, the mean over pairs (Light 1971)."""
    from sklearn.metrics import cohen_kappa_score

    def kappa(pairs: Sequence[tuple[str, str]]) -> Measured:
        one, other = zip(*pairs, strict=True)
        if len({*one, *other}) == 1:
            return Measured(None, ONE_ANSWER)
        return Measured(float(cohen_kappa_score(one, other)))

    return _between_two(items, kappa)


def fleiss_kappa(items: Sequence[Item], options: Sequence[str]) -> Measured:
    """Fleiss' kappa (1971): people may differ from item to item, their number may not.

    With n people an item, P_i is the share of agreeing pairs of item i, p_j the share of all answers that
    are option j: (mean P_i - sum p_j^2) / (1 - sum p_j^2). It is over the items that the commonest number
    of people did.
    """
    counts = _counts(of_one_size(items), options)
    if not len(counts):
        return Measured(None, _not_shared(items))
    people = int(counts[0].sum())
    chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    if np.count_nonzero(counts.sum(axis=0)) == 1:
        return Measured(None, ONE_ANSWER)
    agreed = float(((counts * (counts - 1)).sum(axis=1) / (people * (people - 1))).mean())
    return Measured((agreed - chance) / (1 - chance))


def krippendorff_alpha(
    items: Sequence[Item], options: Sequence[str], level: Literal["nominal", "ordinal"] = "nominal"
) -> Measured:
    """Krippendorff's alpha, 1 - D_o / D_e ("Computing Krippendorff's Alpha-Reliability", 2011).

    People may have left items out; an item that one person did says nothing. From the coincidences o_ck,
    each pair of answers c, k of an item with m answers counted 1 / (m - 1) times, with margins n_c and total
    n: D_o = sum o_ck d_ck / n, D_e = sum n_c n_k d_ck / (n (n - 1)). d_ck is 1 between different options
    (nominal), or the square of the n_g from c to k summed less (n_c + n_k) / 2 (ordinal, options in order).
    """
    counts = _counts([item for item in items if len(item) > 1], options)
    if not len(counts):
        return Measured(None, _not_shared(items))
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
    return _between_two(items, lambda pairs: _pearson(_places(pairs, options)))


def spearman(items: Sequence[Item], options: Sequence[str]) -> Measured:
    """Spearman's rank correlation of two people's ratings, ties sharing their ranks; of more, the mean over pairs."""
    return _between_two(items, lambda pairs: _spearman(_places(pairs, options)))


def token_f1(one: Iterable[str], other: Iterable[str]) -> float:
    """F1 of the tokens of two people's stretches, each as often as it stands; 1 where neither marked anything.

    A token is a word in lower case, or a Chinese character. F1 does not depend on who is compared with whom.
    """
    first, second = _tokens(one), _tokens(other)
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def agreement_of(
    rubric: Rubric, annotations: Iterable[Annotation], seed: int = 0, draws: int = DRAWS
) -> list[Agreement]:
    """How far people agree on each question of a rubric, by the measures that suit it.

    - a choice: percent agreement, Cohen's and Fleiss' kappa, nominal alpha;
    - a choice on a scale: percent agreement, ordinal alpha, Pearson's and Spearman's correlation;
    - a text: the share of pairs who wrote the same, for two texts can both be right; notes are left out;
    - a mark: the mean F1 of the marked tokens.

    Of two annotations of one person on one task the last counts. Intervals are bootstrapped over the items,
    seeded, with `draws` samples; with 0 there are none.
    """
    last = {(one.task, one.by): one for one in annotations}
    rows: list[Agreement] = []
    for ask in rubric.asks:
        rated = _items(last, lambda one, name=ask.name: one.answers.get(name))  # type: ignore[misc]
        for measure, function in _measures(ask).items():
            used = of_one_size(rated) if measure == "Fleiss' kappa" else rated
            rows.append(_row(ask.name, measure, used, function, seed, draws))
    for write in rubric.writes:
        if not write.note:
            wrote = _items(last, lambda one, name=write.name: " ".join(one.answers.get(name, "").split()))  # type: ignore[misc]
            rows.append(_row(write.name, "identical texts", wrote, percent_agreement, seed, draws))
    for mark in rubric.marks:
        marked = _items(last, lambda one, name=mark.name: one.marks.get(name, ()))  # type: ignore[misc]
        rows.append(_row(mark.name, "token F1", marked, _mean_f1, seed, draws))
    return rows


def compared(
    rubric: Rubric,
    annotations: Iterable[Annotation],
    programs: Iterable[Annotation],
    samples: Mapping[str, str],
    seed: int = 0,
    draws: int = DRAWS,
) -> list[Comparison]:
    """How far each program's ratings are correlated with people's, on the rubric's scales that programs rated.

    By sample (`samples` has that of each task): each program with the mean of what people gave an item, be they one or
    several, and, where there are several people, with each of them; and people among themselves, to compare with.
    Intervals as in `agreement_of`.
    """
    last = {(one.task, one.by): one for one in annotations}
    theirs = {(one.task, one.by): one for one in programs}
    rows: list[Comparison] = []
    for sample, ask in _scales(rubric, samples):
        rated = _ratings(last, samples, sample, ask)
        machine = _ratings(theirs, samples, sample, ask)
        people = sorted({by for item in rated.values() for by in item})
        for program in sorted({by for item in machine.values() for by in item}):
            own = {task: item[program] for task, item in machine.items() if program in item}
            for codes in (tuple(people), *(((by,) for by in people) if len(people) > 1 else ())):
                pairs = [
                    (value, fmean(given))
                    for task, value in own.items()
                    if (given := [rated[task][by] for by in codes if by in rated.get(task, {})])
                ]
                for measure, function in (("Pearson", _pearson), ("Spearman", _spearman)):
                    at = content_hash(seed, sample, program, codes, ask.name, measure)
                    row = _measured(ask.name, measure, pairs, function, codes, at, draws)
                    rows.append(Comparison(**dict(row), sample=sample, program=program))
        if machine:
            among = [{by: ask.options[place - 1] for by, place in item.items()} for _, item in sorted(rated.items())]
            for measure in ("Pearson", "Spearman"):
                row = _row(ask.name, measure, among, _measures(ask)[measure], seed, draws)
                rows.append(Comparison(**dict(row), sample=sample, program=""))
    return rows


def means(rubric: Rubric, annotations: Iterable[Annotation], samples: Mapping[str, str]) -> list[Means]:
    """What people gave on the rubric's scales, by sample (`samples` has that of each task); none without ratings."""
    last = {(one.task, one.by): one for one in annotations}
    by_sample: dict[str, dict[str, Mapping[str, Mapping[str, int]]]] = defaultdict(dict)
    for sample, ask in _scales(rubric, samples):
        if rated := _ratings(last, samples, sample, ask):
            by_sample[sample][ask.name] = rated
    return [
        Means(
            sample=sample,
            means={name: fmean(fmean(item.values()) for item in rated.values()) for name, rated in found.items()},
            items=len({task for rated in found.values() for task in rated}),
            people=tuple(sorted({by for rated in found.values() for item in rated.values() for by in item})),
        )
        for sample, found in by_sample.items()
    ]


def agreement_by_person(rubric: Rubric, annotations: Iterable[Annotation]) -> dict[str, Measured]:
    """By person, the share of answers to the rubric's choices in which another person agrees, over all they share."""
    last = {(one.task, one.by): one for one in annotations}
    same: dict[str, list[bool]] = {by: [] for _, by in last}
    for ask in rubric.asks:
        for item in _items(last, lambda one, name=ask.name: one.answers.get(name)):  # type: ignore[misc]
            for one, other in combinations(item, 2):
                same[one].append(item[one] == item[other])
                same[other].append(item[one] == item[other])
    return {by: Measured(fmean(one)) if one else Measured(None, NOT_SHARED) for by, one in sorted(same.items())}


def of_one_size(items: Sequence[Mapping[str, T]]) -> list[Mapping[str, T]]:
    """The items that the commonest number of people did, of two or more; of numbers as common, the larger."""
    sizes = Counter(len(item) for item in items if len(item) > 1)
    if not sizes:
        return []
    size = max(sizes, key=lambda size: (sizes[size], size))
    return [item for item in items if len(item) == size]


def _measures(ask: Choice) -> dict[str, Callable[[Sequence[Item]], Measured]]:
    options = ask.options
    if ask.ordered:
        return {
            "percent agreement": percent_agreement,
            "Krippendorff's alpha (ordinal)": lambda items: krippendorff_alpha(items, options, "ordinal"),
            "Pearson": lambda items: pearson(items, options),
            "Spearman": lambda items: spearman(items, options),
        }
    return {
        "percent agreement": percent_agreement,
        "Cohen's kappa": cohen_kappa,
        "Fleiss' kappa": lambda items: fleiss_kappa(items, options),
        "Krippendorff's alpha (nominal)": lambda items: krippendorff_alpha(items, options),
    }


def _row(
    question: str,
    measure: str,
    items: Sequence[Mapping[str, T]],
    function: Callable[[Sequence[Mapping[str, T]]], Measured],
    seed: int,
    draws: int,
) -> Agreement:
    shared = [item for item in items if len(item) > 1]
    people = sorted({by for item in shared for by in item})
    measuring = function if shared else lambda shared: Measured(None, _not_shared(items))
    return _measured(question, measure, shared, measuring, people, content_hash(seed, question, measure), draws)


def _measured(
    question: str,
    measure: str,
    items: Sequence[T],
    function: Callable[[Sequence[T]], Measured],
    people: Iterable[str],
    seed: str,
    draws: int,
) -> Agreement:
    found = function(items)
    low, high = None, None
    if found.value is not None and len(items) > 1 and draws:
        low, high = bootstrap(items, function, seed, draws)
    return Agreement(
        question=question,
        measure=measure,
        value=found.value,
        low=low,
        high=high,
        items=len(items),
        people=tuple(people),
        reason=found.reason,
    )


def bootstrap(
    items: Sequence[T], function: Callable[[Sequence[T]], Measured], seed: str, draws: int = DRAWS
) -> tuple[float | None, float | None]:
    """The 95 % percentile interval of a measure over samples of the items; None twice where too few define it.

    `seed` is hexadecimal.
    """
    random = np.random.default_rng(int(seed, 16))
    places = random.integers(0, len(items), size=(draws, len(items)))
    values = [function([items[place] for place in row]).value for row in places]
    defined = [value for value in values if value is not None]
    if len(defined) < DEFINED * draws:
        return None, None
    low, high = np.percentile(defined, INTERVAL)
    return float(low), float(high)


def _items(last: Mapping[tuple[str, str], Annotation], of: Callable[[Annotation], T | None]) -> list[Mapping[str, T]]:
    """By item what each person said, in an order that is not that of arrival."""
    items: dict[str, dict[str, T]] = defaultdict(dict)
    for (task, by), one in sorted(last.items(), key=lambda pair: pair[0]):
        if (said := of(one)) is not None:
            items[task][by] = said
    return list(items.values())


def _counts(items: Sequence[Item], options: Sequence[str]) -> NDArray[np.int64]:
    """How many people chose each option, (items, options)."""
    return np.array(
        [[sum(answer == option for answer in item.values()) for option in options] for item in items], dtype=np.int64
    ).reshape(len(items), len(options))


def _between_two(items: Sequence[Item], measure: Callable[[Sequence[tuple[str, str]]], Measured]) -> Measured:
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for item in items:
        for one, other in combinations(sorted(item), 2):
            pairs[one, other].append((item[one], item[other]))
    if not pairs:
        return Measured(None, _not_shared(items))
    measured = [measure(answers) for answers in pairs.values() if len(answers) >= FEW_PAIRED]
    values = [one.value for one in measured if one.value is not None]
    if values:
        return Measured(fmean(values))
    return measured[0] if len(measured) == 1 else Measured(None, NO_PAIR)


def _places(pairs: Sequence[tuple[str, str]], options: Sequence[str]) -> list[tuple[float, float]]:
    """The ratings as numbers: 1, 2, ..."""
    place = {option: float(number) for number, option in enumerate(options, 1)}
    return [(place[one], place[other]) for one, other in pairs]


def _pearson(pairs: Sequence[tuple[float, float]]) -> Measured:
    return _correlation(np.array(pairs))


def _spearman(pairs: Sequence[tuple[float, float]]) -> Measured:
    from scipy.stats import rankdata

    return _correlation(rankdata(pairs, axis=0) if pairs else np.array([]))


def _correlation(pairs: NDArray[np.float64]) -> Measured:
    """Pearson's coefficient of pairs of ratings, (items, 2)."""
    if len(pairs) < FEW_PAIRED:
        return Measured(None, FEW_ITEMS)
    if (pairs == pairs[0]).all(axis=0).any():
        return Measured(None, ONE_RATING)
    return Measured(float(np.corrcoef(pairs.T)[0, 1]))


def _scales(rubric: Rubric, samples: Mapping[str, str]) -> Iterator[tuple[str, Choice]]:
    """The rubric's scales in each sample, in the order of the rubric's."""
    there = set(samples.values())
    for sample in [one.name for one in rubric.samples] or [""]:
        yield from ((sample, ask) for ask in rubric.asks if ask.ordered and sample in there)


def _ratings(
    last: Mapping[tuple[str, str], Annotation], samples: Mapping[str, str], sample: str, ask: Choice
) -> dict[str, dict[str, int]]:
    """By task of a sample and by whose they are, the ratings on a scale: 1, 2, ..."""
    rated: dict[str, dict[str, int]] = defaultdict(dict)
    for (task, by), one in sorted(last.items(), key=lambda pair: pair[0]):
        if samples.get(task) == sample and ask.name in one.answers:
            rated[task][by] = ask.options.index(one.answers[ask.name]) + 1
    return dict(rated)


def _mean_f1(items: Sequence[Mapping[str, tuple[str, ...]]]) -> Measured:
    return Measured(fmean(fmean(token_f1(*pair) for pair in combinations(item.values(), 2)) for item in items))


def _tokens(stretches: Iterable[str]) -> Counter[str]:
    return Counter(token for stretch in stretches for token in _TOKEN.findall(stretch.lower()))


_HAN = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(f"[{_HAN}]|[^\\W{_HAN}]+")


def _not_shared(items: Sequence[Mapping[str, object]]) -> str:
    return ONE_PERSON if len({by for item in items for by in item}) == 1 else NOT_SHARED
