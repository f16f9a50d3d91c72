"""Completions from the cache, or asked for within the limits and the budget and then cached: none is paid for twice."""

import asyncio
import time
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from flows.llm.batches import KeptMeanwhile, Unanswered
from flows.llm.cache import Completion, CompletionCache, Kind
from flows.llm.chat_format import Reply
from flows.llm.limits import Budget, Limits
from flows.llm.model import TransportError, Usage
from flows.llm.prices import Price, estimate_tokens
from schemas.manifest import added

DRAIN_S = 20.0
"""On closing, how long calls that nobody waits for any longer may take to be answered, in seconds."""


class Question(Protocol):
    """A request to a server.

    Thousands may wait at once, and the garbage collector visits all that they hold: so each is one object.
    """

    @property
    def key(self) -> str:
        """The cache key of its answer."""
        ...

    @property
    def output_tokens(self) -> int:
        """The most tokens of its answer."""
        ...

    def input_tokens(self) -> int:
        """An estimate."""
        ...

    def body(self) -> bytes:
        """The request as it would be sent now."""
        ...

    @property
    def is_batched(self) -> bool:
        """Whether it goes into a batch now, or was sent in one."""
        ...

    @property
    def is_sent(self) -> bool:
        """Whether it was sent in a batch, perhaps by another process, and its answer is not in the cache yet."""
        ...

    def ask(self, *, batched: bool) -> Awaitable[Reply]:
        """The reply, in a batch or at once. In a batch, raises `KeptMeanwhile` and `Unanswered`."""
        ...

    def kind(self, reply: Reply) -> Kind:
        """What `reply` is as an answer to this question."""
        ...

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Entered before the question is asked: waits until the server's requirements are known."""
        ...


class PaidCompletions:
    """Answers questions, each paid for once.

    Every answer is committed to the cache before it is used; an answer that is in the cache takes no place in the
    limits. If a call is cancelled, what it has sent still reaches the cache. Belongs to one event loop.
    """

    def __init__(
        self,
        model: str,
        cache: CompletionCache,
        price: Price,
        budget: Budget,
        limits: Limits,
        batch_price: Price,
        tell: Callable[[str], None],
    ) -> None:
        """`batch_price` is that of answers that come in batches; `tell` gets a line if several models answer."""
        self._model = model
        self._cache = cache
        self._price = price
        self._batch_price = batch_price
        self._budget = budget
        self._limits = limits
        self._tell = tell
        self._asked: dict[str, asyncio.Future[Completion]] = {}
        """The calls in flight, by cache key."""
        self._calls: set[asyncio.Task[Completion]] = set()
        self.waits = array("d")
        """How long the server took for each answer, in seconds."""
        self.served: Counter[str] = Counter()
        """How many answers, from the cache as well, each model gave by the server's own word."""

    def is_cached(self, question: Question) -> bool:
        """Whether the answer is in the cache, or will be when its batch is back."""
        return question.is_sent or self._cache.get(question.key) is not None

    async def answer(self, question: Question, usage: Usage) -> Completion:
        """The answer, from the cache or the server; what it took is added to `usage`."""
        key = question.key
        cached = self._cache.get(key)
        if cached is None and key in self._asked:  # the same is being asked: one answer, paid for once
            cached = await asyncio.shield(self._asked[key])
        if cached is not None:
            self._count(cached.served)
            before = self._from_cache(cached)
            if before.cached_cost_usd and not usage.is_first(key):
                before.cached_cost_usd = 0.0
            usage.add(before)
            return cached
        asked = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            completion = await self._ask(question, usage)
        except BaseException as error:
            stopped = TransportError(f"model {self._model}: a call like this one was broken off", transient=True)
            asked.set_exception(error if isinstance(error, Exception) else stopped)
            asked.exception()  # whoever waits gets it; if nobody does, it is not to be printed
            raise
        else:
            asked.set_result(completion)
        finally:
            del self._asked[key]
        self._count(completion.served)
        usage.calls += 1
        usage.input_tokens += completion.input_tokens
        usage.output_tokens += completion.output_tokens
        # One that came while this answer was being kept has it from the cache, and has counted its money.
        is_counted = bool(completion.cost_usd) and not usage.is_first(key)
        self._charge(usage, 0.0 if is_counted else completion.cost_usd)
        return completion

    def _count(self, served: str) -> None:
        is_new = served and served not in self.served
        self.served[served] += 1
        if is_new and len(names := [name for name in self.served if name]) == 2:
            self._tell(
                f"model {self._model}: {names[0]} and {names[1]} answer by this name, as the server says, so that what "
                "is made or measured is of both; name one of them in the configuration to ask it alone"
            )

    def _charge(self, usage: Usage, usd: float) -> None:
        usage.cost_usd = added(usage.cost_usd, usd if self._price.is_known else None)

    async def aclose(self) -> None:
        """Let calls in flight reach the cache, for at most `DRAIN_S` seconds."""
        if self._calls:
            _, unfinished = await asyncio.wait(self._calls, timeout=DRAIN_S)
            for call in unfinished:
                call.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)

    def _from_cache(self, completion: Completion) -> Usage:
        """The usage of an answer that was paid for before; today's price, if none was known then."""
        cost: float | None = completion.cost_usd
        if not cost:
            tokens = completion.input_tokens, completion.output_tokens
            cost = self._price.cost(*tokens) if self._price.is_known else None
        return Usage(
            cached=1,
            cached_input_tokens=completion.input_tokens,
            cached_output_tokens=completion.output_tokens,
            cached_cost_usd=cost,
        )

    async def _ask(self, question: Question, usage: Usage) -> Completion:
        """Ask until there is an answer; what comes back from a batch without one is paid for, and counted, anew.

        What an answer has cost that was lost at the server is added to `usage`.
        """
        while True:
            try:
                async with question.turn():
                    return await self._pay(question)
            except Unanswered as unanswered:
                if unanswered.may_be_paid:
                    self._charge(usage, unanswered.lost_usd)
                if unanswered.failure is not None:
                    raise unanswered.failure from None

    async def _pay(self, question: Question) -> Completion:
        """Ask the server within the limits, and keep its answer.

        Limits are for requests that are answered at once. What is in a batch is paid for by whoever has sent it.
        """
        if question.is_batched:
            most = self._batch_price.cost(len(question.body()), question.output_tokens)
            reserved = 0.0 if question.is_sent else most
            await self._budget.reserve(reserved)
            # Nothing is lost if nobody waits any longer: its batch is written down.
            return await self._call(question, reserved, batched=True)
        tokens = question.input_tokens() + question.output_tokens if self._limits.count_tokens else 0
        await self._limits.enter(tokens)
        try:
            self._cache.check()  # again, after a wait in which another answer could not be kept
            # A token is at least one byte: the call cannot cost more, whatever the server counts.
            reserved = self._price.cost(len(question.body()), question.output_tokens)
            await self._budget.reserve(reserved)
        except BaseException:
            self._limits.leave()
            raise
        # What is sent may be paid for: from here on it is seen through to the cache, even if nobody waits.
        call = asyncio.create_task(self._call(question, reserved, batched=False))
        self._calls.add(call)
        call.add_done_callback(self._answered)
        return await asyncio.shield(call)

    def _answered(self, call: "asyncio.Task[Completion]") -> None:
        """Forget a call. Whoever waits gets its error; if nobody does, it is not to be printed."""
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()

    async def _call(self, question: Question, reserved: float, *, batched: bool) -> Completion:
        """Ask the server, then release the place in the limits and the `reserved` money."""
        cost = 0.0
        try:
            sent = time.monotonic()
            reply = await question.ask(batched=batched)
            if not batched:
                self.waits.append(time.monotonic() - sent)
            completion = self._completion(reply, question.kind(reply), question.input_tokens)
            cost = completion.cost_usd
        except KeptMeanwhile:
            kept = self._cache.get(question.key)
            assert kept is not None
            return kept
        except Unanswered as unanswered:
            if unanswered.may_be_paid:
                cost = unanswered.lost_usd = self._batch_price.cost(len(question.body()), question.output_tokens)
            raise
        finally:
            self._budget.settle(reserved, cost)
            if not batched:
                self._limits.leave()
        if not reply.batched:  # otherwise it is there
            self._cache.put(question.key, completion)
        return completion

    def keep(self, key: str, reply: Reply, kind: Kind, input_tokens: int) -> None:
        """Put a reply of a batch into the cache; `input_tokens` are an estimate, if the server counts none."""
        self._cache.put(key, self._completion(reply, kind, lambda: input_tokens))

    def _completion(self, reply: Reply, kind: Kind, estimate: Callable[[], int]) -> Completion:
        input_tokens, output_tokens = reply.input_tokens, reply.output_tokens
        if input_tokens is None or output_tokens is None:
            input_tokens, output_tokens = estimate(), estimate_tokens(reply.answer)
        cost = (self._batch_price if reply.batched else self._price).cost(input_tokens, output_tokens)
        answer = reply.answer.encode("utf-8", "replace").decode()  # half a character cannot be stored
        if "\0" in answer:
            answer, kind = answer.replace("\0", r"\x00"), kind if kind in ("refusal", "no room") else "no text"
        return Completion(answer, kind, input_tokens, output_tokens, cost, reply.served)
