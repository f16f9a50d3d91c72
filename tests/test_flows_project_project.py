"""A project as a worker process opens it: what travels to it, and what it must not mistake for its own."""

import json
import pickle
import shutil
from pathlib import Path

import pytest

from flows.construct.stages import StageRef
from flows.families import load_family
from flows.llm.cache import Completion
from flows.llm.limits import Share
from flows.llm.model import BudgetSpent
from flows.project import project as compose
from flows.project.project import Project, hold_share, read_verdicts, take_share
from flows.project.settings import ConfigError, load_config, sample_path
from schemas.errors import Failed, WrongInput, WrongInputs
from schemas.manifest import BuildManifest
from tests.builds import write_config

URAQ = {"statements": 15}


def opened(project: Project) -> Project:
    """The project as a worker has it."""
    reopened: Project = pickle.loads(pickle.dumps(project))
    return reopened


def test_a_worker_opens_a_build_once_and_a_changed_configuration_anew(tmp_path: Path) -> None:
    first = Project(write_config(tmp_path, families={"uraq": URAQ}), tmp_path / "out")
    there = opened(first)
    assert there is opened(first)
    second = Project(write_config(tmp_path, seed=8, families={"uraq": URAQ}), tmp_path / "out")
    assert opened(second).config.seed == 8
    assert opened(first) is there, "what still runs of the first build goes on as it was"


def test_a_worker_closes_the_builds_that_it_has_no_room_for(tmp_path: Path) -> None:
    config = write_config(tmp_path, families={"uraq": URAQ})
    first = opened(Project(config, tmp_path / "out"))
    for _ in range(compose.OPEN_AT_ONCE):
        opened(Project(config, tmp_path / "out"))
    assert first.loop.stopped


def test_a_worker_where_something_differs_refuses(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the dask extra is not installed")
    from flows.run.cluster import _check_same

    project = Project(write_config(tmp_path, families={"uraq": URAQ}), tmp_path / "out")
    ref = StageRef("uraq", "statements", "source")
    fingerprint = project.build.fingerprint(ref)
    _check_same(opened(project).build, ref, fingerprint)
    other = Project(write_config(tmp_path, families={"uraq": {"statements": 14}}), tmp_path / "out")
    later = StageRef("uraq", "items", "ask_question")
    with pytest.raises(Failed, match="another configuration, other sources"):
        _check_same(opened(other).build, later, project.build.fingerprint(later))


async def test_workers_share_the_money_that_is_left_as_they_come_and_go(tmp_path: Path) -> None:
    """1 dollar was spent before the command, 2 by its first worker: of 8, each of two workers has 3."""
    config = write_config(tmp_path, store=str(tmp_path / "store"), budget_usd=8, families={"uraq": URAQ})
    project = Project(config, tmp_path / "out")
    project.models.share = None
    project.models.cache.put("before", Completion("", "answer", 1, 1, 1.0))
    assert project.models.left_usd() == 8
    first = opened(project)
    await take_share(project.run_id, Share(left_usd=8))
    budget = first.models.budget
    await budget.reserve(7)
    budget.settle(7, 2)
    project.models.cache.put("first worker", Completion("", "answer", 1, 1, 2.0))
    left = project.models.left_usd()
    assert left == 6
    await hold_share(project.run_id, Share(2))
    await take_share(project.run_id, Share(2, 0, is_first=False, left_usd=left / 2))
    await budget.reserve(3)
    with pytest.raises(BudgetSpent):
        await budget.reserve(3.1)
    assert Project(config, tmp_path / "out").models.budget.ceiling_usd == 8, "the next command has all of it"


def fingerprints(folder: Path) -> dict[str, str]:
    """The fingerprints of all stages of the packaged builds whose configurations lie in a folder."""
    built = {}
    for config in sorted(folder.glob("*.yaml")):
        build = Project(config, folder / "out").build
        stages = [stage for family, part in build.parts() for stage in build.stages(family, part)]
        built |= {f"{config.name} {stage}": build.fingerprint(stage) for stage in stages}
    return built


def test_a_folder_that_is_copied_or_moved_has_the_same_stages_and_an_edited_source_has_others(tmp_path: Path) -> None:
    places = [tmp_path / "here", tmp_path / "somewhere" / "else"]
    for place in places:
        shutil.copytree(sample_path().parent, place)
    first, second = map(fingerprints, places)
    assert first == second
    with (places[1] / "questions.jsonl").open("a") as questions:
        questions.write("\n")
    edited = fingerprints(places[1])
    changed = {name for name in first if first[name] != edited[name]}
    assert {name.partition(" ")[0] for name in changed} == {"lveval.yaml", "reeval.yaml"}


@pytest.mark.usefixtures("saying")
def test_a_family_without_a_source_says_where_to_name_one(tmp_path: Path) -> None:
    project = Project(write_config(tmp_path, families={"saying": {}}), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"families\.saying\.sources or words: no source is named; name one"):
        _ = project.build


def test_a_file_of_verdicts_that_no_part_reads_is_told(tmp_path: Path) -> None:
    project = Project(write_config(tmp_path, families={"uraq": URAQ}), tmp_path / "out")
    folder = project.out / "verdicts"
    folder.mkdir(parents=True)
    (folder / "uraq-item.jsonl").write_text('{"key": "k"}\n{"key": "l"}\n', encoding="utf-8")
    (told,) = project.unread_verdicts()
    problem = 'its 2 verdicts do not count: no part is so named; did you mean "uraq-items.jsonl"?'
    assert told == f"{folder / 'uraq-item.jsonl'}: {problem}"


def test_a_verdict_by_hand_counts_wherever_it_stands_and_of_others_the_last(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    first, last, by_hand, corrected = (
        {"key": "k", "view_hash": "h", "rubric": "r", "decision": "accept", "comment": comment, "at": at}
        for comment, at in (("first", "2026-11-02"), ("last", "2026-11-03"), ("by hand", ""), ("corrected", ""))
    )
    for lines, counts in (
        ([first, last], "last"),
        ([last, first], "first"),
        ([by_hand, first, last], "by hand"),
        ([first, by_hand, last], "by hand"),
        ([first, last, by_hand], "by hand"),
        ([by_hand, first, corrected, last], "corrected"),
    ):
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        assert {key: one.comment for key, one in read_verdicts(path).items()} == {"k": counts}


def test_of_verdicts_those_that_cannot_count_are_told_with_file_and_line_and_the_others_count(tmp_path: Path) -> None:
    project = Project(write_config(tmp_path, families={"uraq": URAQ}), tmp_path / "out")
    path = project.out / "verdicts" / "uraq-items.jsonl"
    path.parent.mkdir(parents=True)
    good = {"key": "k", "view_hash": "h", "rubric": "uraq-check", "decision": "reject"}
    changes = {"decision": "fix", "changes": {"question": "Who?"}}
    lines = [
        json.dumps(good), "{", json.dumps({**good, "decision": "rejct"}), json.dumps({**good, "rubric": "other"}),
        json.dumps({**good, **changes}), json.dumps({**good, "key": "l"}),
    ]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    assert project.verdicts("uraq", "items").keys() == {"k", "l"}
    assert [problem.removeprefix(f"{path}: ").partition(";")[0] for problem in project.unread_verdicts()] == [
        "line 2: expected JSON, found unexpected end of data at character 2",
        "line 3: decision: Input should be 'accept', 'fix' or 'reject'",
        "line 4: its rubric is 'other', where people are asked by 'uraq-check'",
        "line 5: question is not for people to change",
    ]
    with pytest.raises(WrongInputs) as caught:
        read_verdicts(path)
    assert len(caught.value.problems) == 2


def test_money_of_several_machines_is_counted_in_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flows.run.flow import DASK_CLUSTER, _workers_of

    config = write_config(tmp_path, runner="dask", budget_usd=5, families={"uraq": URAQ})
    monkeypatch.setenv(DASK_CLUSTER, "tcp://127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"budget_usd: .* under cache"):
        _workers_of(Project(config, tmp_path / "out"))


def test_what_reads_a_build_opens_no_model_until_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"provider": "endpoint", "name": "m", "api_key_env": "NO_SUCH_KEY", "temperature": 0.5}
    config = write_config(tmp_path, model=model, budget_usd=3, prices="nowhere.yaml", families={"uraq": URAQ})
    monkeypatch.chdir(tmp_path)
    built = BuildManifest(
        name="test", seed=7, limit=None, config=load_config(config).model_dump(mode="json"), versions={}, models={},
        prompts={}, parts=(),
    )  # fmt: skip
    reads = Project(config, tmp_path / "out", built=built, store=str(tmp_path / ".touchstone"))
    model_of = reads.build.families["uraq"].models["builder"]
    assert (model_of.name, model_of.identity()["temperature"]) == ("m", 0.5)
    assert not (tmp_path / ".touchstone" / "completions.sqlite").exists()
    with pytest.raises(WrongInput, match=r"nowhere.yaml"):
        reads.models.model("builder", reads.build.families["uraq"].family)


def test_the_default_model_may_be_named_where_names_are_asked_for(tmp_path: Path) -> None:
    family, block = load_family("uraq"), {**URAQ, "prescreen": ["default"]}
    project = Project(write_config(tmp_path, families={"uraq": block}), tmp_path / "out")
    assert "default" in project.models.of(family, project.config.families["uraq"])
    absent = write_config(tmp_path, families={"uraq": {**URAQ, "prescreen": ["absent"]}})
    unknown = Project(absent, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"models\.absent: is missing; families\.uraq asks a model of that name"):
        unknown.models.of(family, unknown.config.families["uraq"])
