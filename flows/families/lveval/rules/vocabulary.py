"""The vocabulary of the rules, read from `vocabulary.yaml`."""

import re
from pathlib import Path
from typing import Any

import yaml

_VOCABULARY = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def vocabulary(name: str) -> Any:
    """Return an entry as it is written."""
    return _VOCABULARY[name]


def words(name: str) -> frozenset[str]:
    """Return a list of words."""
    return frozenset(_VOCABULARY[name].split())


def pattern(name: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern, which may be written in several pieces."""
    return re.compile("".join(_VOCABULARY[name]), flags)
