"""ReEval: evidence perturbed by answer swapping and context enriching."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.construct.engine import Family, Paper, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families.reeval.charts import enriched_charts, passage_charts, swap_charts
from flows.families.reeval.counted_answers import count_answers
from flows.families.reeval.evaluation import EVALUATION
from flows.families.reeval.grading import grader
from flows.families.reeval.inference import ANSWERS, STYLES
from flows.families.reeval.method import (
    drop_duplicates,
    enrich,
    filter_source,
    for_each_pivot,
    pivots_of,
    retrieve,
    select_seed,
    select_unknown,
    swap_answer,
)
from flows.families.reeval.passages import EXPANSIONS, drop_duplicate_passages
from flows.families.reeval.prompts import (
    ALTERNATIVE_ANSWER,
    CONDENSE,
    MERGE,
    PROMPTS,
    READ_PASSAGE,
    REPLACE_ANSWER,
    RESOLVE_SENTENCE,
    SELECT_SENTENCE,
)
from flows.families.reeval.rubric import SUPPORT, tasks, validation_tasks
from flows.families.reeval.settings import ReEvalSettings, ready
from flows.families.reeval.show import show
from flows.families.reeval.verify import verify_enriched, verify_passages, verify_swaps
from flows.families.reeval.view import view
from flows.llm.model import Prompt, Text
from schemas.reeval import EnrichedCase, SwapCase
from schemas.source import Passage, QASource


def _asked(settings: ReEvalSettings) -> Sequence[Prompt[Text]]:
    """The inference prompt of the configured style; none where no pivot selects."""
    return [STYLES[settings.style]] if settings.seeds == "pivot" else []


RESOLVED = 0.8
"""Share of supporting sentences that are not the first of their passage, or may lean on others, for estimates."""
MERGES = len(EXPANSIONS) * 1.25
"""How often a case is merged and read: of 56 merged texts of a strong model, a reader objected to 14. For estimates."""
SELECTS: dict[str, Any] = {
    "prompts": ANSWERS,
    "expected": Expected(calls=lambda settings: {prompt.name: 1 for prompt in ANSWERS}),
    "chosen": _asked,
    "settings": ["seeds", "right", "entailment", "style"],
    "asks": {"pivot": "pivots"},
    "prepare": grader,
}
FILTERED = (
    expand(
        filter_source,
        version=3,
        slots=for_each_pivot,
        expected=Expected(slots=lambda settings: len(settings.pivots)),
        prepare=pivots_of,
        settings=["pivots"],
    ),
    all_(drop_duplicates),
    each(select_seed, **SELECTS),
)
"""What both categories begin with: the source data of section 4.1 and the seeds of section 3."""

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
    ready=ready,
    prompts=PROMPTS,
    parts=(
        Part(
            "passages",
            source=Passage,
            sources=("passages", "sources"),
            item=Passage,
            whole=True,
            steps=(all_(drop_duplicate_passages, embeds=True),),
            verify=verify_passages,
            charts=passage_charts,
        ),
        Part(
            "category1",
            source=QASource,
            item=SwapCase,
            people=sample(SUPPORT, tasks, validation_tasks),
            verify=verify_swaps,
            charts=swap_charts,
            released=Released("question"),
            steps=(
                *FILTERED,
                each(
                    swap_answer,
                    version=7,
                    prompts=[ALTERNATIVE_ANSWER, REPLACE_ANSWER],
                    asks={"pivot": "pivots"},
                    expected=Expected(calls=lambda settings: {ALTERNATIVE_ANSWER.name: 1, REPLACE_ANSWER.name: 1}),
                    prepare=count_answers,
                ),
            ),
        ),
        Part(
            "category2",
            source=QASource,
            uses=("passages",),
            item=EnrichedCase,
            people=sample(SUPPORT, tasks, validation_tasks),
            verify=verify_enriched,
            charts=enriched_charts,
            released=Released("question", verification_inputs=("passages",)),
            steps=(
                *FILTERED,
                each(select_unknown, **SELECTS),
                each(
                    enrich,
                    version=12,
                    prompts=[SELECT_SENTENCE, RESOLVE_SENTENCE, CONDENSE, MERGE, READ_PASSAGE],
                    asks={"pivot": "pivots"},
                    expected=Expected(
                        calls=lambda settings: {
                            SELECT_SENTENCE.name: 1,
                            RESOLVE_SENTENCE.name: RESOLVED,
                            CONDENSE.name: len(EXPANSIONS),
                            MERGE.name: MERGES,
                            READ_PASSAGE.name: MERGES,
                        }
                    ),
                    prepare=retrieve,
                    embeds=True,
                ),
            ),
        ),
    ),
    show=show,
    view=view,
    evaluation=EVALUATION,
    reads="category1",
    folder=Path(__file__).parent,
    rules_advice="the rules take answers and sentences from the sources as they are: give more, or name a model",
)
