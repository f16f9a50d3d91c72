"""What comes in: rows of somebody's data, in the shapes the families read."""

from typing import ClassVar

from pydantic import Field

from schemas.base import PromptRef, Record, SourceRef


class Statement(Record):
    """A short general fact (URAQ, appendix A.1)."""

    DEFINES: ClassVar[tuple[str, ...]] = ("text",)

    text: str = Field(min_length=1)
    topic: str | None = None
    source: SourceRef | None = Field(None, description="None where a model wrote it")
    written_by: PromptRef | None = Field(None, description="None where it comes from a source")


class QASource(Record):
    """A question with its gold answers and evidence, and the other side where the source brings one."""

    DEFINES: ClassVar[tuple[str, ...]] = ("question", "answers", "evidence", "sides")

    question: str
    answers: tuple[str, ...]
    evidence: str | None = Field(None, description="The supporting text; None where the source has only sides")
    sides: tuple[tuple[str, str], ...] = Field(
        (), description="(answer, evidence) of each side of a conflict, as the source brings them"
    )
    source: SourceRef
    format: str = Field(description="The source's format: squad, hotpotqa, conflictqa, ...")
    language: str = "en"
