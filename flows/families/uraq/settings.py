"""URAQ's block of the configuration."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from data.sources import SourceSpec
from flows.construct.settings import FamilySettings
from schemas.uraq import MAX_HOPS, AnswerType

Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]

COSINE_ABOVE = 0.5  # appendix A.2: "cosine similarity above 0.5"
HOPS = (4,)  # appendix A.5: "those requiring 4-hop reasoning were chosen"
ANSWER_SHARES: Mapping[AnswerType, float] = {"number": 0.4, "entity": 0.35, "boolean": 0.25}
"""Types of answers that are asked for. The paper gives no shares; a yes/no question is half guessed."""
CONTEXT_COUNTS = (1, 10, 25, 50, 100, 250, 500, 1000)  # table 1, "Synthetic"
SHARES_WITHIN = 1e-6

TOPICS = (
    "animals", "plants", "the human body", "food and drink", "astronomy", "physics", "chemistry", "geology and weather",
    "geography", "countries and capitals", "history", "inventions", "buildings and monuments", "literature", "painting",
    "music", "film and theatre", "sports", "games", "mathematics", "time and calendars", "language and writing",
    "transport", "computers", "everyday objects", "religion and mythology",
)  # fmt: skip
"""Topics of the statements. The paper names none, only "general facts" (appendix A.1)."""


class UraqSettings(FamilySettings):
    """URAQ's block of the configuration."""

    statements: Count = Field(400, description="Statements wanted after dedupe; a file's are all taken")
    statements_from: SourceSpec | None = Field(None, description="Source of the statements; the model writes none then")
    topics: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        TOPICS, min_length=1, description="Topics to ask for statements on"
    )
    cosine_above: float = Field(
        COSINE_ABOVE, gt=0, lt=1, description="Statements with a higher cosine are near-duplicates (appendix A.2)"
    )
    dedupe: Literal["independent-set", "paper"] = Field(
        "independent-set", description="`paper` removes both statements of a pair above the threshold"
    )
    hops: tuple[Annotated[int, Field(strict=True, ge=1, le=MAX_HOPS)], ...] = Field(
        HOPS, min_length=1, description="Steps of the questions to keep, 1 to 5"
    )
    answer_shares: dict[AnswerType, Annotated[float, Field(ge=0, le=1)]] = Field(
        dict(ANSWER_SHARES), description="Share of questions by type of answer; a type with share 0 is not asked for"
    )
    context_counts: tuple[Count, ...] = Field(CONTEXT_COUNTS, min_length=1, description="Contexts in an evaluation row")
    related_above: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Contexts with a higher cosine to the question, the pair or a step are related to it",
    )
    prescreen: tuple[str, ...] = Field((), description="Models (of `models`) that must know the single-hop answer")
    qa_sources: tuple[SourceSpec, ...] = Field((), description="Question answering data to make conflicts from")

    @field_validator("answer_shares")
    @classmethod
    def _add_up(cls, shares: dict[AnswerType, float]) -> dict[AnswerType, float]:
        if abs(sum(shares.values()) - 1) > SHARES_WITHIN:
            raise ValueError(f"the shares add up to {sum(shares.values()):g}; they must to 1")
        return shares
