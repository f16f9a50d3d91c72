"""Which records of a finished part people have accepted, and whether their verdicts are those of the build."""

from flows.construct.engine import Family, Part
from flows.construct.stages import PEOPLE, Build, StageRef
from schemas.base import content_hash


def reviewed_keys(build: Build, family: Family, part: Part) -> frozenset[str]:
    """The keys of a finished part's records that people accepted, or mended, as they stand.

    What is made of records that people have to accept one by one is accepted with them.
    """
    if part.people is None:
        return _inherited(build, family, part)
    verdicts = build.verdicts(family.name, part.name)
    sifted = build.read(StageRef(family.name, part.name, part.steps[-1].name)) if verdicts else ()
    return frozenset(
        record.key
        for record in sifted
        if (verdict := verdicts.get(record.key)) is not None
        and verdict.view_hash == record.view_hash
        and verdict.decision != "reject"
    )


def is_current(build: Build, family: Family, part: Part) -> bool:
    """Whether a finished part was built with the verdicts that are there now."""
    if part.people is None:
        return True
    last = build.stages(family, part)[-1]
    verdicts = bool(build.verdicts(family.name, part.name))
    if last.step != PEOPLE or not verdicts:
        return (last.step == PEOPLE) == verdicts
    return content_hash(build.dependencies(last)) == build.fingerprint(last)


def _inherited(build: Build, family: Family, part: Part) -> frozenset[str]:
    ids: set[str] = set()
    for maker in family.makers(part):
        if maker.people is not None and maker.people.share == "every":
            keys = reviewed_keys(build, family, maker)
            ids.update(one.id for one in build.accepted(family.name, maker.name) if one.key in keys)
    rows = build.accepted(family.name, part.name) if ids else ()
    return frozenset(row.key for row in rows if not ids.isdisjoint(row.provenance.parents))
