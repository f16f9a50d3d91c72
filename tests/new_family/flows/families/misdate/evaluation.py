"""How a model is asked about Misdate's items, and how its replies are scored."""

from collections.abc import Iterable, Sequence

from data.publish.harness import Metric, ReplyScoring
from flows.construct.evaluation import Evaluation, Request, Scorer, columns
from flows.families.misdate.prompts import ANSWER_YEAR, ToAnswer
from flows.families.misdate.score import COLUMNS, FORM, VARIANT
from flows.families.misdate.score import score as scores_of
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.prediction import Prediction


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool = False, settings: object = None
) -> ScoreTables:
    """Return the table. Raises `ScoreError` for predictions that do not fit the rows."""
    return score_tables(scores_of, rows, predictions, partial, lambda table: Layout("model", "accuracy"))


def reply_scoring(row: Row, prompting: str | None, variants: Sequence[str]) -> Sequence[ReplyScoring]:
    """The harness's task."""
    return [
        ReplyScoring(
            about="each question with its context",
            variants=variants,
            columns={"context": "context", "question": "question"},
            target="{{ answer }}",
            metrics=[Metric("accuracy")],
            values="`accuracy` is the share of replies that hold the context's year.",
        )
    ]


EVALUATION = Evaluation(
    parts=("items",),
    prompts=(ANSWER_YEAR,),
    requests=lambda row, settings: [
        Request(VARIANT, ANSWER_YEAR, ToAnswer(context=row.context, question=row.question))
    ],
    scored=columns(*COLUMNS),
    score=score,
    headline={"accuracy": "share of replies that hold the context's year"},
    scorer=Scorer(FORM, "`prediction` is the whole reply.", scores_of, replies=reply_scoring),
)
