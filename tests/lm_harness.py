"""A real lm-evaluation-harness for tests: installed once on a machine, in an environment of its own.

Such an environment has only the packages that ours lacks, and finds the others in ours: to install PyTorch again would
take more processor time than all tests of the harness.
"""

import fcntl
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.base import content_hash

PACKAGE = "lm-eval[hf,api]==0.4.13"


@dataclass(frozen=True)
class Evaluated:
    """What the harness found and logged, by task."""

    results: Mapping[str, Mapping[str, Any]]
    samples: Mapping[str, Sequence[Mapping[str, Any]]]
    versions: Mapping[str, str]
    shots: Mapping[str, int]

    def value(self, task: str, metric: str) -> float:
        """A metric of a task."""
        return float(self.results[task][f"{metric},none"])


def make_harness(cache: Path) -> Path:
    """The harness's program, installed where it is missing."""
    env = make_environment(cache, "lm-eval", PACKAGE)
    for task in (purelib_of(env) / "lm_eval" / "tasks").rglob("*.yaml"):
        task.unlink(missing_ok=True)  # each run reads all 14,000
    return env / "bin" / "lm_eval"


def purelib_of(env: Path) -> Path:
    """The folder of an environment's own packages."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(env)}))


def make_environment(cache: Path, name: str, package: str) -> Path:
    """The environment of a package, installed where it is missing."""
    packages = [path for path in sys.path if Path(path).name == "site-packages"]
    env = cache.resolve() / f"{name}-{content_hash(package, packages)}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that come together make one
        mark = env / ".installed"
        if not mark.exists():
            python = env / "bin" / "python"
            subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", env], check=True)
            (purelib_of(env) / "ours.pth").write_text("\n".join(packages), encoding="utf-8")
            pip = [sys.executable, "-m", "pip", "--python", python, "install", "-qq", "--no-compile"]
            subprocess.run([*pip, package], check=True)
            mark.touch()
    return env


def evaluate(
    program: Path, folder: Path, tasks: Sequence[str], model: str, arguments: str, *more: str, **where: Any
) -> Evaluated:
    """Run tasks whose YAML files lie in `folder/scorers`, without a network; `where` as of `run`."""
    found = folder / "found"
    done = run(program, folder, tasks, model, arguments, "--log_samples", "--output_path", str(found), *more, **where)
    assert done.returncode == 0, done.stderr[-4000:]
    (results,) = found.rglob("results_*.json")
    read = json.loads(results.read_text(encoding="utf-8"))
    date = results.stem.removeprefix("results_")
    samples = {
        path.name.removeprefix("samples_").removesuffix(f"_{date}.jsonl"): [
            json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line
        ]
        for path in results.parent.glob("samples_*.jsonl")
    }
    return Evaluated(read["results"], samples, read["versions"], read["n-shot"])


def run(
    program: Path,
    folder: Path,
    tasks: Sequence[str],
    model: str,
    arguments: str,
    *more: str,
    tasks_in: Path | None = None,
    at: Path | None = None,
    more_environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run tasks of `folder/scorers`, or of another folder; `at` is the current directory."""
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "OPENAI_API_KEY": "none"}
    environment |= more_environment or {}
    command = [
        program, "run", "--model", model, "--model_args", arguments, "--include_path", tasks_in or folder / "scorers",
        "--tasks", ",".join(tasks), "--device", "cpu", *more,
    ]  # fmt: skip
    return subprocess.run(
        list(map(str, command)), cwd=at or folder, env=environment, capture_output=True, text=True, check=False,
        timeout=900,
    )  # fmt: skip
