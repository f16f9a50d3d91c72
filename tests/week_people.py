"""People at a real Label Studio: they look for their queues, do the tasks in them, and know what they handed in.

They work in Chromium: by keys where a laptop's form needs no text, else with the mouse, on a phone by taps. A form is
open for seconds only, so that what its page says of the time is put in.
"""

import asyncio
import inspect
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.forms import PAGE, PHONE
from tests.label_studio import Served
from tests.week_plan import FORMS, ON_A_PHONE, Does, intention

SOON_S = 600.0
"""What a busy machine is given for a page, and for what follows from people's work."""
LOOK_S = 2.0
"""From one look at a page to the next."""

QUEUE = r'<h2><a href="/projects/(\d+)/data\?labeling=1"[^>]*>(.*?)</a></h2>'
"""A queue on the start page: its project and its title."""
NEXT_TASK = """(last) => {
    if (document.querySelector(".ant-result-success")) return "0";
    const shown = window.Htx?.task && !Htx.isLoading && !Htx.isSubmitting && document.querySelector(".form-asked");
    return shown && Htx.task.id !== last ? String(Htx.task.id) : null;
}"""
"""The number of the next task once its form is there; 0 if there is none."""
ASK = ".form-asked .lsf-choices:not(.form-row *)"
"""Where one answer is chosen, but for the one for all parts at once."""
LATER = """const send = window.fetch;
window.fetch = (url, options) => send(url, /\\/annotations\\?/.test(url) && options?.method === "POST"
    ? {{...options, body: JSON.stringify({{...JSON.parse(options.body), lead_time: {}}})}} : options);"""
"""Lets a form say that it was open for so many seconds."""
BOARD = """() => [...document.querySelectorAll("main > section[id]")].flatMap((rubric) =>
    [...rubric.querySelectorAll(".people tbody")].flatMap((form) =>
        [...form.querySelectorAll("tr:not(.form)")].map((row) => [
            [rubric.id, form.querySelector(".form").innerText.trim(), row.querySelector("th").innerText],
            ["done", "left", "waits for review", "sent back", "not pulled"].map((label) =>
                Number(row.querySelector(`td[data-label="${label}"]`)?.innerText || 0)),
        ])))"""
"""Rubric, form and person of each line, and its numbers."""


async def until(happened: Callable[[], Any], what: Callable[[], str], every: float = LOOK_S) -> None:
    """Wait for something to happen by itself; `what` says what is there instead."""
    end = time.monotonic() + SOON_S
    while not (await now if inspect.isawaitable(now := happened()) else now):
        assert time.monotonic() < end, what()
        await asyncio.sleep(every)


class Submission(NamedTuple):
    """What somebody handed in."""

    by: str
    title: str
    row: str
    does: Does
    number: int
    """The server's own."""
    at: datetime
    seconds: float
    """For how long the form was open, as the page says to the server."""


class Submissions(list[Submission]):
    """Everything that people handed in."""

    def night(self, days: int) -> None:
        """Everything was handed in so many days earlier."""
        self[:] = [one._replace(at=one.at - timedelta(days)) for one in self]

    def done(self) -> Mapping[tuple[str, str], int]:
        """By title and person, how many different tasks are done."""
        return Counter(
            (title, by) for title, by, _ in {(one.title, one.by, one.row) for one in self if not one.does.skips}
        )

    def hours(self) -> Mapping[tuple[str, str, str], tuple[int, float]]:
        """By person, ISO week and form, the submissions and their seconds."""
        rows: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for one in self:
            rows[one.by, week_of(one.at), FORMS[one.title].name].append(one.seconds)
        return {row: (len(seconds), sum(seconds)) for row, seconds in rows.items()}


def week_of(at: datetime) -> str:
    """Return the ISO week of a time."""
    year, week, _ = at.isocalendar()
    return f"{year}-W{week:02}"


class Person:
    """Somebody who is signed in."""

    def __init__(self, by: str, client: httpx.Client, browser: Any, submissions: Submissions) -> None:
        self.by, self.client, self.browser, self.submissions = by, client, browser, submissions
        self.wanted: dict[str, Path] = {}
        """Photographs to take, by the title of the queue whose next form they show."""
        self._met: Counter[tuple[str, str]] = Counter()

    @classmethod
    def sign_in(cls, browser: Any, served: Served, by: str, submissions: Submissions) -> "Person":
        """Sign in by the form, with what `people.txt` says."""
        lines = (served.folder / "people.txt").read_text(encoding="utf-8").splitlines()
        (login,) = [line.split("\t") for line in lines if line.startswith(f"{by}\t")]
        client = httpx.Client(base_url=served.url, follow_redirects=True, timeout=SOON_S, trust_env=False)
        client.get("/user/login/")
        form = {"email": login[1], "password": login[2], "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        page = client.post("/user/login/", data=form, headers={"Referer": served.url}).raise_for_status()
        assert page.url.path == "/", f"{by} cannot sign in"
        return cls(by, client, browser, submissions)

    # ---- the start page ----

    def queues(self) -> Mapping[str, int]:
        """Return the projects of the queues on the start page, by their titles."""
        return {unescape(title): int(number) for number, title in re.findall(QUEUE, self._start_page())}

    async def expects(self, *titles: str) -> None:
        """Look at the start page until it has just these queues."""
        await until(
            lambda: list(self.queues()) == list(titles),
            lambda: f"{self.by} has {list(self.queues())}, not {titles}",
        )

    def this_week(self) -> str:
        """What the start page says of the hours of this week."""
        (said,) = re.findall(r"<dt>This week</dt>\s*<dd>(.*?)</dd>", self._start_page())
        return str(said)

    def _start_page(self) -> str:
        return self.client.get("/").raise_for_status().text

    # ---- the tasks ----

    async def works(self, title: str, *rows: str) -> None:
        """Do the tasks of a queue, which have these texts, as they come; what is skipped comes again."""
        left = [*rows]
        while left:
            await until(lambda: title in self.queues(), lambda: f"{self.by} was not asked about {left}")
            page = await self._opened(self.queues()[title], title)
            last = None
            while left and (last := await _task_on(page, last)):
                task = self.client.get(f"/api/tasks/{last}").raise_for_status().json()
                text = "\n".join(texts_in(task["data"]))
                (row,) = {row for row in left if row in text}
                assert row in await page.inner_text(".form-columns"), f"{self.by}, {title}"
                does = intention(self.by, title, text, self._met[title, row])
                await self._hands_in(page, title, last, does, row)
                if does.skips:
                    break
                left.remove(row)
            await page.context.close()

    async def _opened(self, project: int, title: str) -> Any:
        """Open a queue, close its guideline, and photograph both if that is wanted."""
        page = await self._page(f"/projects/{project}/data?labeling=1", LATER.format(FORMS[title].minutes * 60))
        await page.wait_for_selector(".guideline")
        await _task_on(page, None)
        if (guideline := self.wanted.pop(f"Guideline: {title}", None)) is not None:
            await photograph(page, guideline)
        await page.keyboard.press("Escape")
        await page.wait_for_selector(".guideline", state="hidden")
        await page.wait_for_timeout(300)  # it fades out
        if (form := self.wanted.pop(title, None)) is not None:
            await photograph(page, form)
        return page

    async def _hands_in(self, page: Any, title: str, task: int, does: Does, row: str) -> None:
        """Choose and write, then submit or skip; boxes that are left alone have what the form puts into them."""
        before = self._annotations(task)
        if does.texts or self.by == ON_A_PHONE:
            await _with_the_mouse(page, does)
        else:
            await _by_keys(page, does.choices)
        await until(lambda: self._annotations(task).keys() - before, lambda: f"{self.by} handed nothing in", every=0.2)
        (made,) = (one for number, one in self._annotations(task).items() if number not in before)
        at = datetime.fromisoformat(made["updated_at"])
        self.submissions.append(Submission(self.by, title, row, does, made["id"], at, FORMS[title].minutes * 60.0))
        self._met[title, row] += 1

    def _annotations(self, task: int) -> Mapping[int, Any]:
        """Return what the server has of the task, by its number."""
        found = self.client.get(f"/api/tasks/{task}").raise_for_status().json()["annotations"]
        return {one["id"]: one for one in found}

    # ---- the browser ----

    async def photograph(self, path: Path) -> None:
        """Photograph the start page."""
        page = await self._page("/")
        await page.wait_for_selector(".lead")
        await photograph(page, path)
        await page.context.close()

    async def _page(self, path: str, script: str = "") -> Any:
        """Open a page in Chromium, as the same person, with a script of the test's own."""
        phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
        context = await self.browser.new_context(**(phone if self.by == ON_A_PHONE else {"viewport": PAGE}))
        url = str(self.client.base_url)
        await context.add_cookies(
            [{"name": name, "value": value, "url": url} for name, value in self.client.cookies.items()]
        )
        await context.add_init_script(script)
        page = await context.new_page()
        page.set_default_timeout(SOON_S * 1000)
        await page.goto(f"{url.rstrip('/')}{path}")
        return page


def texts_in(value: Any) -> Sequence[str]:
    """Return the texts that a task's data holds, without their HTML."""
    if isinstance(value, str):
        return [unescape(re.sub(r"<[^>]+>", " ", value))]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts_in(part)]


async def _task_on(page: Any, last: int | None) -> int | None:
    """Return the task that the form shows after the last one; None if the queue is empty."""
    shown = await page.wait_for_function(NEXT_TASK, arg=last)
    return int(await shown.json_value()) or None


def _option(page: Any, place: int, option: str) -> Any:
    """Return where an option of a question is chosen."""
    return page.locator(ASK).nth(place).locator(f"label:has(input[name='{option}'])")


async def _with_the_mouse(page: Any, does: Does) -> None:
    for place, option in enumerate(does.choices):
        await _option(page, place, option).click()
    for name, text in does.texts.items():
        await page.locator(f"textarea[name='{name}'], textarea[name^='{name}:']").click()
        await page.keyboard.press("Control+A")
        await page.keyboard.type(text)
    submit, skip = page.get_by_test_id("bottombar-submit-button"), page.get_by_role("button", name="Skip")
    await (skip if does.skips else submit).click()


async def _by_keys(page: Any, choices: Sequence[str]) -> None:
    """Press each answer's key, and look that it is chosen; the last one submits by itself."""
    for place, option in enumerate(choices):
        label = _option(page, place, option)
        await page.keyboard.press((await label.locator(".lsf-hint").inner_text()).strip("[]"))
        await label.locator("input:checked").wait_for(state="attached")


async def photograph(page: Any, path: Path) -> None:
    """Take a screenshot on a laptop and one on a phone; the page, and its Submit, fit on both."""
    own = page.viewport_size
    for what, size in (("laptop", PAGE), ("phone", PHONE)):
        await page.set_viewport_size(size)
        await page.evaluate("() => document.fonts.ready")
        await page.screenshot(path=f"{path}.{what}.png", animations="disabled")
        fits = "() => document.documentElement.scrollWidth <= innerWidth"
        assert await page.evaluate(fits), f"{path.name} on a {what}"
        submit = page.get_by_test_id("bottombar-submit-button")
        if await submit.count():
            box = await submit.bounding_box()
            wide, high = await page.evaluate("() => [innerWidth, innerHeight]")
            assert box["x"] + box["width"] <= wide, f"{path.name} on a {what}"
            assert box["y"] + box["height"] <= high, f"{path.name} on a {what}"
    await page.set_viewport_size(own)
