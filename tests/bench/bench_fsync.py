"""Seconds of a build of the packaged sample whose files are brought to the disk, beside one without any `os.fsync`.

    python tests/bench/bench_fsync.py [--pairs 4]

Each build is a process of its own, with a new store. Of two that follow each other, the first of one pair is the second
of the next, so that a machine that gets slower favours neither. Beside the ratio stands the part of a build's time that
was spent within `os.fsync`, which other work on the machine changes less.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 0.03
"""The largest share of a build's time that its durability may take."""

BUILD = """
import json, os, sys, time

way, config = sys.argv[1:]
fsync, spent = os.fsync, []

def timed(number):
    began = time.perf_counter()
    if way == "with":
        fsync(number)
    spent.append(time.perf_counter() - began)

os.fsync = timed
import touchstone

began = time.perf_counter()
sys.argv[1:] = ["run", config, "--out", "out"]
try:
    touchstone.main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(json.dumps([time.perf_counter() - began, len(spent), sum(spent)]), file=sys.stderr)
"""


def build(way: str) -> tuple[float, int, float]:
    """Build `with` or `without`; its seconds, the number of its calls, and the seconds within them."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", BUILD, way, str(ROOT / "data" / "samples" / "sample.yaml")],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True,
        )  # fmt: skip
    seconds, calls, within = json.loads(done.stderr.splitlines()[-1])
    return seconds, calls, within


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=4)
    ways = ("with", "without")
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    shares = list[float]()
    for pair in range(parser.parse_args().pairs):
        for way in ways[:: 1 if pair % 2 == 0 else -1]:
            took, calls, within = build(way)
            seconds[way].append(took)
            if way == "with":
                shares.append(within / took)
                print(f"with:    {took:6.2f} s, of which {1000 * within:4.0f} ms in {calls} calls", flush=True)
            else:
                print(f"without: {took:6.2f} s", flush=True)
    ratio = statistics.median(seconds["with"]) / statistics.median(seconds["without"])
    share = statistics.median(shares)
    print(f"ratio of the medians {ratio:.3f}; within os.fsync {share:.2%} of a build (at most {MOST:.0%})")
    sys.exit(share > MOST)


if __name__ == "__main__":
    main()
