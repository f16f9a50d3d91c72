"""One call finds out what a server takes and offers, while the others wait."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from flows.llm.model import TransportError


class Probe:
    """Lets the calls to a server go one by one until what they need to know of it is known. Belongs to one loop."""

    def __init__(self) -> None:
        self._running: asyncio.Future[None] | None = None
        """Done when the call that finds out is over."""

    async def over(self) -> None:
        """Wait for the call that finds out, if it is running, and fail with it."""
        if self._running is not None:
            await asyncio.shield(self._running)

    def turn(self, is_known: Callable[[], bool]) -> AbstractAsyncContextManager[None]:
        """Wait until `is_known`, or go first and find out; if that call fails in transport, those that wait do too."""
        return nullcontext() if is_known() else self._first_turn(is_known)

    @asynccontextmanager
    async def _first_turn(self, is_known: Callable[[], bool]) -> AsyncIterator[None]:
        while not is_known():
            if self._running is not None:
                await asyncio.shield(self._running)
                continue
            running = self._running = asyncio.get_running_loop().create_future()
            try:
                yield
            except TransportError as error:
                running.set_exception(error)
                running.exception()  # whoever waits gets it; if nobody does, it is not to be printed
                raise
            finally:
                self._running = None
                if not running.done():
                    running.set_result(None)
            return
        yield
