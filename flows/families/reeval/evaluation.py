"""How a model is asked about ReEval's cases, and how its replies are scored."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from data.publish.harness import Metric, ReplyScoring
from flows.construct.entailment import DEFAULT_MODEL, Entailment, EntailmentModelUnusableError
from flows.construct.evaluation import Evaluation, Request, Scorer, columns
from flows.families.reeval.inference import ANSWERS, STYLES, Variant, answering
from flows.families.reeval.score import COLUMNS, FORM, SWAP_COLUMNS, Judge, category
from flows.families.reeval.score import score as scores_of
from flows.families.reeval.settings import ReEvalSettings
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.errors import WrongInput
from schemas.prediction import Prediction
from schemas.reeval import EnrichedCase, SwapCase


def requests(case: SwapCase | EnrichedCase, settings: ReEvalSettings) -> Sequence[Request]:
    """A case's variants under every prompting, with every number of shots.

    Without evidence there is nothing to be faithful to: closed-book is asked beside open-book alone.
    """
    prompt = STYLES[settings.style]
    return [
        Request(variant, prompt, answering(case.question, evidence, case.language, prompting, shots), prompting, shots)
        for prompting, shots in product(settings.prompting, settings.shots)
        for variant, evidence in evidence_of(case).items()
        if evidence is not None or prompting != "faithful"
    ]


def evidence_of(case: SwapCase | EnrichedCase) -> Mapping[Variant, str | None]:
    """The evidence that each variant of a case is asked with."""
    if isinstance(case, SwapCase):
        return {"closed_book": None, "original": case.original_evidence, "swapped": case.evidence}
    return {
        "closed_book": None,
        "original": case.original_evidence,
        "question_focused": case.evidence_question_focused,
        "evidence_focused": case.evidence_evidence_focused,
    }


def judge_of(settings: ReEvalSettings) -> Judge | None:
    """The entailment model, loaded; None if it is off. Raises `WrongInput` if it is not available."""
    if settings.entailment == "off":
        return None
    model = Entailment(settings.entailment)
    try:
        model.load()
    except EntailmentModelUnusableError as error:
        raise WrongInput(f"families.reeval.entailment: {error} (`entailment: off`)") from error
    return model.entails


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool, settings: ReEvalSettings
) -> ScoreTables:
    """Return every table, by the configured entailment model, which is loaded before anything is read.

    Raises `ScoreError` for what does not fit.
    """
    return score_by(judge_of(settings), rows, predictions, partial, settings)


def score_by(
    judge: Judge | None,
    rows: Iterable[Row],
    predictions: Iterable[Prediction],
    partial: bool,
    settings: ReEvalSettings,
) -> ScoreTables:
    """Return every table, by the given judge; without one, entailment is left out."""
    score_cases = functools.partial(
        scores_of,
        judge=judge,
        matrix_seeds=settings.matrix_seeds,
        english_only=DEFAULT_MODEL if settings.entailment == DEFAULT_MODEL else None,
    )
    return score_tables(score_cases, rows, predictions, partial, _layout)


def _layout(table: str) -> Layout:
    if table.endswith("by third of the evidence"):
        return Layout("model / source / measure", "third of the evidence that the answer starts in")
    if table.endswith("by pivot"):
        return Layout("model", "measures on the cases of each pivot")
    return Layout("model / source", "measure: exact match, F1 of the words, entailment")


def reply_scoring(row: Row, variants: Sequence[str]) -> ReplyScoring:
    """How the harness scores replies to cases of the row's category."""
    metrics = [Metric(f"{name}_{variant}") for variant in variants for name in ("em", "f1")]
    right = "answer if variant == 'swapped' else original_answer"
    if category(row) == "category 2":
        metrics += [Metric("em_both", "both_right"), Metric("f1_both", "mean_of_both")]
        right = "answer"
    return ReplyScoring(
        columns={
            "question": "question",
            "evidence": '{"closed_book": none, "original": original_evidence, "swapped": evidence | default(none), '
            '"question_focused": evidence_question_focused | default(none), '
            '"evidence_focused": evidence_evidence_focused | default(none)}[variant]',
        },
        target=f"{{{{ {right} }}}}",
        metrics=metrics,
        # Nothing is faithful to no evidence: that prompt has no closed book.
        documents="each_variant" if "closed_book" in variants else "each_with_evidence",
    )


EVALUATION = Evaluation(
    parts=("category1", "category2"),
    settings=("style", "prompting", "shots", "entailment", "matrix_seeds"),
    prompts=ANSWERS,
    requests=requests,
    scored=columns(*COLUMNS, *SWAP_COLUMNS),
    score=score,
    scorer=Scorer(
        FORM,
        "`prediction` is the whole reply, which should be the answer and no more. With `prompting` `faithful` there is "
        "no `closed_book`.",
        replies=reply_scoring,
    ),
    ready=judge_of,
)
