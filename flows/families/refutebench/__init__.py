"""RefuteBench 2.0: dialogues in which a model's answers are refuted, and how well it follows and remembers."""

from collections.abc import Mapping
from pathlib import Path

from flows.construct.engine import Evaluation, Family, Held, Paper, Part, Released, all_, each, expand, sample
from flows.families.refutebench.cases import cases
from flows.families.refutebench.dialogues import dialogues_of, hold_dialogue, open_dialogue, pool_seeds, state_protocol
from flows.families.refutebench.figures import dialogue_figures, rating_figures, seed_figures
from flows.families.refutebench.layout import layout
from flows.families.refutebench.prompts import (
    CHECK_REFUTATION,
    PROMPTS,
    RATE_REFUTATION,
    RATE_TASK,
    REFUTE,
    REFUTER,
    RESPOND,
)
from flows.families.refutebench.ratings import open_rating, rate, ratings_of, who_rate
from flows.families.refutebench.rubric import REFUTE_RATING, evaluators_ratings, tasks
from flows.families.refutebench.score import tables
from flows.families.refutebench.seeds import choose_seeds, make_seed, tasks_of, tasks_of_sources
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.families.refutebench.show import show
from flows.families.refutebench.verify import verify_dialogues, verify_protocol, verify_ratings, verify_seeds
from flows.llm.model import Model
from schemas.errors import WrongInput
from schemas.refutebench import TASKS, ProtocolSettings, Rating, RefutationDialogue, Seed
from schemas.source import Assignment


def ready(settings: RefuteBenchSettings, models: Mapping[str, Model]) -> None:
    """Raise `WrongInput` where there is no source, or the rules are to refute in a style."""
    if not any(settings.sources.values()):
        raise WrongInput(
            "families.refutebench.sources: is empty; name sources under translation, summarisation, writing"
        )
    by_rules = models[REFUTER].identity().get("provider") == "rules"
    if by_rules and settings.style and "agent" in settings.refuters:
        raise WrongInput(
            "families.refutebench.style: the rules refute in plain words alone; set style: [], or name a model for the "
            "role refuter"
        )


def _calls(settings: RefuteBenchSettings) -> Mapping[str, int]:
    """Of the longest dialogue."""
    answers = max([settings.rounds + 1, *(count + 3 if count else 2 for count in settings.unrelated)])
    return {RESPOND.name: answers, REFUTE.name: settings.rounds, CHECK_REFUTATION.name: settings.rounds}


def _ratings(settings: RefuteBenchSettings) -> Mapping[str, int]:
    """One of the two is asked."""
    return {RATE_REFUTATION.name: 1, RATE_TASK.name: 1}


def _most_dialogues(settings: RefuteBenchSettings) -> int:
    return len(settings.evaluated) * len(settings.refuters) * (1 + len(settings.unrelated))


def _most_ratings(settings: RefuteBenchSettings) -> int:
    return len(settings.evaluators) * (3 * settings.rounds)


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
            figures=seed_figures,
            released=Released("id"),
            steps=(
                expand(
                    make_seed,
                    slots=tasks_of,
                    most=lambda settings: len(TASKS),
                    prepare=tasks_of_sources,
                    settings=["sources"],
                ),
                all_(choose_seeds, settings=["seeds_per_task"], embeds=True),
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
            figures=dialogue_figures,
            released=Released("seed", proof=("seeds",)),
            steps=(
                expand(
                    open_dialogue,
                    version=3,
                    slots=dialogues_of,
                    most=_most_dialogues,
                    prepare=pool_seeds,
                    settings=["evaluated", "refuters", "style", "unrelated"],
                ),
                each(
                    hold_dialogue,
                    version=3,
                    prompts=[RESPOND, REFUTE, CHECK_REFUTATION],
                    asks={RESPOND.role: "evaluated"},
                    settings=["rounds", "style", "lexicon", "forgetting"],
                    prepare=pool_seeds,
                    embeds=True,
                    calls=_calls,
                ),
            ),
        ),
        Part(
            "ratings",
            source=RefutationDialogue,
            item=Rating,
            people=sample(REFUTE_RATING, tasks, programs=evaluators_ratings),
            verify=verify_ratings,
            figures=rating_figures,
            released=Released("dialogue", proof=("dialogues",)),
            steps=(
                expand(open_rating, slots=ratings_of, most=_most_ratings, prepare=who_rate, settings=["evaluators"]),
                each(
                    rate,
                    prompts=[RATE_REFUTATION, RATE_TASK],
                    asks={RATE_REFUTATION.role: "evaluators"},
                    calls=_ratings,
                ),
            ),
        ),
    ),
    show=show,
    layout=layout,
    evaluation=Evaluation(
        parts=("seeds",),
        held=Held(parts=("dialogues", "ratings"), models="evaluated", tables=tables, cases=cases),
    ),
    reads="dialogues",
    folder=Path(__file__).parent,
    rules_advice="the rules answer with a seed's own reference and refute in plain words",
)
