from pathlib import Path

import pytest
from pydantic import ValidationError

from data.sources import DATA_SETS, FORMATS, SourceSpec
from data.sources.fingerprint import source_fingerprint


def test_what_only_a_card_shows_changes_no_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text("{}")
    plain = SourceSpec(format="squad", path=str(path))
    about = {"title": "SQuAD", "authors": "R.", "homepage": "https://example.org", "licence_url": "https://example.org"}
    assert source_fingerprint(plain.model_copy(update=about)) == source_fingerprint(plain)
    assert not about.keys() & source_fingerprint(plain).keys()
    assert source_fingerprint(plain.model_copy(update={"licence": "MIT"})) != source_fingerprint(plain)


def test_an_address_is_one_of_the_web() -> None:
    with pytest.raises(ValidationError, match="homepage"):
        SourceSpec(format="squad", path="dev.json", homepage="javascript:alert(1)")


def test_the_data_sets_are_those_of_formats() -> None:
    assert DATA_SETS.keys() <= FORMATS.keys()
