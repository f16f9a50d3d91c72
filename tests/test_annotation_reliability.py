"""How sure decisions are: what a person's known answers and others' decisions say of the person and of the tasks."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.reliability import RIGHT, WRONG, Given, Reliabilities, reliabilities
from annotation.settle import settle
from schemas.annotation import Annotation
from schemas.rubric import Choice, Rubric, Shown, Task, Written
from schemas.verdict import Decision, Verdict

JUDGED = Rubric(
    name="toy", version=1, guideline="g.md", shows=(Shown(name="text"),), people_per_item=3,
    asks=(
        Choice(name="readable", question="?", options=("yes", "no"), accepts=("yes",)),
        Choice(name="supports", question="?", options=("yes", "no"), accepts=("yes",)),
    ),
)  # fmt: skip

Rights = Mapping[str, Decision]


def weigh(given: Iterable[Given], known: Rights, adjudicated: Rights) -> Reliabilities | None:
    return reliabilities(given, known, JUDGED, adjudicated)


def of(by: str, decisions: Mapping[str, Decision]) -> list[Given]:
    return [Given(key, by, decision) for key, decision in decisions.items()]


def weighed(*parts: Iterable[Given], known: Mapping[str, Decision] | None = None) -> Reliabilities:
    made = reliabilities([one for part in parts for one in part], known or {}, JUDGED)
    assert made is not None
    return made


KNOWN: dict[str, Decision] = {f"g{number}": "reject" if number % 2 else "accept" for number in range(12)}
TURNED: dict[str, Decision] = {key: "accept" if right == "reject" else "reject" for key, right in KNOWN.items()}
ALL_GOOD: dict[str, Decision] = dict.fromkeys(KNOWN, "accept")


def test_known_answers_tell_who_is_right_where_two_disagree() -> None:
    made = weighed(of("a", KNOWN), of("b", TURNED), of("a", {"k": "accept"}), of("b", {"k": "reject"}), known=KNOWN)
    assert made.people["a"].right > 0.85
    assert made.people["b"].right < 0.45
    assert made.tasks.keys() == {"k"}
    assert made.tasks["k"]["accept"] > 0.9


def test_a_table_worked_by_hand() -> None:
    made = weighed(of("a", KNOWN), known=KNOWN)
    # six of six right, beside RIGHT of RIGHT + WRONG that everybody counts as having done
    expected = (6 + RIGHT) / (6 + RIGHT + WRONG)
    assert made.people["a"].confuses == {
        "accept": {"accept": pytest.approx(expected, abs=1e-3), "reject": pytest.approx(1 - expected, abs=1e-3)},
        "reject": {"accept": pytest.approx(1 - expected, abs=1e-3), "reject": pytest.approx(expected, abs=1e-3)},
    }
    assert made.people["a"].judged == len(KNOWN)
    # nobody decided a record's task: each decision is as common as the other, and every person as right as on each
    assert made.shares == {"accept": 0.5, "reject": 0.5}
    assert made.people["a"].right == pytest.approx(expected, abs=1e-3)


def test_who_accepts_everything_says_little_with_it() -> None:
    split = {f"s{number}": ("accept" if number % 2 else "reject") for number in range(20)}
    common = (of("good", KNOWN), of("lazy", ALL_GOOD), of("good", split))  # type: ignore[arg-type]
    made = weighed(*common, of("lazy", {"k": "accept"}), of("good", {"m": "accept"}), known=KNOWN)
    assert made.people["lazy"].confuses["reject"]["accept"] > 0.6
    assert made.tasks["k"]["accept"] < made.tasks["m"]["accept"] - 0.2
    # and to ask them once more would change less than to ask somebody who tells good from bad
    assert made.gain("k", "good") > 3 * made.gain("k", "lazy")
    assert made.gain("nobody did it", "good") > made.gain("m", "good") > 0


def test_nothing_is_certain_of_few_answers_and_nothing_is_said_of_nobodys() -> None:
    made = weighed(of("a", {"k": "accept", "m": "accept"}), of("b", {"k": "accept", "m": "accept"}))
    assert 0.8 < made.tasks["k"]["accept"] < 0.99
    # no two people did the same task, and no answer is known
    assert reliabilities(of("a", {"k": "accept"}) + of("b", {"m": "reject"}), {}, JUDGED) is None
    assert reliabilities([], {}, JUDGED) is None


FIVE = {f"a{number}": {"accept": 0.85, "reject": 0.7} for number in range(5)}


def planted(tasks: int, shared: int, people: Mapping[str, Mapping[str, float]]) -> tuple[list[Given], Rights]:
    """What people with these chances of being right say of tasks, a fifth of them bad, two people of the first."""
    random = Random(3)
    truth: dict[str, Decision] = {f"k{n:04}": "reject" if random.random() < 0.2 else "accept" for n in range(tasks)}
    made = []
    for number, (key, right) in enumerate(truth.items()):
        wrong: Decision = "accept" if right == "reject" else "reject"
        for by in random.sample(sorted(people), 2 if number < shared else 1):
            made.append(Given(key, by, right if random.random() < people[by][right] else wrong))
    return made, truth


def test_tasks_that_one_person_alone_did_make_nobody_look_surer_than_they_are() -> None:
    made, truth = planted(3100, 100, FIVE)
    people = Counter(one.key for one in made)
    singles = [one for one in made if people[one.key] == 1]
    before, after = weighed(one for one in made if people[one.key] > 1), weighed(made)
    for by, person in before.people.items():
        assert after.people[by].right == pytest.approx(person.right, abs=0.03)
        assert after.people[by].confuses == person.confuses
    said = fmean(after.tasks[one.key][one.decision] for one in singles)
    assert said == pytest.approx(fmean(one.decision == truth[one.key] for one in singles), abs=0.02)


def test_of_somebody_who_did_nothing_that_others_did_nothing_is_known() -> None:
    made = weighed(of("a", KNOWN), of("b", {"k": "accept"}), known=KNOWN)
    assert made.people["b"].confuses["accept"] == {
        "accept": pytest.approx(RIGHT / (RIGHT + WRONG)), "reject": pytest.approx(WRONG / (RIGHT + WRONG))
    }  # fmt: skip
    assert made.people["b"].judged == 1


def test_what_an_adjudicator_decided_tells_who_is_right() -> None:
    made, truth = planted(200, 200, {"a": {"accept": 0.95, "reject": 0.95}, "b": {"accept": 0.75, "reject": 0.75}})
    by_key: dict[str, set[Decision]] = {key: {one.decision for one in made if one.key == key} for key in truth}
    decided = {key: truth[key] for key, decisions in by_key.items() if len(decisions) > 1}
    alike = weighed(made).people
    assert abs(alike["a"].right - alike["b"].right) < 0.02, "nobody can tell from two people's differences"
    told = reliabilities(made, {}, JUDGED, decided)
    assert told is not None
    assert told.people["a"].right > told.people["b"].right + 0.1
    assert {key: told.tasks[key][right] for key, right in decided.items()} == dict.fromkeys(decided, 1.0)


def test_adjudicated_tasks_say_how_common_each_decision_is_and_gold_tasks_do_not() -> None:
    agreed: dict[str, Decision] = {f"k{number}": "accept" for number in range(10)}
    split: dict[str, Decision] = {f"m{number}": "reject" for number in range(10)}
    made = [*of("a", KNOWN | agreed | split), *of("b", KNOWN | agreed | dict.fromkeys(split, "accept"))]
    adjudicated, gold = reliabilities(made, KNOWN, JUDGED, split), reliabilities(made, KNOWN | split, JUDGED)
    assert adjudicated is not None
    assert gold is not None
    assert adjudicated.shares["reject"] == pytest.approx(0.5, abs=0.03)
    assert gold.shares["reject"] < 0.15
    assert adjudicated.people["a"].confuses == gold.people["a"].confuses


def test_where_people_correct_texts_a_fix_is_a_decision_too() -> None:
    corrects = JUDGED.model_copy(update={"writes": (Written(name="text", title="Text", corrects=True),)})
    made = reliabilities(of("a", {"k": "fix"}) + of("b", {"k": "fix"}), {}, corrects)
    assert made is not None
    assert max(made.tasks["k"], key=made.tasks["k"].__getitem__) == "fix"
    assert sum(made.tasks["k"].values()) == pytest.approx(1, abs=1e-3)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_order_of_decisions_changes_nothing(data: st.DataObject) -> None:
    keys = [*KNOWN, *(f"k{number}" for number in range(8))]
    places = data.draw(st.lists(st.tuples(st.sampled_from(keys), st.sampled_from("abc")), min_size=6, unique=True))
    made = [Given(key, by, data.draw(st.sampled_from(("accept", "reject")))) for key, by in places]
    first = reliabilities(made, KNOWN, JUDGED)
    assert reliabilities(data.draw(st.permutations(made)), KNOWN, JUDGED) == first
    for chances in first.tasks.values() if first else ():
        assert sum(chances.values()) == pytest.approx(1, abs=1e-3)


def task(number: int, known: str = "", **more: object) -> Task:
    values = {
        "key": f"k{number}", "rubric": "toy", "version": 1, "item_id": "i", "item_key": f"r{number}", "item_view": "v",
        "shown": {"text": str(number)}, "right_answers": {"supports": known} if known else {},
    }  # fmt: skip
    return Task.model_validate(values | more)


def judgement(on: Task, by: str, supports: str, readable: str = "yes") -> Annotation:
    return Annotation(
        task=on.id, key=on.key, rubric="toy", version=1, by=by, at="2026-11-02T09:00:00Z",
        answers={"supports": supports, "readable": readable}, source=f"{on.key}-{by}",
    )  # fmt: skip


def test_a_verdict_has_its_posterior_and_a_known_task_counts_by_what_is_known_of_it() -> None:
    one, gold = task(1), task(2, known="no")
    given_in = [judgement(one, by, "yes") for by in "ab"]
    # readable or not is not known of it: to say that it is not is no mistake, and no right answer
    given_in += [judgement(gold, "a", "no"), judgement(gold, "b", "yes", readable="no")]
    made = settle([one, gold], given_in, JUDGED, weigh=weigh)
    assert made.reliabilities is not None
    assert made.reliabilities.people["a"].right > made.reliabilities.people["b"].right
    (verdict,) = made.verdicts
    assert verdict.posterior == made.reliabilities.tasks["k1"]["accept"]
    assert verdict == Verdict.model_validate_json(verdict.model_dump_json())


def test_a_record_of_two_tasks_is_as_sure_as_both_are() -> None:
    pair = [task(1, item_key="r"), task(2, item_key="r")]
    given_in = [judgement(on, by, "yes") for on in pair for by in "abc"]
    made = settle(pair, given_in, JUDGED, weigh=weigh)
    assert made.reliabilities is not None
    (verdict,) = made.verdicts
    first, second = (made.reliabilities.tasks[key]["accept"] for key in ("k1", "k2"))
    assert verdict.posterior == pytest.approx(first * second, abs=1e-4)


def test_a_verdict_without_a_posterior_is_written_as_before() -> None:
    (verdict,) = settle([task(1)], [judgement(task(1), by, "yes") for by in "abc"], JUDGED).verdicts
    assert "posterior" not in json.loads(verdict.model_dump_json())
    assert "posterior" not in verdict.model_dump(mode="json")
