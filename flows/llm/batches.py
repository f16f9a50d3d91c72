"""Requests gathered into batches, sent, waited for and collected: each is paid for once, whenever a process is killed.

A request waits until no other has come for a moment; then those that wait are one batch. It is written down before it
is sent (`batch_records.py`), and forgotten when all its replies are in the cache. In between, another process finds it
and waits for it. Repairs, and the steps after, are gathered into the next batch: they go in rounds.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping
from copy import copy
from itertools import count
from typing import NamedTuple

from flows.llm.batch_api import PATH, BatchApi, BatchState, Line, LostBatchError, RefusedBatchError
from flows.llm.batch_progress import BatchProgress
from flows.llm.batch_records import BatchRecord, BatchRecords, Reading, Request
from flows.llm.chat_format import Reply
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import TransportError
from flows.llm.refusal import RefusedRequest

QUIET_S = 0.5
"""A batch is sent when no request has come for so long."""
MOST_REQUESTS, MOST_BYTES = 50_000, 100_000_000
"""Of a batch. OpenAI takes 200 MB, others less."""
SENDINGS = 4
"""A request is sent in so many batches at most, if it comes back without an answer."""
LINES_AT_ONCE = 256
"""Replies that are put into the cache before other work has its turn."""


class Unanswered(Exception):  # noqa: N818 - no fault: it is asked again
    """A request came back without an answer."""

    def __init__(self, why: str = "", *, may_be_paid: bool = False) -> None:
        """`may_be_paid` if the server has counted it as answered."""
        super().__init__(why)
        self.may_be_paid = may_be_paid
        self.lost_usd = 0.0
        """What was paid for it."""
        self.failure: TransportError | None = None
        """If it is not to be asked again."""


class QueueFull(Unanswered):
    """Its batch was refused whole, since too much waits at the server."""


class KeptMeanwhile(Exception):  # noqa: N818 - no fault
    """Another process has put the answer into the cache."""


class _Open(NamedTuple):
    """A batch whose replies are not in the cache yet."""

    record: BatchRecord
    readings: Mapping[str, Reading]
    is_found: bool
    """Whether another process has sent it."""


class Batches:
    """Sends a model's requests in batches, or only collects them (`batch: false`). Belongs to one event loop."""

    def __init__(
        self,
        settings: EndpointSettings,
        records: BatchRecords,
        api: BatchApi,
        *,
        keep: Callable[[str, Reading, Reply], None],
        is_kept: Callable[[str], bool],
        tell: Callable[[str], None],
        sent: Callable[[], None],
    ) -> None:
        """`keep` puts a reply into the cache, and `is_kept` looks for one; `tell` gets lines about the progress.

        `sent` is called when the server has taken a batch.
        """
        self._settings = settings
        self._records = records
        self._api = api
        self._keep = keep
        self._is_kept = is_kept
        self._progress = BatchProgress(settings, tell)
        self._was_sent = sent
        self._open: dict[str, _Open] = {}
        """By name."""
        self._sent: dict[str, str] = {}
        """By the key of a request, the name of the open batch that it is in."""
        self._waiting: dict[str, asyncio.Future[Reply]] = {}
        """By the key of a request."""
        self._unanswered: Counter[str] = Counter()
        """By the key of a request, how often it came back without an answer."""
        self._gathered: list[Request] = []
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sending = asyncio.Lock()
        self._sendings = count()
        self._work: dict[str, asyncio.Task[None]] = {}
        """The tasks that wait for open batches, by name, and those that send some."""
        self._most = MOST_REQUESTS
        self._one_at_a_time = False
        """Whether the server's queue was full: then one batch waits there, not several."""
        self._ended = asyncio.Event()
        records.sweep()
        self._find_open()

    def has(self, key: str) -> bool:
        """Whether a request was sent and its reply is not in the cache yet."""
        return key in self._sent

    def takes(self, key: str) -> bool:
        """Whether a request that was not sent yet, or came back without an answer, goes into a batch."""
        is_direct = self._settings.batch_unanswered == "directly" and self._unanswered[key] > 0
        return self._settings.batch and not is_direct

    async def ask(self, request: Request) -> Reply:
        """The reply to a request. Raises `RefusedRequest`, `TransportError`, `KeptMeanwhile` and `Unanswered`."""
        for batch in self._open.values():  # also of those that nobody waits for, the answers are paid for
            self._wait_for(batch)
        key = request.key
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[key] = future
        try:
            if (name := self._sent.get(key)) is not None:
                self._wait_for(self._open[name])
            else:
                self._gather(request)
            del request  # it is written down when it is sent, and not kept for the hours after
            return await future
        except QueueFull:
            raise
        except Unanswered as unanswered:
            self._unanswered[key] += 1
            if self._unanswered[key] == SENDINGS and self.takes(key):
                del self._unanswered[key]
                unanswered.failure = TransportError(
                    f"model {self._settings.name} at {self._settings.base_url}: a request came back without an answer "
                    f"from {SENDINGS} batches ({unanswered}); run again later, or set batch_unanswered: directly",
                    transient=False,
                )
            raise
        finally:
            del self._waiting[key]

    async def aclose(self) -> None:
        """Wait for nothing more; what was sent is found again by the next process."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._work.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ---- gathered and sent ----

    def _gather(self, request: Request) -> None:
        self._gathered.append(request)
        self._bytes += len(request.body)
        if self._timer is not None:
            self._timer.cancel()
        if len(self._gathered) >= self._most or self._bytes >= MOST_BYTES:
            self._send_gathered()
        else:
            self._timer = asyncio.get_running_loop().call_later(QUIET_S, self._send_gathered)

    def _send_gathered(self) -> None:
        requests, self._gathered, self._bytes, self._timer = self._gathered, [], 0, None
        keys = [request.key for request in requests]
        self._begin(f"sending {next(self._sendings)}", keys, self._send(requests))

    def _begin(self, name: str, keys: Collection[str], work: Coroutine[object, object, None]) -> None:
        """Begin work on requests. If it fails, so do those who wait for them."""

        async def run() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                for key in keys:
                    if (future := self._waiting.get(key)) is not None and not future.done():
                        # One each: who gets the error of another takes it for a question that was not asked yet.
                        future.set_exception(copy(error) if isinstance(error, TransportError) else error)
            finally:
                del self._work[name]

        self._work[name] = asyncio.create_task(run())

    async def _send(self, left: list[Request]) -> None:
        """Send the requests that somebody still waits for and nobody has sent, in a batch or several."""
        while left:
            async with self._sending:
                while self._one_at_a_time and self._open:
                    for batch in self._open.values():
                        self._wait_for(batch)
                    self._ended.clear()
                    await self._ended.wait()
                async with self._records.sending():
                    self._find_open()
                    left = [request for request in left if self._is_left(request.key)]
                    if not left:
                        return
                    batch, left = self._add(left[: self._most]), left[self._most :]
                    await self._create(batch)
            self._wait_for(batch)

    def _is_left(self, key: str) -> bool:
        """Whether a request is still to be sent; if another process has sent it, wait for that."""
        future = self._waiting.get(key)
        if future is None or future.done():
            return False
        if (name := self._sent.get(key)) is not None:
            self._wait_for(self._open[name])
            return False
        if self._is_kept(key):
            future.set_exception(KeptMeanwhile())
            return False
        return True

    def _add(self, requests: list[Request]) -> _Open:
        """Write down a batch before it is sent."""
        settings = self._settings
        record = self._records.add(requests, PATH, settings.name, settings.base_url, settings.api_key_env)
        return self._opened(record, {request.key: request.reading for request in requests}, is_found=False)

    def _find_open(self) -> None:
        """Take note of the batches of other processes that were sent to this server for this model."""
        for record in self._records:
            is_own = (record.note.model, record.note.base_url) == (self._settings.name, self._settings.base_url)
            if not is_own or record.note.name in self._open:
                continue
            with contextlib.suppress(FileNotFoundError):  # collected in this moment
                readings = record.readings
                if all(map(self._is_kept, readings)):  # its process was killed before it could forget it
                    record.remove()
                else:
                    self._opened(record, readings, is_found=True)

    def _opened(self, record: BatchRecord, readings: Mapping[str, Reading], *, is_found: bool) -> _Open:
        batch = self._open[record.note.name] = _Open(record, readings, is_found)
        self._sent.update(dict.fromkeys(readings, record.note.name))
        return batch

    async def _create(self, batch: _Open) -> None:
        """Have the server create a batch, unless it has done so; if it surely has not, and will not, forget the batch.

        Call it while `sending`.
        """
        record = batch.record
        may_exist = record.note.file_id is not None
        try:
            if record.note.file_id is None:
                record.update(file_id=await self._api.upload(record.note.name, record.file))
            assert record.note.file_id is not None
            created = await self._api.create(
                record.note.name, record.note.file_id, record.note.made, may_exist=may_exist
            )
        except TransportError as error:
            if record.note.file_id is None or isinstance(error, RefusedBatchError):
                self._forget(batch)
            raise
        record.update(batch_id=created)
        self._progress.sent(record.note)
        self._was_sent()

    # ---- waited for and collected ----

    def _wait_for(self, batch: _Open) -> None:
        name = batch.record.note.name
        if name not in self._work:
            self._begin(name, batch.readings.keys(), self._collect(batch))

    async def _collect(self, batch: _Open) -> None:
        """Have the replies of a batch in the cache, and let those go on who wait for them.

        Another model of this process may wait for the same batch, since its settings differ: then it alone does so.
        """
        name, collecting = batch.record.note.name, self._records.collecting
        while (other := collecting.get(name)) is not None:
            await other.wait()
        if not batch.record.is_there():
            self._end_elsewhere(batch)
            return
        ended = collecting[name] = asyncio.Event()
        try:
            await self._collect_here(batch)
        except LostBatchError:
            if batch.record.is_there():
                raise
            self._end_elsewhere(batch)  # another process has its answers, and so its files are gone
        finally:
            del collecting[name]
            ended.set()

    def _end_elsewhere(self, batch: _Open) -> None:
        """Forget a batch whose replies others have put into the cache."""
        self._forget(batch)
        self._wake(dict.fromkeys(batch.readings, "collected elsewhere"))

    async def _collect_here(self, batch: _Open) -> None:
        """Wait for the replies of a batch, put them into the cache, and let those go on who wait for them."""
        record = batch.record
        if record.note.batch_id is None:  # it was being sent when its process was killed
            async with self._records.sending():
                if record.is_there() and record.note.batch_id is None:
                    await self._create(batch)
        if record.note.batch_id is None:  # another process has found and collected it
            self._end_elsewhere(batch)
            return
        if batch.is_found:
            self._progress.found(record.note)
        state = await self._api.ended(record.note.batch_id, self._progress.of(record.note))
        outcomes: dict[str, Reply | RefusedRequest | str] = {}
        try:
            unreadable = await self._read(batch, state, outcomes)
        except TransportError:  # what was read before counts
            self._wake({key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Reply)})
            raise
        is_refused_whole = state.queue_is_full and not outcomes
        is_too_large = is_refused_whole and len(self._open) == 1
        self._one_at_a_time |= is_refused_whole
        self._forget(batch)
        if is_too_large and record.note.requests == 1:
            raise TransportError(f"model {self._settings.name}: {state.problem}", transient=False)
        if is_too_large:
            self._most = record.note.requests // 2
        replies = sum(isinstance(outcome, Reply) for outcome in outcomes.values())
        self._progress.ended(record.note, state, replies, unreadable)
        if replies >= state.answered and record.note.file_id is not None:
            await self._api.delete((record.note.file_id, *state.files))
        if is_refused_whole:
            self._wake(dict.fromkeys(batch.readings, QueueFull()))
        else:
            otherwise = state.problem or state.status
            self._wake({key: outcomes.get(key, otherwise) for key in batch.readings}, state.answered - replies)

    def _wake(self, outcomes: Mapping[str, Reply | RefusedRequest | Unanswered | str], paid: int = 0) -> None:
        """Let those go on who wait for requests; so many of those without an answer may be paid for."""
        for key, outcome in outcomes.items():
            future = self._waiting.get(key)
            if future is None or future.done():
                continue
            if isinstance(outcome, Reply):
                future.set_result(outcome)
            elif isinstance(outcome, RefusedRequest):
                future.set_exception(outcome)
            elif self._is_kept(key):
                future.set_exception(KeptMeanwhile())
            elif isinstance(outcome, Unanswered):
                future.set_exception(outcome)
            else:
                future.set_exception(Unanswered(outcome, may_be_paid=paid > 0))
                paid -= 1

    async def _read(self, batch: _Open, state: BatchState, outcomes: dict[str, Reply | RefusedRequest | str]) -> int:
        """Keep what the files hold, also if reading fails later; return how many of their lines are none."""
        unreadable: dict[str, int] = {}
        async for content in self._api.contents(state):
            await self._keep_lines(batch, content.lines, outcomes)
            unreadable[content.file] = content.unreadable
        return sum(unreadable.values())

    async def _keep_lines(
        self, batch: _Open, lines: list[Line], outcomes: dict[str, Reply | RefusedRequest | str]
    ) -> None:
        """Put replies into the cache, and note what became of each request that has a line, by key."""
        for number, line in enumerate(lines):
            reading = batch.readings.get(line.key)
            if reading is None or isinstance(outcomes.get(line.key), Reply):
                continue
            outcomes[line.key] = line.outcome
            if isinstance(line.outcome, Reply):
                self._keep(line.key, reading, line.outcome)
            if number % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _forget(self, batch: _Open) -> None:
        batch.record.remove()
        self._open.pop(batch.record.note.name, None)
        for key in batch.readings:
            if self._sent.get(key) == batch.record.note.name:
                del self._sent[key]
        self._ended.set()
