"""Misdate's records: a statement whose year was changed, with a question on it."""

from typing import ClassVar

from pydantic import Field

from schemas.base import Provenance, Record


class MisdatedItem(Record):
    """A question that the changed statement and the true one answer by different years."""

    DEFINES: ClassVar[tuple[str, ...]] = ("context", "question", "answer", "answer_original")
    TEXTS: ClassVar[tuple[str, ...]] = ("question", "context")

    context: str = Field(description="The statement with another year")
    question: str
    answer: str = Field(description="The year of the context")
    answer_original: str = Field(description="The year of the true statement")
    provenance: Provenance
