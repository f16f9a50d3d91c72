"""Somebody who watches a build."""

from typing import Protocol, runtime_checkable

from flows.construct.stages import StageRef
from schemas.manifest import StageManifest


@runtime_checkable  # Prefect derives a schema of the flow, which asks isinstance of it
class Watcher(Protocol):
    """Somebody who watches a build."""

    def started(self, ref: StageRef, total: int | None) -> None:
        """A stage begins; `total` is its number of shards, or None where it is one piece."""

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """A stage goes on."""

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """A stage is finished; `before` where it was so when the build began.

        `example`, where the stage ends the part that a person would read first, is its first record.
        """


class Unwatched:
    """Nobody watches: a scheduled build."""

    def started(self, ref: StageRef, total: int | None) -> None: ...
    def advanced(self, ref: StageRef, done: int, total: int) -> None: ...
    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None: ...
