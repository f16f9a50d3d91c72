"""`touchstone estimate --evaluate` counts what the cache answers; other estimates are in test_flows_run_estimate.py."""

import asyncio
import re
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.kept import KeptAnswers
from flows.llm.likelihood import Options
from flows.llm.model import Usage
from schemas.uraq import NEEDS
from tests.builds import write_config
from tests.chat_server import ChatServer, Telling
from tests.profiled import build, model, right_answers
from tests.test_flows_cli import Outcome
from tests.test_flows_llm_endpoint_likelihood import by_characters

FAMILIES = {"uraq": {"statements": 40, "context_counts": [1, 5]}}


@pytest.mark.slow
def test_an_estimate_of_an_evaluation_counts_what_was_answered_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    whole = len(right_answers(build(tmp_path, FAMILIES), "uraq"))
    with ChatServer(lambda messages: "no") as server:
        for settings in ({}, {"window": 60, "reasoning_tokens": 100}):
            write_config(
                tmp_path, store=str(tmp_path / "store"), families=FAMILIES, models={"m": model(server, **settings)}
            )
            told = Outcome("estimate", "--evaluate", "m")
            assert told.code == 0, told.error
            assert "answered before" not in told.output
            assert totals(told.output)[0] == whole
            asked = Outcome("evaluate", "uraq", "--model", "m", "--limit", "6")
            assert asked.code == 0, asked.error
            told = Outcome("estimate", "--evaluate", "m", "--limit", "6")
            assert totals(told.output)[:2] == [6 * len(NEEDS)] * 2
            told = Outcome("estimate", "--evaluate", "m")
            assert totals(told.output)[0] == whole
            assert totals(told.output)[1] < whole / 4
            assert Outcome("evaluate", "uraq", "--model", "m").code == 0
            told = Outcome("estimate", "--evaluate", "m")
            assert totals(told.output)[:2] == [whole, whole]
            assert (
                "about 0 calls would be made; what was answered before is in the cache and costs nothing" in told.output
            )


def totals(output: str) -> list[int]:
    """The numbers in the line of the sum."""
    (line,) = re.findall(r"^ *all +(.*)$", output, re.MULTILINE)
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", line)]


def test_weighed_texts_that_are_kept_are_known() -> None:
    async def ask(server: ChatServer) -> None:
        async with aclosing(Endpoint(EndpointSettings(name="gpt-4o-mini", base_url=server.url), cache)) as endpoint:
            await endpoint.likelihoods([Options("ab ", ("cd",))], usage=Usage())

    with closing(CompletionCache("sqlite:///:memory:")) as cache:
        with ChatServer({}, telling=Telling(by_characters)) as server:
            asyncio.run(ask(server))
            kept = KeptAnswers(EndpointSettings(name="gpt-4o-mini", base_url=server.url), cache)
            other = KeptAnswers(EndpointSettings(name="gpt-4o", base_url=server.url), cache)
        assert [text for text in ("ab", "ab cd", "ab ", "cd") if kept.has_text(text)] == ["ab", "ab cd"]
        assert not other.has_text("ab")
