"""The documents family's block of the configuration."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.settings import FamilySettings
from schemas.documents import Kind

Count = Annotated[int, Field(strict=True, ge=1, le=10**6)]

SHARES: Mapping[Kind, float] = {
    "fact": 0.35, "number": 0.25, "yes-no": 0.1, "comparison": 0.1, "two-step": 0.1, "list": 0.1,
}  # fmt: skip
SHARES_WITHIN = 1e-6
LANGUAGES = ("en", "zh")


class DocumentsSettings(FamilySettings):
    """The documents family's block of the configuration."""

    sources: tuple[SourceSpec, ...] = Field((), description="Documents, or passages in any other format")
    pairs: Count = Field(100, description="Questions wanted")
    kinds: dict[Kind, Annotated[float, Field(ge=0, le=1)]] = Field(
        dict(SHARES), description="Share of each kind of question; what a passage does not suit goes to other kinds"
    )
    most_per_document: Count | None = Field(None, description="The most questions on one document")
    drafts: float = Field(
        5.0,
        ge=1,
        le=20,
        description="The most questions asked for, for each one wanted: the checks refuse some, and while too few are "
        "left, more are asked for",
    )
    prescreen: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        ("checker",),
        description="Roles or models that must not know the answer without the passage; public documents are known to "
        "most: `[]` keeps such questions",
    )
    rivals: Annotated[int, Field(strict=True, ge=0, le=20)] = Field(
        3, description="Other passages, the nearest to the question, that must not contradict its answer"
    )
    similar_above: float = Field(
        0.9, gt=0, lt=1, description="Questions with a higher cosine ask the same; one of them is kept"
    )

    review: Literal["sample", "every"] = Field(
        "sample",
        description="Questions and contradictions that people judge: a sample, or every one before it is released",
    )

    @field_validator("kinds")
    @classmethod
    def _add_up(cls, shares: dict[Kind, float]) -> dict[Kind, float]:
        if abs(sum(shares.values()) - 1) > SHARES_WITHIN:
            raise ValueError(f"the shares add up to {sum(shares.values()):g}; they must to 1")
        return shares
