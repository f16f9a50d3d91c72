"""How a model is asked the questions on documents, and how its replies are scored."""

from collections.abc import Iterable, Sequence

from data.publish.benchmark import HubScorer, HubTask
from data.publish.harness import Metric, ReplyScoring
from flows.construct.evaluation import Evaluation, Measure, Request, Scorer, columns
from flows.families.documents.prompts import ANSWER, ANSWER_FROM_BOTH, ToAnswer, ToAnswerFromBoth
from flows.families.documents.score import (
    BOTH,
    COLUMNS,
    CONFLICT_METRICS,
    CONFLICT_VARIANTS,
    CONFLICTS,
    EXACT,
    FORM,
    OPTIONAL,
    VARIANTS,
    is_conflict,
)
from flows.families.documents.score import score as scores_of
from flows.families.documents.settings import DocumentsSettings
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.documents import DocumentConflict, DocumentPair
from schemas.prediction import Prediction


def requests(row: DocumentPair | DocumentConflict, settings: DocumentsSettings) -> Sequence[Request]:
    """A question without its passage, and with it; a conflict with both passages, in either order."""
    if isinstance(row, DocumentConflict):
        return _requests_on_conflict(row)
    texts = {"closed_book": None, "evidence": row.evidence}
    return [
        Request(variant, ANSWER, ToAnswer(question=row.question, evidence=text, title=row.title, language=row.language))
        for variant, text in texts.items()
    ]


def _requests_on_conflict(row: DocumentConflict) -> Sequence[Request]:
    sides = [(row.first_evidence, row.first_title), (row.second_evidence, row.second_title)]
    return [
        Request(
            variant,
            ANSWER_FROM_BOTH,
            ToAnswerFromBoth(
                question=row.question,
                upper=upper,
                upper_title=upper_title,
                lower=lower,
                lower_title=lower_title,
                language=row.language,
            ),
        )
        for variant, ((upper, upper_title), (lower, lower_title)) in zip(
            CONFLICT_VARIANTS, (sides, sides[::-1]), strict=True
        )
    ]


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool = False, settings: object = None
) -> ScoreTables:
    """Return the tables. Raises `ScoreError` for predictions that do not fit the rows."""
    return score_tables(scores_of, rows, predictions, partial, _layout)


def _layout(table: str) -> Layout:
    is_of_conflicts = table in map(CONFLICTS.format, CONFLICT_VARIANTS)
    return Layout("model / kind", "what a reply tells of" if is_of_conflicts else "measure")


def reply_scoring(row: Row, prompting: str | None, variants: Sequence[str]) -> Sequence[ReplyScoring]:
    """The harness's task: a question is a document, asked under both variants; so is a conflict."""
    if is_conflict(row):
        return [_scoring_of_conflicts(variants)]
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


def _scoring_of_conflicts(variants: Sequence[str]) -> ReplyScoring:
    # By variant, the side that is shown first, and last. A prompt's variable has no name of a column.
    upper, lower = ("first", "second"), ("second", "first")
    columns = {
        f"{shown}{end}": f'{{"in_order": {sides[0]}_{field}, "reversed": {sides[1]}_{field}}}[variant]'
        for shown, sides in (("upper", upper), ("lower", lower))
        for end, field in (("", "evidence"), ("_title", "title"))
    }
    return ReplyScoring(
        about="each question that two documents answer otherwise, with both passages, in either order",
        variants=variants,
        columns={"question": "question", "language": "language", **columns},
        target="{{ first_answer }} / {{ second_answer }}",
        metrics=[
            # A reply that tells of one answer alone hides the other, whichever it is.
            Metric(f"{name}_{variant}", higher_is_better=name == CONFLICT_METRICS[0])
            for variant in variants
            for name in CONFLICT_METRICS
        ],
        values="`both_VARIANT` is the share of replies that tell of both answers, `first_VARIANT` and `last_VARIANT` "
        "of those that tell of the answer alone whose passage is shown first, or last.",
    )


def hub_tasks(row: DocumentPair | DocumentConflict) -> Sequence[HubTask]:
    """A task for each variant; none for conflicts: none of Inspect's own scorers looks for two answers."""
    if isinstance(row, DocumentConflict):
        return ()
    titled = () if row.title is None else ("title",)
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
    parts=("pairs", "conflicts"),
    prompts=(ANSWER, ANSWER_FROM_BOTH),
    requests=requests,
    scored=columns(*COLUMNS, *OPTIONAL),
    score=score,
    scorer=Scorer(
        FORM,
        "`prediction` is the whole reply, which should be the answer and no more. A conflict's variants are `in_order` "
        "and `reversed`; a reply tells of each answer whose own words it has.",
        scores_of,
        replies=reply_scoring,
    ),
    hub_tasks=hub_tasks,
    measures=(
        Measure(EXACT, "use", "replies that are the answer, word for word", "what the model was given"),
        Measure(
            BOTH,
            "use",
            "replies that tell of both answers where two documents contradict each other",
            "order of the passages",
            by_change=False,
        ),
    ),
    limits=(
        "Replies are compared by their words: a right answer that is worded otherwise counts as wrong.",
        "Where documents contradict each other (`documents-conflicts`), neither answer is the right one, and no score "
        "is taken over such questions and others together.",
        "A reply that tells both sides of such a question without the words of the answers ('only the handbook allows "
        "it', where they are yes and no) counts as telling of neither.",
    ),
    headline={
        "evidence": "with the passage before it: exact match and F1 of the words, as means",
        "closed_book": "without the passage",
        CONFLICTS.format("in_order"): "which answers a reply tells of where two documents contradict each other, as "
        "shares of the replies, with the passage before that the question was asked of",
        CONFLICTS.format("reversed"): "the same, with that passage last",
    },
)
