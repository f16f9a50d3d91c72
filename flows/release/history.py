"""What a release says of its rows' history: the day that it is made on, and why rows were retired."""

import datetime
import os
from collections.abc import Mapping, Sequence

from data.publish.history import Name
from data.publish.reading import read_batches
from flows.project.output_files import accepted_files
from flows.project.project import Project
from flows.release.gate import REJECTED, Gated

NO_LONGER_MADE = "no longer made from the sources"
HELD_BACK = "held back"
EPOCH = "SOURCE_DATE_EPOCH"
"""The environment variable with which builds that are to be the same on any day are dated."""


def release_date() -> str:
    """Return today's date, UTC, or that of `SOURCE_DATE_EPOCH`."""
    if (epoch := os.environ.get(EPOCH, "")).isdecimal():
        return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).date().isoformat()
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def reasons_of(project: Project, gated: Sequence[Gated], gone: Sequence[Name]) -> Mapping[Name, str]:
    """Return why rows of the version before are in none now: people, the gate, a step, or the sources."""
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
        for record in judged.rejected:
            if record.key in wanted:
                by_key[record.key] = REJECTED
    return {name: by_key.get(name[1], NO_LONGER_MADE) for name in gone}
