"""A rebuild of the packaged sample where nothing changed, beside the first one.

    python tests/bench/bench_rebuild.py [turns]

Each is the command as a scheduler starts it, in a process of its own. "start-up" is the time until the engine is up
(Python, its libraries, the embedded Prefect server), as the command tells it; "work" is the rest. The bound on a
rebuild that finds nothing to do is 5 % of the first one's work, or 20 s, whichever is larger.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.project.settings import sample_path
from tests.builds import touchstone

TURNS = 3
SHARE, FLOOR_S = 0.05, 20.0


def timed(folder: Path) -> tuple[float, float]:
    """(work, start-up) of a rebuild, in seconds."""
    done = touchstone("rebuild", "sample.yaml", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.search(r"([0-9.]+) s, and ([0-9.]+) s to start the engine", done.stdout)
    assert told is not None, done.stdout
    return float(told[1]), float(told[2])


def main(turns: int) -> None:
    """Print the table."""
    print(f"{'':<18}{'work, seconds':>15}{'start-up':>12}")
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(sample_path(), name)
        first, up = timed(Path(name))
        print(f"{'the first':<18}{first:>15.1f}{up:>12.1f}", flush=True)
        bound = max(SHARE * first, FLOOR_S)
        for _ in range(turns):
            again, up = timed(Path(name))
            print(f"{'nothing changed':<18}{again:>15.1f}{up:>12.1f}   {again / bound:.0%} of the bound", flush=True)
    print(f"bound: the larger of {SHARE:.0%} of the first and {FLOOR_S:g} s: {bound:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
