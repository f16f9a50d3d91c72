"""What a web server, which may be anybody's, can make a build fetch, and for how long."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from data.sources import SourceError, SourceSpec, check_source, web
from data.sources.fingerprint import source_fingerprint
from data.sources.web import download, is_internal
from schemas.source import Statement
from tests.web import WebServer

SNOW = b'{"text": "Snow is white."}\n'


@pytest.fixture
def inside() -> Iterator[WebServer]:
    """A server of this machine to which another one redirects."""
    with WebServer({"/secret": SNOW}) as server:
        yield server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """The server that the user named."""
    monkeypatch.setattr(web, "WAITS_S", ())
    with WebServer({"/facts": SNOW}) as server:
        yield server


def test_an_address_that_the_user_wrote_may_be_of_this_machine(server: WebServer, tmp_path: Path) -> None:
    server.moved["/latest"] = f"{server.url}/facts"
    for path in ("/facts", "/latest"):  # and may lead on within itself
        download(server.url + path, tmp_path / "file", None)
        assert (tmp_path / "file").read_bytes() == SNOW


def test_a_redirect_into_this_network_is_refused(server: WebServer, inside: WebServer, tmp_path: Path) -> None:
    port = inside.url.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"):
        server.moved["/facts"] = f"http://{host}:{port}/secret"
        with pytest.raises(SourceError, match=r"/facts: leads on to .*, which is .*, of this machine or its network"):
            download(f"{server.url}/facts?key=planted", tmp_path / "file", None)
    server.moved["/facts"] = "http://169.254.169.254/latest/meta-data/"
    with pytest.raises(SourceError, match=r"169\.254\.169\.254, of this machine or its network; .*internal: true"):
        download(f"{server.url}/facts", tmp_path / "file", None)
    assert not inside.requests


def test_a_redirect_behind_a_redirect_is_refused(server: WebServer, inside: WebServer, tmp_path: Path) -> None:
    server.moved |= {"/facts": f"{server.url}/again", "/again": f"{inside.url}/secret"}
    with pytest.raises(SourceError, match="leads on to 127"):
        download(f"{server.url}/facts", tmp_path / "file", None)
    assert not inside.requests


def test_a_source_may_say_that_its_server_leads_into_this_network(
    server: WebServer, inside: WebServer, tmp_path: Path
) -> None:
    server.moved["/facts"] = f"{inside.url}/secret"
    download(f"{server.url}/facts", tmp_path / "file", None, internal=True)
    assert inside.requests == ["/secret"]
    path = tmp_path / "a.jsonl"
    path.write_bytes(SNOW)
    specs = [SourceSpec(format="jsonl", path=str(path), internal=internal) for internal in (False, True)]
    assert source_fingerprint(specs[0]) == source_fingerprint(specs[1])


@pytest.mark.parametrize(
    ("address", "internal"),
    [
        ("127.0.0.1", True), ("10.1.2.3", True), ("172.16.0.1", True), ("192.168.0.1", True), ("169.254.169.254", True),
        ("0.0.0.0", True), ("100.64.0.1", True), ("224.0.0.1", True), ("255.255.255.255", True), ("::1", True),
        ("::", True), ("fe80::1%eth0", True), ("fd00:ec2::254", True), ("::ffff:10.0.0.1", True), ("ff02::1", True),
        ("2002:7f00:1::", True), ("64:ff9b::169.254.169.254", True), ("93.184.216.34", False),
        ("2606:2800:220:1::1", False), ("::ffff:93.184.216.34", False),
    ],
)  # fmt: skip
def test_addresses_of_this_machine_and_its_network_are_known(address: str, internal: bool) -> None:
    assert is_internal(address) is internal


def test_what_never_ends_is_given_up(server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.endless = frozenset({"/endless"})
    monkeypatch.setattr(web, "MOST_BYTES", 2**20)
    with pytest.raises(SourceError, match="/endless: expected at most 1 MiB, found more"):
        download(f"{server.url}/endless", tmp_path / "file", None)
    monkeypatch.setattr(web, "MOST_SECONDS", 0)
    with pytest.raises(SourceError, match="/endless: is not there after 0 hours"):
        download(f"{server.url}/endless", tmp_path / "file", None)


@pytest.mark.parametrize(
    "path", ["file:///etc/passwd", "ftp://example.org/a.jsonl", "s3://bucket/a.jsonl", "HTTP://a/b"]
)
@pytest.mark.parametrize("format_", ["jsonl", "creak", "parquet", "touchstone"])
def test_other_schemes_are_refused(path: str, format_: str) -> None:
    scheme = path.partition("://")[0]
    with pytest.raises(SourceError, match=f"{scheme}://...: expected a file, or a URL with http:// or https://"):
        check_source(SourceSpec(format=format_, path=path), Statement)
