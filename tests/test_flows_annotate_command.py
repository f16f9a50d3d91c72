"""`touchstone annotate` as it is typed: what goes wrong is one line, and the same command again puts it right."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from annotation.label_studio.sync import KEY, is_retired, projects_of, tasks_of
from flows.annotate.board.server import listen_on
from flows.annotate.command import BOARD_PORT
from flows.annotate.server import KEY as API_KEY
from flows.project.locks import one_writer
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from flows.project.settings import packaged
from tests.builds import TOUCHSTONE, begun, practised, touchstone, wait_for, write_config
from tests.fork_server import Forked
from tests.label_studio import Served, SharedServer
from tests.prefect_server import listed
from tests.toy import run_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org"}


@pytest.fixture(scope="module")
def server(shared_label_studio: SharedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The tests of this file each have a benchmark of their own on the server."""
    with shared_label_studio.emptied(tmp_path_factory.mktemp("served") / "state" / "label-studio") as served:
        yield served


def build(folder: Path, name: str, store: Path, **annotation: object) -> Path:
    """The packaged dialogues, built into `folder/out`."""
    dialogues = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
    config = write_config(
        folder, store=str(store), families={"charpeval": {"sources": [dialogues]}},
        annotation={"people": PEOPLE, **annotation},
    )  # fmt: skip
    config.write_text(json.dumps({**json.loads(config.read_text()), "name": name}))
    project = Project(config, folder / "out")
    asyncio.run(run_all(project.build))
    write_output_files(project)
    practised(project)
    with contextlib.chdir(folder):
        remember(project)
    return folder / "out"


def fails(status: int, said: str, *arguments: str, folder: Path, **environment: str) -> None:
    """The command ends so, with one line."""
    done = touchstone("annotate", *arguments, folder=folder, **environment)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stdout + done.stderr
    assert said in done.stderr


def keys(server: Served, name: str) -> Mapping[str, Counter[str]]:
    """By queue, how often each task is there."""
    return {
        queue: Counter(row["data"][KEY] for row in tasks_of(server.client, info) if not is_retired(row))
        for queue, info in projects_of(server.client, name).items()
    }


def is_held(lock: Path) -> bool:
    """Whether a push or pull is at work."""
    return lock.exists() and f":{lock.stat().st_ino} " in Path("/proc/locks").read_text()


def test_a_server_that_is_down_is_said_at_once(tmp_path: Path) -> None:
    build(tmp_path, "down", tmp_path / "store")
    for command in ("push", "pull", "status"):
        fails(1, f"`touchstone label-studio up {tmp_path}/config.yaml` starts it", command, folder=tmp_path)


def test_who_listens_waits_for_a_server_that_is_down_at_the_start(tmp_path: Path) -> None:
    build(tmp_path, "down", tmp_path / "store")
    out, errors = tmp_path / "printed", tmp_path / "errors"
    out.touch()
    process = begun("annotate", "listen", folder=tmp_path, out=out, err=errors)
    wait_for(lambda: f"`touchstone label-studio up {tmp_path}/config.yaml` starts it" in out.read_text())
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert (process.wait(60), errors.read_text()) == (
        130,
        "touchstone: stopped; run the same command again to go on from here\n",
    )


def test_the_board_has_the_same_port_each_time_and_says_if_it_is_taken(tmp_path: Path) -> None:
    build(tmp_path, "board", tmp_path / "store")
    with contextlib.ExitStack() as taken:
        with contextlib.suppress(OSError):  # taken all the same
            taken.enter_context(listen_on(BOARD_PORT))
        fails(1, f"--port {BOARD_PORT}: cannot listen there (Address already in use); stop what listens there, "
              "or choose another port, 0 for a free one", "board", folder=tmp_path)  # fmt: skip


def test_a_wrong_key_and_an_old_server_are_said(server: Served, tmp_path: Path) -> None:
    build(tmp_path / "key", "key", tmp_path / "store", url=server.url)
    for command in ("push", "status", "listen"):
        fails(2, "does not accept the key", command, folder=tmp_path / "key", **{API_KEY: "0" * 40})

    class Old(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"release": "1.10.1"}')

        def log_message(self, format: str, *args: object) -> None:
            pass

    old = ThreadingHTTPServer(("127.0.0.1", 0), Old)
    threading.Thread(target=old.serve_forever, args=(0.05,), daemon=True).start()
    build(tmp_path / "old", "old", tmp_path / "store", url=f"http://127.0.0.1:{old.server_port}")
    fails(2, "is Label Studio 1.10.1; 1.20 or later is needed", "pull", folder=tmp_path / "old", **{API_KEY: "0" * 40})
    old.shutdown()


def test_a_folder_without_a_build_or_its_stages_is_said(tmp_path: Path) -> None:
    out = build(tmp_path, "gone", tmp_path / "store")
    fails(2, "nowhere: there is no build here; `touchstone run CONFIG --out nowhere` makes one", "push", "--out",
          "nowhere", folder=tmp_path)  # fmt: skip
    shutil.rmtree(tmp_path / "store" / "charpeval")
    for command in ("push", "pull", "status"):
        fails(2, "makes them again", command, "--out", str(out), folder=tmp_path)


def test_a_configuration_that_cannot_be_read_is_said_and_empties_no_queue(server: Served, tmp_path: Path) -> None:
    build(tmp_path, "broken", server.folder.parent)
    assert touchstone("annotate", "push", folder=tmp_path).returncode == 0
    before = keys(server, "broken")
    config = tmp_path / "config.yaml"
    whole = config.read_text()
    config.write_text(json.dumps({**json.loads(whole), "foo": 1}))
    for command in ("push", "pull", "status"):
        fails(2, "config.yaml: foo", command, folder=tmp_path)
    config.unlink()
    fails(2, "config.yaml: no such file", "push", folder=tmp_path)
    assert keys(server, "broken") == before
    config.write_text(whole)
    done = touchstone("annotate", "push", folder=tmp_path)
    assert (done.returncode, keys(server, "broken")) == (0, before), done.stderr


def test_what_is_typed_from_push_to_status(server: Served, tmp_path: Path, prefect_api: str) -> None:
    out = build(tmp_path, "typed", server.folder.parent)
    done = touchstone("annotate", "push", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"charpeval-authoring@2 +a1 ", done.stdout), done.stdout
    done = touchstone("annotate", "pull", folder=tmp_path, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    assert f"{out / 'annotation.html'}" in done.stdout
    assert (out / "annotation.html").exists()
    told = next(
        one["data"] for one in listed(prefect_api, "artifacts", sort="CREATED_DESC") if one["key"] == "annotation"
    )
    row = json.loads(told)[0]
    assert {"form", "person", "done", "left", "minutes an item", "rejected", "known right", "agrees"} <= set(row)
    assert "@" not in told
    status = touchstone("annotate", "status", folder=tmp_path)
    assert status.returncode == 0, status.stderr
    assert [line.strip() for line in status.stdout.splitlines()].count("charpeval-authoring") == 1
    (out / "annotations" / "charpeval-authoring.jsonl").write_text("{\n")
    fails(2, "charpeval-authoring.jsonl: line 1: expected JSON", "status", folder=tmp_path)
    done = touchstone("annotate", "pull", folder=tmp_path)
    assert "charpeval-authoring.jsonl.damaged-1" in done.stdout
    assert touchstone("annotate", "status", folder=tmp_path).returncode == 0
    shutil.rmtree(out / "annotations")
    (out / "annotations").write_text("")
    fails(1, "annotations", "pull", folder=tmp_path)
    (out / "annotations").unlink()


def test_a_full_disk_is_said_and_leaves_files_whole(server: Served, tmp_path: Path) -> None:
    out = build(tmp_path, "full", server.folder.parent)
    assert touchstone("annotate", "push", folder=tmp_path).returncode == 0
    assert touchstone("annotate", "pull", folder=tmp_path).returncode == 0
    kept = tmp_path / "kept"
    out.rename(kept)
    out.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", out], capture_output=True, check=False
    ).returncode:
        pytest.skip(
            "only root may mount a small disk; a disk that fills is tested in test_flows_annotate_work_faults.py too"
        )
    try:
        shutil.copytree(kept, out, dirs_exist_ok=True)
        page = (out / "annotation.html").read_bytes()
        with contextlib.suppress(OSError), (out / "filler").open("wb") as file:
            while True:
                file.write(b"0" * 1024)
                file.flush()
        fails(1, "No space left on device; 0 MB are free there", "pull", folder=tmp_path)
        assert (out / "annotation.html").read_bytes() == page
        assert not [path for path in out.rglob("*") if ".tmp-" in path.name]
        (out / "filler").unlink()
        assert touchstone("annotate", "pull", folder=tmp_path).returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", out], check=True)
        fails(1, "cannot be written (Read-only file system); allow writing there", "pull", folder=tmp_path)
    finally:
        subprocess.run(["umount", out], check=True)


@pytest.mark.parametrize("command", ["push", "pull"])
def test_a_command_waits_for_another_push_or_pull(server: Served, tmp_path: Path, command: str) -> None:
    build(tmp_path, f"waiting-{command}", server.folder.parent)
    out, errors = tmp_path / "printed", tmp_path / "errors"
    out.touch()
    with one_writer(server.folder.parent, pytest.fail):
        process = begun("annotate", command, folder=tmp_path, out=out, err=errors)
        wait_for(lambda: "another push or pull is at work here; waiting for it" in out.read_text())
    assert process.wait(120) == 0, errors.read_text()
    assert out.read_text().count("waiting for it") == 1


@pytest.mark.parametrize("queues", [0, 1, 2])
def test_ctrl_c_during_a_push_leaves_what_the_next_push_completes(server: Served, tmp_path: Path, queues: int) -> None:
    name = f"stopped{queues}"
    build(tmp_path, name, server.folder.parent)
    errors = tmp_path / "errors"
    process = Forked([str(TOUCHSTONE), "annotate", "push"], tmp_path, os.environ, os.devnull, str(errors))
    until = time.monotonic() + 120
    lock = server.folder.parent / "annotate.lock"
    while time.monotonic() < until and process.poll() is None:
        if is_held(lock) and len(projects_of(server.client, name)) >= queues:
            os.kill(process.pid, signal.SIGINT)
            break
        time.sleep(0.01)
    status, said = process.wait(120), errors.read_text()
    assert status == 130, said
    assert said.splitlines()[-1] == "touchstone: stopped; run the same command again to go on from here"
    for _ in range(2):
        done = touchstone("annotate", "push", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        there = keys(server, name)
        assert set(there) == {
            f"{name}/{rubric}@2/{by}" for rubric in ("charpeval-utterance", "charpeval-authoring") for by in PEOPLE
        }
        assert {number for tasks in there.values() for number in tasks.values()} == {1}
        assert len({key for queue, tasks in there.items() if "authoring" in queue for key in tasks}) == 6
