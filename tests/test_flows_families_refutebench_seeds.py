"""Choosing RefuteBench's seeds of many."""

import asyncio
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from flows.families.refutebench.method import choose_seeds
from schemas.base import Provenance
from schemas.refutebench import Seed

LONG = "A sentence that is not read by the embedder. " * 60


class _Many:
    """Seeds that are made as they are read."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Seed]:
        for number in range(self._count):
            text = f"{number // 2} {LONG}"  # of each two, one has the text of the other
            yield Seed(
                key=f"{number:016x}", task="writing", kind="request", query=f"{number}: {text}", text=text,
                language="en", source="jsonl:requests", provenance=Provenance(seed=1),
            )  # fmt: skip


def _chosen(count: int, wanted: int) -> tuple[list[Seed], Counter[str]]:
    embedder = SimpleNamespace(reads=lambda text: False, embed=lambda texts: np.zeros((len(texts), 4), np.float32))
    drops: Counter[str] = Counter()
    ctx: Any = SimpleNamespace(
        settings=SimpleNamespace(seeds_per_task=wanted),
        step=SimpleNamespace(seed=1, arrival=lambda record: 0, embedder=embedder),
        drop=lambda record, refusal: drops.update([refusal.reason]),
        note=lambda note: None,
    )

    async def collect() -> list[Seed]:
        return [seed async for seed in choose_seeds(_Many(count), ctx)]

    return asyncio.run(collect()), drops


def test_seeds_that_are_not_chosen_are_not_in_memory() -> None:
    tracemalloc.start()
    try:
        chosen, drops = _chosen(1000, wanted=20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(chosen) == len({seed.text for seed in chosen}) == 20
    assert drops == {"duplicate text": 500, "more than are wanted": 480}
    assert peak < 1000 * len(LONG) / 4
