"""CHARPEval: knowledge-grounded dialogues whose response is to be told from five distractors that people write."""

from pathlib import Path

from flows.construct.engine import Family, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.paper import Paper
from flows.construct.release import Released
from flows.families.charpeval import charts, method, prompts, rubric, verify
from flows.families.charpeval.evaluation import EVALUATION
from flows.families.charpeval.proposal import propose
from flows.families.charpeval.settings import CharpEvalSettings, problems
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
    problems=problems,
    prompts=prompts.PROMPTS,
    parts=(
        Part(
            "utterances",
            source=Dialogue,
            item=UtterancePair,
            people=rubric.WRITE_UTTERANCES,
            verify=verify.verify_pairs,
            charts=charts.pair_charts,
            steps=(
                each(method.filter_dialogue, version=3),
                all_(method.join_subsets, version=2),
                all_(method.drop_duplicates, version=2),
                each(method.draft_utterances, version=2, prompts=[prompts.DRAFT_UTTERANCES]),
            ),
        ),
        Part(
            "distractors",
            source=UtterancePair,
            item=Authored,
            people=rubric.WRITE_DISTRACTORS,
            verify=verify.verify_authored,
            charts=charts.authored_charts,
            steps=(
                expand(
                    method.open_authoring,
                    version=2,
                    slots=method.when_ready,
                    expected=Expected(slots=lambda settings: 1),
                ),
                each(
                    method.draft_distractors,
                    version=2,
                    prompts=[prompts.DRAFT_DISTRACTORS],
                    prepare=method.collect_facts,
                ),
            ),
        ),
        Part(
            "items",
            source=Authored,
            item=CharpEvalItem,
            verify=verify.verify_items,
            charts=charts.item_charts,
            released=Released("dialogue_id", ("response",), configs=("subset",), verification_inputs=("distractors",)),
            steps=(
                expand(
                    method.make_item, slots=method.when_written, expected=Expected(slots=lambda settings: len(SUBSETS))
                ),
            ),
        ),
    ),
    view=view,
    evaluation=EVALUATION,
    reads="items",
    folder=Path(__file__).parent,
    rules_advice="people write what is here: collect their verdicts, and run again",
    propose=propose,
    place=5,
)
