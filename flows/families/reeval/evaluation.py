"""How a model is asked about ReEval's cases, and how its replies are scored."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from data.publish.benchmark import HubScorer, HubTask
from data.publish.harness import Metric, ReplyScoring
from flows.construct.entailment import DEFAULT_MODEL, Entailment, EntailmentModelUnusableError
from flows.construct.evaluation import Evaluation, Measure, Redrawn, Request, Scorer, columns
from flows.families.reeval.filters import LANGUAGES
from flows.families.reeval.inference import ANSWERS, STYLES, Variant, answering, demonstrations
from flows.families.reeval.score import COLUMNS, FORM, SWAP_COLUMNS
from flows.families.reeval.score import score as scores_of
from flows.families.reeval.scored_reply import Judge, category
from flows.families.reeval.settings import ReEvalSettings
from flows.scoring.scorer import Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.errors import WrongInput
from schemas.prediction import Prediction
from schemas.reeval import EnrichedCase, SwapCase

ANSWER_OF_SWAPPED = "answer if variant == 'swapped' else original_answer"


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


def reply_scoring(row: Row, prompting: str | None, variants: Sequence[str]) -> Sequence[ReplyScoring]:
    """The harness's task for cases of the row's category under a prompting; a case is a document."""
    expanded = category(row) == "category 2"
    alone = [variant for variant in variants if variant != "swapped"]
    shown = [
        {"language": language, **demonstration.model_dump()}
        for language in LANGUAGES
        for demonstration in demonstrations(language)
    ]
    names = ("em", "f1", "entail")
    return [
        ReplyScoring(
            about=f"each case under {', '.join(f'`{variant}`' for variant in variants)}, with the {prompting} prompt",
            variants=variants,
            columns={
                "question": "question",
                "evidence": '{"closed_book": none, "original": original_evidence, "swapped": evidence | default(none), '
                '"question_focused": evidence_question_focused | default(none), '
                '"evidence_focused": evidence_evidence_focused | default(none)}[variant]',
                "demonstrations": "demonstrations",
            },
            target=f"{{{{ {'answer' if expanded else ANSWER_OF_SWAPPED} }}}}",
            metrics=[
                Metric(name)
                for name in (*names, "norm_entail", *(f"{name}_{variant}" for variant in alone for name in names))
            ],
            values="`em` and `f1` are of perturbed evidence: swapped in category 1; in category 2 both expansions "
            "(`em`: both are right, `f1`: their mean). `em_VARIANT` and `f1_VARIANT` are of one variant. With a "
            "cross-encoder there is entailment, as in the paper: `entail`, `entail_VARIANT`, and `norm_entail` over "
            "the cases that are right with the original evidence.",
            suffix="" if prompting == "open-book" else str(prompting),
            demonstrations=shown,
            options={"entailment": DEFAULT_MODEL},
        )
    ]


SHOWN: Mapping[Variant, str] = {
    "original": "original_evidence",
    "swapped": "evidence",
    "question_focused": "evidence_question_focused",
    "evidence_focused": "evidence_evidence_focused",
}
"""By variant, the column with its evidence."""


def hub_tasks(case: SwapCase | EnrichedCase) -> Sequence[HubTask]:
    """A task for each variant of a case. Other wordings of the answer count as wrong there."""
    swaps = isinstance(case, SwapCase)
    measure = f"exact match, {'category 1' if swaps else 'category 2'}"
    return [
        HubTask(
            variant=variant,
            input="question",
            shows=(SHOWN[variant],) if variant in SHOWN else (),
            target="original_answer" if swaps and variant != "swapped" else "answer",
            scorers=(HubScorer("exact"), HubScorer("f1")),
            figure=(measure, variant) if variant in ("original", "swapped") else None,
        )
        for variant in evidence_of(case)
    ]


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
        score=scores_of,
        replies=reply_scoring,
    ),
    hub_tasks=hub_tasks,
    limits=(
        "The evidence of ReEval's category 1 was changed to state another answer: it is false on purpose.",
        "ReEval compares words: a right answer that is worded otherwise counts as wrong in exact match.",
    ),
    headline={
        "category 1": "with the swapped answer in the evidence: exact match and F1, as means",
        "category 1, original evidence": "with the evidence as it was",
        "category 2": "with the evidence expanded in two ways: both right (EM), and the mean of both (F1)",
        "category 2, original evidence": "with the evidence as it was",
    },
    measures=(
        Measure(
            "exact match, category 1",
            "evidence",
            "replies that are the answer in the evidence, word for word",
            "evidence",
        ),
        Measure(
            "exact match, category 2",
            "near facts",
            "replies that are the answer (expanded: to either of two texts)",
            "evidence",
        ),
    ),
    redrawn=Redrawn(
        "category1",
        "exact match, category 1",
        "swapped",
        ("question", "original_answer", "original_evidence"),
        "answer",
        "swaps",
    ),
    ready=judge_of,
)
