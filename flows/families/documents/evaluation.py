"""How a model is asked the questions on documents, and how its replies are scored."""

from collections.abc import Iterable, Sequence

from data.publish.benchmark import HubScorer, HubTask
from data.publish.harness import Metric, ReplyScoring
from flows.construct.evaluation import Evaluation, Measure, Request, Scorer, columns
from flows.families.documents.prompts import ANSWER, ToAnswer
from flows.families.documents.score import COLUMNS, EXACT, FORM, OPTIONAL, VARIANTS
from flows.families.documents.score import score as scores_of
from flows.families.documents.settings import DocumentsSettings
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.documents import DocumentPair
from schemas.prediction import Prediction


def requests(pair: DocumentPair, settings: DocumentsSettings) -> Sequence[Request]:
    """A question without its passage, and with it."""
    texts = {"closed_book": None, "evidence": pair.evidence}
    return [
        Request(
            variant, ANSWER, ToAnswer(question=pair.question, evidence=text, title=pair.title, language=pair.language)
        )
        for variant, text in texts.items()
    ]


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool = False, settings: object = None
) -> ScoreTables:
    """Return the tables. Raises `ScoreError` for predictions that do not fit the rows."""
    return score_tables(scores_of, rows, predictions, partial, lambda table: Layout("model / kind", "measure"))


def reply_scoring(row: Row, prompting: str | None, variants: Sequence[str]) -> Sequence[ReplyScoring]:
    """The harness's task: a question is a document, asked under both variants."""
    return [
        ReplyScoring(
            about="each question without its passage and with it",
            variants=variants,
            columns={
                "question": "question",
                "evidence": '{"closed_book": none, "evidence": evidence}[variant]',
                "title": "title",
                "language": "language",
            },
            target="{{ answer }}",
            metrics=[Metric(f"{name}_{variant}") for variant in VARIANTS for name in ("em", "f1")],
            values="`em_VARIANT` and `f1_VARIANT` compare the words of a reply with the answer: exact match and F1.",
        )
    ]


def hub_tasks(pair: DocumentPair) -> Sequence[HubTask]:
    """A task for each variant."""
    titled = () if pair.title is None else ("title",)
    shown = {"closed_book": (), "evidence": (*titled, "evidence")}
    return [
        HubTask(
            variant=variant,
            input="question",
            shows=shown[variant],
            target="answer",
            scorers=(HubScorer("exact"), HubScorer("f1")),
            figure=(EXACT, variant),
        )
        for variant in VARIANTS
    ]


EVALUATION = Evaluation(
    parts=("pairs",),
    prompts=(ANSWER,),
    requests=requests,
    scored=columns(*COLUMNS, *OPTIONAL),
    score=score,
    scorer=Scorer(FORM, "`prediction` is the whole reply, which should be the answer and no more.", scores_of,
                  replies=reply_scoring),
    hub_tasks=hub_tasks,
    measures=(Measure(EXACT, "use", "replies that are the answer, word for word", "what the model was given"),),
    limits=("Replies are compared by their words: a right answer that is worded otherwise counts as wrong.",),
    headline={
        "evidence": "with the passage before it: exact match and F1 of the words, as means",
        "closed_book": "without the passage",
    },
)  # fmt: skip
