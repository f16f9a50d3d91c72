"""A dataset served on a schedule, by real processes: what is deployed, what runs when, and what a failure leaves."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from annotation.label_studio.install import PACKAGES
from flows.loopback.login import kept_login, login_file
from flows.prefect_server.embedded import PRIVATE
from flows.project.settings import load_config
from tests.builds import TOUCHSTONE, begun, bytes_of, touchstone, wait_for, write_config
from tests.fork_server import Forked, stand_in
from tests.prefect_server import CLIENT, PREFECT, QUICK, flow_runs, listed, read, served, with_database
from tests.rebuilds import ANOTHER, facts

URAQ = {"statements": 15, "context_counts": [1, 3]}
LICENCE = {"licence": "Apache-2.0"}
DEPLOYED = {"build", "push", "collect", "release", "rebuild"}
KEY = "sk-planted-4e0f1d"
PATH_OF_NOTICES = "/services/T00/hidden-7c21"
ROOT = Path(__file__).resolve().parent.parent


class Posted(BaseHTTPRequestHandler):
    """Takes notices at one path, and as a model server refuses every key, repeating it."""

    notices: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        told = self.path == PATH_OF_NOTICES
        if told:
            self.notices.append(body)
        answer = json.dumps({"error": {"message": f"no such key: {self.headers.get('Authorization')}"}}).encode()
        self.send_response(200 if told else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None: ...


class Ending(BaseHTTPRequestHandler):
    """A Prefect server that takes no connection after the one that asks for its version."""

    def do_GET(self) -> None:
        if self.path.endswith("/version"):
            self.server.shutdown()
            self.server.server_close()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'"3.0.0"')

    def log_message(self, format: str, *args: Any) -> None: ...


@contextlib.contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listener.server_address[1]}"
        listener.shutdown()


@pytest.fixture(scope="module")
def server_home(tmp_path_factory: pytest.TempPathFactory, prefect_database: Path) -> Path:
    return with_database(tmp_path_factory.mktemp("prefect"), prefect_database)


@pytest.fixture(scope="module")
def server(server_home: Path) -> Iterator[str]:
    with served(server_home) as api:
        yield api


def dataset(folder: Path, name: str, **config: Any) -> Path:
    """A configuration of a dataset of this name."""
    path = write_config(folder, **config)
    path.write_text(json.dumps({**json.loads(path.read_text()), "name": name}))
    return path


@contextlib.contextmanager
def serving(
    config: Path, *, fork: bool = True, **environment: str
) -> Iterator[tuple["Forked | subprocess.Popen[bytes]", Callable[[], str]]]:
    """A `touchstone serve` that has begun to serve, and what it has printed; without `fork` the installed program."""
    out, err = config.parent / "serve.out", config.parent / "serve.err"
    command, variables = ("serve", str(config), "--out", "out"), {"COLUMNS": "160", **QUICK, **environment}
    process: Forked | subprocess.Popen[bytes]
    for printed in (out, err):
        printed.write_bytes(b"")  # an earlier one's is gone
    if fork:
        process = begun(*command, folder=config.parent, out=out, err=err, **variables)
    else:
        with out.open("wb") as opened, err.open("wb") as opened_err:
            process = subprocess.Popen(
                [TOUCHSTONE, *command], cwd=config.parent, stdout=opened, stderr=opened_err,
                env={**os.environ, **variables},
            )  # fmt: skip

    def serves() -> bool:
        assert process.poll() is None
        return "Ctrl-C stops it" in out.read_text()

    try:
        wait_for(serves, 240)
        yield process, out.read_text
    except Exception as error:  # its server ends with it, and why it ended is why nobody answers
        error.add_note(f"serve, whose exit status is {process.poll()}, printed:\n{out.read_text()}{err.read_text()}")
        raise
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def start(api: str, deployment: str, *, fork: bool = True, **policy: int) -> str:
    """Ask for a run of a deployment now, in a fork or as it is deployed, with a policy of its own; its id."""
    deployed = read(api, f"deployments/name/{deployment}")["id"]
    variables = {"command": stand_in("prefect.engine")} if fork else {}
    wanted = {"job_variables": variables, "empirical_policy": policy}
    replies: list[httpx.Response] = []

    def taken() -> bool:  # a busy server's database is locked at times, and it asks to be asked again
        replies.append(CLIENT.post(f"{api}/deployments/{deployed}/create_flow_run", json=wanted))
        return replies[-1].status_code != httpx.codes.SERVICE_UNAVAILABLE

    wait_for(taken, 30)
    return str(replies[-1].raise_for_status().json()["id"])


def state(api: str, run: str) -> str:
    return str(read(api, f"flow_runs/{run}")["state_type"])


def rebuilds(api: str, name: str) -> list[dict[str, Any]]:
    """The rebuilds of a dataset, the latest first."""
    deployment = {"name": {"any_": [name]}}
    flow = {"name": {"any_": ["rebuild"]}}
    return listed(api, "flow_runs", sort="EXPECTED_START_TIME_DESC", deployments=deployment, flows=flow)


def address(said: str, folder: Path) -> str:
    """Where the server that serve started answers, with the login that it asks for."""
    plain = next(line.split()[1] for line in said.splitlines() if line.split()[:1] == ["at"]) + "/api"
    return plain.replace("://", f"://{kept_login(folder / '.touchstone')}@")


def groups(folder: Path) -> list[int]:
    noted: dict[str, int] = json.loads((folder / ".touchstone" / "serve" / "processes.json").read_text())
    return list(noted.values())


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def files_with(secret: str, *folders: Path) -> list[Path]:
    """The files that hold a text: logs, what was built, and Prefect's own database."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return [path for path in files if secret.encode() in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_scheduled_rebuild_happens_on_a_server_that_serve_starts_and_ends(tmp_path: Path) -> None:
    config = dataset(tmp_path, "small one", families={"uraq": URAQ}, release=LICENCE, schedule={"cron": "* * * * *"})
    with serving(config, fork=False, PLANTED_KEY=KEY, PREFECT_API_URL="") as (process, said):
        assert "small one is served: build, push, collect, release, rebuild" in said()
        assert "UTC  (* * * * *)" in said()
        api, login = address(said(), tmp_path), kept_login(tmp_path / ".touchstone")
        assert f"password  the line in {login_file(config.parent / '.touchstone')}" in said()
        stranger = httpx.Client(base_url=f"http://{api.partition('@')[2]}/")
        assert stranger.post("deployments/filter", json={}).status_code == 401
        assert stranger.get("health", headers={"Host": "evil.example"}).status_code == 403
        password = login.partition(":")[2]
        commands = subprocess.run(["ps", "-ww", "-A", "-o", "command="], capture_output=True, text=True, check=True)
        assert password not in commands.stdout
        assert {deployment["name"] for deployment in listed(api, "deployments")} == {"small-one"}
        assert {flow["name"] for flow in listed(api, "flows")} == DEPLOYED
        rebuild = read(api, "deployments/name/rebuild/small-one")
        assert rebuild["parameters"] == {"config": str(config), "out": str(tmp_path / "out")}
        assert rebuild["global_concurrency_limit"]["limit"] == 1
        schedules = [schedule for deployment in listed(api, "deployments") for schedule in deployment["schedules"]]
        assert [schedule["schedule"]["cron"] for schedule in schedules] == ["* * * * *"]

        def happened() -> bool:
            return any(run["auto_scheduled"] and run["state_type"] == "COMPLETED" for run in flow_runs(api))

        wait_for(happened, 300, every=1)
        assert (tmp_path / "out" / "manifest.json").exists()
        second = touchstone("serve", config, folder=tmp_path)
        assert (second.returncode, "served from here already" in second.stderr) == (1, True)
        started = groups(tmp_path)
        assert len(started) == 2
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert "stopped" in said().splitlines()[-1]
    assert all(map(is_gone, started))
    assert groups(tmp_path) == []
    assert files_with(KEY, tmp_path) == []
    assert files_with(password, tmp_path) == [login_file(tmp_path / ".touchstone")]
    assert (tmp_path / ".touchstone" / "serve").stat().st_mode & 0o077 == 0
    again = touchstone("run", config, "--out", "again", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "again")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rebuilds_wait_for_each_other_and_what_a_killed_one_left_is_cleared(server: str, tmp_path: Path) -> None:
    """One that stops itself is not tried again, and the terminal tells it."""
    block = {"statements_from": {"format": "jsonl", "path": "facts.jsonl"}, "context_counts": [1, 3]}

    def change(allowed: int, source: bytes) -> Path:
        (tmp_path / "facts.jsonl").write_bytes(source)
        schedule = {"max_changed_items": allowed}
        return dataset(tmp_path, "pair", families={"uraq": block}, release=LICENCE, schedule=schedule)

    config = change(1, facts())
    with serving(config, PREFECT_API_URL=server, TOUCHSTONE_NOTICE_URL="http://127.0.0.1:9/") as (process, said):
        assert len(listed(server, "automations")) == 1
        two = [start(server, "rebuild/pair") for _ in range(2)]

        def both() -> bool:
            states = [state(server, run) for run in two]
            assert states.count("RUNNING") < 2
            return states == ["COMPLETED", "COMPLETED"]

        wait_for(both, 300, every=0.5)
        runs = sorted((read(server, f"flow_runs/{run}") for run in two), key=lambda run: str(run["start_time"]))
        assert runs[0]["end_time"] <= runs[1]["start_time"]
        assert runs[0]["state"]["message"].startswith("version 1.0.0 is new")

        change(1, facts(ANOTHER, without=1))
        stopped = start(server, "rebuild/pair")
        wait_for(lambda: "schedule.max_changed_items allows 1" in said(), 400)
        assert (state(server, stopped), read(server, f"flow_runs/{stopped}")["run_count"]) == ("FAILED", 1)
        ended = r"^[✓✗](?= \d{4}-\d\d-\d\d \d\d:\d\d UTC  rebuild: )"
        assert re.findall(ended, said(), re.MULTILINE) == ["✓", "✓", "✗"]
        assert "next      none: set `schedule.cron`" in said()
        log = (tmp_path / ".touchstone" / "serve" / "worker.log").read_text()
        assert log.count("it is built, nothing went to people") == 2, (
            "as it is raised, and in Prefect's word of the end"
        )
        assert "Traceback" not in log
        assert f"Aborted submission of flow run '{stopped}'" not in log

        config.write_text(config.read_text().replace(json.dumps(block), json.dumps({**URAQ, "statements": 300})))
        third = start(server, "rebuild/pair")
        wait_for(lambda: len([run for run in flow_runs(server) if run["state_type"] == "RUNNING"]) == 2, 120, every=0.5)
        left = groups(tmp_path)
        process.kill()
        process.wait()
    wait_for(lambda: all(map(is_gone, left)), 30)
    change(300, facts(ANOTHER, without=1))
    with serving(config, PREFECT_API_URL=server) as (_, said):
        assert state(server, third) == "CRASHED"
        assert "was cut off: it runs now" in said()
        assert listed(server, "automations") == [], "without an address nobody is told any more"
        wait_for(lambda: rebuilds(server, "pair")[0]["state_type"] == "COMPLETED", 300, every=0.5)
        assert not any(run["state_type"] == "RUNNING" for run in flow_runs(server))
    assert len(rebuilds(server, "pair")) == 5


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rebuild_ends_with_serve_and_the_next_start_makes_up_for_it_once(
    tmp_path: Path, prefect_database: Path
) -> None:
    """However serve ends: killed with no word, or stopped."""
    uraq = {"statements": 300, "context_counts": [1, 3]}
    config = dataset(tmp_path, "cut", families={"uraq": uraq}, release=LICENCE, schedule={"cron": "0 3 1 1 *"})
    with_database(tmp_path / ".touchstone" / "serve", prefect_database)

    def served(api: str) -> list[str]:
        return [run["state_type"] for run in rebuilds(api, "cut") if not run["auto_scheduled"]]

    def builds(api: str) -> bool:
        return len([run for run in flow_runs(api) if run["state_type"] == "RUNNING"]) == 2

    for number in (signal.SIGKILL, signal.SIGTERM):
        with serving(config, PREFECT_API_URL="") as (process, said):
            if number == signal.SIGKILL:
                start(address(said(), tmp_path), "rebuild/cut", fork=False)
            wait_for(lambda said=said: builds(address(said(), tmp_path)), 120)  # type: ignore[misc]
            started = groups(tmp_path)
            process.send_signal(number)
            process.wait(60)
        wait_for(lambda started=started: all(map(is_gone, started)), 15)  # type: ignore[misc]
    assert not (tmp_path / "out" / "manifest.json").exists(), "it was cut off twice"
    with serving(config, PREFECT_API_URL="") as (_, said):
        assert said().count("was cut off: it runs now") == 1
        assert "next      rebuild at" in said()
        api = address(said(), tmp_path)
        wait_for(lambda: served(api) == ["COMPLETED", "CRASHED", "CRASHED"], 300, every=0.5)
        assert not any(run["state_type"] == "RUNNING" for run in flow_runs(api))
    with serving(config, PREFECT_API_URL="") as (_, said):
        assert "it runs now" not in said()
        assert served(address(said(), tmp_path)) == ["COMPLETED", "CRASHED", "CRASHED"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_rebuilds_that_were_due_while_nothing_served_are_made_up_for_by_one(server: str, tmp_path: Path) -> None:
    cron = {"cron": "0 3 * * *"}
    config = dataset(tmp_path, "late", families={"uraq": URAQ}, release=LICENCE, schedule=cron)
    with serving(config, PREFECT_API_URL=server) as (_, said):
        assert "it runs now" not in said()
    deployed = read(server, "deployments/name/rebuild/late")["id"]
    now = datetime.now(UTC)
    window = {"start_time": (now - timedelta(days=4)).isoformat(), "end_time": (now - timedelta(days=1)).isoformat()}
    CLIENT.post(f"{server}/deployments/{deployed}/schedule", json=window).raise_for_status()
    assert len([run for run in rebuilds(server, "late") if run["expected_start_time"] < now.isoformat()]) > 1
    with serving(config, PREFECT_API_URL=server) as (_, said):
        assert re.search(r"a rebuild was due at \S+ 03:00 UTC, when nothing served it: it runs now", said())
        wait_for(lambda: "version 1.0.0 is new" in said(), 300)
        due = [run for run in rebuilds(server, "late") if run["expected_start_time"] < datetime.now(UTC).isoformat()]
        assert [run["state_type"] for run in due] == ["COMPLETED"], "no other one is left, which would begin now"
    with serving(config, PREFECT_API_URL=server) as (_, said):
        assert "it runs now" not in said()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_that_somebody_cancels_is_not_made_up_for(server: str, tmp_path: Path) -> None:
    config = dataset(tmp_path, "cancelled", families={"uraq": URAQ}, release=LICENCE)
    with serving(config, PREFECT_API_URL=server):
        pass
    deployed = read(server, "deployments/name/rebuild/cancelled")["id"]
    run = CLIENT.post(f"{server}/deployments/{deployed}/create_flow_run", json={}).raise_for_status().json()["id"]
    for kind in ("RUNNING", "CANCELLING"):  # its worker was killed before it could cancel the run
        wanted = {"state": {"type": kind}, "force": True}
        CLIENT.post(f"{server}/flow_runs/{run}/set_state", json=wanted).raise_for_status()
    assert state(server, run) == "CANCELLING"
    with serving(config, PREFECT_API_URL=server) as (_, said):
        assert "it runs now" not in said()
        assert state(server, run) == "CANCELLED"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_that_fails_for_good_is_told_with_no_secret(server: str, server_home: Path, tmp_path: Path) -> None:
    Posted.notices = []
    with listening(Posted) as place:
        model = {"provider": "endpoint", "name": "m", "base_url": f"{place}/v1", "api_key_env": "PLANTED_KEY"}
        config = dataset(tmp_path, "failing", model=model, budget_usd=None, families={"uraq": URAQ})
        environment = {"PLANTED_KEY": KEY, "TOUCHSTONE_NOTICE_URL": place + PATH_OF_NOTICES, "PREFECT_API_URL": server}
        with serving(config, **environment) as (_, said):
            assert "a failure is posted to the address" in said()
            run = start(server, "build/failing", retry_delay=1)
            wait_for(lambda: Posted.notices, 400)
            assert state(server, run) == "FAILED"
            assert read(server, f"flow_runs/{run}")["run_count"] == 3  # it was tried again
            told = json.loads(Posted.notices[0])["text"]
            assert told.startswith("touchstone: build of failing has failed: ")
            assert "401" in told
            kinds = ("flow_runs", "deployments", "artifacts", "logs", "block_documents", "automations", "task_runs")
            known = json.dumps([listed(server, kind) for kind in kinds])
    assert len(Posted.notices) == 1
    for secret in (KEY, PATH_OF_NOTICES):
        assert secret not in known
        assert secret not in Posted.notices[0]
        assert files_with(secret, tmp_path, server_home) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_prefect_deploy_takes_the_file_at_the_root(server: str, tmp_path: Path) -> None:
    environment = {**os.environ, **PRIVATE, "PREFECT_HOME": str(tmp_path), "PREFECT_API_URL": server}
    CLIENT.post(f"{server}/work_pools/", json={"name": "touchstone", "type": "process"}).raise_for_status()
    command = [PREFECT, "--no-prompt", "deploy", "--all"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    deployments = [deployment for deployment in listed(server, "deployments") if deployment["name"] == "sample"]
    entries = {deployment["entrypoint"] for deployment in deployments}
    assert entries == {f"flows.serve.deployments.{name}" for name in DEPLOYED}
    assert {deployment["work_pool_name"] for deployment in deployments} == {"touchstone"}
    scheduled = [deployment for deployment in deployments if deployment["schedules"]]
    assert [deployment["entrypoint"] for deployment in scheduled] == ["flows.serve.deployments.rebuild"]
    assert scheduled[0]["global_concurrency_limit"]["limit"] == 1


@pytest.mark.slow
def test_serve_says_in_a_line_what_is_wrong(tmp_path: Path, prefect_api: str) -> None:
    config = write_config(tmp_path, families={"uraq": URAQ})
    nobody = touchstone("serve", config, folder=tmp_path, PREFECT_API_URL="http://u:pass-word@127.0.0.1:9/api")
    assert nobody.returncode == 1
    assert nobody.stderr.startswith("touchstone: PREFECT_API_URL: no Prefect server answers at http://127.0.0.1:9/api")
    assert "pass-word" not in nobody.stderr + nobody.stdout
    wrong = touchstone("serve", config, folder=tmp_path, PREFECT_API_URL=prefect_api, PREFECT_API_AUTH_STRING="a:wrong")
    assert (wrong.returncode, "refuses the login; set PREFECT_API_AUTH_STRING" in wrong.stderr) == (2, True)
    assert len(wrong.stderr.splitlines()) == 1
    unlogged = touchstone("run", config, "--out", "out", folder=tmp_path, PREFECT_API_AUTH_STRING="a:wrong")
    assert (unlogged.returncode, unlogged.stderr) == (2, wrong.stderr)
    with listening(Ending) as place:
        ended = touchstone("serve", config, folder=tmp_path, PREFECT_API_URL=f"{place}/api")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr.startswith("touchstone: the Prefect server does not answer (ConnectError); run again, when")
    notice = touchstone("serve", config, folder=tmp_path, TOUCHSTONE_NOTICE_URL="chat.example.org/hidden")
    assert (notice.returncode, "hidden" in notice.stderr) == (2, False)


@pytest.mark.slow
def test_a_name_that_addresses_cannot_hold_is_written_otherwise(tmp_path: Path) -> None:
    from flows.serve.deployments import deployed_name  # Prefect, which takes seconds to import

    path = dataset(tmp_path, "LV-Eval / 2026 (draft)", families={"uraq": URAQ})
    assert deployed_name(load_config(path)) == "LV-Eval-2026-draft"


def test_containers_hold_no_secret_and_listen_here_alone() -> None:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert set(compose["services"]) == {"postgres", "prefect", "worker", "label-studio"}
    named = set()
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        for name, value in service["environment"].items():
            variable = re.fullmatch(r"\$\{([A-Z_]+):[?-]\}", value)
            assert variable or not re.search("PASSWORD|KEY|TOKEN|NOTICE|SECRET|AUTH", name), name
            named |= {variable[1]} if variable else set()
    lines = [line for line in (ROOT / ".env.example").read_text().splitlines() if not line.startswith("#")]
    assert {line.removesuffix("=") for line in lines} == named
    assert compose["services"]["label-studio"]["image"].split(":")[1] in PACKAGES[0]
