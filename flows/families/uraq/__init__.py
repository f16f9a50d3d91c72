"""URAQ: original and manipulated knowledge, user needs and context settings."""

from pathlib import Path

from flows.construct.engine import Family, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.paper import Paper
from flows.construct.people import sample
from flows.construct.release import Apart, Released
from flows.families.uraq import charts, contexts, method, prompts, rubric, verify
from flows.families.uraq.evaluation import EVALUATION, READY
from flows.families.uraq.proposal import propose
from flows.families.uraq.score import is_natural
from flows.families.uraq.settings import UraqSettings, shortages
from flows.families.uraq.view import view
from schemas.source import QASource, Statement
from schemas.uraq import SETTINGS, Conflict, EvaluationRow, StatementPair, UraqItem

FAMILY = Family(
    name="uraq",
    paper=Paper(
        title="Do Retrieval-Augmented Language Models Adapt to Varying User Needs?",
        short="URAQ",
        year=2025,
        authors="anonymous submission",
    ),
    settings=UraqSettings,
    shortages=shortages,
    prompts=prompts.PROMPTS,
    parts=(
        Part(
            "statements",
            source=Statement,
            sources=("statements_from",),
            item=StatementPair,
            steps=(
                all_(
                    method.write_statements,
                    prompts=[prompts.WRITE_STATEMENTS],
                    settings=["statements", "topics", "cosine_above", "dedupe"],
                    creates=True,
                    embeds=True,
                    expected=Expected(calls_in_all=method.batches),
                ),
                all_(method.deduplicate, settings=["cosine_above", "dedupe"], embeds=True),
                each(method.manipulate, version=2, prompts=[prompts.MANIPULATE]),
            ),
            verify=verify.verify_statements,
            charts=charts.statement_charts,
            planned=lambda settings: settings.statements,
        ),
        Part(
            "items",
            source=StatementPair,
            item=UraqItem,
            steps=(
                each(
                    method.ask_question,
                    version=4,
                    prompts=[prompts.ASK_QUESTION],
                    prepare=method.wish_types,
                    settings=["hops", "answer_shares"],
                ),
                each(
                    method.prescreen,
                    version=2,
                    prompts=[prompts.ANSWER_SINGLE_HOP],
                    settings=["prescreen"],
                    asks={"prescreen": "prescreen"},
                ),
            ),
            people=sample(rubric.CHECK, rubric.tasks),
            verify=verify.verify_items,
            charts=charts.item_charts,
            released=Released("id", ("question",), verification_inputs=("statements",)),
        ),
        Part(
            "conflicts",
            source=QASource,
            sources=("qa_sources",),
            item=Conflict,
            steps=(each(method.make_conflict, version=2, prompts=[prompts.CONTRADICT]),),
            verify=verify.verify_conflicts,
            charts=charts.conflict_charts,
        ),
        Part(
            "evaluation",
            source=(UraqItem, Conflict),
            uses=("statements", "conflicts"),
            item=EvaluationRow,
            steps=(
                expand(
                    method.arrange_contexts,
                    version=4,
                    slots=method.context_slots,
                    expected=Expected(slots=lambda settings: len(SETTINGS) * len(settings.context_counts)),
                    prepare=contexts.draw_contexts,
                    settings=["context_counts", "related_above"],
                    embeds=True,
                ),
            ),
            verify=verify.verify_evaluation,
            charts=charts.evaluation_charts,
            released=Released(
                "item_id",
                ("question",),
                apart=Apart("natural-conflicts", "natural", "dataset", is_natural),
                verification_inputs=("statements", "items", "conflicts"),
                ready=READY,
            ),
        ),
    ),
    view=view,
    evaluation=EVALUATION,
    reads="items",
    folder=Path(__file__).parent,
    rules_advice="the rules know the packaged facts alone: for other sources name a model",
    propose=propose,
    place=2,
)
