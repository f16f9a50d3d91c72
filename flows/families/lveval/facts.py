"""The packaged fact records, one a language."""

from functools import cache
from pathlib import Path

import yaml

from schemas.base import SourceRef
from schemas.lveval import FactRecord

FILE = Path(__file__).with_name("facts.yaml")

LICENCE = "Apache-2.0"  # written for this project, under its own licence


@cache
def packaged_fact(language: str) -> FactRecord:
    """Return the packaged fact of a language."""
    return FactRecord.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8"))[language])


def packaged_source(dataset: str) -> SourceRef:
    """Return the source of a dataset's packaged fact."""
    return SourceRef(source="facts packaged with Touchstone", id=dataset, licence=LICENCE)
