"""Hears how a build goes on. Stages run side by side and report from threads of their own."""

from typing import Protocol, runtime_checkable

from flows.construct.stages import StageRef
from flows.llm.model import Usage
from schemas.manifest import StageManifest


@runtime_checkable  # Prefect derives a schema of the flow, which asks isinstance of it
class ProgressListener(Protocol):
    """Hears how a build goes on."""

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        """A stage begins; `total` is its number of shards, or None where it is a single piece.

        `calls` is how often it is expected to ask models; 0 where it asks none or the number is not known.
        """

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """A stage goes on."""

    def called(self, ref: StageRef, usage: Usage) -> None:
        """A prompt of a stage was answered or given up, with its usage."""

    def blocked(self, ref: StageRef, by: str) -> None:
        """A stage waits for another run that makes it now."""

    def waited(self) -> None:
        """Called about once a second, whether or not anything happened."""

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """A stage is finished; `before` where it was finished when the build began.

        `example`, where the stage ends the part that a person would read first, is its first record as text.
        """


class NoProgress:
    """Nobody listens: a scheduled build."""

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None: ...
    def advanced(self, ref: StageRef, done: int, total: int) -> None: ...
    def called(self, ref: StageRef, usage: Usage) -> None: ...
    def blocked(self, ref: StageRef, by: str) -> None: ...
    def waited(self) -> None: ...
    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None: ...
