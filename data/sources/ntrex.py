"""NTREX: English news of WMT's newstest2019 with translations by professionals (Federmann et al. 2022)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """A line of news, a sentence or sometimes two, with its translation into Simplified Chinese."""
    for row in json_rows(spec.path):
        text = row.text("en").strip()
        yield Entry(row.label("line"), {"text": text, "reference": row.text("zh").strip()}, evidence=shortened(text))


def document_assignments(spec: SourceSpec) -> Iterator[Entry]:
    """A whole document, its sentences joined; nobody wrote a reference for it."""
    for row in json_rows(spec.path):
        text = " ".join(one.strip() for one in row.texts("sentences"))
        yield Entry(row.label("doc_id"), {"text": text}, evidence=shortened(text))
