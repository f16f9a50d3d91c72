"""Somebody who watches a build. Stages run side by side, and tell of themselves from threads of their own."""

from typing import Protocol, runtime_checkable

from flows.construct.stages import StageRef
from flows.llm.model import Usage
from schemas.manifest import StageManifest


@runtime_checkable  # Prefect derives a schema of the flow, which asks isinstance of it
class Watcher(Protocol):
    """Somebody who watches a build."""

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        """A stage begins; `total` is its number of shards, or None where it is one piece.

        `calls` is how often it is expected to ask models; 0 where it asks none, or nobody can tell.
        """

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """A stage goes on."""

    def called(self, ref: StageRef, usage: Usage) -> None:
        """A prompt of a stage was answered, or given up, and took that."""

    def blocked(self, ref: StageRef, by: str) -> None:
        """A stage waits for another run, which makes it now."""

    def waited(self) -> None:
        """A moment has passed in which nothing need have happened."""

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """A stage is finished; `before` where it was so when the build began.

        `example`, where the stage ends the part that a person would read first, is its first record.
        """


class Unwatched:
    """Nobody watches: a scheduled build."""

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None: ...
    def advanced(self, ref: StageRef, done: int, total: int) -> None: ...
    def called(self, ref: StageRef, usage: Usage) -> None: ...
    def blocked(self, ref: StageRef, by: str) -> None: ...
    def waited(self) -> None: ...
    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None: ...
