"""How LV-Eval's contexts are put to a model and scored."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial as given
from typing import Any

from data.publish.harness import Metric, ReplyScoring
from flows.construct.evaluation import Evaluation, Scorer, Selection, columns
from flows.families.lveval.inference import ANSWERS, requests, without_rules
from flows.families.lveval.score import COLUMNS, FACTS, FORM, SHARED
from flows.families.lveval.score import score as scores_of
from flows.families.lveval.scored_reply import ORIGINAL, read_blacklist
from flows.families.lveval.settings import LVEvalSettings
from flows.scoring.scorer import CannotScore, Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.errors import WrongInput
from schemas.lveval import LongContext
from schemas.prediction import Prediction

LAYOUTS: Mapping[str, Layout] = {
    "score by dataset": Layout("model / dataset", "level"),
    "score by level": Layout("model", "level"),
    "score by type": Layout("model / type of dataset", "level"),
    "metric ablation": Layout("model / dataset / stage of the metric", "level"),
    "fact recall by depth": Layout("model / dataset / place of the fact", "level"),
    "CFI and KPR": Layout("model / dataset / ablation", "level"),
    "leakage": Layout("model / dataset / what was asked", "level"),
    SHARED: Layout("language / word", "replies that share it with their answer"),
    FACTS: Layout("dataset", "pairs by how many confusing facts they have"),
}


_released = columns(*COLUMNS)


def scored(row: LongContext) -> Row:
    """The part of a row that scoring needs: its answer and keywords also as they were before replacement."""
    answers, keywords = [without_rules(row, row.answers[0])], without_rules(row, row.answer_keywords)
    original: dict[str, Any] = {"answers": answers, "answer_keywords": keywords}
    return {**_released(row), ORIGINAL: original}


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool, settings: LVEvalSettings
) -> ScoreTables:
    """Return every table. Raises `ScoreError` for what does not fit, and `WrongInput` for a blacklist that is none."""
    try:
        blacklists = {str(language): read_blacklist(path) for language, path in settings.blacklists.items()}
    except CannotScore as error:
        raise WrongInput(str(error)) from error
    score_rows = given(
        scores_of, metrics=settings.metrics, blacklists=blacklists, windows=settings.context_windows
    )  # fmt: skip
    return score_tables(
        score_rows, rows, predictions, partial, LAYOUTS.__getitem__,
        lambda table: "count" if table in (SHARED, FACTS) else "per cent",
    )  # fmt: skip


def reply_scoring(row: Row, variants: Sequence[str]) -> ReplyScoring:
    """How the harness scores replies: each variant is a task of its own."""
    return ReplyScoring(
        columns={"context": "context", "question": "input"},
        target="{{ answers[0] }}",
        metrics=[Metric("score"), Metric("paper_score")],
    )


EVALUATION = Evaluation(
    parts=("contexts",),
    settings=("metrics", "blacklists", "ablations", "context_windows"),
    selection=Selection("levels", lambda row: row.level),
    prompts=ANSWERS,
    requests=requests,
    level="level",
    scored=scored,
    score=score,
    scorer=Scorer(
        FORM,
        "`prediction` is the whole reply. `context` asks with the context, `direct` with the question alone.",
        replies=reply_scoring,
    ),
)
