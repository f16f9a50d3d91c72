"""The cost of what follows a build, at several sizes: its files, gate, releases, difference, proof, preview, explain.

    python tests/bench/bench_release.py [--rows 100000 400000 1000000]

The build is of the family `saying` (tests/families), half lines and half what is made of each. Its second state has 1 %
other lines. Each step runs in a process of its own: seconds of processor time, milliseconds a row, and the peak of
memory. A step that costs the same for a row at every size is linear.
"""

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

CHANGED = 100
"""One line in so many is another in the second state."""


def _write_lines(folder: Path, rows: int, state: int) -> None:
    """Write the sources and the configuration of a state of the build."""
    with (folder / "lines.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows // 2):
            added = f", as it was at state {state}" if state and number % CHANGED == state else ""
            text = (
                f"The {number}th line of the benchmark tells of what happened on day {number * 7919 % 100003}{added}."
            )
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    spec = {"format": "jsonl", "path": "lines.jsonl", "fields": {"text": "text", "id": "id"}, "licence": "CC0-1.0"}
    family = {"parts": ["shadows"], "sources": [spec]}
    config = {"name": "sayings", "seed": 7, "store": "store", "families": {"saying": family}}
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")


def build(folder: Path) -> None:
    """Build the stages of the present state."""
    from flows.project.project import Project
    from flows.run.in_process import runner_here

    project = Project(folder / "config.yaml", folder / "out")
    runner_here(project, project.build).run(
        [ref for family, part in project.build.parts() for ref in project.build.stages(family, part)]
    )


def write(folder: Path) -> None:
    """Write the output folder."""
    from flows.project.output_files import remember, write_output_files
    from flows.project.project import Project

    project = Project(folder / "config.yaml", folder / "out")
    write_output_files(project)
    remember(project)


def gate(folder: Path) -> None:
    """Judge all rows."""
    from flows.project.output_files import open_built
    from flows.release import gate as gates

    project = open_built(folder / "out")
    gated: list[gates.Gated] = []
    for family, part in project.build.parts():
        gated.append(gates.gate(project, family, part, gated))


def hold(folder: Path) -> None:
    """Draw a private share of a tenth of the rows."""
    from data.publish.folder import read_release, versions_in
    from flows.project.output_files import open_built
    from flows.release.private_share import PrivateShare

    versions = [read_release(version) for version in versions_in(folder / "releases")]
    PrivateShare.opened(0.1, folder / "private", versions).rows(open_built(folder / "out"))


def release(folder: Path) -> None:
    """Release what passes, and check before what that needs."""
    from data.publish.folder import read_release, versions_in
    from flows.project.output_files import open_built
    from flows.project.released import note_release
    from flows.release.ready import check_release
    from flows.release.version import prepare

    project = open_built(folder / "out")
    check_release(project, None, folder / "releases", allow_unreviewed=None)
    assert prepare(project, folder / "releases").is_new
    for version in versions_in(folder / "releases"):
        note_release(project.store, read_release(version).manifest)


def diff(folder: Path) -> None:
    """Compare the two versions."""
    from data.publish.diff import compare
    from data.publish.folder import read_release

    before, now = (read_release(folder / "releases" / name) for name in ("1.0.0", "1.1.0"))
    assert sum(config.changed for config in compare(before, now).configs)


def verify(folder: Path) -> None:
    """Prove the newest version."""
    from data.publish.folder import read_release
    from flows.construct.embed import SentenceBert
    from flows.release.verification import prove

    assert not list(prove(read_release(folder / "releases" / "1.1.0"), SentenceBert()))


def note(folder: Path) -> None:
    """What a rebuild adds to a build and a release: it compares rows with those of the last one, and notes them."""
    from flows.project.output_files import open_built
    from flows.rebuild import changes

    project = open_built(folder / "out")
    before, now = changes.rows_before(folder / "out"), changes.rows_of(project, project.manifest)
    if before is not None:
        changes.drift(before, now)
    changes.note_rows(folder / "out", now, ())


def preview(folder: Path) -> None:
    """Preview a rebuild."""
    from flows.rebuild.preview import preview as look

    outlook = look(folder / "config.yaml", folder / "out", folder / "releases", None, refresh=False)
    assert not isinstance(outlook.release, str), outlook.release


def explain(folder: Path) -> None:
    """Print the history of a row."""
    from flows.project.output_files import accepted_rows, open_built
    from flows.run.reading import explain_record

    project = open_built(folder / "out")
    part = project.family("saying").part("lines")
    explain_record(next(iter(accepted_rows(project, "saying", part))).id, folder / "out")


def _measured(step: Callable[[Path], None], folder: Path, log: Path) -> tuple[float, float]:
    """Run a step in this process. Returns its processor seconds and the gigabytes at its peak."""
    from tests.saying import known

    os.chdir(folder)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, sys.stdout.fileno())
    started = time.process_time()
    with known():
        step(folder)
    return time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


STATES = (
    (build, write, gate, hold, release, note),
    (build, write, hold, release, diff, verify, note, explain),
    (preview,),
)
"""The steps that are run in each state of the sources."""


def measure(rows: int, folder: Path) -> None:
    """Run and print all steps."""
    for state, steps in enumerate(STATES):
        _write_lines(folder, rows, state)
        for step in steps:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, memory_gb = pool.apply(_measured, (step, folder, folder / "log"))
            line = f"{rows:>10,} rows, state {state}  {step.__name__:<8} {seconds:>8.1f} s"
            print(f"{line} {1000 * seconds / rows:.4f} ms a row {memory_gb:.2f} GB", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 400_000, 1_000_000])
    for rows in parser.parse_args().rows:
        with tempfile.TemporaryDirectory() as name:
            measure(rows, Path(name))


if __name__ == "__main__":
    main()
