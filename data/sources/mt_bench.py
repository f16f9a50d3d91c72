"""MT-bench: questions of two turns (Zheng et al. 2023)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """The first turn of a question; the second is about the answer to the first ("Rewrite your previous response")."""
    for row in json_rows(spec.path):
        text = next((one.strip() for one in row.texts("turns")), "")
        yield Entry(row.label("question_id"), {"given": "request", "text": text}, evidence=shortened(text))
