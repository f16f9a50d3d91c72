"""Builds the wheel, with the packages in a folder of their own: see `touchstone.py`. Settings are in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FOLDER = "touchstone_packages"


class BuildInOwnFolder(build_py):
    """Moves the packages that were built into the folder, and puts it at the end of Python's path.

    There the programs that a user starts find them, such as a Dask worker.
    """

    def run(self) -> None:
        """Build the packages; an editable installation leaves them in the checkout."""
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib)
        shutil.rmtree(built / FOLDER, ignore_errors=True)
        for name in sorted({package.partition(".")[0] for package in self.packages}):
            shutil.move(built / name, built / FOLDER / name)
        (built / f"{FOLDER}.pth").write_text(f"{FOLDER}\n", encoding="utf-8")


setup(cmdclass={"build_py": BuildInOwnFolder})
