"""What `datasets` and the Hub read about a configuration from the card: its features and its sizes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from data.publish import markdown

SHOWN_TEXT = 240
"""Characters of a text in an example row."""
SHOWN_ITEMS = 2
"""Items of a list in an example row."""


def dataset_info(name: str, split: str, files: Sequence[Path]) -> dict[str, Any] | None:
    """Return the `dataset_info` of a configuration; None if `datasets` has no feature for a type of its columns."""
    import datasets

    try:
        features = datasets.Features.from_arrow_schema(pq.read_schema(files[0]).remove_metadata())
    except ValueError:
        return None
    metadata = [pq.read_metadata(file) for file in files]
    size = sum(each.row_group(group).total_byte_size for each in metadata for group in range(each.num_row_groups))
    rows = sum(each.num_rows for each in metadata)
    return {
        "config_name": name,
        "features": features._to_yaml_list(),
        "splits": [{"name": split, "num_bytes": size, "num_examples": rows}],
        "download_size": sum(file.stat().st_size for file in files),
        "dataset_size": size,
    }


def example_row(row: dict[str, Any]) -> str:
    """Return a row as JSON, with its long texts and lists cut.

    Angle brackets and invisible characters are escaped as JSON escapes them: in a card no text of a row may look like
    a marker, or turn other text around.
    """
    written = json.dumps({name: _cut(value) for name, value in row.items()}, ensure_ascii=False, indent=1)
    return "".join(character if _is_plain(character) else _escaped(character) for character in written)


def _is_plain(character: str) -> bool:
    return character == "\n" or (character != "<" and markdown.is_seen(character))


def _escaped(character: str) -> str:
    return "\\u003c" if character == "<" else json.dumps(character)[1:-1]


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= SHOWN_TEXT else f"{value[:SHOWN_TEXT]}…"
    if isinstance(value, list | tuple):
        more = len(value) - SHOWN_ITEMS
        return [*map(_cut, value[:SHOWN_ITEMS]), *([f"… {more} more"] if more > 0 else [])]
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return value
