"""The records of a finished part that people have accepted, and a check that the build has the present verdicts."""

from flows.construct.engine import Family, Part
from flows.construct.stages import PEOPLE, Build
from schemas.base import content_hash


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


def _inherited(build: Build, family: Family, part: Part) -> frozenset[str]:
    ids: set[str] = set()
    for maker in family.makers(part):
        if maker.people is not None and maker.people.share == "every":
            keys = reviewed_keys(build, family, maker)
            ids.update(record.id for record in build.accepted(family.name, maker.name) if record.key in keys)
    rows = build.accepted(family.name, part.name) if ids else ()
    return frozenset(row.key for row in rows if not ids.isdisjoint(row.provenance.parents))
