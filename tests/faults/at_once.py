"""Two commands at once: one is stopped at each of its operations on files, and the other runs until it waits or ends.

    python -m tests.faults.at_once [--pair NAME]... [--share 0.1]

Then the first goes on, or is killed; who was refused or killed runs again. All must be as after the one and then the
other, or the other way round: nothing is paid for, published or handed out twice, and nothing stays that nothing reads.
Whoever waits says so within seconds, for whom and for which file. Prints a table by pair, and a line for each scenario
that ended in another way.
"""

import argparse
import os
import random
import re
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
    parser.add_argument("--pair", action="append", help="by default all")
    parser.add_argument("--share", type=float, default=1.0, help="of the scenarios, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--messages", action="store_true", help="print each message that was seen, too")
    options = parser.parse_args()
    interposed.run_with_library("tests.faults.at_once", cache_folder())
    with warm_workshop("at-once") as home:
        from tests.faults.pairs import PAIRS

        chosen = [pair for pair in PAIRS if not options.pair or pair.name in options.pair]
        return 1 if sum([run_pair(pair, home, options) for pair in chosen]) else 0


def run_pair(pair: Any, home: Path, options: argparse.Namespace) -> int:
    """Run the scenarios of a pair, side by side, and print what came of them. Returns how many ended wrongly."""
    from tests.faults.pairs import NAMED, OUTCOMES, WRONG

    began = time.monotonic()
    place = home / pair.name.replace(" ", "-")
    results = side_by_side(place, options.workers, partial(work, pair, options))
    counts = Counter(result["how"] for result in results)
    named = sum(bool(NAMED.search(result["said"])) for result in results if result["said"])
    told = ", ".join(f"{counts[how]} {how}" for how in OUTCOMES)
    faults = ", ".join(f"{sum(name in result for result in results)} {name}" for name in WRONG)
    every = (place / PLAN).read_text()
    print(f"{pair.name}: {len(results)} of {every} run in {time.monotonic() - began:.0f} s")
    print(f"  {told} ({named} named the other); {faults}")
    wrong = [(name, result) for result in results for name in WRONG if name in result]
    for name, result in wrong:
        print(f"  {name}: {result['scenario']}: {result[name]}")
    if options.messages:
        for said, count in Counter(re.sub(r"\d+", "N", result["said"]) for result in results).most_common():
            print(f"  {count:6} × {said}")
    sys.stdout.flush()
    return len(wrong)


def work(pair: Any, options: argparse.Namespace, worker: int, folder: Path) -> None:
    """Run each scenario that falls to a worker."""
    from tests.faults.pairs import GOES_ON, KILLED, Place

    place = Place(pair, folder)
    operations, ends = place.learn()
    every = [(operation, then) for operation in operations for then in (GOES_ON, KILLED)]
    if not worker:
        (folder.parent / PLAN).write_text(f"{len(every)}")
    drawn = random.Random(options.seed).sample(every, round(len(every) * options.share))
    for operation, then in drawn[worker :: options.workers]:
        scenario = f"stopped after {operation.number} ({operation.name} {operation.path}), then it {then}"
        note(folder, {"scenario": scenario, **place.judged(operation, then, ends)})


if __name__ == "__main__":
    sys.exit(main())
