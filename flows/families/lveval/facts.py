"""The packaged fact records, one per language."""

from functools import cache
from pathlib import Path

import yaml

from schemas.base import SourceRef
from schemas.lveval import FactRecord


@cache
def packaged_fact(language: str) -> FactRecord:
    """Return the packaged fact of a language."""
    facts = yaml.safe_load(Path(__file__).with_name("facts.yaml").read_text(encoding="utf-8"))
    return FactRecord.model_validate(facts[language])


def packaged_source(dataset: str) -> SourceRef:
    """Return the source of a dataset's packaged fact, which was written for this project under its own licence."""
    return SourceRef(source="facts packaged with Touchstone", id=dataset, licence="Apache-2.0")
