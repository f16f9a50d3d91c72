"""Hub and URL sources: what the first build read is what later ones read, until somebody asks for a refresh."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from data.sources import SourceSpec, read_source
from data.sources import web as web_module
from data.sources.fingerprint import source_fingerprint
from data.sources.pins import Pins, lock_of, with_sources
from data.sources.spec import SourceError
from schemas.source import Passage, Statement
from tests.documents import paragraph, pdf
from tests.hub import Blob, HubServer
from tests.web import WebServer

SNOW, ICE = b'{"text": "Snow is white."}\n', b'{"text": "Ice is cold."}\n'


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    monkeypatch.setattr(web_module, "WAITS_S", (0.0, 0.0))
    with WebServer({"/facts.jsonl": SNOW}, {"/facts.jsonl": '"one"'}) as server:
        yield server


def spec_of(web: WebServer, path: str = "/facts.jsonl") -> SourceSpec:
    return SourceSpec(format="jsonl", path=web.url + path)


def pins_of(folder: Path, **options: bool) -> Pins:
    return Pins(folder / "my.lock.json", folder / "copies", **options)


def texts(spec: SourceSpec) -> list[str]:
    return [one.text for one in read_source(spec, Statement, pytest.fail)]


def test_a_url_is_read_as_it_was_first_and_asked_only_once(web: WebServer, tmp_path: Path) -> None:
    first = pins_of(tmp_path).pinned(spec_of(web))
    assert texts(first) == ["Snow is white."]
    assert first.revision == '"one"'
    web.files["/facts.jsonl"], web.etags["/facts.jsonl"] = ICE, '"two"'
    assert texts(pins_of(tmp_path).pinned(spec_of(web))) == ["Snow is white."]
    assert len(web.requests) == 1


def test_a_refresh_moves_the_pin_and_tells(web: WebServer, tmp_path: Path) -> None:
    before = pins_of(tmp_path).pinned(spec_of(web))
    same = pins_of(tmp_path, refresh=True)
    assert same.pinned(spec_of(web)) == before  # answered 304: nothing was sent
    assert not same.moved
    web.files["/facts.jsonl"], web.etags["/facts.jsonl"] = ICE, '"two"'
    moving = pins_of(tmp_path, refresh=True)
    assert texts(moving.pinned(spec_of(web))) == ["Ice is cold."]
    assert texts(moving.pinned(spec_of(web))) == ["Ice is cold."]
    assert [(one.before, one.now) for one in moving.moved] == [('"one"', '"two"')]
    assert len(web.requests) == 3  # a source that is named twice is looked at once
    assert texts(pins_of(tmp_path).pinned(spec_of(web))) == ["Ice is cold."]


def test_a_lost_copy_is_fetched_again_only_where_it_is_what_was_pinned(web: WebServer, tmp_path: Path) -> None:
    (copied,) = [pins_of(tmp_path).pinned(spec_of(web)).copied]
    assert copied is not None
    Path(copied).unlink()
    assert texts(pins_of(tmp_path).pinned(spec_of(web))) == ["Snow is white."]
    Path(copied).unlink()
    web.files["/facts.jsonl"], web.etags["/facts.jsonl"] = ICE, '"two"'
    with pytest.raises(SourceError, match=r"has changed since it was pinned.*--refresh"):
        pins_of(tmp_path).pinned(spec_of(web))


def test_a_server_without_etags_is_pinned_by_content(web: WebServer, tmp_path: Path) -> None:
    del web.etags["/facts.jsonl"]
    assert str(pins_of(tmp_path).pinned(spec_of(web)).revision).startswith("sha256:")
    again = pins_of(tmp_path, refresh=True)
    again.pinned(spec_of(web))
    assert not again.moved


def test_an_etag_that_moves_over_the_same_bytes_makes_nothing_anew(web: WebServer, tmp_path: Path) -> None:
    before = source_fingerprint(pins_of(tmp_path).pinned(spec_of(web)))
    web.etags["/facts.jsonl"] = '"two"'
    assert source_fingerprint(pins_of(tmp_path, refresh=True).pinned(spec_of(web))) == before


def test_a_url_gives_the_records_of_the_file_that_it_serves(web: WebServer, tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl").write_bytes(SNOW)
    here = SourceSpec(format="jsonl", path=str(tmp_path / "facts.jsonl"))
    there = pins_of(tmp_path).pinned(spec_of(web, "/facts.jsonl?signature=planted"))
    assert list(read_source(there, Statement, pytest.fail)) == list(read_source(here, Statement, pytest.fail))
    assert source_fingerprint(there) == source_fingerprint(here)


def test_with_a_scratch_folder_nothing_is_noted(web: WebServer, tmp_path: Path) -> None:
    looking = Pins(tmp_path / "my.lock.json", tmp_path / "copies", scratch=tmp_path / "scratch")
    assert texts(looking.pinned(spec_of(web))) == ["Snow is white."]
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_what_passes_is_tried_again_and_what_does_not_is_one_line(web: WebServer, tmp_path: Path) -> None:
    web.failing = [503, 429]
    assert texts(pins_of(tmp_path).pinned(spec_of(web))) == ["Snow is white."]
    with pytest.raises(SourceError, match=r"gone\.jsonl: the server answers 404") as caught:
        pins_of(tmp_path).pinned(spec_of(web, "/gone.jsonl?key=planted"))
    assert "planted" not in str(caught.value)
    unreachable = SourceSpec(format="jsonl", path="http://127.0.0.1:9/facts.jsonl")
    with pytest.raises(SourceError, match="cannot be fetched"):
        pins_of(tmp_path).pinned(unreachable)


def test_no_redirect_leads_to_a_file_of_this_machine(web: WebServer, tmp_path: Path) -> None:
    (tmp_path / "private").write_bytes(SNOW)
    web.moved["/facts.jsonl"] = (tmp_path / "private").as_uri()
    with pytest.raises(SourceError, match="answers 302"):
        pins_of(tmp_path).pinned(spec_of(web))


def test_an_address_with_a_password_is_refused_without_showing_it(tmp_path: Path) -> None:
    spec = SourceSpec(format="jsonl", path="https://anna:planted@example.org/facts.jsonl")
    with pytest.raises(SourceError, match="without a name or a password") as caught:
        pins_of(tmp_path).pinned(spec)
    assert "planted" not in str(caught.value)


def test_a_url_that_was_not_fetched_says_who_fetches_it() -> None:
    with pytest.raises(SourceError, match="was not fetched"):
        list(read_source(SourceSpec(format="jsonl", path="https://example.org/a.jsonl"), Statement, pytest.fail))


def test_a_damaged_lock_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "my.lock.json").write_text('{"sources": 3}')
    with pytest.raises(SourceError, match=r"my\.lock\.json: damaged .*remove it"):
        pins_of(tmp_path)


def test_the_lock_lies_beside_the_configuration() -> None:
    assert lock_of(Path("conf/my.yaml")) == Path("conf/my.lock.json")


def test_a_data_set_on_the_hub_is_read_at_the_commit_of_the_first_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HubServer() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        repo = hub.made("acme/facts")
        first = hub.somebody_commits("acme/facts", "data.jsonl", SNOW)
        spec = SourceSpec(format="hub", path="acme/facts:train", fields={"text": "text"})
        pinned = pins_of(tmp_path).pinned(spec)
        assert pinned.revision == first.id
        second = hub.somebody_commits("acme/facts", "data.jsonl", ICE)
        asked = len(hub.requests)
        assert pins_of(tmp_path).pinned(spec) == pinned
        assert len(hub.requests) == asked  # a pinned source asks nobody
        assert source_fingerprint(pinned)["revision"] == first.id
        moving = pins_of(tmp_path, refresh=True)
        assert moving.pinned(spec).revision == second.id
        assert [(one.before, one.now) for one in moving.moved] == [(first.id, second.id)]
        repo.tags["v1"] = first.id
        tagged = spec.model_copy(update={"revision": "v1"})
        assert pins_of(tmp_path).pinned(tagged).revision == first.id
        assert isinstance(repo.head.files["data.jsonl"], Blob)
        with pytest.raises(SourceError, match="acme/gone: expected a data set on the Hub"):
            pins_of(tmp_path).pinned(spec.model_copy(update={"path": "acme/gone"}))
    assert set(json.loads((tmp_path / "my.lock.json").read_text())["sources"]) == {
        "hub:acme/facts",
        "hub:acme/facts@v1",
    }


def test_a_revision_of_a_local_file_is_refused(tmp_path: Path) -> None:
    from data.sources import check_source

    (tmp_path / "a.jsonl").write_bytes(SNOW)
    with pytest.raises(SourceError, match="revision: only a data set on the Hub or a URL has one"):
        check_source(SourceSpec(format="jsonl", path=str(tmp_path / "a.jsonl"), revision="v1"), Statement)


def test_sources_are_found_wherever_settings_hold_them() -> None:
    local = SourceSpec(format="jsonl", path="a.jsonl").model_dump(mode="json")
    remote = SourceSpec(format="hub", path="acme/facts").model_dump(mode="json")
    held = {"sources": [local], "datasets": {"one": {"sources": [remote]}}, "levels": ["16k"]}
    changed = with_sources(held, lambda spec: spec.model_copy(update={"revision": "c"}))
    assert changed["datasets"]["one"]["sources"][0]["revision"] == "c"
    assert changed["sources"] == held["sources"]


def test_documents_are_read_from_urls_under_their_address(tmp_path: Path) -> None:
    text = " ".join(f"The office in Leeds keeps record {number} of that shelf." for number in range(20))
    page = f"<html><body><main><h1>Rules</h1><p>{text}</p></main></body></html>"
    print_ = pdf([paragraph(70, 700, [text[:80], text[80:160], text[160:240], text[240:320]])])
    contents = {"/": page.encode(), "/get": print_, "/a/notes.txt": text.encode()}
    with WebServer(contents, {}) as web:
        specs = [SourceSpec(format="documents", path=web.url + path) for path in contents]
        pinned = [pins_of(tmp_path).pinned(spec) for spec in specs]
    host = web.url.partition("//")[2]
    passages = [passage for spec in pinned for passage in read_source(spec, Passage, pytest.fail)]
    assert [passage.source.id for passage in passages] == [
        f'{host}/, "Rules"', f"{host}/get, page 1", f"{host}/a/notes.txt",
    ]  # fmt: skip
    assert [passage.source.source for passage in passages] == [host, "get", "notes.txt"]
