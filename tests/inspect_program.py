"""A real Inspect for tests: installed once on a machine, in an environment that finds our packages."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chat_server import ChatServer
from tests.lm_harness import make_environment

PACKAGE = "inspect_ai==0.3.285"


@dataclass(frozen=True)
class Inspected:
    """What Inspect logged of a task: the values of its metrics, and its samples by id."""

    values: Mapping[str, float]
    samples: Mapping[str, Mapping[str, Any]]
    version: str


def make_inspect(cache: Path) -> Path:
    """The program, installed where it is missing."""
    return make_environment(cache, "inspect", PACKAGE) / "bin" / "inspect"


def inspect(
    program: Path,
    at: Path,
    tasks: Sequence[str],
    models: Mapping[str, ChatServer],
    *more: str,
    hub: str | None = None,
    packages: Path | None = None,
    api: str = "openai-api",
) -> subprocess.CompletedProcess[str]:
    """Put tasks to models, by their servers; `models` has the evaluated one as "", others by role.

    `hub` is the address of a Hub, `packages` a folder of more packages, and `api` Inspect's provider for all models.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HF_HOME": str(at / "hf"), "INSPECT_LOG_DIR": str(at / "logs")}
    environment |= {"PYTHONPATH": str(packages)} if packages else {}
    environment |= {"HF_ENDPOINT": hub} if hub else {"HF_HUB_OFFLINE": "1"}
    command = [str(program), "eval", *tasks, "--display", "none", "--log-format", "json"]
    for role, server in models.items():
        provider = role or "model"
        environment |= {f"{provider.upper()}_API_KEY": "none", f"{provider.upper()}_BASE_URL": server.url}
        named = f"{api}/{provider}/{server.model}"
        command += ["--model-role", f"{role}={named}"] if role else ["--model", named]
    return subprocess.run(
        [*command, *more], cwd=at, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def logged(at: Path) -> Mapping[str, Inspected]:
    """By task (without the package's name), what the logs below `at/logs` tell."""
    found = {}
    for path in sorted((at / "logs").glob("*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        assert log["status"] == "success", log["error"]["message"]
        (scores,) = log["results"]["scores"]
        found[log["eval"]["task"].rpartition("/")[2]] = Inspected(
            {name: metric["value"] for name, metric in scores["metrics"].items()},
            {sample["id"]: sample for sample in log["samples"]},
            str(log["eval"]["task_version"]),
        )
    return found
