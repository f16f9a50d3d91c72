"""Answers that come in batches: the same as without, at half the price, each paid for once."""

import asyncio
import json
import re
from contextlib import aclosing, closing
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from flows.llm import batch_api, batch_records, batches, connection
from flows.llm.batch_records import BatchNote, BatchRecords
from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Budget
from flows.llm.model import BudgetSpent, Prompt, TransportError, Usage
from flows.llm.prices import FlatPrice, Prices
from flows.run.batches import cancel_batches
from schemas.base import Frozen
from schemas.errors import Failed
from tests.batch_server import BatchFaults, BatchServer
from tests.builds import wait_for, write_config
from tests.chat_server import Messages, Reply

PRICES = Prices({"gpt-4o-mini": FlatPrice(input_per_million=1000, output_per_million=1000)})


class Asked(Frozen):
    number: int


class Square(Frozen):
    square: int


def squares(messages: Messages) -> str:
    return json.dumps({"square": int(messages[0]["content"].split()[1]) ** 2})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on loopback is looked at after hundredths of a second, as another is after seconds."""
    monkeypatch.setattr(batches, "QUIET_S", 0.05)
    monkeypatch.setattr(batch_records, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(batch_api, "FIRST_POLL_S", 0.01)
    monkeypatch.setattr(batch_api, "LONGEST_POLL_S", 0.05)
    for module in (batch_api, connection):
        monkeypatch.setattr(module, "FIRST_PAUSE_S", 0.02)


@pytest.fixture
def square(tmp_path: Path) -> Prompt[Square]:
    (tmp_path / "square.j2").write_text("{% block user %}Square {{ number }} please{% endblock %}", encoding="utf-8")
    return Prompt("square", 1, Square, tmp_path, max_tokens=50, inputs=Asked)


async def ask(
    server: BatchServer,
    folder: Path,
    prompt: Prompt[Any],
    numbers: range | list[int],
    usage: Usage | None = None,
    *,
    budget: Budget | None = None,
    told: list[str] | None = None,
    **settings: Any,
) -> list[Any]:
    made = EndpointSettings.model_validate({"name": "gpt-4o-mini", "base_url": server.url, "batch": True, **settings})
    lines: list[str] = [] if told is None else told
    with closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
        async with aclosing(
            Endpoint(
                made, cache, prices=PRICES, budget=budget, tell=lines.append,
                batches=BatchRecords(folder / "batches"), progress=lines.append,
            )
        ) as endpoint:  # fmt: skip
            usage = Usage() if usage is None else usage
            calls = (endpoint.complete(prompt, Asked(number=n), usage=usage) for n in numbers)
            return await asyncio.gather(*calls, return_exceptions=True)


async def sent(server: BatchServer, folder: Path, prompt: Prompt[Any]) -> asyncio.Task[list[Any]]:
    """A task that waits for the batch that it has sent, of 20 numbers less the first."""
    told: list[str] = []
    waiting = asyncio.create_task(ask(server, folder, prompt, range(20), told=told))
    await asyncio.to_thread(wait_for, lambda: bool(told), 20, 0.02)
    assert told[0] == "gpt-4o-mini: 19 requests sent in batch batch-0"
    return waiting


async def test_one_request_finds_out_and_the_others_come_in_a_batch_at_half_the_price(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    usage, told = Usage(), list[str]()
    with BatchServer(answer=lambda messages: Reply(squares(messages), usage=(10, 5))) as server:
        answers = await ask(server, tmp_path, square, range(100), usage, told=told)
        assert answers == [Square(square=n * n) for n in range(100)]
        assert server.answered_in_batches == 99
        assert len(server.batches) == 1
        assert usage.calls == 100
        # 15 tokens at a tenth of a cent each: one at the full price, 99 at half of it.
        assert usage.cost_usd == pytest.approx(0.015 + 99 * 0.0075)
        again = Usage()
        assert await ask(server, tmp_path, square, range(100), again) == answers
        assert (again.calls, again.cached, len(server.batches)) == (0, 100, 1)
    assert told[0] == "gpt-4o-mini: 99 requests sent in batch batch-0"
    assert told[-1] == "gpt-4o-mini: batch batch-0 is completed: 99 answers"
    assert not [path for path in (tmp_path / "batches").iterdir() if path.is_dir()]


async def test_it_is_told_how_many_are_back(tmp_path: Path, square: Prompt[Square]) -> None:
    told: list[str] = []
    with BatchServer(answer=squares, batch_s=1.5) as server:
        await ask(server, tmp_path, square, range(1001), told=told)
    sent, *between, done = told
    assert sent == "gpt-4o-mini: 1,000 requests sent in batch batch-0"
    line = re.compile(r"gpt-4o-mini: (\d+) of 1,000 requests are back of batch batch-0 \(in_progress\)")
    back = [int(match[1]) for match in map(line.fullmatch, between) if match]
    assert len(back) == len(between) > 1
    assert all(later - earlier >= 100 for earlier, later in pairwise([0, *back]))
    assert done == "gpt-4o-mini: batch batch-0 is completed: 1,000 answers"


FAULTS = {
    "calls limited": BatchFaults(rate_limited=0.2),
    "calls failing": BatchFaults(errors_500=0.2),
    "calls dropped": BatchFaults(dropped=0.2, seed=3),
    "calls dropped in their reply": BatchFaults(dropped_in_reply=0.2),
    "calls malformed": BatchFaults(malformed=0.2),
    "every call malformed at first": BatchFaults(malformed=1, times=1),
    "lines failing": BatchFaults(server_errors=0.2),
    "lines missing": BatchFaults(missing=0.2),
    "batches failed": BatchFaults(failed=1),
    "batches expired": BatchFaults(expired=1),
    "batches cancelled": BatchFaults(cancelled=1),
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("unanswered", ["again", "directly"])
async def test_what_fails_is_asked_again_and_nothing_is_paid_twice(
    tmp_path: Path, square: Prompt[Square], faults: str, unanswered: str
) -> None:
    with BatchServer(answer=squares, batch_faults=FAULTS[faults]) as server:
        answers = await ask(server, tmp_path, square, range(100), batch_unanswered=unanswered)
        assert answers == [Square(square=n * n) for n in range(100)]
        assert server.answered_twice == []
        hit = "lines" in faults or "batches" in faults
        assert (server.answered_in_batches < 99) == (hit and unanswered == "directly")
        assert (len(server.batches) > 1) == (hit and unanswered == "again")


async def test_what_no_batch_answers_is_a_line_with_the_words_of_the_server(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    faults = BatchFaults(server_errors=1, times=99)
    with BatchServer(answer=squares, batch_faults=faults) as server:
        answers = await ask(server, tmp_path, square, range(5))
        assert len(server.batches) == 4
        assert {str(answer) for answer in answers[1:]} == {
            f"model gpt-4o-mini at {server.url}: a request came back without an answer from 4 batches (500 The server "
            "had an error); run again later, or set batch_unanswered: directly"
        }
        # Those of the next run are other batches; at once, they are answered.
        answers = await ask(server, tmp_path, square, range(5), batch_unanswered="directly")
        assert answers == [Square(square=n * n) for n in range(5)]
        assert server.answered_twice == []


async def test_a_creation_that_nobody_heard_of_is_found_at_the_server(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, batch_faults=BatchFaults(dropped=1, times=1)) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert len(server.batches) == 1
        assert server.calls.count(("POST", "/batches")) == 1


@pytest.mark.parametrize("keeps_metadata", [True, False])
@pytest.mark.parametrize("left", ["nothing", "an uploaded file", "a batch that is not noted", "a batch"])
async def test_what_a_killed_process_left_is_gone_on_with(
    tmp_path: Path, square: Prompt[Square], left: str, *, keeps_metadata: bool
) -> None:
    """The process is stopped while it waits; then what it had noted later than the moment of the kill is taken away."""
    with BatchServer(answer=squares, keeps_metadata=keeps_metadata) as server:
        await left_by_a_killed_process(server, tmp_path, square, over_s=0.3)
        [note] = (tmp_path / "batches").glob("*/batch.json")
        known = BatchNote.model_validate_json(note.read_bytes())
        assert (known.file_id, known.batch_id) == ("file-0", "batch-0")
        if left != "a batch":
            before = {"batch_id": None, "file_id": None if left == "nothing" else "file-0"}
            note.write_bytes(known.model_copy(update=before).sealed())
        if left in ("nothing", "an uploaded file"):
            server.batches.clear()
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert server.answered_twice == []
        assert len(server.batches) == 1
        assert list(server.files) == (["file-0"] if left == "nothing" else []), "nobody knows of the first upload"


async def test_a_batch_of_another_process_is_waited_for_and_not_sent_again(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    with BatchServer(answer=squares, batch_s=0.5) as server:
        both = await asyncio.gather(*(ask(server, tmp_path, square, range(50)) for _ in range(2)))
        assert both == [[Square(square=n * n) for n in range(50)]] * 2
        in_batches = [request.hash for request in server.answered if request.body.get("in_batch")]
        assert len(in_batches) == len(set(in_batches))


async def test_who_begins_anew_asks_nothing_at_the_full_price(tmp_path: Path, square: Prompt[Square]) -> None:
    """What the server takes is known from the process before; so is what the user was told of it."""

    def refuses(body: dict[str, Any]) -> tuple[int, object] | None:
        said = {"error": {"message": "Unsupported value: 'temperature' does not support 1.0", "param": "temperature"}}
        return (400, said) if "temperature" in body else None

    with BatchServer(answer=squares, refuses=refuses) as server:
        told: list[list[str]] = [[], []]
        for number, lines in enumerate(told):
            numbers = range(20 * number, 20 * number + 20)
            answers = await ask(server, tmp_path, square, numbers, told=lines)
            assert answers == [Square(square=n * n) for n in numbers]
        assert [batch["size"] for batch in server.batches.values()] == [19, 20]
        assert told[0][0] == told[1][0]
        assert "does not take temperature 1.0, which is left out" in told[1][0]
        [known] = (tmp_path / "batches").glob("lessons-*.json")
        known.write_text("{")  # damaged: one request finds out again
        await ask(server, tmp_path, square, range(40, 60))
        assert [batch["size"] for batch in server.batches.values()] == [19, 20, 19]


@pytest.mark.parametrize("deletes", [True, False])
async def test_files_whose_answers_are_kept_are_deleted(
    tmp_path: Path, square: Prompt[Square], *, deletes: bool
) -> None:
    with BatchServer(answer=squares, deletes=deletes) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert list(server.files) == ([] if deletes else ["file-0", "batch-0-output"])
        deleted = [place for method, place in server.calls if method == "DELETE"]
        assert deleted == ["/files/file-0", "/files/batch-0-output"]


async def test_files_stay_that_lack_an_answer(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, shown=without_a_reply) as server:
        await ask(server, tmp_path, square, range(9), batch_unanswered="directly")
        assert list(server.files) == ["file-0", "batch-0-output"]


async def test_two_models_with_one_name_wait_for_a_batch_once(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares) as server:
        await left_by_a_killed_process(server, tmp_path, square)
        told, usage = list[str](), Usage()
        records = BatchRecords(tmp_path / "batches")
        with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
            endpoints = [
                Endpoint(
                    EndpointSettings(name="gpt-4o-mini", base_url=server.url, batch=True, max_retries=retries),
                    cache, prices=PRICES, batches=records, progress=told.append,
                )
                for retries in (3, 4)
            ]  # fmt: skip
            numbers = [n for n in range(20) for _ in endpoints]
            asked = zip(2 * 10 * endpoints, numbers, strict=True)
            answers = await asyncio.gather(
                *(endpoint.complete(square, Asked(number=n), usage=usage) for endpoint, n in asked)
            )
            for endpoint in endpoints:
                await endpoint.aclose()
        assert answers == [Square(square=n * n) for n in numbers]
        assert (len(server.batches), server.answered_twice) == (1, [])
        assert sum("batch-0 is completed" in line for line in told) == 1
        assert [place for _, place in server.calls if place.endswith("/content")] == ["/files/batch-0-output/content"]


async def test_a_batch_is_forgotten_whose_answers_are_all_kept(tmp_path: Path, square: Prompt[Square]) -> None:
    """As if the process had been killed between the two; another batch is collected, though nobody asks for it."""
    with BatchServer(answer=squares, deletes=False) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
            lines = [json.loads(line) for line in server.files["file-0"].splitlines()]
            keys = [line["custom_id"] for line in lines]
            assert all(cache.get(key) for key in keys)
        note = {
            "model": "gpt-4o-mini", "base_url": server.url, "api_key_env": None, "requests": 19,
            "made": "2026-01-01T00:00:00Z", "file_id": "file-0", "batch_id": "batch-0",
        }  # fmt: skip
        for name, known in (("kept", keys), ("not-kept", ["0" * 32])):
            folder = tmp_path / "batches" / name
            folder.mkdir()
            (folder / "keys.json").write_text(json.dumps({key: [50, 0, 10] for key in known}))
            (folder / "batch.json").write_text(json.dumps(note | {"name": name}))
        told: list[str] = []
        await ask(server, tmp_path, square, range(20), told=told)
        assert [path.name for path in (tmp_path / "batches").glob("*/")] == ["not-kept"]
        assert told == []
        await ask(server, tmp_path, square, range(22), told=told)
        assert not list((tmp_path / "batches").glob("*/"))
        assert told[0].startswith("gpt-4o-mini: waiting for batch batch-0 of 19 requests, sent ")


async def test_what_killed_processes_left_is_removed_while_nobody_sends(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares) as server:
        await ask(server, tmp_path, square, range(20))
        batches = tmp_path / "batches"
        before = {path.name for path in batches.iterdir()}
        async with BatchRecords(batches).sending():
            (batches / "removed").mkdir()
            (batches / "removed" / "keys.json").write_text("{}")
            (batches / "lessons-0123.json.tmp").write_text('{"')
            with_remains = {path.name for path in batches.iterdir()}
            await ask(server, tmp_path, square, range(20))
            assert {path.name for path in batches.iterdir()} == with_remains, "it may be what is being written"
        await ask(server, tmp_path, square, range(20))
        assert {path.name for path in batches.iterdir()} == before != with_remains


async def test_answers_that_nobody_waits_for_are_kept(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares) as server:
        await left_by_a_killed_process(server, tmp_path, square, over_s=0.3)
        assert await ask(server, tmp_path, square, [19]) == [Square(square=361)]
        usage = Usage()
        assert await ask(server, tmp_path, square, range(20), usage) == [Square(square=n * n) for n in range(20)]
        assert (usage.calls, usage.cached) == (0, 20)
        assert server.answered_twice == []


async def test_repairs_go_in_rounds(tmp_path: Path, square: Prompt[Square]) -> None:
    def at_the_third_try(messages: Messages) -> str:
        return squares(messages) if len(messages) == 5 else "no idea"

    with BatchServer(answer=at_the_third_try) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        # The first request, which finds out, is repaired a round before the others.
        assert [batch["size"] for batch in server.batches.values()] == [20, 20, 19]
        assert server.answered_twice == []


async def test_a_refusal_in_a_batch_shows_what_the_server_takes(tmp_path: Path, square: Prompt[Square]) -> None:
    """The request that finds out is taken; in a batch the server wants no temperature."""
    told: list[str] = []
    server = BatchServer(answer=squares)
    server.refuses = lambda body: (400, "Unsupported parameter: 'temperature'") if (
        "temperature" in body and server.batches
    ) else None  # fmt: skip
    with server:
        assert await ask(server, tmp_path, square, range(20), told=told) == [Square(square=n * n) for n in range(20)]
        assert len(server.batches) == 2
        assert any("does not take temperature" in line for line in told)


async def test_a_full_queue_is_met_by_smaller_batches_one_after_the_other(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    with BatchServer(answer=squares, queue=30) as server:
        assert await ask(server, tmp_path, square, range(100)) == [Square(square=n * n) for n in range(100)]
        assert server.answered_twice == []
        assert max(batch["size"] for batch in server.batches.values() if not batch["is_refused"]) <= 30


async def test_a_queue_that_takes_nothing_is_a_line(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, queue=0) as server:
        answers = await ask(server, tmp_path, square, range(5))
        failures = [answer for answer in answers if isinstance(answer, TransportError)]
        assert len(failures) == 4
        assert {str(failure) for failure in failures} == {"model gpt-4o-mini: Enqueued token limit reached"}


async def test_no_more_is_sent_than_the_budget_has_room_for(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=lambda messages: Reply(squares(messages), usage=(10, 5))) as server:
        # A request is reserved at some 25 cents (450 bytes, 50 tokens), and takes 0.75.
        budget = Budget(2.0)
        assert await ask(server, tmp_path, square, range(60), budget=budget) == [
            Square(square=n * n) for n in range(60)
        ]
        assert len(server.batches) > 1
        assert max(batch["size"] for batch in server.batches.values()) < 20
        assert budget.spent_usd == pytest.approx(0.015 + 59 * 0.0075)


async def test_a_server_without_batches_is_a_line(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, has_batches=False) as server:
        answers = await ask(server, tmp_path, square, range(5))
        failures = {str(answer) for answer in answers if isinstance(answer, TransportError)}
        assert failures == {f"model gpt-4o-mini at {server.url}: takes no files of batches (404); remove batch: true"}
        assert not [path for path in (tmp_path / "batches").iterdir() if path.is_dir()]


async def test_a_batch_that_the_server_has_lost_is_a_line(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, batch_s=30) as server:
        waiting = await sent(server, tmp_path, square)
        server.batches.clear()
        answers = await waiting
        assert {str(answer) for answer in answers[1:]} == {
            f"model gpt-4o-mini at {server.url}: has no batch batch-0; if it was sent with another key, set that one; "
            "if it is gone, `touchstone batches --cancel batch-0` lets its requests be sent again"
        }


async def left_by_a_killed_process(server: BatchServer, folder: Path, prompt: Prompt[Any], over_s: float = 0) -> None:
    """Send a batch of 19 requests, and end the process that waits for it; then the batch takes `over_s` in all."""
    server.batch_s = 60
    waiting = await sent(server, folder, prompt)
    waiting.cancel()
    await asyncio.wait([waiting])
    server.batch_s = over_s


async def test_answers_without_a_file_are_looked_for_and_never_sent_for_anew(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    with BatchServer(answer=squares, nameless_looks=1) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert (len(server.batches), server.answered_twice) == (1, [])
        server.nameless_looks = 10**9
        for _ in range(2):
            answers = await ask(server, tmp_path, square, range(25), max_retries=0)
            assert {str(answer) for answer in answers[21:]} == {
                f"model gpt-4o-mini at {server.url}: says that batch batch-1 is completed and 4 of its requests are "
                "answered, and names no file of the answers; run again later; if it is gone, "
                "`touchstone batches --cancel batch-1` lets its requests be sent again"
            }
        server.batches["batch-1"]["nameless_looks"] = 0
        assert await ask(server, tmp_path, square, range(25)) == [Square(square=n * n) for n in range(25)]
        assert (len(server.batches), server.answered_twice) == (2, [])


async def test_an_end_that_the_protocol_does_not_have_is_one(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, end="archived") as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert len(server.batches) == 1


def without_a_reply(content: bytes) -> bytes:
    return content.replace(b'"choices"', b'"choice"', 1)


async def test_answers_that_are_lost_are_counted_as_paid(tmp_path: Path, square: Prompt[Square]) -> None:
    """The server counts them as answered; each may have cost some 25 cents in a batch (450 bytes, 50 tokens)."""

    with BatchServer(answer=lambda messages: Reply(squares(messages), usage=(10, 5)), shown=without_a_reply) as server:
        budget, usage = Budget(100.0), Usage()
        answers = await ask(server, tmp_path, square, range(9), usage, budget=budget)
        assert usage.cost_usd == pytest.approx(budget.spent_usd), "it is told as well"
        assert [batch["size"] for batch in server.batches.values()] == [8, 1, 1, 1]
        assert sum(isinstance(answer, TransportError) for answer in answers) == 1
        lost = budget.spent_usd - (0.015 + 7 * 0.0075)
        assert 4 * 0.15 < lost < 4 * 0.3
        # Another folder, and so nothing in the cache. What is lost twice leaves no room for a third time.
        before = len(server.batches)
        budget = Budget(2.5 * lost / 4 + 0.015)
        answers = await ask(server, tmp_path / "small", square, range(2), budget=budget)
        assert isinstance(answers[1], BudgetSpent)
        assert len(server.batches) == before + 2
        assert budget.spent_usd == pytest.approx(0.015 + 2 * lost / 4)


async def test_a_batch_is_waited_for_when_none_is_wanted_any_longer(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares, model="gpt-4o-mini") as server:
        await left_by_a_killed_process(server, tmp_path, square)
        told, usage = list[str](), Usage()
        answers = await ask(server, tmp_path, square, range(25), usage, told=told, batch=False)
        assert answers == [Square(square=n * n) for n in range(25)]
        assert (server.answered_in_batches, len(server.answered), server.answered_twice) == (19, 25, [])
        assert len(server.batches) == 1
        assert told[0].endswith("; to ask them at once, stop and run `touchstone batches --cancel batch-0`")


async def test_what_a_batch_leaves_unanswered_is_asked_at_once_when_none_is_wanted(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    with BatchServer(answer=squares, batch_faults=BatchFaults(expired=1)) as server:
        await left_by_a_killed_process(server, tmp_path, square)
        assert await ask(server, tmp_path, square, range(20), batch=False) == [Square(square=n * n) for n in range(20)]
        assert (len(server.batches), server.answered_in_batches, server.answered_twice) == (1, 9, [])


async def test_a_file_of_answers_that_is_gone_is_a_line_and_cancelling_lets_its_requests_be_sent_again(
    tmp_path: Path, square: Prompt[Square], capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(answer=squares, shown=lambda content: None) as server:
        answers = await ask(server, tmp_path, square, range(20))
        assert {str(answer) for answer in answers[1:]} == {
            f"model gpt-4o-mini at {server.url}: batch batch-0 is completed, and its file batch-0-output is not there "
            "(404); run again later; if it is gone, `touchstone batches --cancel batch-0` lets its requests be sent "
            "again"
        }
        assert len(set(map(id, answers))) == 20, "an error of several is taken for one question's"
        config = write_config(tmp_path, store=str(tmp_path), families={"uraq": {}})
        await asyncio.to_thread(cancel_batches, config, "batch-0")
        assert capsys.readouterr().out == (
            "batch-0: its server has no answers of it; its requests will be sent again, though 19 were answered and "
            "paid for, with up to about 0.00 USD\n"
        )
        server.shown = lambda content: content
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert len(server.batches) == 2


async def test_a_batch_whose_answers_are_there_is_kept_by_cancelling(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares) as server:
        await left_by_a_killed_process(server, tmp_path, square)
        config = write_config(tmp_path, store=str(tmp_path), families={"uraq": {}})
        for _ in range(2):
            await asyncio.to_thread(cancel_batches, config, "batch-0")
        assert list((tmp_path / "batches").glob("*/batch.json"))
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert server.answered_twice == []


def without_an_id(content: bytes) -> bytes:
    return content.replace(b'"custom_id"', b'"id_of_mine"', 1)


async def test_the_good_lines_of_a_file_are_kept_and_a_bad_one_is_told_and_asked_again(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    told: list[str] = []
    with BatchServer(answer=squares, shown=without_an_id) as server:
        answers = await ask(server, tmp_path, square, range(20), told=told, max_retries=0, batch_unanswered="directly")
        assert answers == [Square(square=n * n) for n in range(20)]
        assert (len(server.batches), len(server.answered_twice)) == (1, 1)
    assert told[-1] == (
        "gpt-4o-mini: batch batch-0 is completed: 18 answers, 1 without an answer, of which 1 is paid for (1 line "
        "of the server's files cannot be read)"
    )


async def test_the_whole_lines_of_a_file_that_is_cut_are_kept_and_the_others_are_not_sent_for_anew(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    with BatchServer(answer=squares, shown=lambda content: content[: len(content) // 2]) as server:
        answers = await ask(server, tmp_path, square, range(20), max_retries=0)
        assert sum(isinstance(answer, Square) for answer in answers) == 1 + 9
        assert {str(answer) for answer in answers if not isinstance(answer, Square)} == {
            f"model gpt-4o-mini at {server.url}: says that batch batch-0 is completed and 19 of its requests are "
            "answered, and its files have 9 lines; run again later; if it is gone, `touchstone batches --cancel "
            "batch-0` lets its requests be sent again"
        }
        server.shown = lambda content: content
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert (len(server.batches), server.answered_twice) == (1, [])


async def test_a_file_that_is_whole_when_it_is_read_anew_loses_nothing(tmp_path: Path, square: Prompt[Square]) -> None:
    reads = count()
    with BatchServer(answer=squares, shown=lambda content: content[: None if next(reads) else 700]) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert (len(server.batches), server.answered_twice) == (1, [])


async def test_good_lines_are_kept_though_the_file_is_gone_later(tmp_path: Path, square: Prompt[Square]) -> None:
    reads = count()
    with BatchServer(answer=squares, shown=lambda content: None if next(reads) else without_an_id(content)) as server:
        answers = await ask(server, tmp_path, square, range(20))
        assert sum(isinstance(answer, Square) for answer in answers) == 19
        assert sum(isinstance(answer, TransportError) for answer in answers) == 1


async def test_a_creation_that_the_list_shows_later_is_not_repeated(tmp_path: Path, square: Prompt[Square]) -> None:
    faults = BatchFaults(dropped=1, times=1)
    with BatchServer(answer=squares, batch_faults=faults, list_lags=2) as server:
        assert await ask(server, tmp_path, square, range(20)) == [Square(square=n * n) for n in range(20)]
        assert len(server.batches) == 1


async def test_a_server_that_is_silent_while_a_batch_is_waited_for_is_told(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    told: list[str] = []
    with BatchServer(answer=squares) as server:
        await left_by_a_killed_process(server, tmp_path, square)
        server.batch_faults = BatchFaults(errors_500=1, times=10)
        await ask(server, tmp_path, square, range(20), told=told, max_retries=0)
    [line] = [line for line in told if line.startswith("gpt-4o-mini: still waiting for batch batch-0: ")]
    assert "500" in line


async def test_a_damaged_note_of_a_batch_is_a_line(tmp_path: Path, square: Prompt[Square]) -> None:
    with BatchServer(answer=squares) as server:
        await left_by_a_killed_process(server, tmp_path, square)
        for name in ("keys.json", "batch.json"):
            [path] = (tmp_path / "batches").glob(f"*/{name}")
            path.write_bytes(path.read_bytes()[:30])
            with pytest.raises(Failed, match=re.escape(f"{path}: is damaged, so the batch that it tells of cannot")):
                await ask(server, tmp_path, square, range(20))
        assert len(server.batches) == 1
