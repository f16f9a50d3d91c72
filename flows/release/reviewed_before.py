"""The rows that people had reviewed in the last version that had them: once they change, they wait for people again."""

from collections.abc import Iterable, Mapping

from data.publish.folder import Release
from data.publish.reading import read_batches
from flows.construct.engine import Family, Part


def reviewed_before(releases: Iterable[Release], family: Family, part: Part) -> Mapping[str, str]:
    """Return the id of each such row by its key; none if people do not see the part. `releases` come oldest first."""
    reviewed: dict[str, str] = {}
    for release in releases if part.people is not None else ():
        for config in release.manifest.configs:
            for path in config.files if (config.family, config.part) == (family.name, part.name) else ():
                for batch in read_batches(release.folder / path, ["key", "id", "reviewed"]):
                    for row in batch.rows():
                        reviewed.pop(row["key"], None)
                        if row["reviewed"]:
                            reviewed[row["key"]] = row["id"]
    return reviewed
