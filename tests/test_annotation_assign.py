"""Who gets which task: stable, sticky, even, never twice, never to its author; what cannot be given is said."""

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.assign import Assignment, Shortage, assign, gold_wanted, overlapping, without_suggestions
from annotation.practice import practice_of
from schemas.rubric import Choice, Rubric, Shown, Task, Written

RUBRIC = Rubric(
    name="toy", version=1, guideline="g.md", shows=(Shown(name="text"),), overlaps=True,
    asks=(Choice(name="holds", question="?", options=("yes", "no")),),
    writes=(Written(name="text", title="Text", corrects=True), Written(name="lie", title="A lie")),
)  # fmt: skip
THREE = RUBRIC.model_copy(update={"people_per_item": 3, "overlaps": False})
CHECKED = RUBRIC.model_copy(update={"validation_share": 0.1, "pass_share": 0.9})


def task(number: int, **more: object) -> Task:
    values = {
        "key": f"k{number}", "rubric": "toy", "version": 1, "item_id": f"i{number}", "item_key": f"r{number}",
        "item_view": "v", "shown": {"text": f"It is {number}."}, "drafts": {"text": "as it is", "lie": "a draft"},
        "suggested": ("lie",),
    }  # fmt: skip
    return Task.model_validate(values | more)


def tasks(count: int) -> list[Task]:
    return [task(number) for number in range(count)]


KNOWN = [task(number, right_answers={"holds": "yes" if number % 2 else "no"}) for number in range(1000, 1100)]


def keys(assignment: Assignment) -> dict[str, set[str]]:
    return {by: {one.key for one in queue} for by, queue in assignment.queues.items()}


def loads(assignment: Assignment) -> list[int]:
    return [sum(not one.right_answers for one in queue) for queue in assignment.queues.values()]


def test_the_first_go_to_two_people_and_the_rest_to_one() -> None:
    overlap = overlapping(tasks(50), RUBRIC, 10, seed=1)
    given_out = assign(tasks(50), "abc", RUBRIC, 1, overlap=overlap)
    people = Counter(one.key for queue in given_out.queues.values() for one in queue)
    assert len(overlap) == 10
    assert people == {one.key: 2 if one.key in overlap else 1 for one in tasks(50)}
    assert loads(given_out) == [20, 20, 20]
    assert given_out.shortages == given_out.messages == ()
    # they come first, so that agreement is known early
    assert all({one.key for one in queue[:6]} <= overlap for queue in given_out.queues.values())


def test_a_rubric_that_asks_for_three_people_gets_three() -> None:
    assert overlapping(tasks(20), THREE, 10, seed=1) == set()
    people = Counter(one.key for queue in assign(tasks(20), "abcd", THREE, 1).queues.values() for one in queue)
    assert set(people.values()) == {3}


def test_overlap_items_go_out_without_suggestions_and_what_went_out_with_them_is_none() -> None:
    assert without_suggestions(task(1)).drafts == {"text": "as it is"}
    assert without_suggestions(task(1)).id == task(1).id
    first = overlapping(tasks(30), RUBRIC, 5, seed=1)
    drafted = {one.key for one in tasks(30)} - first
    added = overlapping(tasks(40), RUBRIC, 8, seed=1, held={"a": drafted | first, "b": first}, drafted=drafted)
    assert first < added
    assert added.isdisjoint(drafted)
    assert len(added) == 8


def test_tasks_that_went_to_two_stay_overlap_items_when_others_come_and_go() -> None:
    first = overlapping(tasks(30), RUBRIC, 5, seed=1)
    held = {"a": set(first), "b": set(first)}
    assert overlapping(tasks(300), RUBRIC, 5, seed=1, held=held) == first
    assert overlapping(tasks(300), RUBRIC, 3, seed=1, held=held) == first


def test_what_somebody_holds_stays_and_a_new_person_takes_new_tasks_only() -> None:
    before = assign(tasks(40), "ab", RUBRIC, 1)
    after = assign(tasks(50), "abc", RUBRIC, 1, held=keys(before))
    assert keys(after)["a"] >= keys(before)["a"]
    assert keys(after)["b"] >= keys(before)["b"]
    assert keys(after)["c"] == {f"k{number}" for number in range(40, 50)}
    assert assign(tasks(50), "abc", RUBRIC, 1, held=keys(after)).queues.keys() == after.queues.keys()
    assert keys(assign(tasks(50), "abc", RUBRIC, 1, held=keys(after))) == keys(after)


def test_a_push_cut_off_halfway_is_finished_without_giving_a_task_twice() -> None:
    whole = assign(tasks(40), "ab", RUBRIC, 1)
    half = {by: {one.key for one in queue[:7]} for by, queue in whole.queues.items()}
    finished = assign(tasks(40), "ab", RUBRIC, 1, held=half)
    assert all(half[by] <= held for by, held in keys(finished).items())
    assert sorted(key for held in keys(finished).values() for key in held) == sorted(one.key for one in tasks(40))


def test_who_is_set_aside_gets_nothing_and_all_their_items_go_to_others() -> None:
    before = assign(tasks(30), "abc", RUBRIC, 1)
    after = assign(tasks(30), "abc", RUBRIC, 1, held=keys(before), suspended={"b"})
    assert after.queues.keys() == {"a", "c"}
    assert set().union(*keys(after).values()) == {one.key for one in tasks(30)}
    assert loads(after) == [15, 15]


def test_a_review_never_goes_to_its_author() -> None:
    barred = {one.key: ["a" if number % 3 else "b"] for number, one in enumerate(tasks(30))}
    given_out = assign(tasks(30), "abc", RUBRIC, 1, barred=barred)
    assert not [one for by, queue in given_out.queues.items() for one in queue if by in barred[one.key]]
    assert sum(loads(given_out)) == 30
    # not even where they hold it already
    again = assign(tasks(30), "abc", RUBRIC, 1, barred=barred, held={"a": {f"k{number}" for number in range(30)}})
    assert not [one for one in again.queues["a"] if "a" in barred[one.key]]


def test_too_few_people_are_named_and_the_rest_is_given() -> None:
    alone = assign(tasks(3), "ab", THREE, 1, barred={"k1": ["a"]})
    assert {(one.key, one.wanted, one.assigned) for one in alone.shortages} == {
        ("k0", 3, 2),
        ("k1", 3, 1),
        ("k2", 3, 2),
    }
    to_do = "name more people in annotation.people (in a study, raise its most_people), then push again"
    assert alone.messages == (
        f"tasks that need 3 people and have 1: 1; nobody else can take them; {to_do}",
        f"tasks that need 3 people and have 2: 2; nobody else can take them; {to_do}",
    )
    nobody = assign(tasks(3), "", RUBRIC, 1)
    assert nobody.queues == {}
    assert nobody.messages == (f"tasks that need 1 person and have 0: 3; nobody else can take them; {to_do}",)


def test_a_seat_that_was_lacking_is_filled_when_somebody_comes() -> None:
    overlap = overlapping(tasks(10), RUBRIC, 4, seed=1)
    alone = assign(tasks(10), "a", RUBRIC, 1, overlap=overlap)
    still = overlapping(tasks(10), RUBRIC, 4, seed=1, held=keys(alone))
    assert still == overlap
    both = assign(tasks(10), "ab", RUBRIC, 1, overlap=still, held=keys(alone))
    assert keys(both)["b"] == overlap


def test_a_tenth_of_what_each_person_sees_is_known_at_places_that_tell_nothing() -> None:
    given_out = assign(tasks(180), "ab", CHECKED, 1, gold=KNOWN)
    assert loads(given_out) == [90, 90]
    places = {
        by: [place for place, one in enumerate(queue) if one.right_answers] for by, queue in given_out.queues.items()
    }  # fmt: skip
    assert {by: len(one) for by, one in places.items()} == {"a": 10, "b": 10}  # 10 of 100 is a tenth
    assert places["a"] != places["b"]
    for one in places.values():
        assert one[0] < 40 < 60 < one[-1]
        assert len({after - before for before, after in itertools.pairwise(one)}) > 3
    assert places["a"] != [
        place
        for place, one in enumerate(assign(tasks(180), "ab", CHECKED, 2, gold=KNOWN).queues["a"])
        if one.right_answers
    ]


def test_a_known_task_stays_with_who_has_it_and_the_share_holds_for_new_ones() -> None:
    before = assign(tasks(90), "a", CHECKED, 1, gold=KNOWN)
    after = assign(tasks(180), "a", CHECKED, 1, gold=KNOWN, held=keys(before))
    assert keys(before)["a"] <= keys(after)["a"]
    assert sum(bool(one.right_answers) for one in after.queues["a"]) == 20
    assert assign(tasks(180), "a", CHECKED, 1, gold=KNOWN, held=keys(after)).shortages == ()


def test_too_few_known_tasks_are_said() -> None:
    given_out = assign(tasks(180), "ab", CHECKED, 1, gold=KNOWN[:4])
    assert set(given_out.shortages) == {
        Shortage(by=by, wanted=10, assigned=4) for by in "ab"
    }  # fmt: skip
    assert given_out.messages[0] == "a gets 4 of 10 gold tasks; there are no more"
    assert gold_wanted(3, CHECKED) == 1
    assert gold_wanted(0, CHECKED) == gold_wanted(90, RUBRIC) == 0


def test_the_practice_set_comes_first_and_the_rest_once_it_is_passed() -> None:
    practice = practice_of(KNOWN, CHECKED, 1)
    rest = [one for one in KNOWN if one.id not in {task.id for task in practice}]
    new = assign(tasks(90), "ab", CHECKED, 1, gold=rest, practice=practice, passed={"b"})
    assert list(new.queues["a"]) == practice
    assert len(new.later["a"]) == 45 + 5
    assert list(new.queues["b"][:5]) == practice
    assert len(new.queues["b"]) == 5 + 45 + 5
    assert new.later["b"] == ()
    passed = assign(
        tasks(90), "ab", CHECKED, 1, gold=rest, practice=practice, passed={"a", "b"}, held=keys(new)
    )  # fmt: skip
    assert {one.key for one in passed.queues["a"][5:]} == {one.key for one in new.later["a"]}


def test_who_was_at_work_before_there_was_practice_goes_on() -> None:
    going = assign(tasks(4), "a", RUBRIC, 1, held={"a": {"k1"}}, practice=practice_of(KNOWN, RUBRIC, 1))
    assert {one.key for one in going.queues["a"]} == {"k0", "k1", "k2", "k3"}
    assert going.later == {"a": ()}


CODES = st.sets(st.sampled_from(["a1", "a2", "a3", "a4", "a5", "a6"]))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), count=st.integers(0, 30), people=CODES, first=st.integers(0, 12), asked=st.integers(1, 4))
def test_whatever_comes(data: st.DataObject, count: int, people: set[str], first: int, asked: int) -> None:
    rubric = RUBRIC.model_copy(update={"people_per_item": asked, "validation_share": 0.2})
    every = tasks(count)
    names = [one.key for one in every]
    some = st.sets(st.sampled_from(names)) if names else st.just(set[str]())
    held = {by: data.draw(some) for by in sorted(people) if data.draw(st.booleans())}
    barred = {key: data.draw(CODES) for key in names if data.draw(st.integers(0, 3)) == 0}
    aside = data.draw(CODES)
    known = KNOWN[: data.draw(st.integers(0, 8))]
    overlap = overlapping(every, rubric, first, 7, held)
    more = {"held": held, "barred": barred, "suspended": aside, "gold": known, "overlap": overlap}
    made = assign(every, people, rubric, 7, **more)  # type: ignore[arg-type]

    shuffled = data.draw(st.permutations(every))
    again = assign(shuffled, data.draw(st.permutations(sorted(people))), rubric, 7, **more)  # type: ignore[arg-type]
    assert again == made
    assert overlapping(shuffled, rubric, first, 7, held) == overlap

    assert made.queues.keys() == people - aside
    for by, queue in made.queues.items():
        assert len({one.key for one in queue}) == len(queue)
        assert not [one for one in queue if by in barred.get(one.key, ())]
        kept = {key for key in held.get(by, ()) if by not in barred.get(key, ())}
        assert kept <= {one.key for one in queue}
    people_of = Counter(one.key for queue in made.queues.values() for one in queue)
    lacking = {one.key: one for one in made.shortages if one.key}
    for key in names:
        wanted = asked + (key in overlap)
        if key in lacking:
            assert (lacking[key].wanted, lacking[key].assigned) == (wanted, people_of[key])
            # nobody else could have had it
            assert all(key in keys(made)[by] or by in barred.get(key, ()) for by in people - aside)
        assert people_of[key] >= wanted or key in lacking

    even = assign(every, people, rubric, 7, overlap=overlap)
    assert max(loads(even), default=0) - min(loads(even), default=0) <= 1
