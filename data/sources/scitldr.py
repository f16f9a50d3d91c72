"""SciTLDR: papers in computer science with summaries of one sentence (Cachola et al. 2020)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """A paper's abstract, its sentences joined; of its summaries the first."""
    for row in json_rows(spec.path):
        text = " ".join(one.strip() for one in row.texts("source"))
        reference = next((one.strip() for one in row.texts("target")), "")
        yield Entry(row.label("paper_id"), {"text": text, "reference": reference}, evidence=shortened(text))
