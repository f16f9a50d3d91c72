"""Sequences in a temporary file: rows by their place, and the texts that have a word."""

import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.construct.sequences_on_disk import SequenceOnDisk
from flows.construct.word_index import WordIndex
from schemas.errors import Failed
from tests.passing import with_peak


@settings(deadline=None, max_examples=30)
@given(rows=st.lists(st.none() | st.text() | st.tuples(st.integers(), st.text())), data=st.data())
def test_rows_on_disk_are_a_sequence(rows: list[object], data: st.DataObject) -> None:
    on_disk = SequenceOnDisk(rows)
    assert list(on_disk) == rows
    assert list(on_disk[1::2]) == rows[1::2]
    places = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    assert list(on_disk.at(places)) == [rows[place] for place in places]
    with pytest.raises(IndexError):
        on_disk[len(rows)]
    on_disk.append("one more")
    assert on_disk[len(rows)] == on_disk[-1] == "one more"


def test_rows_on_disk_are_not_in_memory() -> None:
    def found() -> str:
        rows = SequenceOnDisk(f"{number} {'x' * 2000}" for number in range(1000))
        return rows.at([7, 8])[1][:3]

    text, peak = with_peak(found)
    assert text == "8 x"
    assert peak < 2**18


def test_a_sequence_without_room_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(Failed, match=r"gone: cannot hold rows to be looked up \(No such file.* set TMPDIR"):
        SequenceOnDisk(["a"])


@pytest.mark.parametrize(("at_once", "in_memory_up_to"), [(1 << 17, 1 << 24), (3, 1), (1, 64)])
def test_words_are_found_in_the_texts_that_have_them(at_once: int, in_memory_up_to: int) -> None:
    texts = [{"a", "b"}, set(), {"b", "c", "d"}, {"a"}, {"e", "b"}]
    expected: dict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(texts):
        for word in words:
            expected[word].append(place)
    index = WordIndex(texts, at_once=at_once, in_memory_up_to=in_memory_up_to)
    assert {word: index.places(word).tolist() for word in "abcdef"} == {**expected, "f": []}
    assert WordIndex([]).places("a").tolist() == []
