"""Prefect's pages in a real browser, and pages of other sites that ask the server too."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.loopback.guard import HOST
from flows.loopback.login import kept_login
from flows.serve import processes
from tests.prefect_server import listed, with_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ASKS = """async (api) => {
  const asked = async (path, init) => {
    try {
      const answer = await fetch(api + path, init);
      return answer.type === "opaque" ? "sent" : answer.status;
    } catch { return "refused"; }
  };
  const empty = { method: "POST", body: "{}" };
  return {
    read: await asked("/flow_runs/filter", { ...empty, headers: { "Content-Type": "application/json" } }),
    simple: await asked("/flow_runs/filter", { ...empty, headers: { "Content-Type": "text/plain" } }),
    written: await asked("/flows/", { method: "POST", mode: "no-cors", body: new Blob(['{"name": "planted"}']) }),
    health: await asked("/health"),
  };
}"""
"""What a page of another site tries."""


@pytest.fixture
def server(tmp_path: Path, prefect_database: Path) -> Iterator[tuple[str, str]]:
    """The address of a Prefect server as `touchstone serve` starts it, and its login."""
    folder, login = with_database(tmp_path / "serve", prefect_database), kept_login(tmp_path)
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    url = f"http://{HOST}:{port}"
    with processes.server(folder, port, processes.environment(folder, f"{url}/api", login)):
        yield url, login


@pytest.fixture
def another_site() -> Iterator[str]:
    """A page of another server of this machine, such as another user's."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer((HOST, 0), Page) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{page.server_port}/"
        page.shutdown()


async def test_the_pages_open_with_the_login_and_other_sites_reach_nothing(
    browser: Any, server: tuple[str, str], another_site: str
) -> None:
    url, login = server
    page = await browser.new_page()
    page.set_default_timeout(120_000)
    for name in (url, url.replace(HOST, "localhost")):
        await page.goto(name)
        await page.fill("input[type=password]", login)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{name}/**/dashboard*")
        await page.get_by_text("Run a task or flow to get started").wait_for()
    await page.goto(another_site)
    assert await page.evaluate(ASKS, f"{url}/api") == {
        "read": "refused", "simple": "refused", "written": "sent", "health": "refused",
    }  # fmt: skip

    api = f"{url}/api".replace("://", f"://{login}@")
    assert listed(api, "flows") == []
    await page.evaluate("(url) => { location.href = url; }", url)  # a link
    await page.wait_for_url(f"{url}/**/dashboard*")
