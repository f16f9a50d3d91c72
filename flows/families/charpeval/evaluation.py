"""How a model is asked about CHARPEval's items and scored, and how alike a model finds the work of several authors."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from data.publish.harness import Metric, OptionScoring
from flows.construct.evaluation import Authorship, Evaluation, Measure, Scorer, Version, columns
from flows.families.charpeval.inference import INSTRUCTION, choices, chunks, demonstrations
from flows.families.charpeval.method import items_of
from flows.families.charpeval.score import COLUMNS, FORM, OPTIONAL, SCORES, first
from flows.families.charpeval.score import score as scores_of
from flows.llm.likelihood import DEFAULT_SCORE
from flows.scoring.scorer import CannotScore, Row
from flows.scoring.tables import Layout, ScoreError, ScoreTables, score_tables
from schemas.charpeval import OPTION_TYPES, SUBSETS, OptionType
from schemas.prediction import Prediction


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool, settings: object = None
) -> ScoreTables:
    """Return every table. `settings` are not needed. Raises `ScoreError` for what does not fit."""
    return score_tables(scores_of, rows, predictions, partial, _layout)


def _layout(table: str) -> Layout:
    return Layout("model / subset", "way to score an option" if table == "accuracy" else "kind of option")


def option_scoring() -> OptionScoring:
    """The harness's task: the options of an item are weighed after the prompt of `touchstone evaluate`."""
    metrics = [
        Metric(name if kind == "GTRS" else f"{name}_{kind}", higher_is_better=kind == "GTRS")
        for name in SCORES
        for kind in OPTION_TYPES
    ]
    return OptionScoring(
        about="the six options of each item, weighed one by one",
        instruction=f"{INSTRUCTION}\n\n",
        demonstrations=[shown.model_dump(mode="json") for shown in demonstrations()],
        metrics=metrics,
        values="`sum` is the accuracy by the sum of the log-probabilities of an option's tokens, `mean` by their mean, "
        "`sequence` by the mean over prompt and option; `sum_KIND` and so on are the shares of distractors that come "
        "first. `mean` and `sequence` need a model with a tokenizer of its own (`hf`, `vllm`). The text goes to every "
        "model as it is, without a chat format.",
    )


# ---- several authors (table 3 and appendix B) ----

Shares = Mapping[str, float]
"""By kind of option, its share of the first place."""
Pair = tuple[str, str, str]
"""Subset and two authors."""
AUTHOR_LAYOUT = Layout("model / subset / author", "kind of option")


def compare_authors(versions: Sequence[Version], predictions: Iterable[Prediction]) -> ScoreTables:
    """Return how often each kind of option is ranked first, on the items that two authors made of the same dialogues.

    There are many right ways to write a wrong response, so texts say little about agreement; authors who keep to a
    guideline leave a model with the same distribution. Each pair of authors is compared on the dialogues that both
    wrote for, by the default score. A note gives their largest difference, in points (hundredths). Versions without a
    prediction are left out. Raises `ScoreError` where no dialogue has predictions of two authors' items.
    """
    shares, differences, notes = [], [], []
    for group, ranked in sorted(_ranked(predictions).items()):
        for (subset, author, other), items in _of_two(versions, ranked).items():
            of_one, of_other = (
                {kind: fmean(ranked[pair[place]][kind] for pair in items) for kind in OPTION_TYPES} for place in (0, 1)
            )
            shares += _cells(f"{group} / {subset} / {author}, beside {other}", of_one, len(items))
            shares += _cells(f"{group} / {subset} / {other}, beside {author}", of_other, len(items))
            gaps = {kind: abs(of_one[kind] - of_other[kind]) for kind in OPTION_TYPES}
            row = f"{group} / {subset} / {author} and {other}"
            differences += _cells(row, gaps, len(items))
            widest = max(OPTION_TYPES, key=gaps.__getitem__)
            notes.append(
                f"{row}: at most {100 * gaps[widest]:.1f} points apart, in {widest}, over {len(items)} dialogues "
                "(the paper: at most 1, over 100)"
            )
    if not shares:
        raise ScoreError("predictions: there are none of two authors' items on one dialogue; weigh both")
    import pandas as pd

    frames = {"ranked first, by author": pd.DataFrame(shares), "difference between authors": pd.DataFrame(differences)}
    return ScoreTables.of(frames, notes, layouts=dict.fromkeys(frames, AUTHOR_LAYOUT))


def _ranked(predictions: Iterable[Prediction]) -> Mapping[str, Mapping[str, Shares]]:
    """Return, by model and item, the shares of the first place by the default score."""
    ranked: dict[str, dict[str, Shares]] = defaultdict(dict)
    for prediction in predictions:
        if prediction.variant == DEFAULT_SCORE and prediction.scores is not None:
            try:
                ranked[prediction.group][prediction.id] = first(prediction.scores)
            except CannotScore as error:
                raise ScoreError(f"predictions: {prediction.id} {prediction.variant}: {error}") from error
    return ranked


def _of_two(versions: Iterable[Version], ranked: Mapping[str, Shares]) -> Mapping[Pair, Sequence[tuple[str, str]]]:
    """Return, by pair of authors, the ids of their items on each dialogue that both wrote for, if both are ranked."""
    ids: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for version in versions:
        if version.row["id"] in ranked:
            ids[SUBSETS.index(version.row["subset"]), version.key][version.by] = version.row["id"]
    pairs: dict[Pair, list[tuple[str, str]]] = defaultdict(list)
    for (place, _), by_author in sorted(ids.items()):
        for author, other in combinations(sorted(by_author), 2):
            pairs[SUBSETS[place], author, other].append((by_author[author], by_author[other]))
    return pairs


def _cells(row: str, values: Mapping[OptionType, float], items: int) -> list[dict[str, Any]]:
    return [{"row": row, "column": kind, "value": values[kind], "n": items} for kind in OPTION_TYPES]


EVALUATION = Evaluation(
    parts=("items",),
    settings=("shots",),
    scored=columns(*COLUMNS, *OPTIONAL),
    score=score,
    scorer=Scorer(
        FORM,
        "`scores` has a number for each option, the higher the likelier, of the log-probabilities of its tokens after "
        "the prompt: variant `sum`, their sum; `mean`, their mean; `sequence`, the mean over prompt and option. Give "
        "the variants that you have.",
        score=scores_of,
        options=option_scoring,
    ),
    limits=("Five of the six options of an item of CHARPEval are bad responses on purpose; some are false.",),
    headline={"accuracy": "share of items of which the right response ranks first, by the way to score an option"},
    measures=(Measure("accuracy", "near facts", "items of which the right response ranks first", "last utterance"),),
    choices=choices,
    chunks=chunks,
    authors=Authorship("distractors", items_of, compare_authors),
)
