"""URAQ: original and manipulated knowledge, user needs and context settings."""

from pathlib import Path

from flows.construct.engine import Family, Paper, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families.uraq.charts import conflict_charts, evaluation_charts, item_charts, statement_charts
from flows.families.uraq.contexts import draw_contexts
from flows.families.uraq.evaluation import EVALUATION
from flows.families.uraq.method import (
    arrange_contexts,
    ask_question,
    batches,
    context_slots,
    deduplicate,
    make_conflict,
    manipulate,
    prescreen,
    wish_types,
    write_statements,
)
from flows.families.uraq.prompts import (
    ANSWER_SINGLE_HOP,
    ASK_QUESTION,
    CONTRADICT,
    MANIPULATE,
    PROMPTS,
    WRITE_STATEMENTS,
)
from flows.families.uraq.rubric import CHECK, tasks
from flows.families.uraq.settings import UraqSettings
from flows.families.uraq.show import show
from flows.families.uraq.verify import verify_conflicts, verify_evaluation, verify_items, verify_statements
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
    prompts=PROMPTS,
    parts=(
        Part(
            "statements",
            source=Statement,
            sources=("statements_from",),
            item=StatementPair,
            steps=(
                all_(
                    write_statements,
                    prompts=[WRITE_STATEMENTS],
                    settings=["statements", "topics", "cosine_above", "dedupe"],
                    creates=True,
                    embeds=True,
                    expected=Expected(calls_in_all=batches),
                ),
                all_(deduplicate, settings=["cosine_above", "dedupe"], embeds=True),
                each(manipulate, version=2, prompts=[MANIPULATE]),
            ),
            verify=verify_statements,
            charts=statement_charts,
            planned=lambda settings: settings.statements,
        ),
        Part(
            "items",
            source=StatementPair,
            item=UraqItem,
            steps=(
                each(
                    ask_question,
                    version=4,
                    prompts=[ASK_QUESTION],
                    prepare=wish_types,
                    settings=["hops", "answer_shares"],
                ),
                each(
                    prescreen,
                    version=2,
                    prompts=[ANSWER_SINGLE_HOP],
                    settings=["prescreen"],
                    asks={"prescreen": "prescreen"},
                ),
            ),
            people=sample(CHECK, tasks),
            verify=verify_items,
            charts=item_charts,
            released=Released("id", verification_inputs=("statements",)),
        ),
        Part(
            "conflicts",
            source=QASource,
            sources=("qa_sources",),
            item=Conflict,
            steps=(each(make_conflict, prompts=[CONTRADICT]),),
            verify=verify_conflicts,
            charts=conflict_charts,
        ),
        Part(
            "evaluation",
            source=(UraqItem, Conflict),
            uses=("statements", "conflicts"),
            item=EvaluationRow,
            steps=(
                expand(
                    arrange_contexts,
                    version=2,
                    slots=context_slots,
                    expected=Expected(slots=lambda settings: len(SETTINGS) * len(settings.context_counts)),
                    prepare=draw_contexts,
                    settings=["context_counts", "related_above"],
                    embeds=True,
                ),
            ),
            verify=verify_evaluation,
            charts=evaluation_charts,
            released=Released("item_id", verification_inputs=("statements", "items", "conflicts")),
        ),
    ),
    show=show,
    view=view,
    evaluation=EVALUATION,
    reads="items",
    folder=Path(__file__).parent,
    rules_advice="the rules know the packaged facts alone: for other sources name a model",
)
