"""What somebody does by hand to the server or to our files, and what breaks off: one clear line, and nothing lost."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation.label_studio.answers import unchecked_answers
from annotation.label_studio.listener import mark, marked
from annotation.label_studio.sync import projects_of, tasks_of
from annotation.latest import ANOTHER_VERSION, TAKEN_BACK, UNKNOWN_PERSON
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.work import last_pull, read_annotations
from flows.construct.people import every
from schemas.errors import Failed, WrongInput
from schemas.rubric import Choice
from tests.label_studio import Served, SharedServer
from tests.test_flows_annotate_work import ANIMALS, TWO, Bench, right, verdicts
from tests.toy import WORDS

Made = tuple[Bench, Any, Any]


@pytest.fixture
def bench(label_studio: Served, tmp_path: Path) -> Bench:
    return Bench(label_studio, tmp_path, TWO, every(WORDS))


@pytest.fixture(scope="module")
def pulled(shared_label_studio: SharedServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six words among two people, who have done theirs, pulled: the build, and what the server knows."""
    place = tmp_path_factory.mktemp("pulled")
    with shared_label_studio.emptied(place / "state" / "label-studio") as server:
        bench = Bench(server, place / "build", TWO, every(WORDS))
        bench.folder.mkdir()
        project = bench.project(ANIMALS[:6])
        push(project, server.client)
        for by in TWO:
            bench.do_all("toy-words", by, right)
        pull(project, server.client)
        assert set(verdicts(project).values()) == {"accept"}
        shared_label_studio.save(place / "server")
    return place


@pytest.fixture
def made(pulled: Path, shared_label_studio: SharedServer, tmp_path: Path) -> Iterator[Made]:
    """A copy of `pulled`."""
    shutil.copytree(pulled / "build", tmp_path / "build")
    with shared_label_studio.emptied(tmp_path / "state" / "label-studio", pulled / "server") as server:
        bench = Bench(server, tmp_path / "build", TWO, every(WORDS))
        yield bench, bench.project(ANIMALS[:6]), server.client


def files(project: Any) -> dict[str, bytes]:
    """What pulls have written."""
    return {
        str(path.relative_to(project.out)): path.read_bytes()
        for folder in ("annotations", "verdicts")
        for path in sorted((project.out / folder).iterdir())
    }


def test_answers_to_another_form_are_kept_whatever_it_asked() -> None:
    result = [
        {"from_name": "kind", "type": "choices", "value": {"choices": ["word"]}},
        {"from_name": "tags", "type": "choices", "value": {"choices": ["one", "two"]}},
        {"from_name": "said", "type": "textarea", "value": {"text": ["A line.", "Another."]}},
        {"from_name": "keyword", "type": "labels", "value": {"start": 0, "end": 3, "text": "ant"}},
        {"from_name": "keyword", "type": "labels", "value": {"start": 4, "end": 7, "text": "bee"}},
        {"from_name": "stars", "type": "rating", "value": {"rating": 4}},
        {"from_name": "question-to-engineer", "type": "textarea", "value": {"text": ["Why?"]}},
        {"from_name": "broken", "type": "choices", "value": None},
    ]
    found = unchecked_answers({"result": result})
    assert found.answers == {"kind": "word", "tags": "one\ntwo", "said": "A line.\nAnother.", "stars": '{"rating": 4}'}
    assert (found.marks, found.question) == ({"keyword": ("ant", "bee")}, "Why?")


@pytest.mark.slow
def test_a_project_deleted_by_hand_takes_no_work_with_it(made: Made) -> None:
    bench, project, client = made
    before = files(project)
    info = projects_of(client, "toys")["toys/toy-words@1/a1"]
    client._request("DELETE", f"api/projects/{info.id}/")
    (collected,) = pull(project, client)
    assert collected.notes == ["kept, though their tasks are gone from the server: 3 annotations"]
    assert files(project) == before
    done = push(project, client)
    assert [(one.imported, one.kept) for one in done.queues] == [(0, 3)], "what a1 did is not asked again"
    assert [(one.by, one.done, one.left) for one in progress(project, client)] == [("a1", 3, 0), ("a2", 3, 0)]
    bench.project(ANIMALS[:8])  # two words more: a1's project is made anew for hers
    done = push(bench.project(ANIMALS[:8]), client)
    assert {one.queue: (one.imported, one.kept) for one in done.queues} == {
        "toys/toy-words@1/a1": (1, 0), "toys/toy-words@1/a2": (1, 3),
    }  # fmt: skip
    pull(project, client)
    assert files(project) == before


@pytest.mark.slow
def test_work_in_a_second_project_of_a_queue_counts_and_is_not_asked_again(bench: Bench) -> None:
    client = bench.served.client
    project = bench.project(ANIMALS[:6])
    push(project, client)
    first = projects_of(client, "toys")["toys/toy-words@1/a1"]
    second = client.make_project(first.title, first.label_config, description=first.description)
    rows = bench.queue("toy-words", "a1")
    client.import_tasks(second, [{"data": row["data"]} for row in rows])
    doubles = client.list_tasks(second)
    bench.hand_in(rows[0], "a1", right(rows[0]["data"]))
    bench.hand_in(doubles[1], "a1", right(doubles[1]["data"]))
    (collected,) = pull(project, client)
    assert len(collected.settlement.verdicts) == 2
    (note,) = collected.notes
    assert f"projects {first.id}, {second}; work in all of them counts" in note
    done = {one.project: (one.kept, one.retired, one.notes) for one in push(project, client).queues}
    assert done[first.id] == (2, 1, []), "what was done in the second is not asked again"
    assert done[second] == (0, 3, ["a second project, made by another push at the same time"])
    assert [(one.by, one.done, one.left) for one in progress(project, client)] == [("a1", 2, 1), ("a2", 0, 3)]
    again = {one.project: (one.kept, one.retired) for one in push(project, client).queues}
    assert again == {first.id: (2, 0), projects_of(client, "toys")["toys/toy-words@1/a2"].id: (3, 0)}
    pull(project, client)
    assert len(verdicts(project)) == 2


@pytest.mark.slow
def test_tasks_deleted_by_hand_come_back_where_they_were_not_done(made: Made) -> None:
    bench, _, client = made
    more = bench.project(ANIMALS[:8])
    push(more, client)
    there = projects_of(client, "toys")["toys/toy-words@1/a1"]
    for row in tasks_of(client, there):
        client._request("DELETE", f"api/tasks/{row['id']}/")
    (collected,) = pull(more, client)
    assert len(collected.settlement.verdicts) == 6
    done = {one.queue: one.imported for one in push(more, client).queues}
    assert done == {"toys/toy-words@1/a1": 1, "toys/toy-words@1/a2": 0}
    bench.do_all("toy-words", "a1", right)
    (collected,) = pull(more, client)
    assert len(collected.settlement.verdicts) == 7


@pytest.mark.slow
def test_what_its_person_takes_back_does_not_count_and_is_written_down(made: Made) -> None:
    bench, project, client = made
    row = bench.queue("toy-words", "a1")[0]
    (annotation,) = client.annotations(row["id"])
    client.delete_annotation(annotation["id"])
    (collected,) = pull(project, client)
    assert [(one.reason, one.by) for one in collected.excluded] == [(TAKEN_BACK, "a1")]
    assert "NIMAL" in collected.excluded[0].evidence, "with what was written"
    assert len(collected.settlement.verdicts) == len(verdicts(project)) == 5
    (again,) = pull(project, client)
    assert again.excluded == collected.excluded, "as long as the files are there"
    assert [one.left for one in progress(project, client)] == [1, 0]


@pytest.mark.slow
def test_a_form_edited_by_hand_is_put_back_and_what_was_answered_by_it_is_set_apart(bench: Bench) -> None:
    project, client = bench.project(ANIMALS[:4]), bench.served.client
    push(project, client)
    there = projects_of(client, "toys")["toys/toy-words@1/a1"]
    client.set_config(there.id, there.label_config.replace('alias="no"', 'alias="never"'))
    first, second = bench.queue("toy-words", "a1")
    bench.hand_in(first, "a1", {"decision": "never"})
    bench.hand_in(second, "a1", {"decision": "yes"})
    (collected,) = pull(project, client)
    assert [(one.reason, one.evidence) for one in collected.excluded] == [("unknown option", "decision: never")]
    assert list(verdicts(project).values()) == ["accept"]
    notes = {one.queue: one.notes for one in push(project, client).queues}
    assert notes["toys/toy-words@1/a1"] == [
        "its form was not as declared; it was restored",
        "1 tasks go out once more: the work on them does not count",
    ]
    assert client.project(there.id).label_config == there.label_config


def changed(version: int) -> Any:
    """The rubric, asking otherwise."""
    ask = Choice(name="kind", question="What is it?", options=("word", "none"), accepts=("word",))
    return every(WORDS.model_copy(update={"version": version, "asks": (ask,)}))


@pytest.mark.slow
def test_a_raised_version_has_projects_of_its_own_and_the_old_answers_are_kept(made: Made) -> None:
    bench, _, client = made
    bench.part = changed(2)
    more = bench.project(ANIMALS[:7])
    done = {one.queue: (one.imported, one.retired) for one in push(more, client).queues}
    new = [done.pop(f"toys/toy-words@2/{by}") for by in TWO]
    assert sorted(new) == [(3, 0), (4, 0)]
    assert done == {f"toys/toy-words@1/{by}": (0, 3) for by in TWO}
    (collected,) = pull(more, client)
    assert [one.reason for one in collected.settlement.excluded] == [ANOTHER_VERSION] * 6
    old = read_annotations(more, "toy-words")
    assert [(one.version, one.answers["decision"]) for one in old] == [(1, "yes")] * 6, "by questions nobody asks now"
    for row in tasks_of(client, projects_of(client, "toys")["toys/toy-words@2/a1"]):
        bench.hand_in(row, "a1", {"kind": "word"})
    (collected,) = pull(more, client)
    assert {one.decision for one in collected.settlement.verdicts} == {"accept"}
    again = push(more, client)
    assert not any(one.imported or one.retired for one in again.queues)


@pytest.mark.slow
def test_a_form_that_changed_without_its_version_is_refused_where_work_stands_in_the_way(made: Made) -> None:
    bench, project, client = made
    before = files(project)
    bench.part = changed(1)
    more = bench.project(ANIMALS[:6])
    with pytest.raises(Failed, match="raise the rubric's version, then a new project takes over"):
        push(more, client)
    bench.part = every(WORDS)
    pull(project, client)
    assert files(project) == before


@pytest.mark.slow
def test_who_is_no_longer_named_has_no_open_tasks_and_what_they_did_stays(made: Made) -> None:
    bench, project, client = made
    bench.people = {"a1": TWO["a1"]}
    project = bench.project(ANIMALS[:6])
    done = {one.queue: (one.imported, one.retired) for one in push(project, client).queues}
    assert done["toys/toy-words@1/a2"] == (0, 3)
    assert done["toys/toy-words@1/a1"] == (3, 0), "hers go to who is there"
    (collected,) = pull(project, client)
    assert set(verdicts(project)) == set(ANIMALS[:6]), "her verdicts stay until there are others"
    assert [(one.reason, one.by) for one in collected.settlement.excluded] == [(UNKNOWN_PERSON, "a2")] * 3
    assert [one.by for one in read_annotations(project, "toy-words")].count("a2") == 3


# ---- our files ----


@pytest.mark.slow
def test_a_damaged_annotations_file_is_named_and_mended_by_a_pull(made: Made) -> None:
    _, project, client = made
    path = project.out / "annotations" / "toy-words.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    for work in (lambda: last_pull(project), lambda: push(project, client), lambda: progress(project, client)):
        with pytest.raises(WrongInput, match=r"toy-words.jsonl: line 6: .*`touchstone annotate pull`"):
            work()  # type: ignore[no-untyped-call]
    (collected,) = pull(project, client)
    assert path.read_bytes() == whole
    (note,) = collected.notes
    assert "line 6" in note
    copy = path.with_name("toy-words.jsonl.damaged-1")
    assert copy.read_bytes() == whole[:-20]
    path.write_text('{"task": 1}\n')
    with pytest.raises(WrongInput, match="line 1: task: Input should be a valid string"):
        last_pull(project)


@pytest.mark.slow
def test_a_damaged_verdicts_file_is_named_and_left_as_it_is(made: Made) -> None:
    """It may have been written by hand, and no server has a copy."""
    _, project, client = made
    path = project.out / "verdicts" / "toy-words.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "k", "decision": "perhaps"}\n')
    for work in (pull, push):
        with pytest.raises(WrongInput, match=r"verdicts/toy-words.jsonl: line 7: .*correct the verdict"):
            work(project, client)
    assert path.read_bytes() == whole + b'{"key": "k", "decision": "perhaps"}\n'
    path.write_bytes(whole)
    pull(project, client)
    assert path.read_bytes() == whole


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("file", ["annotations/toy-words.jsonl", "-apart.jsonl", "verdicts/toy-words.jsonl"])
def test_a_disk_that_fills_leaves_every_file_whole(
    made: Made, monkeypatch: pytest.MonkeyPatch, file: str, number: int
) -> None:
    bench, project, client = made
    before = files(project)
    row = bench.queue("toy-words", "a1")[0]
    bench.hand_in(row, "a1", {"decision": "no"})
    real: Callable[..., int] = os.open

    def full(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if file in str(path) and flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *rest, **more)

    queue = projects_of(client, "toys")["toys/toy-words@1/a1"].id
    mark(project.state, queue)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        with pytest.raises(Failed, match=f"{file}: cannot be written"):
            pull(project, client)
    assert marked(project.state) == {queue}, "it is still to be pulled"
    now = files(project)
    assert set(now) == set(before), "no half of a file is left"
    assert {name for name in now if file in name and now[name] != before[name]} == set()
    pull(project, client)
    assert sorted(verdicts(project).values()) == ["accept"] * 5 + ["reject"]
    assert marked(project.state) == frozenset()
