"""RefuteBench 2.0: dialogues in which a model's answers are refuted, and how well it follows and remembers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.sources import SourceSpec
from flows.construct.engine import Family, Part, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.evaluation import DialogueEvaluation, Evaluation, HeldElsewhere, Measure
from flows.construct.paper import Paper
from flows.construct.people import sample
from flows.construct.release import Released
from flows.families.refutebench import charts, method, plan, prompts, protocol, rubric, verify
from flows.families.refutebench.cases import cases
from flows.families.refutebench.proposal import propose
from flows.families.refutebench.protocol import FOLLOWING
from flows.families.refutebench.score import tables
from flows.families.refutebench.selected_ratings import select_ratings
from flows.families.refutebench.settings import RefuteBenchSettings, problems
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
    problems=problems,
    prompts=prompts.PROMPTS,
    parts=(
        Part(
            "seeds",
            source=Assignment,
            item=Seed,
            verify=verify.verify_seeds,
            charts=charts.seed_charts,
            released=Released("id", ("text",), mixes=_no_mixing, text_fields=("query", "reference")),
            steps=(
                expand(
                    method.make_seed,
                    slots=plan.tasks_of,
                    expected=Expected(slots=plan.tasks_per_record),
                    prepare=plan.tasks_of_sources,
                    settings=["sources"],
                ),
                all_(
                    method.choose_seeds,
                    settings=["seeds_per_task"],
                    embeds=True,
                    expected=Expected(kept=plan.seeds_wanted),
                ),
            ),
        ),
        Part(
            "protocol",
            source=Assignment,
            sources=(),
            item=ProtocolSettings,
            verify=verify.verify_protocol,
            released=Released("id", ()),
            planned=lambda settings: 1,
            steps=(
                all_(
                    method.state_protocol,
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
            verify=verify.verify_dialogues,
            charts=charts.dialogue_charts,
            released=Released(
                "seed",
                ("query",),
                rests_on=method.text_of,
                verification_inputs=("seeds",),
                mixes=_no_mixing,
                text_fields=("turns",),
            ),
            steps=(
                expand(
                    method.open_dialogue,
                    version=5,
                    slots=method.dialogue_slots,
                    expected=Expected(slots=plan.dialogues_per_seed),
                    prepare=method.index_seeds,
                    settings=["evaluated", "refuters", "style", "unrelated"],
                ),
                each(
                    method.hold_dialogue,
                    version=7,
                    prompts=[prompts.RESPOND, prompts.REFUTE, prompts.CHECK_REFUTATION],
                    asks={prompts.RESPOND.role: "evaluated"},
                    settings=["rounds", "style", "lexicon", "forgetting", "ignoring"],
                    prepare=method.index_seeds,
                    embeds=True,
                    expected=Expected(calls=plan.dialogue_calls),
                ),
            ),
        ),
        Part(
            "ratings",
            source=RefutationDialogue,
            item=Rating,
            people=sample(rubric.REFUTE_RATING, rubric.tasks, programs=rubric.evaluators_ratings),
            verify=verify.verify_ratings,
            charts=charts.rating_charts,
            released=Released(
                "dialogue",
                ("query",),
                rests_on=method.text_of,
                verification_inputs=("dialogues",),
                mixes=_no_mixing,
                text_fields=("query", "earlier", "previous", "refutation", "response"),
            ),
            steps=(
                expand(
                    method.open_rating,
                    slots=plan.ratings_of,
                    expected=Expected(slots=plan.ratings_per_dialogue),
                    prepare=plan.evaluators_of,
                    settings=["evaluators"],
                ),
                each(
                    method.rate,
                    prompts=[prompts.RATE_REFUTATION, prompts.RATE_TASK],
                    asks={prompts.RATE_REFUTATION.role: "evaluators"},
                    expected=Expected(calls=plan.rating_calls),
                ),
            ),
        ),
    ),
    view=view,
    evaluation=Evaluation(
        parts=("seeds",),
        limits=(
            "Models wrote the replies and the ratings of RefuteBench, and both have the models' errors. Where "
            "people rated, this card says how far they agree with the ratings.",
        ),
        headline={"overall": "mean rating from 1 to 5 over refutations and seeds, with its 95 % interval"},
        measures=(Measure(FOLLOWING, "instruction", "how the first refutation is followed", "turn", "rating"),),
        dialogues=DialogueEvaluation(
            parts=("dialogues", "ratings"),
            models="evaluated",
            tables=tables,
            select=select_ratings,
            cases=cases,
            elsewhere=HeldElsewhere(
                Path(protocol.__file__), plan.kinds_of, RefuteBenchSettings.of_protocol, prompts.PROMPTS
            ),
        ),
    ),
    reads="dialogues",
    folder=Path(__file__).parent,
    rules_advice="the rules translate and write by the reference that a source gives, and refute in plain words",
    propose=propose,
    place=6,
)
