"""What is wrong with a text is said below its box while it is written, in a real browser on a real Label Studio."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from annotation.label_studio.accounts import accounts
from annotation.label_studio.listener import SECRET_HEADER, Listener, register, secret_of
from flows.annotate.guidelines import examples_of
from schemas.annotation import Finding
from tests.forms import FORMS, Form
from tests.label_studio import Served
from tests.rubrics import declared_rubrics
from tests.test_annotation_label_studio_page import BOXES, TEXTS, Desk
from tests.test_browser_your_work import PEOPLE, PRACTICE, at_work, plain, put

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
AUTHORING = FORMS["charpeval-authoring"]
SAME, LONG = "is the same as the response", "has 40 words, where the response has 9"


class Checks:
    """Stands in for the checks of a build: two words are wrong, each in its own way."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, form: str, item: str, answers: Mapping[str, str]) -> list[Finding]:
        self.asked.append((form, item))
        problems = {name: text for name, text in answers.items() if text in ("Same.", "Long.")}
        return [
            Finding(name=name, problem=SAME if text == "Same." else LONG, rejects=text == "Same.")
            for name, text in problems.items()
        ]


async def test_a_problem_stands_below_its_box_until_the_text_is_another(
    label_studio: Served, browser: Any, tmp_path: Path
) -> None:
    checks, folder = Checks(), label_studio.folder.resolve().parent
    desk = await Desk.at(label_studio, browser, AUTHORING)
    problems = desk.page.locator(".text-problem")
    await desk.page.keyboard.press("1")
    with Listener(folder, check=checks) as listener:
        register(label_studio.client, desk.project, listener.url, secret_of(folder))
        await desk.type("KGIR", "Same.")
        await problems.wait_for()
        assert await desk.page.evaluate("document.activeElement.value") == "Same.", "the writer goes on in the box"
        await desk.type("KGUG", "Long.")
        await problems.nth(1).wait_for()
        assert await problems.all_inner_texts() == [
            f"This would come back: {SAME}",
            f"The reviewer will be told: {LONG}",
        ]
        below = desk.page.locator(".form-block", has=desk.box("KGIR")).locator(".text-problem")
        assert await below.inner_text() == f"This would come back: {SAME}"
        await desk.page.screenshot(path=tmp_path / "problems.png")
        for name in BOXES:
            await desk.type(name, TEXTS[name])
        await problems.first.wait_for(state="detached")
    async with desk.page.expect_response(lambda answer: "/check-texts/" in answer.url) as answer:
        await desk.type("COEX", "Same.")  # nobody listens
    assert (await answer.value).status == 204
    assert await problems.count() == 0
    stored = await desk.stored(lambda: desk.page.keyboard.press("Control+Enter"))
    assert {name: stored[name] for name in BOXES} == {**TEXTS, "COEX": "Same."}
    assert set(checks.asked) == {(AUTHORING.rubric.name, AUTHORING.task.item_key)}


async def test_over_a_chinese_form_the_page_speaks_chinese(label_studio: Served, browser: Any, tmp_path: Path) -> None:
    rubric, folder = next(one for one in declared_rubrics() if one[0].name == "lveval-confusing-facts")
    chinese, state = rubric.in_language("zh"), label_studio.folder.resolve().parent
    form = Form(chinese, "# 指南", examples_of(chinese, folder)[0])
    desk = await Desk.at(label_studio, browser, form)
    with Listener(state, check=Checks()) as listener:
        register(label_studio.client, desk.project, listener.url, secret_of(state))
        await desk.page.keyboard.press("2")
        await desk.type("fact", "Same.")
        await desk.page.locator(".text-problem").wait_for()
        assert await desk.page.locator(".text-problem").inner_text() == f"提交后会退回：{SAME}"
    await desk.page.evaluate("document.activeElement.blur()")
    await desk.page.keyboard.press("1")
    notice = desk.page.locator(".submits")
    assert await notice.inner_text() == "即将提交 · 按 Esc 留在此题，按 Backspace 收回回答"
    await desk.page.screenshot(path=Path(os.environ.get("SCREENSHOTS", str(tmp_path))) / "chinese.png")
    await desk.page.keyboard.press("Escape")
    assert "{}" not in await desk.page.inner_text("body"), "what the scripts read is not to be seen"


async def test_only_ones_own_tasks_are_checked_and_only_by_who_has_the_secret(
    label_studio: Served, browser: Any
) -> None:
    accounts(label_studio.client, PEOPLE, label_studio.folder)
    mine, others = (put(label_studio, PRACTICE, by, plain("one")) for by in PEOPLE)
    checks, folder, client = Checks(), label_studio.folder.resolve().parent, label_studio.client
    page = await at_work(browser, label_studio, "a1")

    async def asked(project: int, content: Any = ()) -> int:
        (task,) = client.list_tasks(project)
        answer = await page.request.post(f"{label_studio.url}/check-texts/{task['id']}", data=content)
        return int(answer.status)

    with Listener(folder, check=checks) as listener:
        client.webhook(mine, listener.url, {SECRET_HEADER: "guessed"})
        assert await asked(mine, []) == 204
        register(client, mine, listener.url, secret_of(folder))
        register(client, others, listener.url, secret_of(folder))
        assert await asked(mine, []) == 200
        assert await asked(mine, "no annotation") == 204
        assert await asked(mine, "x" * 2**21) == 413
        assert await asked(others, []) == 404
        question = {"rubric": "r", "item_key": "k", "result": []}
        async with httpx.AsyncClient() as stranger:
            answer = await stranger.post(f"{listener.url}check", json=question, headers={SECRET_HEADER: "guessed"})
            assert answer.status_code == 403
            assert (await stranger.post(f"{label_studio.url}/check-texts/1", json=[])).status_code == 403
    assert len(checks.asked) == 1
