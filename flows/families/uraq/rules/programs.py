"""The programs that questions are computed by: their steps and wordings, read from `programs.yaml`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from flows.families.uraq.rules.facts import KINDS, Fact, Kind, of_kind, people
from schemas.uraq import AnswerType, StepKind

Result = int | str
Slot = Fact | int | str | tuple[str, bool]
"""The contents of a slot of a question: another fact, a number, a name, or a thing that has a property or lacks it."""

UNIT_VERBS = {
    "players": ("does", "field"),
    "minutes": ("does", "last"),
    "years": ("did", "last"),
    "symphonies": ("did", "complete"),
}
"""How a question says that something has a number of a unit, if not by "does ... have"."""
ANSWER_TYPES: Mapping[Kind, AnswerType] = {"count": "number", "year": "number", "yesno": "boolean"}
"""Types of the answer to the question for a fact alone; of the other kinds an entity."""
_STEP = re.compile(r"(\w+) ([\w ]+)\((.*)\)")


@dataclass(frozen=True)
class ProgramStep:
    """One step: an operation on the results of earlier steps (numbers from 1) and on slots (`@b`)."""

    kind: StepKind
    op: str
    args: tuple[int | str, ...]
    text: str


@dataclass(frozen=True)
class Program:
    """The steps of a question on a fact of a kind, with its wordings."""

    name: str
    kind: Kind
    answer_type: AnswerType
    steps: tuple[ProgramStep, ...]
    wordings: tuple[str, ...]
    slots: Mapping[str, str] = field(default_factory=dict)
    """Slot -> what fills it: a name in `slots.CANDIDATES`, or `threshold:N`."""
    unit: str = ""
    """For counts: the unit in the wordings."""
    land: str = ""
    """For events and people: the country whose rulers the wordings mention. Nobody dates by those of another."""

    @property
    def hops(self) -> int:
        return len(self.steps)

    def suits(self, fact: Fact) -> bool:
        """Return whether the wordings suit a fact of the program's kind."""
        if self.kind == "person" and self.land:
            return people()[fact.value].country == self.land
        return self.unit in ("", fact.unit) and (not self.land or self.land in fact.land.split())


@dataclass(frozen=True)
class Pattern:
    """One wording of a program, which must not be used too often."""

    program: Program
    wording: int

    @property
    def id(self) -> str:
        return f"{self.program.name}/{self.wording}"

    @property
    def text(self) -> str:
        return self.program.wordings[self.wording]


@cache
def programs() -> tuple[Program, ...]:
    """All programs: those of `programs.yaml` in its order, then the question for a fact alone, kind by kind."""
    declared = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text(encoding="utf-8"))
    by_unit = {name: entry for name, entry in declared.items() if "{unit}" in name}
    units = sorted({fact.unit for fact in of_kind("count") if fact.unit})
    return (
        *(_of_unit(name, entry, unit) for unit in units for name, entry in by_unit.items()),
        *(_program(name, entry) for name, entry in declared.items() if name not in by_unit),
        *_single_hop(),
    )


def _program(name: str, entry: Mapping[str, Any], unit: str = "") -> Program:
    steps = (ProgramStep(*_operation(operation), text) for operation, text in entry["steps"].items())
    wordings = entry.get("wordings") or [entry["wording"]]
    kind: Any = name.partition("-")[0]
    return Program(
        name, kind, entry["answer"], tuple(steps), tuple(wordings), entry.get("slots", {}), unit, entry.get("land", "")
    )


def _operation(text: str) -> tuple[Any, str, tuple[int | str, ...]]:
    """Kind, name and arguments of a step: `arithmetic after(3, 2)`."""
    match = _STEP.fullmatch(text)
    if match is None:
        raise ValueError(f"programs.yaml: {text!r} is no step; write it as KIND OPERATION(ARGUMENTS)")
    kind, op, args = match.groups()
    return kind, op, tuple(int(arg) if arg.isdigit() else arg for arg in args.split(", ") if arg)


def _of_unit(name: str, entry: Mapping[str, Any], unit: str) -> Program:
    """The program on counts of a unit."""
    does, has = UNIT_VERBS.get(unit, ("does", "have"))
    wording = entry["wording"].replace("{unit}", unit).replace("{has}", has)
    wording = wording.replace("{does}", does).replace("{Does}", does.capitalize())
    return _program(name.replace("{unit}", unit), {**entry, "wording": wording}, unit)


def _single_hop() -> Iterator[Program]:
    step = ProgramStep("recall", "value", (), "what the statement says")
    for kind in KINDS:
        yield Program(f"{kind}-1", kind, ANSWER_TYPES.get(kind, "entity"), (step,), ("{single}",))
