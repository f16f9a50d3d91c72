"""Options weighed by a server that tells the log-probabilities of prompts, in one of two ways."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Literal

import orjson
import pytest

from flows.llm.cache import CompletionCache
from flows.llm.chat_format import read_log_probabilities
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.likelihood import Likelihood, Options, TooLong
from flows.llm.limits import Budget
from flows.llm.local import LocalModel, LocalSettings
from flows.llm.model import BudgetSpent, TransportError, Usage
from schemas.errors import WrongInput
from tests.causal_models import make_llama, text
from tests.chat_server import ChatServer, Faults, Refusal, Telling

ASKED = Options("ab ", ("cd", "e"))


def by_characters(said: str) -> Sequence[float | None]:
    """A token a character, of minus its place in the alphabet; a space is 0."""
    return [None, *(-float(max(0, ord(one) - ord("a") + 1)) for one in said[1:])]


def weigh(
    server: ChatServer,
    asked: Sequence[Options],
    usage: Usage | None = None,
    cache: str = "sqlite:///:memory:",
) -> list[tuple[Likelihood, ...]]:
    async def work() -> list[tuple[Likelihood, ...]]:
        settings = EndpointSettings(name="gpt-4o-mini", base_url=server.url)
        with closing(CompletionCache(cache)) as kept:
            async with aclosing(Endpoint(settings, kept)) as model:
                return await model.likelihoods(asked, usage=Usage() if usage is None else usage)

    return asyncio.run(work())


@pytest.mark.parametrize("way", ["echo", "prompt_logprobs"])
@pytest.mark.parametrize("refuses", [False, True])
def test_both_ways_worked_by_hand(way: Literal["echo", "prompt_logprobs"], refuses: bool) -> None:
    # "ab" is None, -2; of " cd" and " e" each token is minus its place in the alphabet. "!" was generated.
    with ChatServer({}, telling=Telling(by_characters, way, refuses)) as server:
        assert weigh(server, [ASKED]) == [(Likelihood((-2.0,), (0.0, -3.0, -4.0)), Likelihood((-2.0,), (0.0, -5.0)))]
        asked = [request.body for request in server.answered]
    assert {body["prompt"] for body in asked} == {"ab", "ab cd", "ab e"}


@pytest.mark.slow
def test_it_gives_what_the_model_gives_here(tmp_path: Path) -> None:
    local = LocalModel(LocalSettings(name=str(make_llama(tmp_path))))

    def tokens(said: str) -> Sequence[float | None]:
        import torch

        ids = local._tokenizer.encode(said)
        with torch.inference_mode():
            told = torch.log_softmax(local._model(input_ids=torch.tensor([ids])).logits[0], dim=-1)
        return [None, *(told[place, token].item() for place, token in enumerate(ids[1:]))]

    asked = [Options(f"{text(seed, 30)} Bot:", (f" {text(seed, 4)}", f" {text(seed + 9, 7)}")) for seed in range(3)]
    with ChatServer({}, telling=Telling(tokens)) as server:
        found = weigh(server, asked)
    for mine, theirs in zip(found, local.log_probabilities(asked), strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert one.prompt == pytest.approx(other.prompt, abs=1e-4)
            assert one.option == pytest.approx(other.option, abs=1e-4)


def test_nothing_is_paid_for_twice(tmp_path: Path) -> None:
    cache = f"sqlite:///{tmp_path / 'completions.sqlite'}"
    with ChatServer({}, telling=Telling(by_characters)) as server:
        first, again = Usage(), Usage()
        found = weigh(server, [ASKED, ASKED], first, cache)
        assert weigh(server, [ASKED], again, cache) == found[:1]
        assert server.answered_twice == []
    assert (first.calls, first.cached) == (3, 3)
    assert first.input_tokens == len("ab") + len("ab cd") + len("ab e")
    assert (again.calls, again.cached) == (0, 3)


def test_faults_of_transport_are_tried_again() -> None:
    faults = Faults(rate_limited=0.2, retry_after_s=0.01, errors_500=0.2, dropped=0.1, malformed=0.1)
    asked = [Options(f"{word} x", (" y", " z")) for word in ("alpha", "beta", "gamma", "delta")]
    with ChatServer({}, faults=faults, telling=Telling(by_characters)) as server:
        found = weigh(server, asked)
    with ChatServer({}, telling=Telling(by_characters)) as server:
        assert weigh(server, asked) == found


CHAT_MODEL = "This is a chat model and not supported in the v1/completions endpoint."


@pytest.mark.parametrize(
    ("telling", "refusal", "answered"),
    [
        (None, None, "404 (no such path: /v1/completions)"),
        (Telling(by_characters), (404, CHAT_MODEL), f"404 ({CHAT_MODEL})"),
        (Telling(by_characters), (405, ""), "405"),
        (Telling(by_characters, "neither"), None, "200 without them"),
        (
            Telling(by_characters, "neither", refuses=True),
            None,
            "400 (echo is not supported) and 400 (prompt_logprobs is not supported)",
        ),
    ],
)
def test_a_server_that_tells_nothing_of_prompts_is_one_line_after_one_text(
    telling: Telling | None, refusal: Refusal | None, answered: str
) -> None:
    asked = [Options(f"{word} x", (" y", " z")) for word in ("alpha", "beta", "gamma")]
    with (
        ChatServer({}, refuses=lambda body: refusal, telling=telling) as server,
        pytest.raises(TransportError) as raised,
    ):
        weigh(server, asked)
    said = str(raised.value)
    assert "\n" not in said
    assert "the log-probabilities of the prompt's tokens" in said
    assert f"the server answered {answered}; take a server that has them, such as vLLM" in said
    assert "provider local, by its folder or Hub name" in said
    assert {request.body["prompt"] for request in server.requests} <= {"alpha x"}


def test_a_refused_key_is_told_as_such() -> None:
    with (
        ChatServer({}, key="right", telling=Telling(by_characters)) as server,
        pytest.raises(TransportError, match="a key is asked for"),
    ):
        weigh(server, [ASKED])


@pytest.mark.parametrize("told", [5, {"a": 1}, "abc", [None, -1e308, -1e308, -1e308]])
def test_log_probabilities_that_are_none_are_one_line(told: object) -> None:
    body = {"choices": [{"text": "", "logprobs": {"token_logprobs": told}}], "usage": {"prompt_tokens": 3}}
    assert read_log_probabilities(orjson.dumps(body)) is None


def test_a_prompt_longer_than_the_window_and_an_option_without_tokens() -> None:
    with (
        ChatServer({}, telling=Telling(by_characters, window=4)) as server,
        pytest.raises(TooLong, match="length is 4"),
    ):
        weigh(server, [ASKED])
    with ChatServer({}, telling=Telling(by_characters)) as server, pytest.raises(WrongInput, match="option ''"):
        weigh(server, [Options("ab", ("",))])


def test_weighing_keeps_the_ceiling_in_money() -> None:
    async def work(server: ChatServer) -> None:
        settings = EndpointSettings(name="gpt-4o-mini", base_url=server.url)
        with closing(CompletionCache("sqlite:///:memory:")) as cache:
            async with aclosing(Endpoint(settings, cache, budget=Budget(1e-9))) as model:
                await model.likelihoods([ASKED], usage=Usage())

    with ChatServer({}, telling=Telling(by_characters)) as server, pytest.raises(BudgetSpent):
        asyncio.run(work(server))
