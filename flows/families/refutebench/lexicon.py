"""The packaged English-Chinese table of version 1.0's template refuter, which looks a translation up in a dictionary."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

TABLE = Path(__file__).parent / "lexicon.en-zh.tsv"
"""A line for each word: its base form in lower case, and two to five translations into Simplified Chinese."""


@cache
def packaged() -> Mapping[str, tuple[str, ...]]:
    """The translations of each word of the table, in its order."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {word: tuple(translations) for word, *translations in rows}
