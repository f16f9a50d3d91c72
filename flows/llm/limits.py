"""Limits of a run: concurrency, requests and tokens per minute, money."""

import asyncio
import heapq
import math
from collections import deque
from dataclasses import dataclass
from itertools import count

from aiolimiter import AsyncLimiter

from flows.llm.model import CALLS_AHEAD, BudgetSpent

COOLING_S = 3.0
"""After a cut, 429s are ignored for this long, in seconds: they belong to the same burst."""

RECOVERY_SUCCESSES = 20
"""Answers in a row that restore one place after a cut."""

AIM = 0.5
"""The share of the longest wait for an answer that a saturated server may take: half is left for slower answers."""

LONGEST_REST = 5.0
"""How long a saturated server may be busy with what nobody waits for, in longest waits: a request has six tries."""


@dataclass(frozen=True)
class Share:
    """What one of several processes may use of limits that hold for all of them together."""

    of: int = 1
    """Processes that share."""
    place: int = 0
    """This one's place among them, from 0."""
    is_first: bool = True
    """False if the limits were shared before: the bursts of this minute's limits are used up."""
    left_usd: float | None = None
    """The money that this process may still spend; None: all that the ceiling allows."""

    def places(self, concurrency: int) -> int:
        """Return its part of the requests in flight; the parts of all processes add up to `concurrency`."""
        return (concurrency + self.place) // self.of

    def rate(self, a_minute: float | None) -> float | None:
        """Return its part of what is allowed in a minute."""
        return None if a_minute is None else a_minute / self.of


WHOLE = Share()
"""The share of a process that works alone."""


class Limits:
    """Concurrency that follows what the server can do, and requests and tokens per minute.

    A cut halves the concurrency; 429s of requests sent before the cut, or within `cooling_s` seconds
    after it, cut no further. A server that is saturated without a 429 lets requests wait: see `silent`.
    Every `recovery_successes` answers one place comes back, up to `concurrency`. In no minute are more
    than `requests_per_minute` requests (retries included) sent or more than `tokens_per_minute` estimated
    tokens asked for. Belongs to one event loop.

    A place goes to the call with the most `CALLS_AHEAD`, since none of those can begin before it is answered; of
    equal ones, to the call that waits longest. So long chains end no later than what could run beside them.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        share: Share | None = WHOLE,
        cooling_s: float = COOLING_S,
        recovery_successes: int = RECOVERY_SUCCESSES,
    ) -> None:
        """Several processes have a `share` of the limits each; None: nothing is sent before `take`."""
        self._all = concurrency, requests_per_minute, tokens_per_minute
        self.concurrency = 0
        self.allowed = 0
        self.running = 0
        self.cuts = 0
        self._cooling_s = cooling_s
        self._recovery_successes = recovery_successes
        self._successes = 0
        self._cut_at = -math.inf
        self._answered: deque[float] = deque(maxlen=concurrency)
        """When the last requests were answered."""
        self._is_saturated = False
        """Whether there was a cut for a server that lets requests wait too long, and places are not all back."""
        self._afterwards: int | None = None
        """The places that there are once such a server answers a request that was sent after the cut."""
        self._rests_until = -math.inf
        """Until when it may be busy with what nobody waits for."""
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        """A heap: calls ahead, negative, then the order in which the calls came."""
        self._numbers = count()
        self.count_tokens = tokens_per_minute is not None
        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None
        self._used_up: set[AsyncLimiter] = set()
        """Limiters whose first burst was given to other processes."""
        self._token_queue = asyncio.Lock()
        self._left = asyncio.Event()
        if share is not None:
            self.take(share)

    async def hold(self, share: Share | None) -> None:
        """Start no request for which `share` leaves no room, and wait for as many to end; None leaves no room.

        Limits of a minute leave none either: they are shared anew while nothing is in flight.
        """
        concurrency, *rates = self._all
        self.concurrency = share.places(concurrency) if share is not None and rates == [None, None] else 0
        self.allowed = min(self.allowed, self.concurrency)
        while self.running > self.concurrency:
            self._left.clear()
            await self._left.wait()

    def take(self, share: Share) -> None:
        """Go on with a share of the limits."""
        concurrency, requests, tokens = self._all
        self.concurrency = self.allowed = share.places(concurrency)
        self._requests, self._tokens = (
            None if rate is None else _a_minute(rate) for rate in (share.rate(requests), share.rate(tokens))
        )
        self._used_up = set() if share.is_first else {rate for rate in (self._requests, self._tokens) if rate}
        self._admit()

    async def enter(self, tokens: float = 0) -> None:
        """Wait for a place, and for `tokens` of the tokens a minute. `leave` must follow."""
        if self.running < self.allowed and not self._waiting:
            self.running += 1
        else:
            await self._place(CALLS_AHEAD.get())
        if self._tokens is not None:
            try:
                await self._take_tokens(self._tokens, tokens)
            except asyncio.CancelledError:
                self.leave()
                raise

    async def _place(self, calls_ahead: float) -> None:
        place = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-calls_ahead, next(self._numbers), place))
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the place was given in the same moment
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.running -= 1
        self._left.set()
        self._admit()

    async def send(self) -> float:
        """Wait for one of the requests a minute; return the moment of sending, for `too_many`."""
        if self._requests is not None:
            await self._acquire(self._requests, 1)
        return asyncio.get_running_loop().time()

    def too_many(self, sent_at: float) -> None:
        """Record that a request sent at `sent_at` was answered with 429."""
        now = asyncio.get_running_loop().time()
        if sent_at <= self._cut_at or now < self._cut_at + self._cooling_s:
            return
        self._cut(min(self.concurrency, max(1, min(self.allowed, self.running) // 2)), now)

    def _cut(self, allowed: int, now: float) -> None:
        self.allowed = allowed
        self.cuts += 1
        self._cut_at = now
        self._successes = 0

    def silent(self, within_s: float) -> bool:
        """Record that a request was not answered within the longest time that it may take.

        By Little's law, a request waits for as long as it takes to answer all in flight. If fewer were answered within
        that time, the server is saturated: what is sent now would not be answered in time either. One request at a
        time then finds out when the server is through with what nobody waits for any longer, and from then on as many
        are allowed as it answers in half of that time. If it answers nothing at all, it is gone, and all find that out
        together. Returns whether it is saturated.
        """
        now = asyncio.get_running_loop().time()
        answered = sum(moment > now - within_s for moment in self._answered)
        if not answered and self._is_saturated and now >= self._rests_until:
            self._is_saturated, self._afterwards = False, None
            self.allowed = self.concurrency
            self._admit()
        elif self._afterwards is None and 0 < answered < self.running and AIM * answered < self.allowed:
            self._is_saturated, self._afterwards = True, max(1, int(AIM * answered))
            self._rests_until = now + min(self.running / answered, LONGEST_REST) * within_s
            self._cut(1, now)
        return self._afterwards is not None

    async def again(self) -> None:
        """Before a request is repeated that was not answered: wait, first of all, until there is room for it."""
        if self.running <= self.allowed:
            return
        self.leave()
        try:
            await self._place(math.inf)
        except asyncio.CancelledError:
            self.running += 1  # whoever has sent it gives the place back
            raise

    def succeeded(self, sent_at: float, within_s: float) -> None:
        """Record that a request sent at `sent_at` was answered, for which it might have taken `within_s` seconds.

        While a server is saturated, answers that took long bring no place back.
        """
        now = asyncio.get_running_loop().time()
        self._answered.append(now)
        if self._afterwards is not None:
            if sent_at > self._cut_at:
                self.allowed, self._afterwards = min(self._afterwards, self.concurrency), None
                self._admit()
        elif self.allowed >= self.concurrency:
            self._is_saturated = False
        elif not self._is_saturated or now - sent_at < AIM * within_s:
            self._successes += 1
            if self._successes >= self._recovery_successes:
                self._successes = 0
                self.allowed += 1
                self._admit()

    def _admit(self) -> None:
        while self._waiting and self.running < self.allowed:
            *_, place = heapq.heappop(self._waiting)
            if not place.done():
                self.running += 1
                place.set_result(None)

    async def _take_tokens(self, limiter: AsyncLimiter, tokens: float) -> None:
        # In pieces, since a request may be larger than the limiter's burst; one request after the other.
        async with self._token_queue:
            while tokens > 0:
                piece = min(tokens, limiter.max_rate)
                await self._acquire(limiter, piece)
                tokens -= piece

    async def _acquire(self, limiter: AsyncLimiter, amount: float) -> None:
        if limiter in self._used_up:
            self._used_up.discard(limiter)
            await limiter.acquire(limiter.max_rate)
        await limiter.acquire(amount)


def _a_minute(amount: float) -> AsyncLimiter:
    """A limiter that lets `amount` through in any 60 seconds: a burst of one second's worth, then the rest."""
    burst = max(1.0, amount / 60)
    return AsyncLimiter(burst, 60 * burst / max(amount - burst, 1.0))


class Budget:
    """The money ceiling of a run, shared by its models. None: no ceiling.

    The most that a call may cost is reserved before it is made, so that calls in flight together
    never pass the ceiling. All amounts are in US dollars. Belongs to one event loop.
    """

    def __init__(self, ceiling_usd: float | None = None, *, spent_usd: float = 0.0) -> None:
        """`spent_usd` was spent before under the same ceiling."""
        self.ceiling_usd = ceiling_usd
        self.spent_usd = spent_usd
        self._reserved_usd = 0.0
        self._open = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def reserve(self, usd: float) -> None:
        """Reserve `usd`, waiting for calls in flight to settle if only they are in the way.

        Raises `BudgetSpent` if the ceiling leaves no room. `settle` must follow.
        """
        if self.ceiling_usd is not None:
            while self.spent_usd + self._reserved_usd + usd > self.ceiling_usd:
                if self._open == 0 or self.spent_usd + usd > self.ceiling_usd:
                    raise BudgetSpent(
                        f"the ceiling of {self.ceiling_usd:g} USD is reached: {self.spent_usd:.6g} USD are "
                        f"spent and the next call may cost {usd:.6g} USD; raise budget_usd and run again: "
                        "what was answered is kept, and costs nothing again"
                    )
                settled = asyncio.get_running_loop().create_future()
                self._waiting.append(settled)
                await settled
        self._reserved_usd += usd
        self._open += 1

    def settle(self, reserved_usd: float, spent_usd: float) -> None:
        """Record that a call with `reserved_usd` reserved has cost `spent_usd` (0 if it was not answered)."""
        self.spent_usd += spent_usd
        self._open -= 1
        # Sums of floats drift: if no call is open, nothing is reserved.
        self._reserved_usd = self._reserved_usd - reserved_usd if self._open else 0.0
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if not settled.done():
                settled.set_result(None)
