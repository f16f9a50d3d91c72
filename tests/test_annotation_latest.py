"""Which annotations count, and why the others do not."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.latest import decision_of, latest
from schemas.annotation import Annotation
from schemas.rubric import Choice, Marked, Rubric, Shown, Task, Written

RUBRIC = Rubric(
    name="toy", version=2, guideline="g.md", shows=(Shown(name="text"),),
    asks=(Choice(name="usable", question="?", options=("yes", "mended", "no"), accepts=("yes",), fixes=("mended",)),),
    writes=(Written(name="lie", title="A lie", required=True), Written(name="note", title="Note", note=True)),
    marks=(Marked(name="names", title="Names", of="text"),),
)  # fmt: skip
TASK = Task(key="k", rubric="toy", version=2, item_id="i", item_key="r", item_view="v", shown={"text": "Ann met\nBo."})
WHOLE = {"usable": "yes", "lie": "Ann met Cy."}


def done(answers: dict[str, str] | None = None, by: str = "a", hour: int = 9, **more: object) -> Annotation:
    values = {
        "task": TASK.id,
        "key": "k",
        "rubric": "toy",
        "version": 2,
        "by": by,
        "at": f"2026-11-02T{hour:02}:00:00Z",
    }
    return Annotation.model_validate(
        values | {"answers": WHOLE if answers is None else answers, "source": f"{by}{hour}"} | more
    )


@pytest.mark.parametrize(
    ("one", "reason", "evidence"),
    [
        (done(cancelled=True), "cancelled", ""),
        (done(rubric="other"), "another rubric", "other"),
        (done(version=1), "another version of the rubric", "1, where the task is of 2"),
        (done(task="0" * 16), "earlier view", f"{'0' * 16}, where it is {TASK.id} now"),
        (done(key="gone", task="gone"), "unknown task", "gone"),
        (done(by="z"), "unknown person", "z"),
        (done(by="bad"), "person suspended", "bad"),
        (done({**WHOLE, "usable": "perhaps"}), "unknown answer", "usable: perhaps"),
        (done({**WHOLE, "odd": "x"}), "unknown answer", "odd: x"),
        (done(marks={"names": ("Cy",)}), "unknown answer", "names: Cy"),
        (done(marks={"odd": ("Ann",)}), "unknown answer", "odd: Ann"),
        (done({"lie": "x"}), "incomplete", "usable"),
    ],
)  # fmt: skip
def test_what_does_not_count_is_set_apart_with_its_reason(one: Annotation, reason: str, evidence: str) -> None:
    counted, apart = latest([one], [TASK], RUBRIC, {"a", "b", "bad"}, {"bad"})
    assert counted == []
    assert [(given.reason, given.evidence, given.by, given.source) for given in apart] == [
        (reason, evidence, one.by, one.source)
    ]  # fmt: skip


def test_whole_work_counts_with_its_marks_however_the_lines_end() -> None:
    whole = [done(marks={"names": ("Ann met Bo",)}), done({"usable": "no"}, by="b")]  # a rejected record needs no lie
    assert latest(whole, [TASK], RUBRIC) == (whole, [])


def test_work_without_a_required_text_counts_where_nothing_better_is_there() -> None:
    whole, emptied = done(), done({"usable": "yes", "lie": " "}, hour=10)
    assert latest([emptied], [TASK], RUBRIC) == ([emptied], []), "it goes back to its author"
    counted, apart = latest([whole, emptied], [TASK], RUBRIC)
    assert counted == [whole]
    assert [(one.reason, one.evidence) for one in apart] == [("incomplete", "lie")]


def test_an_annotation_that_names_only_what_was_seen_is_found_by_it() -> None:
    assert latest([done(key="")], [TASK], RUBRIC).counted == [done(key="")]


def test_the_latest_of_each_person_counts_whatever_order_they_come_in() -> None:
    given_in = [done(hour=9), done(hour=11, answers={**WHOLE, "lie": "Later."}), done(hour=10, by="b")]
    for order in (given_in, given_in[::-1]):
        counted, apart = latest(order, [TASK], RUBRIC)
        assert counted == [given_in[1], given_in[2]]
        assert [(one.reason, one.source) for one in apart] == [("older", "a9")]


def test_times_are_compared_as_times() -> None:
    early, late = done(at="2026-11-02T09:00:00Z"), done(at="2026-11-02T09:00:00.500000+00:00", source="x")
    assert latest([late, early], [TASK], RUBRIC).counted == [late]
    abroad = done(at="2026-11-02T09:30:00+02:00", source="y")
    assert latest([abroad, early], [TASK], RUBRIC).counted == [early]


@pytest.mark.parametrize("later", [{"cancelled": True}, {"answers": {}}, {"task": "0" * 16}])
def test_valid_work_is_not_displaced_by_what_is_not(later: dict[str, object]) -> None:
    counted, apart = latest([done(hour=9), done(hour=10, **later)], [TASK], RUBRIC)
    assert counted == [done(hour=9)]
    assert len(apart) == 1


def test_what_was_pulled_twice_is_a_duplicate() -> None:
    counted, apart = latest([done(), done(), done(source="")], [TASK], RUBRIC)
    assert len(counted) == 1
    assert sorted(one.reason for one in apart) == ["duplicate", "older"]


def test_a_choice_that_rejects_outweighs_one_that_mends() -> None:
    other = RUBRIC.asks[0].model_copy(update={"name": "clear", "fixes": ()})
    two = RUBRIC.model_copy(update={"asks": (*RUBRIC.asks, other)})
    said = {("yes", "yes"): "accept", ("mended", "yes"): "fix", ("mended", "no"): "reject", ("no", "yes"): "reject"}
    assert {pair: decision_of(dict(zip(("usable", "clear"), pair, strict=True)), two) for pair in said} == said


ANY = st.builds(
    done,
    answers=st.sampled_from([WHOLE, {"usable": "no"}, {}, {"usable": "odd"}]),
    by=st.sampled_from("abz"), hour=st.integers(0, 3), cancelled=st.booleans(),
    task=st.sampled_from([TASK.id, "0" * 16]), rubric=st.sampled_from(["toy", "other"]),
)  # fmt: skip


@given(st.lists(ANY, max_size=12).flatmap(lambda given_in: st.tuples(st.just(given_in), st.permutations(given_in))))
def test_everything_is_counted_or_apart_in_any_order(orders: tuple[list[Annotation], list[Annotation]]) -> None:
    counted, apart = latest(orders[0], [TASK], RUBRIC, {"a", "b"})
    assert len(counted) + len(apart) == len(orders[0])
    assert len({one.by for one in counted}) == len(counted)
    again = latest(orders[1], [TASK], RUBRIC, {"a", "b"})
    assert again.counted == counted
    assert Counter(one.reason for one in again.excluded) == Counter(one.reason for one in apart)
