"""CHARPEval's accuracy and ranking distribution (sections 2.4 and 3; tables 1, 2, 4 and 5), and its authors (table 3).

Every value lies in 0..1; n is the number of items that it is taken over, and a share of nothing is None. A model's
rows are told apart by its shots, and by subset. Each way to score an option (`flows/llm/likelihood.py`) is
a variant of the predictions, and those that occur are scored: `sum`, the default, first.

- accuracy: how often the ground truth response is the likeliest option.
- ranked first: how often each kind of option is; its GTRS is the accuracy.

Of options that tie for the first place each has an equal share of it, so that no table depends on the order of the
options; a note tells how many items that are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

import pandas as pd

from flows.construct.evaluation import Version
from flows.llm.likelihood import DEFAULT_SCORE, SCORES
from flows.scoring.tables import Layout, ScoreError, ScoreTables, fitting, means
from schemas.base import Frozen
from schemas.charpeval import OPTION_TYPES, SUBSETS, CharpEvalItem, OptionType, Subset
from schemas.prediction import Prediction

PLACE = ["group", "subset"]
"""What a table's lines tell apart."""
LINES = "model / subset"
"""The same in words."""


class ScoredItem(Frozen):
    """What scoring needs of an item: the options are scored already."""

    id: str
    subset: Subset

    @classmethod
    def of(cls, item: CharpEvalItem) -> "ScoredItem":
        """The part of `item` that is kept."""
        return cls(id=item.id, subset=item.subset)


def first(scores: Mapping[str, float]) -> dict[str, float]:
    """Each kind's share of the first place: 1 for the option of the highest score, equal shares where several have it.

    Raises `ScoreError` where there is not one score for each kind.
    """
    if set(scores) != set(OPTION_TYPES):
        raise ScoreError(f"scores: expected one for each of {', '.join(OPTION_TYPES)}; found {', '.join(scores)}")
    best = max(scores.values())
    tied = sum(score == best for score in scores.values())
    return {kind: float(scores[kind] == best) / tied for kind in OPTION_TYPES}


def score(
    rows: Iterable[ScoredItem], predictions: Iterable[Prediction], partial: bool, settings: object = None
) -> ScoreTables:
    """Every table. `settings` are not needed.

    Raises `ScoreError` where a group (model, prompting, shots) lacks the scores of an item under one of the
    variants that occur, has two, or has some of an item or variant that is not there; and where scores are
    not those of the six options. With `partial`, such predictions are left out, and of two the first counts.
    """
    items = {row.id: row for row in rows}
    if not items:
        raise ScoreError("rows: expected items, found none; check which build is scored")
    given = list(predictions)
    occurring = {one.variant for one in given}
    variants = [name for name in SCORES if name in occurring] or list(SCORES)
    lines = fitting(items, lambda row: variants, given, partial, _line)
    ranked = pd.DataFrame(lines)
    frames = {"accuracy": _accuracy(ranked, variants)}
    frames |= {f"ranked first, by {name}": _ranking(ranked[ranked["variant"] == name]) for name in variants}
    layouts = dict.fromkeys(frames, Layout(LINES, "kind of option"))
    layouts["accuracy"] = Layout(LINES, "way to score an option")
    return ScoreTables.of(frames, _notes(ranked), layouts=layouts)


def compare_authors(versions: Sequence[Version], predictions: Iterable[Prediction]) -> ScoreTables:
    """Table 3 (appendix B): how often each kind of option is ranked first, on the items that two authors made of the
    same dialogues.

    There are many right ways to write a wrong response, so texts tell little of agreement; authors who keep to one
    guideline leave a model with the same distribution. Each pair of authors is compared on the dialogues that both
    wrote for, by the default score. A note gives their largest difference, in points (hundredths). Of an author's
    version without a prediction nothing is told. Raises `ScoreError` where there is no prediction of both authors'.
    """
    ranked: dict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for given in predictions:
        if given.variant == DEFAULT_SCORE and given.scores is not None:
            ranked[given.group][given.id] = first(given.scores)
    ids: dict[tuple[Subset, str], dict[str, str]] = defaultdict(dict)
    for version in versions:
        ids[version.row.subset, version.key][version.by] = version.row.id
    shares, apart, notes = [], [], []
    for group, by_id in sorted(ranked.items()):
        for (subset, one, other), items in _of_two(ids, by_id).items():
            means_ = [
                {kind: fmean(by_id[pair[place]][kind] for pair in items) for kind in OPTION_TYPES} for place in (0, 1)
            ]
            for author, beside, found in ((one, other, means_[0]), (other, one, means_[1])):
                shares += _cells(f"{group} / {subset} / {author}, beside {beside}", found, len(items))
            gaps = {kind: abs(means_[0][kind] - means_[1][kind]) for kind in OPTION_TYPES}
            row = f"{group} / {subset} / {one} and {other}"
            apart += _cells(row, gaps, len(items))
            widest = max(OPTION_TYPES, key=gaps.__getitem__)
            notes.append(
                f"{row}: at most {100 * gaps[widest]:.1f} points apart, in {widest}, over {len(items)} dialogues "
                "(the paper: at most 1, over 100)"
            )
    if not shares:
        raise ScoreError("predictions: there are none of two authors' items on one dialogue; weigh both")
    frames = {"ranked first, by author": pd.DataFrame(shares), "difference between authors": pd.DataFrame(apart)}
    by = "model / subset / author"
    return ScoreTables.of(frames, notes, layouts=dict.fromkeys(frames, Layout(by, "kind of option")))


def _of_two(
    ids: Mapping[tuple[Subset, str], Mapping[str, str]], ranked: Mapping[str, object]
) -> Mapping[tuple[str, str, str], Sequence[tuple[str, str]]]:
    """By subset and two authors, the ids of their items on each dialogue that both wrote for, and that are ranked."""
    pairs: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for (subset, _), by in sorted(ids.items(), key=lambda one: (SUBSETS.index(one[0][0]), one[0][1])):
        for one, other in combinations(sorted(author for author in by if by[author] in ranked), 2):
            pairs[subset, one, other].append((by[one], by[other]))
    return pairs


def _cells(row: str, values: Mapping[OptionType, float], items: int) -> list[dict[str, Any]]:
    return [{"row": row, "column": kind, "value": values[kind], "n": items} for kind in OPTION_TYPES]


def _line(row: ScoredItem, one: Prediction) -> dict[str, Any]:
    """Where the prediction belongs, and each kind's share of the first place."""
    try:
        shares = first(one.scores or {})
    except ScoreError as error:
        raise ScoreError(f"predictions: {one.id} {one.variant}: {error}") from error
    return {"group": one.group, "subset": row.subset, "variant": one.variant, **shares}


def _accuracy(ranked: pd.DataFrame, variants: Sequence[str]) -> pd.DataFrame:
    """Table 1: a column for each way to score."""
    right = ranked.set_index([*PLACE, "variant"])["GTRS"]
    return _in_order(means(right, [*PLACE, "variant"]), variants)


def _ranking(ranked: pd.DataFrame) -> pd.DataFrame:
    """Tables 2, 4 and 5: a column for each kind of option."""
    shares = ranked.melt(PLACE, list(OPTION_TYPES), var_name="kind", value_name="share")
    return _in_order(means(shares.set_index([*PLACE, "kind"])["share"], [*PLACE, "kind"]), OPTION_TYPES)


def _in_order(found: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Cells with their columns in that order."""
    order = list(columns)
    return found.sort_values(
        ["row", "column"], key=lambda one: one.map(order.index) if one.name == "column" else one, ignore_index=True
    )


def _notes(ranked: pd.DataFrame) -> list[str]:
    tied = int((ranked[list(OPTION_TYPES)].max(axis=1) < 1).sum())
    if not tied:
        return []
    return [f"{tied} of {len(ranked)} rankings have several options in the first place: each has an equal share of it"]
