"""WritingBench: writing tasks in English and Chinese, some with long material pasted in (Wu et al. 2025)."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened

CHINESE_SHARE = 0.5
"""Of a query's letters; in the subset on length the share is below 0.04 or above 0.82."""


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """A query a row, with its language, which no field tells, by its letters."""
    for row in json_rows(spec.path):
        text = row.text("query").strip()
        language = "zh" if _chinese_share(text) >= CHINESE_SHARE else "en"
        values = {"given": "request", "text": text, "language": language}
        yield Entry(row.label("index") if "index" in row.values else row.place, values, evidence=shortened(text))


def _chinese_share(text: str) -> float:
    """Share of the letters that are Han characters; 0 where there is no letter."""
    letters = [character for character in text if character.isalpha()]
    return sum("\u4e00" <= character <= "\u9fff" for character in letters) / len(letters) if letters else 0.0
