"""RefuteBench 2.0: dialogues in which a model's answers are refuted, and how well it follows and remembers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.sources import SourceSpec
from flows.construct.engine import Family, Paper, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.evaluation import DialogueEvaluation, Evaluation
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families.refutebench.cases import cases
from flows.families.refutebench.charts import dialogue_charts, rating_charts, seed_charts
from flows.families.refutebench.method import (
    choose_seeds,
    dialogue_slots,
    hold_dialogue,
    index_seeds,
    make_seed,
    open_dialogue,
    open_rating,
    rate,
    state_protocol,
)
from flows.families.refutebench.plan import (
    dialogue_calls,
    dialogues_per_seed,
    evaluators_of,
    rating_calls,
    ratings_of,
    ratings_per_dialogue,
    seeds_wanted,
    tasks_of,
    tasks_of_sources,
    tasks_per_record,
)
from flows.families.refutebench.prompts import (
    CHECK_REFUTATION,
    PROMPTS,
    RATE_REFUTATION,
    RATE_TASK,
    REFUTE,
    RESPOND,
)
from flows.families.refutebench.rubric import REFUTE_RATING, evaluators_ratings, tasks
from flows.families.refutebench.score import tables
from flows.families.refutebench.selected_ratings import select_ratings
from flows.families.refutebench.settings import RefuteBenchSettings, ready
from flows.families.refutebench.show import show
from flows.families.refutebench.verify import verify_dialogues, verify_protocol, verify_ratings, verify_seeds
from flows.families.refutebench.view import view
from schemas.refutebench import ProtocolSettings, Rating, RefutationDialogue, Seed
from schemas.source import Assignment


def _no_mixing(settings: RefuteBenchSettings, kind: Mapping[str, Any]) -> Sequence[SourceSpec]:
    """No source is mixed in: a row names the sources of all seeds whose text it contains."""
    return ()


FAMILY = Family(
    name="refutebench",
    paper=Paper(
        title="RefuteBench 2.0 – Agentic Benchmark for Dynamic Evaluation of LLM Responses to Refutation Instruction",
        short="RefuteBench 2.0",
        year=2025,
        authors="Yan, Luo, Zhang",
    ),
    settings=RefuteBenchSettings,
    ready=ready,
    prompts=PROMPTS,
    parts=(
        Part(
            "seeds",
            source=Assignment,
            item=Seed,
            verify=verify_seeds,
            charts=seed_charts,
            released=Released("id", mixes=_no_mixing, said=("query", "reference")),
            steps=(
                expand(
                    make_seed,
                    slots=tasks_of,
                    expected=Expected(slots=tasks_per_record),
                    prepare=tasks_of_sources,
                    settings=["sources"],
                ),
                all_(choose_seeds, settings=["seeds_per_task"], embeds=True, expected=Expected(kept=seeds_wanted)),
            ),
        ),
        Part(
            "protocol",
            source=Assignment,
            sources=(),
            item=ProtocolSettings,
            verify=verify_protocol,
            released=Released("id"),
            planned=lambda settings: 1,
            steps=(
                all_(
                    state_protocol,
                    settings=["rounds", "unrelated", "refuters", "style", "evaluated", "evaluators"],
                    creates=True,
                ),
            ),
        ),
        Part(
            "dialogues",
            source=Seed,
            uses=("seeds",),
            item=RefutationDialogue,
            verify=verify_dialogues,
            charts=dialogue_charts,
            released=Released("seed", verification_inputs=("seeds",), mixes=_no_mixing, said=("turns",)),
            steps=(
                expand(
                    open_dialogue,
                    version=4,
                    slots=dialogue_slots,
                    expected=Expected(slots=dialogues_per_seed),
                    prepare=index_seeds,
                    settings=["evaluated", "refuters", "style", "unrelated"],
                ),
                each(
                    hold_dialogue,
                    version=6,
                    prompts=[RESPOND, REFUTE, CHECK_REFUTATION],
                    asks={RESPOND.role: "evaluated"},
                    settings=["rounds", "style", "lexicon", "forgetting", "ignoring"],
                    prepare=index_seeds,
                    embeds=True,
                    expected=Expected(calls=dialogue_calls),
                ),
            ),
        ),
        Part(
            "ratings",
            source=RefutationDialogue,
            item=Rating,
            people=sample(REFUTE_RATING, tasks, programs=evaluators_ratings),
            verify=verify_ratings,
            charts=rating_charts,
            released=Released(
                "dialogue",
                verification_inputs=("dialogues",),
                mixes=_no_mixing,
                said=("query", "earlier", "previous", "refutation", "response"),
            ),
            steps=(
                expand(
                    open_rating,
                    slots=ratings_of,
                    expected=Expected(slots=ratings_per_dialogue),
                    prepare=evaluators_of,
                    settings=["evaluators"],
                ),
                each(
                    rate,
                    prompts=[RATE_REFUTATION, RATE_TASK],
                    asks={RATE_REFUTATION.role: "evaluators"},
                    expected=Expected(calls=rating_calls),
                ),
            ),
        ),
    ),
    show=show,
    view=view,
    evaluation=Evaluation(
        parts=("seeds",),
        dialogues=DialogueEvaluation(
            parts=("dialogues", "ratings"), models="evaluated", tables=tables, select=select_ratings, cases=cases
        ),
    ),
    reads="dialogues",
    folder=Path(__file__).parent,
    rules_advice="the rules translate and write by the reference that a source gives, and refute in plain words",
)
