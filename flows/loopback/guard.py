"""The guard before a server of this machine. It lets in the server's own pages and programs, and no other site's pages.

A page of any site may send requests to this machine from its reader's browser. It may also have its own name lead here,
so that the browser takes the server for a part of that site.
"""

import base64
import hmac
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""The names by which a browser may call a server of this machine."""
ANOTHERS = "it answers no page of another site"
UNFRAMED = ((b"x-frame-options", b"SAMEORIGIN"), (b"content-security-policy", b"frame-ancestors 'self'"))
"""Headers that keep other sites from showing the pages inside their own, where a click could be stolen."""


def origins(port: int) -> list[str]:
    """Return the origins of the pages of the server at this port."""
    return [f"http://{name}:{port}" for name in NAMES]


def refusal(method: str, headers: Mapping[str, str], public: str | None = None) -> str | None:
    """Return why a request is refused, None if it is not. `headers` are by their names in lower case.

    `public` is the origin by which people come through a proxy, such as `https://labels.example.org`.

    Programs send neither an origin nor the `Sec-Fetch` headers, which a page cannot leave out or choose.
    """
    name, colon, port = headers.get("host", "").lower().partition(":")
    names = [*NAMES, *([urlsplit(public).hostname] if public else [])]
    if name not in names:
        return f"this server answers to the names {', '.join(map(str, names))} alone"
    if (origin := headers.get("origin")) is not None:
        return None if origin in [public, *(f"http://{own}{colon}{port}" for own in NAMES)] else ANOTHERS
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return None
    opens_page = (
        method == "GET" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return None if opens_page else ANOTHERS


class Guard:
    """An application behind the guard; with a `login`, as name:password, for whoever logs in with it (HTTP Basic)."""

    def __init__(self, app: App, login: str | None = None) -> None:
        self._app = app
        self._login = login

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        why, status, more = refusal(scope.get("method", "GET"), headers), 403, dict[bytes, bytes]()
        if why is None and self._login is not None and not _logs_in(headers.get("authorization", ""), self._login):
            why, status, more = "log in", 401, {b"www-authenticate": b'Basic realm="Touchstone", charset="UTF-8"'}
        if why is None:
            await self._app(scope, receive, _unframed(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            plain = [(b"content-type", b"text/plain; charset=utf-8"), *more.items()]
            await send({"type": "http.response.start", "status": status, "headers": plain})
            await send({"type": "http.response.body", "body": f"touchstone: {why}\n".encode()})


def _logs_in(authorization: str, login: str) -> bool:
    scheme, _, given = authorization.partition(" ")
    expected = base64.b64encode(login.encode())
    return scheme.lower() == "basic" and hmac.compare_digest(given.strip().encode(), expected)


def _unframed(send: Send) -> Send:
    """Return a `send` that adds the headers, unless the application sets its own."""

    async def unframed(message: Message) -> None:
        if message["type"] == "http.response.start":
            has = {name.lower() for name, _ in message["headers"]}
            added = [(name, value) for name, value in UNFRAMED if name not in has]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return unframed
