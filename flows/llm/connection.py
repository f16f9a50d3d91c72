"""Requests to a server of the OpenAI protocol, with their retries, and errors that say what to do.

The SDK retries after 408, 409, 429, 5xx and dropped connections, and heeds
Retry-After. Cases that it does not handle are handled here: a server that hangs, and a reply that cannot be read.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from flows.llm.chat_format import Reply, offered_window, read_failure, read_log_probabilities, read_reply
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Limits
from flows.llm.model import ModelSetupError, TransportError
from flows.llm.refusal import RefusedRequest, read_refusal
from schemas.base import counted, visible
from schemas.errors import innermost

if TYPE_CHECKING:
    import httpx2
    import openai

    from flows.llm.client import AsyncOpenAI

T = TypeVar("T")
CONNECT_S = 10.0
"""How long it may take to connect, in seconds."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
"""After an unreadable reply the pause doubles from the first to the longest, in seconds."""

SILENT_TRIES = 2
"""A server that takes a request and says nothing is asked once more, whatever `max_retries`: a hanging server is given
up after twice `timeout_s`, and a shard that met it is not tried again. Silences of one that has too much to do count
towards `max_retries` alone."""

PASSING = (408, 409, 429, *range(500, 600))
"""Statuses after which the SDK tries again. If a reply of status 200 reports one of them, we do."""

SHOWN_CHARACTERS = 300
"""How much of a server's own message an error shows."""

MOST_REPLY_BYTES = 2**26
"""Of a reply once it is decoded: the log-probabilities of half a million tokens, at 128 bytes each."""

MOST_FILE_BYTES = 2**31
"""Of a batch's file of replies: 50,000 of 43 KB."""

NO_KEY = "no-key"
"""Sent to a server without keys, because the protocol requires one."""
SHORTEST_SECRET = 8
"""A shorter key may be part of any text, so no message hides it."""
FEWEST_AT_MASK = 4
"""This many characters of a key around a mask (`...`, `****`) are parts of the key, not a coincidence."""
_MASK = re.compile(r"\.{2,}|…+|[*•xX#]{3,}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")

KEPT = "run again: what was answered is kept"


class ApiKeyError(ModelSetupError):
    """The environment variable that should hold a model's key holds none."""


class UnusableServerError(TransportError):
    """The server answers as no model's server should; asking again changes nothing."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=False)


@dataclass(frozen=True)
class Route:
    """An address under `base_url`, and how its replies are read."""

    name: str
    path: str
    read: Callable[[bytes], Reply | None]


CHAT = Route("chat completion", "/chat/completions", read_reply)
COMPLETION = Route("completion", "/completions", read_log_probabilities)


class Connection:
    """Sends requests to a server. Raises `ApiKeyError` if the named environment variable holds no key."""

    def __init__(self, settings: EndpointSettings, limits: Limits) -> None:
        self.where = f"model {settings.name} at {settings.base_url}"
        self._settings = settings
        self._limits = limits
        self._key = api_key(settings.api_key_env)
        self._opened: AsyncOpenAI | None = None

    async def post(self, body: bytes, route: Route) -> Reply:
        """The reply to a request; raises `RefusedRequest` and `TransportError`."""
        import aiohttp
        import openai

        pause, unreadable, silences = FIRST_PAUSE_S, "", 0
        for tries_left in reversed(range(self._settings.max_retries + 1)):
            try:
                # The reply is checked here: the SDK's own types would be wasted work.
                response = await self._client.send(route.path, body)
            except openai.APIStatusError as error:
                if "x-touchstone-silence" not in error.response.headers:
                    raise self.refusal(error.status_code, error.body) from None
                silences += not self._limits.silent(self._settings.timeout_s)
                if silences == SILENT_TRIES or not tries_left:
                    raise self._silent(silences) from None
                await self._limits.again()
            except openai.APIConnectionError as error:
                raise self._unreachable(error, self._settings.max_retries + 1) from None
            except aiohttp.ClientError as error:  # a reply that is not HTTP; the transport lets it through
                unreadable = str(error)
            except (UnicodeError, AssertionError) as error:  # an error whose charset the SDK cannot read
                unreadable = f"{type(error).__name__} {error}"
            else:
                reply = route.read(response.content)
                if reply is not None:
                    self._limits.succeeded(response.request.extensions["sent_at"], self._settings.timeout_s)
                    return reply
                self._check_failure(response, tries_left)
                unreadable = response.content.decode("utf-8", "replace")
            if tries_left:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        raise TransportError(
            f"{self.where}: replied with something that is no {route.name} ({self._short(unreadable)}); "
            f"check that base_url speaks the OpenAI protocol of {route.name}s",
            transient=False,
        )

    async def call(self, work: "Callable[[openai.AsyncOpenAI], Awaitable[T]]") -> T:
        """What `work` makes of the SDK's client, without its retries; raises `RefusedRequest` and `TransportError`."""
        import aiohttp
        import openai

        try:
            return await work(self._client.with_options(max_retries=0))
        except openai.APIStatusError as error:
            if "x-touchstone-silence" in error.response.headers:
                raise self._silent(1) from None
            raise self.refusal(error.status_code, error.body) from None
        except openai.APIConnectionError as error:
            raise self._unreachable(error, 1) from None
        except (aiohttp.ClientError, openai.APIError, ValueError, AttributeError) as error:
            # No HTTP, no JSON, half of a file, or an answer without what belongs into it.
            raise TransportError(
                f"{self.where}: replied with something that cannot be read ({self._short(str(error))})"
            ) from None

    def refusal(self, status: int, body: object) -> RefusedRequest:
        """A refusal of this status and content."""
        return read_refusal(status, body, self._short)

    async def listed_window(self) -> int | None:
        """The model's window as the server's list of models has it; None if it has none."""
        import httpx2
        import openai

        try:
            listed = await self._client.get("/models", cast_to=httpx2.Response)
        except (openai.APIError, UnusableServerError):
            return None
        return offered_window(listed.content, self._settings.name)

    async def aclose(self) -> None:
        """Close the connections; a later request reopens them."""
        if self._opened is not None:
            client, self._opened = self._opened, None
            await client.close()

    def failure(self, refused: RefusedRequest) -> TransportError:
        """The error for a request that was refused for good: what happened and what to do."""
        status, message = refused.status, f" ({refused.message})" if refused.message else ""
        retries, variable = f"after {self._settings.max_retries} retries", self._settings.api_key_env
        if status in (401, 403) and variable:
            problem = f"the key in the environment variable {variable} was refused ({status}); set it to a valid key"
        elif status in (401, 403):
            problem = f"a key is asked for ({status}); name the environment variable that holds it in api_key_env"
        elif status == 404:
            problem = f"not found (404){message}; check name and base_url (which ends in /v1 at most servers)"
        elif status == 429 and refused.code == "insufficient_quota":
            problem = f"the account has no money left (429){message}; top it up"
        elif status == 429:
            problem = (
                f"too many requests (429) {retries}{message}; set requests_per_minute or lower concurrency, and {KEPT}"
            )
        elif status >= 500:
            problem = f"server error {status} {retries}{message}; run again later: what was answered is kept"
        else:
            advice = "; set structured: auto" if refused.is_about_form else ""
            problem = f"the request was refused ({status}){message}{advice}"
        transient = status >= 500 or (status == 429 and refused.code != "insufficient_quota")
        return TransportError(f"{self.where}: {problem}", transient=transient)

    @property
    def _client(self) -> "AsyncOpenAI":
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> "AsyncOpenAI":
        import openai

        from flows.llm.client import AsyncOpenAI, HttpClient

        settings = self._settings
        timeout = openai.Timeout(settings.timeout_s, connect=min(CONNECT_S, settings.timeout_s))
        hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [self._before_send],
            "response": [self._after_send],
        }
        return AsyncOpenAI(
            api_key=self._key,
            base_url=settings.base_url,
            timeout=timeout,
            max_retries=settings.max_retries,
            # A redirect would send texts, or the key, to a server that nobody has named.
            http_client=HttpClient(timeout=timeout, event_hooks=hooks, follow_redirects=False),
        )

    async def _before_send(self, request: "httpx2.Request") -> None:
        # The SDK's retries pass here too: they count towards the requests per minute.
        request.extensions["sent_at"] = await self._limits.send()

    async def _after_send(self, response: "httpx2.Response") -> None:
        from flows.llm.client import read

        if response.status_code == 429:
            self._limits.too_many(response.request.extensions["sent_at"])
        if response.has_redirect_location:
            asked, location = str(response.request.url), response.headers["Location"]
            raise UnusableServerError(f"{self.where}: {self._short(sent_on(self._settings.base_url, asked, location))}")
        most = MOST_FILE_BYTES if response.request.url.path.endswith("/content") else MOST_REPLY_BYTES
        if not await read(response, most):
            raise UnusableServerError(
                f"{self.where}: replied with more than {most // 2**20:,} MB, which no answer takes; check base_url"
            )

    def _check_failure(self, response: "httpx2.Response", tries_left: int) -> None:
        """Treat an error that came with status 200 as an error of its own status; raise it unless it is tried again."""
        failed = read_failure(response.content)
        if failed is None:
            return
        if failed[0] == 429:
            self._limits.too_many(response.request.extensions["sent_at"])
        if not tries_left or failed[0] not in PASSING:
            raise self.refusal(*failed)

    def _silent(self, tries: int) -> TransportError:
        times = "one try" if tries == 1 else f"{tries} tries"
        return TransportError(
            f"{self.where}: no answer within {self._settings.timeout_s:g} s in {times}; raise timeout_s or lower "
            f"concurrency, and {KEPT}",
            transient=False,
        )

    def _unreachable(self, error: "openai.APIConnectionError", tries: int) -> TransportError:
        # The transport calls every fault of a connection a timeout: the innermost cause says what it was.
        cause = innermost(error)
        return TransportError(
            f"{self.where}: cannot be reached in {counted(tries, 'try', 'tries')} "
            f"({self._short(str(cause) or type(cause).__name__)}); check base_url and that the server is up, and {KEPT}"
        )

    def _short(self, text: str) -> str:
        line = visible(without_key(" ".join(text.split()), self._key))
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "..."


def sent_on(base_url: str, asked: str, location: str) -> str:
    """What to tell of a server that redirects requests; `asked` is an address under `base_url`."""
    try:
        to = urlsplit(urljoin(asked, location))
    except ValueError:
        return "sends its requests on to an address that is none; check base_url"
    place = to._replace(netloc=to.netloc.rpartition("@")[2], query="", fragment="").geturl()
    final = place.removesuffix(asked.removeprefix(base_url))
    return f"sends its requests on to {final}; if you trust it, give that address as base_url"


# ---- the key ----


def api_key(variable: str | None) -> str:
    """The key in this environment variable; `NO_KEY` without a variable. Raises `ApiKeyError`."""
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ApiKeyError(
            f"the environment variable {variable} (api_key_env) holds no key; set it, or remove api_key_env "
            "for a server without keys"
        )
    if not (key.isascii() and key.isprintable()):
        raise ApiKeyError(f"the environment variable {variable} holds characters that no key has; set it again")
    return key


def without_key(text: str, key: str) -> str:
    """`text` without the key or parts of it, also where JSON writes its characters as numbers."""
    if key == NO_KEY or len(key) < SHORTEST_SECRET:
        return text
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "\\u" in text else text
    hidden = without_parts(plain, key)
    return text if hidden == plain else hidden


def without_parts(text: str, key: str) -> str:
    """`text` with `***` for each part of the key: `SHORTEST_SECRET` characters of it or more, or fewer around a mask.

    Servers repeat a wrong key as `sk-abc...xyz` or `sk-abc****wxyz`, so that its user can tell which key it was.
    """
    hidden = bytearray(len(text))
    pieces = {key[start : start + SHORTEST_SECRET] for start in range(len(key) - SHORTEST_SECRET + 1)}
    for start in range(len(text) - SHORTEST_SECRET + 1):
        if text[start : start + SHORTEST_SECRET] in pieces:
            hidden[start : start + SHORTEST_SECRET] = b"\1" * SHORTEST_SECRET
    for mask in _MASK.finditer(text):
        before = next(n for n in range(len(key), -1, -1) if text[: mask.start()].endswith(key[:n]))
        after = next(n for n in range(len(key) + 1) if text.startswith(key[n:], mask.end()))
        start, end = mask.start() - before, mask.end() + len(key) - after
        if before + len(key) - after >= FEWEST_AT_MASK:
            hidden[start:end] = b"\1" * (end - start)
    runs = groupby(zip(hidden, text, strict=True), key=lambda pair: pair[0])
    return "".join("***" if is_hidden else "".join(sign for _, sign in run) for is_hidden, run in runs)
