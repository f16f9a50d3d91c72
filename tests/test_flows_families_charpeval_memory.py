"""CHARPEval's steps and verifier look at all records without having them in memory."""

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import pytest

from flows.construct.verification import VerifyContext
from flows.families.charpeval import method, verify
from schemas.base import Provenance, SourceRef
from schemas.charpeval import SUBSETS, Authored, CharpEvalItem, UtterancePair
from tests.passing import with_peak
from tests.toy import NoEmbedder

T = TypeVar("T")
COUNT = 200
LONG = 5000
"""Letters of a sentence, beside which the numbers of a record are few; it is too long to be a fact."""
FILLING = " ".join(["1" * 99] * (LONG // 100))
WRITTEN = {kind: f"It is {kind}." for kind in ("KGIR", "KGUG", "RECF", "IECF", "COEX")}


class _Many(Generic[T]):
    """Records that are made as they are read."""

    def __init__(self, make: Callable[[int], T], count: int = COUNT) -> None:
        self._make, self._count = make, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._count))


def _pair(number: int) -> UtterancePair:
    """Of each two, one has the hard utterance of a dialogue and the other its easy one."""
    return UtterancePair(
        key=f"{number:016x}", history=("Hello.",), last_utterance="", hard_utterance="Where?" * (number % 2),
        easy_utterance="Where is Rome?" * (1 - number % 2), knowledge=f"{number // 2} {FILLING}", response="In Italy.",
        source="charp:rows", provenance=Provenance(seed=1, sources=(SourceRef(source="rows", id=str(number)),)),
    )  # fmt: skip


def _authored(number: int) -> Authored:
    return Authored(
        key=f"{number:016x}", history=("Hello.",), hard_utterance="Where?", easy_utterance="Where is Rome?",
        knowledge=f"A tower of {number} years stands in Rome. It cost {number} {FILLING}.", response="In Italy.",
        **WRITTEN,
        published=True, source="charp:rows", provenance=Provenance(seed=1),
    )  # fmt: skip


def _item(number: int) -> CharpEvalItem:
    record, subset = _authored(number % COUNT), SUBSETS[number // COUNT]
    texts = (record.response, *record.distractors.values())
    return CharpEvalItem(
        key=f"{COUNT + number:016x}", subset=subset, history=record.history,
        last_utterance=record.easy_utterance if number // COUNT else record.hard_utterance, knowledge=record.knowledge,
        response=record.response, distractors=record.distractors, options=texts, gold_index=0,
        dialogue_id=record.key, provenance=Provenance(seed=1),
    )  # fmt: skip


def test_dialogues_that_wait_for_their_other_utterance_are_not_in_memory() -> None:
    drops: list[str] = []
    ctx: Any = SimpleNamespace(drop=lambda record, drop: drops.append(drop.related_id))

    async def join() -> list[str]:
        return [pair.id async for pair in method.join_subsets(_Many(_pair), ctx)]

    joined, peak = with_peak(lambda: asyncio.run(join()))
    assert len(joined) == len(drops) / 3 == COUNT / 2
    assert peak < COUNT * LONG / 2


@pytest.mark.slow
def test_the_knowledge_of_other_dialogues_is_not_in_memory() -> None:
    def step(count: int) -> Any:
        records = _Many(lambda number: _authored(number).model_copy(update={"published": False}), count)
        return SimpleNamespace(inputs=records)

    in_rome = _authored(0).model_copy(update={"knowledge": "Rome is a city.", "response": "Rome is in Italy."})
    assert len(method.collect_facts(step(1)).about(in_rome)) == 1  # reads the tables of words
    facts, peak = with_peak(lambda: method.collect_facts(step(COUNT)))
    assert [text.split()[3] for text in facts.about(in_rome)[:3]] == ["0", "1", "10"]
    assert peak < COUNT * LONG / 2


def test_items_are_proved_without_being_in_memory() -> None:
    ctx = VerifyContext(None, NoEmbedder(), lambda part: _Many(_authored))
    faults, peak = with_peak(lambda: list(verify.verify_items(_Many(_item, 2 * COUNT), ctx)))
    assert faults == []
    assert peak < COUNT * LONG / 2
