"""The SDK's client without the work that requests repeat which differ in their bodies alone.

Imported when something is asked: the SDK takes a second to load.
"""

from contextlib import aclosing
from typing import Any

import aiohttp
import httpx2
import openai
from openai._models import FinalRequestOptions

from schemas.errors import innermost

SILENCE = {"x-should-retry": "false", "x-touchstone-silence": "true"}
"""Headers of the reply invented for a silent server: they keep the SDK from retrying by itself."""


class AsyncOpenAI(openai.AsyncOpenAI):
    """Builds a request from the first to the same path: merging its headers and parsing its address anew would take
    a sixth of the time that a request costs. The name is in the header User-Agent.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._options: dict[str, FinalRequestOptions] = {}
        """By path."""
        self._firsts: dict[tuple[str, int], httpx2.Request] = {}
        """By path and number of retries, which a header states."""

    async def send(self, path: str, body: bytes) -> httpx2.Response:
        """What `post` does with a body that is ready; the response is the server's own."""
        options = self._options.get(path)
        if options is None:
            options = self._options[path] = FinalRequestOptions(method="post", url=path)
        return await self.request(httpx2.Response, options.model_copy(update={"content": body}))

    def _build_request(self, options: FinalRequestOptions, *, retries_taken: int = 0) -> httpx2.Request:
        if not isinstance(body := options.content, bytes):
            return super()._build_request(options, retries_taken=retries_taken)
        first = self._firsts.get((options.url, retries_taken))
        if first is None:
            first = super()._build_request(options, retries_taken=retries_taken)
            self._firsts[options.url, retries_taken] = first
        request = httpx2.Request(
            first.method, first.url, headers=first.headers, stream=httpx2.ByteStream(body), extensions=first.extensions
        )
        request.headers.encoding = "ascii"  # or it would be found out by decoding each header
        request.headers["Content-Length"] = str(len(body))
        if cookies := self._client.cookies:  # by which a gateway sends all to one server
            request.headers.pop("Cookie", None)
            cookies.set_cookie_header(request)
        request.read()
        return request


class HttpClient(openai.DefaultAioHttpClient):
    """Answers in place of a silent server, so that the SDK does not add its retries to ours."""

    async def send(self, request: httpx2.Request, **kwargs: Any) -> httpx2.Response:
        try:
            return await super().send(request, **kwargs)
        except httpx2.TimeoutException as error:
            cause = innermost(error)
            if not isinstance(cause, TimeoutError) or isinstance(cause, aiohttp.ConnectionTimeoutError):
                raise
            return httpx2.Response(408, headers=SILENCE, request=request)


async def read(response: httpx2.Response, most: int) -> bool:
    """Read a reply into memory; False if it has more than `most` bytes once it is decoded."""
    parts, size = list[bytes](), 0
    async with aclosing(response.aiter_bytes()) as decoded:
        async for part in decoded:
            size += len(part)
            if size > most:
                return False
            parts.append(part)
    response._content = b"".join(parts)  # where `aread` puts it, which has no limit
    return True
