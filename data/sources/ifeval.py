"""IFEval: prompts whose instructions a program can check (Zhou et al. 2023)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """A prompt a row; what is to be checked is left out."""
    for row in json_rows(spec.path):
        text = row.text("prompt").strip()
        yield Entry(row.label("key"), {"given": "request", "text": text}, evidence=shortened(text))
