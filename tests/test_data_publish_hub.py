"""Publishing to the Hub: one commit and one tag a version, whatever goes wrong, against a Hub on loopback."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.publish import hub_repository as publishing
from data.publish.folder import read_release, write_manifest
from data.publish.hub import Published, fetch, look, publish
from schemas.errors import Failed, WrongInput
from schemas.release import ReleaseManifest
from tests.hub import ATTRIBUTES, Blob, Fault, HubServer

ROOT = Path(__file__).resolve().parent.parent
REPO = "acme/sample"
TOKEN = "hf_plantedSecret0123456789"
BESIDE = {"eval.yaml": b"tasks: []\n"}
CARD = """---
configs:
- config_name: uraq-items
  data_files:
  - split: test
    path: data/uraq-items/*.parquet
- config_name: lveval-16k
  data_files:
  - split: test
    path: data/lveval-16k/*.parquet
---
# A sample
"""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that knows our token, and that the client takes for the Hub; retries do not wait."""
    monkeypatch.setattr(publishing, "WAITS_S", (0.0, 0.0, 0.0, 0.0))
    with HubServer(tokens={TOKEN: "write", "hf_reader": "read"}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A release."""
    return release(tmp_path / "1.0.0", [1, 2])


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """The next one: a row more in one file, a file gone, a file new."""
    folder = release(tmp_path / "1.1.0", [1, 2, 3])
    (folder / "CHANGELOG.md").unlink()
    (folder / "plots").mkdir()
    (folder / "plots" / "new.svg").write_text("<svg/>")
    write_manifest(folder, read_release(folder).manifest)
    return folder


def release(folder: Path, numbers: list[int]) -> Path:
    for name, rows in (("uraq-items", numbers), ("lveval-16k", [7])):
        (folder / "data" / name).mkdir(parents=True)
        pq.write_table(pa.table({"number": rows}), folder / "data" / name / "test.parquet")
    (folder / "README.md").write_text(CARD)
    (folder / "CHANGELOG.md").write_text("# Changes\n")
    write_manifest(
        folder,
        ReleaseManifest(
            name="sample", version=folder.name, canary="c", seed=7, configs=(), files=(), stages={}, models={},
            prompts={}, versions={}, settings={},
        ),
    )  # fmt: skip
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def served(hub: HubServer, revision: str) -> dict[str, bytes]:
    """The files at a revision, as they lie on the Hub, without its own."""
    commit = hub.repos[REPO].at(revision)
    assert commit is not None
    return {path: blob.data for path, blob in commit.files.items() if path != ".gitattributes"}


def released(hub: HubServer, version: str, folder: Path, commits: int = 1, *, beside: bool = False) -> None:
    """One tag, on the one commit of this version, which has the folder's bytes, and what somebody put beside them."""
    repo = hub.repos[REPO]
    of_version = [commit.id for commit in repo.commits if commit.description == f"Release: {version}"]
    assert len(of_version) == commits
    assert repo.tags[version] == of_version[-1]
    assert served(hub, version) == {**contents(folder), **BESIDE} if beside else contents(folder)


def refused(kind: type[Exception], call: Callable[[], object]) -> str:
    """The one line that a person reads; it never holds a token."""
    with pytest.raises(kind) as raised:
        call()
    said = str(raised.value)
    assert "\n" not in said
    assert TOKEN not in said
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    return said


def somebody_adds(hub: HubServer) -> None:
    for path, data in BESIDE.items():
        hub.somebody_commits(REPO, path, data)


def first(folder: Path) -> Published:
    return publish(folder, REPO, "1.0.0", message="Release 1.0.0")


def second(folder: Path) -> Published:
    return publish(folder, REPO, "1.1.0", message="Release 1.1.0")


# ---- what publishing does ----


def test_a_release_becomes_one_commit_with_its_tag(hub: HubServer, one: Path) -> None:
    published = first(one)
    repo = hub.repos[REPO]
    assert published == Published(repo.head.id, "1.0.0", f"{hub.url}/datasets/{REPO}/tree/1.0.0", new=True)
    assert [commit.title for commit in repo.commits] == ["initial commit", "Release 1.0.0"]
    assert repo.head.parent == repo.commits[0].id
    released(hub, "1.0.0", one)
    assert repo.head.files[".gitattributes"].data == ATTRIBUTES
    assert not repo.private


def test_the_tag_comes_after_every_file_was_read_back(hub: HubServer, one: Path) -> None:
    first(one)
    asked = [request.split()[1] for request in hub.requests]
    tagged = next(place for place, path in enumerate(asked) if "/tag/" in path)
    commit = hub.repos[REPO].head.id
    for path in contents(one):
        assert f"/datasets/{REPO}/resolve/{commit}/{path}" in asked[:tagged]
    assert tagged == len(asked) - 1


def test_the_next_version_sends_what_differs_and_deletes_what_is_gone(hub: HubServer, one: Path, two: Path) -> None:
    before = first(one).commit
    edited = hub.somebody_commits(REPO, ".gitattributes", b"*.parquet filter=lfs\n")
    hub.requests.clear()
    second(two)
    assert hub.repos[REPO].head.parent == edited.id
    released(hub, "1.1.0", two)
    assert hub.asked("PUT /storage/") == 1  # of two Parquet files one has changed
    assert hub.repos[REPO].head.files[".gitattributes"].data == b"*.parquet filter=lfs\n"
    assert hub.repos[REPO].tags["1.0.0"] == before
    assert served(hub, "1.0.0") == contents(one)


def test_what_is_published_is_not_published_again(hub: HubServer, one: Path) -> None:
    before = first(one)
    hub.requests.clear()
    assert first(one) == Published(before.commit, "1.0.0", before.url, new=False)
    assert hub.asked("^GET") == len(hub.requests)
    released(hub, "1.0.0", one)


def test_a_version_never_gets_other_bytes(hub: HubServer, one: Path, two: Path) -> None:
    first(one)
    said = refused(Failed, lambda: publish(two, REPO, "1.0.0", message="again"))
    assert said == "acme/sample: version 1.0.0 is published with other bytes; publish a later version"
    released(hub, "1.0.0", one)


def test_an_earlier_version_is_refused(hub: HubServer, one: Path, two: Path) -> None:
    publish(one, REPO, "1.10.0", message="Release")
    said = refused(WrongInput, lambda: publish(two, REPO, "1.9.0", message="Release"))
    assert said == "acme/sample: 1.9.0 is earlier than 1.10.0, which is published; publish a later version"


def test_a_private_release_never_goes_to_a_public_dataset(hub: HubServer, one: Path) -> None:
    publish(one, "acme/held-out", "1.0.0", message="Release", private=True)
    assert hub.repos["acme/held-out"].private
    hub.made(REPO)
    said = refused(Failed, lambda: publish(one, REPO, "1.0.0", message="Release", private=True))
    assert said == "acme/sample: is public on the Hub, and a private release was asked for; name another"
    assert len(hub.repos[REPO].commits) == 1


# ---- what goes wrong on the way ----


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/commit/", status=500),
        Fault("/commit/", status=504, applied=True),
        Fault("/commit/", cut=True),
        Fault("/commit/", cut=True, applied=True),
        Fault("/tag/", status=500),
        Fault("/tag/", status=500, applied=True),
        Fault("/tag/", cut=True, applied=True),
        Fault("/repos/create", status=500, applied=True),
        Fault("/refs", status=429, headers={"Retry-After": "0"}),
        Fault("GET /storage/", cut=True, applied=True),
        Fault("GET .*/resolve/", status=500),
        Fault("/validate-yaml", status=502),
        Fault("PUT /storage/", slow_s=0.5),
    ],
    ids=lambda fault: f"{fault.match} {fault.status or ''}{'cut' * fault.cut} {'applied' * fault.applied}",
)
def test_trouble_that_passes_changes_nothing(hub: HubServer, one: Path, fault: Fault) -> None:
    hub.faults.append(fault)
    first(one)
    assert fault.times == 0
    released(hub, "1.0.0", one)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"status": 500, "applied": True}, {"cut": True}, {"cut": True, "applied": True}], ids=str
)
def test_one_fault_at_any_request_changes_nothing(hub: HubServer, one: Path, fault: dict[str, object]) -> None:
    place, more = 0, True
    while more:
        hub.repos.clear()
        hub.large.clear()
        hub.faults[:] = [Fault(r"^(?!GET /api/agent-harnesses)", skip=place, **fault)]  # type: ignore[arg-type]
        first(one)
        more = hub.faults[0].times == 0
        released(hub, "1.0.0", one)
        place += 1
    assert place > 15


def test_somebody_elses_commit_is_never_overwritten(hub: HubServer, one: Path, two: Path) -> None:
    first(one)
    hub.faults.append(Fault("/commit/", before=lambda: somebody_adds(hub)))
    said = refused(Failed, lambda: second(two))
    assert said == (
        "acme/sample: somebody else committed while 1.1.0 was published; nothing of theirs was changed; run again"
    )
    assert hub.repos[REPO].head.title == "by hand"
    assert list(hub.repos[REPO].tags) == ["1.0.0"]
    second(two)
    released(hub, "1.1.0", two, beside=True)


def test_a_commit_whose_answer_was_lost_is_tagged_though_another_stands_on_it(hub: HubServer, one: Path) -> None:
    hub.faults.append(Fault("/commit/", cut=True, applied=True, after=lambda: hub.somebody_commits(REPO)))
    first(one)
    released(hub, "1.0.0", one)
    assert hub.repos[REPO].head.title == "by hand"


def test_a_file_that_is_served_corrupted_leaves_the_version_before_in_force(
    hub: HubServer, one: Path, two: Path
) -> None:
    first(one)
    hub.faults.append(Fault("GET /storage/", corrupt=True))
    said = refused(Failed, lambda: second(two))
    commit = hub.repos[REPO].head.id[:8]
    assert said == (
        "acme/sample: data/lveval-16k/test.parquet is served with other bytes than were published; "
        f"commit {commit} is not tagged as a version; run again"
    )
    assert list(hub.repos[REPO].tags) == ["1.0.0"]
    second(two)
    released(hub, "1.1.0", two)


def test_a_file_that_the_hub_left_out_is_noticed(hub: HubServer, one: Path) -> None:
    hub.made(REPO)
    hub.somebody_commits(REPO, ".gitignore", b"*.json\n")
    said = refused(Failed, lambda: first(one))
    assert "the Hub left out files of the release (manifest.json)" in said
    assert not hub.repos[REPO].tags


@pytest.mark.parametrize("request_", ["/commit/", "/tag/", "GET .*/resolve/"])
def test_a_hub_that_stays_down_is_said_and_the_next_run_finishes(hub: HubServer, one: Path, request_: str) -> None:
    hub.faults.append(Fault(request_, times=10**6, status=503))
    assert refused(Failed, lambda: first(one)) == (
        "acme/sample: the Hub answers 503 Service Unavailable; run again later"
    )
    assert not hub.repos[REPO].tags
    hub.faults.clear()
    first(one)
    released(hub, "1.0.0", one)
    assert hub.asked("PUT /storage/") == 2  # each Parquet file once, over both runs


# ---- rate limits ----


@pytest.mark.parametrize(
    ("headers", "waited"),
    [({"Retry-After": "7"}, [7.0]), ({"RateLimit": '"api";r=0;t=55'}, [55.0]), ({}, [1.0])],
    ids=["Retry-After", "RateLimit", "neither"],
)
def test_the_hub_says_how_long_to_wait(
    hub: HubServer, one: Path, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], waited: list[float]
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(publishing, "WAITS_S", (1.0, 2.0))
    monkeypatch.setattr(publishing.time, "sleep", waits.append)
    hub.faults.append(Fault("/refs", status=429, headers=headers))
    first(one)
    assert waits == waited


@pytest.mark.parametrize("request_", ["/refs", "/preupload/", "PUT /storage/", "/commit/", "/tag/", "HEAD .*/resolve/"])
def test_a_wait_that_is_too_long_ends_the_run(
    hub: HubServer, one: Path, monkeypatch: pytest.MonkeyPatch, request_: str
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(publishing.time, "sleep", waits.append)
    hub.faults.append(Fault(request_, times=10**6, status=429, headers={"Retry-After": "86400"}))
    assert refused(Failed, lambda: first(one)) == (
        "acme/sample: the Hub answers 429 Too Many Requests; it asks to wait 86400 s; run again later"
    )
    assert waits == []


def test_a_hub_that_says_nothing_is_asked_again(hub: HubServer, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "QUIET_S", 0.5)
    silent = threading.Event()
    hub.faults.append(Fault("/refs", before=lambda: silent.wait(60)))
    first(one)
    silent.set()
    assert hub.asked("/refs") == 2
    released(hub, "1.0.0", one)


# ---- what is wrong is one line, without the token ----


@pytest.mark.parametrize("name", ["sample", "a/b/c", "acme/sam ple", "acme/..", "", "acme/a--b", "{0}/x", "--x/y"])
def test_a_malformed_name(hub: HubServer, one: Path, name: str) -> None:
    said = refused(WrongInput, lambda: publish(one, name, "1.0.0", message="Release"))
    assert said.endswith("expected a dataset as OWNER/NAME")
    assert hub.requests == []


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "latest", "1.0.0\n"])
def test_a_malformed_version(hub: HubServer, one: Path, version: str) -> None:
    with pytest.raises(WrongInput, match=r"expected MAJOR\.MINOR\.PATCH, three plain numbers"):
        publish(one, REPO, version, message="Release")
    assert hub.requests == []


def test_a_token_that_the_hub_does_not_know(hub: HubServer, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.tokens = {}
    assert refused(Failed, lambda: first(one)) == (
        "acme/sample: the Hub does not take the token; put one that may write there in HF_TOKEN"
    )
    monkeypatch.setenv("HF_TOKEN", f"{TOKEN}\x01")
    assert refused(WrongInput, lambda: first(one)) == "HF_TOKEN: has characters that no token has; copy it again"


def test_a_token_that_may_only_read(hub: HubServer, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "acme/sample: the token may not write there; put one that may in HF_TOKEN"
    monkeypatch.setenv("HF_TOKEN", "hf_reader")
    assert refused(Failed, lambda: first(one)) == line
    hub.made(REPO)
    assert refused(Failed, lambda: first(one)) == line
    assert not hub.repos[REPO].tags


def test_an_owner_that_is_not_ours(hub: HubServer, one: Path) -> None:
    said = refused(Failed, lambda: publish(one, "other/sample", "1.0.0", message="Release"))
    assert said == "other/sample: the token may not write there; put one that may in HF_TOKEN"


def test_a_hub_that_is_not_there(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "WAITS_S", (0.0,))
    with HubServer() as gone:
        url = gone.url
    monkeypatch.setenv("HF_ENDPOINT", url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert (
        refused(Failed, lambda: first(one)) == f"acme/sample: {url} does not answer (ConnectError); check the network"
    )


def test_a_dataset_that_is_not_there(hub: HubServer, tmp_path: Path) -> None:
    assert look(REPO, tmp_path) is None
    assert refused(Failed, lambda: fetch(REPO, "1.0.0", tmp_path / "1.0.0")) == (
        f"acme/sample: no such dataset at {hub.url} that the token opens; check the name and HF_TOKEN"
    )


def test_a_card_that_is_no_yaml(hub: HubServer, one: Path) -> None:
    (one / "README.md").write_text("---\nconfigs: [\n---\n")
    said = refused(Failed, lambda: first(one))
    assert said.startswith(
        "acme/sample: the Hub refuses with 400 Bad Request: Invalid metadata in README.md. - bad YAML"
    )
    assert hub.asked("/validate-yaml") == 1


def test_a_folder_that_is_no_release(hub: HubServer, one: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongInput, match=r"none: no such folder; name that of a released version"):
        first(tmp_path / "none")
    (one / "CHANGELOG.md").unlink()
    assert refused(Failed, lambda: first(one)) == (
        f"{one}/CHANGELOG.md: missing; remove this folder, and release again"
    )
    assert hub.requests == []


def test_what_is_no_part_of_the_release_stays_at_home(hub: HubServer, one: Path) -> None:
    (one / ".env").write_text(f"HF_TOKEN={TOKEN}")
    (one / "notes.txt").write_text("not in the manifest")
    first(one)
    (one / ".env").unlink()
    (one / "notes.txt").unlink()
    released(hub, "1.0.0", one)


def test_no_token_and_no_signed_address_is_shown_or_logged(
    hub: HubServer, one: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    hub.faults += [
        Fault("PUT /storage/", status=500),
        Fault("GET /storage/", cut=True, applied=True),
        Fault("/commit/", status=400, said=f"what is this?\nBearer {TOKEN} is refused"),
    ]
    said = refused(Failed, lambda: first(one))
    assert said == ("acme/sample: the Hub refuses with 400 Bad Request: what is this? Bearer (token) is refused")
    first(one)
    shown = "".join(capfd.readouterr())
    assert shown == ""
    assert hub.asked("X-Amz-Signature") == 6  # two files up and down, and a retry of each way
    assert TOKEN not in caplog.text
    assert "X-Amz-Signature" not in caplog.text
    assert all(TOKEN.encode() not in data for data in served(hub, "1.0.0").values())


# ---- two at once ----


def test_of_two_publishers_one_wins(hub: HubServer, one: Path, two: Path) -> None:
    hub.made(REPO)
    together = threading.Barrier(2)
    hub.faults.append(Fault("/commit/", times=2, before=lambda: together.wait(30)))

    def attempt(folder: Path) -> Published | Failed:
        try:
            return first(folder)
        except Failed as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(attempt, (one, two)))
    winners = [folder for folder, result in zip((one, two), results, strict=True) if isinstance(result, Published)]
    (declined,) = [str(result) for result in results if isinstance(result, Failed)]
    assert "another run is publishing 1.0.0 with other bytes" in declined or "is published with other" in declined
    released(hub, "1.0.0", *winners)


def test_two_publishers_of_the_same_bytes_agree(hub: HubServer, one: Path) -> None:
    hub.made(REPO)
    together = threading.Barrier(2)
    hub.faults += [Fault("/commit/", times=2, before=lambda: together.wait(30))]
    with ThreadPoolExecutor(2) as pool:
        first_one, other = pool.map(first, (one, one))
    assert first_one.commit == other.commit
    released(hub, "1.0.0", one)


def test_a_version_that_another_run_has_committed_but_not_tagged_is_left_to_it(
    hub: HubServer, one: Path, two: Path
) -> None:
    declined: list[str] = []
    hub.faults.append(Fault("/tag/", before=lambda: declined.append(refused(Failed, lambda: first(two)))))
    first(one)
    (said,) = declined
    assert said.startswith("acme/sample: another run is publishing 1.0.0 with other bytes (commit ")
    released(hub, "1.0.0", one)


def test_a_publication_that_ended_long_ago_stops_nobody(hub: HubServer, one: Path, two: Path) -> None:
    hub.now = lambda: datetime.now(UTC) - timedelta(minutes=16)
    hub.faults.append(Fault("/tag/", times=10**6, status=500))
    refused(Failed, lambda: first(one))
    hub.faults.clear()
    hub.now = lambda: datetime.now(UTC)
    first(two)  # the sources changed meanwhile
    released(hub, "1.0.0", two, commits=2)


def test_of_two_tags_the_first_stays(hub: HubServer, one: Path, two: Path) -> None:
    def other() -> None:
        repo = hub.repos[REPO]
        files = {path: Blob(data, large=False) for path, data in contents(two).items()}
        repo.tags["1.0.0"] = repo.add("theirs", "", files, hub.now()).id

    hub.faults.append(Fault("/tag/", before=other))
    assert "version 1.0.0 is published with other bytes" in refused(Failed, lambda: first(one))
    assert served(hub, "1.0.0") == contents(two)


# ---- what was published ----


def test_versions_come_in_their_order(hub: HubServer, one: Path) -> None:
    repo = hub.made(REPO)
    repo.tags |= dict.fromkeys(["1.10.0", "1.9.1", "2.0.0", "1.9.0", "draft", "v3"], repo.head.id)
    branch = look(REPO, one.parent)
    assert branch is not None
    assert list(branch.tags) == ["1.9.0", "1.9.1", "1.10.0", "2.0.0"]


def test_a_version_comes_back_as_it_was_published(hub: HubServer, one: Path, two: Path, tmp_path: Path) -> None:
    first(one)
    second(two)
    fetch(REPO, "1.0.0", tmp_path / "got" / "1.0.0")
    assert contents(tmp_path / "got" / "1.0.0") == contents(one)
    assert [path.name for path in (tmp_path / "got").iterdir()] == ["1.0.0"]
    (tmp_path / "empty").mkdir()
    fetch(REPO, "1.1.0", tmp_path / "empty")
    assert contents(tmp_path / "empty") == contents(two)


def test_what_cannot_be_fetched_leaves_nothing(hub: HubServer, one: Path, tmp_path: Path) -> None:
    first(one)
    assert refused(WrongInput, lambda: fetch(REPO, "1.1.0", tmp_path / "got" / "x")) == (
        "acme/sample: no version 1.1.0; the published versions: 1.0.0"
    )
    assert refused(WrongInput, lambda: fetch(REPO, "1.0.0", one)) == f"{one}: exists already; name a new folder"
    hub.faults.append(Fault("GET /storage/", times=10**6, skip=1, status=503))
    assert refused(Failed, lambda: fetch(REPO, "1.0.0", tmp_path / "got" / "x")) == (
        "acme/sample: the Hub answers 503 Service Unavailable; run again later"
    )
    assert list((tmp_path / "got").iterdir()) == []


# ---- in processes of their own ----


def environment(hub: HubServer, home: Path, token: str = TOKEN) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(home), "HF_HOME": str(home / "hf"),
        "TMPDIR": str(home), "HF_ENDPOINT": hub.url, "HF_TOKEN": token, "HF_HUB_DISABLE_XET": "1",
    }  # fmt: skip


PUBLISH = f"""
import os, sys
from pathlib import Path
from data.publish.hub import publish

def publish_it():
    publish(Path(sys.argv[1]), {REPO!r}, "1.0.0", message="Release 1.0.0")
"""
ONCE = f"{PUBLISH}publish_it()"
IN_FORKS = f"""{PUBLISH}
import huggingface_hub.hf_api
while os.read(0, 1):
    pid = os.fork()
    if not pid:
        os.read(0, 1)
        publish_it()
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""The first of two characters makes a fork, the second lets it publish: to import the Hub's client takes a second."""


def publisher(hub: HubServer, folder: Path, home: Path, token: str = TOKEN, code: str = ONCE) -> subprocess.Popen[str]:
    home.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", code, folder], env=environment(hub, home, token), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def asked(forks: subprocess.Popen[str]) -> int:
    """The next number from a publisher in forks: a process, or its exit status."""
    assert forks.stdin is not None
    assert forks.stdout is not None
    forks.stdin.write(".")
    forks.stdin.flush()
    return int(forks.stdout.readline())


@pytest.mark.slow
def test_without_any_token_nothing_is_made(hub: HubServer, one: Path, tmp_path: Path) -> None:
    _, said = publisher(hub, one, tmp_path / "home", token="").communicate(timeout=120)
    assert said.splitlines()[-1] == (
        "schemas.errors.Failed: acme/sample: the Hub does not take the token; put one that may write there in HF_TOKEN"
    )
    assert hub.repos == {}


def test_what_a_killed_fetch_left_is_gone_after_the_next(hub: HubServer, one: Path, tmp_path: Path) -> None:
    first(one)
    to = tmp_path / "there"
    code = f"import sys; from pathlib import Path; from data.publish.hub import look; look({REPO!r}, Path(sys.argv[1]))"
    hub.faults.append(Fault("GET /storage/", cut=True, before=lambda: process.kill()))  # noqa: PLW0108 - begun below
    process = publisher(hub, to, tmp_path / "home", code=code)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert list(to.iterdir())
    hub.faults.clear()
    look(REPO, to)
    assert [path.name for path in to.iterdir()] == ["1.0.0"]
    assert contents(to / "1.0.0") == contents(one)


@pytest.mark.slow
def test_nothing_is_left_in_the_users_cache(hub: HubServer, one: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    _, said = publisher(hub, one, home).communicate(timeout=120)
    assert said == ""
    released(hub, "1.0.0", one)
    assert [path for path in home.rglob("*") if path.is_file()] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_publisher_killed_at_any_request_leaves_the_rest_to_the_next(
    hub: HubServer, one: Path, tmp_path: Path, done: bool
) -> None:
    place, killed = 0, 0
    moment = "after" if done else "before"
    with publisher(hub, one, tmp_path / "home", code=IN_FORKS) as forks:
        while killed == place:
            hub.repos.clear()
            hub.large.clear()
            kill = partial(os.kill, asked(forks), signal.SIGKILL)
            hub.faults[:] = [Fault("", skip=place, cut=True, applied=done, **{moment: kill})]  # type: ignore[arg-type]
            killed += asked(forks) == -signal.SIGKILL
            hub.faults.clear()
            first(one)
            released(hub, "1.0.0", one)
            place += 1
        forks.communicate(timeout=120)
    assert killed > 15


@pytest.mark.slow
def test_a_fresh_process_loads_the_released_version(hub: HubServer, one: Path, two: Path, tmp_path: Path) -> None:
    first(one)
    second(two)
    code = (
        "import datasets\n"
        "for tag in ('1.0.0', '1.1.0'):\n"
        f"    print(datasets.load_dataset({REPO!r}, 'uraq-items', revision=tag, split='test')['number'][:])\n"
        f"print(datasets.get_dataset_config_names({REPO!r}, revision='1.0.0'))\n"
    )
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(hub, tmp_path / "home"), capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1, 2]\n[1, 2, 3]\n['uraq-items', 'lveval-16k']\n"
