"""ReEval's block of the configuration, and what must hold before anything is read."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.entailment import DEFAULT_MODEL, Entailment
from flows.construct.settings import FamilySettings, sources_of
from flows.families.reeval.filters import LANGUAGES
from flows.families.reeval.inference import Prompting, Style
from flows.llm.model import Model
from flows.llm.rules import Rules

MATRIX_SEEDS = 500  # section 4.4, "we randomly sample 500 examples"
SHOTS: tuple[Literal[0, 5], ...] = (0, 5)  # section 4.1, "5 static demonstration examples are used"

Name = Annotated[str, Field(min_length=1)]
RightBy = Literal["em", "entailment", "either"]


class ReEvalSettings(FamilySettings):
    """ReEval's block of the configuration."""

    sources: tuple[SourceSpec, ...] = Field((), description="Extractive question answering data")
    passages: tuple[SourceSpec, ...] = Field(
        (), description="Passages to enrich evidence with, beside those of the sources"
    )
    seeds: Literal["pivot", "all"] = Field(
        "pivot", description="`pivot`: cases that suit the pivot model; `all`: every case"
    )
    pivots: tuple[Name, ...] = Field(
        ("pivot",), min_length=1, description="Roles or models that select the seeds and perturb them"
    )
    right: RightBy = Field(
        "either", description="What makes the pivot's answer right: exact match, entailment, or either (section 4.1)"
    )
    entailment: str = Field(DEFAULT_MODEL, min_length=1, description="A cross-encoder by name or path, or `off`")
    style: Style = Field("chat", description="Model style of the inference prompts (tables 10 to 12)")
    prompting: tuple[Prompting, ...] = Field(
        ("open-book", "faithful"), min_length=1, description="How `touchstone evaluate` asks (tables 11 and 12)"
    )
    shots: tuple[Literal[0, 5], ...] = Field(SHOTS, min_length=1, description="Demonstrations before the question")
    matrix_seeds: int = Field(MATRIX_SEEDS, ge=1, description="Seeds in the matrix of pivots and models")

    @field_validator("pivots", "prompting", "shots")
    @classmethod
    def _each_once(cls, value: tuple[object, ...]) -> tuple[object, ...]:
        if len(set(value)) != len(value):
            raise ValueError("each stands once")
        return value

    @field_validator("entailment", mode="before")
    @classmethod
    def _yaml_reads_off_as_false(cls, value: object) -> object:
        return "off" if value is False else value


def problems(settings: ReEvalSettings, models: Mapping[str, Model]) -> list[str]:
    """Return a problem if the pivot cannot select the seeds, and for each source that is in no language of ours.

    If there is none, the entailment model that grades is loaded. Raises `WrongInput` if it cannot be.
    """
    shown = list(_shown_problems(settings, models))
    if not shown and settings.seeds != "all" and settings.right != "em":
        entailment_model(settings.entailment).load()
    return shown


def _shown_problems(settings: ReEvalSettings, models: Mapping[str, Model]) -> Iterator[str]:
    if not settings.sources:
        yield "sources: is empty; name question answering data to perturb"
    for place, spec in sources_of(settings, ("sources", "passages")):
        if spec.language not in LANGUAGES:
            yield (
                f"{place}: {spec.name}: language {spec.language}: ReEval reads {' and '.join(LANGUAGES)}; correct the "
                "source's language, or leave it out"
            )
    if settings.seeds == "all":
        return
    for pivot in settings.pivots:
        if isinstance(models[pivot], Rules):
            yield (
                "seeds: the rules model does not answer questions; write `seeds: all`, or name an endpoint for the "
                f"role {pivot} (models.{pivot})"
            )
    if settings.right != "em" and settings.entailment == "off":
        yield (
            f"right: {settings.right} needs an entailment model, which is off; write `right: em`, or name one under "
            "entailment"
        )


@cache
def entailment_model(name: str) -> Entailment:
    """The entailment model of that name, one for all shards."""
    return Entailment(name)
