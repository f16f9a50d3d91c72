"""The release gate: which of a build's accepted rows may leave the house, and why the others may not.

A row passes where its family's verifier finds no fault in it and, where its part needs people for every row, people
accepted it. Of a part that people see a sample of, what they rejected is gone from the build already, and counted.
What is made of a row that is held back, or belongs together with a faulty one, is held back with it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from data.publish.rows import UNREVIEWED_ALLOWED
from flows.construct.engine import Family, Part, VerifyContext
from flows.construct.stages import PEOPLE, StageRef
from flows.project.output_files import accepted_rows
from flows.project.project import Project
from schemas.base import Record
from schemas.errors import Failed, WrongInput

FAULTY = "a fault that the verifier found"
UNREVIEWED = "not reviewed yet"
REJECTED = "rejected by people"
MADE_OF = "made of a row that is held back"
BESIDE = "beside a row with a fault"


@dataclass(frozen=True)
class Gated:
    """A part at the gate: released + held back = its accepted rows and those that people rejected."""

    family: Family
    part: Part
    rows: Mapping[str, str | None]
    """By key, those that may leave, each with what the verdict on it decides; None where it has none of its own."""
    held_back: Mapping[str, str]
    """By key, why a row may not."""
    rejected: tuple[Record, ...]
    """Of those, the ones that people rejected, as they were shown: they are among the accepted rows no longer."""
    ids: frozenset[str]
    """Of the accepted rows that are held back."""
    faults: tuple[str, ...]
    """What the verifier said of those that have one."""

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many are held back for each reason."""
        return dict(sorted(Counter(self.held_back.values()).items()))


def line_of(family: Family, part: Part) -> list[Part]:
    """The part, and the parts that it is made from or reads, in order."""
    wanted = {part.name}
    for one in reversed(family.parts):
        if one.name in wanted:
            wanted.update(maker.name for maker in family.makers(one))
            wanted.update(one.uses)
    return [one for one in family.parts if one.name in wanted]


def check_current(project: Project) -> None:
    """Raise `WrongInput` where verdicts came since the build, on what is released or on what that is made from."""
    there = {(family.name, part.name) for family, part in project.build.parts()}
    for family, part in project.build.parts():
        for one in line_of(family, part) if part.released is not None else ():
            if (family.name, one.name) in there and not project.build.is_current(family, one):
                raise WrongInput(
                    f"{project.out}: verdicts on {family.name}-{one.name} came since it was built; "
                    f"`touchstone run {project.config_path} --out {project.out}` applies them, then release"
                )


def needs_people(family: Family, part: Part) -> bool:
    """Whether every row of the part, or of what it is made from, is for people to accept."""
    if part.people is not None:
        return part.people.share == "every"
    return "reviewed" in part.item.model_fields or any(needs_people(family, one) for one in family.makers(part))


def gate(
    project: Project, family: Family, part: Part, makers: Iterable[Gated] = (), *, allow_unreviewed: bool = False
) -> Gated:
    """Judge the part's accepted rows, as they lie in the output folder; `makers` are the parts at the gate before.

    Raises `Failed` where the verifier names a fault that is of no row, nor of rows that belong together.
    """
    reviewed = project.build.reviewed(family, part)
    decisions = _decisions(project, family, part)
    needed = needs_people(family, part)
    assert part.released is not None, "what is no end in itself does not leave"
    together, asked = part.released.together, part.released.asked
    gone = frozenset().union(*(one.ids for one in makers if one.family is family))
    ids: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {}
    rows: dict[str, str | None] = {}
    held_back: dict[str, str] = {}

    def judged() -> Iterator[Any]:
        for row in accepted_rows(project, family.name, part):
            ids.setdefault(row.id, []).append(row.key)
            groups.setdefault(str(getattr(row, together)), []).append(row.key)
            seen = row.key in reviewed or bool(getattr(row, "reviewed", False))
            lacks = needed and not seen and (asked is None or asked(row))
            if not gone.isdisjoint(row.provenance.parents):
                held_back[row.key] = MADE_OF
            elif lacks and not allow_unreviewed:
                held_back[row.key] = UNREVIEWED
            else:
                rows[row.key] = UNREVIEWED_ALLOWED if lacks else decisions(row) if seen else None
            yield row

    context = VerifyContext(
        project.build.families[family.name].settings,
        project.embedder,
        lambda other: accepted_rows(project, family.name, family.part(other)),
        lambda other: project.verdicts(family.name, other),
    )
    faults = []
    judging = judged()
    for fault in part.verify(judging, context):
        if (keys := ids.get(fault.id) or groups.get(fault.id)) is None:
            raise Failed(
                f"{project.out}: {family.name}-{part.name}: {fault.id}: {fault.problem}; this is of no single row: "
                f"build it again, then `touchstone verify {family.name}`"
            )
        faults.append(f"{family.name}-{part.name} {fault.id}: {fault.problem}")
        held_back |= dict.fromkeys(keys, FAULTY)
    for _ in judging:  # a verifier need not read them all
        pass
    for keys in groups.values():
        if any(held_back.get(key) == FAULTY for key in keys):
            held_back |= {key: held_back.get(key, BESIDE) for key in keys}
    rows = {key: decision for key, decision in rows.items() if key not in held_back}
    rejected = tuple(_rejected(project, family, part))
    held_back |= {record.key: REJECTED for record in rejected}
    return Gated(
        family,
        part,
        rows,
        held_back,
        rejected,
        frozenset(name for name, keys in ids.items() if not held_back.keys().isdisjoint(keys)),
        tuple(faults),
    )


def _decisions(project: Project, family: Family, part: Part) -> Any:
    """What tells of a row that people accepted how they did: by a verdict on it, or on what it is made from."""
    own = project.verdicts(family.name, part.name)
    inherited = {
        record.id: verdict.decision
        for maker in (family.makers(part) if part.people is None else ())
        if maker.people is not None and maker.people.share == "every"
        for record in project.build.accepted(family.name, maker.name)
        if (verdict := project.verdicts(family.name, maker.name).get(record.key)) is not None
    }

    def decision(row: Any) -> str | None:
        if (verdict := own.get(row.key)) is not None:
            return verdict.decision
        return next((inherited[one] for one in row.provenance.parents if one in inherited), None)

    return decision


def _rejected(project: Project, family: Family, part: Part) -> Iterator[Record]:
    """The part's sifted records that people rejected."""
    last = project.build.stages(family, part)[-1]
    keys = {
        dropped.key
        for dropped in (project.build.read(last).dropped() if last.step == PEOPLE else ())
        if dropped.reason == REJECTED
    }
    sifted = project.build.read(StageRef(family.name, part.name, part.steps[-1].name)) if keys else ()
    yield from (record for record in sifted if record.key in keys)
