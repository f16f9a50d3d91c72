"""Listeners to the progress of a build. Stages run in parallel and report from threads of their own."""

from flows.construct.stages import StageRef
from flows.llm.model import Usage
from schemas.manifest import StageManifest


class ProgressListener:
    """Receives reports on the progress of a build; this one ignores them, as scheduled builds do."""

    def started(self, ref: StageRef, total: int | None, calls: int = 0) -> None:
        """A stage begins, with `total` records or files to do (None for a single piece of work).

        `calls` is how often it is expected to ask models; 0 if it asks none, or the number is not known.
        """

    def advanced(self, ref: StageRef, done: int, total: int) -> None:
        """A stage has finished `done` of its records or files."""

    def called(self, ref: StageRef, usage: Usage) -> None:
        """A prompt of a stage was answered or given up, with this usage."""

    def blocked(self, ref: StageRef, by: str) -> None:
        """A stage waits for another run that is making it."""

    def waited(self) -> None:
        """Some time has passed, whether or not anything happened."""

    def noted(self, note: str) -> None:
        """The build says something that concerns no stage, such as how many requests of a batch are back."""

    def stopping(self) -> None:
        """The build was told to stop, and waits for what runs; called in the thread that was interrupted."""

    def finished(self, ref: StageRef, manifest: StageManifest, *, before: bool, example: str | None) -> None:
        """A stage is finished; `before` if it already was when the build began.

        `example` is its first record, if the stage ends the part that a person would read first.
        """
