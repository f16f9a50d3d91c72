"""Files and batches of the OpenAI protocol, through the SDK: sent, looked for, waited for, read and cancelled."""

import asyncio
import datetime
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import orjson

from flows.llm.chat_format import Reply, read_reply
from flows.llm.connection import FIRST_PAUSE_S, LONGEST_PAUSE_S, PASSING, Connection
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import TransportError
from flows.llm.refusal import RefusedRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

T = TypeVar("T")
ENDED = ("completed", "failed", "expired", "cancelled", "canceled")
PATH: Final = "/v1/chat/completions"
"""Of the requests, as the protocol names it whatever the server's base_url is."""
NAME = "touchstone"
"""Under which a batch's metadata has our name for it."""
LISTED_AT_ONCE = 100
CLOCKS = datetime.timedelta(days=1)
"""So far may the clocks of a server and of this machine be apart."""
SETTLE_S = 2.0
"""So long after it was asked for, a batch that was created is in the server's list, even if nobody heard the reply."""
FIRST_POLL_S, POLL_GROWTH, LONGEST_POLL_S = 0.1, 1.4, 60.0
"""A batch is looked at after the first, and then less and less often: seconds."""
POLLS_LOST = 10
"""So many looks in a row may fail, each with its retries, before a wait is given up."""
QUEUE_FULL = "token_limit_exceeded"
"""Why a batch failed if those that wait at the server have as many tokens as an account may queue."""


class BatchState(NamedTuple):
    """What a server says of a batch."""

    batch_id: str
    status: str
    back: int
    """Requests that were answered or refused."""
    files: tuple[str, ...]
    """Ids of the files with replies and with errors; there may be any of them."""
    problem: str
    """Why it failed; empty if it did not."""
    queue_is_full: bool

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self.status in ENDED


class Line(NamedTuple):
    """What became of a request of a batch: a reply, a refusal, or in words why there is neither."""

    key: str
    outcome: Reply | RefusedRequest | str


class LostBatchError(TransportError):
    """The server does not know a batch that was sent to it."""


class RefusedBatchError(TransportError):
    """The server refused to create a batch: there is none."""


class BatchApi:
    """The batches of a server. All it does is repeated after passing faults, and raises `TransportError`."""

    def __init__(self, settings: EndpointSettings, connection: Connection) -> None:
        self._settings = settings
        self._connection = connection

    async def upload(self, name: str, path: Path) -> str:
        """Upload a file of requests, and return its id."""

        async def upload(client: "AsyncOpenAI") -> str:
            content = await asyncio.to_thread(path.read_bytes)
            return (await client.files.create(file=(f"{NAME}-{name}.jsonl", content), purpose="batch")).id

        try:
            return await self._repeated(upload)
        except RefusedRequest as refused:
            raise self._without_batches(refused) from None

    async def create(self, name: str, file_id: str, made: datetime.datetime, *, may_exist: bool) -> str:
        """Create the batch of an uploaded file, or find it if it `may_exist`, and return its id.

        A request to create a batch is never simply repeated: after a fault the batch is looked for first. `made` is
        when it was written down: in a long list, older ones are not looked at. Raises `RefusedBatchError`.
        """

        async def create(client: "AsyncOpenAI") -> str:
            created = await client.batches.create(
                input_file_id=file_id, endpoint=PATH, completion_window="24h", metadata={NAME: name}
            )
            return created.id

        for tries_left in reversed(range(self._settings.max_retries + 1)):
            if may_exist:
                await asyncio.sleep(SETTLE_S)
                if (found := await self.find(name, file_id, made)) is not None:
                    return found
            may_exist = True
            try:
                return await self._connection.call(create)
            except RefusedRequest as refused:
                failure = self._connection.failure(refused)
                if refused.status not in PASSING:
                    raise RefusedBatchError(str(failure), transient=False) from None
            except TransportError as error:
                failure = error
            if not tries_left:
                raise failure
        raise AssertionError("the last try returns or raises")

    async def find(self, name: str, file_id: str, made: datetime.datetime) -> str | None:
        """The id of the batch of this name or file, if the server has one that was created after it was `made`."""
        oldest = (made - CLOCKS).timestamp()

        async def find(client: "AsyncOpenAI") -> str | None:
            async for batch in client.batches.list(limit=LISTED_AT_ONCE):
                if (batch.metadata or {}).get(NAME) == name or batch.input_file_id == file_id:
                    return batch.id
                if (batch.created_at or oldest) < oldest:
                    break
            return None

        return await self._repeated(find)

    async def state(self, batch_id: str) -> BatchState:
        """What the server says of a batch. Raises `LostBatchError`."""

        async def retrieve(client: "AsyncOpenAI") -> "Batch":
            return await client.batches.retrieve(batch_id)

        return _state_of(await self._known(batch_id, retrieve))

    async def cancel(self, batch_id: str) -> BatchState:
        """Cancel a batch, and return its state; one that is over stays as it is. Raises `LostBatchError`."""

        async def cancel(client: "AsyncOpenAI") -> "Batch":
            return await client.batches.cancel(batch_id)

        state = await self.state(batch_id)
        return state if state.is_over else _state_of(await self._known(batch_id, cancel))

    async def ended(self, batch_id: str, look: Callable[[BatchState], None]) -> BatchState:
        """Wait until a batch is over; `look` is called with each state before. Raises `LostBatchError`."""
        pause, lost = FIRST_POLL_S, 0
        while True:
            try:
                state = await self.state(batch_id)
                lost = 0
            except TransportError as error:
                lost += 1
                if lost == POLLS_LOST or not error.transient:
                    raise
            else:
                if state.is_over:
                    return state
                look(state)
            await asyncio.sleep(pause)
            pause = min(pause * POLL_GROWTH, LONGEST_POLL_S)

    async def lines(self, file_id: str) -> list[Line]:
        """The lines of a file of replies or errors, in any order.

        A file with a line that is none is not whole: its replies are paid for, so it is read anew, and never given up.
        """

        async def download(client: "AsyncOpenAI") -> list[Line]:
            content = (await client.files.content(file_id)).content
            return [self._line(written) for written in content.split(b"\n") if written.strip()]

        try:
            return await self._repeated(download)
        except RefusedRequest as refused:
            raise self._connection.failure(refused) from None

    def _line(self, written: bytes) -> Line:
        try:
            line = orjson.loads(written)
            return Line(str(line["custom_id"]), self._outcome(line.get("response"), line.get("error")))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"a line of a batch's file is none: {error}") from None

    def _outcome(self, response: Any, error: Any) -> Reply | RefusedRequest | str:
        status = response.get("status_code") if isinstance(response, dict) else None
        if isinstance(error, dict) or not isinstance(status, int):
            code = error.get("code") or error.get("message") if isinstance(error, dict) else None
            return str(code or "no reply")
        body = response.get("body")
        if status == 200:
            reply = read_reply(orjson.dumps(body))
            return "a reply that is none" if reply is None else reply._replace(batched=True)
        refused = self._connection.refusal(status, body.get("error", body) if isinstance(body, dict) else body)
        if status in PASSING:
            return f"{status} {refused.message}".strip()
        return refused

    async def _known(self, batch_id: str, work: Callable[["AsyncOpenAI"], Awaitable["Batch"]]) -> "Batch":
        try:
            return await self._repeated(work)
        except RefusedRequest as refused:
            if refused.status != 404:
                raise self._connection.failure(refused) from None
            raise LostBatchError(
                f"{self._connection.where}: has no batch {batch_id}; if it was sent with another key, set that one; if "
                f"it is gone, `touchstone batches --cancel {batch_id}` lets its requests be sent again",
                transient=False,
            ) from None

    async def _repeated(self, work: Callable[["AsyncOpenAI"], Awaitable[T]]) -> T:
        """What `work` makes of the client, after passing faults again. Raises `RefusedRequest`, `TransportError`."""
        pause = FIRST_PAUSE_S
        for tries_left in reversed(range(self._settings.max_retries + 1)):
            try:
                return await self._connection.call(work)
            except RefusedRequest as refused:
                if refused.status not in PASSING:
                    raise
                if not tries_left:
                    raise self._connection.failure(refused) from None
            except TransportError:
                if not tries_left:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        raise AssertionError("the last try returns or raises")

    def _without_batches(self, refused: RefusedRequest) -> TransportError:
        if refused.status not in (404, 405, 501):
            return self._connection.failure(refused)
        return TransportError(
            f"{self._connection.where}: takes no files of batches ({refused.status}); remove batch: true",
            transient=False,
        )


def _state_of(batch: "Batch") -> BatchState:
    counts = batch.request_counts
    errors = batch.errors.data or [] if batch.errors is not None else []
    files = tuple(filter(None, (batch.output_file_id, batch.error_file_id)))
    return BatchState(
        batch.id,
        str(batch.status),
        counts.completed + counts.failed if counts is not None else 0,
        files,
        "; ".join(dict.fromkeys(error.message or error.code or "" for error in errors)),
        any(error.code == QUEUE_FULL for error in errors),
    )
