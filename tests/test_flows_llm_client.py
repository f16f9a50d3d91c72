"""The client's requests beside those of the SDK itself."""

import httpx2
import openai

from flows.llm.client import AsyncOpenAI


class Busy(httpx2.AsyncBaseTransport):
    """A server that answers the first `times` requests with 503; remembers all of them."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.seen: list[tuple[str, str, list[tuple[str, str]], bytes]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append((request.method, str(request.url), sorted(request.headers.multi_items()), request.content))
        busy = len(self.seen) <= self.times
        return httpx2.Response(503 if busy else 200, headers={"retry-after-ms": "1"}, content=b"{}")


def client(kind: type[openai.AsyncOpenAI], transport: Busy) -> openai.AsyncOpenAI:
    timeout = openai.Timeout(60, connect=5)
    http_client = httpx2.AsyncClient(transport=transport, timeout=timeout)
    return kind(api_key="secret", base_url="http://host:1/v1", timeout=timeout, max_retries=2, http_client=http_client)


async def test_what_is_sent_is_what_the_sdk_sends_in_retries_as_well() -> None:
    plain, ours = Busy(2), Busy(2)
    bodies = [b'{"model":"m"}', b'{"model":"m","n":1}', b""]
    async with client(openai.AsyncOpenAI, plain) as sdk:
        for body in bodies:
            await sdk.post("/chat/completions", cast_to=httpx2.Response, content=body)
    async with client(AsyncOpenAI, ours) as made:
        assert isinstance(made, AsyncOpenAI)
        for body in bodies:
            assert (await made.send("/chat/completions", body)).content == b"{}"
    assert ours.seen == plain.seen
    assert len(ours.seen) == 5
