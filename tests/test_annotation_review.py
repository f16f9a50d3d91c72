"""From what people handed in to verdicts: review, the way back to the author, majorities, and who decides."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.assign import seat
from annotation.quality import WHY_UNCHANGED
from annotation.reliability import Reliabilities
from annotation.review import ALSO_CORRECTED, corrected_of, review_of, revision_of
from annotation.settle import Settlement, settle
from schemas.annotation import Annotation, Finding
from schemas.rubric import Change, Choice, Marked, Rubric, Shown, Task, Written
from schemas.verdict import Decision

SURE: Mapping[Decision, float] = {"accept": 0.99, "reject": 0.01}
AUTHORING = Rubric(
    name="toy-authoring", title="Write a lie", version=3, guideline="g.md", overlaps=True,
    shows=(Shown(name="text", title="Text"),),
    asks=(Choice(name="usable", question="Is it usable?", options=("yes", "no"), accepts=("yes",)),),
    writes=(
        Written(name="text", title="Text", corrects=True, lines=4), Written(name="lie", title="A lie"),
        Written(name="note", title="Note", note=True), WHY_UNCHANGED,
    ),
)  # fmt: skip
REVIEW, REVISION = review_of(AUTHORING), revision_of(AUTHORING)
JUDGED = Rubric(
    name="toy-judged", version=1, guideline="g.md", shows=(Shown(name="text"),),
    asks=(
        Choice(name="decision", question="?", options=("keep", "edit", "reject"), accepts=("keep",), fixes=("edit",)),
    ),
    writes=(Written(name="text", title="Text", corrects=True), Written(name="note", title="Note", note=True)),
)  # fmt: skip


def task(number: int = 1, rubric: Rubric = AUTHORING, **more: object) -> Task:
    values = {
        "key": f"k{number}", "rubric": rubric.name, "version": rubric.version, "item_id": f"i{number}",
        "item_key": f"r{number}", "item_view": f"v{number}", "shown": {"text": f"Ann is {number}."},
        "drafts": {"text": f"Ann is {number}."},
    }  # fmt: skip
    return Task.model_validate(values | more)


def done(on: Task, by: str, answers: dict[str, str], hour: int = 9, **more: object) -> Annotation:
    values = {
        "task": on.id, "key": on.key, "rubric": on.rubric, "version": on.version, "by": by, "answers": answers,
        "at": f"2026-11-02T{hour:02}:00:00Z", "source": f"{on.key}-{by}-{hour}",
    }  # fmt: skip
    return Annotation.model_validate(values | more)


def authored(on: Task, by: str = "a", lie: str = "Bo is 1.", text: str = "Ann is 1.", hour: int = 9) -> Annotation:
    return done(on, by, {"usable": "yes", "text": text, "lie": lie, "note": "Easy."}, hour)


def reviewed(
    on: Task, by: str = "r", lie: str = "accept", text: str = "accept", hour: int = 10,
    texts: Mapping[str, str] | None = None, **more: str,
) -> Annotation:  # fmt: skip
    return done(on, by, {"lie_decision": lie, "text_decision": text, **on.drafts, **(texts or {}), **more}, hour)


def settled(*given_in: Annotation, tasks: tuple[Task, ...] = (task(),), **more: object) -> Settlement:
    return settle(tasks, given_in, AUTHORING, review=REVIEW, **more)  # type: ignore[arg-type]


def state(settlement: Settlement) -> tuple[str, str]:
    (one,) = settlement.outcomes
    return one.state, one.reason


def test_a_review_shows_all_that_the_author_saw_and_did_and_asks_of_each_part() -> None:
    assert (REVIEW.name, REVIEW.version, REVIEW.people_per_item) == ("toy-authoring-review", 3, 1)
    assert [one.name for one in REVIEW.shows] == ["text", "chosen", "author_text", "author_lie", "warnings"]
    assert [(one.name, one.options) for one in REVIEW.asks] == [
        ("text_decision", ("accept", "fix", "reject")), ("lie_decision", ("accept", "fix", "reject")),
    ]  # fmt: skip
    assert [(one.name, one.lines) for one in REVIEW.writes] == [("text", 4), ("lie", 2), ("review_comment", 3)]
    assert review_of(AUTHORING, "guideline.review.md").guideline == "guideline.review.md"
    found = [Finding(name="lie", problem="too like the text", rejects=False)]
    (review,) = settled(authored(task()), check=lambda on, work: found).reviews
    assert review.author == "a"
    assert review.task.shown == {
        "text": "Ann is 1.", "chosen": "Is it usable? yes\nNote: Easy.", "author_text": "Ann is 1.",
        "author_lie": "Bo is 1.", "warnings": "A lie: too like the text",
    }  # fmt: skip
    assert review.task.drafts == {"text": "Ann is 1.", "lie": "Bo is 1."}
    assert set(review.task.shown) == {one.name for one in REVIEW.shows}


def test_names_stay_short_and_apart() -> None:
    long = [review_of(AUTHORING.model_copy(update={"name": "a" * 39 + end})).name for end in "xy"]
    assert len(set(long)) == 2
    assert max(map(len, long)) == 40
    assert all(name.endswith("-review") for name in long)
    assert revision_of(AUTHORING).name == "toy-authoring-revision"


def test_a_rubric_without_writing_has_no_review() -> None:
    only = AUTHORING.model_copy(update={"writes": ()})
    with pytest.raises(ValueError, match="toy-authoring: people neither write nor mark anything"):
        review_of(only)


def test_the_way_from_author_to_reviewer_and_back_to_a_verdict() -> None:
    first = authored(task())
    waiting = settled(first)
    assert state(waiting) == ("waiting", "to be reviewed")
    assert waiting.verdicts == ()

    rejection = reviewed(waiting.reviews[0].task, lie="reject", review_comment="Bo is not there.")
    back = settled(first, rejection)
    assert state(back) == ("back", "rejected by its reviewer")
    (revision,) = back.revisions
    assert (revision.author, revision.task.rubric, revision.task.version) == ("a", REVISION.name, 3)
    assert revision.task.shown == {"review_comment": "Rejected: A lie\nBo is not there.", "text": "Ann is 1."}
    assert revision.task.drafts == {"text": "Ann is 1.", "lie": "Bo is 1.", "note": "Easy."}
    assert back.sent_back == (("k1", "a"),)

    second = authored(revision.task, lie="Ann is 2.", hour=11)
    again = settled(first, rejection, second)
    assert state(again) == ("waiting", "to be reviewed")
    assert again.reviews[0] == waiting.reviews[0]
    assert again.reviews[1].task.shown["author_lie"] == "Ann is 2."

    fixed = reviewed(again.reviews[1].task, lie="fix", hour=12, texts={"lie": "Ann is 3.", "review_comment": "Nearly."})
    end = settled(first, rejection, second, fixed)
    (verdict,) = end.verdicts
    assert (verdict.key, verdict.view_hash, verdict.rubric) == ("r1", "v1", "toy-authoring")
    assert (verdict.decision, verdict.changes, verdict.comment) == ("accept", {}, "Nearly.")
    assert verdict.texts == {"lie": "Ann is 3.", "note": "Easy."}
    assert (verdict.by, verdict.reviewed_by, verdict.at) == ("a", "r", "2026-11-02T12:00:00Z")
    assert (end.excluded, len(end.counted), end.accepted) == ((), 4, ((revision.task.key, "a"),))
    assert settled(fixed, second, rejection, first) == end


def test_what_a_reviewer_fixed_beside_a_rejected_part_goes_back_as_fixed() -> None:
    first = authored(task())
    asked = settled(first).reviews[0].task
    back = settled(first, reviewed(asked, lie="reject", text="fix", texts={"text": "Ann is one."}))
    (revision,) = back.revisions
    assert revision.task.drafts["text"] == "Ann is one."
    assert revision.task.drafts["lie"] == "Bo is 1."
    assert (revision.task.news, revision.task.changes) == (
        ALSO_CORRECTED, (Change(title="Text", before="Ann is 1.", after="Ann is one."),),
    )  # fmt: skip
    assert back.corrections == ()
    assert settled(first, reviewed(asked, lie="reject")).revisions[0].task.news == ""


def test_an_author_is_told_what_was_corrected_once_for_each_correction() -> None:
    first = authored(task())
    asked = settled(first).reviews[0].task
    assert settled(first, reviewed(asked)).corrections == ()
    fixed = reviewed(asked, lie="fix", texts={"lie": "Bo is one."}, review_comment="Write it out.")
    ((told, author),) = settled(first, fixed).corrections
    assert (author, told.rubric) == ("a", corrected_of(AUTHORING).name)
    assert told.changes == (Change(title="A lie", before="Bo is 1.", after="Bo is one."),)
    assert told.shown == {"after_review": "A lie: Bo is one.", "text": "Ann is 1."}
    assert told.news.splitlines()[1:] == ["Comment: Write it out."]
    assert settled(fixed, first).corrections == settled(first, fixed).corrections
    # Another correction is told anew, in place of the first.
    again = reviewed(asked, lie="fix", texts={"lie": "Bo is two."}, hour=12)
    ((other, _),) = settled(first, fixed, again).corrections
    assert (other.key, other.id != told.id) == (told.key, True)


def test_texts_of_the_record_that_somebody_changed_make_a_fix() -> None:
    by_author = authored(task(), text="Ann is one.")
    asked = settled(by_author).reviews[0].task
    assert settled(by_author, reviewed(asked)).verdicts[0].changes == {"text": "Ann is one."}
    by_both = settled(by_author, reviewed(asked, text="fix", texts={"text": "Ann is just one."})).verdicts[0]
    assert (by_both.decision, by_both.changes) == ("fix", {"text": "Ann is just one."})
    # back as it was in the record: nothing is changed
    undone = settled(by_author, reviewed(asked, text="fix", texts={"text": "Ann is 1.\r\n"})).verdicts[0]
    assert (undone.decision, undone.changes) == ("accept", {})
    # a correction is not lost for want of the right button
    assert settled(by_author, reviewed(asked, texts={"lie": "Ann is 9."})).verdicts[0].texts["lie"] == "Ann is 9."


def test_a_review_that_contradicts_itself_or_breaks_a_check_is_apart_and_the_work_waits() -> None:
    def check(on: Task, work: Annotation) -> list[Finding]:
        return [] if work.answers["lie"] else [Finding(name="lie", problem="empty", rejects=True)]

    first = authored(task())
    asked = settled(first).reviews[0].task
    for review, reason, evidence in (
        (reviewed(asked, lie="fix"), "says fix, and nothing is fixed", "lie"),
        (reviewed(asked, lie="fix", texts={"lie": " "}), "the corrected text breaks a check", "lie: empty"),
    ):
        made = settled(first, review, check=check)
        assert state(made) == ("waiting", "to be reviewed")
        assert [(one.reason, one.evidence, one.by) for one in made.excluded] == [(reason, evidence, "r")]


def test_nobody_reviews_their_own_work() -> None:
    first = authored(task())
    asked = settled(first).reviews[0].task
    own = settled(first, reviewed(asked, by="a"))
    assert state(own) == ("waiting", "to be reviewed")
    assert [(one.reason, one.by) for one in own.excluded] == [("reviewer is the author", "a")]
    assert settled(first, reviewed(asked, by="a"), reviewed(asked)).verdicts[0].reviewed_by == "r"


def test_of_two_reviews_the_later_counts_and_of_changed_work_the_review_of_what_it_is_now() -> None:
    first = authored(task())
    asked = settled(first).reviews[0].task
    both = settled(first, reviewed(asked, lie="reject"), reviewed(asked, by="s", hour=11))
    assert both.verdicts[0].reviewed_by == "s"
    assert [(one.reason, one.by) for one in both.excluded] == [("older", "r")]
    later = authored(task(), lie="Ann is 7.", hour=11)
    stale = settled(first, later, reviewed(asked))
    assert stale.reviews[0].task.key == asked.key
    assert state(stale) == ("waiting", "to be reviewed")
    assert sorted(one.reason for one in stale.excluded) == ["earlier view", "older"]


def test_a_check_that_rejects_sends_work_back_without_a_reviewer() -> None:
    found = [Finding(name="lie", problem="equal to the text", rejects=True)]
    back = settled(authored(task()), check=lambda on, work: found if work.rubric == AUTHORING.name else ())
    assert state(back) == ("back", "sent back by a check")
    assert back.reviews == ()
    assert back.revisions[0].task.shown["review_comment"] == "A lie: equal to the text"
    assert back.sent_back == (("k1", "a"),)


def test_a_required_text_that_is_missing_sends_work_back_for_it() -> None:
    needed = tuple(one.model_copy(update={"required": one.name == "lie"}) for one in AUTHORING.writes)
    rubric = AUTHORING.model_copy(update={"writes": needed})
    given = settle([task(rubric=rubric)], [authored(task(rubric=rubric), lie="")], rubric, review=review_of(rubric))
    ((back, author),) = given.revisions
    assert (author, given.reviews) == ("a", ())
    assert str(back.shown["review_comment"]).endswith("is empty")
    assert back.drafts["text"] == "Ann is 1."


def test_a_suggestion_left_as_it_stood_comes_back_once_for_its_author_to_say_why() -> None:
    one = task(drafts={"text": "Ann is 1.", "lie": "Bo is 1."}, suggested=("lie",))
    first = authored(one).model_copy(update={"untouched": ("lie", "text")})
    back = settled(first, tasks=(one,))
    assert back.revisions[0].task.shown["review_comment"] == "A lie: submitted unchanged, and no reason was given"
    again = authored(back.revisions[0].task, hour=10)
    still = settled(first, again, tasks=(one,))
    assert (state(still)[0], len(still.revisions)) == ("back", 2)
    why = again.model_copy(update={"answers": {**again.answers, "why_unchanged": "It is as I would have it."}})
    assert state(settled(first, why, tasks=(one,))) == ("waiting", "to be reviewed")
    # in a revision, what stands in the boxes is the author's own
    other = authored(back.revisions[0].task, lie="Cy is 1.").model_copy(update={"untouched": ("lie",)})
    assert state(settled(first, other, tasks=(one,))) == ("waiting", "to be reviewed")


def test_an_author_who_rejects_the_record_decides_that() -> None:
    made = settled(done(task(), "a", {"usable": "no", "note": "It is a poem."}))
    (verdict,) = made.verdicts
    assert (verdict.decision, verdict.comment, verdict.by, verdict.texts) == ("reject", "It is a poem.", "a", {})
    assert made.reviews == ()


def test_of_two_authors_the_first_in_order_whose_version_was_accepted_gives_the_verdict() -> None:
    first, second = sorted("ab", key=lambda by: seat(0, "k1", by))
    work = {by: authored(task(), by=by, lie=f"By {by}.") for by in "ab"}
    asked = {one.author: one.task for one in settled(*work.values()).reviews}
    assert asked.keys() == {"a", "b"}
    good = {by: reviewed(asked[by]) for by in "ab"}
    both = settled(*work.values(), *good.values())
    assert [(one.by, one.texts["lie"]) for one in both.verdicts] == [(first, f"By {first}.")]
    assert len(both.counted) == 4
    alone = settled(*work.values(), good[second])
    assert [one.by for one in alone.verdicts] == [second]
    passed_over = settled(*work.values(), reviewed(asked[first], lie="reject"), good[second])
    assert [one.by for one in passed_over.verdicts] == [second]
    assert [one.author for one in passed_over.revisions] == [first]


def test_a_revision_is_its_authors_alone() -> None:
    first = authored(task())
    rejection = reviewed(settled(first).reviews[0].task, lie="reject")
    revision = settled(first, rejection).revisions[0].task
    other = settled(first, rejection, authored(revision, by="b", hour=11))
    assert state(other)[0] == "back"
    assert [(one.reason, one.by) for one in other.excluded] == [("another person's revision", "b")]


def decided(decision: str, by: str = "a", text: str = "Ann is 1.", on: Task | None = None) -> Annotation:
    return done(on or task(rubric=JUDGED), by, {"decision": decision, "text": text, "note": by})


def test_without_a_review_the_persons_choice_decides() -> None:
    def verdict(*given_in: Annotation) -> tuple[str, dict[str, str], str]:
        (one,) = settle([task(rubric=JUDGED)], given_in, JUDGED).verdicts
        return one.decision, dict(one.changes), one.comment

    assert verdict(decided("keep")) == ("accept", {}, "a")
    assert verdict(decided("edit", text="Ann is one.")) == ("fix", {"text": "Ann is one."}, "a")
    assert verdict(decided("keep", text="Ann is one.")) == ("fix", {"text": "Ann is one."}, "a")
    assert verdict(decided("reject", text="Ann is one.")) == ("reject", {}, "a")
    first = min("ab", key=lambda by: seat(0, "k1", by))
    assert verdict(decided("keep", "a"), decided("keep", "b"))[2] == first


def test_where_two_people_differ_the_record_waits_however_sure_the_decision_is() -> None:
    def weigh(*_: object) -> Reliabilities:
        return Reliabilities(shares=SURE, tasks={"k1": SURE}, people={})

    tie = settle([task(rubric=JUDGED)], [decided("keep", "a"), decided("reject", "b")], JUDGED, weigh=weigh)
    assert state(tie) == ("waiting", "people disagree")
    assert tie.verdicts == ()
    assert len(tie.disagreements) == 1
    (both,) = settle([task(rubric=JUDGED)], [decided("keep", "a"), decided("keep", "b")], JUDGED).verdicts
    assert both.by == "a, b"


def test_where_there_are_fewer_people_than_the_form_asks_for_somebody_else_is_asked_once_all_have_done_it() -> None:
    three = JUDGED.model_copy(update={"people_per_item": 3})
    one = task(rubric=JUDGED)
    differing = [decided("keep", "a"), decided("reject", "b")]
    assert state(settle([one], differing, three)) == ("waiting", "waiting for more people")
    assert settle([one], differing, three, able={one.key: 3}).disagreements == ()
    made = settle([one], differing, three, able={one.key: 2})
    assert state(made) == ("waiting", "people disagree")
    assert len(made.disagreements) == 1
    alone = settle([one], differing[:1], three, able={one.key: 1})
    assert state(alone) == ("waiting", "waiting for more people"), "one of three is no majority"


def test_who_says_mended_where_nothing_is_gets_it_back() -> None:
    made = settle([task(rubric=JUDGED)], [decided("edit")], JUDGED)
    assert state(made)[0] == "back"
    assert made.revisions[0].task.shown["review_comment"] == "?: you said that you fixed it, but no text was changed"


def test_several_people_decide_by_majority() -> None:
    three = JUDGED.model_copy(update={"people_per_item": 3})

    def made(*given_in: Annotation) -> Settlement:
        return settle([task(rubric=JUDGED)], given_in, three)

    assert state(made(decided("keep", "a"))) == ("waiting", "waiting for more people")
    assert state(made(decided("keep", "a"), decided("keep", "b")))[0] == "decided"
    split = made(decided("keep", "a"), decided("reject", "b"), decided("edit", "c", "One."))
    assert state(split) == ("waiting", "people disagree")
    (verdict,) = made(decided("reject", "a"), decided("edit", "b", "B."), decided("edit", "c", "C.")).verdicts
    first = min("bc", key=lambda by: seat(0, "k1", by))
    assert (verdict.decision, verdict.changes, verdict.by) == ("fix", {"text": f"{first.upper()}."}, "b, c")


def test_a_record_shown_twice_is_rejected_by_one_task_and_accepted_by_both() -> None:
    pair = [task(1, JUDGED, item_key="r"), task(2, JUDGED, item_key="r")]
    keep = [decided("keep", by, text=one.drafts["text"], on=one) for by, one in zip("ab", pair, strict=True)]
    assert settle(pair, keep[:1], JUDGED).verdicts == ()
    (both,) = settle(pair, keep, JUDGED).verdicts
    assert (both.decision, both.by) == ("accept", "a, b")
    (rejected,) = settle(pair, [decided("reject", on=pair[1])], JUDGED).verdicts
    assert rejected.decision == "reject"


def test_people_set_aside_strangers_and_known_tasks_decide_nothing() -> None:
    known = task(2, JUDGED, right_answers={"decision": "keep"})
    tasks = [task(rubric=JUDGED), known]
    on_known = decided("keep", "b", text="Ann is 2.", on=known)
    made = settle(tasks, [decided("keep", "a"), decided("keep", "z"), on_known], JUDGED, people="ab", suspended="a")
    assert state(made) == ("excluded", "nothing that was submitted counts")
    assert sorted(one.reason for one in made.excluded) == ["person suspended", "unknown person"]
    assert made.counted == (on_known,)


def test_marks_of_a_field_are_its_text_where_it_is_to_be_mended() -> None:
    rubric = JUDGED.model_copy(
        update={"marks": (Marked(name="names", title="Names", of="text", corrects=True),), "writes": ()}
    )
    one = task(rubric=rubric, drafts={})
    work = done(one, "a", {"decision": "edit", "names": "Ann is"}).model_copy(
        update={"marks": {"names": ("Ann", "is")}}
    )
    (verdict,) = settle([one], [work], rubric).verdicts
    assert (verdict.decision, verdict.changes) == ("fix", {"names": "Ann is"})


def test_marks_are_reviewed_a_line_each() -> None:
    rubric = AUTHORING.model_copy(update={"marks": (Marked(name="names", title="Names", of="text"),)})
    review = review_of(rubric)
    work = authored(task()).model_copy(update={"marks": {"names": ("Ann", "is")}})
    asked = settle([task()], [work], rubric, review=review).reviews[0].task
    assert asked.shown["author_names"] == asked.drafts["names"] == "Ann\nis"
    fixed = reviewed(asked, names_decision="fix", texts={"names": "Ann\n"})
    (verdict,) = settle([task()], [work, fixed], rubric, review=review).verdicts
    assert verdict.marks == {"names": ("Ann",)}


@settings(max_examples=150, deadline=None)
@given(data=st.data(), people=st.integers(1, 3), review=st.booleans())
def test_every_task_has_one_outcome_and_every_annotation_one_place(
    data: st.DataObject, people: int, review: bool
) -> None:
    """Whole courses, drawn: people do what lies before them, well or badly, several times over."""
    rubric = AUTHORING.model_copy(update={"people_per_item": people})
    tasks = [task(number) for number in range(3)]
    known = ["a", "b", "c", "r"]

    def make(given_in: list[Annotation]) -> Settlement:
        return settle(tasks, given_in, rubric, review=REVIEW if review else None, people=known)

    given_in: list[Annotation] = []
    for hour in range(data.draw(st.integers(0, 6))):
        now = make(given_in)
        for one in [*tasks, *(handed.task for handed in (*now.reviews, *now.revisions))]:
            by = data.draw(st.sampled_from([*known, "stranger", ""]))
            if not by:
                continue
            if one.rubric == REVIEW.name:
                answers = [data.draw(st.sampled_from(["accept", "fix", "reject", "odd"])) for _ in range(2)]
                given_in.append(reviewed(one, by, *answers, hour, data.draw(st.sampled_from([{}, {"lie": "N."}]))))
            else:
                lie, usable = data.draw(st.sampled_from(["L.", "M."])), data.draw(st.sampled_from(["yes", "no", "odd"]))
                work = authored(one, by, lie, hour=hour)
                given_in.append(work.model_copy(update={"answers": {**work.answers, "usable": usable}}))
    made = make(given_in)
    assert make(data.draw(st.permutations(given_in))).outcomes == made.outcomes
    assert [one.key for one in made.outcomes] == [one.key for one in tasks]
    assert all((one.state == "decided") == (one.verdict is not None) for one in made.outcomes)
    assert len(made.verdicts) == sum(one.state == "decided" for one in made.outcomes)
    assert sorted(one.source for one in (*made.counted, *made.excluded)) == sorted(one.source for one in given_in)
    handed_on = [handed.task.key for handed in (*made.reviews, *made.revisions)]
    assert len(set(handed_on)) == len(handed_on)
    assert not [handed for handed in made.reviews if handed.author not in known]


def test_a_suggestion_that_an_author_keeps_is_a_change_of_the_record() -> None:
    # the record has no text yet: what stands in the box is a program's, and counts once it was handed in
    rubric = JUDGED.model_copy(update={"writes": (*JUDGED.writes, WHY_UNCHANGED)})
    one = task(rubric=rubric, drafts={"text": "Bo is 1."}, suggested=("text",))
    kept = done(one, "a", {"decision": "edit", "text": "Bo is 1.", "why_unchanged": "I looked it up."})
    (verdict,) = settle([one], [kept], rubric).verdicts
    assert (verdict.decision, verdict.changes) == ("fix", {"text": "Bo is 1."})
