"""The release gate: decides which of a build's accepted rows may be released, and why the others may not.

A row passes if its family's verifier finds no fault in it and, if its part needs people for every row, people accepted
it. In a part of which people see a sample, the rows that they rejected are gone from the build already; they are
counted. A row that they had reviewed when it was released last, and that changed since, waits until they have seen it.
A row that is made from a held-back row, or belongs together with a faulty one, is held back too.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from data.publish.reading import read_batches
from data.publish.rows import UNREVIEWED_ALLOWED
from data.seen import Hashes, place_of, sorted_hashes
from flows.construct.engine import Family, Part
from flows.construct.reviewed import is_current, reviewed_keys
from flows.construct.stages import PEOPLE
from flows.construct.verification import Fault
from flows.project.output_files import accepted_files, accepted_rows, verify_context
from flows.project.project import Project
from schemas.base import Record
from schemas.errors import Failed, WrongInput

FAULTY = "a fault that the verifier found"
UNREVIEWED = "not reviewed yet"
CHANGED = "changed since people reviewed it"
MADE_OF = "made of a row that is held back"
BESIDE = "beside a row with a fault"


class Judgement(NamedTuple):
    """What the gate says of a row."""

    held_back: str | None = None
    """The reason why it may not be released; None if it may."""
    decision: str | None = None
    """The decision of its verdict; None if it has none."""


class Rejected(NamedTuple):
    """A row that a verdict dropped, as it was shown."""

    record: Record
    why: str


@dataclass(frozen=True)
class Gated:
    """A part at the gate: released + held back = its accepted rows and those that people rejected."""

    family: Family
    part: Part
    kinds: tuple[Judgement, ...]
    """The different judgements."""
    judged: Sequence[int]
    """Of each accepted row, in the order of the files, the number of its judgement: a byte a row."""
    rejected: tuple[Rejected, ...]
    """The rows that people rejected or retired; they are no longer among the accepted rows."""
    ids: Hashes
    """Ids of the accepted rows that are held back."""
    faults: tuple[str, ...]
    """The verifier's descriptions of faults."""

    def __iter__(self) -> Iterator[Judgement]:
        """Yield the judgement on each accepted row, in the order of the files."""
        return map(self.kinds.__getitem__, self.judged)

    @property
    def decisions(self) -> Mapping[str | None, int]:
        """Decision -> number of rows that may be released with it."""
        return {kind.decision: count for kind, count in self._counts if kind.held_back is None}

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reason -> number of rows held back for it."""
        reasons = {kind.held_back: count for kind, count in self._counts if kind.held_back is not None}
        return dict(sorted((reasons | Counter(rejected.why for rejected in self.rejected)).items()))

    @property
    def _counts(self) -> Iterator[tuple[Judgement, int]]:
        counts = Counter(self.judged)
        return ((kind, counts[number]) for number, kind in enumerate(self.kinds) if counts[number])


def faults_told(gated: Sequence[Gated], *, is_logged: bool) -> tuple[str, ...]:
    """Return the faults in all rows; where what is printed may be logged, and is private, without what they are."""
    faults = (fault for part in gated for fault in part.faults)
    if not is_logged:
        return tuple(faults)
    return tuple(f"{fault.partition(': ')[0]}: a fault, which `touchstone verify` tells" for fault in faults)


def advice_on(held_back: Collection[str]) -> str:
    """Return what to do about rows that are held back for these reasons."""
    advice = "`touchstone annotate push` gives rows to people"
    if {UNREVIEWED, CHANGED}.isdisjoint(held_back):
        return advice
    return f"{advice}, and `touchstone release --allow-unreviewed` releases them as they are"


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
    project: Project,
    family: Family,
    part: Part,
    makers: Iterable[Gated] = (),
    reviewed_before: Mapping[str, str] = MappingProxyType({}),
    *,
    allow_unreviewed: bool = False,
) -> Gated:
    """Judge the part's accepted rows in the output folder; `makers` are the parts judged before.

    `reviewed_before` has, by key, the ids of rows that people had reviewed when they were released last.

    Raises `Failed` if the verifier reports a fault of neither a row nor a group of rows.
    """
    rows = _AcceptedRows(project, family, part, makers, reviewed_before, allow_unreviewed=allow_unreviewed)
    faults = list(rows.faults())
    rows.hold_back(faults)
    return Gated(
        family,
        part,
        tuple(rows.kinds),
        rows.judged,
        tuple(rejected_of(project, family, part)),
        rows.ids_held_back(),
        tuple(f"{family.name}-{part.name} {fault.id}: {fault.problem}" for fault in faults),
    )


class _AcceptedRows:
    """A part's accepted rows, each judged as it is read: by whether people saw it, and what it is made from."""

    def __init__(
        self,
        project: Project,
        family: Family,
        part: Part,
        makers: Iterable[Gated],
        reviewed_before: Mapping[str, str],
        *,
        allow_unreviewed: bool,
    ) -> None:
        assert part.released is not None, "an intermediate part is not released"
        self._project, self._family, self._part = project, family, part
        self._together, self._asked = part.released.together, part.released.asked
        self._needs_people, self._allow_unreviewed = needs_people(family, part), allow_unreviewed
        self._reviewed = reviewed_keys(project.build, family, part)
        self._reviewed_before = reviewed_before
        self._decision = _decisions(project, family, part)
        self._makers_held_back = [maker.ids for maker in makers if maker.family is family and len(maker.ids)]
        self.kinds: dict[Judgement, int] = {}
        """Judgement -> its number."""
        self.judged = array("B")
        """The number of each row's judgement, in the order of the files."""

    def faults(self) -> Iterator[Fault]:
        """Judge all rows, and yield the faults that the verifier finds in them."""
        unread = self._judging()
        yield from self._part.verify(unread, verify_context(self._project, self._family))
        for _ in unread:  # a verifier need not read them all
            pass

    def _judging(self) -> Iterator[Any]:
        for row in accepted_rows(self._project, self._family.name, self._part):
            self.judged.append(self._number(self._judgement(row)))
            yield row

    def _number(self, judgement: Judgement) -> int:
        return self.kinds.setdefault(judgement, len(self.kinds))

    def _judgement(self, row: Any) -> Judgement:
        seen = row.key in self._reviewed or bool(getattr(row, "reviewed", False))
        unreviewed = self._needs_people and not seen and (self._asked is None or self._asked(row))
        if any(
            place_of(parent, ids) is not None for ids in self._makers_held_back for parent in row.provenance.parents
        ):
            return Judgement(MADE_OF)
        if unreviewed and not self._allow_unreviewed:
            return Judgement(UNREVIEWED)
        if not seen and not self._allow_unreviewed and self._reviewed_before.get(row.key, row.id) != row.id:
            return Judgement(CHANGED)
        if unreviewed:
            return Judgement(decision=UNREVIEWED_ALLOWED)
        return Judgement(decision=self._decision(row) if seen else None)

    def hold_back(self, faults: Sequence[Fault]) -> None:
        """Hold back the rows with faults, and those beside them. Raises `Failed` for a fault of no row and no group.

        A fault is that of the rows with its id or, if there are none, of the group of rows of that name.
        """
        if not faults:
            return
        names = {fault.id for fault in faults}
        ids = names.intersection(id_ for id_, _ in self._names())
        groups = (names - ids).intersection(group for _, group in self._names())
        if (fault := next((fault for fault in faults if fault.id not in ids | groups), None)) is not None:
            raise Failed(
                f"{self._project.out}: {self._family.name}-{self._part.name}: {fault.id}: {fault.problem}; this "
                f"concerns no single row: build it again, then `touchstone verify {self._family.name}`"
            )
        faulty, beside = self._number(Judgement(FAULTY)), self._number(Judgement(BESIDE))
        faulty_groups: set[str] = set()
        for place, (id_, group) in enumerate(self._names()):
            if id_ in ids or group in groups:
                self.judged[place] = faulty
                faulty_groups.add(group)
        may_go = {number for kind, number in self.kinds.items() if kind.held_back is None}
        for place, (_, group) in enumerate(self._names()):
            if group in faulty_groups and self.judged[place] in may_go:
                self.judged[place] = beside

    def ids_held_back(self) -> Hashes:
        """Return the ids of the rows that may not be released."""
        numbers = {number for kind, number in self.kinds.items() if kind.held_back is not None}
        if numbers.isdisjoint(self.judged):
            return sorted_hashes(())
        held_back = (number in numbers for number in self.judged)
        return sorted_hashes(
            id_ for (id_, _), is_held_back in zip(self._names(), held_back, strict=True) if is_held_back
        )

    def _names(self) -> Iterator[tuple[str, str]]:
        """Yield the id of each row, and the name of its group."""
        for path in accepted_files(self._project, self._family.name, self._part.name):
            for batch in read_batches(path, sorted({"id", self._together})):
                yield from ((row["id"], str(row[self._together])) for row in batch.rows())


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


def rejected_of(project: Project, family: Family, part: Part) -> Iterator[Rejected]:
    """Yield the part's sifted records that people rejected or retired."""
    last = project.build.stages(family, part)[-1]
    dropped = project.build.read(last).dropped() if last.step == PEOPLE else ()
    why = {drop.key: drop.reason for drop in dropped}
    sifted = project.build.sifted(family, part) if why else ()
    yield from (Rejected(record, why[record.key]) for record in sifted if record.key in why)
