"""Each file of a build, and of what people did for it, is damaged in each way; then each command that reads it runs.

    python -m tests.faults.damage [--share 0.1]

A build must end as an undisturbed one: what was damaged is made again, nothing is asked twice (the model is gone, its
answers are in the cache), or a line says what to do. A reader must give the same as without the damage, or a line.
Prints a table by kind of file, and a line for each scenario that ended in another way.
"""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tests.builds import scribed
from tests.chat_server import ChatServer, Messages, message_hash
from tests.faults import left
from tests.faults.forks import Child, prepared, run
from tests.faults.scenes import KEY, MODEL, RELEASE, TOKEN, Serve, endpoint, few, judged, label_studio, nobody
from tests.faults.side_by_side import note, side_by_side, warm_workshop
from tests.rebuilds import ANOTHER

BUILD = ("build-here", "config.yaml")
FLIPPED = (0.0, 0.3, 0.5, 0.7, 0.999)
"""Where in a file a byte is flipped."""
LINE = re.compile(r"touchstone: (?!unexpected).*[./].*")
VARIES = re.compile(r"\d+\.\d+ s\b|\d+ ms\b|needed: \d+")
"""Times, and of how many stages that it keeps `gc` has seen a file."""
INPUTS = ("config.yaml", "facts.jsonl")
OUTCOMES = ("healed", "same", "told", "unseen", "wrong")
"""Made again; as without the damage, as the command does not read the file; a line says what to do; a byte that makes
another valid line of what people may write by hand, which nobody can see; none of these."""


class Scenario(NamedTuple):
    """A damaged file and the command that meets it."""

    path: str
    damage: str
    command: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The kind of file."""
        return kind_of(self.path)


class Left(NamedTuple):
    """How a command ended, and what it left."""

    status: int
    said: str
    shown: str
    files: Mapping[str, str]


def kind_of(path: str) -> str:
    """Return the kind of a file, by its place and name."""
    name, top = Path(path).name, "/".join(Path(path).parts[:2])
    if path.startswith("store/uraq/"):
        stage = "finished stage: "
        kinds = {"manifest.json": "manifest", "dropped.jsonl": "drops"}
        ending = next((kind for end, kind in kinds.items() if name.endswith(end)), None)
        return stage + (ending or ("shard's manifest" if name.endswith(".json") else "records"))
    if path.startswith("out/releases/"):
        return f"release: {re.sub(r'.*[.](?=[a-z]+$)', '*.', name)}"
    if path.startswith(("out/", "store/")) and path.count("/") > 1:
        return f"{top}/*{Path(path).suffix}"
    return re.sub("[0-9a-f]{16}", "*", path)


def damages(content: bytes) -> Mapping[str, bytes | None]:
    """Return by name what becomes of a file; None: it is removed."""
    ways: dict[str, bytes | None] = {"removed": None}
    if content:
        ways |= {"emptied": b"", "cut": content[: len(content) // 2]}
    for place in FLIPPED if content else ():
        at = int(place * (len(content) - 1))
        ways[f"flipped at {place:.0%}"] = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    return ways


def built_and_released(folder: Path, port: int) -> None:
    """Make a build by a model behind a server, evaluate another, release it, build and release it anew."""
    few(folder / "rules", ANOTHER)
    table = asyncio.run(scribed(folder / "rules" / "config.yaml", folder / "rules" / "out"))
    shutil.rmtree(folder / "rules")

    def answer(messages: Messages) -> str:
        """Answer the builder as the rules do, and a question of the evaluation with a word of it."""
        words = messages[-1]["content"].split()
        return table.get(message_hash(messages), words[len(words) // 2])

    with ChatServer(answer=answer, model=MODEL) as server:
        model = endpoint(server.port)
        for more in ((), (ANOTHER,)):
            few(folder, *more, models={"default": model, MODEL: model}, embeds=True)
            run(folder, *BUILD)
            run(folder, "evaluate", "uraq", "--model", MODEL)
            run(folder, *RELEASE)


def pulled(folder: Path, port: int) -> None:
    """Make a build, have people work on it, and pull what they did; a lead has decided on an item, too."""
    judged(folder, port)
    with label_studio(folder.parent, port):
        run(folder, "pull-here")
    item = pq.read_table(folder / "out/sifted/uraq-items.parquet").to_pylist()[0]
    verdicts = folder / "out/verdicts/uraq-items.jsonl"
    verdicts.parent.mkdir(exist_ok=True)
    with verdicts.open("a", encoding="utf-8") as file:
        verdict = {"key": item["key"], "view_hash": item["view_hash"], "rubric": "uraq-check", "decision": "reject"}
        file.write(json.dumps(verdict) + "\n")
    run(folder, *BUILD)


def with_people(folder: Path) -> Sequence[tuple[str, ...]]:
    """Return the commands that read what people did."""
    return (BUILD, ("pull-here",), ("push-here",), ("release-here",))


def readers(folder: Path) -> Sequence[tuple[str, ...]]:
    """Return the build, and the commands that read it."""
    name = pq.read_table(folder / "out/accepted/uraq-items.parquet")["id"][0].as_py()
    versions = sorted(str(path.relative_to(folder)) for path in (folder / "out/releases").glob("[0-9]*"))
    return (
        BUILD,
        ("show", "uraq-items"),
        ("explain", name),
        ("verify", "uraq"),
        ("verify", "release", versions[-1]),
        ("diff", *versions[-2:]),
        ("evaluate", "uraq", "--model", "loopback"),
        ("results", "--to", "results"),
        ("release-here",),
        ("estimate", "config.yaml"),
        ("gc",),
    )


@dataclass(frozen=True)
class Scene:
    """Files, and the commands that read them."""

    name: str
    prepare: Callable[[Path, int], None]
    """Makes them in a folder; the server will be at this port."""
    commands: Callable[[Path], Sequence[tuple[str, ...]]]
    serve: Serve = nobody
    reads: tuple[str, ...] = ("",)
    """How the paths of the files begin that are damaged."""
    of_people: bool = False
    """Whether people may write, empty and remove the files: that is no damage."""


SCENES = (
    Scene("a build and its releases", built_and_released, readers),
    Scene(
        "what people did",
        pulled,
        with_people,
        label_studio,
        ("out/annotations/uraq", "out/verdicts/"),
        of_people=True,
    ),
)


class Place:
    """A folder in which scenarios run one after another, each at the same path."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self._folder, self._work, self.template = folder, folder / "work", folder / "template"
        self._port = prepared(folder, scene.prepare)
        self._whole: dict[tuple[str, ...], Left] = {}

    def run(self, command: tuple[str, ...], damage: Callable[[Path], None]) -> Left:
        """Run a command on a copy of the build that was damaged."""
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self.template, self._work)
        damage(self._work)
        shown = self._folder / "shown"
        child = Child(command, self._work, self._folder / "said", {}, shown=shown)
        with self.scene.serve(self._folder, self._port):
            ended = child.run()
        text = VARIES.sub("", shown.read_text(encoding="utf-8", errors="replace"))
        return Left(ended.status, ended.said, text, left.told(self._work))

    def judged(self, scenario: Scenario, content: bytes | None) -> tuple[str, str]:
        """Return the outcome of a scenario, and what shows it."""

        def damage(work: Path) -> None:
            path = work / scenario.path
            path.unlink()
            if content is not None:
                path.write_bytes(content)

        if scenario.command not in self._whole:
            self._whole[scenario.command] = self.run(scenario.command, lambda work: None)
            assert self._whole[scenario.command].status == 0, self._whole[scenario.command].said
        whole, ended = self._whole[scenario.command], self.run(scenario.command, damage)
        lines = ended.said.splitlines()
        if ended.status in (1, 2) and len(lines) == 1 and LINE.fullmatch(lines[0]):
            return "told", lines[0]
        if ended.status or lines:
            return "wrong", f"{ended.status}: {ended.said[-600:]}"
        name = left.NOTE.sub("", left.MARK.sub("", scenario.path))
        unlike = {path for path in {*whole.files, *ended.files} if whole.files.get(path) != ended.files.get(path)}
        if scenario.path in ended.shown and scenario.path not in whole.shown:
            return "told", next(line for line in ended.shown.splitlines() if scenario.path in line)
        if any(path.startswith(f"{name}.damaged-") for path in unlike):
            return "healed", f"{name}: damaged, and kept beside what the server has"
        if unlike - {name}:
            if self.scene.of_people and scenario.damage.startswith("flipped"):
                return "unseen", ""
            return "wrong", f"divergent: {', '.join(sorted(unlike))}"
        if scenario.command == BUILD:
            return ("same", "") if unlike else ("healed", ended.shown.strip())
        return ("same", "") if ended.shown == whole.shown else ("wrong", f"it shows {ended.shown[-600:]}")


def scenarios(scene: Scene, template: Path, share: float, seed: int) -> Iterator[tuple[Scenario, bytes | None]]:
    """Yield a share of the scenarios, drawn by the seed, with what becomes of the file."""
    drawn = random.Random(seed)
    runs = scene.commands(template)
    for path in sorted(path for path in template.rglob("*") if path.is_file() and path.name not in INPUTS):
        name = path.relative_to(template).as_posix()
        if name.startswith(("temporary/", "answers")) or not name.startswith(scene.reads):
            continue
        for damage, content in damages(path.read_bytes()).items():
            if scene.of_people and not content:
                continue
            for command in runs:
                reads_releases = command[0] == "diff" or command[:2] == ("verify", "release")
                if drawn.random() < share and (not reads_releases or name.startswith("out/releases/")):
                    yield Scenario(name, damage, command), content


def work(scene: Scene, options: argparse.Namespace, worker: int, folder: Path) -> None:
    """Run each scenario that falls to a worker."""
    place = Place(scene, folder)
    chosen = [*scenarios(scene, place.template, options.share, options.seed)]
    for scenario, content in chosen[worker :: options.workers]:
        note(folder, [*scenario, *place.judged(scenario, content)])


def print_table(results: Sequence[Any]) -> int:
    """Print what came of the scenarios. Returns how many ended wrongly."""
    cells: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for path, damage, command, outcome, _ in results:
        of = "run" if tuple(command) == BUILD else "readers"
        cells[kind_of(path)][f"{of}, {damage.partition(' ')[0]}"][outcome] += 1
    for kind, columns in sorted(cells.items()):
        print(kind)
        for column, counts in sorted(columns.items(), reverse=True):
            print(f"  {column:18}" + ", ".join(f"{counts[name]} {name}" for name in OUTCOMES if counts[name]))
    wrong = [result for result in results if result[3] == "wrong"]
    for path, damage, command, _, shown in wrong:
        print(f"  wrong: {path} {damage}: {' '.join(command)}: {shown}")
    said = Counter(re.sub(r"[0-9a-f]{8,}", "*", result[4]) for result in results if result[3] == "told")
    for line, count in said.most_common():
        print(f"  {count:5} × {line}")
    print(f"{len(results)} scenarios, {len(wrong)} of them wrong")
    return len(wrong)


def main() -> int:
    """Run the scenarios. Returns 1 if one ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the scenarios, drawn by the seed")
    parser.add_argument("--scene", action="append", help="by default all", choices=[scene.name for scene in SCENES])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", KEY: TOKEN}
    with warm_workshop("damage") as home:
        chosen = [scene for scene in SCENES if not options.scene or scene.name in options.scene]
        return 1 if sum([run_scene(scene, home, options) for scene in chosen]) else 0


def run_scene(scene: Scene, home: Path, options: argparse.Namespace) -> int:
    """Run the scenarios of a scene, side by side, and print what came of them. Returns how many ended wrongly."""
    results = side_by_side(home / scene.name.replace(" ", "-"), options.workers, partial(work, scene, options))
    print(scene.name)
    return print_table(results)


if __name__ == "__main__":
    sys.exit(main())
