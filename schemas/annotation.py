"""People's answers, and what is computed from them."""

from collections.abc import Mapping

from pydantic import Field

from schemas.base import Frozen


class Annotation(Frozen):
    """One person's answers to one task."""

    task: str = Field(description="The task's id, which identifies what the person saw")
    key: str = Field("", description="The task's key")
    item: str = Field("", description="The record's key, as `touchstone explain` knows it")
    rubric: str = ""
    version: int = Field(0, description="The rubric's version, whose form and guideline the person had")
    by: str = Field(description="The person's code, never a name")
    answers: Mapping[str, str] = Field(
        default_factory=dict, description="By name, the option of a question or the text of a box"
    )
    marks: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict, description="By name of what is marked, the spans in their order"
    )
    untouched: tuple[str, ...] = Field((), description="Drafts that were submitted unchanged")
    question: str = Field("", description="The person's question to the engineer")
    cancelled: bool = Field(False, description="The person skipped the task")
    seconds: float = Field(0.0, ge=0, description="Time it took")
    at: str = Field("", description="ISO 8601 time")
    source: str = Field("", description="The server's own name of it, which is never reused")


class Excluded(Frozen):
    """An annotation that does not count, and why."""

    key: str
    item: str = Field("", description="The record's key, as `touchstone explain` knows it")
    by: str
    reason: str = Field(description="One of a small set of short phrases")
    evidence: str = ""
    source: str = ""
    at: str = ""


class Finding(Frozen):
    """A check's finding on an annotation."""

    name: str = Field(description="The question or text that it is about")
    problem: str
    rejects: bool = Field(description="Whether the work goes back to its author, or a reviewer is warned")


class Agreement(Frozen):
    """People's agreement on one question, by one measure."""

    question: str = Field(description="Name of what is asked, written or marked")
    measure: str
    value: float | None
    low: float | None = Field(description="Lower end of the 95 % bootstrap interval over items; None if undefined")
    high: float | None
    items: int = Field(description="Items done by two people or more that the measure used")
    people: tuple[str, ...] = Field(description="Codes of the people who did them")
    reason: str = Field("", description="Why there is no value")


class Comparison(Agreement):
    """A program's agreement on a scale with a person, or with the mean of several; or people's with each other."""

    sample: str = Field(description="Name of the rubric's sample; empty if people see every record")
    program: str = Field(description="The program's name; empty for people among themselves")


class Means(Frozen):
    """People's mean ratings on the rubric's scales, the options taken as 1, 2, ..."""

    sample: str = Field(description="Name of the rubric's sample; empty if people see every record")
    means: Mapping[str, float] = Field(description="By question, the mean over the items of their mean ratings")
    items: int
    people: tuple[str, ...] = Field(description="Codes of the people who rated them")
