"""The commands that meet faults: what is there before each, the servers that it speaks to, and what it leaves."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flows import cli
from flows.construct.progress import ProgressListener
from flows.project.project import Project
from flows.release.outcome import release_built
from flows.run.damage import healing, stages_of
from flows.run.finished import report_if_new, write_build
from flows.run.in_process import runner_here
from tests.builds import scribed, served
from tests.chat_server import ChatServer, Messages
from tests.faults.forks import run
from tests.rebuilds import ANOTHER, FACTS, dataset, facts

MODEL = "loopback"
FEW = 5
"""Statements of a dataset: enough that one is kept and one is dropped at each step that drops."""


class Server(Protocol):
    """What a command speaks to."""

    def told(self) -> Mapping[str, Any]:
        """What must be the same in the end."""

    def twice(self) -> Mapping[str, int]:
        """What was paid for, published or handed out more than once, and how often."""


@dataclass(frozen=True)
class Scene:
    """A command that meets faults."""

    name: str
    command: Sequence[str]
    prepare: Callable[[Path, int], None]
    """Write what is there before it into a folder; its server will be at this port."""
    serve: Callable[[Path, int], contextlib.AbstractContextManager[Server]]


@cli.app.command(hidden=True)
def build_here(config: Path) -> None:
    """Build as `touchstone run` does, without Prefect: its server is another program with files of its own."""

    def work(project: Project) -> Project:
        project.store.probe()
        runner_here(project, project.build, ProgressListener()).run(stages_of(project.build))
        write_build(project, ProgressListener())
        return project

    report_if_new(healing(lambda: Project(config, Path("out"), None), work, print))


@cli.app.command(hidden=True)
def release_here(hub: str | None = None) -> None:
    """Release as `touchstone release --allow-unreviewed` does, without Prefect."""
    release_built("out", None, hub, allow_unreviewed=True)


class NoServer:
    """For commands that speak to nobody."""

    def told(self) -> Mapping[str, Any]:
        return {}

    def twice(self) -> Mapping[str, int]:
        return {}


@contextlib.contextmanager
def nobody(folder: Path, port: int) -> Iterator[Server]:
    yield NoServer()


class Chat:
    """A model behind the line."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server

    def told(self) -> Mapping[str, Any]:
        return {"asked": sorted({request.hash for request in self._server.answered})}

    def twice(self) -> Mapping[str, int]:
        counts = Counter(request.hash for request in self._server.answered)
        return {name: count for name, count in counts.items() if count > 1}


ANSWERS = "answers.json"


@contextlib.contextmanager
def builder(folder: Path, port: int) -> Iterator[Server]:
    """A model that answers as the rules do."""
    table = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
    with ChatServer(answer=served(table), model=MODEL, port=port) as server:
        yield Chat(server)


@contextlib.contextmanager
def evaluated(folder: Path, port: int) -> Iterator[Server]:
    """A model that answers each question with a word of it."""

    def answer(messages: Messages) -> str:
        words = messages[-1]["content"].split()
        return words[len(words) // 2]

    with ChatServer(answer=answer, model=MODEL, port=port) as server:
        yield Chat(server)


def endpoint(port: int) -> dict[str, Any]:
    return {"provider": "endpoint", "name": MODEL, "base_url": f"http://127.0.0.1:{port}/v1", "concurrency": 1}


def few(folder: Path, *more: str, without: int = 0, **config: Any) -> Path:
    """A dataset of a few statements."""
    path = dataset(folder, store="store", **config)
    (folder / "facts.jsonl").write_bytes(facts(*more, without=len(FACTS) - FEW + without))
    return path


def sources(folder: Path, port: int) -> None:
    """A configuration whose builder is a server, and what the rules would answer in its place."""
    rules = folder.parent / "rules"
    table = asyncio.run(scribed(few(rules), rules / "out"))
    (folder.parent / ANSWERS).write_text(json.dumps(table), encoding="utf-8")
    few(folder, model=endpoint(port))


def built(folder: Path, port: int) -> None:
    """A build of the rules, with a model to be evaluated."""
    few(folder, models={MODEL: endpoint(port)})
    run(folder, "build-here", "config.yaml")


def released(folder: Path, port: int) -> None:
    """A build that was released, and has changed since."""
    built(folder, port)
    run(folder, *RELEASE)
    few(folder, ANOTHER, without=1, models={MODEL: endpoint(port)})
    run(folder, "build-here", "config.yaml")


RELEASE = ("release-here",)
SCENES: Sequence[Scene] = (
    Scene("build", ("build-here", "config.yaml"), sources, builder),
    Scene("evaluate", ("evaluate", "uraq", "--model", MODEL), built, evaluated),
    Scene("release", RELEASE, built, nobody),
    Scene("next release", RELEASE, released, nobody),
)
