"""Annotation by value: one person for each task, and another where that changes what is known of it."""

import random
from collections.abc import Mapping

import pytest

from annotation.assign import AT_ONCE, Further, assign, drawn
from annotation.reliability import reliabilities
from annotation.settle import Settlement, settle
from annotation.value import MOST_MORE, ByValue, by_value_of
from schemas.annotation import Annotation
from schemas.rubric import Choice, Rubric, Shown, Task, Written
from schemas.verdict import Decision
from tests.planted import PEOPLE, World, packaged_rows

THREE = Rubric(
    name="toy", version=1, guideline="g.md", shows=(Shown(name="text"),), people_per_item=3,
    asks=(Choice(name="good", question="?", options=("yes", "no"), accepts=("yes",)),),
)  # fmt: skip
ONE = THREE.model_copy(update={"people_per_item": 1, "overlaps": True})


def task(number: int, **more: object) -> Task:
    values = {
        "key": f"k{number}", "rubric": "toy", "version": 1, "item_id": f"i{number}", "item_key": f"r{number}",
        "item_view": "v", "shown": {"text": f"It is {number}."},
    }  # fmt: skip
    return Task.model_validate(values | more)


def judged(on: Task, by: str, good: str) -> Annotation:
    return Annotation(
        task=on.id, key=on.key, rubric="toy", version=1, by=by, answers={"good": good}, source=f"{on.key}{by}",
        at="2026-11-02T09:00:00Z",
    )  # fmt: skip


def by_value(people: int = 6, fixed: frozenset[str] = frozenset()) -> ByValue:
    return ByValue(0.9, fixed, dict.fromkeys(("k", *(f"k{number}" for number in range(4))), people))


SURE: Mapping[Decision, float] = {"accept": 0.95, "reject": 0.05}
UNSURE: Mapping[Decision, float] = {"accept": 0.8, "reject": 0.2}


def test_a_sure_decision_of_one_person_is_enough_and_an_unsure_one_is_not() -> None:
    assert by_value().decision("k", ["accept"], SURE, THREE) == "accept"
    assert by_value().decision("k", ["accept"], UNSURE, THREE) is None
    assert by_value().decision("k", [], SURE, THREE) is None
    # nothing is known of anybody yet
    assert by_value().decision("k", ["accept"], {}, THREE) is None


def test_a_decision_that_nobody_gave_is_nobodys() -> None:
    assert by_value().decision("k", ["reject"], SURE, THREE) is None
    assert by_value().decision("k", ["reject", "accept", "accept"], SURE, THREE) == "accept"


def test_in_the_end_the_likeliest_decides_whoever_is_more() -> None:
    most = THREE.people_per_item + MOST_MORE
    given: list[Decision] = ["reject"] * (most - 1) + ["accept"]
    assert by_value().decision("k", given[1:], UNSURE, THREE) is None
    assert by_value().decision("k", given, UNSURE, THREE) == "accept"
    assert by_value().is_open("k", given, UNSURE, THREE)
    assert not by_value().is_open("k", given, SURE, THREE)
    assert not by_value().is_open("k", given[1:], UNSURE, THREE)


def test_tasks_that_measure_agreement_go_to_a_fixed_number_whatever_people_say() -> None:
    fixed = by_value(fixed=frozenset({"k"}))
    assert fixed.decision("k", ["accept", "accept"], SURE, THREE) is None
    assert fixed.decision("k", ["accept", "reject", "accept"], UNSURE, THREE) == "accept"
    assert fixed.decision("k", ["accept"], SURE, ONE) is None
    assert fixed.decision("k", ["accept", "accept"], SURE, ONE) == "accept"
    tasks = [task(number) for number in range(40)]
    keys = drawn(tasks, THREE, 10, 1)
    assert len(keys) == 10
    assert drawn(tasks[::-1], THREE, 10, 1) == keys != drawn(tasks, THREE, 10, 2)
    alone = ONE.model_copy(update={"overlaps": False})
    assert drawn(tasks, alone, 10, 1) == frozenset()


def test_only_what_people_judge_goes_out_by_value() -> None:
    tasks = [task(1)]
    assert by_value_of(tasks, THREE, None, 0, {"k1": 2}, 1) is None
    assert by_value_of(tasks, THREE, 0.9, 0, {"k1": 2}, 1) == ByValue(0.9, frozenset(), {"k1": 2})
    writes = THREE.model_copy(update={"writes": (Written(name="text", title="Text"),)})
    assert by_value_of(tasks, writes, 0.9, 0, {"k1": 2}, 1) is None
    notes = THREE.model_copy(update={"writes": (Written(name="why", title="Why", note=True),)})
    assert by_value_of(tasks, notes, 0.9, 0, {"k1": 2}, 1) is not None


def further(worth: Mapping[tuple[str, str], float], done: Mapping[str, set[str]] | None = None) -> Further:
    return Further(worth, done or {})


def test_each_task_goes_to_one_person_and_an_unsure_one_to_whoever_changes_it_most() -> None:
    tasks = [task(number) for number in range(12)]
    first = assign(tasks, "abc", THREE, 1, further=further({}))
    assert sorted(one.key for queue in first.queues.values() for one in queue) == sorted(one.key for one in tasks)
    held = {by: {one.key for one in queue} for by, queue in first.queues.items()}
    (key,) = (key for key in held["a"] if key == min(held["a"]))
    worth = {(key, "b"): 0.1, (key, "c"): 0.3}
    second = assign(tasks, "abc", THREE, 1, held=held, further=further(worth, held))
    assert {by: {one.key for one in queue} - held[by] for by, queue in second.queues.items()} == {
        "a": set(), "b": set(), "c": {key},
    }  # fmt: skip
    barred = assign(tasks, "abc", THREE, 1, held=held, further=further(worth, held), barred={key: ["c"]})
    assert key in {one.key for one in barred.queues["b"]}


def test_nobody_gets_more_at_once_than_they_soon_do_and_the_most_valuable_first() -> None:
    tasks = [task(number) for number in range(60)]
    held = {"a": {one.key for one in tasks}, "b": set[str](), "c": set[str]()}
    worth = {(one.key, by): number / 100 for number, one in enumerate(tasks) for by in "bc"}
    shuffled = dict(random.Random(1).sample([*worth.items()], len(worth)))
    given_out = assign(tasks, "abc", THREE, 1, held=held, further=further(worth, held))
    assert assign(tasks, "cba", THREE, 1, held=held, further=further(shuffled, held)) == given_out
    queues = {by: [one.key for one in given_out.queues[by]] for by in "bc"}
    assert [len(queue) for queue in queues.values()] == [AT_ONCE, AT_ONCE]
    assert {*queues["b"], *queues["c"]} == {f"k{number}" for number in range(60 - 2 * AT_ONCE, 60)}
    # what they have yet to do is room that they do not have
    again = assign(tasks, "abc", THREE, 1, held={**held, "b": set(queues["b"]), "c": set(queues["c"])},
                   further=further({("k0", "b"): 0.5}, {"a": held["a"]}))  # fmt: skip
    assert "k0" not in {one.key for one in again.queues["b"]}


def settled(given_in: list[Annotation], tasks: list[Task], value: ByValue) -> Settlement:
    return settle(
        tasks, given_in, THREE, by_value=value,
        weigh=lambda given, known, adjudicated: reliabilities(given, known, THREE, adjudicated),
    )  # fmt: skip


def test_where_as_many_say_one_as_the_other_nothing_that_is_known_of_them_decides() -> None:
    even: Mapping[Decision, float] = {"accept": 0.5, "reject": 0.5}
    for chances in (even, {}, UNSURE, SURE):
        assert by_value(people=2).decision("k", ["accept", "reject"], chances, THREE) is None
        assert by_value(people=2).is_open("k", ["accept", "reject"], chances, THREE)
    for chances in (even, {}):
        assert by_value(people=3).decision("k", ["accept", "reject", "reject"], chances, THREE) == "reject"
    fixed = by_value(people=2, fixed=frozenset({"k0"}))
    for value in (by_value(people=2), fixed):
        made = settled([judged(task(0), "a", "yes"), judged(task(0), "b", "no")], [task(0)], value)
        assert [(one.state, one.reason) for one in made.outcomes] == [("waiting", "people disagree")]
        assert len(made.disagreements) == 1, "there are only two people: an adjudicator is asked"
        more = made.further({"a": {"k0"}, "b": {"k0"}, "c": set()})
        assert more is not None
        assert more.worth == {}


def test_push_tells_of_an_unsure_task_that_everybody_else_is_barred_from() -> None:
    held = {"a": {"k0"}, "b": set[str](), "c": set[str]()}
    for barred, short in (({"k0": "bc"}, [("k0", 2, 1)]), ({"k0": "b"}, [])):
        made = assign([task(0)], "abc", THREE, 1, held=held, barred=barred,
                      further=further({("k0", "b"): 0.3, ("k0", "c"): 0.1}, held))  # fmt: skip
        assert [(one.key, one.wanted, one.assigned) for one in made.shortages] == short
        assert len(made.queues["c"]) == (not short)


def test_a_task_that_is_to_be_done_waits_for_that_and_nobody_is_asked_twice() -> None:
    tasks = [task(number) for number in range(4)]
    made = settled([judged(tasks[0], "a", "yes"), judged(tasks[0], "b", "no")], tasks, by_value())
    assert [(one.state, one.reason) for one in made.outcomes][:2] == [
        ("waiting", "not sure enough yet"), ("waiting", "to be done"),
    ]  # fmt: skip
    asked = made.further({"a": {"k0"}, "b": {"k0"}, "c": set(), "d": set()})
    assert asked is not None
    assert {*asked.worth} == {("k0", "c"), ("k0", "d")}
    assert all(worth > 0 for worth in asked.worth.values())
    pending = made.further({"a": {"k0"}, "b": {"k0"}, "c": {"k0"}, "d": set()})
    assert pending is not None
    assert pending.worth == {}
    assert settle(tasks, [], THREE).further({"a": set()}) is None


def test_people_who_differ_are_asked_about_by_value_before_an_adjudicator_is() -> None:
    tasks = [task(number) for number in range(1)]
    answers = dict(zip("abcde", ("yes", "no", "yes", "no", "yes"), strict=True))
    for number in range(2, len(answers) + 1):
        given_in = [judged(tasks[0], by, answers[by]) for by in "abcde"[:number]]
        made = settled(given_in, tasks, by_value()._replace(certainty=0.99))
        assert len(made.disagreements) == (number == THREE.people_per_item + MOST_MORE), number


@pytest.mark.slow
def test_with_planted_people_a_third_fewer_judgements_give_the_same_accuracy_or_better() -> None:
    """Three seeds of 100 rows of the packaged sample, with two good people of five; the bench has more."""
    fixed, value = [], []
    for seed in range(3):
        world = World(packaged_rows(), 100, seed, overlap_first=7)
        fixed.append(world.run(None, pace=1000))
        value.append(world.run(0.9))
    assert all(each.judgements == 3 * 100 for each in fixed)
    assert sum(each.judgements for each in value) <= 0.7 * sum(each.judgements for each in fixed)
    assert sum(each.accuracy for each in value) >= sum(each.accuracy for each in fixed)
    # what is said of the decisions is true: as many are right as their probabilities say
    chances = [chance for each in value for chance in each.posteriors.values()]
    right = [right for each in value for right in each.right.values()]
    assert sum(right) / len(right) == pytest.approx(sum(chances) / len(chances), abs=0.05)
    for each in value:
        assert each.reliabilities is not None
        told = {by: person.right for by, person in each.reliabilities.people.items()}
        assert told.keys() == PEOPLE.keys()
        assert min(told["a1"], told["a2"]) > max(told["c1"], told["h1"])
