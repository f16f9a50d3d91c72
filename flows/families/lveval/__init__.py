"""LV-Eval: mixed contexts of five length levels, with confusing facts and replaced keywords."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from flows.construct.engine import Family, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.files_step import files
from flows.construct.paper import Paper
from flows.construct.people import every, sample
from flows.construct.release import Released
from flows.families.lveval import charts, method, prompts, rubric, selection
from flows.families.lveval.assembly import assembler, assemblies_of_rules, context_files
from flows.families.lveval.candidates import dataset_texts, rule_material
from flows.families.lveval.confusing_facts import CHANGES
from flows.families.lveval.datasets import Dataset
from flows.families.lveval.evaluation import ANSWERS, EVALUATION, READY
from flows.families.lveval.proposal import propose
from flows.families.lveval.settings import LVEvalSettings, mixed_sources, problems
from flows.families.lveval.shortages import shortages
from flows.families.lveval.verify import contexts, origins, parts
from flows.families.lveval.view import view
from flows.language.keywords import undo
from schemas import lveval
from schemas.source import Passage, QASource

# ---- estimates: records where nothing is dropped ----


def _wanted(settings: LVEvalSettings, has: Callable[[Dataset], bool] = lambda dataset: True) -> int:
    """Return the number of pairs of the datasets for which `has` holds."""
    known = settings.known
    return sum(block.pairs or known[name].pairs for name, block in settings.datasets.items() if has(known[name]))


def _share_with(feature: Literal["confusing_facts", "replacements", "keywords"]) -> Callable[[LVEvalSettings], float]:
    """Return the share of the pairs whose dataset has the feature."""
    return lambda settings: _wanted(settings, lambda dataset: bool(getattr(dataset, feature))) / _wanted(settings)


def _question(asked: str, rules: Iterable[Mapping[str, str]], language: str) -> str:
    """Return a row's question as its source asks it: before replacement."""
    return undo(asked, [(rule["old"], rule["new"]) for rule in rules], language) if rules else asked


FAMILY = Family(
    name="lveval",
    paper=Paper(
        title="LV-Eval: A Balanced Long-Context Benchmark with 5 Length Levels Up to 256K",
        short="LV-Eval",
        year=2024,
        authors="Yuan, Ning, Zhou, Yang, Li, Zhuang, Tan, Yao, Lin, Li, Dai, Yan, Wang",
    ),
    settings=LVEvalSettings,
    problems=problems,
    shortages=shortages,
    prompts=(*prompts.BUILDER_PROMPTS, *ANSWERS),
    parts=(
        Part(
            "pairs",
            source=QASource,
            sources=("pair_sources",),
            item=lveval.Pair,
            people=sample(rubric.ANSWERABLE, rubric.answerable_tasks),
            verify=parts.verify_pairs,
            charts=charts.pair_charts,
            steps=(
                expand(
                    method.to_pair,
                    version=2,
                    slots=selection.datasets_of_question,
                    expected=Expected(slots=lambda settings: len(settings.datasets)),
                    prepare=selection.uses_of_questions,
                    settings=["datasets", "levels", "header"],
                ),
                each(
                    method.prescreen,
                    version=2,
                    prompts=[prompts.ANSWER_UNAIDED],
                    chosen=method.prescreen_prompts,
                    settings=["datasets", "prescreen"],
                    asks={"builder": "prescreen"},
                ),
                all_(
                    method.select_pairs, version=3, settings=["datasets"], creates=True, expected=Expected(kept=_wanted)
                ),
            ),
        ),
        Part(
            "documents",
            source=Passage,
            sources=("document_sources",),
            uses=("pairs",),
            whole=True,
            item=lveval.PoolDocument,
            verify=parts.verify_documents,
            charts=charts.document_charts,
            steps=(
                expand(
                    method.to_document,
                    slots=selection.datasets_of_document,
                    expected=Expected(slots=lambda settings: len(settings.datasets)),
                    prepare=selection.uses_of_documents,
                    settings=["datasets"],
                ),
                all_(method.pool_documents, settings=["datasets", "header"]),
            ),
        ),
        Part(
            "confusing-facts",
            source=lveval.Pair,
            uses=("documents",),
            item=lveval.ConfusingFact,
            people=every(rubric.CONFUSING_FACT, rubric.unfit_fact),
            verify=parts.verify_facts,
            charts=charts.fact_charts,
            steps=(
                expand(
                    method.confuse,
                    slots=method.pairs_with("confusing_facts"),
                    expected=Expected(slots=_share_with("confusing_facts")),
                    version=7,
                    prepare=dataset_texts,
                    settings=["datasets"],
                    prompts=[prompts.CONFUSING_FACTS],
                ),
                expand(
                    method.part,
                    slots=method.both_facts,
                    expected=Expected(slots=lambda settings: len(CHANGES)),
                    version=2,
                ),
            ),
        ),
        Part(
            "replacements",
            source=lveval.Pair,
            item=lveval.Replacements,
            people=every(rubric.REPLACEMENTS),
            verify=parts.verify_replacements,
            charts=charts.rule_charts,
            steps=(
                expand(
                    method.propose_rules,
                    slots=method.pairs_with("replacements"),
                    expected=Expected(slots=_share_with("replacements")),
                    version=6,
                    prepare=rule_material,
                    refreshed=True,
                    settings=["datasets"],
                    prompts=[prompts.REPLACEMENT_RULES],
                ),
            ),
        ),
        Part(
            "conflicts",
            source=lveval.Replacements,
            uses=("pairs", "documents", "confusing-facts"),
            item=lveval.RuleConflicts,
            people=every(rubric.CONFLICTS),
            verify=parts.verify_conflicts,
            steps=(
                each(
                    method.find_conflicts,
                    version=5,
                    prepare=assemblies_of_rules,
                    settings=["datasets", "levels", "header"],
                ),
            ),
        ),
        Part(
            "keywords",
            source=lveval.Pair,
            item=lveval.AnswerKeywords,
            people=every(rubric.KEYWORDS, rubric.unfit_keywords),
            verify=parts.verify_keywords,
            steps=(
                expand(
                    method.mark_keywords,
                    slots=method.pairs_with("keywords"),
                    expected=Expected(slots=_share_with("keywords")),
                    version=3,
                    prepare=method.settings_of,
                    settings=["datasets"],
                    prompts=[prompts.ANSWER_KEYWORDS],
                ),
            ),
        ),
        Part(
            "contexts",
            source=lveval.Pair,
            uses=("documents", "confusing-facts", "conflicts", "keywords"),
            item=lveval.LongContext,
            verify=contexts.verify_contexts,
            against=origins.verify_against_sources,
            charts=charts.context_charts,
            released=Released(
                "pair_id",
                ("input", "replacements", "language"),
                rests_on=_question,
                configs=("dataset",),
                verification_inputs=("pairs", "confusing-facts", "conflicts", "keywords"),
                asked=lambda row: bool(row.confusing_facts or row.replacements or row.answer_keywords),
                mixes=mixed_sources,
                ready=READY,
            ),
            steps=(
                files(
                    method.mix_contexts,
                    files=context_files,
                    long="context",
                    version=7,
                    prepare=assembler,
                    settings=["datasets", "levels", "header"],
                ),
            ),
        ),
    ),
    view=view,
    evaluation=EVALUATION,
    reads="contexts",
    folder=Path(__file__).parent,
    propose=propose,
    place=4,
)
