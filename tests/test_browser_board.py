"""The board in a real browser, as the command serves it: it renews itself, and leaves filters and scroll alone."""

import asyncio
import contextlib
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from flows.annotate.board.reading import State
from flows.annotate.board.server import board_app, listen_on
from flows.loopback.login import kept_login
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from flows.project.settings import packaged
from tests.builds import TOUCHSTONE, write_config
from tests.team import busy_team, now
from tests.toy import run_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SIZES = ({"width": 1366, "height": 768}, {"width": 390, "height": 844})
LOGIN = {"username": "touchstone", "password": "secret"}
CONTRAST = 4.5
"""WCAG's least contrast of a text."""
LUMINANCES = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return luminance(colour);
    }
    return 1;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = [99, ''];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility() || element.closest('svg, .skip')) continue;
    const [a, b] = [luminance(numbers(getComputedStyle(element).color)), behind(element)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 200)];
  }
  return least;
}"""


@pytest.fixture
def served(tmp_path: Path) -> Any:
    """A team's board, renewed by the tests themselves."""
    team = busy_team(tmp_path, 60, 4, now())
    board = team.board()
    board.renew()
    listening = listen_on(0)
    server = uvicorn.Server(uvicorn.Config(board_app(board, ":".join(LOGIN.values())), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield team, board, f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(30)


async def test_the_board_renews_itself_and_leaves_filters_and_scroll(browser: Any, served: tuple[Any, ...]) -> None:
    team, board, address = served
    page = await browser.new_page(viewport=SIZES[0], http_credentials=LOGIN)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    await page.goto(address)
    await page.select_option("select[name=person]", "a2")
    await page.wait_for_url("**/?person=a2")
    await page.wait_for_function("() => !document.getElementById('main').innerText.includes('a3')")
    await page.locator("#toy-words-agreement > summary").click()
    await page.evaluate("scrollTo(0, 300)")
    before = await page.locator("th[scope=row] ~ td").first.inner_text()
    team.done = [work for work in team.done if work.by != "a2"]
    team.pull()
    board.renew()
    await page.wait_for_function(
        "(before) => document.querySelector('th[scope=row] ~ td').innerText !== before", arg=before
    )
    assert await page.evaluate("scrollY") == 300
    assert await page.locator("select[name=person]").input_value() == "a2"
    assert await page.locator("#toy-words-agreement").get_attribute("open") is not None
    assert page.url == f"{address}?person=a2"
    assert {url.partition("?")[0] for url in asked if not url.startswith("data:")} == {address, f"{address}board.js"}
    assert problems == []


async def test_a_board_that_was_opened_before_its_first_reading_gets_its_title_and_filters(
    browser: Any, served: tuple[Any, ...]
) -> None:
    _, board, address = served
    read, board.state = board.state, State()
    page = await browser.new_page(viewport=SIZES[0], http_credentials=LOGIN)
    await page.goto(address)
    assert await page.inner_text("h1") == "The board: annotation board"
    assert await page.locator("select[name=person] option").all_inner_texts() == ["all"]
    board.state = read
    await page.wait_for_selector("#toy-words")
    assert await page.inner_text("h1") == "toys: annotation board"
    assert await page.title() == "toys: annotation board"
    people = await page.locator("select[name=person] option").all_inner_texts()
    assert people == ["all", "a1", "a2", "a3", "a4"]


async def test_the_board_renews_itself_after_a_skip_to_it_and_a_step_back(
    browser: Any, served: tuple[Any, ...]
) -> None:
    team, board, address = served
    page = await browser.new_page(viewport=SIZES[0], http_credentials=LOGIN)
    loads: list[str] = []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    await page.goto(address)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{address}#main")
    before = await page.locator("th[scope=row] ~ td").first.inner_text()
    team.done = [work for work in team.done if work.by != "a1"]
    team.pull()
    board.renew()
    await page.wait_for_function(
        "(before) => document.querySelector('th[scope=row] ~ td').innerText !== before", arg=before
    )
    await page.go_back()
    await page.wait_for_url(address)
    assert loads == [address], "another place on the page is no other page"
    await page.select_option("select[name=person]", "a2")
    await page.wait_for_url("**/?person=a2")
    async with page.expect_event("domcontentloaded"):
        await page.go_back()
    assert await page.locator("select[name=person]").input_value() == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=["laptop", "phone"])
async def test_the_board_can_be_read(browser: Any, served: tuple[Any, ...], size: Any, scheme: str) -> None:
    *_, address = served
    page = await browser.new_page(viewport=size, color_scheme=scheme, http_credentials=LOGIN)
    await page.goto(address)
    assert await page.evaluate("document.documentElement.scrollWidth") == size["width"], "nothing is wider"
    contrast, where = await page.evaluate(LUMINANCES)
    assert contrast >= CONTRAST, where


def test_the_command_prints_its_address_and_stops_at_once(tmp_path: Path) -> None:
    dialogues = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
    config = write_config(tmp_path, store=str(tmp_path / "store"), families={"charpeval": {"sources": [dialogues]}})
    project = Project(config, tmp_path / "out")
    asyncio.run(run_all(project.build))
    write_output_files(project)
    with contextlib.chdir(tmp_path):
        remember(project)
    command = subprocess.Popen(
        [TOUCHSTONE, "annotate", "board", "--out", tmp_path / "out", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    try:
        assert command.stdout is not None
        line = command.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line
        name, _, password = kept_login(project.state).partition(":")
        assert "log in as touchstone; the password is after the colon in" in command.stdout.readline()
        deadline = time.monotonic() + 60
        page = ""
        while "does not answer" not in page and time.monotonic() < deadline:
            time.sleep(0.5)
            page = httpx.get(found[0], trust_env=False, auth=(name, password)).text
        assert "the local Label Studio is not running" in page
        assert "charpeval-authoring" in page
        command.send_signal(signal.SIGINT)
        command.wait(5)
        assert command.returncode == 130
    finally:
        command.kill()
        command.communicate()
