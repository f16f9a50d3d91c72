"""URAQ's block of the configuration, and whether its statements suffice for its contexts."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field, field_validator

from data.sources import SourceError, SourceSpec, read_source
from data.sources.opening import is_file
from flows.construct.settings import FamilySettings
from schemas.source import Statement
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


def statements_for(contexts: int) -> int:
    """Return how many statements a row of so many contexts takes.

    A statement gives two, as it is and manipulated, and a question's own statement gives it none.
    """
    return -(-contexts // 2) + 1


def shortages(settings: UraqSettings) -> Iterator[str]:
    """Yield a problem if there are too few statements for any row of the evaluation.

    Counts that are too high are left out if there are lower ones. Of a file, no more statements are read than a row
    wants. Raises `SourceError` with the setting if the file cannot be read.
    """
    least = min(settings.context_counts)
    wanted = statements_for(least)
    if settings.qa_sources or (settings.parts is not None and "evaluation" not in settings.parts):
        return
    spec, place, number = settings.statements_from, "statements", settings.statements
    if spec is not None:
        if not is_file(spec.path):
            return
        place = "statements_from"
        try:
            number = sum(1 for _ in islice(read_source(spec, Statement, lambda dropped: None), wanted))
        except SourceError as error:
            raise SourceError(f"{place}: {error}") from error
    if number < wanted:
        named = f"{spec.name} has {number:,}" if spec else f"{number:,} are asked for"
        yield (
            f"{place}: {named}, and rows of {least:,} contexts, the lowest of context_counts, want at least "
            f"{wanted:,} statements: name more, or lower context_counts"
        )
