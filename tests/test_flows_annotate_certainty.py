"""With a certainty, a task goes to one person, and to others while its decision is unsure, by a real Label Studio."""

from collections import defaultdict
from pathlib import Path

import pytest

from annotation.adjudicate import NOTHING, adjudication_of
from annotation.value import by_value_of
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.work import works
from flows.construct.people import every
from flows.project.project import read_verdicts
from tests.label_studio import Served
from tests.team import words
from tests.test_flows_annotate_work import TWO, Bench
from tests.toy import WORDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
JUDGED = WORDS.model_copy(update={"writes": (), "people_per_item": 2})
THREE = {**TWO, "a3": "cara@example.org"}
SIZE, DRAWN, CERTAINTY = 24, 9, 0.8


def holders(bench: Bench, *, done: bool) -> dict[str, set[str]]:
    """By task, who has it to do, or has done it."""
    found: dict[str, set[str]] = defaultdict(set)
    for by in bench.people:
        for row in bench.queue(JUDGED.name, by):
            if bool(row["total_annotations"]) == done:
                found[row["data"]["ext_id"]].add(by)
    return found


def test_unsure_tasks_go_to_another_person_until_each_is_sure_or_nobody_is_left(
    label_studio: Served, tmp_path: Path
) -> None:
    bench = Bench(label_studio, tmp_path, THREE, every(JUDGED), overlap_first=DRAWN, certainty=CERTAINTY)
    project, client = bench.project(words(SIZE)), label_studio.client
    (work,) = works(project)
    by_value = by_value_of(work.tasks, work.rubric, CERTAINTY, DRAWN, {}, 3)
    assert by_value is not None
    assert push(project, client).shortages == []
    first = holders(bench, done=False)
    assert {key for key, people in first.items() if len(people) == 2} == by_value.fixed
    assert sum(map(len, first.values())) == SIZE + DRAWN

    # Everybody sees that each is a word; a3 says the contrary.
    for by, says in (("a1", "yes"), ("a2", "yes"), ("a3", "no")):
        bench.do_all(JUDGED.name, by, lambda data, says=says: {"decision": says})  # type: ignore[misc]
    (collected,) = pull(project, client)
    chances = collected.probabilities
    unsure = {
        key for key, people in first.items()
        if key not in by_value.fixed and chances[key]["reject" if people == {"a3"} else "accept"] < CERTAINTY
    }  # fmt: skip
    tied = {key for key in by_value.fixed if "a3" in first[key]}
    assert tied, "a3 and another say the contrary of each other"
    assert {one.key for one in collected.settlement.outcomes if one.state != "decided"} == unsure | tied
    assert {one.task.key for one in collected.disagreements} == tied, "a third person is asked to decide"
    assert unsure, "some are unsure"
    assert len(unsure) < SIZE - DRAWN, "one person is enough for others"
    assert push(project, client).shortages == []
    further = holders(bench, done=False)
    assert set(further) == unsure
    for key, people in further.items():
        assert len(people) == 1, "one at a time"
        assert not people & first[key], "somebody else"
    assert not any(queue.imported + queue.retired for queue in push(project, client).queues)

    rounds = 1
    deciding = adjudication_of(JUDGED).name
    decided = [bench.do_all(deciding, by, lambda data: {"decision": "yes", "use_as": NOTHING}) for by in THREE]
    assert sum(decided) == len(tied)
    while any(bench.do_all(JUDGED.name, by, lambda data: {"decision": "yes"}) for by in THREE):
        (collected,) = pull(project, client)
        push(project, client)
        rounds += 1
    assert rounds <= len(THREE) + 1, "what is decided of the tied ones changes how sure others are, once"
    assert {one.state for one in collected.settlement.outcomes} == {"decided"}
    verdicts = read_verdicts(project.out / "verdicts" / "toy-words.jsonl").values()
    assert len(verdicts) == SIZE
    sure = [one.posterior for one in verdicts if one.posterior is not None]
    assert len(sure) == SIZE - len(tied), "what was decided where people differ has none"
    assert all(0 < posterior < 1 for posterior in sure)
    given = holders(bench, done=True)
    assert max(map(len, given.values())) <= len(THREE)
    for outcome in collected.settlement.outcomes:
        assert outcome.verdict is not None
        if outcome.key not in by_value.fixed and len(given[outcome.key]) < len(THREE):
            assert (outcome.verdict.posterior or 0) >= CERTAINTY, "nobody else is asked once it is sure"
