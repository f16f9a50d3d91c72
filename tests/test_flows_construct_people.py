"""The tasks of the people that a part needs."""

from collections.abc import Iterator

from flows.construct.people import every
from schemas.base import Provenance
from tests.toy import WORDS, Word


class _Endless:
    """A part with more records than memory."""

    def __len__(self) -> int:
        return 10**9

    def __iter__(self) -> Iterator[Word]:
        number = 0
        while True:
            text = f"word{number}"
            yield Word(key=f"{number:016x}", text=text, upper=text.upper(), provenance=Provenance(seed=1))
            number += 1


def test_tasks_on_every_record_are_made_one_at_a_time() -> None:
    tasks = iter(every(WORDS).tasks(_Endless(), 7))
    assert [next(tasks).shown["text"] for _ in range(3)] == ["word0", "word1", "word2"]
    chosen = iter(every(WORDS, needed=lambda word: word.text.endswith("7")).tasks(_Endless(), 7))
    assert [next(chosen).shown["text"] for _ in range(2)] == ["word7", "word17"]
