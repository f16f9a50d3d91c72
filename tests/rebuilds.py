"""A small dataset of URAQ over statements of the packaged table, to be rebuilt after its source changed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.builds import touchstone, write_config

FACTS = (
    "The man who dug for Troy with Homer in hand was Heinrich Schliemann.",
    "A football team fields 11 players, goalkeeper included.",
    "The anguished figure of The Scream was painted by Edvard Munch.",
    "The taco is by origin a street food of Mexico.",
    "Guglielmo Marconi sent the first radio signal across the Atlantic.",
    "Reddish household electric wires are drawn from copper.",
    "Animals breathe in order to get oxygen.",
    "Lovers send cards for Valentine's Day in February.",
    "Cuba is an island country.",
    "Today's France is not a monarchy.",
    "Bolivia was named in honour of Simón Bolívar.",
    "Charlie Chaplin directed and starred in Modern Times.",
)
ANOTHER = "Oscar Wilde wrote of Dorian Gray and of the portrait that ages in his place."
HEAVY = ("prefect", "torch", "sentence_transformers", "faiss", "transformers")


def facts(*more: str, without: int = 0) -> bytes:
    """The lines of a source."""
    rows = [{"id": text[:20], "text": text} for text in (*FACTS[without:], *more)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def dataset(folder: Path, source: dict[str, Any] | None = None, **config: Any) -> Path:
    """The configuration, and beside it its source where none is given."""
    folder.mkdir(parents=True, exist_ok=True)
    if source is None:
        (folder / "facts.jsonl").write_bytes(facts())
        source = {"format": "jsonl", "path": "facts.jsonl"}
    uraq = {"statements_from": source, "context_counts": [1, 3]}
    return write_config(folder, families={"uraq": uraq}, release={"licence": "Apache-2.0"}, **config)


def rebuild(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Rebuild, and wait for it."""
    return touchstone("rebuild", "config.yaml", *arguments, folder=folder, **environment)


def modules_of(folder: Path, *arguments: str, **environment: str) -> tuple[str, list[str]]:
    """What a command printed, and which heavy libraries its process had imported when it ended."""
    code = (
        "import sys\n"
        f"sys.argv = ['touchstone', *{list(arguments)!r}]\n"
        "from flows.cli import main\n"
        "main()\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**os.environ, "COLUMNS": "160", **environment},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said, _, heavy = done.stdout.rpartition("HEAVY ")
    return said, list(json.loads(heavy.replace("'", '"')))


def versions(folder: Path) -> list[str]:
    """The versions that were released to a folder."""
    return sorted(path.name for path in (folder / "out" / "releases").glob("[0-9]*"))
