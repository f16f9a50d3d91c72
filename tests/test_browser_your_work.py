"""The page at which people begin, in a real browser on a real Label Studio: all that is theirs, and nothing else."""

import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from annotation.label_studio.accounts import accounts
from annotation.label_studio.sync import KEY, VIEW, QueuedTask, projects_of, push_queue
from annotation.label_studio.task_data import LISTED, NEWS, task_data
from annotation.practice import practice_rubric
from tests.forms import FORMS, PAGE, PHONE, Form, changed, close_guideline, log_in, queue_of
from tests.label_studio import Served
from tests.legible import LEGIBLE, contrasts, set_theme
from tests.test_annotation_chinese import ENGLISH_LEFT, is_chinese

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org"}
SEEN = """async () => [(await (await fetch('/api/projects/counts/')).json()).count,
  (await (await fetch('/api/projects/')).json()).count]"""
"""How many projects a person sees."""
SUPPORT, PRACTICE = "reeval-support", "reeval-support-practice"
REVISION, REVIEW, CORRECTED = (f"charpeval-authoring-{form}" for form in ("revision", "review", "corrected"))


def put(served: Served, name: str, by: str, tasks: Mapping[str, tuple[str, str]], **data: str) -> int:
    """Push a person's queue of a form, with the view and the news of each task by its key; the project's number."""
    return put_form(served, FORMS[name], by, tasks, **data)


def put_form(served: Served, form: Form, by: str, tasks: Mapping[str, tuple[str, str]], **data: str) -> int:
    """`put`, of a form that is not among `FORMS`."""
    base = {**task_data(form.rubric, form.task), **data}
    queue = queue_of(
        form, by,
        [QueuedTask(key, view, {**base, KEY: key, VIEW: view, LISTED: f"Task {key}", NEWS: news})
         for key, (view, news) in tasks.items()],
    )  # fmt: skip
    return push_queue(served.client, queue, projects_of(served.client, "forms").get(queue.name)).project


def plain(*keys: str) -> dict[str, tuple[str, str]]:
    """Tasks without news."""
    return {key: (key, "") for key in keys}


def submit(served: Served, project: int, key: str, account: int, seconds: float) -> None:
    """Submit a task as a person, who took so long for it."""
    (task,) = [row["id"] for row in served.client.list_tasks(project) if row["data"][KEY] == key]
    content = {"result": [], "lead_time": seconds, "completed_by": account}
    answer = httpx.post(
        f"{served.url}/api/tasks/{task}/annotations/", json=content, headers={"Authorization": f"Token {served.token}"}
    )
    answer.raise_for_status()


async def at_work(browser: Any, served: Served, by: str, size: dict[str, int] | None = None) -> Any:
    """A person's browser, just logged in."""
    lines = (served.folder / "people.txt").read_text(encoding="utf-8").splitlines()
    (login,) = [line.split("\t") for line in lines if line.startswith(f"{by}\t")]
    return await logged_in(browser, served, login[1], login[2], size)


async def logged_in(browser: Any, served: Served, email: str, password: str, size: dict[str, int] | None = None) -> Any:
    """The browser of whoever has this login."""
    page = await browser.new_page(viewport=size or PAGE)
    page.set_default_timeout(120_000)
    await page.goto(f"{served.url}/user/login/")
    await page.fill("input[name=email]", email)
    await page.fill("input[name=password]", password)
    await page.click("button[type=submit]")
    await page.wait_for_url(f"{served.url}/")
    return page


def desk(served: Served) -> dict[str, int]:
    """The queues of two people; the first has done tasks, and some came back. The projects' numbers, by form."""
    numbers = {code: number for number, code in accounts(served.client, PEOPLE, served.folder).items()}
    put(served, SUPPORT, "a2", plain("of ben"))
    made = {SUPPORT: put(served, SUPPORT, "a1", plain("one", "two", "three", "four"))}
    for key, seconds in (("one", 60), ("two", 90), ("three", 7200)):
        submit(served, made[SUPPORT], key, numbers["a1"], seconds)
    # One of those done has changed since, and is asked anew; one is no longer asked.
    form = FORMS[SUPPORT]
    news = str(task_data(form.rubric, changed(form, "bridge", "tunnel", {}).task)["news"])
    put(served, SUPPORT, "a1", {"one": ("one", ""), "two": ("two anew", news), "four": ("four", "")})
    made[REVIEW] = put(served, REVIEW, "a1", plain("five"))
    made[REVISION] = put(
        served, REVISION, "a1", plain("six"), shown_review_comment="Rejected: 2. KGUG\nIt <answers> the question."
    )
    made[CORRECTED] = put(served, CORRECTED, "a1", {"nine": ("nine", "<p>A reviewer &amp; a <del>colour</del></p>")})
    made[PRACTICE] = put(
        served, PRACTICE, "a1", plain("seven", "eight"),
        shown_feedback="If your answer is wrong, you will find the right one here afterwards.",
    )  # fmt: skip
    return made


async def test_everything_of_mine_is_in_one_place_in_the_order_to_do_it(label_studio: Served, browser: Any) -> None:
    made = desk(label_studio)
    page = await at_work(browser, label_studio, "a1")
    titles = await page.locator(".queues h2").all_inner_texts()
    assert titles == [
        "Practice: Does the passage support the answer?",
        "Back from review: Write five wrong responses, each wrong in its own way",
        "Corrected: Write five wrong responses, each wrong in its own way",
        "Review: Write five wrong responses, each wrong in its own way",
        "Does the passage support the answer?",
    ]
    cards = [" ".join(text.split()) for text in await page.locator(".queues li.card").all_inner_texts()]
    assert "2 tasks, about 4 minutes, at a guess" in cards[0]
    assert "Task seven" not in cards[0], "nothing of it came back"
    assert "Task six Rejected: 2. KGUG · It <answers> the question." in cards[1]
    assert "Task nine A reviewer & a colour" in cards[2]
    assert "Task five" not in cards[3]
    # The median of 1, 1.5 and 30 minutes: a form that was left open does not count in full.
    assert "2 tasks, about 3 minutes" in cards[4]
    assert "guess" not in cards[4]
    assert "1 done" in cards[4]
    assert "Task two This task has changed since you did it." in cards[4]
    assert "7 tasks, about" in await page.inner_text(".lead")

    sections = [" ".join(text.split()) for text in await page.locator("section").all_inner_texts()]
    assert "This week 2 h 02 min, 3 tasks" in sections[0]
    assert "Done: 3 tasks, of which 1 counts" in sections[1]
    assert "Does the passage support the answer? 3 1 1 another task now, 1 no longer asked" in sections[1]
    assert "ben" not in (await page.inner_text("body")).lower()

    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile(rf"/projects/{made[PRACTICE]}/data\?labeling=1"))
    await page.wait_for_selector(".guideline")


async def test_people_see_their_own_projects_and_the_owner_all(label_studio: Served, browser: Any) -> None:
    desk(label_studio)
    page = await at_work(browser, label_studio, "a2")
    assert await page.locator(".queues h2").all_inner_texts() == ["Does the passage support the answer?"]
    await page.get_by_role("link", name="Projects").click()
    await page.get_by_text("a2 · ").wait_for()
    assert await page.locator("a[href$='/data']").count() == 1
    await page.get_by_role("link", name="Your work").click()
    await page.locator(".queues h2").wait_for()
    counts = await page.evaluate("async () => (await (await fetch('/api/projects/counts/')).json()).count")
    assert counts == 1

    owner = await browser.new_page(viewport=PAGE)
    await log_in(owner, label_studio)
    assert await owner.locator(".queues").count() == 0, "the owner begins at Label Studio's own page"
    await owner.goto(f"{label_studio.url}/projects/")
    await owner.get_by_text("a2 · ").wait_for()
    assert await owner.locator("a[href$='/data']").count() == 6


async def test_an_account_without_a_code_sees_what_is_for_everybody(label_studio: Served, browser: Any) -> None:
    desk(label_studio)
    label_studio.client.sign_up("guest@example.org", "a long password")
    page = await logged_in(browser, label_studio, "guest@example.org", "a long password")
    assert "Nothing to do now." in await page.inner_text(".lead")
    assert await page.evaluate(SEEN) == [0, 0]
    put(label_studio, SUPPORT, "all", plain("ten"))
    await page.reload()
    assert await page.locator(".queues h2").all_inner_texts() == ["Does the passage support the answer?"]
    assert await page.evaluate(SEEN) == [1, 1]


async def test_a_new_queue_appears_by_itself_beside_others(label_studio: Served, browser: Any) -> None:
    desk(label_studio)
    page = await at_work(browser, label_studio, "a2")
    assert len(await page.locator(".queues h2").all_inner_texts()) == 1
    put(label_studio, PRACTICE, "a2", plain("new"))
    await page.locator(".queues h2").nth(1).wait_for(timeout=60_000)


async def test_a_queue_that_is_done_leads_back_to_the_next(label_studio: Served, browser: Any) -> None:
    made = desk(label_studio)
    page = await at_work(browser, label_studio, "a1")
    await page.goto(f"{label_studio.url}/projects/{made[REVIEW]}/data?labeling=1")
    await page.wait_for_selector(".guideline")
    await page.wait_for_selector("textarea[name=question-to-engineer]")
    await close_guideline(page)
    async with page.expect_response(lambda answer: "/annotations" in answer.url and answer.status == 201):
        await page.keyboard.press("0")
        await page.keyboard.press("Control+Enter")
    await page.get_by_text("No More Tasks").wait_for()
    await page.keyboard.press("Enter")
    await page.locator(".queues h2").first.wait_for()
    assert REVIEW not in str(await page.locator(".queues a").evaluate_all("(all) => all.map((one) => one.href)"))
    assert len(await page.locator(".queues h2").all_inner_texts()) == 4


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [PAGE, PHONE], ids=["laptop", "phone"])
async def test_the_page_fits_and_is_legible(
    label_studio: Served, browser: Any, size: dict[str, int], theme: str
) -> None:
    desk(label_studio)
    page = await at_work(browser, label_studio, "a1", size)
    await set_theme(page, theme)
    assert await page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    found = await contrasts(page, "h1, h2, h2 a, p, b, li, small, dt, dd, th, td, td a, nav a, kbd, .how-much")
    assert min(found) >= LEGIBLE
    first = await page.evaluate("() => document.activeElement.getBoundingClientRect().bottom")
    assert first < size["height"]


async def test_without_work_it_says_so(label_studio: Served, browser: Any) -> None:
    accounts(label_studio.client, PEOPLE, label_studio.folder)
    page = await at_work(browser, label_studio, "a1")
    assert "Nothing to do now." in await page.inner_text(".lead")


async def test_who_has_chinese_forms_reads_it_all_in_chinese(label_studio: Served, browser: Any) -> None:
    numbers = {code: number for number, code in accounts(label_studio.client, PEOPLE, label_studio.folder).items()}
    form = FORMS[SUPPORT]
    rubric = form.rubric.in_language("zh")
    practice = FORMS[PRACTICE]._replace(rubric=practice_rubric(rubric))
    put_form(label_studio, practice, "a1", {})
    page = await at_work(browser, label_studio, "a1")
    assert (await page.inner_text(".lead")).startswith("现在没有要做的题")

    put_form(label_studio, practice, "a1", plain("1"), shown_feedback="如果答错了，之后会在这里看到正确答案。")
    made = put_form(label_studio, form._replace(rubric=rubric), "a1", plain("2", "3", "4"))
    for key in ("2", "3"):
        submit(label_studio, made, key, numbers["a1"], 100)
    put_form(label_studio, form._replace(rubric=rubric), "a1", {"2": ("2 anew", ""), "4": ("4", "")})
    await page.reload()
    text = " ".join((await page.inner_text("body")).split())
    assert is_chinese(text), ENGLISH_LEFT.findall(text)
    for said in (
        "您的工作",
        "共 3 题，约 5 分钟。 Enter 打开第一组题。",
        "1 题，粗略估计约 2 分钟",
        "请先做这些",
        "本周 0 小时 03 分钟，2 题",
        "已完成 2 题，其中 0 题有效",
        "1 题已换成新题、1 题不再需要",
    ):
        assert said in text
    assert await page.title() == "您的工作 | Label Studio"

    put(label_studio, REVIEW, "a1", plain("5"))
    await page.reload()
    assert await page.inner_text("h1") == "Your work", "they read both"
    assert "请先做这些" in await page.inner_text(".queues")


async def test_people_can_log_in_on_a_phone(label_studio: Served, browser: Any) -> None:
    accounts(label_studio.client, PEOPLE, label_studio.folder)
    phone = await browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True)
    page = await phone.new_page()
    await page.goto(f"{label_studio.url}/user/login/")
    assert await page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    box = await page.locator("button[type=submit]").bounding_box()
    assert box["x"] > 0
    assert box["x"] + box["width"] < await page.evaluate("() => innerWidth")
