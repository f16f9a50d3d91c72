"""The packaged fact records, one a language."""

from functools import cache
from pathlib import Path

import yaml

from schemas.lveval import FactRecord

FILE = Path(__file__).with_name("facts.yaml")


@cache
def packaged_fact(language: str) -> FactRecord:
    """The fact of the fact-recall dataset in that language."""
    return FactRecord.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8"))[language])
