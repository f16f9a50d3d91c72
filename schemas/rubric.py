"""An annotation task as data: what people are shown and asked, how many of them, and what they answered."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from schemas.base import Frozen, Record


class Shown(Frozen):
    """A text that people read."""

    name: str
    title: str = Field("", description="What stands over it; the name, where there is nothing")


class Choice(Frozen):
    """A question with fixed answers, one of which is chosen."""

    name: str
    question: str
    options: tuple[str, ...] = Field(min_length=2)


class Sample(Frozen):
    """A sample that people judge: so many tasks of one kind."""

    name: str
    size: int = Field(ge=1)


class Rubric(Frozen):
    """An annotation task, from which its form, its guideline and its quality checks follow."""

    name: str
    version: int = Field(ge=1, description="Raised when what is shown or asked changes")
    guideline: str = Field(description="File with the guideline, in the family's folder")
    shows: tuple[Shown, ...] = Field(min_length=1)
    asks: tuple[Choice, ...] = Field(min_length=1)
    corrects: tuple[Shown, ...] = Field((), description="Fields of the record that people may rewrite")
    people_per_item: int = Field(1, ge=1)
    samples: tuple[Sample, ...] = Field((), description="Empty: people see every record")
    validation_share: float = Field(0.0, ge=0, lt=1, description="Share of what a person sees whose answer is known")
    pass_share: float = Field(0.0, ge=0, le=1, description="Share of those that a person must answer rightly")

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for named in (self.shows, self.asks, self.corrects, self.samples):
            names = [one.name for one in named]
            if len(set(names)) < len(names):
                raise ValueError(f"rubric {self.name}: a name stands twice among {', '.join(names)}")
        return self


class Task(Record):
    """What one person is shown at a time. `key` is of the record and the sample; `item_id` is the record's."""

    DEFINES: ClassVar[tuple[str, ...]] = ("rubric", "version", "shown")
    SHOWS: ClassVar[tuple[str, ...]] = ("rubric", "version", "shown")

    rubric: str
    version: int = Field(description="The rubric's")
    sample: str
    item_id: str
    shown: Mapping[str, str] = Field(description="By name of what the rubric shows")
    known: Mapping[str, str] = Field(
        default_factory=dict, description="By question, the right answer to a validation item; never shown"
    )


class Judgement(Frozen):
    """What one person answered to one task."""

    task: str = Field(description="The task's id")
    by: str = Field(description="The person's code, never a name")
    answers: Mapping[str, str] = Field(description="By name of what the rubric asks")
    at: str = Field("", description="ISO 8601 time")
