"""The event loop on which all of a project's model calls run, whichever thread waits for them."""

import asyncio
import logging
import threading
from collections.abc import Collection, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from flows.llm.endpoint import Endpoint
from schemas.errors import Failed

_log = logging.getLogger(__name__)

T = TypeVar("T")
SILENT_S = 0.3
"""Seconds for which open calls are waited for before a person is told so."""


class ModelLoop:
    """Runs coroutines for threads that wait for their results, until it is stopped."""

    def __init__(self) -> None:
        self.stopped = False
        """True once a shard has failed or the build ends: nothing new starts."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()
        self._work: set[Future[Any]] = set()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin `work`. Raises `Failed` after a stop."""
        if self.stopped:
            work.close()
            raise Failed("the build was stopped; run it again to go on")
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="models", daemon=True).start()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._work.add(future)
        future.add_done_callback(self._work.discard)
        if self.stopped:  # in the moment between
            future.cancel()
        return future

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` and wait for its result. Raises `Failed` after a stop."""
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()  # after an interruption nothing more is asked

    def stop(self) -> None:
        """Let nothing new start, and cancel what waits for models, or the threads that wait for it would never end.

        Calls that were already sent still reach the cache through their endpoint.
        """
        self.stopped = True
        for future in list(self._work):
            future.cancel()

    def close(self, endpoints: Collection[Endpoint], wait_s: float) -> None:
        """Close the endpoints, waiting up to `wait_s` seconds for calls that were sent, and end the loop."""
        if self._loop is not None:
            if endpoints:
                asyncio.run_coroutine_threadsafe(_close(endpoints, wait_s), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)


async def _close(endpoints: Collection[Endpoint], wait_s: float) -> None:
    """Close endpoints side by side; calls that are not answered in time are given up."""
    closing = {asyncio.create_task(endpoint.aclose()) for endpoint in endpoints}
    _, left = await asyncio.wait(closing, timeout=SILENT_S)
    if left:
        _log.warning("stopping: waiting for calls that were sent, %.0f s at most", wait_s)
        _, left = await asyncio.wait(left, timeout=wait_s - SILENT_S)
    if left:
        calls = asyncio.all_tasks() - closing - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    await asyncio.gather(*closing)
