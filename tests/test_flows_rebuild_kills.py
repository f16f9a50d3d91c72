"""A rebuild killed at any moment, of any step, and run again ends in the same release: nothing twice, nothing half."""

import hashlib
import os
import random
import shutil
import time
from pathlib import Path

import pytest

from annotation.label_studio.sync import KEY as TASK
from annotation.label_studio.sync import projects_of, tasks_of
from flows.annotate.server import KEY
from tests.builds import killed, touchstone
from tests.hub import HubServer
from tests.label_studio import Served
from tests.rebuilds import ANOTHER, dataset, facts, rebuild, versions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
REPO = "acme/facts-qa"
KILLS_OF_A_REBUILD = 5
"""Kills that one rebuild goes through before it is let to its end."""


def contents(folder: Path) -> dict[str, str]:
    """Checksum of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def environment(hub: HubServer, label_studio: Served) -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_test", "HF_HUB_DISABLE_XET": "1", KEY: label_studio.token,
    }  # fmt: skip


def progress(folder: Path, hub: HubServer) -> int:
    """How far a rebuild has come: files that lie there, and what was asked of the Hub."""
    files = sum(len(names) for place in ("store/uraq", "out") for _, _, names in os.walk(folder / place))
    return files + len(hub.requests)


def start(folder: Path, label_studio: Served) -> None:
    """A dataset that was released once, and whose source changed since."""
    dataset(folder, store="store", annotation={"url": label_studio.url})
    (folder / "facts.jsonl").write_bytes(facts(ANOTHER, without=1))


def forget(label_studio: Served) -> None:
    """Delete all projects of the benchmark."""
    for info in projects_of(label_studio.client, "test").values():
        label_studio.client._request("DELETE", f"api/projects/{info.id}/")


def released(folder: Path) -> dict[str, dict[str, str]]:
    return {name: contents(folder / "out" / "releases" / name) for name in versions(folder)}


def test_kills_at_random_moments_of_a_rebuild_change_nothing(
    tmp_path: Path, label_studio: Served, pytestconfig: pytest.Config
) -> None:
    kills = int(pytestconfig.getoption("--kills"))
    before = tmp_path / "before"
    dataset(before, store="store", annotation={"url": label_studio.url})
    with HubServer() as hub:
        done = rebuild(before, "--hub", REPO, **environment(hub, label_studio))
        assert done.returncode == 0, done.stdout + done.stderr
        first = hub.repos[REPO]
        whole = tmp_path / "whole"
        shutil.copytree(before, whole)
        start(whole, label_studio)
        begun = progress(whole, hub)
        command = ("rebuild", "config.yaml", "--hub", REPO)
        done = touchstone(*command, folder=whole, fork=False, **environment(hub, label_studio))
        assert done.returncode == 0, done.stdout + done.stderr
        steps = progress(whole, hub) - begun
        expected, tree = released(whole), dict(hub.repos[REPO].head.files)
    assert list(expected) == ["1.0.0", "1.1.0"]
    moments = random.Random(20)
    for first_kill in range(0, kills, KILLS_OF_A_REBUILD):
        forget(label_studio)
        broken = tmp_path / f"broken-{first_kill}"
        shutil.copytree(before, broken)
        with HubServer() as hub:
            hub.repos[REPO] = repo = hub.made(REPO)
            repo.commits, repo.tags = list(first.commits[:2]), {"1.0.0": first.tags["1.0.0"]}
            hub.large = {blob.sha256: blob.data for blob in repo.head.files.values() if blob.large}
            start(broken, label_studio)
            begun = progress(broken, hub)
            number = min(KILLS_OF_A_REBUILD, kills - first_kill)
            for share in range(number):
                # One kill in each equal share of the steps; what people get is not counted, but a kill that waits
                # hits it. What a rebuild asks the Hub, the next one asks again.
                reached, delay_s = int(steps * (share + moments.random()) / number), moments.uniform(0, 3.0)
                hub.requests.clear()

                def now(
                    folder: Path = broken, hub: HubServer = hub, from_: int = begun + reached, s: float = delay_s
                ) -> bool:
                    if progress(folder, hub) < from_:
                        return False
                    time.sleep(s)
                    return True

                was = killed(*command, folder=broken, when=now, **environment(hub, label_studio))
                print(f"kill {first_kill + share + 1}: {'at' if was else 'too late for'} {reached} of {steps}, "
                      f"{delay_s:.2f} s later; versions {versions(broken)}, commits {len(repo.commits)}, "
                      f"tags {sorted(repo.tags)}")  # fmt: skip
                for tag, commit in repo.tags.items():  # what is in force is whole, whenever it is looked at
                    at = repo.at(commit)
                    assert at is not None
                    served = {path: blob.sha256 for path, blob in at.files.items() if path != ".gitattributes"}
                    assert served == expected[tag]
            done = rebuild(broken, "--hub", REPO, **environment(hub, label_studio))
            assert done.returncode == 0, done.stdout + done.stderr
            assert released(broken) == expected, f"after kill {first_kill + number}"
            assert [commit.title for commit in repo.commits] == ["initial commit", "Version 1.0.0", "Version 1.1.0"]
            assert sorted(repo.tags) == ["1.0.0", "1.1.0"]
            assert dict(repo.head.files) == tree
            for name, info in projects_of(label_studio.client, "test").items():
                keys = [row["data"][TASK] for row in tasks_of(label_studio.client, info)]
                assert len(keys) == len(set(keys)) > 0, f"{name}: a task is there twice"
            again = touchstone(*command, folder=broken, **environment(hub, label_studio))
            assert "nothing differs from version 1.1.0" in again.stdout, again.stdout + again.stderr
        shutil.rmtree(broken)
