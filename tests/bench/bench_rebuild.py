"""A rebuild of the packaged sample where nothing changed, beside the first one.

    python tests/bench/bench_rebuild.py [turns]

Each is the installed command as a scheduler starts it, in a process of its own. "processor" is the time of the process
and of all that it starts and waits for, "wall" is the time until it has ended. The bound on a rebuild that finds
nothing to do is 5 % of the first one's wall time, or 7 s, whichever is larger.
"""

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.prefect_server.embedded import API
from flows.project.settings import sample_path
from tests.builds import touchstone

TURNS = 3
SHARE, FLOOR_S = 0.05, 7.0


def timed(folder: Path) -> tuple[float, float]:
    """(wall, processor) of a rebuild, in seconds."""
    started, spent = time.monotonic(), processor()
    done = touchstone("rebuild", "sample.yaml", folder=folder, fork=False, **{API: ""})
    assert done.returncode == 0, done.stdout + done.stderr
    return time.monotonic() - started, processor() - spent


def processor() -> float:
    """Seconds of processor that ended children have taken."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def main(turns: int) -> None:
    """Print the table."""
    print(f"{'seconds':<18}{'wall':>10}{'processor':>12}")
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(sample_path(), name)
        first, spent = timed(Path(name))
        print(f"{'the first':<18}{first:>10.1f}{spent:>12.1f}", flush=True)
        bound = max(SHARE * first, FLOOR_S)
        for _ in range(turns):
            again, spent = timed(Path(name))
            print(f"{'nothing changed':<18}{again:>10.1f}{spent:>12.1f}   {again / bound:.0%} of the bound", flush=True)
    print(f"bound: the larger of {SHARE:.0%} of the first and {FLOOR_S:g} s: {bound:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
