from hypothesis import given
from hypothesis import strategies as st

from data.publish.rows import is_held_out
from schemas.base import content_hash

KEYS = [content_hash(number) for number in range(4000)]
HELD = [
    "1ae3592f8248c3f8", "16390873ae6b6a17", "95bce61a71a78185", "b8d52dc8aa20e6a0", "5c43cd9d0adb3c01",
    "691f362eb1491582", "501376e57c8da536",
]  # fmt: skip
"""Of the first forty keys, with seed 7."""


def test_about_the_share_is_held_out() -> None:
    # 4,000 draws at 0.1: mean 400, standard deviation 19; five of them are 95
    assert abs(sum(is_held_out(7, key, 0.1) for key in KEYS) - 400) < 95


def test_none_and_all() -> None:
    assert not any(is_held_out(7, key, 0.0) for key in KEYS)
    assert all(is_held_out(7, key, 1.0) for key in KEYS)


def test_another_seed_holds_out_others() -> None:
    first, second = ({key for key in KEYS if is_held_out(seed, key, 0.1)} for seed in (1, 2))
    assert first != second


@given(st.integers(0, 2**53), st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_keeps_what_a_smaller_one_did(seed: int, key: str, one: float, other: float) -> None:
    if is_held_out(seed, key, min(one, other)):
        assert is_held_out(seed, key, max(one, other))


def test_a_known_row_stays_on_its_side() -> None:
    # written down once: a change of the draw would move rows between the public and the private side
    assert [key for key in KEYS[:40] if is_held_out(7, key, 0.1)] == HELD
