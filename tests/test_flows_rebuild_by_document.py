"""A benchmark follows its documents: what did not change stays, and the preview says which documents did."""

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from flows.rebuild.by_document import DocumentChange, changed_documents
from schemas.base import SourceRef
from schemas.source import Passage, Place
from tests.builds import ROOT, touchstone, write_config

LAB, LIBRARY, LEAFLET = "laboratory.md", "library-rules.md", "branch-leaflet.md"


def passage(document: str | None, key: str, text: str) -> Passage:
    place = Place(document=document, start=0, end=len(text), checksum="0") if document else None
    return Passage(key=key, text=text, source=SourceRef(source="docs", id=key), place=place)


def test_documents_are_compared_by_their_passages() -> None:
    before = [
        passage("a", "a1", "one"),
        passage("a", "a2", "two"),
        passage("b", "b1", "three"),
        passage(None, "c", "x"),
    ]
    now = [passage("a", "a1", "one"), passage("a", "a2", "2"), passage("a", "a3", "3"), passage("d", "d1", "four")]
    told = list(changed_documents(before, now))
    assert told == [
        DocumentChange("a", Counter(changed=1, added=1), is_new=False, is_gone=False),
        DocumentChange("b", Counter(removed=1), is_new=False, is_gone=True),
        DocumentChange("d", Counter(added=1), is_new=True, is_gone=False),
    ]
    assert [str(change) for change in told] == [
        "a: passages: 1 added, 1 changed", "b is gone: passages: 1 removed", "d is new: passages: 1 added",
    ]  # fmt: skip
    assert list(changed_documents(now, now)) == []


def rows(out: Path, part: str) -> dict[str, list[Mapping[str, Any]]]:
    """The rows of a part, by document."""
    by_document: dict[str, list[Mapping[str, Any]]] = {}
    for row in pq.read_table(out / "accepted" / f"documents-{part}.parquet").to_pylist():
        by_document.setdefault(row["places"][0]["document"], []).append(row)
    return by_document


@pytest.mark.slow
def test_only_what_stands_on_a_changed_document_is_made_anew(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in (LAB, LIBRARY, "pump-manual.md"):
        shutil.copy(ROOT / "data" / "samples" / "documents" / name, docs)
    write_config(
        tmp_path,
        embeds=True,
        families={"documents": {"sources": [{"format": "documents", "path": "docs"}], "pairs": 40}},
    )
    built = touchstone("run", "config.yaml", folder=tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    before = rows(tmp_path / "out", "pairs")
    assert set(before) == {LAB, LIBRARY, "pump-manual.md"}

    text = (docs / LIBRARY).read_text(encoding="utf-8")
    assert "Up to 40 items can be out" in text
    (docs / LIBRARY).write_text(text.replace("Up to 40 items", "Up to 30 items"), encoding="utf-8")
    (docs / "pump-manual.md").unlink()
    shutil.copy(ROOT / "data" / "samples" / "documents" / LEAFLET, docs)
    told = touchstone("rebuild", "config.yaml", "--preview", folder=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    lines = [line for line in told.stdout.splitlines() if line.startswith("document ")]
    assert [line.split(": passages: ")[0] for line in lines] == [
        f"document {LEAFLET} is new", f"document {LIBRARY}", "document pump-manual.md is gone",
    ]  # fmt: skip
    assert lines[1] == f"document {LIBRARY}: passages: 1 changed"

    again = touchstone("run", "config.yaml", folder=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    now = rows(tmp_path / "out", "pairs")
    assert now[LAB] == before[LAB], "byte for byte: ids, keys and provenance"
    assert "pump-manual.md" not in now
    asked = {row["question"]: row for row in now[LIBRARY]}
    assert (
        asked["At the Lindenau Public Library, how many items can be out on one card at a time?"]["answer"]
        == "Up to 30"
    )
    same = [row for row in before[LIBRARY] if row["answer"] != "Up to 40"]
    assert same
    for row in same:
        assert asked[row["question"]]["id"] == row["id"]
        assert asked[row["question"]]["key"] == row["key"]
