"""Where people differ, the lead decides, by a real Label Studio: what the lead gets, and what comes of it."""

from pathlib import Path

import pytest

from annotation.adjudicate import KNOWN_ANSWER, NOTHING, WORKED_EXAMPLE, adjudication_of
from annotation.label_studio.sync import projects_of
from annotation.label_studio.task_data import NEWS
from annotation.settle import ADJUDICATOR_ANSWERED
from flows.annotate.first_queues import open_queues
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.construct.people import every
from flows.project.project import read_verdicts
from flows.project.settings import load_config, packaged
from tests.label_studio import Served
from tests.test_flows_annotate_work import ANIMALS, TWO, Bench
from tests.toy import WORDS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BOTH = WORDS.model_copy(update={"people_per_item": 2})
FORM = adjudication_of(BOTH)
LEAD = {**TWO, "lead": "lea@example.org"}


@pytest.fixture
def bench(label_studio: Served, tmp_path: Path) -> Bench:
    return Bench(label_studio, tmp_path, LEAD, every(BOTH), lead="lead")


def differ(bench: Bench, words: int) -> None:
    """Everybody does their tasks; a2 rejects the first words."""
    for by, rejects in (("a1", 0), ("a2", words)):
        rejected = ANIMALS[:rejects]
        bench.do_all(BOTH.name, by, lambda data, rejected=rejected: (  # type: ignore[misc]
            {"decision": "no"} if data["shown_text"] in rejected
            else {"decision": "yes", "upper": data["draft_upper"]}))  # fmt: skip


def test_two_people_differ_and_the_lead_decides(bench: Bench) -> None:
    project, client = bench.project(ANIMALS[:4]), bench.served.client
    push(project, client)
    assert [len(bench.queue(BOTH.name, by)) for by in LEAD] == [4, 4, 0]
    differ(bench, 3)
    (collected,) = pull(project, client)
    assert len(collected.disagreements) == 3
    assert sorted(one.decision for one in collected.settlement.verdicts) == ["accept"]
    push(project, client)
    asked = bench.queue(FORM.name, "lead")
    assert [len(bench.queue(FORM.name, by)) for by in TWO] == [0, 0]
    rows = {row["data"]["shown_text"]: row for row in asked}
    assert sorted(rows) == ANIMALS[:3]
    assert not [code for code in TWO if code in str(rows["animal"]["data"])]
    assert "First person" in rows["animal"]["data"][NEWS]
    uses = {"animal": KNOWN_ANSWER, "bnimal": WORKED_EXAMPLE, "cnimal": NOTHING}
    for word, use in uses.items():
        answers = {"decision": "no", "use_as": use} if word != "cnimal" else {
            "decision": "yes", "upper": "A CNIMAL", "use_as": use}  # fmt: skip
        bench.hand_in(rows[word], "lead", answers)
    line = next(one for one in progress(project, client) if (one.form, one.by) == ("deciding", "lead"))
    assert (line.to_pull, line.left) == (3, 0)
    (collected,) = pull(project, client)
    assert collected.excluded == []
    verdicts = read_verdicts(project.out / "verdicts" / "toy-words.jsonl").values()
    assert sorted((one.decision, one.by) for one in verdicts) == [
        ("accept", "a1, a2"), ("fix", "lead"), ("reject", "lead"), ("reject", "lead"),
    ]  # fmt: skip
    assert "lead" in (project.out / "annotations" / "hours.csv").read_text()

    # Somebody who comes later gets the known answer unmarked, and reads the example; the others do not.
    bench.people = {**LEAD, "a3": "cara@example.org"}
    project = bench.project(ANIMALS[:6])
    assert push(project, client).shortages == []
    known = [row for row in bench.queue(BOTH.name, "a3") if row["data"]["shown_text"] == "animal"]
    assert len(known) == 1
    assert set(known[0]["data"]) == set(bench.queue(BOTH.name, "a1")[0]["data"])
    assert [row["data"]["ext_id"] for by in TWO for row in bench.queue(BOTH.name, by)].count(
        known[0]["data"]["ext_id"]
    ) == 0
    page = projects_of(client, "toys")[f"toys/{BOTH.name}@1/a1"].instruction
    assert "<td>bnimal</td>" in page
    assert "<td>animal</td>" not in page
    bench.hand_in(known[0], "a3", {"decision": "yes", "upper": "ANIMAL"})
    (collected,) = pull(project, client)
    scores = {one.by: one.gold for one in progress(project, client) if one.form == "work"}
    assert (scores["a3"].right, scores["a3"].answered) == (0, 1)
    assert scores["a1"].answered == scores["a2"].answered == 0
    assert [len(bench.queue(FORM.name, by)) for by in bench.people] == [0, 0, 3, 0]
    done = push(project, client)
    assert not any(one.imported + one.updated + one.retired + one.revived for one in done.queues)


def test_without_a_lead_a_third_person_decides_or_nobody_can(bench: Bench) -> None:
    bench.lead, bench.people = None, TWO
    project, client = bench.project(ANIMALS[:2]), bench.served.client
    push(project, client)
    differ(bench, 1)
    pull(project, client)
    told = f"{FORM.name}: tasks that need 1 person and have 0: 1; nobody else can take them"
    assert any(line.startswith(told) for line in push(project, client).shortages)
    bench.people = {**TWO, "a3": "cara@example.org"}
    project = bench.project(ANIMALS[:2])
    assert push(project, client).shortages == []
    (row,) = bench.queue(FORM.name, "a3")
    assert [bench.queue(FORM.name, by) for by in TWO] == [[], []]
    bench.hand_in(row, "a3", {"decision": "no", "use_as": NOTHING})
    pull(project, client)
    assert {one.by for one in read_verdicts(project.out / "verdicts" / "toy-words.jsonl").values()} == {"a1, a2", "a3"}
    # A lead who is named later does not decide again.
    bench.lead = "a3"
    done = push(bench.project(ANIMALS[:2]), client)
    assert not any(one.imported + one.updated + one.retired + one.revived for one in done.queues)


def test_in_everybodys_queue_who_differed_does_not_decide(bench: Bench) -> None:
    bench.lead, bench.people = None, {}
    project, client = bench.project(ANIMALS[:1]), bench.served.client
    push(project, client)
    client.sign_up("ann@example.org", "a long password 1")
    owner = "owner@touchstone.local"
    (row,) = bench.queue(BOTH.name, "all")
    bench.hand_in(row, owner, {"decision": "no"})
    bench.hand_in(row, "ann@example.org", {"decision": "yes", "upper": "ANIMAL"})
    pull(project, client)
    push(project, client)
    (asked,) = bench.queue(FORM.name, "all")
    bench.hand_in(asked, owner, {"decision": "no", "use_as": NOTHING})
    (collected,) = pull(project, client)
    assert [one.reason for one in collected.excluded] == [ADJUDICATOR_ANSWERED]
    assert collected.settlement.verdicts == ()
    push(project, client)
    again = [row for row in bench.queue(FORM.name, "all") if not row["total_annotations"]]
    client.sign_up("bea@example.org", "a long password 2")
    bench.hand_in(again[0], "bea@example.org", {"decision": "no", "use_as": NOTHING})
    (collected,) = pull(project, client)
    assert [one.decision for one in collected.settlement.verdicts] == ["reject"]


def test_the_lead_has_a_project_for_deciding_before_a_build(bench: Bench) -> None:
    config = load_config(packaged("sample.yaml"))
    config = config.model_copy(
        update={"annotation": config.annotation.model_copy(update={"people": LEAD, "lead": "lead"})}
    )
    assert open_queues(config, bench.served.client)
    forms = {name.split("/")[1].partition("@")[0] for name in projects_of(bench.served.client, config.name)
             if name.endswith("/lead")}  # fmt: skip
    assert forms
    assert all(form.endswith("-adjudication") for form in forms)
    assert open_queues(config, bench.served.client) == 0


def test_a_form_for_more_people_than_there_are_is_decided_all_the_same(bench: Bench) -> None:
    bench.part = every(BOTH.model_copy(update={"people_per_item": 3}))
    project, client = bench.project(ANIMALS[:4]), bench.served.client
    lacking = f"{BOTH.name}: tasks that need 3 people and have 2: "
    assert [line[: len(lacking) + 1] for line in push(project, client).shortages] == [f"{lacking}4"]
    differ(bench, 1)
    (collected,) = pull(project, client)
    assert [one.by for one in collected.settlement.verdicts] == ["a1, a2"] * 3
    assert push(project, client).shortages == [], "three are decided, and the lead has the other"
    (row,) = bench.queue(FORM.name, "lead")
    assert row["data"]["shown_text"] == "animal"
    bench.hand_in(row, "lead", {"decision": "no", "use_as": NOTHING})
    pull(project, client)
    verdicts = read_verdicts(project.out / "verdicts" / "toy-words.jsonl").values()
    assert sorted((one.decision, one.by) for one in verdicts) == [("accept", "a1, a2")] * 3 + [("reject", "lead")]
    assert push(project, client).shortages == []
