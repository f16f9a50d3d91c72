"""Two commands at once: what is there before, and what is wrong with how a scenario ended."""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults import interposed, left
from tests.faults.forks import DIED, Child, Ended, in_fork, prepared
from tests.faults.interposed import STOP, Operation
from tests.faults.scenes import (
    RELEASE,
    WITH_KEY,
    Scene,
    builder,
    changed,
    config,
    evaluated,
    few,
    judged_and_changed,
    label_studio,
    nobody,
    released,
    run,
    sources,
)
from tests.faults.scenes import built as a_build
from tests.rebuilds import ANOTHER

GOES_ON, KILLED = "goes on", "is killed"
WAITS = re.compile(r"wait(?:s|ing) for ")
NAMED = re.compile(r"process \d+ on \S+")
SILENT_S = 6.0
"""A command that does nothing for so long, and has not said what it waits for, is silent."""
LOOKS_EVERY_S = 0.05
OUTCOMES = ("waited", "refused", "side by side")
WRONG = ("divergent", "lost", "twice", "left over", "silent", "unclear")
LINE = re.compile(r"touchstone: (?!unexpected).+")
SAID = 400
OTHER = "other"
"""The folder of another machine."""
BUILD, REBUILD = ("build-here", "config.yaml"), ("rebuild-here", "config.yaml")
PUSH, PULL = ("push-here",), ("pull-here",)
EVALUATE = ("evaluate", "uraq", "--model", "loopback")


def machines(folder: Path, port: int) -> None:
    """Two machines with a folder each, and a store that both reach; one has built an earlier state of the sources."""
    store = f"file://{folder}/store"
    for place in (folder, folder / OTHER):
        few(place, store=store)
    run(folder, *BUILD)
    for place in (folder, folder / OTHER):
        few(place, ANOTHER, without=1, store=store)


def released_and_changed(folder: Path, port: int) -> None:
    """A release, and a source that has changed since."""
    a_build(folder, port)
    run(folder, *RELEASE)
    few(folder, ANOTHER, without=1, **config(port))


@dataclass(frozen=True)
class Pair:
    """Two commands."""

    scene: Scene
    """What is there before, and the first command."""
    second: Sequence[str]
    folder: str = "."
    """Of the second command."""

    @property
    def name(self) -> str:
        return self.scene.name


PAIRS = (
    Pair(Scene("two builds", BUILD, sources, builder), BUILD),
    Pair(Scene("two next builds", BUILD, changed, nobody), BUILD),
    Pair(Scene("a build and a release", BUILD, released_and_changed, nobody), RELEASE),
    Pair(Scene("a release and a build", RELEASE, changed, nobody), BUILD),
    Pair(Scene("two releases", RELEASE, released, nobody), RELEASE),
    Pair(Scene("two evaluations", EVALUATE, a_build, evaluated), EVALUATE),
    Pair(Scene("a push and a pull", PUSH, judged_and_changed, label_studio, WITH_KEY), PULL),
    Pair(Scene("a pull and a push", PULL, judged_and_changed, label_studio, WITH_KEY), PUSH),
    Pair(Scene("two rebuilds", REBUILD, judged_and_changed, label_studio, WITH_KEY), REBUILD),
    Pair(Scene("builds of two machines", BUILD, machines, nobody), BUILD, OTHER),
)  # fmt: skip


class End(NamedTuple):
    """What is left when all commands have ended."""

    files: Mapping[str, str]
    left_over: Sequence[str]
    server: Mapping[str, Any]
    twice: Mapping[str, int]


class Process:
    """A command that may be stopped, and what it has said."""

    def __init__(self, command: Sequence[str], folder: Path, place: Path, environment: Mapping[str, str]) -> None:
        self._said, self._shown = place.with_name(f"{place.name}.err"), place.with_name(f"{place.name}.out")
        for path in (self._said, self._shown):
            path.unlink(missing_ok=True)
        self.child = Child(command, folder, self._said, environment, shown=self._shown)
        self._status: int | None = None
        self.is_stopped = False

    @property
    def said(self) -> str:
        """What it has written so far."""
        paths = (self._shown, self._said)
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in paths if path.exists())

    def look(self) -> int | None:
        """Return its status once it has ended."""
        if self._status is None:
            pid, status = os.waitpid(self.child.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self.is_stopped = True
            elif pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def until_stopped(self) -> None:
        """Wait until it is stopped or has ended."""
        self.child.go()
        while self.look() is None and not self.is_stopped:
            time.sleep(0.002)

    def until_waits(self) -> bool:
        """Wait until it has ended or says what it waits for. False: it does nothing, and says nothing."""
        self.child.go()
        spent, since = -1, time.monotonic()
        while self.look() is None and not WAITS.search(self.said):
            if (now := self._spent()) != spent:
                spent, since = now, time.monotonic()
            elif time.monotonic() > since + SILENT_S:
                return False
            time.sleep(LOOKS_EVERY_S)
        return True

    def _spent(self) -> int:
        """Ticks of processor time."""
        try:
            fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return -1
        return int(fields[11]) + int(fields[12])

    def ended(self) -> Ended:
        """Wait until it has ended."""
        until = time.monotonic() + 120
        while self.look() is None:
            if time.monotonic() > until:
                os.killpg(self.child.pid, signal.SIGKILL)
            time.sleep(0.01)
        assert self._status is not None
        return Ended(self._status, self._said.read_text(encoding="utf-8", errors="replace"), 0)


class Place:
    """A folder in which the scenarios of a pair run one after another."""

    def __init__(self, pair: Pair, folder: Path) -> None:
        self._pair, self._folder = pair, folder
        self._template, self._work, self._log = folder / "template", folder / "work", folder / "operations"
        self._port = prepared(folder, pair.scene.prepare, pair.scene.environment)

    def learn(self) -> tuple[list[Operation], list[End]]:
        """Return the operations of the first command, and what is left after both, in either order.

        The first may have done all its work when it is killed; then it runs again after the second.
        """
        first, second = (self._pair.scene.command, "."), (self._pair.second, self._pair.folder)
        orders = ((first, second), (second, first), (first, second, first))
        ends = [End(*json.loads(self._in_fork(self._one_by_one, order))) for order in orders]
        self._in_fork(self._one_by_one, (first,))
        return [*interposed.operations(self._log)], ends

    def judged(self, operation: Operation, then: str, ends: Sequence[End]) -> Mapping[str, str]:
        """Run a scenario. Returns how it went, and what is wrong, by kind."""
        judged: Mapping[str, str] = json.loads(self._in_fork(self._at_once, operation, then, ends))
        return judged

    def _in_fork(self, work: Any, *arguments: Any) -> str:
        kept = self._folder / "kept"
        in_fork(lambda: _write(kept, work(*arguments)), self._folder / "said")
        return kept.read_text(encoding="utf-8")

    def _fresh(self) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._template, self._work, symlinks=True)
        self._log.unlink(missing_ok=True)

    def _begun(self, name: str, command: Sequence[str], folder: str, at: int = 0) -> Process:
        told = interposed.told(self._work, self._log, at, STOP) if name == "first" else {}
        return Process(command, self._work / folder, self._folder / name, told)

    def _one_by_one(self, commands: Sequence[tuple[Sequence[str], str]]) -> End:
        self._fresh()
        names = ("first", "second", "first again")
        processes = [self._begun(name, *command) for name, command in zip(names, commands, strict=False)]
        with self._pair.scene.serve(self._folder, self._port) as server:
            for process in processes:
                process.child.go()
                assert process.ended().status == 0, process.said
            return End(left.told(self._work), [*left.left_over(self._work)], server.told(), server.twice())

    def _at_once(self, operation: Operation, then: str, ends: Sequence[End]) -> Mapping[str, str]:
        self._fresh()
        pair = self._pair
        first = self._begun("first", pair.scene.command, ".", operation.number)
        second = self._begun("second", pair.second, pair.folder)
        again = [
            self._begun("first again", pair.scene.command, "."),
            self._begun("second again", pair.second, pair.folder),
        ]
        with pair.scene.serve(self._folder, self._port) as server:
            first.until_stopped()
            has_said = second.until_waits()
            waits = second.look() is None
            if first.look() is None:
                os.kill(first.child.pid, signal.SIGCONT if then == GOES_ON else signal.SIGKILL)
            ended = [first.ended(), second.ended()]
            for one, process in zip(again, (first, second), strict=True):
                if process.look() != 0:
                    one.child.go()
                    ended.append(one.ended())
            end = End(left.told(self._work), [*left.left_over(self._work)], server.told(), server.twice())
        how = "waited" if waits else "refused" if ended[1].status else "side by side"
        wrong = dict(_wrong(ended, end, ends, then, second.said if waits else None, has_said=has_said))
        return {"how": how, "said": (second.said if waits or ended[1].status else "").strip()[-SAID:], **wrong}


def _write(kept: Path, found: Any) -> None:
    kept.write_text(json.dumps(found), encoding="utf-8")


def _wrong(
    ended: Sequence[Ended], end: End, ends: Sequence[End], then: str, waited: str | None, *, has_said: bool
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with how a scenario ended: its kind, and what shows it."""
    for process in ended[2:]:
        if process.status:
            yield "lost", f"run again, it ended with {process.status}: {process.said.strip()[-SAID:]}"
            return
    unlike = [
        [path for path in {*end.files, *whole.files} if end.files.get(path) != whole.files.get(path)]
        + (["what the server has"] if end.server != whole.server else [])
        for whole in ends
    ]
    if all(unlike):
        yield "divergent", ", ".join(sorted(min(unlike, key=len)))
    if sum(count - 1 for count in end.twice.values()) > (then == KILLED):  # what it was told while it was killed
        yield "twice", ", ".join(f"{name} ×{count}" for name, count in end.twice.items())
    if end.left_over:
        yield "left over", ", ".join(end.left_over)
    if not has_said:
        yield "silent", waited or "nothing"
    for process in ended[:2]:
        lines = [line for line in process.said.splitlines() if not WAITS.search(line)]
        is_line = len(lines) == 1 and LINE.fullmatch(lines[0]) is not None
        if not (not lines if process.status in (0, *DIED) else is_line and process.status in (1, 2)):
            yield "unclear", f"{process.status}: {process.said.strip()[-SAID:]}"
