"""Keys of rows as numbers: where each row is, which keys are there twice, and which rows another version lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.publish.row_keys import RowKeys, numbers_of

KEYS = st.lists(st.sampled_from([str(number) for number in range(30)]))


def keys_of(*batches: list[str]) -> RowKeys:
    return RowKeys(map(numbers_of, batches))


@given(KEYS, KEYS)
def test_they_tell_what_dictionaries_tell(before: list[str], now: list[str]) -> None:
    half = len(before) // 2
    old, new = keys_of(before[:half], before[half:]), keys_of(now)
    assert old.repeated().tolist() == [n for n, key in enumerate(before) if key in before[:n]]
    assert old.missing_in(new).tolist() == [n for n, key in enumerate(before) if key not in now]
    first = {key: before.index(key) for key in before}
    assert old.places(numbers_of(now)).tolist() == [first.get(key, -1) for key in now]


@pytest.mark.parametrize("key", ["", "0a1b2c3d4e5f6071", "von außen"])
def test_any_text_is_a_key(key: str) -> None:
    assert keys_of(["a", key]).places(numbers_of([key])).tolist() == [1]
