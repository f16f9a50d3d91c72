"""`make sbom` and `make audit`: what is installed, and whether vulnerabilities of it are known."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from pathlib import Path
from threading import Thread

import pytest

from tests.builds import ROOT

WITHOUT_LICENCE = {"label-studio-sdk"}
"""Its metadata names none; the file beside it is the Apache License 2.0."""
VULNERABLE = "jinja2"


def test_every_ignored_vulnerability_has_a_reason() -> None:
    for line in (ROOT / "tests" / "audit-ignored").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or len(line.split()) > 3, line


@pytest.mark.slow
def test_the_bill_names_each_installed_package_with_version_and_licence(tmp_path: Path) -> None:
    bills = [tmp_path / "first.json", tmp_path / "second.json"]
    for bill in bills:
        # The environment of this test in place of `.venv`, and no installation.
        make = ["make", "--old-file=.venv/.installed-dev", f"BIN={Path(sys.executable).parent}", f"SBOM={bill}", "sbom"]
        subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    assert bills[0].read_bytes() == bills[1].read_bytes()
    named = json.loads(bills[0].read_bytes())
    installed = {(one.metadata["Name"], one.version) for one in distributions()}
    components = {(one["name"], one["version"]): one for one in named["components"]}
    assert components.keys() == installed - {("touchstone", named["metadata"]["component"]["version"])}
    assert {name for (name, _), one in components.items() if not one.get("licenses")} <= WITHOUT_LICENCE


class Osv(BaseHTTPRequestHandler):
    """An OSV that knows of one vulnerability."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer waits 40 ms else, 800 times

    def do_POST(self) -> None:
        """Answer whether a version is vulnerable."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["package"]["name"]
        known = {
            "id": "GHSA-xxxx", "published": "2026-01-01T00:00:00Z", "modified": "2026-01-01T00:00:00Z", "details": "",
            "affected": [{"package": {"ecosystem": "PyPI", "name": asked},
                          "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99"}]}]}],
        }  # fmt: skip
        answer = json.dumps({"vulns": [known]} if asked == VULNERABLE else {}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def osv() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Osv)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def audit(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "tests" / "audit", *options], env={**os.environ, "PYTHON": sys.executable},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_known_vulnerabilities_of_both_locks_are_told(osv: str) -> None:
    done = audit("--osv-url", osv)
    assert done.returncode == 1
    assert done.stdout.count("known vulnerabilities:") == 2
    assert done.stdout.count(VULNERABLE) == 2
    done = audit("--osv-url", osv, "--ignore-vuln", "GHSA-xxxx")
    assert (done.returncode, done.stdout.count("no known vulnerability")) == (0, 2)


@pytest.mark.slow
def test_an_audit_that_reaches_nobody_says_that_it_checked_nothing() -> None:
    done = audit("--osv-url", "http://127.0.0.1:9/", "--timeout", "5")
    assert done.returncode == 2
    assert "NOT CHECKED" in done.stdout
    assert "no known vulnerability" not in done.stdout
