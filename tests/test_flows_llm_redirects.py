"""No request is sent on to a server that nobody has named."""

import datetime
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from flows.llm.batch_api import BatchApi
from flows.llm.cache import CompletionCache
from flows.llm.connection import Connection, sent_on
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Limits
from flows.llm.model import Prompt, Text, TransportError, Usage
from flows.project.installation import served
from schemas.base import Frozen
from tests.elsewhere import redirecting

KEY = "sk-very-secret-0123456789"


class Asked(Frozen):
    number: int


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirected_prompt_goes_nowhere(tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    (tmp_path / "words.j2").write_text("{% block user %}Spell {{ number }}{% endblock %}", encoding="utf-8")
    prompt = Prompt("words", 1, Text, tmp_path, inputs=Asked)
    with redirecting(status) as (url, other, seen), closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
        settings = EndpointSettings(name="m", base_url=url, api_key_env="SOME_KEY")
        async with aclosing(Endpoint(settings, cache)) as endpoint:
            with pytest.raises(TransportError) as raised:
                await endpoint.complete(prompt, Asked(number=1), usage=Usage())
    assert str(raised.value) == (
        f"model m at {url}: sends its requests on to {other}; if you trust it, give that address as base_url"
    )
    assert not raised.value.transient
    assert seen == ["first POST /v1/chat/completions"]


async def test_a_redirected_batch_goes_nowhere(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_text("{}\n")
    with redirecting() as (url, other, seen):
        settings = EndpointSettings(name="m", base_url=url)
        async with aclosing(Connection(settings, Limits(concurrency=1))) as connection:
            api = BatchApi(settings, connection)
            with pytest.raises(TransportError, match=f"sends its requests on to {other}; if"):
                await api.upload("name", tmp_path / "requests.jsonl")
            with pytest.raises(TransportError, match=f"sends its requests on to {other}; if"):
                await api.create("name", "file-1", datetime.datetime.now(datetime.UTC), may_exist=False)
            with pytest.raises(TransportError, match="sends its requests on to"):
                await api.state("batch-1")
            assert await connection.listed_window() is None
    assert seen == [f"first {what}" for what in (
        "POST /v1/files", "POST /v1/batches", "GET /v1/batches/batch-1", "GET /v1/models"
    )]  # fmt: skip


def test_the_doctor_gives_the_key_to_nobody_else() -> None:
    with redirecting() as (url, other, seen):
        models, why = served(url, KEY, timeout_s=5)
    assert models is None
    assert why == f"sends its requests on to {other}; if you trust it, give that address as base_url"
    assert seen == ["first GET /v1/models"]


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("/v2/models", "http://host:1/v2;"),
        ("https://anna:secret@other/v1/models/?key=secret#x", "https://other/v1/models/;"),
        ("http://[", "an address that is none; check base_url"),
    ],
)
def test_what_is_told_of_a_redirect(location: str, said: str) -> None:
    told = sent_on("http://host:1/v1", "http://host:1/v1/models", location)
    assert told.startswith(f"sends its requests on to {said}")
    assert "secret" not in told
