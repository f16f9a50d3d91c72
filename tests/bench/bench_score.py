"""Memory that scoring takes for a row with its replies, beside keeping all rows and predictions as objects.

    python tests/bench/bench_score.py [--rows 10000 100000] [family ...]

Each measurement is in a process of its own: the peak of memory above that before it, and seconds of processor time.
"scored" gives the tables and all figures with their intervals; "kept" puts the same rows and predictions into lists.
The bytes of a row are the difference between the two numbers of rows, by which it is divided.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.scoring.intervals import by_measure
from tests.many_rows import many_predictions, many_rows
from tests.test_flows_scoring_memory import MOST_BYTES, SCORERS

WARM = 100
"""Rows that are scored before memory is measured: what is loaded once is no part of it."""
HOW = ("kept", "scored")


def peak_mb() -> float:
    """The peak of this process, from when it became this program."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def work(family: str, how: str, number: int) -> None:
    score, variants = SCORERS[family]
    if how == "kept":
        kept = [*many_rows(family, number), *many_predictions(family, number, variants)]
        assert len(kept) > number
        return
    scores = score(many_rows(family, number), many_predictions(family, number, variants))
    for measured in by_measure(scores.values).values():
        assert measured.of("model", measured.conditions[-1]) is not None


def measured_here(family: str, how: str, number: int) -> None:
    """Print megabytes and seconds."""
    work(family, "scored", WARM)
    before, started = peak_mb(), time.process_time()
    work(family, how, number)
    print(peak_mb() - before, time.process_time() - started)


def measured(family: str, how: str, number: int) -> tuple[float, float]:
    ran = subprocess.run(
        [sys.executable, __file__, family, "--here", how, "--rows", str(number)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    mb, seconds = map(float, ran.stdout.split())
    return mb, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=list(SCORERS))
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--here", choices=HOW, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measured_here(*options.families, options.here, *options.rows)
        return 0
    few, many = options.rows
    worst = 0.0
    for family in options.families:
        of_row: dict[str, float] = {}
        for how in HOW:
            (first, _), (last, seconds) = measured(family, how, few), measured(family, how, many)
            of_row[how] = (last - first) * 2**20 / (many - few)
            print(
                f"{family}, {how}: {first:.1f} MB for {few:,} rows, {last:.1f} for {many:,}: {of_row[how]:.0f} bytes a "
                f"row, {1e6 * seconds / many:.0f} µs",
                flush=True,
            )
        worst = max(worst, of_row["scored"])
    reached = worst <= MOST_BYTES
    print(f"at most {worst:.0f} bytes a row, required {MOST_BYTES}: {'reached' if reached else 'MISSED'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
