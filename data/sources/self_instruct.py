"""Self-Instruct: instructions that experts wrote with users in mind (Wang et al. 2023)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """An instruction a row, and below it the input of its first instance where that is not empty."""
    for row in json_rows(spec.path):
        inputs = (one.text("input").strip() for one in row.rows("instances", "instance"))
        text = "\n\n".join(part for part in (row.text("instruction").strip(), next(inputs, "")) if part)
        yield Entry(row.label("id"), {"given": "request", "text": text}, evidence=shortened(text))
