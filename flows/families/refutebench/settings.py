"""RefuteBench's block of the configuration, and what a build needs before it can start."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.settings import FamilySettings
from flows.families.refutebench.prompts import REFUTER
from flows.llm.model import Model
from schemas.refutebench import FOCUSES, RATINGS, Refuter, SeedTask

Name = Annotated[str, Field(min_length=1)]
SEEDS = 100
"""Seeds per task (table 2)."""
ROUNDS = 3
"""Refutations in a transient dialogue (section 5.1.1: 1/3 of the sum over i = 0, 1, 2)."""
UNRELATED = 3
"""Unrelated pairs of a persistent dialogue (table 7: C = 3)."""


class RefuteBenchSettings(FamilySettings):
    """Settings of RefuteBench 2.0."""

    sources: Mapping[SeedTask, tuple[SourceSpec, ...]] = Field(
        default_factory=dict, description="By task (translation, summarisation, writing), the sources of seeds"
    )
    seeds_per_task: int = Field(SEEDS, ge=1, le=1_000_000, strict=True, description="The most seeds of each task")
    evaluated: tuple[Name, ...] = Field(
        ("evaluated",), min_length=1, description="Models to hold dialogues with, by their names under `models`"
    )
    evaluators: tuple[Name, ...] = Field(
        ("evaluator",), min_length=1, description="Models that rate, by their names under `models`"
    )
    refuters: tuple[Refuter, ...] = Field(
        ("agent",), min_length=1, description="`agent`, a model; `template`, the baseline of version 1.0"
    )
    style: tuple[Literal["ambiguous", "abstract", "emotional"], ...] = Field(
        ("ambiguous", "abstract", "emotional"),
        description="Style rules of the agent's refutations; an empty list: plain words",
    )
    rounds: int = Field(ROUNDS, ge=1, le=20, strict=True, description="Refutations in a transient dialogue")
    unrelated: tuple[Annotated[int, Field(ge=0, le=1000)], ...] = Field(
        (UNRELATED,),
        description="C: a persistent dialogue for each number of unrelated pairs; an empty list: transient only",
    )
    lexicon: Mapping[Name, Annotated[tuple[Name, ...], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="English word -> Chinese translations, for the template refuter; the packaged table by default",
    )
    forgetting: Mapping[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict,
        description="Evaluated model -> chance that the rules drop an earlier requirement, for a test of the tables",
    )
    ignoring: Mapping[Name, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict,
        description="Evaluated model -> chance that the rules ignore the latest requirement, for a test of the tables",
    )

    @field_validator("lexicon", mode="after")
    @classmethod
    def _lower(cls, value: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        return {word.lower(): translations for word, translations in value.items()}

    @field_validator("evaluated", "evaluators", "refuters", "style", "unrelated")
    @classmethod
    def _each_once(cls, value: tuple[object, ...]) -> tuple[object, ...]:
        if len(set(value)) != len(value):
            raise ValueError("each stands once")
        return value

    def of_protocol(self) -> Mapping[str, object]:
        """Return what `protocol.py` takes."""
        return {"rounds": self.rounds, "style": self.style, "focuses": FOCUSES, "ratings": list(RATINGS)}


def problems(settings: RefuteBenchSettings, models: Mapping[str, Model]) -> Iterator[str]:
    """Yield a problem if there is no source, and if the rules should refute in a style."""
    if not any(settings.sources.values()):
        yield "sources: is empty; name sources under translation, summarisation, writing"
    by_rules = models[REFUTER].identity().get("provider") == "rules"
    if by_rules and settings.style and "agent" in settings.refuters:
        yield "style: the rules refute in plain words alone; set style: [], or name a model for the role refuter"
