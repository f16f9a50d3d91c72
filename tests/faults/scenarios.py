"""A scenario: a command with one fault, and the command again. What is wrong with how it ended."""

import contextlib
import importlib
import json
import random
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import interposed, left
from tests.faults.forks import DIED, Child, Ended, in_fork
from tests.faults.interposed import Operation
from tests.faults.scenes import Scene

WRONG = ("divergent", "lost", "twice", "left over", "unclear")
"""The output or what a server has differs; the command fails when it runs again; something was paid for, published or
handed out twice; a file stays that nothing reads; the message is not a line for people."""
SAID = 300
"""Characters of a message that are shown."""
MODULES = "modules"
LINE, UNEXPECTED = "touchstone: ", "unexpected"
FAILED, WRONG_INPUT = 1, 2


@dataclass(frozen=True)
class Fault:
    """An operation and what happens to it."""

    operation: Operation
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.operation.number}: {self.operation.name} {self.operation.path}"

    @property
    def loses_answers(self) -> bool:
        """Whether the answer that comes when it happens may be lost: nothing keeps it in a death, or on a full disk."""
        return self.kind in ("before", "after", "torn", "full")


@dataclass(frozen=True)
class Result:
    """What is left when the commands have ended."""

    ended: Sequence[Ended]
    files: Mapping[str, str]
    left_over: Sequence[str]
    server: Mapping[str, Any]
    twice: Mapping[str, int]


class Place:
    """A folder in which the scenarios of a scene run one after another, each at the same path."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self._scene, self._folder = scene, folder
        self._template, self._work, self._log = folder / "template", folder / "work", folder / "operations"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._work.mkdir(parents=True)
        in_fork(lambda: scene.prepare(self._work, self._port), folder / "prepared")
        self._work.rename(self._template)

    def learn(self) -> tuple[list[Operation], Mapping[str, Any]]:
        """Run the command undisturbed, twice. Returns its operations, and what it leaves each time alike."""
        first, again = self._whole(), self._whole()
        for name in (self._folder / MODULES).read_text(encoding="utf-8").split():  # or each fork would import them
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        unlike = [path for path, found in first["files"].items() if again["files"].get(path) != found]
        assert first == again, f"two undisturbed runs differ in {unlike}, or in what the server has"
        return list(interposed.operations(self._log)), again

    def _whole(self) -> Mapping[str, Any]:
        kept = self._folder / "whole"

        def run() -> None:
            result = self._run(None)
            assert result.ended[0].status == 0, result.ended[0].said
            kept.write_text(json.dumps({"server": result.server, "files": result.files}))

        in_fork(run, self._folder / "said")
        whole: Mapping[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return whole

    def judged(self, fault: Fault, whole: Mapping[str, Any]) -> Mapping[str, str]:
        """Run a scenario. Returns what is wrong, by kind, and what the command said."""
        kept = self._folder / "judged"

        def run() -> None:
            result = self._run(fault, None)
            kept.write_text(json.dumps({**dict(wrong_with(fault, result, whole)), "said": _shown(result.ended[0])}))

        in_fork(run, self._folder / "said")
        judged: Mapping[str, str] = json.loads(kept.read_text(encoding="utf-8"))
        return judged

    def _run(self, *faults: Fault | None) -> Result:
        """Run the command once for each fault (None: without one) on a copy of what was there before."""
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._template, self._work)
        self._log.unlink(missing_ok=True)
        children = [
            Child(
                self._scene.command, self._work, self._folder / f"said-{number}",
                interposed.told(self._work, self._log, fault.operation.number, fault.kind) if fault is not None
                else {} if number else interposed.told(self._work, self._log),
                None if number or fault is not None else self._folder / MODULES,
            )
            for number, fault in enumerate(faults)
        ]  # fmt: skip
        with self._scene.serve(self._folder, self._port) as server:
            ended = [child.run() for child in children]
            found, twice = server.told(), server.twice()
        return Result(ended, left.told(self._work), [*left.left_over(self._work)], found, twice)


def wrong_with(fault: Fault, result: Result, whole: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with how a scenario ended: its kind, and what shows it."""
    first, again = result.ended
    if again.status:
        yield "lost", f"run again, it ended with {_shown(again)}"
        return
    paths = {*result.files, *whole["files"]}
    unlike = [path for path in sorted(paths) if result.files.get(path) != whole["files"].get(path)]
    unlike += ["what the server has"] if result.server != whole["server"] else []
    if unlike:
        yield "divergent", ", ".join(unlike)
    if result.twice and not (fault.loses_answers and list(result.twice.values()) == [2]):  # one is in flight at once
        yield "twice", ", ".join(f"{name} ×{count}" for name, count in result.twice.items())
    if result.left_over:
        yield "left over", ", ".join(result.left_over)
    lines = first.said.splitlines()
    is_line = len(lines) == 1 and lines[0].startswith(LINE) and UNEXPECTED not in lines[0]
    is_clear = not lines if first.status in (0, DIED) else is_line and first.status in (FAILED, WRONG_INPUT)
    if not is_clear:
        yield "unclear", _shown(first)


def _shown(ended: Ended) -> str:
    return f"{ended.status}: {ended.said.strip()[-SAID:]}"


def scenarios(operations: Sequence[Operation], share: float, seed: int) -> list[Fault]:
    """Return a share of all scenarios, drawn by the seed."""
    faults = [Fault(operation, kind) for operation in operations for kind in operation.kinds]
    return faults if share >= 1 else random.Random(seed).sample(faults, round(len(faults) * share))
