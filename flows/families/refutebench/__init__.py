"""RefuteBench 2.0: dialogues in which a model's answers are refuted, and how well it follows and remembers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.sources import SourceSpec
from flows.construct.engine import Family, Paper, Part, Slot, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.evaluation import DialogueEvaluation, Evaluation
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families.refutebench.cases import cases
from flows.families.refutebench.charts import dialogue_charts, rating_charts, seed_charts
from flows.families.refutebench.dialogues import (
    dialogues_of,
    hold_dialogue,
    open_dialogue,
    pool_seeds,
    protocols_of,
    state_protocol,
)
from flows.families.refutebench.prompts import (
    CHECK_REFUTATION,
    PROMPTS,
    RATE_REFUTATION,
    RATE_TASK,
    REFUTE,
    REFUTER,
    RESPOND,
)
from flows.families.refutebench.ratings import open_rating, rate, ratings_of, ratings_planned, who_rate
from flows.families.refutebench.rubric import REFUTE_RATING, evaluators_ratings, tasks
from flows.families.refutebench.score import tables
from flows.families.refutebench.seeds import choose_seeds, make_seed, tasks_of, tasks_of_sources
from flows.families.refutebench.selected_ratings import select_ratings
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.families.refutebench.show import show
from flows.families.refutebench.verify import verify_dialogues, verify_protocol, verify_ratings, verify_seeds
from flows.families.refutebench.view import view
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


def _nothing(settings: RefuteBenchSettings, kind: Mapping[str, Any]) -> Sequence[SourceSpec]:
    """A row names the sources of all seeds whose text it holds, those of unrelated queries too."""
    return ()


# ---- how many there are where nothing is dropped, for estimates ----


def _tasks_of_a_record(settings: RefuteBenchSettings) -> int:
    """Of the source that most tasks read; a released seed is of one task whoever reads it."""
    reading = Counter(
        one for specs in settings.sources.values() for one in {(spec.format, spec.name) for spec in specs}
    )
    return max((tasks for (format_, _), tasks in reading.items() if format_ != "touchstone"), default=1)


def _seeds_wanted(settings: RefuteBenchSettings) -> int:
    given = [task for task in TASKS if settings.sources.get(task)]
    released = any(spec.format == "touchstone" for task in given for spec in settings.sources[task])
    return settings.seeds_per_task * len(TASKS if released else given)


def _dialogues_of_a_seed(settings: RefuteBenchSettings) -> int:
    return len(settings.evaluated) * len(settings.refuters) * len(protocols_of(settings))


def _in_a_dialogue(settings: RefuteBenchSettings, transient: int, persistent: Callable[[int], int]) -> float:
    """Of a transient one, and by C of a persistent one: the mean over the dialogues of a seed."""
    return (transient + sum(map(persistent, settings.unrelated))) / (1 + len(settings.unrelated))


def _calls(settings: RefuteBenchSettings) -> Mapping[str, float]:
    """Of a dialogue; the template refutes without a model."""
    answers = _in_a_dialogue(settings, settings.rounds + 1, lambda count: 3 + count if count else 2)
    refuted = _in_a_dialogue(settings, settings.rounds, lambda count: 1)
    refuted *= ("agent" in settings.refuters) / len(settings.refuters)
    return {RESPOND.name: answers, REFUTE.name: refuted, CHECK_REFUTATION.name: refuted}


def _rated(settings: RefuteBenchSettings) -> Sequence[Slot]:
    """What is rated of the dialogues of a seed with one model and refuter."""
    return [rating for protocol in protocols_of(settings) for rating in ratings_planned(protocol, settings)]


def _ratings(settings: RefuteBenchSettings) -> Mapping[str, float]:
    """One of the two is asked."""
    rated = _rated(settings)
    following = sum(one["aspect"] == "refutation" for one in rated) / len(rated)
    return {RATE_REFUTATION.name: following, RATE_TASK.name: 1 - following}


def _ratings_of_a_dialogue(settings: RefuteBenchSettings) -> float:
    return len(_rated(settings)) / len(protocols_of(settings))


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
            released=Released("id", mixes=_nothing, said=("query", "reference")),
            steps=(
                expand(
                    make_seed,
                    slots=tasks_of,
                    expected=Expected(slots=_tasks_of_a_record),
                    prepare=tasks_of_sources,
                    settings=["sources"],
                ),
                all_(choose_seeds, settings=["seeds_per_task"], embeds=True, expected=Expected(kept=_seeds_wanted)),
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
            released=Released("seed", verification_inputs=("seeds",), mixes=_nothing, said=("turns",)),
            steps=(
                expand(
                    open_dialogue,
                    version=4,
                    slots=dialogues_of,
                    expected=Expected(slots=_dialogues_of_a_seed),
                    prepare=pool_seeds,
                    settings=["evaluated", "refuters", "style", "unrelated"],
                ),
                each(
                    hold_dialogue,
                    version=6,
                    prompts=[RESPOND, REFUTE, CHECK_REFUTATION],
                    asks={RESPOND.role: "evaluated"},
                    settings=["rounds", "style", "lexicon", "forgetting", "ignoring"],
                    prepare=pool_seeds,
                    embeds=True,
                    expected=Expected(calls=_calls),
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
                mixes=_nothing,
                said=("query", "earlier", "previous", "refutation", "response"),
            ),
            steps=(
                expand(
                    open_rating,
                    slots=ratings_of,
                    expected=Expected(slots=_ratings_of_a_dialogue),
                    prepare=who_rate,
                    settings=["evaluators"],
                ),
                each(
                    rate,
                    prompts=[RATE_REFUTATION, RATE_TASK],
                    asks={RATE_REFUTATION.role: "evaluators"},
                    expected=Expected(calls=_ratings),
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
