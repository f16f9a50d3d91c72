"""One item by hand, in a real browser on a real Label Studio: from its dialogue to an accepted verdict and two rows."""

import json
import re
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from annotation.label_studio.sync import is_retired, projects_of, tasks_of
from annotation.label_studio.task_data import SUGGESTED
from annotation.review import judging_of
from flows.annotate.guidelines import examples_of
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.construct.verification import VerifyContext
from flows.families.charpeval import FAMILY
from flows.families.charpeval.rubric import AUTHORING as AUTHORING_RUBRIC
from flows.families.charpeval.settings import CharpEvalSettings
from flows.project.project import Project, read_verdicts
from flows.project.settings import packaged
from schemas.annotation import Excluded
from tests.builds import practised, write_config
from tests.forms import PAGE, close_guideline
from tests.label_studio import Served
from tests.toy import run_all

PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org"}
AUTHORING = "charpeval-authoring"
TEXTS = {
    "KGUG": "The oldest tortoise on record lived for more than one hundred and eighty years.",
    "RECF": "A tortoise is a reptile with a shell that lives on land.",
    "IECF": "A hamster is a small rodent that carries food in its cheeks.",
    "COEX": "Slow and steady wins the race.",
}
BETTER = "A giant tortoise called Jonathan lived for more years than anybody can count."
SCRIPT = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
WORDS = 10_000
BUSY_MS = 120_000
"""What a busy machine is given to show a page or to answer."""


class Person:
    """Somebody at a browser of their own."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url

    @classmethod
    async def log_in(cls, browser: Any, served: Served, code: str) -> "Person":
        """Log in by the form, with what `people.txt` says."""
        lines = (served.folder / "people.txt").read_text(encoding="utf-8").splitlines()
        (login,) = [line.split("\t") for line in lines if line.startswith(f"{code}\t")]
        context = await browser.new_context(viewport=PAGE)
        page = await context.new_page()
        page.set_default_timeout(BUSY_MS)
        await page.goto(f"{served.url}/user/login/")
        await page.fill("input[name=email]", login[1])
        await page.fill("input[name=password]", login[2])
        await page.click("button[type=submit]")
        await page.wait_for_url(f"{served.url}/")
        return cls(page, served.url)

    async def open(self, project: int) -> None:
        """Open a queue at its next task, with the guideline over it."""
        await self.page.goto(f"{self.url}/projects/{project}/data?labeling=1")
        await self.drawn()
        await close_guideline(self.page)

    async def drawn(self) -> None:
        """Wait for the form, and for the guideline over it."""
        await self.box("question-to-engineer").wait_for()
        await self.page.wait_for_selector(".guideline")

    def box(self, name: str) -> Any:
        """A box to write in; once its text is kept, Label Studio gives it a longer name."""
        return self.page.locator(f"textarea[name='{name}'], textarea[name^='{name}:']")

    async def write(self, name: str, text: str) -> None:
        """Write into a box as slowly as a person does: the form takes a text up when it has drawn it."""
        await self.box(name).fill(text)
        await self.page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))")

    async def texts(self) -> dict[str, str]:
        """What stands in the five boxes."""
        return {name: await self.box(name).input_value() for name in ("KGIR", *TEXTS)}

    async def choose(self, option: str, question: int = 0) -> None:
        """Choose an option of the question at this place among those that have it."""
        await self.page.locator(f"label.ant-radio-wrapper:has(input[name='{option}'])").nth(question).click()

    async def submit(self) -> None:
        """Submit, by the button. Label Studio either stores the work, or says in a dialog what is missing."""
        from playwright.async_api import TimeoutError

        try:
            async with self.page.expect_response(
                lambda answer: answer.request.method == "POST" and "/annotations" in answer.url
            ) as stored:
                await self.page.get_by_test_id("bottombar-submit-button").click()
        except TimeoutError as error:
            dialogs = await self.page.get_by_role("dialog").all_inner_texts()
            saving = await self.page.evaluate("() => Htx.annotationStore.selected.isDraftSaving")
            raise AssertionError(f"nothing was stored; a draft was: {saving}; dialogs: {dialogs}") from error
        assert (await stored.value).status == 201

    async def read(self) -> str:
        """All that is to be read on the page."""
        return str(await self.page.inner_text("body"))


class Bench:
    """A build of some dialogues, whose people work on a server of its own."""

    def __init__(self, served: Served, *dialogues: Mapping[str, Any]) -> None:
        self.served, self.folder = served, served.folder.parent.parent
        source = self.folder / "dialogues.jsonl"
        lines = [json.dumps(one, ensure_ascii=False) for one in dialogues]
        source.write_text("\n".join(lines), encoding="utf-8")
        self.config = write_config(
            self.folder, store=str(served.folder.parent), annotation={"people": PEOPLE, "overlap_first": 0},
            families={"charpeval": {"sources": [{"format": "jsonl", "path": str(source)}]}},
        )  # fmt: skip

    async def build(self, *, practice: bool = True) -> Project:
        """Build it; but for their `practice`, all people have theirs behind them."""
        self.project = Project(self.config, self.folder / "out")
        await run_all(self.project.build)
        if not (practice or (self.project.out / "annotations").exists()):
            practised(self.project)
        return self.project

    def rows(self, part: str) -> list[Any]:
        return list(self.project.build.accepted("charpeval", part))

    def queue(self, rubric: str, by: str) -> int:
        info = self._project(rubric, by)
        assert info is not None, f"{by} has no project of {rubric}"
        return int(info.id)

    def _project(self, rubric: str, by: str) -> Any | None:
        """The project of a form, of whatever version."""
        projects = projects_of(self.served.client, "test").items()
        return next((info for name, info in projects if re.fullmatch(rf"test/{rubric}@\d+/{by}", name)), None)

    def left(self, rubric: str, by: str) -> list[Mapping[str, Any]]:
        """The data of the tasks that a person has yet to do."""
        info = self._project(rubric, by)
        rows = tasks_of(self.served.client, info) if info else []
        return [row["data"] for row in rows if not is_retired(row) and not row["total_annotations"]]

    def collect(self) -> list[Excluded]:
        """Pull and push; what does not count."""
        collected = pull(self.project, self.served.client)
        push(self.project, self.served.client)
        return [apart for one in collected for apart in (*one.excluded, *one.settlement.excluded)]


def tortoise() -> dict[str, Any]:
    lines = (packaged("charpeval.yaml").parent / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    return next(dict(one) for one in map(json.loads, lines) if one["id"] == "d02")


@asynccontextmanager
async def quiet(person: Person) -> Any:
    """Nothing of the task's text runs as a script."""
    yield
    assert await person.page.title() != "owned"


@pytest.mark.slow
async def test_an_item_by_hand_from_its_dialogue_to_an_accepted_verdict(label_studio: Served, browser: Any) -> None:
    bench = Bench(label_studio, tortoise())
    project = await bench.build(practice=False)
    push(project, label_studio.client)
    by, other = ("a1", "a2") if bench.left(AUTHORING, "a1") else ("a2", "a1")
    author = await Person.log_in(browser, label_studio, by)

    # Her queue begins with her code; its card and its table say what is to be done, and nothing of how it is kept.
    await author.page.goto(f"{author.url}/projects")
    card = author.page.locator("[class*=project-card__description]")
    await author.page.get_by_text("Open it and press").wait_for()
    assert [text.partition(";")[0] for text in await card.all_inner_texts()] == [
        "Write five wrong responses, each wrong in its own way. Open it and press Label All Tasks"
    ]
    await author.page.get_by_text(f"{by} · ").click()
    await author.page.get_by_role("button", name="Label All Tasks").wait_for()
    await author.page.get_by_text(tortoise()["hard_utterance"]).wait_for()
    assert not re.search("ext_id|view_hash|draft_|shown_|Inner ID|Annotated by|Upload filename", await author.read())
    await author.page.get_by_role("button", name="Label All Tasks").click()
    await author.drawn()
    assert "It is the most tempting of the five" in await author.page.inner_text(".guideline")
    await close_guideline(author.page)
    await author.page.get_by_role("button", name="Instructions").click()
    await author.page.wait_for_selector(".guideline")
    await close_guideline(author.page)
    page = await author.read()
    assert "A tortoise is quiet company, and it may outlive all of us." in page
    assert "00:00" not in page
    given = await author.texts()
    assert given["KGIR"] == "A hamster lives for two or three years and is awake at night."
    assert given["KGUG"] == "", "the builder has no fact for it"
    assert page.count(SUGGESTED) == sum(map(bool, given.values()))

    # What is half written outlives a push, and a page that is opened anew.
    async with author.page.expect_response(lambda answer: "/drafts" in answer.url and answer.ok):
        await author.write("KGUG", "The oldest tortoise")
    push(project, label_studio.client)
    await author.open(bench.queue(AUTHORING, by))
    given["KGUG"] = "The oldest tortoise"
    assert await author.texts() == given

    # Boxes that are required stop the submit, and stay boxes.
    await author.choose("yes")
    await author.page.get_by_test_id("bottombar-submit-button").click()
    warning = author.page.get_by_role("dialog")
    assert "Not written yet: 3. RECF" in await warning.inner_text()
    await warning.get_by_role("button", name="OK").click()
    assert await author.texts() == given
    wrong = TEXTS | {"IECF": "A parrot learns to talk."}
    for name, text in wrong.items():
        await author.write(name, text)
    # A box that is emptied is not written.
    await author.write("COEX", "")
    await author.page.get_by_test_id("bottombar-submit-button").click()
    assert "Not written yet: 5. COEX" in await warning.inner_text()
    await warning.get_by_role("button", name="OK").click()
    await author.write("COEX", wrong["COEX"])
    await author.write("why_unchanged", "It is the knowledge's other half.")
    push(project, label_studio.client)
    await author.submit()
    await author.page.get_by_text("No More Tasks").wait_for()

    # Her list is empty, and does not ask her to import anything; what she did can be opened again.
    await author.page.goto(f"{author.url}/projects/{bench.queue(AUTHORING, by)}/data")
    await author.page.get_by_text("No tasks found").wait_for()
    assert "Import data" not in await author.read()
    await author.page.get_by_text("Done", exact=True).click()
    await author.page.get_by_text(tortoise()["hard_utterance"]).wait_for()

    # A check sends it back, before anybody reviews it.
    assert bench.collect() == []
    assert bench.left(f"{AUTHORING}-review", other) == []
    await author.open(bench.queue(f"{AUTHORING}-revision", by))
    assert "names nothing that the knowledge names and the response does not" in await author.read()
    assert await author.texts() == wrong | {"KGIR": given["KGIR"]}
    await author.write("IECF", TEXTS["IECF"])
    await author.choose("yes")
    await author.submit()

    # Somebody else reviews it, and rejects a part with a comment.
    assert bench.collect() == []
    assert bench.left(f"{AUTHORING}-review", by) == []
    reviewer = await Person.log_in(browser, label_studio, other)
    await reviewer.open(bench.queue(f"{AUTHORING}-review", other))
    page = await reviewer.read()
    assert all(text in page for text in TEXTS.values())
    for place in range(5):
        await reviewer.choose("reject" if place == 1 else "accept", place)
    await reviewer.write("review_comment", "Too near to an answer: it tells how old one gets.")
    await reviewer.submit()

    # It is back with its author, the comment above it and all texts in their boxes.
    assert bench.collect() == []
    assert bench.left(f"{AUTHORING}-revision", other) == []
    await author.open(bench.queue(f"{AUTHORING}-revision", by))
    assert "Too near to an answer: it tells how old one gets." in await author.read()
    assert await author.texts() == TEXTS | {"KGIR": given["KGIR"]}
    await author.write("KGUG", BETTER)
    await author.choose("yes")
    await author.submit()
    assert bench.collect() == []
    await reviewer.open(bench.queue(f"{AUTHORING}-review", other))
    await reviewer.page.keyboard.press("0")
    await reviewer.submit()

    # A verdict, and two items of it.
    assert bench.collect() == []
    (verdict,) = read_verdicts(project.out / "verdicts" / "charpeval-distractors.jsonl").values()
    assert verdict.changes == TEXTS | {"KGIR": given["KGIR"], "KGUG": BETTER}
    assert (verdict.decision, verdict.by, verdict.reviewed_by) == ("fix", by, other)
    assert bench.left(AUTHORING, by) + bench.left(f"{AUTHORING}-revision", by) == []
    project = await bench.build()
    items = bench.rows("items")
    assert [one.subset for one in items] == ["hCHARP", "eCHARP"]
    assert {one.distractors["KGUG"] for one in items} == {BETTER}
    context = VerifyContext(CharpEvalSettings(), project.embedder, bench.rows)
    assert list(FAMILY.part("items").verify(items, context)) == []


@pytest.mark.slow
async def test_a_new_author_tells_right_from_wrong_before_writing(label_studio: Served, browser: Any) -> None:
    bench = Bench(label_studio, tortoise())
    project = await bench.build()
    told = push(project, label_studio.client)
    assert any("with the pull and push after the practice set" in line for line in told.shortages)
    by = next(code for code in PEOPLE if any(f"{AUTHORING}: {code} gets 1 task" in line for line in told.shortages))
    practice = f"{AUTHORING}-judging-practice"
    assert AUTHORING not in {name.split("/")[1].partition("@")[0] for name in projects_of(label_studio.client, "test")}
    known = {one.shown["response"]: one for one in examples_of(judging_of(AUTHORING_RUBRIC), FAMILY.folder)}
    author = await Person.log_in(browser, label_studio, by)
    for _ in known:
        await author.open(bench.queue(practice, by))
        page = await author.read()
        (task,) = [one for response, one in known.items() if str(response) in page]
        mistaken = "Mars" in str(task.shown["response"])
        for place, ask in enumerate(judging_of(AUTHORING_RUBRIC).asks):
            await author.choose("right" if mistaken else task.right_answers[ask.name], place)
        await author.submit()
    # What was answered wrongly is there again, with what is right and why.
    assert bench.collect() == []
    assert bench.left(AUTHORING, by) == []
    await author.open(bench.queue(practice, by))
    page = await author.read()
    assert "Your answer was “right”. The correct answer is “wrong”." in page
    assert "It would have to name Venus" in page
    (task,) = [one for response, one in known.items() if "Mars" in str(response)]
    for place, ask in enumerate(judging_of(AUTHORING_RUBRIC).asks):
        await author.choose(task.right_answers[ask.name], place)
    await author.submit()
    assert bench.collect() == []
    assert len(bench.left(AUTHORING, by)) == 1


@pytest.mark.slow
async def test_foreign_text_is_text_and_what_is_skipped_comes_back(label_studio: Served, browser: Any) -> None:
    dialogue = tortoise()
    long = " ".join(f"The keeper fed number {place} at noon." for place in range(WORDS // 7))
    dialogue["history"] = [f"<b>My son</b> wants a pet. {SCRIPT}", *dialogue["history"][1:]]
    dialogue["knowledge"] += f" {SCRIPT} 乌龟很安静。 {long}"
    bench = Bench(label_studio, dialogue)
    push(await bench.build(practice=False), label_studio.client)
    by = "a1" if bench.left(AUTHORING, "a1") else "a2"
    author = await Person.log_in(browser, label_studio, by)
    async with quiet(author):
        await author.open(bench.queue(AUTHORING, by))
        page = await author.read()
        assert page.count(SCRIPT) == 2
        assert all(text in page for text in ("<b>My son</b>", "乌龟很安静。", f"fed number {WORDS // 7 - 1} at noon"))
        response = author.page.get_by_text(dialogue["response"])
        assert await response.last.is_visible(), "what is long gives way"

    # Whoever is stuck asks and goes on; the task comes back.
    await author.write("question-to-engineer", "Is 乌龟 <b>a tortoise</b>?")
    async with author.page.expect_response(lambda answer: "/annotations" in answer.url and answer.status == 201):
        await author.page.get_by_role("button", name="Skip").click()
    (collected,) = [one for one in pull(bench.project, label_studio.client) if one.rubric == AUTHORING]
    assert [one.question for one in collected.questions] == ["Is 乌龟 <b>a tortoise</b>?"]
    assert [one.reason for one in collected.settlement.excluded] == ["cancelled"]
    await author.open(bench.queue(AUTHORING, by))
    await author.choose("reject this dialogue")
    await author.write("note", SCRIPT)
    async with quiet(author):
        await author.submit()
    pull(bench.project, label_studio.client)
    (verdict,) = read_verdicts(bench.project.out / "verdicts" / "charpeval-distractors.jsonl").values()
    assert (verdict.decision, verdict.comment, verdict.by) == ("reject", SCRIPT, by)
