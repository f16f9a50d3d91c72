"""Files and batches of the OpenAI protocol, through the SDK: sent, looked for, waited for, read and cancelled."""

import asyncio
import contextlib
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import orjson

from flows.llm.chat_format import Reply, read_reply
from flows.llm.connection import FIRST_PAUSE_S, LONGEST_PAUSE_S, PASSING, Connection, UnusableServerError
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import TransportError
from flows.llm.refusal import RefusedRequest
from schemas.base import counted

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

T = TypeVar("T")
WAITING = ("validating", "in_progress", "finalizing", "cancelling")
"""A batch of any other status is over, also of one that the protocol does not have."""
FRUITLESS = ("failed", "expired", "cancelled", "canceled")
"""A batch that ended so may have answered nothing."""
PATH: Final = "/v1/chat/completions"
"""Of the requests, as the protocol names it whatever the server's base_url is."""
NAME = "touchstone"
"""Under which a batch's metadata has our name for it."""
LISTED_AT_ONCE = 100
CLOCKS = datetime.timedelta(days=1)
"""So far may the clocks of a server and of this machine be apart."""
LOOKS = 3
"""So often a batch is looked for in the server's list, which may lag, before it is created again."""
FIRST_POLL_S, POLL_GROWTH, LONGEST_POLL_S = 0.1, 1.4, 60.0
"""A batch is looked at after the first, and then less and less often: seconds."""
POLLS_LOST = 10
"""So many looks in a row may fail, each with its retries, before a wait is given up."""
GONE = (404, 410)
DELETE_S = 20.0
QUEUE_FULL = "token_limit_exceeded"
"""Why a batch failed if those that wait at the server have as many tokens as an account may queue."""


class BatchState(NamedTuple):
    """What a server says of a batch."""

    batch_id: str
    status: str
    back: int
    """Requests that were answered or refused."""
    answered: int
    """Requests that were answered, which are paid for."""
    files: tuple[str, ...]
    """Ids of the files with replies and with errors; there may be any of them."""
    problem: str
    """Why it failed; empty if it did not."""
    queue_is_full: bool
    lacks_answers: bool
    """Whether no file is named although requests were answered, or may have been."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self.status not in WAITING


class Line(NamedTuple):
    """What became of a request of a batch: a reply, a refusal, or in words why there is neither."""

    key: str
    outcome: Reply | RefusedRequest | str


class Content(NamedTuple):
    """What a file of replies or errors holds."""

    file: str
    """Its id."""
    lines: list[Line]
    unreadable: int
    """Lines that are none."""


class LostBatchError(TransportError):
    """The server does not know a batch that was sent to it, or has no answers of it although it says so."""

    def __init__(self, message: str, answered: int = 0) -> None:  # an error is copied by its message
        """`answered` are requests that the server says are answered."""
        super().__init__(message, transient=False)
        self.answered = answered


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
            for pause in _growing(LOOKS) if may_exist else ():
                await asyncio.sleep(pause)
                if (found := await self.find(name, file_id, made)) is not None:
                    return found
            may_exist = True
            try:
                return await self._connection.call(create)
            except RefusedRequest as refused:
                failure = self._connection.failure(refused)
                if refused.status not in PASSING:
                    raise RefusedBatchError(str(failure), transient=False) from None
            except UnusableServerError:
                raise
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

        async def retrieve(client: "AsyncOpenAI") -> BatchState:
            return _state_of(await client.batches.retrieve(batch_id))

        return await self._known(batch_id, retrieve)

    async def cancel(self, batch_id: str) -> BatchState:
        """Cancel a batch, and return its state; one that is over stays as it is. Raises `LostBatchError`."""

        async def cancel(client: "AsyncOpenAI") -> BatchState:
            return _state_of(await client.batches.cancel(batch_id))

        state = await self.state(batch_id)
        return state if state.is_over else await self._known(batch_id, cancel)

    async def check(self, batch_id: str) -> None:
        """Raise `LostBatchError` if a batch that is over has answers that are not to be had."""
        state = await self.ended(batch_id, lambda _: None)
        async for _ in self.contents(state):
            pass

    async def delete(self, files: Iterable[str]) -> None:
        """Delete files whose answers are kept: asked for once, for a moment. One that stays at the server is harmless.

        Not every server can do so.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DELETE_S):
                for file in files:
                    with contextlib.suppress(RefusedRequest, TransportError):
                        await self._connection.call(partial(_deleted, file))

    async def ended(self, batch_id: str, look: Callable[[BatchState | TransportError], None]) -> BatchState:
        """Wait until a batch is over and names its answers; `look` is called with what is heard before.

        Some servers name the files a while after they call a batch completed. Raises `LostBatchError`.
        """
        pause, lost, later = FIRST_POLL_S, 0, iter(_growing(self._settings.max_retries + 1))
        while True:
            try:
                state = await self.state(batch_id)
                lost = 0
            except TransportError as error:
                lost += 1
                if lost == POLLS_LOST or not error.transient:
                    raise
                look(error)
            else:
                if state.is_over and not state.lacks_answers:
                    return state
                if not state.is_over:
                    look(state)
                elif (pause := next(later, 0)) == 0:
                    raise self._lost(
                        batch_id,
                        f"says that batch {batch_id} is {state.status} and {state.answered:,} of its requests are "
                        "answered, and names no file of the answers; run again later",
                        state.answered,
                    )
            await asyncio.sleep(pause)
            pause = min(pause * POLL_GROWTH, LONGEST_POLL_S)

    async def contents(self, state: BatchState) -> AsyncIterator[Content]:
        """Read the files of a batch that is over.

        They are read anew, for a while, if a line is none or if lines are fewer than the server says are answered,
        since those are paid for. Raises `LostBatchError` if a file is gone, or if such lines stay away.
        """
        for pause in (*_growing(self._settings.max_retries + 1), 0):
            good = unreadable = 0
            for file in state.files:
                content = await self._content(state, file)
                yield content
                good += len(content.lines)
                unreadable += content.unreadable
            is_short = good + unreadable < state.answered or (unreadable > 0 and not good)
            if not unreadable and not is_short:
                return
            await asyncio.sleep(pause)
        if is_short:
            raise self._lost(
                state.batch_id,
                f"says that batch {state.batch_id} is {state.status} and {state.answered:,} of its requests are "
                f"answered, and its files have {counted(good, 'line')}; run again later",
                state.answered - good,
            )

    async def _content(self, state: BatchState, file: str) -> Content:
        async def download(client: "AsyncOpenAI") -> Content:
            content = (await client.files.content(file)).content
            lines = [self._line(written) for written in content.split(b"\n") if written.strip()]
            return Content(file, [line for line in lines if line is not None], lines.count(None))

        try:
            return await self._repeated(download)
        except RefusedRequest as refused:
            if refused.status not in GONE:
                raise self._connection.failure(refused) from None
            problem = f"batch {state.batch_id} is {state.status}, and its file {file} is not there ({refused.status})"
            raise self._lost(state.batch_id, f"{problem}; run again later", state.answered) from None

    def _line(self, written: bytes) -> Line | None:
        try:
            line = orjson.loads(written)
            key = line["custom_id"]
            return Line(key, self._outcome(line.get("response"), line.get("error"))) if isinstance(key, str) else None
        except (TypeError, KeyError, AttributeError, ValueError):
            return None

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

    async def _known(self, batch_id: str, work: Callable[["AsyncOpenAI"], Awaitable[BatchState]]) -> BatchState:
        try:
            return await self._repeated(work)
        except RefusedRequest as refused:
            if refused.status != 404:
                raise self._connection.failure(refused) from None
            problem = f"has no batch {batch_id}; if it was sent with another key, set that one"
            raise self._lost(batch_id, problem) from None

    def _lost(self, batch_id: str, problem: str, answered: int = 0) -> LostBatchError:
        return LostBatchError(
            f"{self._connection.where}: {problem}; if it is gone, `touchstone batches --cancel {batch_id}` lets its "
            "requests be sent again",
            answered,
        )

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
            except UnusableServerError:
                raise
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


async def _deleted(file: str, client: "AsyncOpenAI") -> None:
    await client.files.delete(file)


def _growing(times: int) -> list[float]:
    """So many pauses, each twice as long as the one before: seconds."""
    return [min(2.0 ** min(number, 9), LONGEST_POLL_S) for number in range(times)]


def _state_of(batch: "Batch") -> BatchState:
    """What a reply says; raises `ValueError` if it has no status, and so is none."""
    if not batch.status:
        raise ValueError("a batch without a status")
    counts = batch.request_counts
    answered = (counts.completed or 0) if counts is not None else 0
    failed = (counts.failed or 0) if counts is not None else 0
    errors = batch.errors.data or [] if batch.errors is not None else []
    files = tuple(filter(None, (batch.output_file_id, batch.error_file_id)))
    may_be_empty = files or failed or batch.status in FRUITLESS
    return BatchState(
        batch.id,
        batch.status,
        answered + failed,
        answered,
        files,
        "; ".join(dict.fromkeys(error.message or error.code or "" for error in errors)),
        any(error.code == QUEUE_FULL for error in errors),
        lacks_answers=not batch.output_file_id and (answered > 0 or not may_be_empty),
    )
