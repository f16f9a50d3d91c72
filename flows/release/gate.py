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
from flows.construct.engine import Family, Part
from flows.construct.reviewed import is_current, reviewed_keys
from flows.construct.stages import PEOPLE, StageRef
from flows.construct.verification import VerifyContext
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
    for candidate in reversed(family.parts):
        if candidate.name in wanted:
            wanted.update(maker.name for maker in family.makers(candidate))
            wanted.update(candidate.uses)
    return [candidate for candidate in family.parts if candidate.name in wanted]


def check_current(project: Project) -> None:
    """Raise `WrongInput` where verdicts came since the build, on what is released or on what that is made from."""
    built = {(family.name, part.name) for family, part in project.build.parts()}
    for family, part in project.build.parts():
        for maker in line_of(family, part) if part.released is not None else ():
            if (family.name, maker.name) in built and not is_current(project.build, family, maker):
                raise WrongInput(
                    f"{project.out}: verdicts on {family.name}-{maker.name} came since it was built; "
                    f"`touchstone run {project.config_path} --out {project.out}` applies them, then release"
                )


def needs_people(family: Family, part: Part) -> bool:
    """Whether every row of the part, or of what it is made from, is for people to accept."""
    if part.people is not None:
        return part.people.share == "every"
    return "reviewed" in part.item.model_fields or any(needs_people(family, maker) for maker in family.makers(part))


def gate(
    project: Project, family: Family, part: Part, makers: Iterable[Gated] = (), *, allow_unreviewed: bool = False
) -> Gated:
    """Judge the part's accepted rows, as they lie in the output folder; `makers` are the parts at the gate before.

    Raises `Failed` where the verifier names a fault that is of no row, nor of rows that belong together.
    """
    rows = _AcceptedRows(project, family, part, makers, allow_unreviewed=allow_unreviewed)
    faults = tuple(_faults(project, family, part, rows))
    rows.hold_back_groups()
    rejected = tuple(_rejected(project, family, part))
    return Gated(
        family,
        part,
        {key: decision for key, decision in rows.decisions.items() if key not in rows.held_back},
        {**rows.held_back, **{record.key: REJECTED for record in rejected}},
        rejected,
        frozenset(id_ for id_, keys in rows.by_id.items() if not rows.held_back.keys().isdisjoint(keys)),
        faults,
    )


class _AcceptedRows:
    """A part's accepted rows, each judged as it is read: by whether people saw it, and by what it is made of."""

    def __init__(
        self, project: Project, family: Family, part: Part, makers: Iterable[Gated], *, allow_unreviewed: bool
    ) -> None:
        assert part.released is not None, "what is no end in itself does not leave"
        self._rows = accepted_rows(project, family.name, part)
        self._together, self._asked = part.released.together, part.released.asked
        self._needs_people, self._allow_unreviewed = needs_people(family, part), allow_unreviewed
        self._reviewed = reviewed_keys(project.build, family, part)
        self._decision = _decisions(project, family, part)
        self._makers_held_back = frozenset().union(*(maker.ids for maker in makers if maker.family is family))
        self.by_id: dict[str, list[str]] = {}
        """Id -> keys."""
        self.by_group: dict[str, list[str]] = {}
        """What ties rows together -> their keys."""
        self.decisions: dict[str, str | None] = {}
        """Key -> what people decided, of the rows that may leave."""
        self.held_back: dict[str, str] = {}
        """Key -> why."""

    def __iter__(self) -> Iterator[Any]:
        for row in self._rows:
            self.by_id.setdefault(row.id, []).append(row.key)
            self.by_group.setdefault(str(getattr(row, self._together)), []).append(row.key)
            self._judge(row)
            yield row

    def _judge(self, row: Any) -> None:
        seen = row.key in self._reviewed or bool(getattr(row, "reviewed", False))
        unreviewed = self._needs_people and not seen and (self._asked is None or self._asked(row))
        if not self._makers_held_back.isdisjoint(row.provenance.parents):
            self.held_back[row.key] = MADE_OF
        elif unreviewed and not self._allow_unreviewed:
            self.held_back[row.key] = UNREVIEWED
        elif unreviewed:
            self.decisions[row.key] = UNREVIEWED_ALLOWED
        else:
            self.decisions[row.key] = self._decision(row) if seen else None

    def hold_back_faulty(self, name: str) -> bool:
        """Hold back the rows of this id, or those that belong together under this name; False where there are none."""
        keys = self.by_id.get(name) or self.by_group.get(name)
        self.held_back |= dict.fromkeys(keys or (), FAULTY)
        return keys is not None

    def hold_back_groups(self) -> None:
        """Hold back what belongs together with a faulty row."""
        for keys in self.by_group.values():
            if any(self.held_back.get(key) == FAULTY for key in keys):
                self.held_back |= {key: self.held_back.get(key, BESIDE) for key in keys}


def _faults(project: Project, family: Family, part: Part, rows: _AcceptedRows) -> Iterator[str]:
    """The faults that the verifier finds, whose rows are held back. Raises `Failed` for a fault that is of no row."""
    context = VerifyContext(
        project.build.families[family.name].settings,
        project.embedder,
        lambda other: accepted_rows(project, family.name, family.part(other)),
        lambda other: project.verdicts(family.name, other),
    )
    unread = iter(rows)
    for fault in part.verify(unread, context):
        if not rows.hold_back_faulty(fault.id):
            raise Failed(
                f"{project.out}: {family.name}-{part.name}: {fault.id}: {fault.problem}; this is of no single row: "
                f"build it again, then `touchstone verify {family.name}`"
            )
        yield f"{family.name}-{part.name} {fault.id}: {fault.problem}"
    for _ in unread:  # a verifier need not read them all
        pass


def _decisions(project: Project, family: Family, part: Part) -> Any:
    """What tells of a row that people accepted how they did: by a verdict on it, or on what it is made from."""
    verdicts = project.verdicts(family.name, part.name)
    inherited = {
        record.id: verdict.decision
        for maker in (family.makers(part) if part.people is None else ())
        if maker.people is not None and maker.people.share == "every"
        for record in project.build.accepted(family.name, maker.name)
        if (verdict := project.verdicts(family.name, maker.name).get(record.key)) is not None
    }

    def decision(row: Any) -> str | None:
        if (verdict := verdicts.get(row.key)) is not None:
            return verdict.decision
        return next((inherited[parent] for parent in row.provenance.parents if parent in inherited), None)

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
