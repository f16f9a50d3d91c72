"""Prefect's server behind the guard: Prefect itself answers to any name, and to pages of all sites.

Its login is Prefect's own setting, `PREFECT_SERVER_API_AUTH_STRING`.
"""

import asyncio
import fcntl
import os
from pathlib import Path

from flows.loopback.guard import App, Guard, Message, Receive, Send

LOCK = "start.lock"


def guarded_app() -> App:
    """Return the server as the environment sets it."""
    from prefect.server.api.server import create_app  # seconds, and of no use to a command

    return Guard(OneStart(create_app(), Path(os.environ["PREFECT_HOME"]) / LOCK))


class OneStart:
    """An application that starts while no other with the same lock does: two would make one database, and one fail."""

    def __init__(self, app: App, lock: Path) -> None:
        self._app, self._lock = app, lock

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, and the start once it may begin."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        with self._lock.open("a") as lock:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)

            async def sent(message: Message) -> None:
                if message["type"].startswith("lifespan.startup."):
                    fcntl.flock(lock, fcntl.LOCK_UN)
                await send(message)

            await self._app(scope, receive, sent)
