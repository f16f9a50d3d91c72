"""Which documents changed since a build, by the passages that sources gave of them then and give now."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemas.source import Passage

CHANGES = ("added", "changed", "removed")


@dataclass(frozen=True)
class DocumentChange:
    """A document whose passages differ: how many were added, changed and removed."""

    document: str
    counts: Counter[str]
    is_new: bool
    is_gone: bool

    def __str__(self) -> str:
        counts = ", ".join(f"{self.counts[change]:,} {change}" for change in CHANGES if self.counts[change])
        return f"{self.document}{' is new' if self.is_new else ' is gone' if self.is_gone else ''}: passages: {counts}"


def changed_documents(before: Iterable[Passage], now: Iterable[Passage]) -> Iterator[DocumentChange]:
    """Yield the documents whose passages differ, by name. In memory are two hashes for each passage."""
    old, new = _by_document(before), _by_document(now)
    for document in sorted(old.keys() | new.keys()):
        was, is_now = old.get(document, {}), new.get(document, {})
        counts = Counter(
            "added" if key not in was else "removed" if key not in is_now else "changed"
            for key in was.keys() | is_now.keys()
            if was.get(key) != is_now.get(key)
        )
        if counts:
            yield DocumentChange(document, counts, is_new=not was, is_gone=not is_now)


def _by_document(passages: Iterable[Passage]) -> dict[str, dict[str, str]]:
    """By document, the id of each passage by its key; a passage of no document is left out."""
    ids: dict[str, dict[str, str]] = defaultdict(dict)
    for passage in passages:
        if passage.place is not None:
            ids[passage.place.document][passage.key] = passage.id
    return ids
