"""Keys are planted wherever one can stand, and looked for in all that a command leaves when it fails."""

import json
import sqlite3
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.project.installation import served
from flows.project.settings import ConfigError, parse_config
from tests.builds import touchstone, write_config
from tests.planted_texts import configurations
from tests.prefect_server import with_database

PLANTED = "Pl4nted"
"""A part of every key here, in any case of its letters."""
KEY = f"sk-proj-{PLANTED}M0delK3yAbCdEfGh12345678"
MODEL = "THE_MODELS"
"""A variable whose name does not say that it holds a key, which has no maker's form either."""
ENVIRONMENT = {
    MODEL: f"{PLANTED}-of-the-model-0123456789",
    "HF_TOKEN": f"hf_{PLANTED}HubT0kenAbCdEfGh1234567890",
    "HF_HUB_DISABLE_XET": "1",
    "LABEL_STUDIO_API_KEY": f"{PLANTED}0f1abe15tud10fedcba9876543210",
    "AWS_ACCESS_KEY_ID": f"AKIA{PLANTED.upper()}KEYID1234"[:20],
    "AWS_SECRET_ACCESS_KEY": f"{PLANTED}/S3cret+AbCdEfGh1234567890",
    "AWS_EC2_METADATA_DISABLED": "true",
    "PGPASSWORD": f"{PLANTED}-of-postgres",
    "TOUCHSTONE_HELD_OUT_SECRET": f"{PLANTED}0123456789abcdef0123456789abcdef",
    "ANOTHER_SERVICE_TOKEN": f"{PLANTED}-of-another",
}
PASSWORD = f"{PLANTED}-pa55w0rd"
RANDOM = f"q7Xw2{PLANTED}9Vb4Nz8Rt5Yc1Hd6Jf3Gs0"
"""A key by no maker's form."""
ADDRESS = f"https://anna:{PASSWORD}@host.example/v1?token={RANDOM}"
URAQ = {"statements": 3, "context_counts": [1, 3]}


class Echo(BaseHTTPRequestHandler):
    """Refuses everything with the status in the path's beginning, and repeats the key wherever an answer has room."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = next((int(part) for part in self.path.split("/") if part.isdigit()), 401)
        said = f"no such key: {self.headers.get('Authorization')} at {self.path}"
        answer: Any = {"error": {"message": said, "code": said}, "detail": said, "message": said}
        if self.path == "/api/version":
            status, answer = 200, {"release": "1.22.0"}
        self.send_response(status, said)
        self.send_header("X-Error-Message", said)
        body = said.encode() if status == 200 and self.path != "/api/version" else json.dumps(answer).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_HEAD = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    """The address of a server that refuses all keys and repeats them."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def leaks(*folders: Path) -> list[str]:
    """The files that hold a planted key, but the configuration in which a test writes one."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name != "config.yaml")
    return [str(path) for path in files if PLANTED.lower().encode() in _content(path).lower()]


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if not content.startswith(b"SQLite format 3\0"):
        return content
    with closing(sqlite3.connect(path)) as database:  # in the file a long text may lie in pieces
        return content + "\n".join(database.iterdump()).encode()


def refused(raw: dict[str, Any]) -> str:
    """What is said of a configuration, with the traceback; nothing of a right one."""
    try:
        parse_config(raw, "config.yaml")
    except ConfigError as error:
        return "".join(traceback.format_exception(error))
    return ""


@pytest.mark.parametrize("text", [KEY, RANDOM, ADDRESS], ids=["key", "random", "address"])
def test_a_key_in_any_place_of_a_configuration_is_not_repeated(text: str) -> None:
    tried = 0
    for place, raw in configurations(text):
        tried += 1
        said = refused(raw)
        assert PLANTED not in said, place
        # A model's name may look like anything, and a database's address may have a password.
        assert said or text is RANDOM or place == ".cache", place
    assert tried > 300


def test_what_is_wrong_with_a_configuration_names_the_place_and_what_to_do(tmp_path: Path) -> None:
    """Each on a line of its own, in a traceback too."""
    wrong = {
        "model": {"provider": KEY, "name": "m", "api_key": KEY},
        "models": {
            "a": {"provider": "endpoint", "name": "m", "base_url": f"http://anna:{PASSWORD}@host/v1"},
            "b": {"provider": "endpoint", "name": "m", "base_url": f"http://host/v1?key={RANDOM}"},
            "c": {"provider": "endpoint", "name": "m", "api_key_env": RANDOM},
            "d": {"provider": "endpoint", "name": "m", "parameters": {"headers": {"Authorization": RANDOM}}},
            "e": {"provider": "endpoint", "name": "m", "headers": {"Authorization": f"Bearer {RANDOM}"}},
            "f": {"provider": "endpoint", "name": KEY},
            KEY: {"provider": "rules"},
        },
        "store": f"s3://{RANDOM}:{PASSWORD}@bucket/x",
        "annotation": {"url": ADDRESS, "people": {"a1": KEY}},
        "release": {"repo": f"https://{RANDOM}@huggingface.co/acme/x", "maintainer": KEY},
        "families": {"uraq": {**URAQ, "statements_from": {"format": "jsonl", "path": ADDRESS}}, RANDOM: {}},
    }  # fmt: skip
    config = write_config(tmp_path, **wrong)
    for debug in ((), ("--debug",)):
        done = touchstone("estimate", config, *debug, folder=tmp_path)
        assert done.returncode == 2
        assert ("Traceback" in done.stderr) == bool(debug)
        assert PLANTED not in done.stdout + done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("touchstone: ")]
        for said in (
            "model.provider: expected one of 'rules', 'endpoint', 'local'",
            "model.api_key: keys and passwords go into the environment",
            "models.a.base_url: a name and password do not belong in an address; give the key by api_key_env",
            "models.b.base_url: an address ends with its path; keys go into the environment, see api_key_env",
            "models.c.api_key_env: expected the name of an environment variable, such as OPENAI_API_KEY; not the key",
            "models.d.parameters: authorization: a key goes into the environment, and api_key_env names the variable",
            "models.e.headers: unknown key",
            "models.f.name: keys and passwords go into the environment, not into this file",
            "models.***: ",
            "store: keys and passwords go into the environment",
            "annotation.url: an address ends with its path; the key goes into the environment, LABEL_STUDIO_API_KEY",
            "annotation.people: a1: '***' is not an e-mail address",
            "release.repo: string should match pattern",
            "release.maintainer: keys and passwords go into the environment",
            "families.uraq.statements_from.path: keys and passwords go into the environment",
            "families.***: unknown family",
        ):  # fmt: skip
            assert any(said in line for line in lines), (said, lines)
    config.write_text(f"name: x\nfamilies: {{uraq: {{}}}}\ncache: [{ADDRESS}\npassword: {PASSWORD}: x\n")
    done = touchstone("estimate", config, "--debug", folder=tmp_path)
    assert (done.returncode, PLANTED in done.stderr) == (2, False)
    assert "not valid YAML in line" in done.stderr
    assert leaks(tmp_path) == []


def test_a_server_that_repeats_a_key_is_reported_without_it(echo: str) -> None:
    assert served(f"{echo}/401/v1", KEY, timeout_s=5) == (
        None,
        "it answers 401 Unauthorized; start it, or correct base_url",
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small build by the rules."""
    folder = tmp_path_factory.mktemp("built")
    done = touchstone("run", write_config(folder, families={"uraq": URAQ}), "--out", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder


def endpoint(address: str, **settings: Any) -> dict[str, Any]:
    return {
        "provider": "endpoint",
        "name": "m",
        "base_url": address,
        "api_key_env": MODEL,
        "max_retries": 0,
        **settings,
    }


def source(**spec: str) -> dict[str, Any]:
    return {"families": {"uraq": {**URAQ, "statements_from": spec}}}


RUN = ("run", "config.yaml", "--out", "new")
EVALUATE = ("evaluate", "uraq", "--model", "m", "--out", "out")
RELEASE = ("release", "--out", "out", "--hub", "acme/x")
NOWHERE = f"http://anna:{PASSWORD}@127.0.0.1:9"


@dataclass(frozen=True)
class Failing:
    """A command, the settings and the environment that it fails with, and what it says; ECHO is the server."""

    command: tuple[str, ...]
    said: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def evaluation(cls, status: int, said: str) -> "Failing":
        return cls(EVALUATE, said, {"models": {"m": endpoint(f"ECHO/{status}/v1")}})

    @classmethod
    def cache(cls, url: str, said: str = "check the database URL") -> "Failing":
        return cls(RUN, said, {"cache": url, "model": endpoint("ECHO/401/v1")})


FAILING = {
    "model 200": Failing.evaluation(200, "replied with something that is no chat completion (no such key"),
    "model 400": Failing.evaluation(400, "the request was refused (400) (no such key"),
    "model 401": Failing.evaluation(401, f"the key in the environment variable {MODEL} was refused"),
    "model 500": Failing.evaluation(500, "server error 500"),
    "model pasted": Failing(("evaluate", "uraq", "--model", KEY, "--out", "out"), "--model ***: no such model"),
    "option": Failing(("estimate", f"--{KEY}"), "No such option: --***"),
    "new": Failing(("new", "out", "--model", KEY), "--model: expected a model's name, found a key"),
    "cache": Failing.cache(f"postgresql://anna:{PASSWORD}@127.0.0.1:9/db?password={RANDOM}"),
    "cache asyncpg": Failing.cache(f"postgresql+asyncpg://anna:{PASSWORD}@127.0.0.1:9/db"),
    "cache wrong": Failing.cache(f"postgresql://anna:{PASSWORD}:{RANDOM}", "cache: not a database URL"),
    "store away": Failing(RUN, "the store refuses", {"store": "s3://b/x"}, {"AWS_ENDPOINT_URL": NOWHERE}),
    "store 403": Failing(RUN, "the store refuses", {"store": "s3://b/x"}, {"AWS_ENDPOINT_URL": "ECHO/403"}),
    "hub source": Failing(RUN, "HF_TOKEN", source(format="hub", path="acme/x"), {"HF_ENDPOINT": "ECHO/401"}),
    "web source": Failing(RUN, "answers 401", source(format="jsonl", path=f"ECHO/401/facts.jsonl?token={RANDOM}")),
    "push": Failing(
        ("annotate", "push", "--out", "out"), "does not accept the key (no such key",
        {"annotation": {"url": "ECHO", "people": {"a1": "a@example.org"}}},
    ),
    "release 401": Failing(RELEASE, "does not take this token", environment={"HF_ENDPOINT": "ECHO/401"}),
    "release 400": Failing(RELEASE, "the Hub refuses with 400", environment={"HF_ENDPOINT": "ECHO/400"}),
    "serve": Failing(("serve", "config.yaml"), "no Prefect", environment={"PREFECT_API_URL": f"{NOWHERE}/api"}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FAILING)
def test_what_fails_leaves_no_key_anywhere(
    name: str, built: Path, echo: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    failing = FAILING[name]
    write_config(
        built, **json.loads(json.dumps({"families": {"uraq": URAQ}, **failing.settings}).replace("ECHO", echo))
    )
    environment = {**ENVIRONMENT, "HF_HOME": str(built / "hf"), **failing.environment}
    environment = {variable: value.replace("ECHO", echo) for variable, value in environment.items()}
    done = touchstone(*failing.command, "--debug", folder=built, **environment)
    printed = done.stdout + done.stderr
    assert done.returncode in (1, 2), printed
    assert failing.said in printed
    assert "Traceback" in done.stderr
    assert PLANTED.lower() not in printed.lower()
    # The database of the Prefect server is among them.
    assert leaks(tmp_path_factory.getbasetemp()) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_prefects_own_logs_hold_no_key(tmp_path: Path, echo: str, prefect_database: Path) -> None:
    home = with_database(tmp_path / "prefect", prefect_database)
    config = write_config(tmp_path, model=endpoint(f"{echo}/401/v1"), families={"uraq": URAQ})
    logged = {"PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_SERVER_LOGGING_LEVEL": "DEBUG", "PREFECT_HOME": str(home)}
    done = touchstone(
        "run", config, "--out", "out", "--debug", folder=tmp_path, PREFECT_API_URL="", **ENVIRONMENT, **logged
    )
    assert done.returncode == 1
    assert "Finished in state Failed" in done.stdout + done.stderr
    assert PLANTED.lower() not in (done.stdout + done.stderr).lower()
    assert leaks(tmp_path) == []
