"""Touchstone as a wheel, where folders of somebody else's have the names of its packages."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.builds import ROOT, write_config

pytestmark = pytest.mark.slow

SOURCES = (
    "annotation",
    "data",
    "flows",
    "schemas",
    "touchstone.py",
    "setup.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
SOMEBODY_ELSES = ("data/__init__.py", "flows/__init__.py", "annotation/__init__.py", "schemas.py")


def run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without what the tests' own environment adds to Python's path."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [*map(str, command)], cwd=folder, env={**inherited, "COLUMNS": "160", **environment},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout; it is built from a copy, since a build writes beside its sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / "source" / name)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    built = run(*pip, "-w", folder, folder / "source", folder=folder)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path) -> Path:
    """The programs of an environment with the wheel, and the libraries of this environment behind it."""
    env = wheel.parent / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    pip = (sys.executable, "-m", "pip", "--python", env / "bin" / "python", "install", "-q", "--no-deps", "--no-index")
    installed = run(*pip, wheel, folder=wheel.parent)
    assert installed.returncode == 0, installed.stderr
    # By a line of such a file libraries are found, but not this environment's own, editable, Touchstone.
    libraries = f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    (site_packages(env / "bin") / "libraries.pth").write_text(libraries)
    return env / "bin"


def site_packages(programs: Path) -> Path:
    (folder,) = (programs.parent / "lib").glob("python*/site-packages")
    return folder


def write_somebody_elses(folder: Path) -> None:
    """Write packages that have the names of Touchstone's."""
    for name in SOMEBODY_ELSES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise ImportError('this is of somebody else')\n")


def test_programs_of_other_people_find_the_packages(programs: Path, tmp_path: Path) -> None:
    imports = "import annotation, data, flows.serve.deployments, schemas; print(flows.__file__)"
    done = run(programs / "python", "-c", imports, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "touchstone_packages" in done.stdout


def test_prefect_finds_the_flows_in_a_folder_with_others(programs: Path, tmp_path: Path) -> None:
    write_somebody_elses(tmp_path)
    loads = (
        "from prefect.utilities.importtools import load_module\nprint(load_module('flows.serve.deployments').rebuild)"
    )
    (tmp_path / "loads.py").write_text(loads)
    command = (programs / "python", "-P", "-m", "touchstone", "loads")
    done = run(*command, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("runner", ["threads", "dask"])
def test_the_installed_command_finds_its_own_packages(programs: Path, tmp_path: Path, runner: str) -> None:
    write_somebody_elses(tmp_path)
    write_somebody_elses(site_packages(programs))
    config = write_config(tmp_path, "my.yaml", runner=runner, families={"uraq": {"statements": 12}})
    for arguments, said in (
        (["run", *([config] if runner == "dask" else []), "--limit", "3"], "out/report.html"),
        (["show", "uraq-statements", "--sample", "1"], "manipulated:"),
        (["verify", "uraq"], "0 faults"),
    ):
        done = run(programs / "touchstone", *arguments, folder=tmp_path, PYTHONPATH=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
