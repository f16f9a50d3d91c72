"""A real lm-evaluation-harness for tests: installed once a machine, in an environment of its own (2 GB)."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VERSION = "0.4.13"
PACKAGES = (f"lm-eval[hf,api]=={VERSION}", "jieba==0.42.1")


@dataclass(frozen=True)
class Evaluated:
    """What the harness found and logged, by task."""

    results: Mapping[str, Mapping[str, Any]]
    samples: Mapping[str, Sequence[Mapping[str, Any]]]

    def value(self, task: str, metric: str) -> float:
        """A metric of a task."""
        return float(self.results[task][f"{metric},none"])


def make_harness(cache: Path) -> Path:
    """The harness's program, installed where it is missing (minutes, once)."""
    env = cache.resolve() / f"lm-eval-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lm-eval.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers that come together make one
        mark = env / ".installed"
        if not mark.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", env], check=True)
            wanted = ["-c", ROOT / "constraints.txt", *PACKAGES]
            subprocess.run([env / "bin" / "python", "-m", "pip", "install", "-qq", *wanted], check=True)
            mark.touch()
    return env / "bin" / "lm_eval"


def evaluate(program: Path, folder: Path, tasks: Sequence[str], model: str, arguments: str, *more: str) -> Evaluated:
    """Run tasks whose YAML files lie in `folder/scorers`, without a network."""
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf"), "OPENAI_API_KEY": "none"}
    command = [
        program, "run", "--model", model, "--model_args", arguments, "--include_path", folder / "scorers",
        "--tasks", ",".join(tasks), "--device", "cpu", "--log_samples", "--output_path", folder / "found", *more,
    ]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr[-4000:]
    (results,) = (folder / "found").rglob("results_*.json")
    found = json.loads(results.read_text(encoding="utf-8"))
    date = results.stem.removeprefix("results_")
    samples = {
        path.name.removeprefix("samples_").removesuffix(f"_{date}.jsonl"): [
            json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line
        ]
        for path in results.parent.glob("samples_*.jsonl")
    }
    return Evaluated(found["results"], samples)
