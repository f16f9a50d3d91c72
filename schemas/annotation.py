"""What one person answered to one task, as it was pulled."""

from collections.abc import Mapping

from pydantic import Field

from schemas.base import Frozen


class Annotation(Frozen):
    """One person's answers to one task."""

    task: str = Field(description="The task's id: what the person saw")
    key: str = Field("", description="The task's key")
    rubric: str = ""
    version: int = Field(0, description="The rubric's, whose form and guideline the person had")
    by: str = Field(description="The person's code, never a name")
    answers: Mapping[str, str] = Field(
        default_factory=dict, description="By name of what the rubric asks, the option; of what is written, the text"
    )
    marks: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict, description="By name of what is marked, the stretches in their order"
    )
    untouched: tuple[str, ...] = Field((), description="Drafts that were handed back as they stood")
    question: str = Field("", description="What the person asks the engineer")
    cancelled: bool = Field(False, description="The person skipped the task")
    seconds: float = Field(0.0, ge=0, description="Time it took")
    at: str = Field("", description="ISO 8601 time")
    source: str = Field("", description="The server's own name of it, unique for ever")


class SetAside(Frozen):
    """An annotation that does not count, and why."""

    key: str
    by: str
    reason: str = Field(description="A short phrase out of a small set, to be counted")
    evidence: str = ""
    source: str = ""
    at: str = ""


class Finding(Frozen):
    """What a check says of an annotation."""

    name: str = Field(description="What is written or asked that it is about")
    problem: str
    rejects: bool = Field(description="It goes back to its author; else a reviewer is told")


class Agreement(Frozen):
    """How far people agree on one question, by one measure."""

    question: str = Field(description="Name of what is asked, written or marked")
    measure: str
    value: float | None
    low: float | None = Field(description="Lower end of the 95 % bootstrap interval over items; None where undefined")
    high: float | None
    items: int = Field(description="Items that two people or more did, and that the measure used")
    people: tuple[str, ...] = Field(description="Codes of those who did them")
    reason: str = Field("", description="Why there is no value")


class Comparison(Agreement):
    """How far a program agrees with people on a scale: with one person, or with the mean of several; or people do."""

    sample: str = Field(description="Of the rubric's samples; empty where people see every record")
    program: str = Field(description="The program's name; empty: the people among themselves")


class Means(Frozen):
    """What people gave on the rubric's scales, the options taken as 1, 2, ..."""

    sample: str = Field(description="Of the rubric's samples; empty where people see every record")
    means: Mapping[str, float] = Field(
        description="By question, the mean over the items of the mean of what people gave each"
    )
    items: int
    people: tuple[str, ...] = Field(description="Codes of those who rated them")
