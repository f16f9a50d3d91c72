"""Rows that are looked up by name, as a verifier does."""

import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from flows.construct.rows_on_disk import RowsOnDisk
from flows.construct.verification import VerifyContext
from schemas.base import Provenance
from schemas.errors import Failed
from tests.passing import with_peak
from tests.toy import NoEmbedder, Word


def word(number: int, text: str) -> Word:
    return Word(key=f"{number:016x}", text=text, upper=text.upper(), provenance=Provenance(seed=1))


def test_rows_on_disk_are_found_by_name_as_in_memory() -> None:
    words = [word(number, text) for number, text in enumerate(("one", "two", "one", "three"))]
    context = VerifyContext(None, NoEmbedder(), {"words": words}.__getitem__)
    by_text, in_memory = context.rows_by("words", lambda row: row.text), {row.text: row for row in words}
    assert dict(by_text) == in_memory
    assert list(by_text) == list(in_memory)
    assert (len(by_text), by_text["one"].key, "four" in by_text) == (3, words[2].key, False)
    assert not RowsOnDisk(())


def test_rows_with_the_same_name_are_found_in_order() -> None:
    rows = RowsOnDisk([("b", 1), ("a", 2), ("b", 3), ("é", 4), ("B", 5)])
    assert list(rows.named("b")) == [1, 3]
    assert list(rows.named("c")) == []
    assert list(rows.sorted_names()) == sorted(rows) == ["B", "a", "b", "é"]


def test_another_thread_may_look_rows_up_and_drop_them() -> None:
    with ThreadPoolExecutor(1) as pool:
        rows = pool.submit(RowsOnDisk, [("one", word(1, "one"))]).result()
        assert rows["one"].text == "one"
        rows.__del__()


def test_threads_that_look_rows_up_at_once_are_each_given_their_own() -> None:
    rows = RowsOnDisk((str(number), number) for number in range(1000))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            numbers = [number % 1000 for number in range(20_000)]
            assert list(threads.map(lambda number: rows[str(number)], numbers)) == numbers
    finally:
        sys.setswitchinterval(interval)


def test_rows_that_are_looked_up_are_not_in_memory() -> None:
    def words() -> Iterator[tuple[str, Word]]:
        return ((str(number), word(number, f"{number} {'x' * 2000}")) for number in range(1000))

    found, peak = with_peak(lambda: RowsOnDisk(words())["7"].text[:3])
    assert found == "7 x"
    assert peak < 2**19


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def connect_to_a_small_disk(*place: str, **options: bool) -> sqlite3.Connection:
        file = connect(*place, **options)
        file.execute("PRAGMA max_page_count = 10")
        return file

    monkeypatch.setattr(sqlite3, "connect", connect_to_a_small_disk)
    with pytest.raises(Failed, match=r"temporary files .* \(database or disk is full\); make room there"):
        RowsOnDisk((str(number), "x" * 1000) for number in range(100))
