"""The endpoint against a real server over HTTP: what is asked, kept, asked again, refused and paid."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable
from contextlib import aclosing, closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.llm import connection
from flows.llm.cache import Completion, CompletionCache
from flows.llm.chat_format import read_reply, strict_schema
from flows.llm.connection import ApiKeyError, without_parts
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Budget, Limits
from flows.llm.model import (
    MAX_REASKS,
    BudgetSpent,
    EachOnce,
    Invalid,
    InvalidAnswer,
    Prompt,
    Text,
    TransportError,
    Usage,
)
from flows.llm.prices import FlatPrice, Prices, UnknownPrice
from schemas.base import Frozen
from schemas.manifest import added
from tests.chat_server import ChatServer, Faults, Messages, Refusal, Reply

KEY = "sk-very-secret-0123456789"
PRICES = Prices({"gpt-4o-mini": FlatPrice(input_per_million=1000, output_per_million=1000)})
"""A token costs a tenth of a cent."""


class Asked(Frozen):
    number: int


class Said(Frozen):
    said: str


class Square(Frozen):
    square: int
    words: tuple[str, ...] = ()


def is_right(asked: Asked, answer: Square) -> None:
    if answer.square != asked.number**2:
        raise Invalid("wrong square", f"{asked.number} times itself is not {answer.square}")


def squares(messages: Messages) -> str:
    number = int(messages[0]["content"].split()[1])
    return json.dumps({"square": number**2, "words": ["for", "sure"]})


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again soon, where no server says when."""
    monkeypatch.setattr(connection, "FIRST_PAUSE_S", 0.05)


@pytest.fixture
def square(tmp_path: Path) -> Prompt[Square]:
    (tmp_path / "square.j2").write_text("{% block user %}Square {{ number }} please{% endblock %}", encoding="utf-8")
    return Prompt("square", 1, Square, tmp_path, checks=(is_right,), max_tokens=50, inputs=Asked)


@pytest.fixture
def words(tmp_path: Path) -> Prompt[Text]:
    (tmp_path / "words.j2").write_text("{% block user %}Spell {{ number }}{% endblock %}", encoding="utf-8")
    return Prompt("words", 1, Text, tmp_path, max_tokens=50, inputs=Asked)


def a_prompt(folder: Path, output: type[Any] = Text, tokens: int = 50) -> Prompt[Any]:
    """A prompt with a system message, asked at temperature 0."""
    (folder / "told.j2").write_text(
        "{% block system %}Be exact.{% endblock %}{% block user %}Square {{ number }} please{% endblock %}"
    )
    return Prompt("told", 1, output, folder, temperature=0.0, max_tokens=tokens, inputs=Asked)


async def ask(
    server: ChatServer,
    folder: Path,
    prompt: Prompt[Any],
    numbers: range | list[int],
    usage: Usage | None = None,
    *,
    budget: Budget | None = None,
    limits: Limits | None = None,
    told: list[str] | None = None,
    **settings: Any,
) -> list[Any]:
    """The answers, or what was raised, of a run with an endpoint and a cache connection of its own."""
    made = EndpointSettings.model_validate({"name": "gpt-4o-mini", "base_url": server.url, **settings})
    with closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
        notes: list[str] = [] if told is None else told
        async with aclosing(
            Endpoint(made, cache, prices=PRICES, budget=budget, limits=limits, tell=notes.append)
        ) as endpoint:
            calls = (
                endpoint.complete(prompt, Asked(number=n), usage=Usage() if usage is None else usage) for n in numbers
            )
            return await asyncio.gather(*calls, return_exceptions=True)


async def test_answers_are_typed_counted_and_kept(tmp_path: Path, square: Prompt[Square]) -> None:
    usage = Usage()
    with ChatServer(answer=lambda messages: Reply(squares(messages), usage=(10, 5))) as server:
        answers = await ask(server, tmp_path, square, range(20), usage)
        assert answers == [Square(square=n * n, words=("for", "sure")) for n in range(20)]
        assert (usage.calls, usage.cached, usage.input_tokens, usage.output_tokens) == (20, 0, 200, 100)
        assert usage.cost_usd == pytest.approx(0.3)
        sent = server.requests[0].body
        assert (sent["temperature"], sent["max_tokens"]) == (1.0, 50)
        assert sent["response_format"]["json_schema"]["strict"] is True

        # Another process, another concurrency: nothing is asked, nothing is paid.
        server.clear()
        again = Usage()
        assert await ask(server, tmp_path, square, range(20), again, concurrency=3) == answers
        assert server.requests == []
        assert again == Usage(
            cached=20, cached_input_tokens=200, cached_output_tokens=100, cached_cost_usd=pytest.approx(0.3)
        )


async def test_money_for_a_shared_answer_is_counted_once(tmp_path: Path, square: Prompt[Square]) -> None:
    paid, again = EachOnce(), EachOnce()
    with ChatServer(answer=lambda messages: Reply(squares(messages), usage=(10, 5))) as server:
        await ask(server, tmp_path, square, [1, 2, 1, 1], paid)
        await ask(server, tmp_path, square, [1, 2, 1, 1], again)
        assert len(server.requests) == 2
    # 0.015 dollars an answer
    assert (paid.calls, paid.cached, paid.cost_usd, paid.cached_cost_usd) == (2, 2, pytest.approx(0.03), 0.0)
    assert (again.calls, again.cached, again.cost_usd, again.cached_cost_usd) == (0, 4, 0.0, pytest.approx(0.03))
    assert again.cached_input_tokens == 40


async def test_money_is_counted_once_where_the_same_is_asked_while_its_answer_is_kept(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    asked: list[asyncio.Task[Square]] = []
    usage = EachOnce()

    class Cache(CompletionCache):
        def put(self, key: str, completion: Completion) -> None:
            super().put(key, completion)
            asked.append(
                asyncio.get_running_loop().create_task(endpoint.complete(square, Asked(number=1), usage=usage))
            )

    with (
        ChatServer(answer=lambda messages: Reply(squares(messages), usage=(10, 5))) as server,
        closing(Cache(f"sqlite:///{tmp_path}/cache.db")) as cache,
    ):
        settings = EndpointSettings(name="gpt-4o-mini", base_url=server.url)
        async with aclosing(Endpoint(settings, cache, prices=PRICES)) as endpoint:
            await endpoint.complete(square, Asked(number=1), usage=usage)
            await asyncio.gather(*asked)
        assert len(server.requests) == 1
    assert (usage.calls, usage.cached) == (1, 1)
    assert added(usage.cost_usd, usage.cached_cost_usd) == pytest.approx(0.015)


async def test_a_cookie_of_the_server_comes_back_with_the_next_request(tmp_path: Path, words: Prompt[Text]) -> None:
    """A gateway that spreads clients over servers knows by it where this one belongs."""
    seen: list[str | None] = []

    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            seen.append(self.headers["Cookie"])
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "two"}}
            body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Set-Cookie", f"route={len(seen)}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        settings = EndpointSettings(name="m", base_url=f"http://127.0.0.1:{server.server_address[1]}/v1")
        with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
            async with aclosing(Endpoint(settings, cache)) as endpoint:
                for number in range(3):
                    await endpoint.complete(words, Asked(number=number), usage=Usage())
        server.shutdown()
    assert seen == [None, "route=1", "route=2"]


async def test_money_at_a_price_that_is_not_known_is_not_known(tmp_path: Path, square: Prompt[Square]) -> None:
    paid, again = Usage(), Usage()
    with ChatServer(answer=squares, model="nobody-knows") as server:
        await ask(server, tmp_path, square, range(2), paid, name="nobody-knows")
        await ask(server, tmp_path, square, range(2), again, name="nobody-knows")
    assert (paid.calls, paid.cost_usd, paid.cached_cost_usd) == (2, None, 0.0)
    assert (again.cached, again.cost_usd, again.cached_cost_usd) == (2, 0.0, None)


async def test_a_changed_limit_of_tokens_asks_only_its_own_prompt_anew(
    tmp_path: Path, square: Prompt[Square], words: Prompt[Text]
) -> None:
    with ChatServer(answer=squares) as server:
        await ask(server, tmp_path, square, range(4))
        await ask(server, tmp_path, words, range(4))
        server.clear()
        longer = Prompt("words", 1, Text, tmp_path, max_tokens=51)
        await ask(server, tmp_path, square, range(4))
        await ask(server, tmp_path, longer, range(4))
        assert len(server.requests) == 4
        assert {request.body["max_tokens"] for request in server.requests} == {51}


async def test_a_later_draw_asks_anew_and_is_kept_as_well(tmp_path: Path, words: Prompt[Text]) -> None:
    with (
        ChatServer(answer=lambda _: "one") as server,
        closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache,
    ):
        async with aclosing(Endpoint(EndpointSettings(name="gpt-4o-mini", base_url=server.url), cache)) as endpoint:
            for draw in (0, 1, 1, 0):
                await endpoint.complete(words, Asked(number=1), draw=draw, usage=Usage())
        assert len(server.requests) == 2


@pytest.mark.parametrize("rejected", [["json_schema"], ["json_schema", "json_object"]])
async def test_the_form_is_asked_for_as_the_server_offers_and_found_out_once(
    tmp_path: Path, square: Prompt[Square], rejected: list[str]
) -> None:
    with ChatServer(answer=squares, rejects=frozenset(rejected), faults=Faults(latency_s=(0.02, 0.02))) as server:
        answers = await ask(server, tmp_path, square, range(30))
        assert [a.square for a in answers if isinstance(a, Square)] == [n * n for n in range(30)]
        assert server.outcomes() == {"400": len(rejected), "200": 30}
        last = server.requests[-1].body
        assert last.get("response_format") == ({"type": "json_object"} if len(rejected) == 1 else None)
        assert "JSON schema" in last["messages"][-1]["content"]  # or the model would not know the form

        # What was kept does not depend on how the form was asked for.
        server.clear()
        assert await ask(server, tmp_path, square, range(30), structured="text") == answers
        assert server.requests == []


async def test_a_server_that_only_says_bad_request_is_tried_without_the_form(
    tmp_path: Path, square: Prompt[Square]
) -> None:
    with ChatServer(answer=squares, rejects=frozenset(["json_schema"]), rejection="Bad request") as server:
        assert await ask(server, tmp_path, square, [3]) == [Square(square=9, words=("for", "sure"))]


async def test_a_form_that_was_demanded_is_not_given_up(tmp_path: Path, square: Prompt[Square]) -> None:
    with ChatServer(answer=squares, rejects=frozenset(["json_schema"])) as server:
        [error] = await ask(server, tmp_path, square, [3], structured="json_schema")
        assert isinstance(error, TransportError)
        assert "response_format" in str(error)
        assert "set structured: auto" in str(error)
        assert len(server.requests) == 1


async def test_text_is_asked_for_without_a_form(tmp_path: Path, words: Prompt[Text]) -> None:
    with ChatServer(answer=lambda _: "  twelve\n") as server:
        assert await ask(server, tmp_path, words, [12]) == [Text(text="  twelve\n")]
        assert "response_format" not in server.requests[0].body


async def test_an_invalid_answer_is_asked_again_with_its_error(tmp_path: Path, square: Prompt[Square]) -> None:
    def learns(messages: Messages) -> str:
        return '{"square": 10}' if len(messages) == 1 else squares(messages)

    with ChatServer(answer=learns) as server:
        usage = Usage()
        answers = await ask(server, tmp_path, square, [3], usage)
        assert answers == [Square(square=9, words=("for", "sure"))]
        assert usage.calls == 2
        _, mistake, correction = server.requests[1].messages
        assert mistake == {"role": "assistant", "content": '{"square": 10}'}
        assert "wrong square: 3 times itself is not 10" in correction["content"]

        # Both turns are kept.
        server.clear()
        assert await ask(server, tmp_path, square, [3]) == answers
        assert server.requests == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("I would rather not say"), "answer is not JSON"),
        (Reply('{"square": 9'), "answer is not JSON"),
        (Reply('{"square": 9, "wor', finish_reason="length"), "answer cut off"),
        (Reply('{"square": [[9]]}'), "answer of the wrong form"),
        (Reply('{"square": 10}'), "wrong square"),
        (Reply(""), "answer is not JSON"),
    ],
)
async def test_asking_again_is_bounded_and_never_paid_twice(
    tmp_path: Path, square: Prompt[Square], reply: Reply, reason: str
) -> None:
    with ChatServer(answer=lambda _: reply) as server:
        [error] = await ask(server, tmp_path, square, [3])
        assert isinstance(error, InvalidAnswer)
        assert (error.reason, error.answer) == (reason, reply.content)
        assert len(server.requests) == 1 + MAX_REASKS
        server.clear()
        [again] = await ask(server, tmp_path, square, [3])
        assert isinstance(again, InvalidAnswer)
        assert (again.reason, again.answer) == (error.reason, error.answer)
        assert server.requests == []


@pytest.mark.parametrize(
    "reply",
    [Reply(None, refusal="I cannot help."), Reply("I cannot help.", finish_reason="content_filter")],
)
async def test_a_refusal_is_kept_and_not_argued_with(tmp_path: Path, square: Prompt[Square], reply: Reply) -> None:
    with ChatServer(answer=lambda _: reply) as server:
        for _ in range(2):
            [error] = await ask(server, tmp_path, square, [3])
            assert isinstance(error, InvalidAnswer)
            assert (error.reason, error.answer) == ("refused", "I cannot help.")
        assert len(server.requests) == 1


async def ends(folder: Path, prompt: Prompt[Any], change: Callable[[dict[str, Any]], None], **settings: Any) -> Any:
    """What comes of a reply, "half an", that is changed."""
    with ChatServer(answer=lambda _: "half an") as server:
        reply = server._reply

        def changed(body: dict[str, Any], name: str) -> dict[str, Any]:
            made = reply(body, name)
            change(made)
            return made

        server._reply = changed  # type: ignore[method-assign]
        [found] = await ask(server, folder, prompt, [1], **settings)
        return found


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", None])
async def test_a_reply_that_ends_at_its_limit_is_cut_off_whatever_the_word(
    tmp_path: Path, words: Prompt[Text], finish: str | None
) -> None:
    found = await ends(tmp_path, words, lambda reply: reply["choices"][0].update(finish_reason=finish))
    assert found == Text(text="half an", cut_off=finish is not None)


@pytest.mark.parametrize("finish", ["SAFETY", "content_filter", "RECITATION", "refusal", "sensitive"])
async def test_a_reply_that_is_withheld_is_a_refusal(tmp_path: Path, words: Prompt[Text], finish: str) -> None:
    found = await ends(tmp_path, words, lambda reply: reply["choices"][0].update(finish_reason=finish))
    assert isinstance(found, InvalidAnswer)
    assert found.reason == "refused"


def _fail(replies: list[dict[str, Any]], reply: dict[str, Any]) -> None:
    """Each reply in turn gets one of the changes; an error stands in its place."""
    for change in replies[:1]:
        if "error" in change:
            reply.clear()
            reply.update(change)
        else:
            reply["choices"][0].update(change)
    del replies[:1]


BAD_GATEWAY = {"error": {"message": "Provider returned error", "code": 502}, "id": "x"}


@pytest.mark.parametrize("fault", [{"finish_reason": "error"}, {"finish_reason": "abort"}, BAD_GATEWAY])
async def test_a_reply_that_failed_is_asked_for_again(
    tmp_path: Path, words: Prompt[Text], fault: dict[str, Any]
) -> None:
    assert await ends(tmp_path, words, partial(_fail, [fault]), max_retries=1) == Text(text="half an")
    error = await ends(tmp_path, words, partial(_fail, [fault] * 2), max_retries=1, parameters={"seed": 1})
    assert isinstance(error, TransportError)
    assert error.transient
    assert "server error 50" in str(error)


async def test_an_error_with_status_200_is_what_its_code_says(tmp_path: Path, words: Prompt[Text]) -> None:
    def fault(code: int, said: str) -> dict[str, Any]:
        return {"error": {"message": said, "code": code}}

    def long(reply: dict[str, Any]) -> None:
        _fail([fault(400, "This model's maximum context length is 100 tokens")], reply)

    found = await ends(tmp_path, words, long)
    assert isinstance(found, InvalidAnswer)
    assert found.reason == "prompt longer than the model's window"
    found = await ends(tmp_path, words, partial(_fail, [fault(401, "No auth"), {}]))
    assert "a key is asked for (401)" in str(found)
    found = await ends(tmp_path, words, partial(_fail, [fault(429, "Rate limit exceeded")]), max_retries=0)
    assert "too many requests (429)" in str(found)


async def test_an_answer_with_nul_is_invalid_and_can_be_kept_anywhere(tmp_path: Path, words: Prompt[Text]) -> None:
    with ChatServer(answer=lambda _: "one\0two") as server:
        for requests in (1 + MAX_REASKS, 0):
            [error] = await ask(server, tmp_path, words, [1])
            assert isinstance(error, InvalidAnswer)
            assert error.reason == "answer holds a character that is no text"
            assert r"one\x00two" in error.evidence
            assert "\0" not in error.evidence
            assert len(server.requests) == requests
            server.clear()


async def test_no_servers_words_steer_a_terminal(tmp_path: Path) -> None:
    said = "no temperature \x1b[2J\x9b1A\x00\u202ethere"
    shown = r"no temperature \x1b[2J\x9b1A\x00\u202ethere"
    told: list[str] = []
    with ChatServer(answer=lambda _: "x", refuses=lambda body: (400, said)) as server:
        [error] = await ask(server, tmp_path, a_prompt(tmp_path), [1], told=told)
    assert shown in str(error)
    assert shown in told[0]
    refused = 400, {"error": {"message": said, "code": "content_filter"}}
    with ChatServer(answer=lambda _: "x", refuses=lambda body: refused) as server:
        [error] = await ask(server, tmp_path, a_prompt(tmp_path), [1])
    assert error.evidence == shown


async def test_half_an_emoji_is_no_reason_to_lose_an_answer(tmp_path: Path, words: Prompt[Text]) -> None:
    with ChatServer(answer=lambda _: "x") as server:
        server._send = lambda writer, status, body, headers=None: server._send_bytes(  # type: ignore[method-assign]
            writer, status, json.dumps(body).replace('"x"', '"x\\ud83d"').encode()
        )
        assert await ask(server, tmp_path, words, [1]) == [Text(text="x\ufffd")]


async def test_the_same_question_asked_at_once_is_paid_for_once(tmp_path: Path, words: Prompt[Text]) -> None:
    usage = Usage()
    with ChatServer(answer=lambda _: "x", faults=Faults(latency_s=(0.05, 0.05))) as server:
        assert await ask(server, tmp_path, words, [1] * 20 + [2] * 20, usage) == [Text(text="x")] * 40
        assert len(server.requests) == 2
    assert (usage.calls, usage.cached) == (2, 38)


async def test_who_waits_for_anothers_answer_fails_with_it(tmp_path: Path, words: Prompt[Text]) -> None:
    with ChatServer(answer=lambda _: "x", faults=Faults(errors_500=1, times=100)) as server:
        errors = await ask(server, tmp_path, words, [1] * 20, max_retries=0)
        assert all(isinstance(error, TransportError) for error in errors)
        assert len(server.requests) == 1


async def test_retry_after_is_honoured(tmp_path: Path, words: Prompt[Text]) -> None:
    # Without the header the SDK would come back after at most 0.5 s.
    with ChatServer(answer=lambda _: "x", faults=Faults(bursts=[(0, 1)], retry_after_s=1.1)) as server:
        assert await ask(server, tmp_path, words, [1]) == [Text(text="x")]
        refused, answered = server.requests
        assert answered.arrived - refused.arrived >= 1.1


async def test_a_burst_of_429s_cuts_once_and_the_places_come_back(tmp_path: Path, words: Prompt[Text]) -> None:
    limits = Limits(concurrency=16, cooling_s=1.0, recovery_successes=5)
    seen: list[int] = []

    def answer(_: Messages) -> str:
        seen.append(limits.allowed)
        return "x"

    faults = Faults(bursts=[(16, 16)], latency_s=(0.01, 0.01))
    with ChatServer(answer=answer, faults=faults) as server:
        answers = await ask(server, tmp_path, words, range(100), limits=limits)
        assert all(answer == Text(text="x") for answer in answers)
        assert server.outcomes() == {"429": 16, "200": 100}
        assert server.answered_twice == []
    assert limits.cuts == 1
    assert min(seen) == 8
    assert limits.allowed == 16
    assert len(set(seen)) > 4  # slowly


async def test_a_model_that_changes_behind_its_name_is_told_once(tmp_path: Path, words: Prompt[Text]) -> None:
    told: list[str] = []

    def answer(_: Messages) -> str:
        server.serves = "gpt-4o-mini-2" if len(server.requests) >= 5 else "gpt-4o-mini-1"
        return "x"

    with ChatServer(answer=answer) as server:
        for _ in range(2):  # from the cache it is the same
            told.clear()
            assert await ask(server, tmp_path, words, range(10), told=told) == [Text(text="x")] * 10
            [line] = told
            assert line.startswith("model gpt-4o-mini: gpt-4o-mini-")
            assert "is of both; name one of them" in line
        assert len(server.requests) == 10
        assert await ask(server, tmp_path, words, range(4), told=[]) == [Text(text="x")] * 4
        assert len(server.requests) == 10


@pytest.mark.slow
async def test_a_server_that_is_saturated_without_a_429_answers_all(tmp_path: Path, words: Prompt[Text]) -> None:
    # It answers some 20 in time, also those that nobody waits for any longer. With 64 at once all would be in vain.
    limits = Limits(concurrency=64)
    faults = Faults(latency_s=(0.05, 0.05), capacity=2)
    with ChatServer(answer=lambda _: "x", faults=faults) as server:
        answers = await ask(server, tmp_path, words, range(80), limits=limits, timeout_s=0.5, max_retries=50)
        assert answers == [Text(text="x")] * 80
    assert limits.cuts > 0
    assert limits.running == 0


async def test_no_more_requests_a_minute_than_allowed_and_retries_count(tmp_path: Path, words: Prompt[Text]) -> None:
    class Noting(Limits):
        """Notes when requests are let through; when they arrive depends on the machine."""

        async def send(self) -> float:
            sent.append(await super().send())
            return sent[-1]

    sent: list[float] = []
    with ChatServer(answer=lambda _: "x", faults=Faults(bursts=[(1, 5)])) as server:
        await ask(server, tmp_path, words, range(35), limits=Noting(concurrency=35, requests_per_minute=1200))
        assert len(server.requests) == 40
    assert len(sent) == 40
    # 20 at once, then 1180 a minute.
    assert sent[-1] - sent[0] >= 20 / (1180 / 60) - 0.01
    assert all(sum(start <= other < start + 0.5 for other in sent) <= 20 + 10 for start in sent)


async def test_the_ceiling_is_never_passed_and_the_run_goes_on_from_there(tmp_path: Path, words: Prompt[Text]) -> None:
    faults = Faults(latency_s=(0.005, 0.03))
    with ChatServer(answer=lambda _: Reply("x", usage=(20, 30)), faults=faults) as server:
        budget = Budget(1.0)  # 20 answers of 0.05 USD; at most some 0.2 are reserved for each
        results = await ask(server, tmp_path, words, range(100), budget=budget, concurrency=32)
        answered = sum(isinstance(result, Text) for result in results)
        assert all(isinstance(result, Text | BudgetSpent) for result in results)
        assert answered == len(server.answered)
        assert 0.75 < budget.spent_usd <= 1.0
        assert budget.spent_usd == pytest.approx(answered * 0.05)
        spent = next(result for result in results if isinstance(result, BudgetSpent))
        assert "raise budget_usd" in str(spent)

        rest = await ask(server, tmp_path, words, range(100), budget=Budget(10.0), concurrency=32)
        assert all(isinstance(result, Text) for result in rest)
        assert len(server.answered) == 100
        assert server.answered_twice == []


async def test_a_ceiling_needs_a_price(tmp_path: Path) -> None:
    with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
        settings = EndpointSettings(name="home-grown")
        with pytest.raises(UnknownPrice, match=r"home-grown.*name a file under prices:"):
            Endpoint(settings, cache, budget=Budget(5))
        assert not Endpoint(settings, cache).price.is_known


async def test_tokens_are_estimated_where_the_server_does_not_count(tmp_path: Path, words: Prompt[Text]) -> None:
    usage = Usage()
    with ChatServer(answer=lambda _: "twelve", faults=Faults(no_usage=1.0)) as server:
        await ask(server, tmp_path, words, [12], usage)
    # "Spell 12": 8 characters, 2 tokens, and 4 for the message; "twelve": 6 characters, 2 tokens.
    assert (usage.input_tokens, usage.output_tokens) == (6, 2)


def all_texts(error: BaseException) -> str:
    """Everything that a log could hold of an exception."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)


async def test_a_wrong_key_is_named_by_its_variable_and_never_shown(
    tmp_path: Path, words: Prompt[Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with ChatServer(answer=lambda _: "x", key="another") as server:
        [error] = await ask(server, tmp_path, words, [1], api_key_env="MY_KEY")
        assert isinstance(error, TransportError)
        assert f"model gpt-4o-mini at {server.url}: the key in the environment variable MY_KEY" in str(error)
        assert KEY not in all_texts(error)
        [keyless] = await ask(server, tmp_path, words, [1])
        assert isinstance(keyless, TransportError)
        assert "api_key_env" in str(keyless)
    with ChatServer(answer=lambda _: "x", key=KEY) as server:
        assert await ask(server, tmp_path, words, [1], api_key_env="MY_KEY") == [Text(text="x")]
        # A server that repeats the key in another error.
        server.rejects, server.rejection = frozenset(["json_object"]), f"you sent Bearer {KEY}"
        square = Prompt("words", 1, Square, tmp_path)
        [echo] = await ask(server, tmp_path, square, [1], api_key_env="MY_KEY", structured="json_object")
        assert "you sent Bearer ***" in str(echo)
        assert isinstance(echo, TransportError)
        assert KEY not in all_texts(echo)
    assert KEY.encode() not in everything_in(tmp_path)


@pytest.mark.parametrize("key", ["x", "secret7", KEY])
async def test_an_answer_is_kept_as_it_was_given_whatever_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    said = "An example: the fox, the secret7 and " + KEY
    with ChatServer(answer=lambda _: json.dumps({"said": said}), key=key) as server:
        prompt = a_prompt(tmp_path, Said)
        [answer] = await ask(server, tmp_path, prompt, [1], api_key_env="MY_KEY")
        assert answer == Said(said=said)
        server.clear()
        assert await ask(server, tmp_path, prompt, [1], api_key_env="MY_KEY") == [answer]
        assert server.requests == []


def _says(said: str, body: dict[str, Any]) -> Refusal:
    return 400, said


@pytest.mark.parametrize(("key", "shown"), [("x", "an x stays x"), (KEY, "an x stays ***")])
async def test_of_errors_a_key_is_hidden_that_can_be_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, shown: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    spelt = "".join(f"\\u{ord(character):04x}" for character in key)
    with ChatServer(answer=lambda _: "x") as server:
        for repeated in (key, spelt) if len(key) > 1 else (key,):
            server.refuses = partial(_says, f"an x stays {repeated}")
            [error] = await ask(server, tmp_path, a_prompt(tmp_path), [1], api_key_env="MY_KEY")
            assert shown in str(error)


LONG_KEY = "sk-proj-Ab3dEf7hIj1lMn0pQr5tWxYz"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"key {LONG_KEY}!", "key ***!"),
        (
            "Incorrect API key provided: sk-proj-Ab3d...WxYz. You can find",
            "Incorrect API key provided: ***. You can find",
        ),
        ("Incorrect API key provided: sk-proj-********************WxYz.", "Incorrect API key provided: ***."),
        ("key sk-p…xYz is wrong", "key *** is wrong"),
        ("key sk-…z is wrong", "key *** is wrong"),
        ("ends in ****WxYz", "ends in ***"),
        ("begins with sk-proj-Ab3d, see there", "begins with ***, see there"),
        ("holds Ef7hIj1lM somewhere", "holds *** somewhere"),
        # What is no part of it stays: short words, dots, keys of others.
        ("ask... a sk- key ... and sk-p", "ask... a sk- key ... and sk-p"),
        ("limit is 10*** of task...", "limit is 10*** of task..."),
        ("sk-live-99887766554433 is no key", "sk-live-99887766554433 is no key"),
    ],
)
async def test_of_errors_a_key_is_hidden_in_part_too_and_of_answers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, shown: str
) -> None:
    assert without_parts(said, LONG_KEY) == shown
    monkeypatch.setenv("MY_KEY", LONG_KEY)
    with ChatServer(answer=lambda _: json.dumps({"said": said})) as server:
        answered = await ask(server, tmp_path, a_prompt(tmp_path, Said), [1], api_key_env="MY_KEY")
        assert answered == [Said(said=said)]
        server.refuses = partial(_says, said)
        [error] = await ask(server, tmp_path, a_prompt(tmp_path), [2], api_key_env="MY_KEY")
        assert f"({shown})" in str(error)


def test_a_count_of_tokens_that_no_window_holds_is_none() -> None:
    counted = {"prompt_tokens": 2**63, "completion_tokens": 10**400}
    reply = read_reply(json.dumps({"choices": [{"message": {"content": "x"}}], "usage": counted}).encode())
    assert reply is not None
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "holds no key"), (" ", "holds no key"), ("sk-\u00e9\n1", "characters that no key has")],
)
def test_a_missing_key_is_said_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, said: str
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
        with pytest.raises(ApiKeyError, match=rf"environment variable MY_KEY.*{said}") as raised:
            Endpoint(EndpointSettings(name="gpt-4o-mini", api_key_env="MY_KEY"), cache)
        assert "sk-" not in str(raised.value)


async def test_a_server_that_hangs_is_asked_twice_whatever_the_retries(tmp_path: Path, words: Prompt[Text]) -> None:
    with ChatServer(answer=lambda _: "x", faults=Faults(latency_s=(60, 60))) as server:
        [error] = await ask(server, tmp_path, words, [1], max_retries=5, timeout_s=0.2)
        assert isinstance(error, TransportError)
        assert "no answer within 0.2 s in 2 tries; raise timeout_s" in str(error)
        assert not error.transient  # the engine would try the whole shard again
        assert server.most_running == 2
        assert server.answered == []
        server.faults = Faults()
        assert await ask(server, tmp_path, words, [1], max_retries=5, timeout_s=0.2) == [Text(text="x")]


async def test_a_server_that_is_slow_within_the_timeout_is_waited_for(tmp_path: Path, words: Prompt[Text]) -> None:
    with ChatServer(answer=lambda _: "x", faults=Faults(latency_s=(0.3, 0.3), errors_500=1, times=2)) as server:
        assert await ask(server, tmp_path, words, [1], max_retries=2, timeout_s=5) == [Text(text="x")]
        assert server.outcomes() == {"500": 2, "200": 1}


async def test_what_stops_a_run_says_where_and_what_to_do(tmp_path: Path, words: Prompt[Text]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        with ChatServer(answer=lambda _: "x") as server:

            async def said(**settings: Any) -> str:
                [error] = await ask(server, tmp_path, words, [1], max_retries=0, **settings)
                assert isinstance(error, TransportError)
                assert "\n" not in str(error)
                return str(error).replace(server.url, "URL").replace(nowhere, "NOWHERE")

            unreachable = await said(base_url=nowhere)
            assert "model gpt-4o-mini at NOWHERE: cannot be reached" in unreachable
            assert "check base_url and that the server is up" in unreachable
            assert "not found (404) (The model `none` does not exist)" in await said(name="none")
            assert "check name and base_url" in await said(base_url=server.url + "/v2")
            server.faults = Faults(latency_s=(0.5, 0.5))
            assert "at URL: no answer within 0.1 s in one try" in await said(timeout_s=0.1)
            server.faults = Faults(errors_500=1)
            server.clear()
            assert "server error 500 after 0 retries (The server had an error)" in await said()
            server.faults = Faults(rate_limited=1)
            server.clear()
            assert "set requests_per_minute or lower concurrency" in await said()
            server.faults = Faults(malformed=1)
            server.clear()
            assert "no chat completion" in await said()
            server.faults = Faults(dropped=1)
            server.clear()
            assert "cannot be reached" in await said()


async def test_calls_that_wait_for_a_dead_server_fail_together(tmp_path: Path, square: Prompt[Square]) -> None:
    with ChatServer(answer=squares, faults=Faults(errors_500=1, times=100)) as server:
        errors = await ask(server, tmp_path, square, range(20), max_retries=1)
        assert all(isinstance(error, TransportError) for error in errors)
        assert len(server.requests) == 2


async def test_what_is_too_long_for_the_model_drops_the_record_only(tmp_path: Path, square: Prompt[Square]) -> None:
    said = "This model's maximum context length is 8192 tokens"
    with ChatServer(answer=squares, rejects=frozenset(["json_schema"]), rejection=said) as server:
        [error] = await ask(server, tmp_path, square, [1])
        assert isinstance(error, InvalidAnswer)
        assert error.reason == "prompt longer than the model's window"


async def test_a_server_that_wants_the_newer_name_of_the_limit_gets_it(tmp_path: Path, square: Prompt[Square]) -> None:
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    with ChatServer(answer=squares) as server:
        chat = server._chat

        async def strict(body: dict[str, Any], authorization: str, writer: asyncio.StreamWriter) -> bool:
            server.rejects = frozenset(["json_schema"] if "max_tokens" in body else [])
            server.rejection = said
            return await chat(body, authorization, writer)

        server._chat = strict  # type: ignore[method-assign]
        await ask(server, tmp_path, square, range(5))
        assert server.outcomes() == {"400": 1, "200": 5}
        assert server.requests[-1].body["max_completion_tokens"] == 50
        assert server.requests[-1].body["response_format"]["type"] == "json_schema"


async def test_what_is_in_flight_when_a_run_stops_is_kept_and_the_rest_is_not_sent(
    tmp_path: Path, words: Prompt[Text]
) -> None:
    with ChatServer(answer=lambda _: "x", faults=Faults(latency_s=(0.2, 0.2))) as server:
        run = asyncio.create_task(ask(server, tmp_path, words, range(50), concurrency=10))
        await until(lambda: server.running == 10)  # the first call finds out alone how the server wants to be asked
        run.cancel()
        await asyncio.wait([run])
        assert run.cancelled()
        assert len(server.answered) == 1 + 10
        await ask(server, tmp_path, words, range(50))
        assert len(server.answered) == 50
        assert server.answered_twice == []


@pytest.mark.slow
async def test_every_call_is_answered_once_under_all_faults(tmp_path: Path, square: Prompt[Square]) -> None:
    faults = Faults(
        seed=3,
        latency_s=(0.0, 0.05),
        rate_limited=0.05,
        errors_500=0.05,
        dropped=0.05,
        dropped_in_reply=0.05,
        malformed=0.05,
        truncated=0.05,
        wrong_types=0.05,
        refusals=0.05,
        no_usage=0.2,
    )
    with ChatServer(answer=squares, faults=faults) as server:
        results = await ask(server, tmp_path, square, range(300), max_retries=8)
        assert all(isinstance(result, Square | InvalidAnswer) for result in results)
        reasons = {result.reason for result in results if isinstance(result, InvalidAnswer)}
        assert "refused" in reasons
        assert sum(isinstance(result, Square) for result in results) > 250
        assert server.answered_twice == []
        outcomes = server.outcomes()
        assert min(outcomes[fault] for fault in ("429", "500", "dropped", "dropped_in_reply", "malformed")) > 0

        server.clear()
        again = await ask(server, tmp_path, square, range(300))
        assert server.requests == []
        assert [repr(result) for result in again] == [repr(result) for result in results]


@pytest.mark.slow
async def test_a_killed_process_has_paid_for_nothing_but_what_was_in_flight(
    tmp_path: Path, words: Prompt[Text]
) -> None:
    script = textwrap.dedent(
        """
        import asyncio, pathlib, sys
        from contextlib import aclosing
        sys.path.insert(0, {root!r})
        from flows.llm.cache import CompletionCache
        from flows.llm.endpoint import Endpoint
        from flows.llm.endpoint_settings import EndpointSettings
        from flows.llm.model import Prompt, Text, Usage
        from schemas.base import Frozen
        class Asked(Frozen):
            number: int
        async def main():
            folder = pathlib.Path({folder!r})
            prompt = Prompt("words", 1, Text, folder, max_tokens=50)
            settings = EndpointSettings(name="gpt-4o-mini", base_url={url!r}, concurrency=8)
            async with aclosing(Endpoint(settings, CompletionCache("sqlite:///{folder}/cache.db"))) as endpoint:
                await asyncio.gather(*(endpoint.complete(prompt, Asked(number=n), usage=Usage()) for n in range(400)))
        asyncio.run(main())
        """
    )
    with ChatServer(answer=lambda _: "x", faults=Faults(latency_s=(0.01, 0.05))) as server:
        text = script.format(root=str(Path(__file__).parents[1]), folder=str(tmp_path), url=server.url)
        process = start(text)
        await until(lambda: len(server.answered) >= 100)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        await until(lambda: server.running == 0)
        before = len(server.answered)
        assert before < 400
        results = await ask(server, tmp_path, words, range(400))
        assert all(result == Text(text="x") for result in results)
        assert len(server.answered_twice) <= 8
        assert len({request.hash for request in server.answered}) == 400


def start(script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script])


async def until(holds: Callable[[], bool]) -> None:
    """Wait for `holds`, at most 20 seconds."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - the server is in another thread
            await asyncio.sleep(0.01)


def test_the_schema_is_strict_all_the_way_down() -> None:
    class Inner(Frozen):
        """Words of its own."""

        a: int = 3

    class Outer(Frozen):
        properties: Inner
        many: tuple[Inner, ...] = ()
        maybe: str | None = None

    schema = strict_schema(Outer.model_json_schema())
    assert schema["required"] == ["properties", "many", "maybe"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Inner"]["required"] == ["a"]
    assert "default" not in json.dumps(schema)


def test_the_settings_refuse_what_is_no_address() -> None:
    with pytest.raises(ValueError, match="expected an address such as"):
        EndpointSettings(name="m", base_url="localhost:8000")
    with pytest.raises(ValueError, match="a name and password do not belong") as raised:
        EndpointSettings(name="m", base_url="http://me:word@host/v1")
    assert "word@" not in str(raised.value)


def test_an_endpoint_is_known_by_model_and_address_without_secrets(tmp_path: Path) -> None:
    with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
        endpoint = Endpoint(EndpointSettings(name="m", base_url="http://host:1/v1/"), cache)
        assert endpoint.identity() == {"provider": "endpoint", "model": "m", "base_url": "http://host:1/v1"}


def test_openai_is_imported_when_something_is_asked_and_not_before() -> None:
    code = (
        "import sys, flows.llm.endpoint, flows.llm.rules; "
        "print([name for name in ('openai', 'sqlalchemy', 'genai_prices') if name in sys.modules])"
    )
    root = str(Path(__file__).parents[1])
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True).stdout
    assert said.strip() == "[]"
