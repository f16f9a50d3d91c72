"""Majorities, items with known answers, practice, suggestions left as they stood, and each person's statistics."""

from annotation.practice import feedback, not_practised, passed_practice, practice_for, practice_of, practice_rubric
from annotation.quality import (
    WHY_UNCHANGED,
    GoldScore,
    gold_scores,
    majority,
    suspended,
    unchanged,
    unconfirmed,
    work_statistics,
)
from schemas.annotation import Annotation
from schemas.rubric import Choice, Rubric, Shown, Task, Written

YES_NO = ("yes", "no")
RUBRIC = Rubric(
    name="toy", version=1, guideline="g.md", shows=(Shown(name="text"),),
    asks=(
        Choice(name="readable", question="Can it be read?", options=YES_NO, accepts=("yes",)),
        Choice(name="supports", question="Does it support the answer?", options=YES_NO, accepts=("yes",)),
    ),
    writes=(Written(name="text", title="Text", corrects=True), Written(name="lie", title="A lie"), WHY_UNCHANGED),
    people_per_item=3, validation_share=0.1, pass_share=0.9,
)  # fmt: skip


def task(number: int, known: str = "", **more: object) -> Task:
    values = {
        "key": f"k{number}", "rubric": "toy", "version": 1, "item_id": "i", "item_key": "r", "item_view": "v",
        "shown": {"text": str(number)}, "right_answers": {"supports": known} if known else {},
    }  # fmt: skip
    return Task.model_validate(values | more)


def judged(task: str, by: str, supports: str, readable: str = "yes", **more: object) -> Annotation:
    answers = {"supports": supports, "readable": readable}
    return Annotation.model_validate({"task": task, "by": by, "answers": answers} | more)


def test_the_majority_of_three() -> None:
    assert majority(["yes", "no", "yes"], RUBRIC) == "yes"
    assert majority(["yes", "yes"], RUBRIC) == "yes"  # the third cannot change it
    assert majority(["yes"], RUBRIC) is None
    assert majority(["yes", "yes", "no", "no"], RUBRIC) is None
    assert majority([], RUBRIC) is None


def test_people_under_nine_tenths_on_the_known_items_are_suspended() -> None:
    known = [task(number, "yes") for number in range(10)]
    sampled = [task(20)]
    given = [judged(one.id, "all", "yes") for one in known]
    given += [judged(one.id, "nine", "no" if one.key == "k0" else "yes") for one in known]
    given += [judged(one.id, "eight", "no" if one.key in ("k0", "k1") else "yes") for one in known]
    given += [judged(one.id, "four", "no") for one in known[:4]]  # too few to tell
    given += [judged(one.id, "five", "no") for one in known[:5]]
    given += [judged(sampled[0].id, "none", "no")]
    assert suspended([*known, *sampled], given, RUBRIC) == {"eight", "five"}
    assert gold_scores([*known, *sampled], given)["eight"] == GoldScore(right=8, answered=10)
    assert "none" not in gold_scores([*known, *sampled], given)


def test_the_bar_is_met_by_the_very_number() -> None:
    known = [task(number, "yes") for number in range(100)]
    given = [judged(one.id, "a", "yes" if number < 55 else "no") for number, one in enumerate(known)]
    assert 0.55 * 100 > 55  # as floats are
    assert suspended(known, given, RUBRIC.model_copy(update={"pass_share": 0.55})) == frozenset()
    assert suspended(known, given, RUBRIC.model_copy(update={"pass_share": 0.56})) == {"a"}


def test_practice_takes_each_right_answer_in_turn_under_keys_of_its_own() -> None:
    known = [task(number, "yes" if number < 15 else "no") for number in range(20)]
    practice = practice_of(known, RUBRIC, seed=1)
    assert sorted(one.right_answers["supports"] for one in practice) in (
        ["no"] * 2 + ["yes"] * 3,
        ["no"] * 3 + ["yes"] * 2,
    )
    assert practice == practice_of(known[::-1], RUBRIC, seed=1)
    assert {one.key for one in practice}.isdisjoint(one.key for one in known)
    assert {one.sample for one in practice} == {"practice"}
    left = not_practised(practice, known)
    assert len(left) == 15
    assert {one.id for one in left}.isdisjoint(one.id for one in practice)
    assert practice_of([task(1)], RUBRIC, seed=1) == []


def practised(task: Task, by: str, answer: str, at: str = "") -> Annotation:
    form = practice_rubric(RUBRIC).name
    return judged(task.id, by, answer).model_copy(update={"rubric": form, "key": task.key, "at": at})


def test_practice_is_passed_once_all_of_it_is_handed_in_and_right() -> None:
    practice = practice_of([task(number, "yes") for number in range(9)], RUBRIC, seed=1)
    given = [practised(one, "a", "yes") for one in practice]
    assert not passed_practice("a", practice, given[:4], RUBRIC)
    assert passed_practice("a", practice, given, RUBRIC)
    assert not passed_practice("b", practice, given, RUBRIC)
    wrong = [practised(practice[0], "a", "no", "2026-01-01"), *given[1:]]
    assert not passed_practice("a", practice, wrong, RUBRIC)
    assert passed_practice("a", practice, [*wrong, practised(practice[0], "a", "yes", "2026-01-02")], RUBRIC)
    assert suspended(practice, wrong, RUBRIC) == frozenset()  # to practise is no test
    assert passed_practice("a", [], [], RUBRIC)


def test_on_a_scale_practice_takes_a_neighbour_for_right() -> None:
    scale = Choice(name="supports", question="How well?", options=("1", "2", "3", "4", "5"), ordered=True)
    rubric = RUBRIC.model_copy(update={"asks": (scale,)})
    practice = practice_of([task(1, "5"), task(2, "2")], rubric, seed=1)

    def passes(of_five: str, of_two: str) -> bool:
        chosen = {"5": of_five, "2": of_two}
        return passed_practice(
            "a", practice, [practised(one, "a", chosen[one.right_answers["supports"]]) for one in practice], rubric
        )

    assert passes("5", "2")
    assert passes("4", "1")
    assert passes("4", "3")
    assert not passes("3", "2")
    assert not passes("5", "4")
    assert not passes("1", "2")  # the other end is no neighbour
    near = feedback(
        practice[0], judged(practice[0].id, "a", "4" if practice[0].right_answers["supports"] == "5" else "1"), rubric
    )
    assert "is near enough to" in near


def test_what_was_practised_wrongly_is_shown_again_with_the_feedback() -> None:
    practice = practice_of([task(number, "yes", why="It says so.") for number in range(9)], RUBRIC, seed=1)
    given = [practised(practice[0], "a", "no"), practised(practice[1], "a", "yes")]
    first, again = (practice_for("a", practice, answers, RUBRIC) for answers in ([], given))
    assert [one.key for one in first] == [one.key for one in again] == [one.key for one in practice]
    assert [one.id != other.id for one, other in zip(first, again, strict=True)] == [True, False, False, False, False]
    assert "The correct answer is “yes”." in str(again[0].shown["feedback"])
    assert "It says so." in str(again[0].shown["feedback"])
    assert practice_for("b", practice, given, RUBRIC) == first
    assert {one.rubric for one in first} == {practice_rubric(RUBRIC).name}


def test_what_was_practised_rightly_in_the_end_stays_as_it_was_answered() -> None:
    practice = practice_of([task(number, "yes") for number in range(5)], RUBRIC, seed=1)
    given = [practised(practice[0], "a", "no")]
    told, *others = practice_for("a", practice, given, RUBRIC)
    given.append(practised(told, "a", "yes").model_copy(update={"at": "2026-01-02"}))
    assert practice_for("a", practice, given, RUBRIC) == [told, *others]


def test_feedback_says_what_is_right_and_why() -> None:
    one = task(1, "no", why="The sentence with the answer is not there.")
    assert feedback(one, judged(one.id, "a", "yes"), RUBRIC) == (
        "Does it support the answer? Your answer was “yes”. The correct answer is “no”.\n"
        "Why: The sentence with the answer is not there."
    )
    assert feedback(one, judged(one.id, "a", "no"), RUBRIC).startswith(
        "Does it support the answer? Your answer “no” is correct.\n"
    )


def test_a_suggestion_left_as_it_stood_needs_a_reason() -> None:
    one = task(1, drafts={"text": "1", "lie": "It is 2."}, suggested=("lie",))

    def handed(lie: str, why: str = "", untouched: tuple[str, ...] = ()) -> Annotation:
        answers = {"text": "1", "lie": lie, "why_unchanged": why}
        return Annotation(task=one.id, by="a", answers=answers, untouched=untouched)

    left = handed("It is  2.\n", untouched=("text",))
    assert unchanged(one, left, RUBRIC) == ("lie",)  # a field of the record that stays is no suggestion
    assert [(said.name, said.rejects) for said in unconfirmed(one, left, RUBRIC)] == [("lie", True)]
    assert unconfirmed(one, handed("It is 2.", "It is what I would write."), RUBRIC) == []
    assert unchanged(one, handed("It is 2.", "It is what I would write."), RUBRIC) == ("lie",)
    assert unconfirmed(one, handed("It is 3."), RUBRIC) == []
    assert unconfirmed(task(1), handed("It is 2."), RUBRIC) == []


def test_statistics_worked_by_hand() -> None:
    known, draft = task(1, "yes"), task(2, drafts={"lie": "It is 2."}, suggested=("lie",))
    practice = task(5, "yes", sample="practice")
    queue = [practice, known, draft, task(3), task(4)]
    given = [
        judged(practice.id, "a", "no", seconds=60),
        judged(known.id, "a", "yes", seconds=120),
        Annotation(task=draft.id, by="a", answers={"lie": "It is 2.", "why_unchanged": "Fine."}, seconds=36_000),
    ]
    a, b = work_statistics(
        {"a": queue, "b": [task(3)]}, given, RUBRIC, [("k3", "a")], [("k3", "a"), ("k2", "a"), ("k1", "a")]
    )
    assert (a.by, a.done, a.left, a.minutes) == ("a", 3, 2, 2.0)  # 1, 2 and 600 minutes, of which 30 count
    assert (a.returned, a.rejected) == (4, 1 / 4)
    assert (a.gold, a.gold.share) == (GoldScore(right=1, answered=1), 1.0)
    assert (a.unchanged, a.suggested) == (1, 1)
    assert round(a.slow_minutes or 0, 9) == 24.4  # 2 + 0.8 * 28: nine tenths of the way from 1 over 2 to 30
    assert (b.by, b.done, b.left, b.minutes, b.rejected, b.gold.share) == ("b", 0, 1, None, None, None)


def test_thirty_minutes_is_the_most_that_an_item_counts() -> None:
    (one,) = work_statistics({"a": [task(1)]}, [judged(task(1).id, "a", "yes", seconds=36_000)], RUBRIC)
    assert one.minutes == 30.0
