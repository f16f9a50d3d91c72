"""Records: three names, each with its own reason to change."""

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.base import content_hash, key_of, visible
from schemas.errors import Failed
from schemas.source import Statement
from schemas.verdict import Verdict


def test_the_id_is_that_of_the_content_alone() -> None:
    one = Statement(key="a", text="Water is wet.", topic="physics")
    other = Statement(key="b", text="Water is wet.")
    assert one.id == other.id
    assert one.id != Statement(key="a", text="Water is dry.").id


def test_a_record_whose_id_is_not_its_contents_is_refused() -> None:
    row = Statement(key="a", text="Water is wet.").model_dump()
    with pytest.raises(ValidationError, match="does not match the content"):
        Statement.model_validate({**row, "text": "Water is dry."})


def test_a_revision_keeps_the_key_and_changes_id_and_view() -> None:
    one = Statement(key="a", text="Water is wet.")
    other = one.revised(text="Water is dry.")
    assert other.key == one.key
    assert other.id != one.id
    assert other.view_hash != one.view_hash
    assert one.revised(topic="physics").view_hash == one.view_hash


def test_records_are_frozen_and_closed() -> None:
    one = Statement(key="a", text="Water is wet.")
    with pytest.raises(ValidationError):
        one.text = "Water is dry."  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Statement.model_validate({"key": "a", "text": "b", "colour": "blue"})


@pytest.mark.parametrize("listed", ["DEFINES", "SHOWS", "TEXTS", "BOOKKEEPING"])
def test_a_misspelt_field_is_named_as_soon_as_the_schema_is_read(listed: str) -> None:
    """Hashes would leave it out: a record's content could change, and its id would stay."""
    with pytest.raises(Failed, match=rf"Word\.{listed} names the field txt, which does not exist; did you mean .text"):
        type("Word", (Statement,), {listed: ("txt",), "__annotations__": {listed: ClassVar[tuple[str, ...]]}})


@given(st.dictionaries(st.text(), st.integers(-(2**60), 2**60)))
def test_hashes_do_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert content_hash(value) == content_hash(dict(reversed(value.items())))


@given(st.text(), st.text())
def test_keys_tell_slots_apart(source: str, setting: str) -> None:
    keys = {key_of("f", "p", source, slot) for slot in (None, {"setting": setting}, {"setting": setting, "n": 1})}
    assert len(keys) == 3


def test_only_a_fix_changes_fields() -> None:
    with pytest.raises(ValidationError, match="go with decision"):
        Verdict(key="k", view_hash="v", rubric="r", decision="accept", changes={"text": "x"})
    with pytest.raises(ValidationError, match="go with decision"):
        Verdict(key="k", view_hash="v", rubric="r", decision="fix")


def test_what_cannot_be_seen_is_written_out() -> None:
    assert visible("plain, 中文, \U0001f41d") == "plain, 中文, \U0001f41d"
    assert visible("a\nb\x1b[31m\u202e\u2028\0") == r"a\nb\x1b[31m\u202e\u2028\x00"
