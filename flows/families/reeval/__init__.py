"""ReEval: evidence perturbed by answer swapping and context enriching."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.construct.engine import Family, Part, StepContext, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.paper import Paper
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families.reeval import charts, filters, method, passages, prompts, rubric, verify
from flows.families.reeval.evaluation import EVALUATION
from flows.families.reeval.inference import ANSWERS, STYLES
from flows.families.reeval.proposal import propose
from flows.families.reeval.settings import ReEvalSettings, problems
from flows.families.reeval.view import view
from flows.llm.model import Prompt, Text
from schemas.reeval import EnrichedCase, SwapCase
from schemas.source import Passage, QASource


def _asked(settings: ReEvalSettings) -> Sequence[Prompt[Text]]:
    """The inference prompt of the configured style; none if no pivot selects."""
    return [STYLES[settings.style]] if settings.seeds == "pivot" else []


def _pivots(step: StepContext[ReEvalSettings]) -> Sequence[str]:
    """The configured pivots."""
    return step.settings.pivots


RESOLVED = 0.8
"""Share of supporting sentences that are not the first of their passage, or may lean on others, for estimates."""
MERGES = len(passages.EXPANSIONS) * 1.25
"""How often a case is merged and read: of 56 merged texts of a strong model, a reader objected to 14. For estimates."""
SELECTS: dict[str, Any] = {
    "prompts": ANSWERS,
    "expected": Expected(calls=lambda settings: {prompt.name: 1 for prompt in ANSWERS}),
    "chosen": _asked,
    "settings": ["seeds", "right", "entailment", "style"],
    "asks": {"pivot": "pivots"},
    "prepare": method.judge,
}
FILTERED = (
    expand(
        filters.filter_source,
        version=3,
        slots=filters.for_each_pivot,
        expected=Expected(slots=lambda settings: len(settings.pivots)),
        prepare=_pivots,
        settings=["pivots"],
    ),
    all_(filters.drop_duplicates),
    each(method.select_seed, **SELECTS),
)
"""Both categories begin with these: the source data of section 4.1 and the seeds of section 3."""

FAMILY = Family(
    name="reeval",
    paper=Paper(
        title="ReEval: Automatic Hallucination Evaluation for Retrieval-Augmented Large Language Models via "
        "Transferable Adversarial Attacks",
        short="ReEval",
        year=2024,
        authors="Yu, Cheng, Liu, Roth, Gao",
    ),
    settings=ReEvalSettings,
    problems=problems,
    prompts=prompts.PROMPTS,
    parts=(
        Part(
            "passages",
            source=Passage,
            sources=("passages", "sources"),
            item=Passage,
            whole=True,
            steps=(all_(passages.drop_duplicate_passages, embeds=True),),
            verify=verify.verify_passages,
            charts=charts.passage_charts,
        ),
        Part(
            "category1",
            source=QASource,
            item=SwapCase,
            people=sample(rubric.SUPPORT, rubric.tasks, rubric.validation_tasks),
            verify=verify.verify_swaps,
            charts=charts.swap_charts,
            released=Released("question", ("question",)),
            steps=(
                *FILTERED,
                each(
                    method.swap_answer,
                    version=7,
                    prompts=[prompts.ALTERNATIVE_ANSWER, prompts.REPLACE_ANSWER],
                    asks={"pivot": "pivots"},
                    expected=Expected(
                        calls=lambda settings: {prompts.ALTERNATIVE_ANSWER.name: 1, prompts.REPLACE_ANSWER.name: 1}
                    ),
                    prepare=method.other_answers,
                    refreshed=True,
                ),
            ),
        ),
        Part(
            "category2",
            source=QASource,
            uses=("passages",),
            item=EnrichedCase,
            people=sample(rubric.SUPPORT, rubric.tasks, rubric.validation_tasks),
            verify=verify.verify_enriched,
            charts=charts.enriched_charts,
            released=Released("question", ("question",), verification_inputs=("passages",)),
            steps=(
                *FILTERED,
                each(method.select_unknown, **SELECTS),
                each(
                    method.enrich,
                    version=12,
                    prompts=[
                        prompts.SELECT_SENTENCE,
                        prompts.RESOLVE_SENTENCE,
                        prompts.CONDENSE,
                        prompts.MERGE,
                        prompts.READ_PASSAGE,
                    ],
                    asks={"pivot": "pivots"},
                    expected=Expected(
                        calls=lambda settings: {
                            prompts.SELECT_SENTENCE.name: 1,
                            prompts.RESOLVE_SENTENCE.name: RESOLVED,
                            prompts.CONDENSE.name: len(passages.EXPANSIONS),
                            prompts.MERGE.name: MERGES,
                            prompts.READ_PASSAGE.name: MERGES,
                        }
                    ),
                    prepare=method.retrieve,
                    embeds=True,
                ),
            ),
        ),
    ),
    view=view,
    evaluation=EVALUATION,
    reads="category1",
    folder=Path(__file__).parent,
    rules_advice="the rules take answers and sentences from the sources as they are: give more, or name a model",
    propose=propose,
    place=3,
)
