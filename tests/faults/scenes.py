"""The commands that meet faults: what is there before each, the servers that it speaks to, and what it leaves."""

import asyncio
import contextlib
import json
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from flows import cli
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import Pushed, push
from flows.annotate.report import write_annotation
from flows.annotate.server import KEY, connect_configured
from flows.construct.progress import ProgressListener
from flows.construct.stages import StageRef
from flows.project.locks import one_writer
from flows.project.output_files import open_for_people
from flows.project.project import Project
from flows.rebuild.steps import Steps, rebuild_by
from flows.release.outcome import release_built
from flows.run.damage import healing, stages_of
from flows.run.finished import report_if_new, write_build
from flows.run.in_process import runner_here
from schemas.manifest import BuildManifest
from tests.builds import scribed, served
from tests.chat_server import Messages
from tests.faults.forks import run
from tests.faults.servers import Batches, Chat, Hub, LabelStudio, NoServer, Server
from tests.label_studio_stand_in import TOKEN
from tests.rebuilds import ANOTHER, FACTS, dataset, facts

MODEL, REPO = "loopback", "acme/facts-qa"
FEW = 5
"""Statements of a dataset: enough that one is kept and one is dropped at each step that drops."""
ANSWERS, CONTENT = "answers.json", "content"
PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org"}


Serve = Callable[[Path, int], contextlib.AbstractContextManager[Server]]
"""The server at a port, of a folder beside that of the command."""


@dataclass(frozen=True)
class Scene:
    """A command that meets faults."""

    name: str
    command: Sequence[str]
    prepare: Callable[[Path, int], None]
    """Write what is there before it into a folder; its server will be at this port."""
    serve: Serve
    environment: Mapping[str, str] = field(default_factory=dict)
    """`{port}` is that of its server."""


say = partial(print, flush=True)


class Lines(ProgressListener):
    """Says what a build waits for."""

    def blocked(self, ref: StageRef, by: str) -> None:
        """Say so, as the terminal does."""
        say(f"{ref} waits for {by}")

    def noted(self, note: str) -> None:
        """Say it."""
        say(note)


# ---- commands without Prefect, whose server is another program with files of its own ----


def build(config: str, out: str, limit: int | None = None, listener: ProgressListener | None = None) -> BuildManifest:
    """Build as the flow of this name does."""

    def work(project: Project) -> BuildManifest:
        project.store.probe()
        runner_here(project, project.build, Lines()).run(stages_of(project.build))
        return write_build(project, Lines())

    return healing(lambda: Project(Path(config), Path(out), limit), work, say)


def push_all(out: str) -> Pushed:
    """Push as the flow does."""
    project = open_for_people(Path(out))
    with one_writer(project.state, say), connect_configured(project) as client:
        return push(project, client)


def pull_all(out: str) -> None:
    """Pull as the flow does."""
    project = open_for_people(Path(out))
    with one_writer(project.state, say), connect_configured(project) as client:
        collected = pull(project, client)
        lines = progress(project, client, collected)
    write_annotation(project, collected, lines)


HERE = Steps(build, pull_all, push_all, release_built)


@cli.app.command(hidden=True)
def build_here(config: Path) -> None:
    """Build as `touchstone run` does."""
    HERE.build(str(config), "out", None, None)
    report_if_new(Project(config, Path("out")))


@cli.app.command(hidden=True)
def release_here(hub: str | None = None) -> None:
    """Release as `touchstone release --allow-unreviewed` does."""
    print(*HERE.release("out", None, hub, allow_unreviewed=True).prepared.left_out, sep="\n")


@cli.app.command(hidden=True)
def push_here() -> None:
    """Push as `touchstone annotate push` does."""
    HERE.push("out")


@cli.app.command(hidden=True)
def pull_here() -> None:
    """Pull as `touchstone annotate pull` does."""
    HERE.pull("out")


@cli.app.command(hidden=True)
def rebuild_here(config: Path) -> None:
    """Rebuild as `touchstone rebuild` does."""
    rebuild_by(HERE, config, Path("out"), None, None, refresh=False, listener=None)


# ---- servers ----


@contextlib.contextmanager
def nobody(folder: Path, port: int) -> Iterator[Server]:
    """No server."""
    yield NoServer()


@contextlib.contextmanager
def builder(folder: Path, port: int) -> Iterator[Server]:
    """A model that answers as the rules do."""
    with Chat(served(json.loads((folder / ANSWERS).read_text(encoding="utf-8"))), MODEL, port) as server:
        yield server


def a_word(messages: Messages) -> str:
    """Answer a question with a word of it."""
    words = messages[-1]["content"].split()
    return words[len(words) // 2]


@contextlib.contextmanager
def evaluated(folder: Path, port: int) -> Iterator[Server]:
    """A model that answers each question with a word of it."""
    with Chat(a_word, MODEL, port) as server:
        yield server


@contextlib.contextmanager
def evaluated_in_batches(folder: Path, port: int) -> Iterator[Server]:
    """The same model, which takes batches."""
    with Batches(a_word, MODEL, port) as server:
        yield server


@contextlib.contextmanager
def hub(folder: Path, port: int) -> Iterator[Server]:
    """The Hub, with no dataset yet."""
    with Hub(port=port) as server:
        yield server


@contextlib.contextmanager
def label_studio(folder: Path, port: int) -> Iterator[LabelStudio]:
    """Label Studio, with what was left there."""
    server = LabelStudio(port)
    if (folder / CONTENT).exists():
        server.content = pickle.loads((folder / CONTENT).read_bytes())
    thread = threading.Thread(target=server.serve_for_ever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.close()


# ---- what is there before ----


def few(folder: Path, *more: str, without: int = 0, **config: Any) -> None:
    """A dataset of a few statements."""
    dataset(folder, **{"store": "store", **config})
    (folder / "facts.jsonl").write_bytes(facts(*more, without=len(FACTS) - FEW + without))


def endpoint(port: int) -> dict[str, Any]:
    """A model at this port, asked one question at a time."""
    return {"provider": "endpoint", "name": MODEL, "base_url": f"http://127.0.0.1:{port}/v1", "concurrency": 1}


def sources(folder: Path, port: int) -> None:
    """A configuration whose builder is a server, and what the rules would answer in its place."""
    rules = folder.parent / "rules"
    few(rules)
    table = asyncio.run(scribed(rules / "config.yaml", rules / "out"))
    (folder.parent / ANSWERS).write_text(json.dumps(table), encoding="utf-8")
    few(folder, model=endpoint(port))


def built(folder: Path, port: int) -> None:
    """A build of the rules, with a model to be evaluated and people."""
    few(folder, **config(port))
    run(folder, "build-here", "config.yaml")


def with_batches(folder: Path, port: int) -> None:
    """The same build, with a model that takes batches."""
    few(folder, models={MODEL: {**endpoint(port), "batch": True}})
    run(folder, "build-here", "config.yaml")


def changed(folder: Path, port: int) -> None:
    """A build whose source has changed since."""
    built(folder, port)
    few(folder, ANOTHER, without=1, **config(port))


def released(folder: Path, port: int) -> None:
    """A build that was released, and has changed since."""
    built(folder, port)
    run(folder, "release-here")
    few(folder, ANOTHER, without=1, **config(port))
    run(folder, "build-here", "config.yaml")


def config(port: int) -> dict[str, Any]:
    """Who evaluates and who judges."""
    return {
        "models": {MODEL: endpoint(port)}, "annotation": {"url": f"http://127.0.0.1:{port}", "people": PEOPLE},
    }  # fmt: skip


def invited(folder: Path, port: int) -> None:
    """A build, and people with accounts."""
    built(folder, port)
    with label_studio(folder.parent, port) as server:
        for email in PEOPLE.values():
            server.sign_up(email)
        (folder.parent / CONTENT).write_bytes(pickle.dumps(server.content))


def judged(folder: Path, port: int) -> None:
    """Tasks that people have done in part."""
    invited(folder, port)
    with label_studio(folder.parent, port) as server:
        run(folder, "push-here")
        server.work(PEOPLE)
        (folder.parent / CONTENT).write_bytes(pickle.dumps(server.content))


def judged_and_changed(folder: Path, port: int) -> None:
    """A released build, tasks that people have done in part, and a source that has changed since."""
    judged(folder, port)
    run(folder, "release-here")
    few(folder, ANOTHER, without=1, **config(port))


RELEASE = ("release-here",)
ON_HUB = {"HF_ENDPOINT": "http://127.0.0.1:{port}", "HF_TOKEN": "hf_test", "HF_HUB_DISABLE_XET": "1"}
WITH_KEY = {KEY: TOKEN}
SCENES: Sequence[Scene] = (
    Scene("build", ("build-here", "config.yaml"), sources, builder),
    Scene("next build", ("build-here", "config.yaml"), changed, nobody),
    Scene("evaluate", ("evaluate", "uraq", "--model", MODEL), built, evaluated),
    Scene("evaluate in batches", ("evaluate", "uraq", "--model", MODEL), with_batches, evaluated_in_batches),
    Scene("release", RELEASE, built, nobody),
    Scene("next release", RELEASE, released, nobody),
    Scene("publish", (*RELEASE, "--hub", REPO), built, hub, ON_HUB),
    Scene("push", ("push-here",), invited, label_studio, WITH_KEY),
    Scene("pull", ("pull-here",), judged, label_studio, WITH_KEY),
    Scene("rebuild", ("rebuild-here", "config.yaml"), judged_and_changed, label_studio, WITH_KEY),
)
