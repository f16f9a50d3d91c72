"""Every operation of a command on files fails, in each way that it can; then the command runs again.

    python -m tests.faults [--scene NAME]... [--share 0.1]

One process imports everything and is forked for each scenario: a copy of what was there before, the command with one
fault, the command again. Then everything must be as after an undisturbed run. Prints a table by command and fault, and
a line for each scenario that ended in another way.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.builds import cache_folder
from tests.faults import interposed

SHM = Path("/dev/shm")
"""Where there is one, a folder in memory."""


def main() -> int:
    """Run the scenarios. Returns 1 if one ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", action="append", help="by default all")
    parser.add_argument("--share", type=float, default=1.0, help="of the scenarios, drawn by the seed")
    parser.add_argument("--pairs", action="store_true", help="two faults: the run after the first meets another")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--messages", action="store_true", help="print each message that was seen, too")
    options = parser.parse_args()
    interposed.run_with_library("tests.faults", cache_folder())
    warnings.simplefilter("ignore")
    home = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None, prefix="faults-"))
    try:
        from tests.fork_server import _import_all

        _import_all(home / "prefect")
        from tests.faults.scenes import SCENES

        chosen = [scene for scene in SCENES if not options.scene or scene.name in options.scene]
        return 1 if sum([run_scene(scene, home, options) for scene in chosen]) else 0
    finally:
        shutil.rmtree(home, ignore_errors=True)


def run_scene(scene: Any, home: Path, options: argparse.Namespace) -> int:
    """Run the scenarios of a command, side by side, and print what came of them. Returns how many ended wrongly."""
    from tests.faults.scenarios import PAIR, WRONG

    began = time.monotonic()
    folders = [home / f"{scene.name.replace(' ', '-')}-{worker}" for worker in range(options.workers)]
    workers = [begun(scene, folder, worker, options) for worker, folder in enumerate(folders)]
    ended = [os.waitpid(worker, 0)[1] for worker in workers]
    if any(ended):
        raise SystemExit(f"{scene.name}: a worker of the harness failed")
    results = [json.loads(line) for folder in folders for line in (folder / "results").read_text().splitlines()]
    operations, scenarios = (folders[0] / "plan").read_text().split()
    print(
        f"{scene.name}: {operations} operations, {scenarios} scenarios, {len(results)} of them run in "
        f"{time.monotonic() - began:.0f} s"
    )
    for kind in [PAIR] if options.pairs else interposed.KINDS:
        of_kind = [result for result in results if result["kind"] == kind]
        counts = ", ".join(f"{sum(name in result for result in of_kind)} {name}" for name in WRONG)
        print(f"  {kind:22}{len(of_kind):6} run: {counts}")
    wrong = [(name, result) for result in results for name in WRONG if name in result]
    for name, result in wrong:
        print(f"  {name}: {result['fault']}: {result[name]}")
    if options.messages:
        for said, count in Counter(result["said"] for result in results).most_common():
            print(f"  {count:6} × {said}")
    sys.stdout.flush()
    return len(wrong)


def begun(scene: Any, folder: Path, worker: int, options: argparse.Namespace) -> int:
    """Start a worker, which runs each scenario that falls to it and writes a line for it; returns its process id."""
    from tests.faults.scenarios import Place, pairs, scenarios

    pid = os.fork()
    if pid:
        return pid
    try:
        place = Place(scene, folder)
        operations, whole = place.learn()
        if options.pairs:
            chosen = [*pairs(place, operations, options.share, options.seed)]
            count = len(chosen)
        else:
            chosen, count = scenarios(operations, options.share, options.seed), len(scenarios(operations, 1.0, 0))
        (folder / "plan").write_text(f"{len(operations)} {count}")
        with (folder / "results").open("w") as results:
            for scenario in chosen[worker :: options.workers]:
                line = {"kind": scenario.kind, "fault": str(scenario), **place.judged(scenario, whole)}
                results.write(json.dumps(line) + "\n")
    except BaseException:  # noqa: BLE001 - as the interpreter ends
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
