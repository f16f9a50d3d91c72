"""`.eval_results/*.yaml`: scores for a model's repository on the Hub (`eval-results.md` in huggingface/hub-docs)."""

from collections.abc import Mapping
from typing import Any

import yaml

from flows.evaluate.signature import Signature
from flows.results.evaluated import Dataset

FOLDER = ".eval_results"
HUB = "https://huggingface.co/datasets"


def entry(
    dataset: Dataset, commit: str | None, task: str, value: float, way: str, signature: Signature
) -> Mapping[str, Any]:
    """Return the entry for a task of the dataset, which is on the Hub, its version at `commit`."""
    revision = {"revision": commit} if commit else {}
    version = f"/tree/{dataset.version}" if dataset.version else ""
    return {
        "dataset": {"id": dataset.repo, "task_id": task, **revision},
        "value": value,
        "date": signature.date.isoformat(),
        "source": {
            "url": f"{HUB}/{dataset.repo}{version}",
            "name": " ".join(filter(None, [dataset.name, dataset.version])),
        },
        "notes": "; ".join(filter(None, [way, f"touchstone evaluate, {signature}"])),
    }


def entries_text(entry: Mapping[str, Any]) -> str:
    """Return the text of a file with one entry."""
    return yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=120)
