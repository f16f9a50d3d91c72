"""The installed command `touchstone`, which finds Touchstone's packages whatever else is called `data` or `flows`.

Their names are plain words: the current folder, `PYTHONPATH` and other installed packages may have them too. So the
wheel has the packages in a folder of their own (`setup.py`), and they are imported from there before anything else is.

`python -P -m touchstone MODULE ...` runs another module in this way: Prefect puts the current folder first when it
imports a flow.
"""

import importlib
import runpy
import sys
from pathlib import Path

FOLDER = "touchstone_packages"
"""Beside this file in an installation; in a checkout the packages lie beside this file themselves."""
INTERRUPTED = 130
PACKAGES = ("annotation", "data", "flows", "schemas")


def main() -> None:
    """Run the command line."""
    try:
        come_first()
        from flows import cli

        cli.main()
    except KeyboardInterrupt:  # before the command line is there to take it, or while it ends
        sys.exit(INTERRUPTED)


def come_first() -> None:
    """Import the packages, which import nothing by themselves, from where they are installed."""
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here / FOLDER if (here / FOLDER).is_dir() else here))
    for name in PACKAGES:
        importlib.import_module(name)


if __name__ == "__main__":
    come_first()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
