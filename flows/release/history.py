"""What a release says of its rows' history: the day that it is made on, and why rows were retired."""

import datetime
import logging
import os
from collections.abc import Iterator, Mapping, Sequence, Set

from data.publish.folder import Release
from data.publish.history import Name
from data.publish.reading import read_batches
from flows.project.output_files import accepted_files
from flows.project.project import Project
from flows.release.gate import Gated, rejected_of
from schemas.errors import WrongInput

_log = logging.getLogger(__name__)

NO_LONGER_MADE = "no longer made from the sources"
HELD_BACK = "held back"
MADE_FROM = "made from what was"
EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable with which builds that are to be the same on any day are dated."""


def release_date() -> str:
    """Return today's date, UTC, or that of `SOURCE_DATE_EPOCH`. Raises `WrongInput` if that is none."""
    epoch = os.environ.get(EPOCH)
    if not epoch:
        return datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        if not (epoch.isascii() and epoch.isdecimal()):
            raise ValueError(epoch)
        return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).date().isoformat()
    except (ValueError, OverflowError, OSError) as error:
        raise WrongInput(
            f"{EPOCH}: expected whole seconds since 1970, before the year 10000, such as 1777593600 (found "
            f"{epoch[:40]!r}); correct it, or unset it to take today's date"
        ) from error


def tell_of_clock(before: Release | None) -> None:
    """Tell if the version before is dated after today: then the clock is wrong, or was."""
    if before is not None and (before.manifest.date or "") > release_date():
        _log.warning(
            "%s: dated %s, which is after %s, today; check the clock",
            before.folder, before.manifest.date, release_date(),
        )  # fmt: skip


def reasons_of(
    project: Project, gated: Sequence[Gated], before: Release | None, gone: Sequence[Name]
) -> Mapping[Name, str]:
    """Return why rows of the version before are in none now: people, the gate, a step, or the sources.

    A row that is made from one that people rejected or retired, through any number of rows, went for the same reason.
    """
    wanted = {key for _, key in gone}
    by_key: dict[str, str] = {}
    for judged in gated:
        family, part = judged.family, judged.part
        for ref in project.build.stages(family, part):
            for drop in project.build.read(ref).dropped():
                if drop.key in wanted:
                    by_key[drop.key] = drop.reason
        keys = (
            key
            for path in accepted_files(project, family.name, part.name)
            for batch in read_batches(path, ["key"])
            for key in batch.values["key"].to_pylist()
        )
        for key, judgement in zip(keys, judged, strict=False):
            if key in wanted:
                by_key[key] = f"{HELD_BACK}: {judgement.held_back}" if judgement.held_back else "private"
        by_key |= {record.key: why for record, why in judged.rejected if record.key in wanted}
    if before is not None:
        by_key |= dict(_made_from_rejected(project, before, wanted - by_key.keys()))
    return {name: by_key.get(name[1], NO_LONGER_MADE) for name in gone}


def _made_from_rejected(project: Project, before: Release, wanted: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of the wanted rows of the version before that are made from what verdicts dropped, with why."""
    rejected = [one for family, part in project.build.parts() for one in rejected_of(project, family, part)]
    why_of_id = {record.id: why for record, why in rejected}
    why_of_key = {record.key: why for record, why in rejected}
    rows: dict[str, tuple[str, list[str]]] = {}
    for config in before.manifest.configs if rejected and wanted else ():
        for path in config.files if "provenance" in config.fields else ():
            for batch in read_batches(before.folder / path, ["key", "id", "provenance"]):
                for row in batch.rows():
                    if row["key"] in wanted:
                        rows[row["id"]] = row["key"], row["provenance"]["parents"]
                    elif row["key"] in why_of_key:  # as people had corrected it, it had another id
                        why_of_id[row["id"]] = why_of_key[row["key"]]
    found = why_of_id
    while found:
        found = {
            id_: found[parent]
            for id_, (_, parents) in rows.items()
            for parent in parents
            if parent in found and id_ not in why_of_id
        }
        why_of_id |= found
        yield from ((rows[id_][0], f"{MADE_FROM} {why}") for id_, why in found.items())
