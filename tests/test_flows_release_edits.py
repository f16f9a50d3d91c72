"""What people changed by hand, on the Hub or in a version's folder, survives the next releases; or a release stops."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from data.publish.card_facts import Plot
from data.publish.folder import read_release
from data.publish.merge import OWN_BEGIN, OWN_END, read_card, split_metadata, written
from flows.project.output_files import open_built
from flows.rebuild.preview import preview
from flows.release import card as release_card
from flows.release.terminal import verify_release
from flows.release.version import Prepared
from schemas.errors import Failed, WrongInput
from tests.hub import Fault, HubServer, Repo
from tests.releasing import REPO, hub_of_the_client, run, served
from tests.saying import build, contents, known

LINES = {"one": "one", "two": "two", "three": "three"}
NEXT = {**LINES, "two": "twain"}
LATER = {**NEXT, "four": "four"}
EVAL = b"name: sayings\ntasks: []\n"
DATA = "data/saying-lines/test.parquet"
OURS = OWN_BEGIN + b"\nWritten on the Hub.\n" + OWN_END

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("saying")]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Repo, dict[str, bytes]]:
    """A dataset whose version 1.0.0 is on a Hub, and what the Hub has of it: the dataset and its large files."""
    folder = tmp_path_factory.mktemp("published")
    with known(), pytest.MonkeyPatch.context() as patch, hub_of_the_client(patch) as server:
        build(folder, LINES)
        run(folder, hub=REPO)
        return folder, server.repos[REPO], server.large


@pytest.fixture
def first(published: tuple[Path, Repo, dict[str, bytes]], hub: HubServer, tmp_path: Path) -> Path:
    """A dataset whose version 1.0.0 is on the Hub."""
    folder, repo, large = published
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    hub.repos[REPO] = replace(repo, commits=[*repo.commits], tags={**repo.tags})
    hub.large |= large
    return tmp_path


def card_with(content: bytes, **changed: Any) -> bytes:
    """A card with other metadata; None removes a key."""
    metadata = {**read_card(content).metadata, **changed}
    kept = {key: value for key, value in metadata.items() if value is not None}
    return f"---\n{written(kept)}\n---\n".encode() + split_metadata(content)[1]


def edit_card(hub: HubServer, change: Callable[[bytes], bytes]) -> None:
    before = served(hub)["README.md"]
    assert change(before) != before
    hub.somebody_commits(REPO, "README.md", change(before))


def metadata_of(card: bytes) -> dict[str, Any]:
    header, _ = split_metadata(card)
    assert header is not None
    return dict(yaml.safe_load(header))


def declines(said: str, folder: Path, hub: HubServer, **options: Any) -> str:
    """The release stops before the commit: the branch and the tags stay as they are."""
    head, tags = hub.repos[REPO].head, dict(hub.repos[REPO].tags)
    with pytest.raises(Failed) as raised:
        run(folder, hub=REPO, **options)
    assert said in str(raised.value)
    assert (hub.repos[REPO].head, hub.repos[REPO].tags) == (head, tags)
    return str(raised.value)


# ---- on the Hub ----


def test_what_was_changed_on_the_hub_survives_three_versions(hub: HubServer, first: Path) -> None:
    made = metadata_of(served(hub)["README.md"])
    hub.somebody_commits(REPO, "board.yaml", EVAL)
    hub.somebody_commits(REPO, "images/a.bin", b"\x00large")
    edit_card(hub, lambda card: card.replace(OWN_BEGIN + b"\n\n" + OWN_END, OURS))
    mine = {"pretty_name": "Sayings ✓", "tags": [*made["tags"], "legal"], "extra_gated_prompt": "Please.",
            "license_link": "LICENSE", "size_categories": None}  # fmt: skip
    edit_card(hub, lambda card: card_with(card, **mine))
    build(first, NEXT)
    second = run(first, hub=REPO, version="2.0.0")
    assert second.prepared.kept == [
        "kept on the Hub, not part of the release: board.yaml, images/a.bin",
        "edited by hand, kept in README.md: extra_gated_prompt, license_link, pretty_name, size_categories, tags, "
        "own words",
    ]
    hub.somebody_commits(REPO, "board.yaml", EVAL + b"# more\n")
    hub.somebody_commits(REPO, "images/a.bin", None)
    build(first, LATER)
    third = run(first, hub=REPO, version="3.0.0")
    assert third.published
    beside = {"2.0.0": {"board.yaml": EVAL, "images/a.bin": b"\x00large"}, "3.0.0": {"board.yaml": EVAL + b"# more\n"}}
    for version, theirs in beside.items():
        assert served(hub, version) == {**contents(first / "releases" / version), **theirs}
        card = served(hub, version)["README.md"]
        expected = {key: value for key, value in {**made, **mine}.items() if value is not None}
        now = metadata_of(card)
        assert {key: value for key, value in now.items() if key != "dataset_info"} == {
            key: value for key, value in expected.items() if key != "dataset_info"
        }
        assert OURS in card
    commits = len(hub.repos[REPO].commits)
    again = run(first, hub=REPO)
    assert (again.published, again.prepared.is_new, len(hub.repos[REPO].commits)) == (False, False, commits)
    assert again.prepared.kept == [second.prepared.kept[0].replace(", images/a.bin", ""), second.prepared.kept[1]]


def test_a_key_that_both_changed_is_a_conflict_until_it_is_one_of_the_two(hub: HubServer, first: Path) -> None:
    edit_card(hub, lambda card: card_with(card, license="mit"))
    build(first, LINES, licence="CC-BY-4.0")
    said = declines(f"{REPO}: README.md: `license` was ", first, hub)
    assert said.splitlines() == [
        "version 1.0.1 is due, and is not made: people changed by hand what it changes too; see to what follows, then "
        "run again",
        f'{REPO}: README.md: `license` was "cc0-1.0", is now "mit" here and "cc-by-4.0" in the new version; put it '
        "back here as it was, and the new value comes",
    ]
    assert [path.name for path in (first / "releases").glob("[0-9]*")] == ["1.0.0"]
    edit_card(hub, lambda card: card_with(card, license="cc0-1.0"))
    assert run(first, hub=REPO).published
    assert metadata_of(served(hub)["README.md"])["license"] == "cc-by-4.0"


def test_a_kept_edit_can_be_taken_back(hub: HubServer, first: Path) -> None:
    edit_card(hub, lambda card: card_with(card, license="mit"))
    build(first, NEXT)
    run(first, hub=REPO)
    assert metadata_of(served(hub)["README.md"])["license"] == "mit"
    build(first, NEXT, licence="CC-BY-4.0")
    declines('`license` was "cc0-1.0", is now "mit" here', first, hub)
    edit_card(hub, lambda card: card_with(card, license="cc0-1.0"))
    run(first, hub=REPO)
    assert metadata_of(served(hub)["README.md"])["license"] == "cc-by-4.0"
    assert not run(first, hub=REPO).prepared.is_new


def test_text_outside_the_own_words_is_a_conflict_once_there_is_a_version_to_publish(
    hub: HubServer, first: Path
) -> None:
    whole = served(hub)["README.md"]
    edit_card(hub, lambda card: card.replace(b"# sayings", b"# sayings\n\nMine."))
    assert not run(first, hub=REPO).prepared.is_new
    build(first, NEXT)
    said = declines("README.md: its text was edited outside your own words", first, hub)
    assert "put your text between `<!-- own words: begin -->` and `<!-- own words: end -->`" in said
    hub.somebody_commits(REPO, "README.md", whole)
    assert run(first, hub=REPO).prepared.version == "1.1.0"


@pytest.mark.parametrize("path", [DATA, "manifest.json", "changes.jsonl", "CHANGELOG.md"])
@pytest.mark.parametrize("data", [b"edited", None], ids=["edited", "deleted"])
def test_files_of_the_release_that_were_changed_stop_the_next(
    hub: HubServer, first: Path, path: str, data: bytes | None
) -> None:
    whole = served(hub)[path]
    hub.somebody_commits(REPO, path, data)
    assert not run(first, hub=REPO).prepared.is_new
    build(first, NEXT)
    declines(
        f"{REPO}: {path}: {'edited' if data else 'deleted'} on the Hub since version 1.0.0, and no release can keep "
        "that; put it back as that version has it", first, hub,
    )  # fmt: skip
    assert not (first / "releases" / "1.1.0").exists()
    hub.somebody_commits(REPO, path, whole)
    assert run(first, hub=REPO).published
    assert served(hub) == contents(first / "releases" / "1.1.0")


@pytest.mark.parametrize("path", ["data/more.parquet", "scorers/json.py", "proof/x"])
def test_files_added_where_only_a_release_writes_stop_the_next(hub: HubServer, first: Path, path: str) -> None:
    hub.somebody_commits(REPO, path, b"more")
    build(first, NEXT)
    declines(f"{REPO}: {path}: added on the Hub where only a release writes; move it elsewhere", first, hub)


def test_somebody_edits_between_the_look_and_the_commit(hub: HubServer, first: Path) -> None:
    build(first, NEXT)
    hub.faults.append(
        Fault("GET .*/refs", skip=1, before=lambda: edit_card(hub, lambda card: card_with(card, pretty_name="Mine")))
    )
    with pytest.raises(Failed, match=r"README\.md: changed on the Hub while 1\.1\.0 was made; run again"):
        run(first, hub=REPO)
    assert hub.repos[REPO].head.title == "by hand"
    hub.faults.append(Fault("POST .*/commit/", before=lambda: hub.somebody_commits(REPO, "board.yaml", EVAL)))
    with pytest.raises(
        Failed, match=r"somebody else committed while 1\.1\.1 was published; nothing of theirs was changed"
    ):
        run(first, hub=REPO)
    assert list(hub.repos[REPO].tags) == ["1.0.0"]
    outcome = run(first, hub=REPO)
    assert (outcome.prepared.version, outcome.published) == ("1.1.1", True)
    assert served(hub, "1.1.1") == {**contents(first / "releases" / "1.1.1"), "board.yaml": EVAL}
    assert metadata_of(served(hub)["README.md"])["pretty_name"] == "Mine"


def test_a_file_that_comes_between_the_look_and_the_commit_is_kept(hub: HubServer, first: Path) -> None:
    build(first, NEXT)
    hub.faults.append(Fault("GET .*/refs", skip=1, before=lambda: hub.somebody_commits(REPO, "board.yaml", EVAL)))
    assert run(first, hub=REPO).published
    assert served(hub, "1.1.0")["board.yaml"] == EVAL


def test_an_untagged_commit_is_tagged_whatever_somebody_put_on_it(hub: HubServer, first: Path) -> None:
    hub.somebody_commits(REPO, "board.yaml", EVAL)
    edit_card(hub, lambda card: card_with(card, pretty_name="Mine"))
    build(first, NEXT)
    hub.faults.append(Fault("POST .*/tag/", times=10**6, status=503))
    with pytest.raises(Failed):
        run(first, hub=REPO)
    commit = hub.repos[REPO].head.id
    hub.faults.clear()
    hub.somebody_commits(REPO, "more.yaml", EVAL)
    outcome = run(first, hub=REPO)
    assert (outcome.prepared.version, hub.repos[REPO].tags["1.1.0"]) == ("1.1.0", commit)
    assert served(hub)["more.yaml"] == EVAL


def test_a_version_that_waits_to_be_published_is_named_by_a_conflict(hub: HubServer, first: Path) -> None:
    build(first, NEXT)
    hub.faults.append(Fault("POST .*/commit/", times=10**6, status=503))
    with pytest.raises(Failed):
        run(first, hub=REPO)
    hub.faults.clear()
    edit_card(hub, lambda card: card.replace(b"# sayings", b"# sayings\n\nMine."))
    said = declines("version 1.1.0 is made, and cannot be published; see to what follows", first, hub)
    assert said.splitlines()[1].startswith(f"{REPO}: README.md: its text was edited outside your own words")


def test_another_machine_finishes_what_was_committed_and_keeps_the_edits_in_it(hub: HubServer, first: Path) -> None:
    there = first / "there"
    (there / "releases").mkdir(parents=True)
    shutil.copytree(first / "releases" / "1.0.0", there / "releases" / "1.0.0")
    edit_card(hub, lambda card: card_with(card, pretty_name="Mine"))
    (first / "releases" / "1.0.0" / "board.yaml").write_bytes(EVAL)
    build(first, NEXT)
    hub.faults.append(Fault("POST .*/tag/", times=10**6, status=503))
    with pytest.raises(Failed):
        run(first, hub=REPO)
    hub.faults.clear()
    build(there, LATER)
    outcome = run(there, hub=REPO)
    assert (outcome.prepared.version, outcome.prepared.difference.before) == ("1.2.0", "1.1.0")
    assert metadata_of(served(hub)["README.md"])["pretty_name"] == "Mine"
    assert served(hub)["board.yaml"] == EVAL
    assert served(hub) == contents(there / "releases" / "1.2.0")


def test_a_dataset_that_was_begun_by_hand_keeps_its_files_and_its_metadata(hub: HubServer, tmp_path: Path) -> None:
    hub.made(REPO)
    hub.somebody_commits(REPO, "board.yaml", EVAL)
    hub.somebody_commits(REPO, "README.md", b"---\npretty_name: Begun\nextra_gated_prompt: Please.\n---\n# Begun\n")
    build(tmp_path, LINES)
    declines(f"{REPO}: README.md: its text was edited outside your own words", tmp_path, hub)
    hub.somebody_commits(REPO, "README.md", b"---\nextra_gated_prompt: Please.\n---\n" + OURS)
    assert run(tmp_path, hub=REPO).published
    card = served(hub, "1.0.0")["README.md"]
    assert OURS in card
    assert metadata_of(card)["extra_gated_prompt"] == "Please."
    assert served(hub, "1.0.0")["board.yaml"] == EVAL
    assert not run(tmp_path, hub=REPO).prepared.is_new


def test_a_broken_card_on_the_hub_stops_the_release(hub: HubServer, first: Path) -> None:
    edit_card(hub, lambda card: card.replace(OWN_END, b""))
    assert not run(first, hub=REPO).prepared.is_new
    build(first, NEXT)
    declines(f"{REPO}: README.md: one of the two comments around your own words is missing", first, hub)


def test_what_the_release_says_of_its_rows_is_not_edited_by_hand(hub: HubServer, first: Path) -> None:
    info = [{"config_name": "saying-lines", "splits": [{"name": "test", "num_examples": 3}]}]
    edit_card(hub, lambda card: card_with(card, dataset_info=info))
    build(first, LATER)
    declines(f"{REPO}: README.md: `dataset_info` was ", first, hub)


def test_a_preview_says_what_is_kept_and_what_stands_against_the_next_version(hub: HubServer, first: Path) -> None:
    hub.somebody_commits(REPO, "board.yaml", EVAL)
    (first / "releases" / "1.0.0" / "notes.md").write_text("Mine.\n")
    project = build(first, NEXT)

    def told() -> Prepared | str | None:
        before, commits = contents(first), len(hub.repos[REPO].commits)
        release = preview(project.config_path, project.out, first / "releases", REPO, refresh=False).release
        assert (contents(first), len(hub.repos[REPO].commits)) == (before, commits)
        return release

    prepared = told()
    assert isinstance(prepared, Prepared)
    assert (prepared.version, prepared.kept) == (
        "1.1.0",
        ["kept on the Hub, not part of the release: board.yaml", "added by hand, part of the release: notes.md"],
    )
    hub.somebody_commits(REPO, DATA, None)
    card = first / "releases" / "1.0.0" / "README.md"
    card.write_bytes(card.read_bytes().replace(b"# sayings", b"# sayings\n\nMine."))
    due, *conflicts = str(told()).splitlines()
    assert due.startswith("version 1.1.0 is due, and is not made")
    assert [line.partition(";")[0] for line in conflicts] == [
        f"{card}: its text was edited outside your own words",
        f"{REPO}: {DATA}: deleted on the Hub since version 1.0.0, and no release can keep that",
    ]


def test_all_that_stands_against_a_version_is_told_at_once(hub: HubServer, first: Path, plot: list[bytes]) -> None:
    folder = first / "releases" / "1.0.0"
    build(first, NEXT, licence="CC-BY-4.0")
    for path in ("CHANGELOG.md", DATA):
        hub.somebody_commits(REPO, path, None)
    hub.somebody_commits(REPO, "data/more.csv", b"")
    words = card_with(served(hub)["README.md"], pretty_name="Hub", license="mit")
    words = words.replace(OWN_BEGIN + b"\n\n" + OWN_END, OURS).replace(b"# sayings", b"# sayings\n\nMine.")
    hub.somebody_commits(REPO, "README.md", words)
    here = card_with((folder / "README.md").read_bytes(), pretty_name="Here", size_categories=["n>1T"])
    (folder / "README.md").write_bytes(here.replace(OWN_BEGIN + b"\n\n" + OWN_END, OURS.replace(b"Hub", b"disk")))
    (folder / "plots").mkdir()
    (folder / "plots" / "saying-lines.svg").write_bytes(b"mine")
    said = declines("version 1.1.0 is due, and is not made", first, hub)
    assert [line.partition(";")[0] for line in said.splitlines()[1:]] == [
        f'{REPO}: README.md: `pretty_name` was "sayings", is now "Hub" on the Hub and "Here" in the folder of the last '
        "version",
        f"{REPO}: README.md: your own words were changed on the Hub, and otherwise in the folder of the last version",
        f"{REPO}: README.md: its text was edited outside your own words",
        f"{folder}: plots/saying-lines.svg: changed by hand, and this version has another file there",
        f'{REPO}: README.md: `license` was "cc0-1.0", is now "mit" here and "cc-by-4.0" in the new version',
        *(
            f"{REPO}: {path}: deleted on the Hub since version 1.0.0, and no release can keep that"
            for path in ("CHANGELOG.md", DATA)
        ),
        f"{REPO}: data/more.csv: added on the Hub where only a release writes",
    ]
    assert not (first / "releases" / "1.1.0").exists()


# ---- in the folder ----


def test_a_file_in_the_folder_of_the_last_version_goes_into_the_next(hub: HubServer, first: Path) -> None:
    (first / "releases" / "1.0.0" / "board.yaml").write_bytes(EVAL)
    (first / "releases" / "1.0.0" / ".DS_Store").write_bytes(b"no part of it")
    second = run(first, hub=REPO)
    assert (second.prepared.version, second.published) == ("1.0.1", True)
    assert second.prepared.kept == ["added by hand, part of the release: board.yaml"]
    folder = first / "releases" / "1.0.1"
    (listed,) = [file for file in read_release(folder).manifest.files if file.path == "board.yaml"]
    assert (listed.made, (folder / "board.yaml").read_bytes()) == ("", EVAL)
    assert served(hub, "1.0.1") == contents(folder)
    assert not run(first, hub=REPO).prepared.is_new
    build(first, NEXT)
    third = run(first, hub=REPO)
    assert third.prepared.kept == second.prepared.kept
    assert served(hub, "1.1.0")["board.yaml"] == EVAL


@pytest.fixture
def carried(first: Path) -> Path:
    """A dataset of which version 1.0.1 has a file that somebody added."""
    (first / "releases" / "1.0.0" / "board.yaml").write_bytes(EVAL)
    run(first, hub=REPO)
    return first


def test_an_added_file_follows_its_edits_on_the_hub_and_in_the_folder(hub: HubServer, carried: Path) -> None:
    hub.somebody_commits(REPO, "board.yaml", EVAL + b"# hub\n")
    assert run(carried, hub=REPO).prepared.version == "1.0.2"
    assert (carried / "releases" / "1.0.2" / "board.yaml").read_bytes() == EVAL + b"# hub\n"
    assert not run(carried, hub=REPO).prepared.is_new
    (carried / "releases" / "1.0.2" / "board.yaml").write_bytes(EVAL + b"# here\n")
    assert run(carried, hub=REPO).prepared.version == "1.0.3"
    assert served(hub)["board.yaml"] == EVAL + b"# here\n"
    hub.somebody_commits(REPO, "board.yaml", EVAL + b"# hub\n")
    (carried / "releases" / "1.0.3" / "board.yaml").write_bytes(EVAL + b"# both\n")
    declines(f"{REPO}: board.yaml: changed on the Hub, and otherwise in {carried}/releases/1.0.3", carried, hub)
    hub.somebody_commits(REPO, "board.yaml", EVAL + b"# both\n")
    run(carried, hub=REPO)
    assert served(hub, "1.0.4")["board.yaml"] == EVAL + b"# both\n"


@pytest.mark.parametrize("where", ["hub", "folder"])
def test_an_added_file_that_was_deleted_is_gone(hub: HubServer, carried: Path, where: str) -> None:
    if where == "hub":
        hub.somebody_commits(REPO, "board.yaml", None)
    else:
        (carried / "releases" / "1.0.1" / "board.yaml").unlink()
    outcome = run(carried, hub=REPO)
    assert (outcome.prepared.version, outcome.prepared.kept) == ("1.0.2", [])
    assert "board.yaml" not in served(hub)
    assert not run(carried, hub=REPO).prepared.is_new


def test_two_files_of_one_name_are_a_conflict(hub: HubServer, first: Path) -> None:
    hub.somebody_commits(REPO, "board.yaml", EVAL)
    (first / "releases" / "1.0.0" / "board.yaml").write_bytes(b"another")
    declines(f"{REPO}: board.yaml: the release has a file of that name too; rename one of the two", first, hub)
    hub.somebody_commits(REPO, "board.yaml", b"another")
    assert run(first, hub=REPO).published


def test_files_that_no_release_can_hold_are_refused(first: Path) -> None:
    folder = first / "releases" / "1.0.0"
    (folder / "a\nb").write_bytes(b"")
    with pytest.raises(WrongInput, match=r"a\\nb: a release holds files with plain names alone"):
        run(first, hub=REPO)
    (folder / "a\nb").unlink()
    (folder / "elsewhere").symlink_to("/")
    with pytest.raises(WrongInput, match="elsewhere: a release holds files with plain names alone"):
        run(first, hub=REPO)
    (folder / "elsewhere").unlink()
    (folder / "data" / "more.csv").write_bytes(b"")
    build(first, NEXT)
    with pytest.raises(Failed, match=r"data/more\.csv: not in the manifest"):
        run(first, hub=REPO)


def test_metadata_that_was_edited_in_the_folder_goes_into_the_next_version(tmp_path: Path) -> None:
    build(tmp_path, LINES)
    run(tmp_path)
    card = tmp_path / "releases" / "1.0.0" / "README.md"
    card.write_bytes(card_with(card.read_bytes(), pretty_name="Mine"))
    assert run(tmp_path).prepared.version == "1.0.1"
    assert not run(tmp_path).prepared.is_new
    build(tmp_path, NEXT)
    run(tmp_path)
    made = tmp_path / "releases" / "1.1.0"
    assert metadata_of((made / "README.md").read_bytes())["pretty_name"] == "Mine"
    assert "- Edited by hand, kept in README.md: `pretty_name`.\n" in (made / "CHANGELOG.md").read_text()


def test_text_that_was_edited_in_the_folder_outside_the_own_words_is_a_conflict(tmp_path: Path) -> None:
    build(tmp_path, LINES)
    run(tmp_path)
    card = tmp_path / "releases" / "1.0.0" / "README.md"
    card.write_bytes(card.read_bytes().replace(b"# sayings", b"# sayings\n\nMine."))
    assert not run(tmp_path).prepared.is_new
    build(tmp_path, NEXT)
    with pytest.raises(Failed, match=r"releases/1\.0\.0/README\.md: its text was edited outside your own words"):
        run(tmp_path)


@pytest.fixture
def plot(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """A plot that each version has; its content can be exchanged."""
    content = [b"<svg/>"]
    drawn = Plot(path="plots/saying-lines.svg", config="saying-lines", title="Lengths")
    monkeypatch.setattr(
        release_card,
        "plots_of",
        lambda name, charts: [SimpleNamespace(plot=drawn, content=content[0])][: "lines" in name],
    )
    return content


def test_an_edited_plot_is_kept_until_a_version_has_another(hub: HubServer, tmp_path: Path, plot: list[bytes]) -> None:
    build(tmp_path, LINES)
    run(tmp_path, hub=REPO)
    hub.somebody_commits(REPO, "plots/saying-lines.svg", b"<svg>mine</svg>")
    assert run(tmp_path, hub=REPO).prepared.kept == ["edited by hand, kept: plots/saying-lines.svg"]
    build(tmp_path, NEXT)
    assert run(tmp_path, hub=REPO).prepared.version == "1.1.0"
    assert served(hub, "1.1.0")["plots/saying-lines.svg"] == b"<svg>mine</svg>"
    assert not run(tmp_path, hub=REPO).prepared.is_new
    build(tmp_path, LATER)
    plot[0] = b"<svg>other</svg>"
    said = (
        f"{tmp_path}/releases/1.1.0: plots/saying-lines.svg: changed by hand, and this version has another file there"
    )
    declines(said, tmp_path, hub)
    hub.somebody_commits(REPO, "plots/saying-lines.svg", b"<svg/>")
    assert run(tmp_path, hub=REPO).published
    assert served(hub)["plots/saying-lines.svg"] == b"<svg>other</svg>"
    hub.somebody_commits(REPO, "plots/saying-lines.svg", None)
    build(tmp_path, NEXT)
    declines("plots/saying-lines.svg: deleted on the Hub since version 1.2.0", tmp_path, hub)


# ---- a download ----


def test_a_download_with_files_of_others_has_no_fault_and_names_them(
    hub: HubServer, first: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.somebody_commits(REPO, "board.yaml", EVAL)
    edit_card(hub, lambda card: card_with(card, pretty_name="Mine"))
    build(first, NEXT)
    run(first, hub=REPO)
    download = first / "download"
    for path, data in served(hub, "1.1.0").items():
        (download / path).parent.mkdir(parents=True, exist_ok=True)
        (download / path).write_bytes(data)
    monkeypatch.setenv("COLUMNS", "160")
    verify_release(download)
    said = capsys.readouterr().out
    assert "- not part of this version: board.yaml" in said
    assert "0 faults" in said
    assert open_built(first / "out").manifest.name == "sayings"
    (download / "data" / "saying-lines" / "test.parquet").write_bytes(b"")
    with pytest.raises(Failed, match=r"this is not version 1\.1\.0 as it was released$"):
        verify_release(download)
    assert "- not part of this version: board.yaml" in capsys.readouterr().out


def test_the_folder_of_a_version_that_somebody_edited_is_said_to_go_into_the_next(tmp_path: Path) -> None:
    build(tmp_path, LINES)
    folder = run(tmp_path).prepared.folder
    card = folder / "README.md"
    card.write_bytes(card_with(card.read_bytes(), pretty_name="Mine"))
    with pytest.raises(Failed, match=r": 1 fault: .*; the next release takes over what you edited in README\.md"):
        verify_release(folder)
