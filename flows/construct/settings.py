"""The settings that every family has, and type variables for declarations that are generic over a family's settings."""

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar


class FamilySettings(BaseModel):
    """The base of a family's block in the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: tuple[str, ...] | None = Field(
        None, min_length=1, description="Parts to build, with the parts that they are made from; all by default"
    )


S = TypeVar("S", bound=FamilySettings)
S_co = TypeVar("S_co", bound=FamilySettings, covariant=True, default=FamilySettings)
