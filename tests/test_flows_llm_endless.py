"""What a server sends without end, or packed, is read up to a limit, and told in one line."""

import time
from contextlib import aclosing, closing
from pathlib import Path

import pytest

from flows.llm import connection
from flows.llm.batch_api import BatchApi, BatchState
from flows.llm.cache import CompletionCache
from flows.llm.connection import Connection
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.limits import Limits
from flows.llm.model import Prompt, Text, TransportError, Usage
from flows.project import installation
from flows.project.installation import served
from schemas.base import Frozen
from tests.endless import Body, endless

TOO_LONG = "model m at {}: replied with more than 2 MB, which no answer takes; check base_url"


class Asked(Frozen):
    number: int


@pytest.mark.parametrize("body", ["endless", "packed"])
async def test_an_answer_without_end_is_refused_once(
    tmp_path: Path, body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_REPLY_BYTES", 2**21)
    (tmp_path / "words.j2").write_text("{% block user %}Spell {{ number }}{% endblock %}", encoding="utf-8")
    prompt = Prompt("words", 1, Text, tmp_path, inputs=Asked)
    with endless(body) as (url, seen), closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
        async with aclosing(Endpoint(EndpointSettings(name="m", base_url=url), cache)) as endpoint:
            with pytest.raises(TransportError) as raised:
                await endpoint.complete(prompt, Asked(number=1), usage=Usage())
    assert str(raised.value) == TOO_LONG.format(url)
    assert not raised.value.transient
    assert seen == ["/v1/chat/completions"]


@pytest.mark.parametrize("body", ["endless", "packed"])
async def test_a_file_of_a_batch_has_a_limit_of_its_own(body: Body, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_FILE_BYTES", 2**21)
    state = BatchState("batch-1", "completed", 1, 1, ("file-1",), "", queue_is_full=False, lacks_answers=False)
    with endless(body) as (url, seen):
        settings = EndpointSettings(name="m", base_url=url)
        async with aclosing(Connection(settings, Limits(concurrency=1))) as opened:
            with pytest.raises(TransportError) as raised:
                await anext(BatchApi(settings, opened).contents(state))
    assert str(raised.value) == TOO_LONG.format(url)
    assert seen == ["/v1/files/file-1/content"]


def test_the_doctor_reads_a_list_up_to_a_limit_and_waits_for_the_whole_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "MOST_LISTED_BYTES", 2**21)
    with endless("endless") as (url, _):
        assert served(url, None, timeout_s=20) == (
            None, "it answers with more than 2 MB; start it, or correct base_url"
        )  # fmt: skip
    with endless("slow") as (url, _):  # it is never silent for as long
        begun = time.monotonic()
        assert served(url, None, timeout_s=0.5) == (None, "no answer within 0.5 s; start it, or correct base_url")
        assert time.monotonic() - begun < 15
    with endless("nested") as (url, _):
        models, why = served(url, None, timeout_s=20)
        assert models is None
        assert why.endswith("; start it, or correct base_url")
        assert not why.startswith("no answer within")
