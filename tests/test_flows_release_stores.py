"""Two datasets whose builds share a store: neither release changes the other's rows or numbers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.saying import build, known, released, rows_of

LINES = {"one": "one", "two": "two", "three": "three"}


@pytest.fixture(autouse=True)
def saying() -> Iterator[None]:
    with known():
        yield


def test_datasets_that_share_a_store_are_released_apart(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    first = build(tmp_path / "first", LINES, name="first", store=store)
    second = build(tmp_path / "second", LINES, name="second", store=store)
    versions = [released(first), released(second)]
    assert [version.version for version in versions] == ["1.0.0", "1.0.0"]
    rows = [rows_of(version.folder, "saying-lines") for version in versions]
    assert rows[0][0]["canary"] != rows[1][0]["canary"]
    for both in rows:
        for row in both:
            del row["canary"]
    assert rows[0] == rows[1]

    grown = released(build(tmp_path / "first", {**LINES, "four": "four"}, name="first", store=store))
    assert grown.version == "1.1.0"
    assert grown.difference is not None
    assert all(config.changed == config.removed == 0 for config in grown.difference.configs)
    again = released(build(tmp_path / "second", LINES, name="second", store=store))
    assert (again.is_new, again.version) == (False, "1.0.0")
