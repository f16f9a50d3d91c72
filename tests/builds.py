"""Builds as a user runs them: configurations, the command line in a process of its own, and its bytes."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from annotation.practice import practice_for
from data.checksum import checksum
from flows.annotate.work import works
from flows.construct import embed
from flows.construct.stages import StageRef
from flows.llm.model import InvalidAnswer, Out, Prompt, Text, Usage
from flows.llm.rules import Rules
from flows.project.models import rules_of
from flows.project.project import EMBEDDINGS, Project
from schemas.annotation import Annotation
from schemas.base import content_hash
from tests.chat_server import Messages, message_hash
from tests.fork_server import Forked, can_fork, run_forked
from tests.toy import run_all

TOUCHSTONE = Path(sys.executable).parent / "touchstone"
FOLDERS = ("accepted", "sifted", "dropped")
ROOT = Path(__file__).resolve().parent.parent


def cache_folder() -> Path:
    """Where tests keep what takes long to make."""
    return Path(os.environ.get("TOUCHSTONE_TEST_CACHE", ROOT / ".touchstone-tests"))


def write_config(folder: Path, name: str = "config.yaml", *, embeds: bool = False, **config: Any) -> Path:
    """Write a configuration; JSON is YAML. With `embeds` its builds compute their vectors themselves."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps({"name": "test", "seed": 7, **config}), encoding="utf-8")
    store = config.get("store", ".touchstone")
    if not embeds:
        share_vectors(folder / (".touchstone" if "://" in store else store))
    return path


def share_vectors(state: Path) -> None:
    """Give a state folder the vectors that all tests share: loading the model is more than half of a small build."""
    state.mkdir(parents=True, exist_ok=True)
    if not (state / EMBEDDINGS).exists():
        (state / EMBEDDINGS).symlink_to(_vectors())


@cache
def _vectors() -> Path:
    """Those that the embedder of this very code has computed."""
    code = content_hash(checksum(Path(embed.__file__)), version("sentence-transformers"), version("torch"))
    path = (cache_folder() / f"embeddings-{code}.sqlite").resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def touchstone(
    *arguments: str | Path, folder: Path, fork: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line and wait for it; without `fork` the installed program, with its own seed of hashes."""
    command = [str(TOUCHSTONE), *map(str, arguments)]
    everything = {**os.environ, "COLUMNS": "160", **environment}
    if fork and can_fork(everything):
        return run_forked(command, folder, everything, timeout=600)
    return subprocess.run(
        command, cwd=folder, env=everything, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


def begun(
    *arguments: str | Path, folder: Path, out: str | Path = os.devnull, err: str | Path = os.devnull, **environment: str
) -> Forked:
    """Start the command line; what it prints goes to two files."""
    command = [str(TOUCHSTONE), *map(str, arguments)]
    return Forked(command, folder, {**os.environ, **environment}, str(out), str(err))


def killed(*arguments: str | Path, folder: Path, when: Callable[[], bool], **environment: str) -> bool:
    """Start the command line and kill it, with all it started, when `when()` holds; False if it was done by then."""
    process = begun(*arguments, folder=folder, **environment)
    while process.poll() is None:
        if when():
            process.kill()
            return True
        time.sleep(0.01)
    return False


def practised(project: Project) -> None:
    """Let all of a build's people have done their practice rightly, as a pull would write it down."""
    (project.out / "annotations").mkdir(parents=True, exist_ok=True)
    for work in works(project):
        done = [
            Annotation(task=task.id, key=task.key, by=by, rubric=task.rubric, version=task.version,
                       answers=task.right_answers, at="2026-01-01T00:00:00Z", source=f"{by}-{task.key}")
            for by in project.config.annotation.people
            for practice, rubric in [work.practice_of(by)]
            for task in practice_for(by, practice, [], rubric)
        ]  # fmt: skip
        lines = "".join(f"{one.model_dump_json()}\n" for one in done)
        (project.out / "annotations" / f"{work.rubric.name}.jsonl").write_text(lines, encoding="utf-8")


def stage_files(store: Path) -> int:
    """How many files the stages of a store have, whole or not."""
    return sum(len(files) for family in store.glob("uraq") for _, _, files in os.walk(family))


def bytes_of(out: Path) -> dict[str, str]:
    """Checksum of every Parquet file of a build."""
    return {
        f"{folder}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in FOLDERS
        for path in sorted((out / folder).glob("*.parquet"))
    }


def hashes_of(project: Project, name: str) -> dict[str, tuple[int, str]]:
    """By part and step of a family, the step's version and the hash of what it made and dropped."""
    found = {}
    for part in project.build.families[name].family.parts:
        for step in part.steps:
            stage = project.build.read(StageRef(name, part.name, step.name))
            made = [json.loads(record.model_dump_json(exclude={"provenance"})) for record in stage]
            refused = [json.loads(dropped.model_dump_json()) for dropped in stage.dropped()]
            found[f"{part.name} {step.name}"] = (step.version, content_hash(made, refused))
    return found


class Scribe:
    """The rules, noting what they answer to which messages: what a server can be filled with."""

    name = "scribe"

    def __init__(self, family: str, seed: int) -> None:
        self._rules = Rules(rules_of(family), seed)
        self.table: dict[str, str] = {}

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        name = message_hash([dict(message) for message in prompt.messages(inputs)])  # type: ignore[misc]
        try:
            output = await self._rules.complete(prompt, inputs, draw=draw, usage=usage)
        except InvalidAnswer as invalid:
            self.table[name] = invalid.answer if invalid.answer.startswith("{") else "{}"
            raise
        self.table[name] = output.text if isinstance(output, Text) else json.dumps(output.model_dump(mode="json"))
        return output

    def identity(self) -> dict[str, object]:
        return {"model": "scribe"}


async def scribed(config: Path, out: Path, limit: int | None = None) -> dict[str, str]:
    """What the rules answer to everything that a build of this configuration asks, by message hash."""
    project = Project(config, out, limit)
    scribes = [Scribe(name, project.config.seed) for name in project.build.families]
    for family, scribe in zip(project.build.families.values(), scribes, strict=True):
        family.models.update(dict.fromkeys(family.models, scribe))  # type: ignore[attr-defined]
    await run_all(project.build)
    return {name: answer for scribe in scribes for name, answer in scribe.table.items()}


def served(table: Mapping[str, str]) -> Callable[[Messages], str]:
    """An answer function over `table`; what is not in it gets an answer that holds nothing.

    What is asked again, with what was wrong with the answer, gets the same answer: a rule has no other.
    """

    def answer(messages: Messages) -> str:
        return table.get(message_hash(messages)) or table.get(message_hash(messages[:2]), '{"statements": []}')

    return answer


def wait_for(condition: Any, seconds: float = 60.0, every: float = 0.2) -> None:
    """Wait until `condition()` holds, which is asked `every` so many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(every)
