"""What strangers can send: files and configurations that were damaged, cut, mixed up or made to do harm.

    python -m tests.strangers [--share 0.1] [--in-process]

Each scenario reads a file that is one or two mutations away from a real one: most by the functions that a build and
`touchstone new` read with, many in one process; some by a command, each in a fork of a process that has imported
everything. It has to end with 0, 1 or 2; where it fails, with a line that names the file, without a traceback, in time
and in little memory. Prints a table by kind of file, and a line for each scenario that ended in another way.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from data.sources import read_source
from data.sources.fingerprint import source_fingerprint
from flows.construct.part_sources import sources_read
from flows.new.look import look
from flows.project.config_checks import check_config
from flows.project.models import Models
from flows.project.settings import load_config
from schemas.errors import Failed, WrongInput
from tests.faults.side_by_side import forked, note, noted, side_by_side, workshop
from tests.strangers.mutations import OF_CONFIGURATIONS, mutated
from tests.strangers.samples import Sample, beside, configurations, samples

SOURCES, CONFIGURATIONS = 20_000, 1_000
MOST_SECONDS, MOST_MEGABYTES = 60, 1_500
MORE_MEMORY = 3 * 2**30
"""Bytes that a command may map beyond what it starts with, so that a fault does not take the machine's memory."""
AT_ONCE = 200
"""Scenarios that one process runs, at most."""
MOST_SHOWN = 2_100
"""Characters of a line."""
CONFIG, YAML = "config.yaml", "configuration"
READ, LOOK = "read", "look"
WAYS = {READ: 75, LOOK: 20, "read-here": 2, "new": 1, "build-here": 2}
"""How files are read, and by how many of a hundred scenarios: those after the first two are commands."""


class Scenario(NamedTuple):
    """A file that a stranger sent, and how it is read."""

    number: int
    kind: str
    name: str
    mutation: str
    content: bytes
    families: Mapping[str, Any]
    way: str


class Ended(NamedTuple):
    """How the reading ended, what it said, and how much memory it took."""

    status: int
    said: str
    megabytes: int
    shown: str = ""
    """What a command printed."""


def way_of(number: int, seed: int) -> str:
    """Return how the file of a scenario is read."""
    return random.Random(f"way {seed} {number}").choices(list(WAYS), list(WAYS.values()))[0]


def scenario(number: int, seed: int, files: Sequence[Sample], configs: Sequence[tuple[str, bytes]]) -> Scenario:
    """Return the scenario with this number; those from `SOURCES` on are configurations."""
    drawn = random.Random(f"{seed} {number}")
    way = way_of(number, seed)
    if number >= SOURCES:
        of, content = drawn.choice(configs)
        mutation = drawn.choice(OF_CONFIGURATIONS)
        way = "read-here" if way not in (READ, LOOK) else READ
        return Scenario(number, YAML, CONFIG, f"{mutation.__name__} of {of}", mutation(content, drawn), {}, way)
    kinds = sorted({sample.kind for sample in files})
    kind = kinds[number % len(kinds)]
    sample = drawn.choice([sample for sample in files if sample.kind == kind])
    mutation_name, content = mutated(sample, files, drawn)
    return Scenario(number, kind, sample.name, mutation_name, content, sample.families, way)


def laid(sent: Scenario, work: Path) -> None:
    """Lay the file, and what reads it, into a new folder."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    if sent.kind == YAML:
        beside(work)
    else:
        config = {"name": "strangers", "seed": 7, "model": {"provider": "rules"}, "store": "store"}
        (work / CONFIG).write_text(json.dumps({**config, "families": sent.families}), encoding="utf-8")
    (work / sent.name).write_bytes(sent.content)


def read(work: Path, name: str) -> None:
    """Read all sources of a configuration as a build does."""
    config = load_config(work / CONFIG)
    check_config(config, Models(work / CONFIG, config), work / CONFIG)
    for family, settings in config.chosen():
        for part, _, spec in sources_read(family, settings):
            if spec.is_remote or part.source is None:
                continue
            source_fingerprint(spec)
            for _record in read_source(spec, part.source, lambda dropped: None):  # type: ignore[type-var]
                pass


def look_at(work: Path, name: str) -> None:
    """Look at a file as `touchstone new` does."""
    look([work / name])


def in_process(sent: Scenario, work: Path) -> Ended:
    """Read the file in this process."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    signal.alarm(MOST_SECONDS)  # dies of it, which is told
    status, said = 0, ""
    try:
        (read if sent.way == READ else look_at)(work, sent.name)
    except (WrongInput, Failed) as error:
        status = 2 if isinstance(error, WrongInput) else 1
        problems = error.problems if isinstance(error, WrongInput) else [str(error)]
        said = "\n".join(" ".join(problem.split()) for problem in problems)  # as the command line does
    except Exception:  # noqa: BLE001 - to be told
        status, said = -1, traceback.format_exc()
    signal.alarm(0)
    peak = Path("/proc/self/status").read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]
    return Ended(status, said, int(peak) // 1024)


def by_command(sent: Scenario, work: Path) -> Ended:
    """Read the file with a command."""
    from tests.strangers.commands import run

    return Ended(*run(sent.way, sent.name if sent.way == "new" else CONFIG, work))


def judged(sent: Scenario, folder: Path) -> Mapping[str, Any]:
    """Run a scenario. Returns how it ended, and what is wrong with that."""
    work = folder / "work"
    laid(sent, work)
    began = time.monotonic()
    is_here = sent.way in (READ, LOOK)  # the command line makes lines of what is raised
    ended = (in_process if is_here else by_command)(sent, work)
    seconds = time.monotonic() - began
    lines = ended.said.removesuffix("\n").split("\n") if ended.said else []
    names = (sent.name, f"{work}/") if sent.kind == YAML else (sent.name,)  # or one that it names
    holds = {
        f"exit {ended.status}": ended.status in (0, 1, 2),
        "traceback": "Traceback" not in ended.said,
        "unexpected": "touchstone: unexpected" not in ended.said,
        "success with a message": bool(ended.status) or not lines,
        "not one line": not ended.status or len(lines) == 1 or sent.kind == YAML,
        "names no file": not ended.status or any(name in ended.said + ended.shown for name in names),
        "characters that act": is_here or ended.said.replace("\n", "").isprintable(),
        "endless": is_here or all(len(line) < MOST_SHOWN for line in lines),
        "slow": seconds < MOST_SECONDS,
        "memory": ended.megabytes < MOST_MEGABYTES,
    }
    return _result(sent, ended, seconds, [fault for fault, is_so in holds.items() if not is_so])


def _result(sent: Scenario, ended: Ended, seconds: float, wrong: Sequence[str]) -> Mapping[str, Any]:
    return {
        "number": sent.number, "kind": sent.kind, "what": f"{sent.mutation}, {sent.way}", "name": sent.name,
        "status": ended.status, "said": ended.said[-1_500:], "seconds": seconds, "megabytes": ended.megabytes,
        "wrong": [*wrong],
    }  # fmt: skip


def run_all(chosen: Sequence[int], options: argparse.Namespace, worker: int, folder: Path) -> None:
    """Run the scenarios that fall to a worker, many in a process; a death is noted, and the next process goes on."""
    files, configs = samples(), configurations()
    rest = chosen[worker :: options.workers]

    def work(some: Sequence[int]) -> None:
        mapped = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MORE_MEMORY, resource.RLIM_INFINITY))
        for number in some:
            note(folder, judged(scenario(number, options.seed, files, configs), folder))

    while rest:
        before = len(noted(folder))
        status = os.waitpid(forked(partial(work, rest[:AT_ONCE])), 0)[1]
        if not os.WIFSIGNALED(status) and status:
            raise SystemExit("the harness failed")
        rest = rest[len(noted(folder)) - before :]
        if os.WIFSIGNALED(status):
            sent = scenario(rest[0], options.seed, files, configs)
            number = os.WTERMSIG(status)
            note(folder, _result(sent, Ended(-number, f"died of {signal.Signals(number).name}", 0), 0, ["died"]))
            rest = rest[1:]


def numbers(options: argparse.Namespace) -> Sequence[int]:
    """Return the numbers of the scenarios to run."""
    if options.only:
        return [*options.only]
    every = range(SOURCES + CONFIGURATIONS)
    drawn = random.Random(options.seed).sample(every, round(options.share * len(every)))
    return [number for number in drawn if not options.in_process or way_of(number, options.seed) in (READ, LOOK)]


def print_table(results: Sequence[Any], *, messages: bool) -> int:
    """Print what came of the scenarios. Returns how many ended wrongly."""
    print(f"{'':15}{'run':>7}{'exit 0':>8}{'1':>6}{'2':>7}{'wrong':>7}{'most s':>8}{'most MB':>9}")
    for kind in sorted({result["kind"] for result in results}):
        of = [result for result in results if result["kind"] == kind]
        counts = Counter(result["status"] for result in of)
        print(
            f"{kind:15}{len(of):7,}{counts[0]:8,}{counts[1]:6,}{counts[2]:7,}{sum(bool(one['wrong']) for one in of):7,}"
            f"{max(one['seconds'] for one in of):8.1f}{max(one['megabytes'] for one in of):9,}"
        )
    wrong = [result for result in results if result["wrong"]]
    for one in wrong:
        print(f"  wrong: {one['number']} {one['name']}, {one['what']}: {', '.join(one['wrong'])}: {one['said']!r}")
    if messages:
        for one in results:
            if one["status"]:
                print(f"  {one['number']} {one['what']}: {one['said'].rstrip()!r}")
    print(f"{len(results):,} scenarios, {len(wrong)} of them wrong")
    return len(wrong)


def main() -> int:
    """Run the scenarios. Returns 1 if one ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the scenarios, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--in-process", action="store_true", help="leave the commands out, which take long to import")
    parser.add_argument("--only", type=int, nargs="+", help="the scenarios with these numbers alone")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--messages", action="store_true", help="print each message that was seen, too")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1"}
    with workshop("strangers") as home:
        chosen = numbers(options)
        if any(way_of(number, options.seed) not in (READ, LOOK) for number in chosen):
            from tests.strangers.commands import prepare

            prepare(home)
        results = side_by_side(home / "workers", options.workers, partial(run_all, chosen, options))
        results.sort(key=lambda result: result["number"])
        return 1 if print_table(results, messages=options.messages) else 0


if __name__ == "__main__":
    sys.exit(main())
