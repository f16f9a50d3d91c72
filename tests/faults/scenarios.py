"""A scenario: a command with one fault, and the command again. What is wrong with how it ended."""

import contextlib
import importlib
import json
import math
import os
import random
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import interposed, left
from tests.faults.forks import DIED, Child, Ended, in_fork
from tests.faults.interposed import REQUEST, Operation
from tests.faults.power import disk_of, lose_power
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
    def is_of_power(self) -> bool:
        return self.kind.startswith(interposed.POWER)

    @property
    def loses(self) -> float:
        """How many answers may be lost: what comes in a death or on a full disk; all since the last fsync."""
        if self.kind in ("eio", "enospc", "short", "refused"):
            return 0
        return math.inf if self.is_of_power else 1


@dataclass(frozen=True)
class Result:
    """What is left when the commands have ended."""

    ended: Sequence[Ended]
    files: Mapping[str, str]
    left_over: Sequence[str]
    server: Mapping[str, Any]
    twice: Mapping[str, int]
    asked: Sequence[str]


class Place:
    """A folder in which the scenarios of a scene run one after another, each at the same path."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self._scene, self._folder = scene, folder
        self._template, self._work, self._log = folder / "template", folder / "work", folder / "operations"
        self._synced = folder / "synced"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._work.mkdir(parents=True)
        os.environ |= {name: value.format(port=self._port) for name, value in scene.environment.items()}
        in_fork(lambda: scene.prepare(self._work, self._port), folder / "prepared")
        self._work.rename(self._template)

    def learn(self) -> tuple[list[Operation], Mapping[str, Any]]:
        """Run the command undisturbed, twice. Returns its operations, and what it leaves each time alike."""
        first, again = self._whole(), self._whole()
        for name in (self._folder / MODULES).read_text(encoding="utf-8").split():  # or each fork would import them
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        unlike = [path for path, found in first["files"].items() if again["files"].get(path) != found]
        assert not unlike, f"two undisturbed runs differ in {unlike}"
        assert first["server"] == again["server"], "two undisturbed runs differ in what the server has"
        asked = [Operation(number, REQUEST, 0, name) for number, name in enumerate(again["asked"], 1)]
        return [*interposed.operations(self._log), *asked], again

    def _whole(self) -> Mapping[str, Any]:
        kept = self._folder / "whole"

        def run() -> None:
            result = self._run(None)
            assert result.ended[0].status == 0, result.ended[0].said
            kept.write_text(json.dumps({"server": result.server, "files": result.files, "asked": result.asked}))

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
        shutil.copytree(self._template, self._work, symlinks=True)
        self._log.unlink(missing_ok=True)
        first = faults[0]
        fails = first is not None and first.operation.name == REQUEST
        at = (first.operation.number, first.kind) if first is not None and not fails else ()
        loses_power = first is not None and first.is_of_power
        shutil.rmtree(self._synced, ignore_errors=True)
        self._synced.mkdir()
        before = disk_of(self._work) if loses_power else None
        synced = self._synced if loses_power else None
        environments = [interposed.told(self._work, self._log, *at, synced=synced), *({} for _ in faults[1:])]
        children = [
            Child(self._scene.command, self._work, self._folder / f"said-{number}", environment,
                  self._folder / MODULES if len(faults) == 1 else None)
            for number, environment in enumerate(environments)
        ]  # fmt: skip
        with self._scene.serve(self._folder, self._port) as server:
            if first is not None and fails:
                server.fail(first.operation.number, first.kind, children[0].pid)
            ended = [children[0].run()]
            if before is not None and first is not None:
                lose_power(self._work, before, self._synced, first.kind)
            ended += [child.run() for child in children[1:]]
            found, twice, asked = server.told(), server.twice(), server.arrived()
        return Result(ended, left.told(self._work), [*left.left_over(self._work)], found, twice, asked)


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
    if sum(count - 1 for count in result.twice.values()) > fault.loses:
        yield "twice", ", ".join(f"{name} ×{count}" for name, count in result.twice.items())
    if result.left_over:
        yield "left over", ", ".join(result.left_over)
    lines = first.said.splitlines()
    is_line = len(lines) == 1 and lines[0].startswith(LINE) and UNEXPECTED not in lines[0]
    is_clear = not lines if first.status in (0, *DIED) else is_line and first.status in (FAILED, WRONG_INPUT)
    if not is_clear:
        yield "unclear", _shown(first)


def _shown(ended: Ended) -> str:
    return f"{ended.status}: {ended.said.strip()[-SAID:]}"


def scenarios(operations: Sequence[Operation], share: float, seed: int) -> list[Fault]:
    """Return a share of all scenarios, drawn by the seed."""
    faults = [Fault(operation, kind) for operation in operations for kind in operation.kinds]
    return faults if share >= 1 else random.Random(seed).sample(faults, round(len(faults) * share))
