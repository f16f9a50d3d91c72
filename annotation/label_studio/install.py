"""Install the pinned Label Studio into its own environment, since it pins packages that the pipeline needs newer."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from uv import find_uv_bin

from annotation.label_studio.accounts import write_private
from schemas.errors import Failed

PACKAGES = ("label-studio==1.23.2", "label-studio-sdk==2.1.2")
CONSTRAINTS = Path(__file__).with_name("constraints.txt")
"""The version of everything that these packages require; `make lock` refreshes it."""
INSTALL_S = 1800.0
"""How long an installation may take, in seconds. It takes 10 s with uv, 84 s with pip, longer on a slow connection."""
SPACE = 1_500_000_000
"""Bytes that must be free: the environment takes 0.8 GB, beside the packages that it is unpacked from."""
MARK = ".complete"


def install(folder: Path, lock: IO[str], tell: Callable[[str], None]) -> Path:
    """Return the folder of the environment's programs, and install it under `folder` unless it is complete.

    The installing process inherits `lock`: if the caller is killed it goes on, and no second one may start.
    Raises `Failed` with the last line of the log.
    """
    env, log = folder / "env", folder / "install.log"
    if _is_installed(env):
        return env / "bin"
    tell(f"installing {PACKAGES[0]} into {env}; it takes about 0.8 GB, once")
    if (free := shutil.disk_usage(folder).free) < SPACE:
        raise Failed(
            f"{folder}: {free / 1e9:.1f} GB free, Label Studio needs {SPACE / 1e9:.1f}; free some, or set a `store` "
            "on another disk"
        )
    python = str(env / "bin" / "python")
    wanted = ["-c", str(CONSTRAINTS), *PACKAGES]
    by_uv = [
        [find_uv_bin(), "venv", "--python", sys.executable, str(env)],
        [find_uv_bin(), "pip", "install", "--python", python, "--build-constraints", str(CONSTRAINTS), *wanted],
    ]
    by_pip = [
        [sys.executable, "-m", "venv", str(env)],
        [python, "-m", "pip", "install", "--disable-pip-version-check", *wanted],
    ]
    with log.open("w", encoding="utf-8") as out:
        # uv does not read pip's settings: if an index is set only there, pip finds it.
        done = any(_run(commands, env, out, lock) for commands in (by_uv, by_pip))
    if not done:
        shutil.rmtree(env, ignore_errors=True)
        raise Failed(f"Label Studio could not be installed: {last_line(log)}; see {log}, then run again")
    # Last, so that an installation that was killed does not count as complete.
    write_private(env / MARK, mark())
    return env / "bin"


def last_line(log: Path, start: int = 0) -> str:
    """Return the last line of a log that is not empty, from the byte `start` on."""
    with log.open("rb") as file:
        file.seek(start)
        lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "it wrote nothing")


def _run(commands: list[list[str]], env: Path, out: IO[str], lock: IO[str]) -> bool:
    """Run all commands, one after the other, for a new environment; return whether all succeeded."""
    if env.is_symlink():
        env.unlink()
    elif env.exists():
        shutil.rmtree(env)
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    for command in commands:
        try:
            done = subprocess.run(  # noqa: S603 - our own list
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, timeout=INSTALL_S,
                pass_fds=[lock.fileno()], check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            out.write(f"{error}\n")
            out.flush()
            return False
        if done.returncode != 0:
            return False
    return True


def _is_installed(env: Path) -> bool:
    """Return whether the environment is complete, has the versions of the lock, and its Python still exists."""
    try:
        return (env / MARK).read_text(encoding="utf-8") == mark() and (env / "bin" / "python").exists()
    except OSError:
        return False


def mark() -> str:
    """Return what a complete environment is marked with: it is installed anew when any of this changes."""
    versions = hashlib.sha256(CONSTRAINTS.read_bytes()).hexdigest()
    return json.dumps({"packages": PACKAGES, "versions": versions, "python": platform.python_version()})
