"""What a person finds of the work that they did on an earlier version of a task."""

from typing import Any

from annotation.earlier import ANSWERED, CHANGED, CHANGED_FOR_ALL, TEXTS_BACK, EarlierWork, asked_again
from annotation.label_studio.task_data import RETURNED, SUGGESTED, changes_between, own_texts, task_data
from annotation.review import derived_key
from schemas.annotation import Annotation
from schemas.rubric import Change, Choice, Marked, Rubric, Shown, Task, Turn
from tests.test_annotation_review import AUTHORING, REVIEW, REVISION, authored, done, reviewed, settled, task

OLD, NEW = task(), task(shown={"text": "Ann is one."}, drafts={"text": "Ann is one."})


def on(*work: Annotation, now: Task = NEW, by: str | None = "a") -> Annotation | None:
    return EarlierWork(work, AUTHORING, REVIEW).on(now, by)


def test_work_on_another_version_is_found_until_the_task_is_done_anew() -> None:
    assert (OLD.key, OLD.id == NEW.key) == (NEW.key, False)
    first = authored(OLD)
    assert on(first) == first
    assert on(first, by="b") is None
    assert on(first, by=None) == first
    assert on(authored(NEW)) is None
    assert on() is None
    assert on(first.model_copy(update={"cancelled": True})) is None
    assert on(first.model_copy(update={"version": 2})) is None, "another form asked something else"
    # What was done anew stays beside what it was done anew from, so that nothing changes under the person.
    again = authored(NEW, hour=11)
    assert on(again, first) == first
    assert on(again, first, authored(OLD, lie="late", hour=12)) == first
    # Back to the old version: the old work counts, and there is nothing earlier.
    assert on(again, first, now=OLD) is None


def test_its_texts_are_those_after_all_reviews_and_revisions() -> None:
    first = authored(OLD)
    asked = settled(first, tasks=(OLD,)).reviews[0].task
    rejected = reviewed(asked, lie="reject", text="fix", texts={"text": "Ann is just 1.", "lie": "Not this."})
    work = on(rejected, first)
    assert work is not None
    assert (work.answers["text"], work.answers["lie"]) == ("Ann is just 1.", "Bo is 1.")
    (revision,) = settled(first, rejected, tasks=(OLD,)).revisions
    second = authored(revision.task, lie="Bo is 2.", text="Ann is just 1.", hour=11)
    asked = settled(first, rejected, second, tasks=(OLD,)).reviews[1].task
    fixed = reviewed(asked, lie="fix", texts={"lie": "Bo is two."}, hour=12)
    work = on(fixed, second, rejected, first)
    assert work is not None
    assert (work.answers["lie"], work.task, work.by) == ("Bo is two.", OLD.id, "a")
    # What was revised before the last work on an earlier version is older than it.
    late = authored(OLD, lie="Bo is 9.", hour=13)
    work = on(late, fixed, second, rejected, first)
    assert work is not None
    assert work.answers["lie"] == "Bo is 9."
    assert derived_key(REVISION, OLD.key, "a") == revision.task.key


def test_texts_that_a_person_left_as_they_were_are_not_theirs() -> None:
    given = task(drafts={"text": "Ann is 1.", "lie": "A program's."}, suggested=("lie",))
    before = task_data(AUTHORING, given)
    assert before["note_lie"] == SUGGESTED
    mine = authored(given, text="Ann is 1.\r\n", lie="Mine.")
    assert own_texts(AUTHORING, mine, before) == {"lie": "Mine.", "note": "Easy."}
    left = authored(given, text="Ann is 7.", lie="A program's.").model_copy(update={"untouched": ("lie",)})
    assert own_texts(AUTHORING, left, before) == {"text": "Ann is 7."}, "the note may be about what was left"
    # Texts that came back stay the person's when they are submitted as they are.
    back = asked_again(NEW, AUTHORING, mine, {"lie": "Mine."}, (), own=True)
    data = task_data(AUTHORING, back)
    assert (data["draft_lie"], data["note_lie"], data["draft_text"]) == ("Mine.", RETURNED, "Ann is one.")
    assert own_texts(AUTHORING, authored(NEW, lie="Mine.", text="Ann is one."), data) == {
        "lie": "Mine.", "note": "Easy.",
    }  # fmt: skip
    # Somebody deleted the earlier task by hand: only what cannot be the record's own is taken for the person's.
    assert own_texts(AUTHORING, mine, {}) == {"lie": "Mine.", "note": "Easy."}


def test_what_changed_and_what_was_answered_is_told_and_the_rest_stays() -> None:
    given = NEW.model_copy(
        update={"drafts": {"text": "Ann is one.", "lie": "Bo was here."}, "suggested": ("lie",),
                "left_out": {"note": "nothing to say"}}
    )  # fmt: skip
    work = authored(OLD, lie="Mine.")
    changes = changes_between(AUTHORING, task_data(AUTHORING, OLD), task_data(AUTHORING, given))
    assert changes == (Change(title="Text", before="Ann is 1.", after="Ann is one."),)
    told = asked_again(given, AUTHORING, work, {"lie": "Mine.", "note": "Easy."}, changes, own=True)
    assert (told.id, told.key) == (given.id, given.key), "people's work on it counts as before"
    assert told.news.splitlines() == [CHANGED, TEXTS_BACK, f"{ANSWERED} Is it usable? yes"]
    assert (told.suggested, told.left_out) == ((), {})
    data = task_data(AUTHORING, told)
    assert "<p><b>Text:</b> Ann is <del>1</del><ins>one</ins>.</p>" in data["news"]
    assert task_data(AUTHORING, given)["news"] == ""
    others = asked_again(given, AUTHORING, work, {}, changes, own=False)
    assert others.news == CHANGED_FOR_ALL, "what somebody chose is not told to others"
    hostile = told.model_copy(update={"news": "<script>alert(1)</script> & $shown_text"})
    assert "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; $shown_text</p>" in task_data(AUTHORING, hostile)["news"]


def test_of_a_dialogue_the_turns_that_changed_are_told_and_marks_are_told() -> None:
    rubric = Rubric(
        name="toy-dialogue", version=1, guideline="g.md",
        shows=(Shown(name="talk", title="Talk", kind="dialogue"), Shown(name="answer")),
        asks=(Choice(name="good", question="Good?", options=("yes", "no")),),
        marks=(Marked(name="names", title="Names", of="answer"),),
    )  # fmt: skip

    def of(word: str) -> Task:
        talk: Any = (Turn(speaker="A", text="Hello."), Turn(speaker="B", text=f"It is {word}."))
        return task(rubric=rubric, shown={"talk": talk, "answer": "Ann and Bo"}, drafts={})

    old, new = of("spring"), of("autumn")
    work = done(old, "a", {"good": "yes"}, marks={"names": ("Ann", "Bo")})
    changes = changes_between(rubric, task_data(rubric, old), task_data(rubric, new))
    assert changes == (Change(title="Talk", before="A: Hello.\nB: It is spring.", after="A: Hello.\nB: It is autumn."),)
    told = asked_again(new, rubric, work, {}, changes, own=True)
    assert told.news.splitlines() == [CHANGED, f"{ANSWERED} Good? yes · Names: Ann, Bo"]
    assert changes_between(rubric, {}, task_data(rubric, new)) == ()
