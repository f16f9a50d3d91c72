"""What a release asks of its user is asked at once and first: licences, the token, the right to publish."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from data.publish import hub_repository
from data.publish.folder import read_release
from flows.project.project import Project
from flows.release.ready import check_configuration, check_rebuild, check_release
from schemas.errors import Failed, WrongInput, WrongInputs
from tests.builds import touchstone, write_config
from tests.hub import HubServer
from tests.releasing import REPO, run
from tests.saying import SECRET, build, decide, released

SOURCE = {"format": "jsonl", "path": "rows.jsonl"}
ROW = '{"question": "Who came?", "answers": ["Ann"], "evidence": "Ann came."}\n'

pytestmark = pytest.mark.usefixtures("saying")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setattr(hub_repository, "WAITS_S", (0.0,))
    with HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", "hf_unknown")
        yield server


def problems(project: Project, repo: str | None = None, *, allow_unreviewed: bool | None = True) -> list[str]:
    """The lines of what has to be set."""
    try:
        check_release(project, repo, project.out.parent / "releases", allow_unreviewed=allow_unreviewed)
    except WrongInputs as wrong:
        return list(wrong.problems)
    except WrongInput as wrong:
        return [str(wrong)]
    return []


def of(lines: list[str]) -> list[str]:
    return [line.partition(":")[0] for line in lines]


def test_all_licences_and_the_token_are_one_report(hub: HubServer, tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave"], licence=None)
    configs = ["saying-lines", "saying-shadows", "saying-once", "saying-twice"]
    assert of(problems(project, REPO)) == [*configs, "HF_TOKEN"]
    assert hub.repos == {}
    assert of(problems(project)) == configs
    declared = build(tmp_path, words=["brave"], licence=None, release={"licence": {"saying-lines": "MIT"}})
    assert of(problems(declared)) == configs[1:]
    assert problems(build(tmp_path, words=["brave"], licence="MIT")) == []


def test_a_date_that_is_none_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = build(tmp_path, words=["brave"], licence="MIT")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "x")
    assert of(problems(project)) == ["SOURCE_DATE_EPOCH"]
    with pytest.raises(WrongInput, match=r"^SOURCE_DATE_EPOCH"):
        check_rebuild(project, None, tmp_path / "releases")


def test_a_release_that_cannot_be_published_makes_no_version(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.tokens = {"hf_reader": "read"}
    monkeypatch.setenv("HF_TOKEN", "hf_reader")
    build(tmp_path)
    with pytest.raises(WrongInput, match="may not write there"):
        run(tmp_path, hub=REPO)
    assert not list((tmp_path / "releases").glob("*"))


def test_the_secret_of_a_private_share_is_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET)
    project = build(tmp_path, licence=None, release={"held_out": 0.1})
    assert of(problems(project)) == ["saying-lines", "saying-shadows", SECRET]
    with pytest.raises(WrongInput, match=f"^{SECRET}: is not set"):
        check_rebuild(project, None, tmp_path / "releases")


def test_without_a_repository_the_network_is_not_asked(hub: HubServer, tmp_path: Path) -> None:
    assert problems(build(tmp_path)) == []
    assert hub.requests == []


def test_rows_that_review_holds_back_ask_for_no_licence_yet(tmp_path: Path) -> None:
    project = build(tmp_path, [], ["brave"], licence=None)
    assert problems(project, allow_unreviewed=None) == []
    decide(project, "words", {"brave": "accept"})
    reviewed = build(tmp_path, [], ["brave"], licence=None)
    assert of(problems(reviewed, allow_unreviewed=None)) == ["saying-once", "saying-twice"]


def test_a_hub_that_does_not_answer_fails_alone_and_is_a_line_beside_other_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_repository, "WAITS_S", (0.0,))
    with HubServer() as gone:
        monkeypatch.setenv("HF_ENDPOINT", gone.url)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    with pytest.raises(Failed, match="does not answer"):
        problems(build(tmp_path), REPO)
    assert of(problems(build(tmp_path, licence=None), REPO)) == ["saying-lines", "saying-shadows", REPO]


@pytest.mark.parametrize(
    ("licences", "declared", "named"),
    [
        ((None, "MIT"), None, ["reeval-category1", "reeval-category2"]),
        (("MIT", "MIT"), None, []),
        (("MIT", None), None, ["reeval-category2"]),
        ((None, "MIT"), {"reeval-category1": "MIT"}, ["reeval-category2"]),
        ((None, None), "MIT", []),
    ],
)
def test_before_a_build_the_configuration_tells_its_licences(
    hub: HubServer, tmp_path: Path, licences: tuple[str | None, str | None], declared: Any, named: list[str]
) -> None:
    questions, pages = ({**SOURCE, "licence": licence} for licence in licences)
    reeval = {"seeds": "all", "entailment": "off", "sources": [questions], "passages": [{**pages, "path": "p.jsonl"}]}
    for name in ("rows.jsonl", "p.jsonl"):
        (tmp_path / name).write_text("")
    path = write_config(tmp_path, families={"reeval": reeval}, release={"licence": declared})
    with pytest.raises(WrongInput) as refused:
        check_rebuild(Project(path, tmp_path / "out"), REPO, tmp_path / "releases")
    assert of(str(refused.value).splitlines()) == [*named, "HF_TOKEN"]
    check_rebuild(Project(path, tmp_path / "out"), None, tmp_path / "releases")


def test_a_licence_of_no_configuration_is_told_before_any_work(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave"], release={"licence": {"saying-line": "MIT"}})
    assert problems(project) == [
        'release.licence.saying-line: there is no such configuration; did you mean "saying-lines"?'
    ]
    declared = {"uraq-item": "MIT", "lveval-contexts": "MIT", "lveval-hotpotwikiqa_mixup_1k": "MIT"}
    (tmp_path / "rows.jsonl").write_text(ROW)
    datasets = {"hotpotwikiqa-mixup": {"pairs": 1, "sources": [SOURCE]}}
    families = {"uraq": {"statements": 30}, "lveval": {"levels": ["50"], "datasets": datasets}}
    path = write_config(tmp_path, families=families, release={"licence": declared})
    with pytest.raises(WrongInputs) as refused:
        check_rebuild(Project(path, tmp_path / "new"), None, tmp_path / "new" / "releases")
    assert of(list(refused.value.problems)) == ["release.licence.uraq-item", "release.licence.lveval-contexts"]


def test_a_licence_may_be_declared_for_a_configuration_that_has_no_rows_yet(tmp_path: Path) -> None:
    declared = {"saying-lines": "MIT", "saying-once": "MIT", "saying-twice": "MIT"}
    project = build(tmp_path, ["mute"], ["brave"], licence=None, release={"licence": declared})
    assert problems(project) == []
    version = read_release(released(project, allow_unreviewed=True).folder)
    assert {one.name for one in version.manifest.configs} == {"saying-once", "saying-twice"}


def test_where_the_names_come_with_the_build_one_licence_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(ROW)
    datasets = {"multifieldqa-en-mixup": {"pairs": 1, "sources": [SOURCE]}}
    path = write_config(tmp_path, families={"lveval": {"levels": ["50"], "datasets": datasets}})
    with pytest.raises(
        WrongInput, match=r"declare one for all: release: \{licence: \.\.\.\}, or state the licence of each source"
    ):
        check_configuration(path, tmp_path / "out")


def test_a_line_that_is_no_verdict_is_told_before_any_work(tmp_path: Path) -> None:
    path = write_config(tmp_path, families={"uraq": {"statements": 9}}, release={"licence": "CC0-1.0"})
    lines = tmp_path / "out" / "verdicts" / "uraq-items.jsonl"
    lines.parent.mkdir(parents=True)
    lines.write_text("reject it\n", encoding="utf-8")
    with pytest.raises(WrongInput, match=r"uraq-items.jsonl: line 1: expected JSON"):
        check_rebuild(Project(path, tmp_path / "out"), None, tmp_path / "out" / "releases")


def test_the_versions_of_another_dataset_are_told_before_any_work(tmp_path: Path) -> None:
    released(build(tmp_path))
    config = (tmp_path / "config.yaml").read_text(encoding="utf-8")
    (tmp_path / "config.yaml").write_text(config.replace('"sayings"', '"renamed"'), encoding="utf-8")
    project = Project(tmp_path / "config.yaml", tmp_path / "out")
    with pytest.raises(WrongInput, match="has versions of sayings, but this build is of renamed"):
        check_rebuild(project, None, tmp_path / "releases")


@pytest.mark.slow
def test_a_rebuild_that_cannot_publish_builds_nothing_and_says_all_that_is_wrong(tmp_path: Path) -> None:
    config = {"families": {"uraq": {"statements": 10, "context_counts": [1]}}, "release": {"repo": "other/sample"}}
    write_config(tmp_path, **config)
    with HubServer() as hub:
        environment = {
            "HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_test", "HF_HUB_DISABLE_XET": "1",
            "PREFECT_HOME": str(tmp_path / "prefect"),  # not that of an earlier test, whose folder is gone
        }  # fmt: skip
        done = touchstone("rebuild", "config.yaml", folder=tmp_path, **environment)
        assert done.returncode == 2, done.stdout + done.stderr
        lines = done.stderr.splitlines()
        assert [line.split(": ")[:2] for line in lines] == [
            ["touchstone", "uraq-items"], ["touchstone", "uraq-evaluation"], ["touchstone", "other/sample"],
        ]  # fmt: skip
        assert not (tmp_path / "out").exists()
        assert hub.repos == {}


def test_the_doctor_tells_what_a_release_of_a_configuration_needs(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a repository it asks no network."""
    (tmp_path / "rows.jsonl").write_text('{"question": "Who?", "answers": "Ada.", "evidence": "It was Ada."}\n')
    families = {"uraq": {"statements": 30}}
    plain = write_config(tmp_path, name="plain.yaml", families=families, release={"licence": "MIT"})
    assert check_configuration(plain, tmp_path / "out") is None
    undeclared = write_config(tmp_path, name="undeclared.yaml", families=families)
    with pytest.raises(WrongInputs) as raised:
        check_configuration(undeclared, tmp_path / "out")
    assert of(list(raised.value.problems)) == ["uraq-items", "uraq-evaluation"]
    assert hub.requests == []
    published = write_config(
        tmp_path,
        name="published.yaml",
        families={"reeval": {"seeds": "all", "sources": [SOURCE]}},
        release={"repo": REPO, "held_out": 0.1},
    )
    monkeypatch.delenv(SECRET)
    with pytest.raises(WrongInputs) as raised:
        check_configuration(published, tmp_path / "out")
    assert of(list(raised.value.problems)) == ["reeval-category1", "reeval-category2", SECRET, "HF_TOKEN"]
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_doctor_prints_a_line_for_each_problem_of_a_configuration(tmp_path: Path) -> None:
    release = {"repo": REPO, "held_out": 0.1, "licence": "Apache-2.0"}
    config = write_config(tmp_path, families={"uraq": {"statements": 30}}, release=release)
    environment = {SECRET: "", "HF_TOKEN": "", "HF_HOME": str(tmp_path / "hf")}
    done = touchstone("doctor", config, folder=tmp_path, **environment)
    assert done.returncode == 1
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if line.startswith("✗")] == [
        f"✗ {SECRET}", "✗ HF_TOKEN"
    ]  # fmt: skip
    assert "2 of the checks above failed" in done.stderr
    licence = {"licence": "Apache-2.0"}
    plain = write_config(tmp_path, name="plain.yaml", families={"uraq": {"statements": 30}}, release=licence)
    done = touchstone("doctor", plain, folder=tmp_path)
    assert done.returncode == 0
    assert f"✓ {plain}: nothing is missing to be released to a folder" in done.stdout
