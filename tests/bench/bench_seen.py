"""Processor time to look a new hash up among millions, and to add it: what a source does twice for each record.

python tests/bench/bench_seen.py [--hashes 100000 1000000 5000000]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from data.seen import Seen, text_of
from data.sources import AT_ONCE

MEASURED = 100_000
"""The last hashes, on which the time is taken."""


def measure(count: int) -> str:
    """Add `count` hashes; describe what the last ones took."""
    rng = np.random.default_rng(1)
    seen = Seen()
    looking_up = adding = 0.0
    for start in range(0, count, AT_ONCE):
        names = [text_of(number) for number in rng.integers(0, 2**64, AT_ONCE, np.uint64).tolist()]
        started = time.process_time()
        known = seen.known(names)
        looked_up = time.process_time()
        seen.add({name: name for name in names if name not in known})
        if start >= count - MEASURED:
            looking_up += looked_up - started
            adding += time.process_time() - looked_up
    return (
        f"{count:>10,} hashes: {1e6 * looking_up / MEASURED:.2f} µs to look up, {1e6 * adding / MEASURED:.2f} µs to add"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hashes", type=int, nargs="+", default=[100_000, 1_000_000, 5_000_000])
    for count in parser.parse_args().hashes:
        print(measure(count), flush=True)


if __name__ == "__main__":
    main()
