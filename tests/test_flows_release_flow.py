"""The release as a flow: to a folder, and through a Hub on loopback that fails at any point; then the next version."""

import json
import os
from pathlib import Path

import pytest

from data.publish.folder import read_release
from data.publish.merge import OWN_BEGIN, OWN_END
from flows.project.settings import ConfigError
from schemas.errors import Failed
from tests.hub import Fault, HubServer
from tests.releasing import REPO, TOKEN, run, served
from tests.saying import build, contents, decide

LINES = {"one": "one", "two": "two", "three": "three"}
NEXT = {**LINES, "two": "twain"}

pytestmark = pytest.mark.usefixtures("saying")


def of_version(hub: HubServer, version: str) -> int:
    return sum(commit.description == f"Release: {version}" for commit in hub.repos[REPO].commits)


def test_a_folder_is_the_default(tmp_path: Path) -> None:
    build(tmp_path, LINES)
    outcome = run(tmp_path)
    assert (outcome.url, outcome.published, outcome.prepared.version) == (None, False, "1.0.0")


def test_the_first_version_the_same_again_and_the_next_one(hub: HubServer, tmp_path: Path) -> None:
    build(tmp_path, LINES)
    first = run(tmp_path, hub=REPO)
    assert first.published
    assert served(hub, "1.0.0") == contents(tmp_path / "releases" / "1.0.0")
    assert f'load_dataset("{REPO}"' in (tmp_path / "releases" / "1.0.0" / "README.md").read_text()
    again = run(tmp_path, hub=REPO)
    assert (again.published, again.prepared.is_new, again.url) == (False, False, first.url)
    build(tmp_path, NEXT)
    second = run(tmp_path, hub=REPO)
    assert (second.published, second.prepared.version) == (True, "1.1.0")
    assert served(hub, "1.1.0") == contents(tmp_path / "releases" / "1.1.0")
    assert served(hub, "1.0.0") == contents(tmp_path / "releases" / "1.0.0")
    assert list(hub.repos[REPO].tags) == ["1.0.0", "1.1.0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST .*/commit/", status=429),
        Fault("POST .*/commit/", status=500, applied=True),
        Fault("POST .*/commit/", cut=True, applied=True),
        Fault("GET .*/resolve/", status=500),
        Fault("POST .*/tag/", cut=True, applied=True),
    ],
    ids=["429", "500 applied", "answer lost", "500 on reading back", "tag's answer lost"],
)
def test_a_passing_fault_ends_in_one_version(hub: HubServer, tmp_path: Path, fault: Fault) -> None:
    build(tmp_path, LINES)
    hub.faults.append(fault)
    assert run(tmp_path, hub=REPO).prepared.version == "1.0.0"
    assert served(hub, "1.0.0") == contents(tmp_path / "releases" / "1.0.0")
    assert of_version(hub, "1.0.0") == 1


@pytest.mark.slow
@pytest.mark.parametrize("request_", ["POST .*/commit/", "GET .*/resolve/", "POST .*/tag/"])
def test_a_fault_that_stays_leaves_the_version_before_and_the_next_try_finishes(
    hub: HubServer, tmp_path: Path, request_: str
) -> None:
    build(tmp_path, LINES)
    run(tmp_path, hub=REPO)
    build(tmp_path, NEXT)
    hub.faults.append(Fault(request_, times=10**6, status=503, skip=2 if "resolve" in request_ else 0))
    with pytest.raises(Failed) as raised:
        run(tmp_path, hub=REPO)
    assert TOKEN not in str(raised.value)
    assert list(hub.repos[REPO].tags) == ["1.0.0"]
    hub.faults.clear()
    outcome = run(tmp_path, hub=REPO)
    assert (outcome.published, outcome.prepared.version) == (True, "1.1.0")
    assert of_version(hub, "1.1.0") == 1
    assert served(hub, "1.1.0") == contents(tmp_path / "releases" / "1.1.0")


def test_a_damaged_folder_is_not_published(hub: HubServer, tmp_path: Path) -> None:
    """It lies there because an earlier try did not come as far as the Hub."""
    build(tmp_path, LINES)
    hub.faults.append(Fault("POST .*/commit/", status=500, times=10**6))
    with pytest.raises(Failed):
        run(tmp_path, hub=REPO)
    hub.faults.clear()
    file = tmp_path / "releases" / "1.0.0" / "data" / "saying-lines" / "test.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"?")
    with pytest.raises(Failed, match=r"saying-lines/test.parquet: SHA-256 .* nothing was published"):
        run(tmp_path, hub=REPO)
    assert not hub.repos[REPO].tags
    file.write_bytes(whole)
    assert run(tmp_path, hub=REPO).published


def test_another_machine_goes_on_from_the_newest_version_of_the_hub(hub: HubServer, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    build(here, LINES)
    run(here, hub=REPO)
    build(there, NEXT)
    assert run(there, hub=REPO).prepared.version == "1.1.0"  # it fetched 1.0.0
    build(here, {**NEXT, "four": "four"})
    outcome = run(here, hub=REPO)  # it has 1.0.0, and 1.1.0 is not its own
    assert outcome.prepared.version == "1.2.0"
    manifest = read_release(here / "releases" / "1.2.0").manifest
    assert (manifest.previous, manifest.comparable) == ("1.1.0", True)
    assert list(hub.repos[REPO].tags) == ["1.0.0", "1.1.0", "1.2.0"]
    assert contents(here / "releases" / "1.1.0") == contents(there / "releases" / "1.1.0")


def test_a_version_of_the_same_number_that_was_published_first_is_told_of(hub: HubServer, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    build(here, LINES)
    run(here, hub=REPO)
    build(here, {**LINES, "five": "five"})
    hub.faults.append(Fault("POST .*/commit/", times=10**6, status=503))
    with pytest.raises(Failed):
        run(here, hub=REPO)  # 1.1.0 is made here, and not published
    hub.faults.clear()
    build(there, NEXT)
    assert run(there, hub=REPO).prepared.version == "1.1.0"
    with pytest.raises(Failed, match=r"has another version 1\.1\.0, which was published first; move this folder away"):
        run(here, hub=REPO)
    (here / "releases" / "1.1.0").rename(here / "mine")
    assert run(here, hub=REPO).prepared.version == "1.2.0"


def test_words_written_on_the_hub_survive(hub: HubServer, tmp_path: Path) -> None:
    build(tmp_path, LINES)
    run(tmp_path, hub=REPO)
    ours = OWN_BEGIN + b"\nWritten on the Hub.\n" + OWN_END
    card = served(hub, "1.0.0")["README.md"].replace(OWN_BEGIN + b"\n\n" + OWN_END, ours)
    hub.somebody_commits(REPO, "README.md", card)
    outcome = run(tmp_path, hub=REPO)
    assert (outcome.published, outcome.prepared.version) == (True, "1.0.1")
    assert ours in served(hub, "1.0.1")["README.md"]
    build(tmp_path, NEXT)
    run(tmp_path, hub=REPO)
    assert ours in served(hub, "1.1.0")["README.md"]
    assert not run(tmp_path, hub=REPO).prepared.is_new


def test_the_private_share_is_not_uploaded(hub: HubServer, tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(20)]
    project = build(tmp_path, [], words, release={"held_out": 0.4})
    decide(project, "words", dict.fromkeys(words, "accept"))
    build(tmp_path, [], words, release={"held_out": 0.4})
    run(tmp_path, hub=REPO)
    assert (tmp_path / "releases" / "private" / "1.0.0" / "data" / "saying-once" / "test.parquet").is_file()
    assert served(hub, "1.0.0") == contents(tmp_path / "releases" / "1.0.0")
    hidden = contents(tmp_path / "releases" / "private").values()
    assert not set(hidden) & set(hub.large.values())


def test_without_its_configuration_nothing_leaves(tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(20)]
    build(tmp_path, [], words, release={"held_out": 0.4})
    (tmp_path / "config.yaml").unlink()
    with pytest.raises(ConfigError, match=r"config\.yaml: no such file"):
        run(tmp_path)
    assert not (tmp_path / "releases").exists()


def test_the_token_is_in_no_file_log_or_error(
    hub: HubServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path, LINES)
    hub.faults.append(Fault("POST .*/tag/", times=10**6, status=403, said=f"no: {TOKEN}"))
    with pytest.raises(Failed) as raised:
        run(tmp_path, hub=REPO)
    assert TOKEN not in str(raised.value)
    assert TOKEN not in caplog.text
    assert TOKEN not in json.dumps(capfd.readouterr())
    assert all(TOKEN.encode() not in content for content in contents(tmp_path).values())
    assert os.environ["HF_TOKEN"] == TOKEN
