"""The release gate: decides which of a build's accepted rows may be released, and why the others may not.

A row passes if its family's verifier finds no fault in it and, if its part needs people for every row, people accepted
it. In a part of which people see a sample, the rows that they rejected are gone from the build already; they are
counted. A row that is made from a held-back row, or belongs together with a faulty one, is held back too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from data.publish.rows import UNREVIEWED_ALLOWED
from flows.construct.engine import Family, Part
from flows.construct.reviewed import is_current, reviewed_keys
from flows.construct.stages import PEOPLE
from flows.project.output_files import accepted_rows, verify_context
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
    """Key of a row that may be released -> decision of its verdict; None if it has none."""
    held_back: Mapping[str, str]
    """Key of a row that may not -> reason."""
    rejected: tuple[Record, ...]
    """The rows that people rejected, as they were shown; they are no longer among the accepted rows."""
    ids: frozenset[str]
    """Ids of the accepted rows that are held back."""
    faults: tuple[str, ...]
    """The verifier's descriptions of faults."""

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reason -> number of rows held back for it."""
        return dict(sorted(Counter(self.held_back.values()).items()))


def check_current(project: Project) -> None:
    """Raise `WrongInput` if there are new verdicts, since the build, on released parts or on their makers."""
    built = {(family.name, part.name) for family, part in project.build.parts()}
    for family, part in project.build.parts():
        for maker in family.with_makers([part.name]) if part.released is not None else ():
            if (family.name, maker.name) in built and not is_current(project.build, family, maker):
                raise WrongInput(
                    f"{project.out}: there are new verdicts on {family.name}-{maker.name} since it was built; "
                    f"`touchstone run {project.config_path} --out {project.out}` applies them, then release"
                )


def needs_people(family: Family, part: Part) -> bool:
    """Return whether people have to accept every row of the part, or of the parts that it is made from."""
    if part.people is not None:
        return part.people.share == "every"
    return "reviewed" in part.item.model_fields or any(needs_people(family, maker) for maker in family.makers(part))


def gate(
    project: Project, family: Family, part: Part, makers: Iterable[Gated] = (), *, allow_unreviewed: bool = False
) -> Gated:
    """Judge the part's accepted rows in the output folder; `makers` are the parts judged before.

    Raises `Failed` if the verifier reports a fault of neither a row nor a group of rows.
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
    """A part's accepted rows, each judged as it is read: by whether people saw it, and what it is made from."""

    def __init__(
        self, project: Project, family: Family, part: Part, makers: Iterable[Gated], *, allow_unreviewed: bool
    ) -> None:
        assert part.released is not None, "an intermediate part is not released"
        self._rows = accepted_rows(project, family.name, part)
        self._together, self._asked = part.released.together, part.released.asked
        self._needs_people, self._allow_unreviewed = needs_people(family, part), allow_unreviewed
        self._reviewed = reviewed_keys(project.build, family, part)
        self._decision = _decisions(project, family, part)
        self._makers_held_back = frozenset().union(*(maker.ids for maker in makers if maker.family is family))
        self.by_id: dict[str, list[str]] = {}
        """Id -> keys."""
        self.by_group: dict[str, list[str]] = {}
        """Name of a group of rows -> their keys."""
        self.decisions: dict[str, str | None] = {}
        """Key of a row that may be released -> what people decided."""
        self.held_back: dict[str, str] = {}
        """Key -> reason."""

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
        """Hold back the rows with this id, or the group of this name. Returns False if there are none."""
        keys = self.by_id.get(name) or self.by_group.get(name)
        self.held_back |= dict.fromkeys(keys or (), FAULTY)
        return keys is not None

    def hold_back_groups(self) -> None:
        """Hold back the groups of faulty rows."""
        for keys in self.by_group.values():
            if any(self.held_back.get(key) == FAULTY for key in keys):
                self.held_back |= {key: self.held_back.get(key, BESIDE) for key in keys}


def _faults(project: Project, family: Family, part: Part, rows: _AcceptedRows) -> Iterator[str]:
    """Yield the faults that the verifier finds, holding back their rows. Raises `Failed` for a fault of no row."""
    unread = iter(rows)
    for fault in part.verify(unread, verify_context(project, family)):
        if not rows.hold_back_faulty(fault.id):
            raise Failed(
                f"{project.out}: {family.name}-{part.name}: {fault.id}: {fault.problem}; this concerns no single row: "
                f"build it again, then `touchstone verify {family.name}`"
            )
        yield f"{family.name}-{part.name} {fault.id}: {fault.problem}"
    for _ in unread:  # a verifier need not read them all
        pass


def _decisions(project: Project, family: Family, part: Part) -> Any:
    """Return a function from an accepted row to the decision of the verdict on it, or on what it is made from."""
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
    """Yield the part's sifted records that people rejected."""
    last = project.build.stages(family, part)[-1]
    keys = {
        dropped.key
        for dropped in (project.build.read(last).dropped() if last.step == PEOPLE else ())
        if dropped.reason == REJECTED
    }
    sifted = project.build.sifted(family, part) if keys else ()
    yield from (record for record in sifted if record.key in keys)
