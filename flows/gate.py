"""The release gate: which of a build's accepted rows may leave the house, and why the others may not.

A row passes where its family's verifier finds no fault in it and, where its part needs people for every row, people
accepted it. Of a part that people see a sample of, what they rejected is gone from the build already, and counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flows.compose import Project
from flows.construct.engine import Family, Part, VerifyContext
from flows.construct.stages import PEOPLE
from flows.outputs import accepted_rows
from schemas.errors import Failed, WrongInput

FAULTY = "a fault that the verifier found"
UNREVIEWED = "not reviewed yet"
REJECTED = "rejected by people"


@dataclass(frozen=True)
class Passed:
    """What is known of a row that may leave."""

    reviewed: bool
    """Whether people accepted it as it stands."""
    decision: str | None
    """That of the verdict on it; None where it has none of its own."""


@dataclass(frozen=True)
class Gated:
    """A part at the gate: released + held back = its accepted rows and those that people rejected."""

    family: Family
    part: Part
    rows: Mapping[str, Passed]
    """By key, those that may leave."""
    held_back: Mapping[str, str]
    """By key, why a row may not."""
    faults: tuple[str, ...]
    """What the verifier said of those that have one."""

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many are held back for each reason."""
        return dict(sorted(Counter(self.held_back.values()).items()))


def needs_people(family: Family, part: Part) -> bool:
    """Whether every row of the part, or of what it is made from, is for people to accept."""
    if part.people is not None:
        return part.people.share == "every"
    return "reviewed" in part.item.model_fields or any(needs_people(family, one) for one in family.makers(part))


def gate(project: Project, family: Family, part: Part, *, allow_unreviewed: bool = False) -> Gated:
    """Judge the part's accepted rows, as they lie in the output folder.

    Raises `WrongInput` where verdicts came since the build, `Failed` where the verifier names a fault that is of no
    single row, such as two rows of one key.
    """
    if not project.build.is_current(family, part):
        raise WrongInput(
            f"{project.out}: verdicts on {family.name}-{part.name} came since it was built; "
            f"`touchstone run {project.config_path} --out {project.out}` applies them, then release"
        )
    reviewed = project.build.reviewed(family, part)
    verdicts = project.verdicts(family.name, part.name)
    needed = needs_people(family, part) and not allow_unreviewed
    keys: dict[str, str] = {}
    rows: dict[str, Passed] = {}
    held_back: dict[str, str] = {}

    def judged() -> Iterator[Any]:
        for row in accepted_rows(project, family.name, part):
            keys[row.id] = row.key
            seen = row.key in reviewed or bool(getattr(row, "reviewed", False))
            if needed and not seen:
                held_back[row.key] = UNREVIEWED
            else:
                verdict = verdicts.get(row.key) if seen else None
                rows[row.key] = Passed(seen, verdict.decision if verdict else None)
            yield row

    context = VerifyContext(
        project.build.families[family.name].settings,
        project.embedder,
        lambda other: accepted_rows(project, family.name, family.part(other)),
    )
    faults = []
    for fault in part.verify(judged(), context):
        key = keys.get(fault.id)
        if key is None:
            raise Failed(
                f"{project.out}: {family.name}-{part.name}: {fault.id}: {fault.problem}; this is of no single row: "
                f"build it again, then `touchstone verify {family.name}`"
            )
        faults.append(f"{family.name}-{part.name} {fault.id}: {fault.problem}")
        held_back[key] = FAULTY
        rows.pop(key, None)
    for key in _rejected(project, family, part):
        held_back.setdefault(key, REJECTED)
    return Gated(family, part, rows, held_back, tuple(faults))


def _rejected(project: Project, family: Family, part: Part) -> Iterator[str]:
    """Keys of the part's sifted records that people rejected, as they were shown."""
    for dropped in project.build.read(project.build.stages(family, part)[-1]).dropped():
        if (dropped.step, dropped.reason) == (PEOPLE, REJECTED):
            yield dropped.key
