"""The page that people work on, in a real browser: what they type is kept, what they read is legible, a few keys do."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from annotation.label_studio.config import HELP, QUESTION
from annotation.label_studio.task_data import SUGGESTED
from tests.forms import AUTHORING, FORMS, PAGE, PHONE, WRITTEN, Form, changed, close_guideline, log_in, make, open_form
from tests.label_studio import Served
from tests.legible import LEGIBLE, contrasts, set_theme

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BOXES = ("KGIR", "KGUG", "RECF", "IECF", "COEX")
TEXTS = {name: WRITTEN[name] for name in BOXES}


class Desk:
    """Somebody at a form."""

    def __init__(self, page: Any, server: Served, project: int) -> None:
        self.page, self.server, self.project = page, server, project
        self.warnings: list[str] = []
        page.on("dialog", self._accept)

    @classmethod
    async def at(cls, server: Served, browser: Any, form: Form, **device: Any) -> "Desk":
        """Open a task of the form, on a laptop or another device."""
        page = await browser.new_page(**{"viewport": PAGE, **device})
        await log_in(page, server)
        desk = cls(page, server, make(server, form))
        await desk.open()
        return desk

    async def _accept(self, dialog: Any) -> None:
        self.warnings.append(dialog.type)
        await dialog.accept()

    async def open(self) -> None:
        """Open the queue's next task."""
        await open_form(self.page, self.server, self.project)
        await close_guideline(self.page)

    def box(self, name: str) -> Any:
        """A box; once its text is taken up, Label Studio gives it a longer name."""
        return self.page.locator(f"textarea[name='{name}'], textarea[name^='{name}:']")

    async def type(self, name: str, text: str) -> None:
        """Replace the text of a box, with the mouse and the keyboard."""
        await self.box(name).click()
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.type(text)

    async def texts(self, *names: str) -> dict[str, str]:
        return {name: await self.box(name).input_value() for name in names or BOXES}

    async def stored(self, act: Callable[[], Awaitable[None]]) -> dict[str, str]:
        """Do what submits or skips; what the server has then, by name."""
        async with self.page.expect_response(
            lambda answer: "/annotations" in answer.url and answer.request.method == "POST"
        ) as answer:
            await act()
        assert (await answer.value).status == 201
        (row,) = self.server.client.export(self.project)
        results = row["annotations"][-1]["result"]
        return {one["from_name"]: next(iter(one["value"].values()))[0] for one in results}

    async def refused(self) -> str:
        """What the page says is missing, once it is closed."""
        dialog = self.page.locator(".ant-modal-confirm")
        said = str(await dialog.inner_text())
        await dialog.get_by_role("button").click()  # while it still appears, it does not hear Escape
        await dialog.wait_for(state="detached")
        return said


def drafted(answer: Any) -> bool:
    """Whether an answer of the server is that a draft is saved."""
    return "/drafts" in answer.url and answer.request.method in ("POST", "PATCH") and answer.ok


def drafted_with(text: str) -> Callable[[Any], bool]:
    """Whether it is that of a draft with this text: one that is typed slowly is saved in parts before."""
    return lambda answer: drafted(answer) and text in answer.request.post_data


# ---- what is typed is kept ----


async def test_texts_outlive_a_reload_and_a_link_and_unsaved_ones_warn(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    for name, text in TEXTS.items():
        await desk.type(name, text)
    await desk.page.reload()
    assert desk.warnings == ["beforeunload"], "the last text was still being typed"
    await desk.open()
    assert await desk.texts() == TEXTS

    # A link within the page asks nothing: the text is saved as its box is left.
    await desk.type("RECF", "Ringo Starr drums.")
    await desk.page.get_by_role("link", name="Projects").first.click()
    await desk.page.wait_for_url(re.compile(r"/projects\b(?!.*labeling)"))
    await desk.open()
    assert (await desk.texts())["RECF"] == "Ringo Starr drums."

    # After a pause nothing is unsaved, and nothing warns.
    async with desk.page.expect_response(drafted_with("George Harrison sang.")):
        await desk.type("IECF", "George Harrison sang.")
    desk.warnings.clear()
    await desk.open()
    assert desk.warnings == []
    assert (await desk.texts())["IECF"] == "George Harrison sang."


async def test_a_pause_in_typing_does_not_disturb_it(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    await desk.type("KGUG", "Ringo Starr in 1940.")
    for _ in " in 1940.":
        await desk.page.keyboard.press("ArrowLeft")
    async with desk.page.expect_response(drafted):
        await desk.page.keyboard.type(" was")
    await desk.page.keyboard.type(" born")
    await desk.page.keyboard.press("Tab")
    await desk.page.keyboard.type("He drums.")
    assert await desk.texts("KGUG", "RECF") == {"KGUG": "Ringo Starr was born in 1940.", "RECF": "He drums."}


async def test_before_a_skip_a_question_is_asked_and_the_rest_comes_back(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    await desk.page.keyboard.press("1")
    await desk.type("KGUG", "He was born.")
    await desk.type(QUESTION, "Is Pete Best an entity?")
    skip = desk.page.get_by_role("button", name="Skip")
    assert await desk.stored(skip.click) == {
        "decision": "yes", "KGUG": "He was born.", QUESTION: "Is Pete Best an entity?",
    }  # fmt: skip
    (row,) = label_studio.client.export(desk.project)
    assert row["annotations"][-1]["was_cancelled"]

    await desk.open()
    assert await desk.texts("KGUG", QUESTION) == {"KGUG": "He was born.", QUESTION: ""}, "a question is asked once"
    assert await desk.stored(skip.click) == {"decision": "yes", "KGUG": "He was born."}
    await desk.open()
    for name, text in TEXTS.items():
        await desk.type(name, text)
    stored = await desk.stored(lambda: desk.page.keyboard.press("Control+Enter"))
    assert stored == {**TEXTS, "decision": "yes"}
    (row,) = label_studio.client.export(desk.project)
    assert row["drafts"] == []


async def test_an_untouched_task_that_is_skipped_leaves_nothing(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    await desk.type(QUESTION, "Is Pete Best an entity?")
    assert QUESTION in await desk.stored(desk.page.get_by_role("button", name="Skip").click)
    (row,) = label_studio.client.export(desk.project)
    assert row["drafts"] == []


async def test_control_and_enter_submit_inside_a_box(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    await desk.page.keyboard.press("1")
    async with desk.page.expect_response(drafted_with(TEXTS["IECF"])):
        for name in ("KGUG", "RECF", "IECF"):
            await desk.type(name, TEXTS[name])
    # A box that is emptied is not written, and a text is kept after the page has refused to submit as well.
    async with desk.page.expect_response(drafted):
        await desk.page.keyboard.press("Control+A")
        await desk.page.keyboard.press("Delete")
    await desk.page.keyboard.press("Control+Enter")
    assert "Not written yet: 4. IECF" in await desk.refused()
    async with desk.page.expect_response(drafted_with(TEXTS["IECF"])):
        await desk.type("IECF", TEXTS["IECF"])
    await desk.open()
    await desk.type("COEX", TEXTS["COEX"])
    stored = await desk.stored(lambda: desk.page.keyboard.press("Control+Enter"))
    assert stored == {**TEXTS, "decision": "yes", "KGIR": "George Harrison played lead guitar."}


async def test_texts_that_cannot_be_saved_warn_and_can_be_submitted(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    await desk.page.route("**/api/**/drafts*", lambda route: route.abort())
    await desk.page.keyboard.press("1")
    async with desk.page.expect_event("requestfailed"):
        await desk.type("KGUG", TEXTS["KGUG"])
    await desk.page.unroute("**/api/**/drafts*")
    await desk.page.reload()
    assert desk.warnings == ["beforeunload"]
    await desk.open()
    assert (await desk.texts())["KGUG"] == TEXTS["KGUG"], "the warning gave it time"
    await desk.page.route("**/api/**drafts**", lambda route: route.abort())
    for name, text in TEXTS.items():
        await desk.type(name, text)
    assert await desk.stored(lambda: desk.page.keyboard.press("Control+Enter")) == {**TEXTS, "decision": "yes"}


async def test_another_server_says_how_a_text_is_kept_there(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    instructions = desk.page.get_by_role("button", name="Instructions")
    assert HELP["kept"][0] in await desk.page.inner_text(".form-asked")
    assert HELP["unkept"][1] not in await desk.page.inner_text(".form-asked")
    await instructions.click()
    assert "Your texts are saved as you type." in await desk.page.inner_text(".guideline")
    assert "Ctrl + Enter outside a box" not in await desk.page.inner_text(".guideline")

    async def plain(route: Any) -> None:
        """Label Studio's own page."""
        answer = await route.fetch()
        ours = r"<script[^>]*>// (Keeps what people type|Says below its box|Saves motions).*?</script>"
        text, scripts = re.subn(ours, "", await answer.text(), flags=re.S)
        assert scripts == 3
        await route.fulfill(response=answer, body=text)

    await desk.page.route(f"**/projects/{desk.project}/data*", plain)
    await desk.open()
    assert HELP["unkept"][1] in await desk.page.inner_text(".form-asked")
    assert HELP["kept"][0] not in await desk.page.inner_text(".form-asked")
    await instructions.click()
    guideline = await desk.page.inner_text(".guideline")
    assert "a text is lost unless you" in guideline
    assert "Ctrl + Enter outside a box" in guideline
    await close_guideline(desk.page)
    await desk.type("KGUG", TEXTS["KGUG"])
    async with desk.page.expect_response(drafted):
        await desk.page.keyboard.press("Shift+Enter")
    await desk.type("RECF", TEXTS["RECF"])
    await desk.page.keyboard.press("Control+Enter")
    assert label_studio.client.export(desk.project)[0]["annotations"] == []
    await desk.open()
    assert await desk.texts("KGUG", "RECF") == {"KGUG": TEXTS["KGUG"], "RECF": ""}
    assert desk.warnings == []


async def test_on_a_phone_nothing_is_said_of_keys(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name], viewport=PHONE, is_mobile=True, has_touch=True)
    form = await desk.page.inner_text(".form-asked")
    assert HELP["kept"][0] in form
    assert not re.search(r"Enter|Backspace|\[\d\]", form)
    await desk.page.get_by_role("button", name="Instructions").click()
    guideline = await desk.page.inner_text(".guideline")
    assert "Your texts are saved as you type." in guideline
    assert not re.search(r"Keys|Enter|Backspace", guideline)


# ---- what is read is legible ----

TEXTS_OF_A_FORM = (
    (".form-asked textarea", "::placeholder"),
    (".lsf-paragraphs [class*=dialoguename--]", None),
    (".lsf-paragraphs [class*=dialoguetext--]", None),
    (".form-note h5, .form-note h1, .form-note *:not(:has(*))", None),
)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_hints_notes_and_speakers_are_legible(label_studio: Served, browser: Any, theme: str) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    await set_theme(desk.page, theme)
    for selector, part in TEXTS_OF_A_FORM:
        found = await contrasts(desk.page, selector, part)
        assert found, selector
        assert min(found) >= LEGIBLE, selector


async def test_speakers_are_told_apart_by_where_their_turns_stand(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    turns = await desk.page.evaluate(
        """() => [...document.querySelectorAll(".lsf-paragraphs [class*=phrase--]")].map((turn) =>
            [turn.querySelector("[class*=dialoguename--]").textContent, turn.getBoundingClientRect().left])"""
    )
    assert [speaker for speaker, _ in turns] == ["User", "Bot", "User", "Bot", "User"]
    lefts = {name: {left for speaker, left in turns if speaker == name} for name in ("User", "Bot")}
    assert [len(places) for places in lefts.values()] == [1, 1]
    assert min(lefts["User"]) - max(lefts["Bot"]) > 30
    assert not await desk.page.locator("[aria-label=play]").first.is_visible()


# ---- reviews, and what changed ----


async def test_what_is_accepted_at_once_is_not_fixed(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[f"{AUTHORING.name}-review"])
    await desk.page.keyboard.press("w")
    await desk.type("KGUG", "He was born in 1940.")
    await desk.page.locator("label:has(input[name='accept'])").first.click()
    await desk.box("KGUG").wait_for(state="hidden")
    assert await desk.stored(lambda: desk.page.keyboard.press("Control+Enter")) == {"for-all": "accept"}


OVER = "(side) => { const part = document.querySelector(side); return part.scrollHeight - part.clientHeight; }"


async def test_what_changed_since_it_was_done_is_marked_and_the_texts_are_there(
    label_studio: Served, browser: Any
) -> None:
    desk = await Desk.at(label_studio, browser, changed(FORMS[AUTHORING.name], "drummer", "<b>drums</b> $x", WRITTEN))
    news = desk.page.locator(".form-news")
    lines = (await news.inner_text()).splitlines()
    assert [line for line in lines if line] == [
        "This task has changed since you did it. Your work on it no longer counts: please do it again.",
        "The texts are in the boxes again: check that they still fit, then submit.",
        "You answered: Can the conversation be used? yes",
        "What the Bot knows: […] Starr joined The Beatles in 1962 as their drummer<b>drums</b> $x, in place of Pete "
        "Best. George Harrison […]",
        "The right response: That was Ringo Starr, the drummer<b>drums</b> $x, who joined The Beatles in 1962.",
    ]
    assert await news.locator("del").all_inner_texts() == ["drummer"] * 2
    assert await news.locator("ins").all_inner_texts() == ["<b>drums</b> $x"] * 2
    struck = "(text) => getComputedStyle(text).textDecorationLine"
    assert await news.locator("del").first.evaluate(struck) == "line-through"
    assert await desk.texts() == TEXTS
    assert SUGGESTED not in await desk.page.inner_text("body")
    assert [await desk.page.evaluate(OVER, side) for side in (".form-shown", ".form-asked")] == [0, 0], "one screen"
    await desk.page.keyboard.press("1")
    stored = await desk.stored(lambda: desk.page.keyboard.press("Control+Enter"))
    assert stored == {**WRITTEN, "decision": "yes"}


async def test_a_task_without_news_has_no_place_for_it(label_studio: Served, browser: Any) -> None:
    desk = await Desk.at(label_studio, browser, FORMS[AUTHORING.name])
    assert await desk.page.locator(".form-news").count() == 1
    assert not await desk.page.locator(".form-news").is_visible()
