"""People at a real Label Studio: they look for their queues, do the tasks in them, and know what they handed in.

They hand in by the server's API, as its forms do; Chromium opens the forms and the pages that they look at.
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
from xml.etree import ElementTree

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
AT_A_TASK = """() => window.Htx && Htx.task && !Htx.isLoading
    && document.querySelector("textarea[name=question-to-engineer]")"""
"""Whether a form shows a task."""
BOARD = """() => [...document.querySelectorAll("main > section[id]")].flatMap((rubric) =>
    [...rubric.querySelectorAll(".people tbody")].flatMap((form) =>
        [...form.querySelectorAll("tr:not(.form)")].map((row) => [
            [rubric.id, form.querySelector(".form").innerText.trim(), row.querySelector("th").innerText],
            ["done", "left", "waits for review", "sent back", "not pulled"].map((label) =>
                Number(row.querySelector(`td[data-label="${label}"]`)?.innerText || 0)),
        ])))"""
"""Rubric, form and person of each line, and its numbers."""


async def until(happened: Callable[[], Any], what: Callable[[], str]) -> None:
    """Wait for something to happen by itself; `what` says what is there instead."""
    end = time.monotonic() + SOON_S
    while not (await now if inspect.isawaitable(now := happened()) else now):
        assert time.monotonic() < end, what()
        await asyncio.sleep(LOOK_S)


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
            number = self.queues()[title]
            while left and (task := self._next(number)) is not None:
                text = "\n".join(texts_in(task["data"]))
                (row,) = {row for row in left if row in text}
                await self._looks_at(number, title, row)
                does = intention(self.by, title, text, self._met[title, row])
                self._hands_in(number, title, task, does, row)
                if does.skips:
                    break
                left.remove(row)

    def _next(self, number: int) -> Any:
        """Return the task that a form would show; None if none is left."""
        answer = self.client.get(f"/api/projects/{number}/next")
        return None if answer.status_code == httpx.codes.NOT_FOUND else answer.raise_for_status().json()

    def _hands_in(self, number: int, title: str, task: Any, does: Does, row: str) -> None:
        """Submit, or skip; boxes that are left alone have what the form puts into them."""
        form = ElementTree.fromstring(
            self.client.get(f"/api/projects/{number}").raise_for_status().json()["label_config"]
        )
        asks = [ask for ask in form.iter("Choices") if ask.get("name") != "for-all"]
        result = []
        for ask, option in zip(asks, does.choices, strict=False):
            options = [choice.get("alias") or choice.get("value") for choice in ask.iter("Choice")]
            assert option in options, f"{title}: {options}"
            result.append(_part(ask, {"choices": [option]}))
        for box in form.iter("TextArea"):
            text = does.texts.get(str(box.get("name")), task["data"].get(f"draft_{box.get('name')}", ""))
            if text:
                result.append(_part(box, {"text": [text]}))
        sent = {"result": result, "lead_time": FORMS[title].minutes * 60.0, "was_cancelled": does.skips}
        made = self.client.post(
            f"/api/tasks/{task['id']}/annotations/?project={number}", json=sent,
            headers={"X-CSRFToken": self.client.cookies["csrftoken"], "Referer": str(self.client.base_url)},
        ).raise_for_status().json()  # fmt: skip
        at = datetime.fromisoformat(made["updated_at"])
        self.submissions.append(Submission(self.by, title, row, does, made["id"], at, FORMS[title].minutes * 60.0))
        self._met[title, row] += 1

    # ---- what Chromium shows ----

    async def _looks_at(self, number: int, title: str, row: str) -> None:
        """Photograph the form and its guideline, if that is wanted; the form shows the task."""
        form, guideline = (self.wanted.pop(name, None) for name in (title, f"Guideline: {title}"))
        if form is not None:
            page = await self._page(f"/projects/{number}/data?labeling=1")
            await page.wait_for_selector(".guideline")
            await page.wait_for_function(AT_A_TASK)
            if guideline is not None:
                await photograph(page, guideline)
            await page.keyboard.press("Escape")
            await page.wait_for_selector(".guideline", state="hidden")
            assert row in await page.inner_text(".form-columns"), f"{self.by}, {title}"
            await photograph(page, form)
            await page.context.close()

    async def photograph(self, path: Path) -> None:
        """Photograph the start page."""
        page = await self._page("/")
        await page.wait_for_selector(".lead")
        await photograph(page, path)
        await page.context.close()

    async def _page(self, path: str) -> Any:
        """Open a page in Chromium, as the same person."""
        phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
        context = await self.browser.new_context(**(phone if self.by == ON_A_PHONE else {"viewport": PAGE}))
        url = str(self.client.base_url)
        await context.add_cookies(
            [{"name": name, "value": value, "url": url} for name, value in self.client.cookies.items()]
        )
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


def _part(control: ElementTree.Element, value: Mapping[str, object]) -> Mapping[str, object]:
    """Return one answer as a form sends it."""
    kind = "choices" if "choices" in value else "textarea"
    return {"from_name": control.get("name"), "to_name": control.get("toName"), "type": kind, "value": value}


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
