"""How many keys and clicks a task of each form takes, in a browser on a real Label Studio; none may become more."""

from itertools import groupby
from typing import Any, NamedTuple

import pytest

from annotation.label_studio.config import QUESTION
from annotation.label_studio.sync import KEY, VIEW, QueuedTask, push_queue
from annotation.label_studio.task_data import task_data
from tests.forms import (
    AUTHORING,
    AUTHORING_TASK,
    FORMS,
    PAGE,
    WRITTEN,
    Form,
    close_guideline,
    log_in,
    open_form,
    queue_of,
)
from tests.label_studio import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
BOXES = ("KGIR", "KGUG", "RECF", "IECF", "COEX")
REVIEW = f"{AUTHORING.name}-review"
ACCEPTED = {f"{name}_decision": "accept" for name in BOXES}
SUBMIT = "Control+Enter"


class Text(str):
    """What is typed: its letters are not counted."""


class Motions(NamedTuple):
    """A task of a form: the keys that are pressed, their number, and what is stored then."""

    form: str
    keys: tuple[str, ...]
    number: int
    stored: dict[str, str]


def written(*names: str) -> tuple[str, ...]:
    """Write into one box after the other."""
    keys = [key for name in names for key in (Text(WRITTEN[name]), "Tab")]
    return tuple(keys[:-1])


KEYS = (
    # A judgement: a key for each answer.
    Motions("answerable-without-context", ("1",), 1, {"answerable": "yes"}),
    Motions("lveval-blacklist", ("2",), 1, {"informative": "no"}),
    Motions("reeval-support", ("1", "w"), 2, {"readable": "yes", "supports": "no"}),
    Motions(
        "uraq-check", ("1", "4", "7", "9", "w"), 5,
        {"original_true": "yes", "manipulated_false": "yes", "understandable": "yes", "follows_original": "yes",
         "follows_manipulated": "no"},
    ),
    Motions("refute-rating", ("5", "t", "a"), 3, {"human_likeness": "5", "appropriateness": "5", "following": "1"}),
    Motions(
        "charpeval-authoring-judging", ("1", "2", "e", "4", "5"), 5,
        {f"{name}_decision": "wrong" if name == "RECF" else "right" for name in BOXES},
    ),
    # A review: all is accepted, at once or one by one; a text is fixed, or sent back, and the rest accepted.
    Motions(REVIEW, ("0",), 1, {"for-all": "accept"}),
    Motions(REVIEW, ("1", "2", "3", "4", "5"), 5, ACCEPTED),
    Motions(
        REVIEW, ("w", "0", Text(" He was."), SUBMIT), 3,
        {**ACCEPTED, "KGUG_decision": "fix", "KGUG": f"{WRITTEN['KGUG']} He was."},
    ),
    Motions(
        REVIEW, ("d", "0", Text("It is false."), SUBMIT), 3,
        {**ACCEPTED, "RECF_decision": "reject", "review_comment": "It is false."},
    ),
    Motions("charpeval-authoring-corrected", ("1",), 1, {"agreed": "yes"}),
    Motions(
        "charpeval-authoring-corrected", ("2", Text("It was right."), SUBMIT), 2,
        {"agreed": "no", QUESTION: "It was right."},
    ),
    # Authoring: all is written, over the suggestions too; both suggestions are taken; the dialogue is rejected.
    Motions(
        AUTHORING.name, ("1", *written(*BOXES), SUBMIT), 6,
        {"decision": "yes", **{name: WRITTEN[name] for name in BOXES}},
    ),
    Motions(
        AUTHORING.name, ("1", "Tab", *written("KGUG", "RECF", "IECF"), SUBMIT), 5,
        {"decision": "yes", **AUTHORING_TASK.drafts, **{name: WRITTEN[name] for name in ("KGUG", "RECF", "IECF")}},
    ),
    Motions(
        AUTHORING.name, ("2", Text("Nobody asks."), SUBMIT), 2,
        {"decision": "reject this dialogue", "note": "Nobody asks.", **AUTHORING_TASK.drafts},  # they do not count
    ),
    # A text or marks of the record are kept, or corrected.
    *(Motions(f"lveval-{name}", ("1",), 1, {"decision": "keep"})
      for name in ("confusing-facts", "replacements", "conflicts")),
    Motions("lveval-keywords", ("1",), 1, {"decision": "keep"}),
    Motions(
        "lveval-keywords", ("2", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Enter", "Enter"), 6,
        {"decision": "edit", "keywords": "was opened"},
    ),
)  # fmt: skip


class Worker:
    """Somebody at the first of some tasks of a form, whose motions are counted."""

    def __init__(self, page: Any, server: Served, project: int) -> None:
        self.page, self.server, self.project, self.count = page, server, project, 0

    @classmethod
    async def at(cls, page: Any, server: Served, form: Form, person: str, tasks: int = 1) -> "Worker":
        """Open a queue with so many tasks, and one more."""
        data = task_data(form.rubric, form.task)
        queued = [QueuedTask(key, key, {**data, KEY: key, VIEW: key}) for key in map(str, range(tasks + 1))]
        project = push_queue(server.client, queue_of(form, person, queued), None).project
        await open_form(page, server, project)
        await close_guideline(page)
        return cls(page, server, project)

    async def press(self, *keys: str) -> None:
        for key in keys:
            if isinstance(key, Text):
                await self.page.keyboard.type(key)
            else:
                self.count += 1
                await self.page.keyboard.press(key)

    async def click(self, element: Any) -> None:
        self.count += 1
        await element.click()

    async def next_task(self, place: int = 1) -> None:
        """Wait for the task at a place of the queue."""
        tasks = sorted(row["id"] for row in self.server.client.list_tasks(self.project))
        await self.page.wait_for_function(
            """(task) => Htx.task?.id === task && !Htx.isSubmitting && !Htx.isLoading
                && document.querySelector(".form-asked") !== null""",
            arg=tasks[place],
            timeout=30_000,
        )

    async def shows(self) -> dict[str, str]:
        """What is chosen in the open task, by name."""
        return dict(
            await self.page.evaluate(
                """() => [...Htx.annotationStore.selected.names.values()].filter((one) => one.type === "choices")
                    .flatMap((one) => one.selectedLabels.map((choice) => [one.name, choice.alias]))"""
            )
        )

    def stored(self, place: int = 0) -> dict[str, str]:
        """What the server has of the task at a place, by name."""
        (annotation,) = sorted(self.server.client.export(self.project), key=lambda row: row["id"])[place]["annotations"]
        values = {one["from_name"]: one["value"] for one in annotation["result"]}
        return {name: value["text"] if "labels" in value else next(iter(value.values()))[0]
                for name, value in values.items()}  # fmt: skip


async def test_a_task_of_each_form_takes_so_many_keys_and_leads_to_the_next(label_studio: Served, browser: Any) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)
    over = "() => { const side = document.querySelector('.form-asked'); return side.scrollHeight - side.clientHeight }"
    for name, rows in groupby(KEYS, key=lambda motions: motions.form):
        queue = list(rows)
        worker = await Worker.at(page, label_studio, FORMS[name], f"for-{name}"[:20], len(queue))
        assert await page.evaluate(over) == 0, f"{name}: the form is on one screen"
        for place, motions in enumerate(queue):
            worker.count = 0
            await worker.press(*motions.keys)
            await worker.next_task(place + 1)
            assert (name, worker.stored(place), worker.count) == (name, motions.stored, motions.number)


async def test_a_task_takes_so_many_clicks(label_studio: Served, browser: Any) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)
    submit = page.get_by_test_id("bottombar-submit-button")

    judgement = await Worker.at(page, label_studio, FORMS["reeval-support"], "a1")
    await judgement.click(page.locator("label:has(input[name='yes'])").nth(0))
    await judgement.click(page.locator("label:has(input[name='no'])").nth(1))
    await judgement.click(submit)
    await judgement.next_task()

    review = await Worker.at(page, label_studio, FORMS[REVIEW], "a1")
    await review.click(page.locator("label:has(input[name='accept'])").first)
    await review.click(submit)
    await review.next_task()

    author = await Worker.at(page, label_studio, FORMS[AUTHORING.name], "a1")
    await author.click(page.locator("label:has(input[name='yes'])"))  # and the cursor is in the first box
    for name in BOXES:
        if name != "KGIR":
            await author.click(page.locator(f"textarea[name='{name}'], textarea[name^='{name}:']"))
            await page.evaluate("() => document.activeElement.select()")
        await page.keyboard.type(WRITTEN[name])
    await author.click(submit)
    await author.next_task()
    assert author.stored() == {"decision": "yes", **{name: WRITTEN[name] for name in BOXES}}
    assert (judgement.count, review.count, author.count) == (3, 2, 6)


async def test_a_wrong_key_is_easily_undone(label_studio: Served, browser: Any) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)
    worker = await Worker.at(page, label_studio, FORMS["reeval-support"], "a1")
    # In the moment before it is submitted, Backspace takes an answer back, Escape keeps the task open, another key
    # changes the answer.
    await worker.press("1", "w", "Backspace")
    assert await worker.shows() == {"readable": "yes"}
    await worker.press("w", "Escape")
    await page.wait_for_timeout(1500)
    assert await worker.shows() == {"readable": "yes", "supports": "no"}
    await worker.press("w", "q")
    await worker.next_task()
    assert worker.stored() == {"readable": "yes", "supports": "yes"}
    # Afterwards it goes back, and the right answer leads on again.
    await worker.press("Backspace")
    await worker.next_task(0)
    await worker.press("2")
    await worker.next_task()
    assert worker.stored() == {"readable": "no", "supports": "yes"}
    assert await worker.shows() == {}


async def test_keys_that_come_late_or_are_held_answer_nothing(label_studio: Served, browser: Any) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)

    async def slowly(route: Any) -> None:
        await page.wait_for_timeout(700)
        await route.continue_()

    await page.route("**/api/**", lambda route: slowly(route) if route.request.method == "POST" else route.continue_())
    worker = await Worker.at(page, label_studio, FORMS["answerable-without-context"], "a1")
    await worker.press("1")
    await page.wait_for_function("() => Htx.isSubmitting")
    await worker.press("2", "Enter")
    for _ in range(100):  # with no release, it repeats
        await page.keyboard.down("2")
        await page.wait_for_timeout(20)
    await worker.next_task()
    await page.keyboard.down("2")
    await page.keyboard.up("2")
    await page.wait_for_timeout(1500)
    assert (worker.stored(), await worker.shows()) == ({"answerable": "yes"}, {})

    review = await Worker.at(page, label_studio, FORMS[REVIEW], "a1")
    await review.press("w", "0", Text(" He was."), SUBMIT, "g")
    await review.next_task()
    assert review.stored() == {**ACCEPTED, "KGUG_decision": "fix", "KGUG": f"{WRITTEN['KGUG']} He was."}
    assert await review.shows() == {}

    # Something is missing: once the page has said so, keys answer again.
    author = await Worker.at(page, label_studio, FORMS[AUTHORING.name], "a1")
    await author.press("1", SUBMIT)
    dialog = page.locator(".ant-modal-confirm")
    await dialog.get_by_role("button").click()
    await dialog.wait_for(state="detached")
    await page.evaluate("() => document.activeElement.blur()")  # the page puts the cursor into the last box
    await author.press("2")
    assert await author.shows() == {"decision": "reject this dialogue"}


async def test_a_suggestion_is_one_key_away(label_studio: Served, browser: Any) -> None:
    page = await browser.new_page(viewport=PAGE)
    await log_in(page, label_studio)
    worker = await Worker.at(page, label_studio, FORMS[AUTHORING.name], "a1")
    value = "() => document.activeElement.value"
    await worker.press("1", "Delete")
    assert await page.evaluate(value) == ""
    await worker.press("ArrowUp")
    assert await page.evaluate(value) == AUTHORING_TASK.drafts["KGIR"]
    await worker.press("Tab", "ArrowUp")
    assert await page.evaluate(value) == "", "there is no suggestion for it"
