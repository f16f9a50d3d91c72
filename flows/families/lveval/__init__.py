"""LV-Eval: mixed contexts of five length levels, with confusing facts and replaced keywords."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from flows.construct.engine import Family, Paper, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.evaluation import Evaluation, Selection
from flows.construct.files_step import files
from flows.construct.people import every, sample
from flows.construct.release import Released
from flows.families.lveval.assembly import assembler, assemblies_of_rules, context_files
from flows.families.lveval.candidates import dataset_texts
from flows.families.lveval.charts import context_charts, document_charts, fact_charts, pair_charts, rule_charts
from flows.families.lveval.confusing_facts import CHANGES
from flows.families.lveval.datasets import BY_NAME, Dataset
from flows.families.lveval.inference import ANSWERS, requests
from flows.families.lveval.method import (
    both_facts,
    confuse,
    find_conflicts,
    mark_keywords,
    mix_contexts,
    pairs_with,
    part,
    pool_documents,
    prescreen,
    prescreen_prompts,
    propose_rules,
    select_pairs,
    to_document,
    to_pair,
)
from flows.families.lveval.prompts import (
    ANSWER_KEYWORDS,
    ANSWER_UNAIDED,
    BUILDER_PROMPTS,
    CONFUSING_FACTS,
    REPLACEMENT_RULES,
)
from flows.families.lveval.rubric import (
    ANSWERABLE,
    CONFLICTS,
    CONFUSING_FACT,
    KEYWORDS,
    REPLACEMENTS,
    answerable_tasks,
    unfit_fact,
    unfit_keywords,
)
from flows.families.lveval.score import ScoredContext, score
from flows.families.lveval.selection import (
    datasets_of_document,
    datasets_of_question,
    uses_of_documents,
    uses_of_questions,
)
from flows.families.lveval.settings import LVEvalSettings, mixed_sources, ready
from flows.families.lveval.show import show
from flows.families.lveval.verify import (
    verify_against_sources,
    verify_conflicts,
    verify_contexts,
    verify_documents,
    verify_facts,
    verify_keywords,
    verify_pairs,
    verify_replacements,
)
from flows.families.lveval.view import view
from schemas.lveval import (
    AnswerKeywords,
    ConfusingFact,
    LongContext,
    Pair,
    PoolDocument,
    Replacements,
    RuleConflicts,
)
from schemas.source import Passage, QASource

# ---- estimates: records where nothing is dropped ----


def _wanted(settings: LVEvalSettings, has: Callable[[Dataset], bool] = lambda dataset: True) -> int:
    """Return the number of pairs of the datasets for which `has` holds."""
    return sum(block.pairs or BY_NAME[name].pairs for name, block in settings.datasets.items() if has(BY_NAME[name]))


def _share_with(feature: Literal["confusing_facts", "replacements", "keywords"]) -> Callable[[LVEvalSettings], float]:
    """Return the share of the pairs whose dataset has the feature."""
    return lambda settings: _wanted(settings, lambda dataset: bool(getattr(dataset, feature))) / _wanted(settings)


FAMILY = Family(
    name="lveval",
    paper=Paper(
        title="LV-Eval: A Balanced Long-Context Benchmark with 5 Length Levels Up to 256K",
        short="LV-Eval",
        year=2024,
        authors="Yuan, Ning, Zhou, Yang, Li, Zhuang, Tan, Yao, Lin, Li, Dai, Yan, Wang",
    ),
    settings=LVEvalSettings,
    ready=ready,
    prompts=(*BUILDER_PROMPTS, *ANSWERS),
    parts=(
        Part(
            "pairs",
            source=QASource,
            sources=("pair_sources",),
            item=Pair,
            people=sample(ANSWERABLE, answerable_tasks),
            verify=verify_pairs,
            charts=pair_charts,
            steps=(
                expand(
                    to_pair,
                    slots=datasets_of_question,
                    expected=Expected(slots=lambda settings: len(settings.datasets)),
                    prepare=uses_of_questions,
                    settings=["datasets", "levels", "header"],
                ),
                each(
                    prescreen,
                    prompts=[ANSWER_UNAIDED],
                    chosen=prescreen_prompts,
                    settings=["prescreen"],
                    asks={"builder": "prescreen"},
                ),
                all_(select_pairs, version=2, settings=["datasets"], creates=True, expected=Expected(kept=_wanted)),
            ),
        ),
        Part(
            "documents",
            source=Passage,
            sources=("document_sources",),
            uses=("pairs",),
            whole=True,
            item=PoolDocument,
            verify=verify_documents,
            charts=document_charts,
            steps=(
                expand(
                    to_document,
                    slots=datasets_of_document,
                    expected=Expected(slots=lambda settings: len(settings.datasets)),
                    prepare=uses_of_documents,
                    settings=["datasets"],
                ),
                all_(pool_documents, settings=["header"]),
            ),
        ),
        Part(
            "confusing-facts",
            source=Pair,
            uses=("documents",),
            item=ConfusingFact,
            people=every(CONFUSING_FACT, unfit_fact),
            verify=verify_facts,
            charts=fact_charts,
            steps=(
                expand(
                    confuse,
                    slots=pairs_with("confusing_facts"),
                    expected=Expected(slots=_share_with("confusing_facts")),
                    version=6,
                    prepare=dataset_texts,
                    prompts=[CONFUSING_FACTS],
                ),
                expand(part, slots=both_facts, expected=Expected(slots=lambda settings: len(CHANGES)), version=2),
            ),
        ),
        Part(
            "replacements",
            source=Pair,
            item=Replacements,
            people=every(REPLACEMENTS),
            verify=verify_replacements,
            charts=rule_charts,
            steps=(
                expand(
                    propose_rules,
                    slots=pairs_with("replacements"),
                    expected=Expected(slots=_share_with("replacements")),
                    version=5,
                    prepare=dataset_texts,
                    prompts=[REPLACEMENT_RULES],
                ),
            ),
        ),
        Part(
            "conflicts",
            source=Replacements,
            uses=("pairs", "documents", "confusing-facts"),
            item=RuleConflicts,
            people=every(CONFLICTS),
            verify=verify_conflicts,
            steps=(each(find_conflicts, version=5, prepare=assemblies_of_rules, settings=["levels", "header"]),),
        ),
        Part(
            "keywords",
            source=Pair,
            item=AnswerKeywords,
            people=every(KEYWORDS, unfit_keywords),
            verify=verify_keywords,
            steps=(
                expand(
                    mark_keywords,
                    slots=pairs_with("keywords"),
                    expected=Expected(slots=_share_with("keywords")),
                    version=3,
                    prompts=[ANSWER_KEYWORDS],
                ),
            ),
        ),
        Part(
            "contexts",
            source=Pair,
            uses=("documents", "confusing-facts", "conflicts", "keywords"),
            item=LongContext,
            verify=verify_contexts,
            against=verify_against_sources,
            charts=context_charts,
            released=Released(
                "pair_id",
                configs=("dataset",),
                verification_inputs=("pairs", "confusing-facts", "conflicts", "keywords"),
                asked=lambda row: bool(row.confusing_facts or row.replacements or row.answer_keywords),
                mixes=mixed_sources,
            ),
            steps=(
                files(
                    mix_contexts,
                    files=context_files,
                    long="context",
                    version=6,
                    prepare=assembler,
                    settings=["levels", "header"],
                ),
            ),
        ),
    ),
    show=show,
    view=view,
    evaluation=Evaluation(
        parts=("contexts",),
        settings=("metrics", "blacklists", "ablations", "context_windows"),
        selection=Selection("levels", lambda row: row.level),
        prompts=ANSWERS,
        requests=requests,
        level="level",
        scored=ScoredContext.of,
        score=score,
    ),
    reads="contexts",
    folder=Path(__file__).parent,
)
