"""LV-Eval keeps little of its documents in memory."""

import random
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from flows.families.lveval.assembly import DatasetAssemblies
from flows.families.lveval.distractor_index import DistractorIndex
from schemas.base import SourceRef
from schemas.lveval import PoolDocument
from tests.passing import with_peak

COUNT, LONG = 500, 4000


def _documents(count: int) -> Iterator[PoolDocument]:
    """Yield documents that differ, of about `LONG` letters."""
    for number in range(count):
        text = random.Random(number).randbytes(LONG // 2).hex()
        source = SourceRef(source="pool", id=str(number))
        yield PoolDocument(
            key=f"{number:016x}", dataset="hotpotwikiqa-mixup", text=text, language="en", source=source
        )  # fmt: skip


def test_documents_wait_on_disk_for_the_assembly_of_their_dataset() -> None:
    step: Any = SimpleNamespace(
        used=lambda part, kind: _documents(COUNT) if part == "documents" else (),
        settings=None, seed=1, arrival=lambda record: 0, uses={}, reviewed=lambda part: frozenset(),
    )  # fmt: skip
    assemblies, peak = with_peak(lambda: DatasetAssemblies.gather(step, [], [], []))
    assert sum(1 for _ in assemblies.documents.named("hotpotwikiqa-mixup")) == COUNT
    assert peak < COUNT * LONG / 4


def test_fingerprints_of_other_texts_are_not_kept() -> None:
    text = next(_documents(1)).text.encode()
    assert DistractorIndex(_documents(20), "en").near_duplicates([text])[0].tolist() == [0]  # makes the powers
    index = DistractorIndex(_documents(COUNT), "en")
    tracemalloc.start()
    try:
        duplicates = index.near_duplicates([text])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert duplicates[0].tolist() == [0]
    assert peak < 3 * COUNT * LONG
