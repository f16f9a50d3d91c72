"""CHARPEval's block of the configuration, and what a build needs before it can start."""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.settings import FamilySettings
from flows.llm.model import Model

Shots = Literal[0, 3]
"""Appendix A: "We set the number of in-context examples to 3"."""


class CharpEvalSettings(FamilySettings):
    """CHARPEval's block of the configuration."""

    sources: tuple[SourceSpec, ...] = Field((), description="Dialogues with knowledge")
    shots: tuple[Shots, ...] = Field(
        (0, 3), min_length=1, description="Demonstrations before the dialogue when a model is evaluated (appendix A)"
    )

    @field_validator("shots")
    @classmethod
    def _each_once(cls, value: tuple[Shots, ...]) -> tuple[Shots, ...]:
        if len(set(value)) != len(value):
            raise ValueError("each stands once")
        return value


def problems(settings: CharpEvalSettings, models: Mapping[str, Model]) -> Iterator[str]:
    """Yield a problem if there is no source, and for each in another language than English."""
    if not settings.sources:
        yield "sources: is empty; name dialogues with knowledge"
    for place, spec in enumerate(settings.sources):
        if spec.language != "en":
            yield (
                f"sources[{place}]: {spec.name}: language {spec.language}: CHARPEval reads English; correct the "
                "source's language, or leave it out"
            )
