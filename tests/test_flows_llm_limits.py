"""Places, requests and tokens a minute, and money, on a real event loop."""

import asyncio
import time

import pytest

from flows.llm.limits import Budget, Limits, Share
from flows.llm.model import CALLS_AHEAD, BudgetSpent


async def fill(limits: Limits, count: int) -> None:
    for _ in range(count):
        await limits.enter()


async def test_a_cut_halves_what_runs_and_one_burst_cuts_once() -> None:
    limits = Limits(concurrency=32, cooling_s=0.05)
    await fill(limits, 32)
    sent = [await limits.send() for _ in range(32)]
    await asyncio.sleep(0.001)
    for moment in sent:
        limits.too_many(moment)
    assert (limits.allowed, limits.cuts) == (16, 1)
    # The same burst tries again at once, within the cooling time.
    limits.too_many(await limits.send())
    assert limits.cuts == 1
    # Late news of requests from before the cut.
    await asyncio.sleep(0.06)
    limits.too_many(sent[0])
    assert limits.cuts == 1
    # It is still too much.
    limits.too_many(await limits.send())
    assert limits.cuts == 2
    assert limits.allowed == 8  # half of the 16 that were allowed


async def test_a_cut_starts_from_what_was_running_and_leaves_one() -> None:
    limits = Limits(concurrency=1000, cooling_s=0)
    await fill(limits, 6)
    limits.too_many(await limits.send())
    assert limits.allowed == 3
    for _ in range(5):
        await asyncio.sleep(0.001)
        limits.too_many(await limits.send())
    assert limits.allowed == 1


async def test_a_place_comes_back_for_every_so_many_answers() -> None:
    limits = Limits(concurrency=4, recovery_successes=3)
    await fill(limits, 4)
    limits.too_many(await limits.send())
    seen = []
    for _ in range(9):
        limits.succeeded(0, 60)
        seen.append(limits.allowed)
    assert seen == [2, 2, 3, 3, 3, 4, 4, 4, 4]


async def test_a_saturated_server_is_asked_what_it_answers_in_half_of_the_time() -> None:
    limits = Limits(concurrency=32, recovery_successes=2)
    await fill(limits, 32)
    sent = await limits.send()
    for _ in range(20):
        limits.succeeded(sent, 60)
    assert limits.silent(60)
    # 20 a minute, and 32 in flight: one finds out when the server is through with what timed out.
    assert (limits.allowed, limits.cuts) == (1, 1)
    assert limits.silent(60)
    limits.succeeded(sent, 60)  # this was sent before the cut
    assert (limits.allowed, limits.cuts) == (1, 1)
    await asyncio.sleep(0.001)
    limits.succeeded(await limits.send(), 60)
    assert limits.allowed == 10
    for _ in range(4):
        limits.succeeded(await limits.send() - 31, 60)
    assert limits.allowed == 10, "they took more than half of the time"
    for _ in range(4):
        limits.succeeded(await limits.send() - 29, 60)
    assert limits.allowed == 12


async def test_one_silence_of_a_server_that_answers_the_others_cuts_nothing() -> None:
    limits = Limits(concurrency=32)
    await fill(limits, 32)
    for _ in range(32):
        limits.succeeded(await limits.send(), 60)
    assert not limits.silent(60)
    assert not Limits(concurrency=32).silent(60), "nothing is known of a server that never answered"
    assert (limits.allowed, limits.cuts) == (32, 0)


async def test_when_a_saturated_server_answers_nothing_any_longer_all_find_that_out() -> None:
    limits = Limits(concurrency=8)
    await fill(limits, 8)
    for _ in range(3):
        limits.succeeded(await limits.send(), 0.05)
    assert limits.silent(0.05)
    assert limits.allowed == 1
    await asyncio.sleep(0.05 * 8 / 3 + 0.01)  # as long as it takes to answer eight
    assert not limits.silent(0.05)
    assert limits.allowed == 8


async def test_what_was_not_answered_waits_for_room_and_comes_first() -> None:
    limits = Limits(concurrency=4)
    await fill(limits, 4)
    order: list[str] = []

    async def work(name: str) -> None:
        await (limits.enter() if name == "new" else limits.again())
        order.append(name)

    limits.succeeded(await limits.send(), 60)
    limits.silent(60)
    tasks = [asyncio.create_task(work(name)) for name in ("new", "first", "second", "third", "fourth")]
    await asyncio.sleep(0)
    assert (order, limits.running) == (["fourth"], 1), "three gave their places back"
    tasks[1].cancel()
    await asyncio.gather(tasks[1], return_exceptions=True)
    assert limits.running == 2
    limits.leave()  # as whoever is cancelled does
    for _ in range(3):
        limits.leave()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["fourth", "second", "third", "new"]


async def test_places_are_given_in_order_and_a_cancelled_wait_takes_none() -> None:
    limits = Limits(concurrency=1)
    order: list[int] = []

    async def work(number: int) -> None:
        await limits.enter()
        order.append(number)
        await asyncio.sleep(0)
        limits.leave()

    await limits.enter()
    tasks = [asyncio.create_task(work(number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    limits.leave()  # the place goes to number 0, which is cancelled in the same moment
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [2, 3]
    assert limits.running == 0


async def test_a_place_goes_to_the_call_with_the_most_calls_ahead_and_then_to_the_first() -> None:
    limits = Limits(concurrency=1)
    order: list[str] = []

    async def work(name: str, ahead: float) -> None:
        CALLS_AHEAD.set(ahead)
        await limits.enter()
        order.append(name)
        await asyncio.sleep(0)
        limits.leave()

    await limits.enter()
    waiting = {"rating": 1, "turn": 10, "next turn": 10, "question": 2, "batch": 3}
    tasks = [asyncio.create_task(work(*call)) for call in waiting.items()]
    await asyncio.sleep(0)
    limits.leave()
    await asyncio.gather(*tasks)
    assert order == ["turn", "next turn", "batch", "question", "rating"]


async def test_a_request_larger_than_the_burst_of_tokens_passes_in_pieces() -> None:
    limits = Limits(concurrency=4, tokens_per_minute=6000)  # 100 at once, then 5900 a minute
    started = time.monotonic()
    await asyncio.gather(*(limits.enter(125) for _ in range(2)))
    assert time.monotonic() - started >= 0.99 * (250 - 100) / (5900 / 60)


def test_shares_of_a_limit_add_up_to_it() -> None:
    for concurrency, processes in ((64, 3), (5, 5), (7, 2)):
        places = [Share(processes, place).places(concurrency) for place in range(processes)]
        assert sum(places) == concurrency
        assert min(places) >= 1
    assert Share(3, 1).rate(90) == 30
    assert Share(3, 1).rate(None) is None


async def test_a_process_lets_its_calls_end_before_another_takes_their_places() -> None:
    limits = Limits(concurrency=4)
    await fill(limits, 4)
    held = asyncio.create_task(limits.hold(Share(2, 0)))
    waits = asyncio.create_task(limits.enter())
    for ended in range(3):
        await asyncio.sleep(0)
        assert held.done() == (ended >= 2), "two of the four places are for the other process"
        limits.leave()
    await held
    limits.take(Share(2, 0, is_first=False))
    await waits
    assert (limits.concurrency, limits.running) == (2, 2)
    limits.take(Share(1, 0, is_first=False))  # the other process is gone
    await fill(limits, 2)
    assert limits.running == 4


async def test_limits_of_a_minute_are_shared_while_nothing_is_in_flight() -> None:
    limits = Limits(concurrency=4, requests_per_minute=6000)
    await limits.enter()
    held = asyncio.create_task(limits.hold(Share(2, 0)))
    await asyncio.sleep(0)
    assert not held.done()
    limits.leave()
    await held
    limits.take(Share(2, 0, is_first=False))
    started = time.monotonic()
    await limits.send()  # the burst of this minute was used before
    assert time.monotonic() - started >= 0.99 * 60 / 3000


async def test_nothing_is_sent_before_there_is_a_share() -> None:
    limits = Limits(concurrency=4, share=None)
    waits = asyncio.create_task(limits.enter())
    await asyncio.sleep(0.01)
    assert not waits.done()
    limits.take(Share(4, 3))
    await waits
    assert limits.running == limits.allowed == 1


async def test_money_waits_for_calls_in_flight_and_then_says_no() -> None:
    budget = Budget(1.0)
    await budget.reserve(0.6)
    waits = asyncio.create_task(budget.reserve(0.6))
    never_fits = asyncio.create_task(budget.reserve(1.1))
    await asyncio.sleep(0)
    assert not waits.done()
    with pytest.raises(BudgetSpent):
        await never_fits
    budget.settle(0.6, 0.1)  # it was cheaper than feared
    await waits
    last = asyncio.create_task(budget.reserve(0.5))
    await asyncio.sleep(0)
    budget.settle(0.6, 0.6)
    with pytest.raises(BudgetSpent, match=r"ceiling of 1 USD is reached: 0\.7 USD are spent.*raise budget_usd"):
        await last
    await budget.reserve(0.3)


async def test_without_a_ceiling_money_is_only_counted() -> None:
    budget = Budget()
    await budget.reserve(1e9)
    budget.settle(1e9, 2.5)
    assert budget.spent_usd == 2.5
