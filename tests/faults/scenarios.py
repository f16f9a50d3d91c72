"""A scenario: a command with one fault, and the command again. What is wrong with how it ended."""

import contextlib
import importlib
import json
import math
import os
import random
import re
import shutil
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.faults import interposed, left
from tests.faults.forks import DIED, Child, Ended, in_fork, prepared
from tests.faults.interposed import REQUEST, Operation
from tests.faults.power import disk_of, lose_power
from tests.faults.scenes import Scene

WRONG = ("divergent", "lost", "twice", "left over", "unclear")
"""The output or what a server has differs; the command fails when it runs again; something was paid for, published or
handed out twice; a file stays that nothing reads; the message is not a line for people."""
PAIR = "two, one after the other"
SAID = 300
"""Characters of a message that are shown."""
MODULES = "modules"
LINE, UNEXPECTED = "touchstone: ", "unexpected"
FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Fault:
    """An operation and what happens to it."""

    operation: Operation
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.operation.number}: {self.operation.name} {self.operation.path}"

    @property
    def file(self) -> str:
        """The kind of its file: `.json.tmp`; of a request, what it asks for."""
        if self.operation.name == REQUEST:
            return self.operation.path
        return "".join(Path(_NUMBERS.sub("", self.operation.path)).suffixes) or "folder"

    @property
    def is_of_power(self) -> bool:
        return self.kind.startswith(interposed.POWER)

    @property
    def statuses(self) -> Sequence[int]:
        """With which the command may end."""
        return (INTERRUPTED,) if self.kind in interposed.SIGNALS else (FAILED, WRONG_INPUT)

    @property
    def loses(self) -> float:
        """How many answers may be lost: what comes in a death or on a full disk; all since the last fsync."""
        if self.kind in ("eio", "enospc", "short", "refused"):
            return 0
        return math.inf if self.is_of_power else 1


@dataclass(frozen=True)
class Scenario:
    """What happens to each run of the command but the last."""

    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return ", then ".join(map(str, self.faults))

    @property
    def kind(self) -> str:
        """The kind of the fault, or that there are two."""
        return PAIR if len(self.faults) > 1 else self.faults[0].kind


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
        self._port = prepared(folder, scene.prepare, scene.environment)

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

    def learn_after(self, first: Fault) -> list[Operation]:
        """Return the operations of the run that follows one with this fault."""

        def run() -> None:
            self._run(first, None)

        in_fork(run, self._folder / "said")
        return [*interposed.operations(self._log)]

    def judged(self, scenario: Scenario, whole: Mapping[str, Any]) -> Mapping[str, str]:
        """Run a scenario. Returns what is wrong, by kind, and what the command said."""
        kept = self._folder / "judged"

        def run() -> None:
            result = self._run(*scenario.faults, None)
            kept.write_text(json.dumps({**dict(wrong_with(scenario, result, whole)), "said": _shown(result.ended[0])}))

        in_fork(run, self._folder / "said")
        judged: Mapping[str, str] = json.loads(kept.read_text(encoding="utf-8"))
        return judged

    def _run(self, *faults: Fault | None) -> Result:
        """Run the command once for each fault (None: without one) on a copy of what was there before.

        The operations of the last run are noted.
        """
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._template, self._work, symlinks=True)
        self._log.unlink(missing_ok=True)
        last = len(faults) - 1
        children = [
            Child(self._scene.command, self._work, self._folder / f"said-{number}",
                  self._told(fault, faults[number - 1] if number else None, noted=number == last),
                  self._folder / MODULES if not last else None)
            for number, fault in enumerate(faults)
        ]  # fmt: skip
        ended = []
        with self._scene.serve(self._folder, self._port) as server:
            for fault, child in zip(faults, children, strict=True):
                if fault is not None and fault.operation.name == REQUEST:
                    server.fail(fault.operation.number, fault.kind, child.pid)
                if fault is not None and fault.is_of_power:
                    shutil.rmtree(self._synced, ignore_errors=True)
                    self._synced.mkdir()
                    before = disk_of(self._work)
                    ended.append(child.run())
                    lose_power(self._work, before, self._synced, fault.kind)
                else:
                    ended.append(child.run())
            found, twice, asked = server.told(), server.twice(), server.arrived()
        return Result(ended, left.told(self._work), [*left.left_over(self._work)], found, twice, asked)

    def _told(self, fault: Fault | None, before: Fault | None, *, noted: bool) -> Mapping[str, str]:
        """The environment of a run: what fails, what the fault of the run before left, where operations are noted."""
        log = self._log if noted else Path(os.devnull)
        ahead = interposed.clock_after(before.kind) if before is not None else 0
        if fault is None or fault.operation.name == REQUEST:
            return interposed.told(self._work, log, ahead=ahead) if noted or ahead else {}
        synced = self._synced if fault.is_of_power else None
        return interposed.told(self._work, log, fault.operation.number, fault.kind, synced, ahead)


def wrong_with(scenario: Scenario, result: Result, whole: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with how a scenario ended: its kind, and what shows it."""
    *interrupted, again = result.ended
    if again.status:
        yield "lost", f"run again, it ended with {_shown(again)}"
        return
    paths = {*result.files, *whole["files"]}
    unlike = [path for path in sorted(paths) if result.files.get(path) != whole["files"].get(path)]
    unlike += ["what the server has"] if result.server != whole["server"] else []
    if unlike:
        yield "divergent", ", ".join(unlike)
    if sum(count - 1 for count in result.twice.values()) > sum(fault.loses for fault in scenario.faults):
        yield "twice", ", ".join(f"{name} ×{count}" for name, count in result.twice.items())
    if result.left_over:
        yield "left over", ", ".join(result.left_over)
    ends = zip(interrupted, scenario.faults, strict=True)
    if unclear := [_shown(ended) for ended, fault in ends if not _is_clear(ended, fault.statuses)]:
        yield "unclear", ", ".join(unclear)


def _is_clear(ended: Ended, statuses: Sequence[int]) -> bool:
    lines = ended.said.splitlines()
    if ended.status in (0, *DIED):
        return not lines
    is_line = len(lines) == 1 and lines[0].startswith(LINE) and UNEXPECTED not in lines[0]
    return is_line and ended.status in statuses


def _shown(ended: Ended) -> str:
    return f"{ended.status}: {ended.said.strip()[-SAID:]}"


def scenarios(operations: Sequence[Operation], share: float, seed: int) -> list[Scenario]:
    """Return a share of all scenarios with one fault, drawn by the seed."""
    faults = [Scenario((Fault(operation, kind),)) for operation in operations for kind in operation.kinds]
    return faults if share >= 1 else random.Random(seed).sample(faults, round(len(faults) * share))


def firsts(operations: Sequence[Operation], share: float, seed: int) -> list[Fault]:
    """Return a share of the first faults of two: of each kind, at an operation of each name on each kind of file."""
    drawn = random.Random(seed)
    faults = _one_of_each(operations, lambda fault: (fault.operation.name, fault.file, fault.kind), drawn)
    return faults if share >= 1 else drawn.sample(faults, round(len(faults) * share))


def pairs(place: Place, first: Fault, seed: int) -> Iterator[Scenario]:
    """Yield the scenarios whose next run fails, too: at an operation of each name on each kind of file."""
    drawn = random.Random(f"{seed} {first}")
    for second in _one_of_each(place.learn_after(first), lambda fault: (fault.operation.name, fault.file), drawn):
        yield Scenario((first, second))


def _one_of_each(
    operations: Sequence[Operation], kind: Callable[[Fault], Hashable], drawn: random.Random
) -> list[Fault]:
    alike: dict[Hashable, list[Fault]] = {}
    for operation in operations:
        for name in operation.kinds:
            fault = Fault(operation, name)
            alike.setdefault(kind(fault), []).append(fault)
    return [drawn.choice(faults) for faults in alike.values()]
