"""The records of a finished part that people have accepted, and which verdicts count."""

from collections.abc import Collection, Iterator

from flows.construct.engine import Family, Part
from flows.construct.stages import PEOPLE, Build, StageRef
from schemas.base import content_hash, counted
from schemas.verdict import Verdict


def reviewed_keys(build: Build, family: Family, part: Part) -> frozenset[str]:
    """Return the keys of a finished part's records that people accepted or fixed in their present state.

    Records made from records that people accept one by one are accepted with them.
    """
    if part.people is None:
        return _inherited(build, family, part)
    verdicts = build.verdicts(family.name, part.name)
    return frozenset(key for key in judged_keys(build, family, part) if verdicts[key].decision != "reject")


def judged_keys(build: Build, family: Family, part: Part) -> frozenset[str]:
    """Return the keys of a finished part's records that have a verdict in their present state."""
    verdicts = build.verdicts(family.name, part.name)
    sifted = build.sifted(family, part) if verdicts else ()
    return frozenset(
        record.key
        for record in sifted
        if (verdict := verdicts.get(record.key)) is not None and verdict.view_hash == record.view_hash
    )


def is_current(build: Build, family: Family, part: Part) -> bool:
    """True if a finished part was built with the present verdicts."""
    if part.people is None:
        return True
    last = build.stages(family, part)[-1]
    verdicts = bool(build.verdicts(family.name, part.name))
    if last.step != PEOPLE or not verdicts:
        return (last.step == PEOPLE) == verdicts
    return content_hash(build.dependencies(last)) == build.fingerprint(last)


def verdicts_on_no_record(ref: StageRef, verdicts: int, stale: int, strangers: Collection[Verdict]) -> Iterator[str]:
    """Yield a line for each reason why some of a part's verdicts do not count.

    A verdict that was pulled was on a record: if that is gone, nothing is wrong. One that was written by hand may have
    a wrong key.
    """
    name = f"{ref.family}-{ref.part}"
    pulled = sum(bool(verdict.at) for verdict in strangers)
    if pulled:
        yield (
            f"verdicts/{name}.jsonl: {pulled:,} of {counted(verdicts, 'verdict')} rest: what they judged is no longer "
            "made, since a text that it was made from was rejected, dropped or changed"
        )
    for number, why in (
        (stale, "`view_hash` is not that of the record, which has changed: decide again"),
        (len(strangers) - pulled, "`key` is that of no record: correct it, unless what they judged was dropped since"),
    ):
        if number:
            yield (
                f"verdicts/{name}.jsonl: {number:,} of {verdicts:,} verdicts do not count, as their {why}; "
                f"sifted/{name}.parquet has the records' names"
            )


def fewer_than_wanted(build: Build, ref: StageRef, given: int, rejected: int) -> Iterator[str]:
    """Yield a line if verdicts dropped some of a part's records and fewer are left than the settings want."""
    steps, settings = build.part(ref).steps, build.families[ref.family].settings
    wanted = next((step.expected.kept(settings) for step in reversed(steps) if step.expected.kept is not None), 0)
    if rejected and build.limit is None and given - rejected < wanted:
        yield f"{given - rejected:,} of {wanted:,} wanted are left: verdicts dropped {rejected:,}"


def _inherited(build: Build, family: Family, part: Part) -> frozenset[str]:
    ids: set[str] = set()
    for maker in family.makers(part):
        if maker.people is not None and maker.people.share == "every":
            keys = reviewed_keys(build, family, maker)
            ids.update(record.id for record in build.accepted(family.name, maker.name) if record.key in keys)
    rows = build.accepted(family.name, part.name) if ids else ()
    return frozenset(row.key for row in rows if not ids.isdisjoint(row.provenance.parents))
