"""CREAK: short statements of general knowledge, labelled true or false (Onoe et al. 2021)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec

LABELS = ("true", "false")


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """The statements labelled true; the false ones are refused."""
    for row in json_rows(spec.path):
        id_, text, label = row.label("ex_id"), row.text("sentence"), row.text("label")
        if label not in LABELS:
            raise row.error(f'expected label "true" or "false", found "{label}"', "correct the row")
        refused = "" if label == "true" else "labelled false"
        topic = row.text("entity") if "entity" in row.values else None
        yield Entry(id_, {"text": text.strip(), "topic": topic}, refused=refused, evidence=text)
