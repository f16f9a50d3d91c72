"""Rows and lines of a scorer in temporary files."""

import random
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.scoring.on_disk import Lines, Rows, Spooled, TemporaryTable
from flows.scoring.scorer import MOST_TERMS, Means, exact_terms
from flows.scoring.values import Value, Values


def test_of_two_rows_with_one_id_the_last_counts_in_the_place_of_the_first() -> None:
    rows = Rows([("b", {"n": 1}), ("a", {"n": 2})])
    assert not rows.add("b", {"n": 3, "texts": ["é", None]})
    assert rows.add("c", 4)
    assert list(rows) == [("b", {"n": 3, "texts": ["é", None]}), ("a", {"n": 2}), ("c", 4)]
    assert (len(rows), rows.find("a"), rows.get("a"), rows.find("d")) == (3, (1, {"n": 2}), {"n": 2}, (-1, None))


def test_half_a_character_is_stored_as_any_other() -> None:
    rows = Rows([("\ud800", 1), ("é", 2)])
    assert (rows.get("\ud800"), rows.get("\udfff"), list(rows)) == (1, None, [("\ud800", 1), ("é", 2)])
    lines = Lines(2, [("\ud83d", 1), ("é", 2), ("\ud83d", 3)])
    assert list(lines) == [("\ud83d", 1), ("é", 2), ("\ud83d", 3)]
    assert {key: list(rest) for key, rest in lines.groups(1)} == {("é",): [(2,)], ("\ud83d",): [(1,), (3,)]}
    value = Value("m", "right", "first", "item \ud800", "source \ud800", 1.0, "row \ud800")
    assert list(Values([value])) == [value]


def test_an_id_that_is_no_text_is_another_than_its_text() -> None:
    rows = Rows([(5, "number"), ("5", "text")])  # type: ignore[list-item]
    assert (len(rows), rows.get("5")) == (2, "text")


def test_what_is_spooled_comes_back_in_order_and_more_than_once() -> None:
    spooled = Spooled([{"id": "b"}, {"id": "a"}])
    spooled.append({"id": "é"})
    assert [row["id"] for row in spooled] == [row["id"] for row in spooled] == ["b", "a", "é"]
    assert len(spooled) == 3


def test_lines_are_grouped_by_their_first_columns_and_stay_in_order() -> None:
    lines = Lines(4, [("b", 1, 0.5, None), ("a", 2, 1.0, "x")])
    lines.add([("b", 1, 0.25, "y"), ("a", 1, 0.0, "z")])
    assert [line[0] for line in lines] == ["b", "a", "b", "a"]
    assert [(key, list(rest)) for key, rest in lines.groups(2)] == [
        (("a", 1), [(0.0, "z")]),
        (("a", 2), [(1.0, "x")]),
        (("b", 1), [(0.5, None), (0.25, "y")]),
    ]


def test_without_room_it_is_told_what_to_do() -> None:
    table = TemporaryTable("text")

    def lines() -> Iterator[tuple[str]]:
        raise sqlite3.OperationalError("database or disk is full")
        yield ("",)

    with pytest.raises(OSError, match=r"/var/tmp\) cannot hold .*\(database or disk is full\); make room there"):
        table.insert("INSERT INTO lines VALUES (?)", lines())
    with pytest.raises(OSError, match="make room there"):
        list(table.select("SELECT nothing FROM lines"))


@given(st.lists(st.floats(-1e15, 1e15)))
def test_a_few_terms_have_exactly_the_sum_of_many(values: list[float]) -> None:
    terms = exact_terms(values)
    assert sum(map(Fraction, terms)) == sum(map(Fraction, values))
    assert len(terms) < 30


def test_means_are_those_of_all_values_whatever_their_number() -> None:
    drawn, means = random.Random(1), Means()
    values = [drawn.random() * 10 ** drawn.randrange(-9, 9) for _ in range(20 * MOST_TERMS)]
    for value in values:
        means.add(("m", "b", 10), value)
        means.add(("m", "a", 9), None)
    assert means.cells() == [("m / a", 9, None, 0), ("m / b", 10, fsum(values) / len(values), len(values))]
