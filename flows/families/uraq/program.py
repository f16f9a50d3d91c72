"""What a question is computed by: the steps of a program, its wordings, and their patterns."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flows.families.uraq.facts import (
    Fact,
    Kind,
    people,
)
from schemas.uraq import AnswerType, StepKind

Result = int | str
Slot = Fact | int | str | tuple[str, bool]
"""What fills a slot of a question: another fact, a number, a name, or a thing that has a property or not."""


@dataclass(frozen=True)
class Do:
    """One step: an operation on earlier results (numbers from 1) and slots (`@b`) or constants (`=12`)."""

    kind: StepKind
    op: str
    args: tuple[int | str, ...]
    text: str


@dataclass(frozen=True)
class Program:
    """The steps of a question over a fact of one kind, with its wordings.

    `slots` says how each slot is filled (a name in `CANDIDATES`); `unit` and `land` say which facts it suits.
    """

    name: str
    kind: Kind
    answer_type: AnswerType
    steps: tuple[Do, ...]
    wordings: tuple[str, ...]
    slots: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    """Of counts, the unit that the wordings speak of."""
    land: str = ""
    """Of events and people, whose rulers the wordings speak of: nobody dates by those of another land."""

    @property
    def hops(self) -> int:
        """How many steps the question takes."""
        return len(self.steps)

    def suits(self, fact: Fact) -> bool:
        """Whether the wordings can be said of a fact of the program's kind."""
        if self.kind == "person" and self.land:
            return people()[fact.value].country == self.land
        return self.unit in ("", fact.unit) and (not self.land or self.land in fact.land.split())


@dataclass(frozen=True)
class Pattern:
    """One wording of a program: what may not be used too often."""

    program: Program
    wording: int

    @property
    def id(self) -> str:
        """Name of the pattern."""
        return f"{self.program.name}/{self.wording}"

    @property
    def text(self) -> str:
        """The wording, with its slots."""
        return self.program.wordings[self.wording]
