"""What is told of a model's batches: what was sent, how many requests are back, and how each batch ended."""

import math
import time
from collections.abc import Callable

from flows.llm.batch_api import BatchState
from flows.llm.batch_records import BatchNote
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import TransportError
from schemas.base import counted

FAULT_EVERY_S = 60.0
TELL_SHARE, LONGEST_SILENCE_S = 0.1, 3600.0
"""Progress is told whenever another such share of a batch is back, and at least once in so many seconds."""


class BatchProgress:
    """Tells lines about the batches of a model."""

    def __init__(self, settings: EndpointSettings, tell: Callable[[str], None]) -> None:
        self._settings = settings
        self._tell = tell

    def sent(self, note: BatchNote) -> None:
        """Tell of a batch that the server has taken."""
        self._tell(f"{self._settings.name}: {counted(note.requests, 'request')} sent in batch {note.batch_id}")

    def found(self, note: BatchNote) -> None:
        """Tell of a batch that another process has sent, and that is waited for now."""
        line = (
            f"{self._settings.name}: waiting for batch {note.batch_id} of {counted(note.requests, 'request')}, sent "
            f"{note.made.astimezone():%Y-%m-%d %H:%M}"
        )
        if not self._settings.batch:
            line += f"; to ask them at once, stop and run `touchstone batches --cancel {note.batch_id}`"
        self._tell(line)

    def of(self, note: BatchNote) -> Callable[[BatchState | TransportError], None]:
        """Return a function that tells how many requests are back, at each tenth or after a long silence, and faults.

        A fault has had its retries; it is told at most once in `FAULT_EVERY_S`.
        """
        told, told_at = 0, time.monotonic()
        fault_at = -math.inf

        def look(state: BatchState | TransportError) -> None:
            nonlocal told, told_at, fault_at
            if isinstance(state, TransportError):
                if time.monotonic() < fault_at + FAULT_EVERY_S:
                    return
                fault_at = time.monotonic()
                self._tell(f"{self._settings.name}: still waiting for batch {note.batch_id}: {state}")
                return
            now = time.monotonic()
            if state.back < told + TELL_SHARE * note.requests and now < told_at + LONGEST_SILENCE_S:
                return
            told, told_at = state.back, now
            self._tell(
                f"{self._settings.name}: {state.back:,} of {counted(note.requests, 'request')} are back of batch "
                f"{state.batch_id} ({state.status})"
            )

        return look

    def ended(self, note: BatchNote, state: BatchState, replies: int, unreadable: int) -> None:
        """Tell how many replies a batch has brought, and how many lines of its files cannot be read."""
        left, lost = note.requests - replies, state.answered - replies
        more = f", {left:,} without an answer" if left else ""
        if lost > 0:
            more += f", of which {lost:,} {'is' if lost == 1 else 'are'} paid for"
        if unreadable:
            more += f" ({counted(unreadable, 'line')} of the server's files cannot be read)"
        back = counted(replies, "answer")
        self._tell(f"{self._settings.name}: batch {state.batch_id} is {state.status}: {back}{more}")
