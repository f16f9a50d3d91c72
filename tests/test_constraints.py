"""The locks: what `pyproject.toml` and a local Label Studio ask for has one version, on every machine they are for."""

import re
import tomllib
from importlib.metadata import distribution
from itertools import product
from pathlib import Path
from typing import cast

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from annotation.label_studio import install
from tests.builds import ROOT

LOCK = ROOT / "constraints.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
PYTHONS = ("3.11.0", "3.11.9", "3.12.0", "3.13.0")
MACHINES = (("linux", "Linux", "x86_64"), ("linux", "Linux", "aarch64"), ("darwin", "Darwin", "arm64"))


def locked(lock: Path) -> list[Requirement]:
    lines = lock.read_text(encoding="utf-8").splitlines()
    return [Requirement(line.partition("  #")[0]) for line in lines if not line.startswith("#")]


def environments() -> list[dict[str, str]]:
    """The environments of the Pythons and machines, as markers see them."""
    here = cast("dict[str, str]", default_environment())
    return [
        {**here, "python_version": python.rpartition(".")[0], "python_full_version": python, "sys_platform": platform,
         "platform_system": system, "platform_machine": machine}
        for python, (platform, system, machine) in product(PYTHONS, MACHINES)
    ]  # fmt: skip


def versions(lock: Path, environment: dict[str, str]) -> dict[str, str]:
    """The version of each package that a lock has in an environment; a package has one at most."""
    chosen: dict[str, str] = {}
    for line in locked(lock):
        if line.marker is None or line.marker.evaluate(environment):
            (pin,) = line.specifier
            assert pin.operator == "=="
            assert chosen.setdefault(canonicalize_name(line.name), pin.version) == pin.version
    return chosen


@pytest.mark.parametrize("extra", EXTRAS)
def test_each_dependency_is_locked_within_its_bounds(extra: str) -> None:
    for environment in environments():
        chosen = versions(LOCK, environment)
        for line in map(Requirement, EXTRAS[extra]):
            assert chosen[canonicalize_name(line.name)] in line.specifier, f"{line}: run `make lock`"


def test_what_is_installed_is_what_is_locked() -> None:
    """`make test` installs from the lock; this walks from what is asked for to all that it brings."""
    chosen = versions(LOCK, cast("dict[str, str]", default_environment()))
    asked = [Requirement(line) for lines in EXTRAS.values() for line in lines]
    waiting = [(canonicalize_name(line.name), frozenset(line.extras)) for line in asked]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        installed = distribution(name)
        assert Version(installed.version).public == chosen.get(name), f"{name} {installed.version} is not locked"
        for line in map(Requirement, installed.requires or []):
            if line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                waiting.append((canonicalize_name(line.name), frozenset(line.extras)))
    assert len(seen) > len(asked)


def test_label_studio_is_locked() -> None:
    for environment in environments():
        chosen = versions(install.CONSTRAINTS, environment)
        for line in map(Requirement, install.PACKAGES):
            assert chosen[line.name] in line.specifier, f"{line}: run `make lock`"


@pytest.mark.parametrize("lock", [LOCK, install.CONSTRAINTS], ids=["touchstone", "label-studio"])
def test_a_lock_names_versions_and_no_place(lock: Path) -> None:
    for line in lock.read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"(#.*|[a-z0-9][a-z0-9.-]*==\S+( ; [^#/]+)?(  # via [^/]+)?)", line), line
