"""What people see: `make forms` puts screenshots on a laptop's page into a folder.

Of every rubric each form, for work, practice, revision, review and corrections, its guideline, and the form with all
boxes open; a task that changed after it was done; the projects, a queue's table of tasks, and the page of an empty
queue.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from annotation.earlier import asked_again
from annotation.label_studio.accounts import Owner, read_owner
from annotation.label_studio.config import FOR_ALL, QUESTION, guideline_page, hotkeys, label_config
from annotation.label_studio.sync import KEY, VIEW, Queue, QueuedTask, push_queue
from annotation.label_studio.task_data import changes_between, data_fields, own_texts, task_data
from annotation.practice import practice_for, practice_of, practice_rubric
from annotation.review import corrected_of, corrected_task, review_of, review_task, revision_of, revision_task
from flows.annotate.guidelines import HERE
from flows.annotate.queues import LONGEST_TITLE, queue_name
from schemas.annotation import Annotation, Finding
from schemas.rubric import Change, Choice, Marked, Rubric, Shown, Task, Turn, Written
from tests.label_studio import Served, copy_seed, make_seed, served
from tests.rubrics import rubrics

PAGE = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 844}
FLAGS = ("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
         "disable-component-update", "disable-sync")  # fmt: skip

DIALOGUE = (
    Turn(speaker="User", text="My neighbour talks of nothing but The Beatles. Do you know them?"),
    Turn(
        speaker="Bot",
        text="I do! The Beatles were an English rock band formed in Liverpool in 1960, and the best-selling music act "
        "of all time, with more than 600 million units sold.",
    ),
    Turn(speaker="User", text="And who was in it?"),
    Turn(speaker="Bot", text="John Lennon, Paul McCartney, George Harrison and Ringo Starr, from 1962 on."),
    Turn(speaker="User", text="Which of them sat behind the others, then?"),
)
AUTHORING = Rubric(
    name="form-authoring",
    title="Write five wrong responses, each wrong in its own way",
    version=1,
    guideline="guideline.md",
    shows=(
        Shown(name="dialogue", title="Conversation", kind="dialogue"),
        Shown(name="last_utterance", title="The User's last utterance"),
        Shown(name="knowledge", title="What the Bot knows"),
        Shown(name="response", title="The right response"),
    ),
    asks=(
        Choice(
            name="decision",
            question="Can the conversation be used?",
            options=("yes", "reject this dialogue"),
            fixes=("yes",),
        ),
    ),
    writes=(
        Written(name="KGIR", title="1. KGIR: a fact of the knowledge that does not answer", required=True),
        Written(name="KGUG", title="2. KGUG: a true fact beside the knowledge", required=True, hint="Words of both"),
        Written(name="RECF", title="3. RECF: a commonplace on what the response is about", required=True),
        Written(name="IECF", title="4. IECF: a commonplace on what only the knowledge names", required=True),
        Written(name="COEX", title="5. COEX: an idiom, proverb or stock phrase that fits", required=True),
        Written(name="note", title="Note", hint="Anything the reviewer should know", note=True),
    ),
)
AUTHORING_TASK = Task(
    key="authoring",
    rubric=AUTHORING.name,
    version=AUTHORING.version,
    item_id="item",
    item_key="item",
    item_view="view",
    shown={
        "dialogue": DIALOGUE,
        "last_utterance": "Which of them sat behind the others, then?",
        "knowledge": "Ringo Starr joined The Beatles in 1962 as their drummer, in place of Pete Best. George Harrison "
        "played lead guitar, and wrote Something.",
        "response": "That was Ringo Starr, the drummer, who joined The Beatles in 1962.",
    },
    drafts={"KGIR": "George Harrison played lead guitar.", "COEX": "Time flies when you are having fun!"},
    suggested=("KGIR", "COEX"),
)
WRITTEN = {
    "decision": "yes",
    "KGIR": "George Harrison played lead guitar, and wrote Something.",
    "KGUG": "Ringo Starr was born in Liverpool in 1940.",
    "RECF": "Ringo Starr is an English musician.",
    "IECF": "George Harrison was an English musician and singer.",
    "COEX": "Every beginning is hard, as they say.",
    "note": "KGUG was difficult.",
}
WORDS = 10_000
HOSTILE = Rubric(
    name="form-hostile",
    title='<script>alert(1)</script> & "quotes" $shown_text',
    version=1,
    guideline="guideline.md",
    shows=(
        Shown(name="dialogue", title="Dialogue <b>bold</b> $shown_text", kind="dialogue"),
        Shown(name="text", title="Ten thousand words & a <script>"),
        Shown(name="empty", title="Nothing"),
    ),
    asks=(
        Choice(name="decision", question='Is 1 < 2 & "2" > 1? Costs $5', options=("<yes>", "no & no", "$shown_text")),
    ),
    writes=(Written(name="text", title="<i>Write</i> $shown_text", hint='"><script>alert(2)</script>'),),
    marks=(Marked(name="marked", title="<u>mark</u>", of="text"),),
)
HOSTILE_TASK = Task(
    key="hostile",
    rubric=HOSTILE.name,
    version=HOSTILE.version,
    item_id="item",
    item_key="item",
    item_view="view",
    shown={
        "dialogue": (
            Turn(speaker="<b>User</b>", text="<script>document.title = 'owned'</script><img src=x onerror=alert(3)>"),
            Turn(speaker="机器人", text="大桥于一九三一年春天开通。" * 40),
            Turn(speaker="User", text="$shown_text {{shown}} &amp; &lt; \u202eturned \x1b"),
        ),
        "text": "<script>document.title = 'owned'</script> <h1>Big</h1> " + "word 词语 " * (WORDS // 2),
        "empty": "",
    },
    drafts={"text": "</textarea><script>document.title = 'owned'</script> 草稿 \u202eturned"},
)


class Form(NamedTuple):
    """A form with a task in it."""

    rubric: Rubric
    guideline: str
    task: Task


def forms() -> Iterator[Form]:
    """A form of every rubric there is, of authoring and its review, and one of hostile content."""
    for shipped in rubrics().values():
        for task in shipped.examples[:1]:
            yield Form(shipped.rubric, shipped.guideline, task)
    review = review_of(AUTHORING)
    work = Annotation(task=AUTHORING_TASK.id, key=AUTHORING_TASK.key, by="a1", answers=WRITTEN)
    warned = [Finding(name="RECF", problem="shares its first words with the response", rejects=False)]
    yield Form(AUTHORING, "# Authoring", AUTHORING_TASK)
    yield Form(
        review, (HERE / "guideline.review.md").read_text(), review_task(AUTHORING, review, AUTHORING_TASK, work, warned)
    )
    yield Form(HOSTILE, "# A <script>alert(4)</script>", HOSTILE_TASK)


def forms_after() -> Iterator[Form]:
    """The forms that a rubric's people meet beside its own: practice, what comes back, and the reviews of authors."""
    shipped = rubrics()
    for rubric, guideline, examples in shipped.values():
        if not examples:
            continue
        task = next((one for one in examples if one.drafts), examples[0])
        written = {one.name: one.hint or "What was written here." for one in rubric.writes} | dict(task.drafts)
        marks = {one.name: ("spring", "1931") for one in rubric.marks}
        wrong = {
            ask.name: next(one for one in ask.options if one != task.right_answers[ask.name]) for ask in rubric.asks
        }
        work = Annotation(task=task.id, key=task.key, by="a1", answers={**written, **task.right_answers}, marks=marks)
        comment = "Rejected: the first part\nIt is too near to an answer: mend it, or write another."
        yield Form(revision_of(rubric), guideline, revision_task(rubric, task, work, comment))
        review = shipped.get(review_of(rubric).name) if rubric.writes or rubric.marks else None
        if review is not None:
            warned = [
                Finding(name=rubric.writes[0].name, problem="shares its first words with the response", rejects=False)
            ]
            asked = review_task(rubric, review.rubric, task, work, warned)
            yield Form(review.rubric, f"{review.guideline}\n\n{guideline}", asked)
            changes = tuple(
                Change(title=part.title, before="It took centurys to build.", after="It took centuries to build.")
                for part in rubric.parts[:2]
            )
            told = corrected_task(rubric, task, "a1", "Mind the spelling.", changes)
            yield Form(corrected_of(rubric), guideline, told)
        else:
            (practice,) = practice_of([task], rubric, seed=1)
            failed = work.model_copy(
                update={"task": practice.id, "key": practice.key, "rubric": practice_rubric(rubric).name,
                        "answers": {**written, **wrong}}
            )  # fmt: skip
            yield Form(practice_rubric(rubric), guideline, *practice_for("a1", [practice], [failed], rubric))


def changed(form: Form, word: str, other: str, answers: Mapping[str, str]) -> Form:
    """The form with a task in which a word changed after a person had given these answers."""
    rubric, guideline, task = form

    def replaced(value: str | tuple[Turn, ...]) -> str | tuple[Turn, ...]:
        if isinstance(value, str):
            return value.replace(word, other)
        return tuple(turn.model_copy(update={"text": turn.text.replace(word, other)}) for turn in value)

    now = task.revised(shown={name: replaced(value) for name, value in task.shown.items()})
    work = Annotation(task=task.id, key=task.key, by="a1", answers=answers)
    before = task_data(rubric, task)
    changes = changes_between(rubric, before, task_data(rubric, now))
    texts = own_texts(rubric, work, before)
    return Form(rubric, guideline, asked_again(now, rubric, work, texts, changes, own=True))


FORMS = {form.rubric.name: form for form in (*forms(), *forms_after())}


def result(rubric: Rubric, answers: Mapping[str, str], spans: Mapping[str, list[tuple[int, int]]] | None = None) -> Any:
    """What Label Studio exports of these answers."""
    choices = {one.name for one in rubric.asks} | {FOR_ALL}
    rows: list[dict[str, Any]] = [
        {"from_name": name, "to_name": "shown-x", "type": "choices", "value": {"choices": [text]}, "origin": "manual"}
        if name in choices
        else {"from_name": name, "to_name": "shown-x", "type": "textarea", "value": {"text": [text]}}
        for name, text in answers.items()
    ]
    for name, stretches in (spans or {}).items():
        rows += [
            {"from_name": name, "type": "labels", "value": {"start": start, "end": end, "labels": [name]}}
            for start, end in stretches
        ]
    return {"id": 1, "result": rows}


def make(server: Served, form: Form) -> int:
    """A project of the form with its task; returns its number."""
    task = QueuedTask(form.task.key, form.task.id, task_data(form.rubric, form.task))
    return push_queue(server.client, queue_of(form, "a1", [task]), None).project


def queue_of(form: Form, by: str, tasks: Sequence[QueuedTask]) -> Queue:
    """A person's queue of the form."""
    rubric = form.rubric
    title = f"{by} · {rubric.title}"
    return Queue(
        name=queue_name("forms", rubric, by),
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        config=label_config(rubric),
        instruction=guideline_page(rubric, form.guideline),
        tasks=tasks,
        about=rubric.title,
        fields=data_fields(rubric),
        language=rubric.language,
    )


async def log_in(page: Any, server: Served) -> None:
    """Log in as the owner."""
    owner = read_owner(server.folder)
    assert isinstance(owner, Owner)
    await page.goto(f"{server.url}/user/login/")
    await page.fill("input[name=email]", owner.email)
    await page.fill("input[name=password]", owner.password)
    await page.click("button[type=submit]")
    await page.wait_for_url(f"{server.url}/")


async def open_form(page: Any, server: Served, project: int) -> None:
    """Open the next task of a project, its guideline over it."""
    await page.goto(f"{server.url}/projects/{project}/data?labeling=1")
    await page.wait_for_selector(f"textarea[name={QUESTION}]", timeout=60_000)
    await page.wait_for_selector(".guideline", timeout=60_000)
    await page.wait_for_timeout(500)  # the dialog comes in slowly


async def close_guideline(page: Any) -> None:
    """Close the guideline that lies over the form."""
    await page.keyboard.press("Escape")
    await page.wait_for_selector(".guideline", state="hidden")
    await page.wait_for_timeout(300)


async def open_boxes(page: Any, rubric: Rubric) -> None:
    """Choose, by its key, what opens a box, in every question that has such an option."""
    keys = hotkeys(rubric)
    for ask in rubric.asks:
        if ask.fixes and (ask.name, ask.fixes[0]) in keys:
            await page.keyboard.press(keys[ask.name, ask.fixes[0]])
    await page.wait_for_timeout(300)


async def photograph_tables(page: Any, server: Served, folder: Path) -> None:
    """The tabs of a queue with tasks, one of which is done; a task opened out of it; an empty queue."""
    form = next(one for one in forms() if one.rubric.name == "charpeval-authoring")
    data = task_data(form.rubric, form.task)
    for by, number in (("a2", 5), ("a3", 0)):
        keys = [f"{place}" for place in range(number)]
        tasks = [QueuedTask(key, key, {**data, KEY: key, VIEW: key}) for key in keys]
        done = push_queue(server.client, queue_of(form, by, tasks), None)
        if number:
            server.client.annotate(server.client.list_tasks(done.project)[0]["id"], [])
        await page.goto(done.url)
        for tab in ("Done", "To do"):
            await page.get_by_text(tab, exact=True).click()
            await page.wait_for_timeout(1500)
            await page.screenshot(path=folder / f"tasks.{number}.{tab}.png")
        if number:
            await page.locator("[class*=row-wrapper]").first.click()
            await page.wait_for_selector(f"textarea[name={QUESTION}]")
            await page.wait_for_timeout(1500)
            await page.screenshot(path=folder / "tasks.opened.png")


async def photograph(server: Served, folder: Path) -> None:
    """A screenshot of each form and of each guideline, of the projects and their tables."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=[f"--{flag}" for flag in FLAGS]
        )
        page = await chromium.new_page(viewport=PAGE)
        await log_in(page, server)
        first = list(forms())
        for form in (*first, *forms_after()):
            await open_form(page, server, make(server, form))
            if form in first:  # the guideline of what comes after is the same
                await page.screenshot(path=folder / f"{form.rubric.name}.guideline.png")
            await close_guideline(page)
            await page.screenshot(path=folder / f"{form.rubric.name}.png")
            if any(ask.fixes for ask in form.rubric.asks):
                await open_boxes(page, form.rubric)
                await page.screenshot(path=folder / f"{form.rubric.name}.open.png")
        await open_form(page, server, make(server, changed(FORMS[AUTHORING.name], "drummer", "percussionist", WRITTEN)))
        await close_guideline(page)
        await page.screenshot(path=folder / "changed.png")
        await photograph_tables(page, server, folder)
        await page.goto(f"{server.url}/projects")
        await page.wait_for_timeout(2000)
        await page.screenshot(path=folder / "projects.png")
        await chromium.close()


def main(folder: Path, cache: Path) -> None:
    """Photograph every form on a server of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, served(copy_seed(make_seed(cache), Path(place) / "state")) as server:
        asyncio.run(photograph(server, folder))
    sys.stdout.write(f"{len(list(folder.glob('*.png')))} screenshots in {folder}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
