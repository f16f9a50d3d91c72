"""How CHARPEval's items are put to a model and scored."""

from collections.abc import Iterable

from data.publish.harness import Metric, OptionScoring
from flows.construct.evaluation import Authorship, Evaluation, Scorer, columns
from flows.families.charpeval.authors import compare_authors
from flows.families.charpeval.inference import choices, chunks
from flows.families.charpeval.method import items_of
from flows.families.charpeval.score import COLUMNS, FORM, OPTION_TYPES, SCORES, prompt
from flows.families.charpeval.score import score as scores_of
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.errors import WrongInput
from schemas.prediction import Prediction


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool, settings: object = None
) -> ScoreTables:
    """Return every table. `settings` are not needed. Raises `ScoreError` for what does not fit."""
    return score_tables(scores_of, rows, predictions, partial, _layout)


def _layout(table: str) -> Layout:
    return Layout("model / subset", "way to score an option" if table == "accuracy" else "kind of option")


def option_scoring(row: Row, asked: str) -> OptionScoring:
    """How the harness scores the options; `asked` is the prompt that `touchstone evaluate` puts before those of `row`.

    Raises `WrongInput` where it does not end as the scorer has it.
    """
    own = prompt(row, "")
    if not asked.endswith(own):
        raise WrongInput(
            "charpeval: the prompt does not end with the row's dialogue and knowledge; export it with its row"
        )
    metrics = [
        Metric(
            name if kind == "GTRS" else f"{name}_{kind}",
            "by_sequence" if name == "sequence" else None,
            higher_is_better=kind == "GTRS",
        )
        for name in SCORES
        for kind in OPTION_TYPES
    ]
    return OptionScoring(asked.removesuffix(own), metrics)


EVALUATION = Evaluation(
    parts=("items",),
    settings=("shots",),
    scored=columns(*COLUMNS),
    score=score,
    scorer=Scorer(
        FORM,
        "`scores` has a number for each option, the higher the likelier, of the log-probabilities of its tokens after "
        "the prompt: variant `sum`, their sum; `mean`, their mean; `sequence`, the mean over prompt and option. Give "
        "the variants that you have.",
        options=option_scoring,
    ),
    choices=choices,
    chunks=chunks,
    authors=Authorship("distractors", items_of, compare_authors),
)
