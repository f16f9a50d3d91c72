"""Every operation of a command on files fails, in each way that it can; then the command runs again.

    python -m tests.faults [--scene NAME]... [--share 0.1]

One process imports everything and is forked for each scenario: a copy of what was there before, the command with one
fault, the command again. Then everything must be as after an undisturbed run. Prints a table by command and fault, and
a line for each scenario that ended in another way.
"""

import argparse
import os
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from tests.builds import cache_folder
from tests.faults import interposed
from tests.faults.side_by_side import note, side_by_side, warm_workshop

PLAN = "plan"


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
    with warm_workshop("faults") as home:
        from tests.faults.scenes import SCENES

        chosen = [scene for scene in SCENES if not options.scene or scene.name in options.scene]
        return 1 if sum([run_scene(scene, home, options) for scene in chosen]) else 0


def run_scene(scene: Any, home: Path, options: argparse.Namespace) -> int:
    """Run the scenarios of a command, side by side, and print what came of them. Returns how many ended wrongly."""
    from tests.faults.scenarios import PAIR, WRONG

    began = time.monotonic()
    place = home / scene.name.replace(" ", "-")
    results = side_by_side(place, options.workers, partial(work, scene, options))
    plan = (place / PLAN).read_text()
    print(f"{scene.name}: {plan}; {len(results)} scenarios run in {time.monotonic() - began:.0f} s")
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


def work(scene: Any, options: argparse.Namespace, worker: int, folder: Path) -> None:
    """Run each scenario that falls to a worker."""
    from tests.faults.scenarios import Place, firsts, pairs, scenarios

    place = Place(scene, folder)
    operations, whole = place.learn()
    if options.pairs:
        faults = firsts(operations, options.share, options.seed)
        chosen = (pair for first in faults[worker :: options.workers] for pair in pairs(place, first, options.seed))
        plan = f"{len(faults)} of {len(firsts(operations, 1.0, 0))} first faults, each with one of each kind after it"
    else:
        chosen = iter(scenarios(operations, options.share, options.seed)[worker :: options.workers])
        plan = f"{len(scenarios(operations, 1.0, 0))} scenarios"
    if not worker:
        (folder.parent / PLAN).write_text(f"{len(operations)} operations, {plan}")
    for scenario in chosen:
        note(folder, {"kind": scenario.kind, "fault": str(scenario), **place.judged(scenario, whole)})


if __name__ == "__main__":
    sys.exit(main())
