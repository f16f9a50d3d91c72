"""CHARPEval: knowledge-grounded dialogues whose response is to be told from five distractors that people write."""

from pathlib import Path

from flows.construct.engine import Family, Paper, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.release import Released
from flows.families.charpeval.charts import authored_charts, item_charts, pair_charts
from flows.families.charpeval.evaluation import EVALUATION
from flows.families.charpeval.method import (
    collect_facts,
    draft_distractors,
    draft_utterances,
    drop_duplicates,
    filter_dialogue,
    join_subsets,
    make_item,
    open_authoring,
    when_ready,
    when_written,
)
from flows.families.charpeval.prompts import DRAFT_DISTRACTORS, DRAFT_UTTERANCES, PROMPTS
from flows.families.charpeval.rubric import WRITE_DISTRACTORS, WRITE_UTTERANCES
from flows.families.charpeval.settings import CharpEvalSettings, ready
from flows.families.charpeval.show import show
from flows.families.charpeval.verify import verify_authored, verify_items, verify_pairs
from flows.families.charpeval.view import view
from schemas.charpeval import SUBSETS, Authored, CharpEvalItem, UtterancePair
from schemas.source import Dialogue

FAMILY = Family(
    name="charpeval",
    paper=Paper(
        title="CHARPEval: Benchmarking Large Language Models' Contextual Reasoning in Knowledge-Grounded Dialogue",
        short="CHARPEval",
        year=2025,
        authors="Ghaddar et al.",
    ),
    settings=CharpEvalSettings,
    ready=ready,
    prompts=PROMPTS,
    parts=(
        Part(
            "utterances",
            source=Dialogue,
            item=UtterancePair,
            people=WRITE_UTTERANCES,
            verify=verify_pairs,
            charts=pair_charts,
            steps=(
                each(filter_dialogue, version=3),
                all_(join_subsets, version=2),
                all_(drop_duplicates, version=2),
                each(draft_utterances, version=2, prompts=[DRAFT_UTTERANCES]),
            ),
        ),
        Part(
            "distractors",
            source=UtterancePair,
            item=Authored,
            people=WRITE_DISTRACTORS,
            verify=verify_authored,
            charts=authored_charts,
            steps=(
                expand(open_authoring, version=2, slots=when_ready, expected=Expected(slots=lambda settings: 1)),
                each(draft_distractors, version=2, prompts=[DRAFT_DISTRACTORS], prepare=collect_facts),
            ),
        ),
        Part(
            "items",
            source=Authored,
            item=CharpEvalItem,
            verify=verify_items,
            charts=item_charts,
            released=Released("dialogue_id", configs=("subset",), verification_inputs=("distractors",)),
            steps=(expand(make_item, slots=when_written, expected=Expected(slots=lambda settings: len(SUBSETS))),),
        ),
    ),
    show=show,
    view=view,
    evaluation=EVALUATION,
    reads="items",
    folder=Path(__file__).parent,
    rules_advice="people write what is here: collect their verdicts, and run again",
)
