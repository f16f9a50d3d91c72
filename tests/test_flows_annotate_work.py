"""People's work on a build, by a real Label Studio: who gets what, what counts, and what comes of it."""

import asyncio
import dataclasses
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from annotation.label_studio.sync import is_retired, projects_of, tasks_of
from annotation.practice import PRACTICE
from annotation.review import review_of, revision_of
from flows.annotate.first_queues import open_queues
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.construct.embed import SentenceBert
from flows.construct.people import People, every, sample
from flows.project.annotation_settings import AnnotationSettings, StrangersSettings
from flows.project.project import read_verdicts
from flows.project.settings import load_config, packaged
from schemas.annotation import Finding
from schemas.rubric import Survey, Task, task_of
from tests.label_studio import Served
from tests.toy import FAMILY, WORDS, NoEmbedder, Word, run_all, toy_build

ANIMALS = [f"{letter}nimal" for letter in "abcdefghij"]
TWO = {"a1": "anna@example.org", "a2": "ben@example.org"}


@dataclasses.dataclass
class Bench:
    """A build of the toy family whose words people see, on a server of its own."""

    served: Served
    folder: Path
    people: Mapping[str, str]
    part: People
    overlap_first: int = 0
    gold_share: float = 0.1
    surveys: Mapping[str, Survey] = dataclasses.field(default_factory=dict)
    lead: str | None = None
    certainty: float | None = None
    strangers: StrangersSettings | None = None

    def project(self, words: Sequence[str] = ANIMALS, limit: int | None = None) -> Any:
        build = toy_build(self.folder, list(words))
        asyncio.run(run_all(build))
        (self.folder / WORDS.guideline).write_text("# Words\n\nSay whether it is one.\n", encoding="utf-8")
        parts = tuple(dataclasses.replace(one, people=self.part if one.people else None) for one in FAMILY.parts)
        family = dataclasses.replace(FAMILY, parts=parts, folder=self.folder)
        build.families["toy"] = dataclasses.replace(build.families["toy"], family=family)
        annotation = AnnotationSettings(
            people=self.people,
            overlap_first=self.overlap_first,
            gold_share=self.gold_share,
            surveys=self.surveys,
            lead=self.lead,
            certainty=self.certainty,
            strangers=self.strangers,
        )
        config = SimpleNamespace(name="toys", seed=3, annotation=annotation, state=self.served.folder.parent)
        return SimpleNamespace(
            build=build,
            config=config,
            limit=limit,
            out=self.folder / "out",
            state=self.served.folder.parent,
            embedder=NoEmbedder(),
            bert=SentenceBert(),
            close=lambda: None,
        )

    def queue(self, rubric: str, by: str) -> list[dict[str, Any]]:
        """The tasks that a person has to do or has done."""
        for name, info in projects_of(self.served.client, "toys").items():
            if name.split("/")[1].partition("@")[0] == rubric and name.endswith(f"/{by}"):
                return [row for row in tasks_of(self.served.client, info) if not is_retired(row)]
        return []

    def hand_in(self, row: Mapping[str, Any], by: str, answers: Mapping[str, str]) -> None:
        """As if the person had filled the form."""
        users = self.served.client.users()
        result = [
            {"from_name": name, "to_name": "shown-text", "type": "textarea", "value": {"text": [answer]}}
            if name in ("upper", "review_comment", "why_unchanged", "question-to-engineer")
            else {"from_name": name, "to_name": "shown-text", "type": "choices", "value": {"choices": [answer]}}
            for name, answer in answers.items()
        ]
        content = {"result": result, "completed_by": users[self.people.get(by, by)], "lead_time": 90.0}
        self.served.client._request("POST", f"api/tasks/{row['id']}/annotations/", json=content)

    def do_all(self, rubric: str, by: str, answers: Callable[[dict[str, Any]], Mapping[str, str]]) -> int:
        left = [row for row in self.queue(rubric, by) if not row["total_annotations"]]
        for row in left:
            self.hand_in(row, by, answers(row["data"]))
        return len(left)


@pytest.fixture
def bench(label_studio: Served, tmp_path: Path) -> Bench:
    return Bench(label_studio, tmp_path, TWO, every(WORDS))


def verdicts(project: Any) -> dict[str, str]:
    found = read_verdicts(project.out / "verdicts" / "toy-words.jsonl")
    texts = {word.key: word.text for word in project.build.accepted("toy", "words")}
    return {texts[key]: one.decision for key, one in found.items()}


def right(data: dict[str, Any]) -> Mapping[str, str]:
    return {"decision": "yes", "upper": data["draft_upper"]}


@pytest.mark.slow
def test_each_person_has_a_queue_and_their_work_becomes_verdicts(bench: Bench) -> None:
    project = bench.project()
    done = push(project, bench.served.client)
    assert sorted(one.wanted for one in done.queues) == [5, 5]
    first = bench.queue("toy-words", "a1")
    assert not {row["data"]["ext_id"] for row in first} & {
        row["data"]["ext_id"] for row in bench.queue("toy-words", "a2")
    }
    bench.hand_in(first[0], "a1", {"decision": "yes", "upper": "MENDED"})
    bench.hand_in(first[1], "a1", {"decision": "no"})
    bench.hand_in(first[2], "a2", {"decision": "yes"})  # not hers to do
    bench.hand_in(first[3], "a1", {"decision": "perhaps"})
    bench.hand_in(first[4], "owner@touchstone.local", {"decision": "yes"})
    before = {one.by: (one.done, one.to_pull, one.left) for one in progress(project, bench.served.client)}
    assert before == {"a1": (0, 5, 0), "a2": (0, 0, 5)}
    (collected,) = pull(project, bench.served.client)
    assert {one.to_pull for one in progress(project, bench.served.client)} == {0}
    keys = {word.key for word in project.build.accepted("toy", "words")}
    assert {one.item for one in (*collected.settlement.counted, *collected.excluded)} < keys
    reasons = sorted(one.reason for one in (*collected.excluded, *collected.settlement.excluded))
    assert reasons == ["somebody else's queue", "somebody else's queue", "unknown option"]
    assert sorted(verdicts(project).values()) == ["fix", "reject"]
    lines = (project.out / "annotations" / "toy-words.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["by"] for line in lines] == ["a1", "a1"]
    assert "@" not in "".join(lines), "people are codes"
    again = push(project, bench.served.client)
    assert [(one.imported, one.retired, one.kept) for one in again.queues] == [(3, 3, 2), (0, 0, 5)]
    standings = {one.by: (one.done, one.left, one.minutes) for one in progress(project, bench.served.client)}
    assert standings == {"a1": (2, 3, 1.5), "a2": (0, 5, None)}


@pytest.mark.slow
def test_a_task_made_by_hand_is_no_work_to_pull(bench: Bench) -> None:
    project, client = bench.project(ANIMALS[:2]), bench.served.client
    push(project, client)
    (row,) = bench.queue("toy-words", "a1")
    queue = projects_of(client, "toys")["toys/toy-words@1/a1"].id
    client.import_tasks(queue, [{"data": {**row["data"], "ext_id": "by hand", "view_hash": "by hand"}}])
    (by_hand,) = (other for other in bench.queue("toy-words", "a1") if other["id"] != row["id"])
    bench.hand_in(by_hand, "a1", right(by_hand["data"]))
    told = {one.by: (one.done, one.to_pull, one.left) for one in progress(project, client)}
    assert told == {"a1": (0, 0, 1), "a2": (0, 0, 1)}


@pytest.mark.slow
def test_two_people_at_work_at_once_lose_nothing(bench: Bench) -> None:
    project = bench.project()
    push(project, bench.served.client)
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda by: bench.do_all("toy-words", by, right), TWO))
        pull(project, bench.served.client)  # in between, or after them
    assert done == [5, 5]
    pull(project, bench.served.client)
    assert verdicts(project) == dict.fromkeys(ANIMALS, "accept")


@pytest.mark.slow
def test_a_pilot_leaves_the_queues_of_the_whole_build_alone(bench: Bench) -> None:
    push(bench.project(), bench.served.client)
    done = push(bench.project(ANIMALS[:2], limit=2), bench.served.client)
    assert sum(one.imported for one in done.queues) == 2
    assert sum(one.retired for one in done.queues) == 0
    assert [len(bench.queue("toy-words", by)) for by in TWO] == [5, 5]


@pytest.mark.slow
def test_projects_are_there_before_a_build_and_a_push_fills_them(bench: Bench) -> None:
    config = load_config(packaged("charpeval.yaml"))
    assert open_queues(config, bench.served.client) == 2
    assert open_queues(config, bench.served.client) == 0
    there = projects_of(bench.served.client, config.name)
    assert {name.split("/")[1].partition("@")[0] for name in there} == {"charpeval-utterance", "charpeval-authoring"}
    assert all("<h1>" in one.instruction for one in there.values())


@pytest.mark.slow
def test_what_changed_after_its_annotation_goes_out_anew(bench: Bench) -> None:
    project = bench.project(ANIMALS[:4])
    push(project, bench.served.client)
    for by in TWO:
        bench.do_all("toy-words", by, right)
    pull(project, bench.served.client)
    assert set(verdicts(project).values()) == {"accept"}
    changed = bench.project(["ant", *ANIMALS[1:4]])  # the first line is another word, under the same key
    done = push(changed, bench.served.client)
    assert (sum(one.imported for one in done.queues), sum(one.retired for one in done.queues)) == (1, 1)
    (collected,) = pull(changed, bench.served.client)
    assert [one.reason for one in collected.settlement.excluded] == ["earlier view"]
    assert set(verdicts(changed)) == set(ANIMALS[1:4])


REVIEW = review_of(WORDS)


def shouted(record: Word, answers: Mapping[str, str], embedder: Any) -> list[Finding]:
    text = answers.get("upper", "")
    return [] if text.isupper() else [Finding(name="upper", problem="not in capitals", rejects=True)]


@pytest.mark.slow
def test_work_goes_to_a_reviewer_back_to_its_author_and_to_a_verdict(bench: Bench) -> None:
    bench.part = every(WORDS, checks=shouted, review=REVIEW)
    project = bench.project(ANIMALS[:2])
    client = bench.served.client
    push(project, client)
    (task,) = bench.queue("toy-words", "a1")
    bench.hand_in(task, "a1", {"decision": "yes", "upper": "quiet"})
    pull(project, client)
    push(project, client)
    revision = revision_of(WORDS).name
    (back,) = bench.queue(revision, "a1")  # a check sent it back, nobody reviewed it
    assert "not in capitals" in back["data"]["shown_review_comment"]
    assert back["data"]["draft_upper"] == "quiet"
    assert bench.queue(REVIEW.name, "a2") == []
    bench.hand_in(back, "a1", {"decision": "yes", "upper": "LOUD"})
    pull(project, client)
    push(project, client)
    assert bench.queue(REVIEW.name, "a1") == [], "nobody reviews their own"
    (asked,) = bench.queue(REVIEW.name, "a2")
    assert asked["data"]["shown_author_upper"] == "LOUD"
    bench.hand_in(asked, "a2", {"upper_decision": "reject", "review_comment": "Louder, please."})
    pull(project, client)
    push(project, client)
    rows = [row for row in bench.queue(revision, "a1") if not row["total_annotations"]]
    assert [row["data"]["shown_review_comment"] for row in rows] == ["Rejected: In capitals\nLouder, please."]
    bench.hand_in(rows[0], "a1", {"decision": "yes", "upper": "LOUDER"})
    pull(project, client)
    push(project, client)
    rows = [row for row in bench.queue(REVIEW.name, "a2") if not row["total_annotations"]]
    bench.hand_in(rows[0], "a2", {"upper_decision": "accept", "upper": "LOUDER"})
    pull(project, client)
    (verdict,) = read_verdicts(project.out / "verdicts" / "toy-words.jsonl").values()
    assert (verdict.decision, verdict.changes, verdict.by, verdict.reviewed_by) == (
        "fix", {"upper": "LOUDER"}, "a1", "a2",
    )  # fmt: skip
    # A check sent the first version back, the reviewer the second; the third was accepted.
    told = {(one.form, one.by): (one.returned, one.rejected) for one in progress(project, client)}
    assert (told["work", "a1"], told["revision", "a1"], told["review", "a2"]) == ((1, 1.0), (2, 0.5), (0, None))


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 3])
def test_who_writes_a_record_reviews_it_for_others_only_where_nobody_else_is(bench: Bench, number: int) -> None:
    bench.people = dict(list({**TWO, "a3": "cara@example.org"}.items())[:number])
    bench.part = every(WORDS.model_copy(update={"overlaps": True}), review=REVIEW)
    bench.overlap_first = 3
    project, client = bench.project(ANIMALS[:3]), bench.served.client
    push(project, client)
    writers: dict[str, set[str]] = defaultdict(set)
    for by in bench.people:
        for row in bench.queue("toy-words", by):
            writers[row["data"]["item_key"]].add(by)
    assert [len(people) for people in writers.values()] == [2, 2, 2]
    bench.do_all("toy-words", "a1", right)
    pull(project, client)
    push(project, client)
    if number == 2:
        assert bench.queue(REVIEW.name, "a2") == [], "nobody sees another's text before theirs is written"
    for by in list(bench.people)[1:]:
        bench.do_all("toy-words", by, right)
    pull(project, client)
    push(project, client)
    reviewed = [(row["data"]["item_key"], by) for by in bench.people for row in bench.queue(REVIEW.name, by)]
    assert len(reviewed) == 6
    if number == 3:
        assert not [by for item, by in reviewed if by in writers[item]]


@pytest.mark.slow
def test_what_does_not_count_goes_out_anew_and_what_counted_stays(bench: Bench) -> None:
    project, client = bench.project(ANIMALS[:4]), bench.served.client
    push(project, client)
    first, second = bench.queue("toy-words", "a1")
    # Somebody works in another's queue; somebody's work is changed by another.
    bench.hand_in(first, "a2", right(first["data"]))
    bench.hand_in(second, "a1", right(second["data"]))
    (own,) = client.annotations(second["id"])
    pull(project, client)
    time.sleep(1.5)
    client._request("PATCH", f"api/annotations/{own['id']}/", json={"result": []})
    (collected,) = pull(project, client)
    assert Counter(one.reason for one in collected.excluded) == {
        "somebody else's queue": 1,
        "changed by somebody else": 1,
    }
    assert collected.notes == ["kept as before, since the change would make it count no more: 1 annotation"]
    assert [one.by for one in collected.settlement.counted] == ["a1"]
    done = push(project, client)
    assert sum(one.imported for one in done.queues) == 1
    again = [row for row in bench.queue("toy-words", "a1") if not row["total_annotations"]]
    assert [row["data"]["ext_id"] for row in again] == [first["data"]["ext_id"]]
    assert [one.imported + one.retired for one in push(project, client).queues] == [0, 0]
    bench.hand_in(again[0], "a1", right(again[0]["data"]))
    (collected,) = pull(project, client)
    assert [one.by for one in collected.settlement.counted] == ["a1", "a1"]


@pytest.mark.slow
def test_what_was_done_before_people_were_named_is_theirs(bench: Bench) -> None:
    client = bench.served.client
    bench.people = {}
    project = bench.project(ANIMALS[:3])
    push(project, client)
    client.sign_up("ann@example.org", "a long password 1")
    rows = bench.queue("toy-words", "all")
    bench.hand_in(rows[0], "ann@example.org", right(rows[0]["data"]))
    pull(project, client)
    bench.people = {"a1": "ann@example.org"}
    project = bench.project(ANIMALS[:3])
    push(project, client)
    assert len(bench.queue("toy-words", "a1")) == 2, "what is done is not asked again"
    (row, _) = bench.queue("toy-words", "a1")
    bench.hand_in(row, "a1", right(row["data"]))
    pull(project, client)
    (line,) = [one for one in progress(project, client) if one.form == "work"]
    assert (line.by, line.done, line.left) == ("a1", 2, 1)
    client._request("DELETE", f"api/tasks/{row['id']}/")
    (collected,) = pull(project, client)
    assert collected.excluded == []
    assert [one.by for one in collected.settlement.counted] == ["a1", "a1"]


def judged(records: Iterable[Any], seed: int) -> list[Task]:
    return [task_of(one, JUDGED, {"text": one.text}, sample="words") for one in records]


def known(records: Iterable[Any], tasks: Sequence[Task], seed: int) -> list[Task]:
    return [
        task_of(one, JUDGED, {"text": f"{one.text} {turn}"}, sample=f"known {turn}", right_answers={"decision": answer})
        for one in records
        for turn, answer in enumerate(("yes", "no"))
    ]


JUDGED = WORDS.model_copy(update={"name": "toy-judged", "writes": (), "validation_share": 0.1, "pass_share": 0.9})


@pytest.mark.slow
def test_practice_comes_first_and_who_fails_the_known_items_is_set_aside(bench: Bench) -> None:
    bench.part, bench.gold_share = sample(JUDGED, judged, known), 0.6
    project, client = bench.project(), bench.served.client
    answers = {
        one.shown["text"]: one.right_answers["decision"] for one in known(project.build.accepted("toy", "words"), (), 3)
    }
    push(project, client)
    practice = f"{JUDGED.name}-{PRACTICE}"
    assert [len(bench.queue(practice, by)) for by in TWO] == [5, 5]
    assert [len(bench.queue(JUDGED.name, by)) for by in TWO] == [0, 0]
    bench.do_all(practice, "a1", lambda data: {"decision": answers[data["shown_text"]]})
    bench.do_all(practice, "a2", lambda data: {"decision": "yes"})
    pull(project, client)
    push(project, client)
    assert len(bench.queue(JUDGED.name, "a1")) > 5
    assert bench.queue(JUDGED.name, "a2") == []
    told = [row["data"]["shown_feedback"] for row in bench.queue(practice, "a2") if not row["total_annotations"]]
    assert told
    assert all("The correct answer is “no”." in text for text in told)
    bench.do_all(practice, "a2", lambda data: {"decision": answers[data["shown_text"]]})
    pull(project, client)
    push(project, client)
    rows = bench.queue(JUDGED.name, "a2")
    assert {row["data"]["shown_text"] for row in rows} & set(answers), "known items are among them"
    assert all(set(row["data"]) == set(rows[0]["data"]) for row in rows), "nothing tells them apart"
    for by, sure in (("a1", True), ("a2", False)):
        bench.do_all(JUDGED.name, by, lambda data, sure=sure: {
            "decision": answers.get(data["shown_text"], "yes") if sure else "no"})  # type: ignore[misc]  # fmt: skip
    (collected,) = pull(project, client)
    assert collected.suspended == {"a2"}
    push(project, client)
    assert bench.queue(JUDGED.name, "a2") == []
    again = [row for row in bench.queue(JUDGED.name, "a1") if not row["total_annotations"]]
    assert again, "what a2 judged goes out to a1"


@pytest.mark.slow
def test_without_named_people_there_is_one_queue_with_the_same_rules(bench: Bench) -> None:
    bench.people = {}
    project, client = bench.project(), bench.served.client
    (done,) = push(project, client).queues
    assert (done.wanted, done.imported) == (10, 10)
    owner = "owner@touchstone.local"
    for row in bench.queue("toy-words", "all")[:3]:
        bench.hand_in(row, owner, right(row["data"]))
    pull(project, client)
    assert list(verdicts(project).values()) == ["accept"] * 3
