"""Private documents, pages and questions beside public ones in whole builds: what is public shows nothing of them."""

import json
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from data.publish.folder import read_release
from schemas.base import texts_in
from tests.builds import touchstone, write_config

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
PRIVATE = ("closed-questions.jsonl", "closed-pages.jsonl", "manuals/*.md")
LEAST_WORDS = 5


def rows_in(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / name).read_text(encoding="utf-8").splitlines()]


def cut_in_two(folder: Path, name: str, closed: set[str]) -> None:
    """Write the rows of a packaged file that are about these pages to one file, and all others to another."""
    for place, wanted in (("closed", True), ("open", False)):
        rows = [row for row in rows_in(name) if (row["title"] in closed) == wanted]
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        (folder / f"{place}-{name}").write_text(text, encoding="utf-8")


def prepared(folder: Path) -> Path:
    """The configuration of four families over public and private sources."""
    folder.mkdir()
    titles = sorted({row["title"] for row in rows_in("pages.jsonl")})
    for name in ("pages.jsonl", "questions.jsonl"):
        cut_in_two(folder, name, set(titles[::3]))
    shutil.copy(SAMPLES / "related.jsonl", folder)
    for place, names in (("manuals", ("pump-manual", "laboratory")), ("leaflets", ("branch-leaflet", "library-rules"))):
        (folder / place).mkdir()
        for name in names:
            shutil.copy(SAMPLES / "documents" / f"{name}.md", folder / place)

    def source(path: str, **more: Any) -> dict[str, Any]:
        form = "documents" if path.endswith(".md") else "jsonl"
        return {"format": form, "path": path, **({"private": True} if path in PRIVATE else {}), **more}

    questions = [source("open-questions.jsonl"), source("closed-questions.jsonl")]
    pages = [source("open-pages.jsonl"), source("closed-pages.jsonl")]
    mixed = {"pairs": 12, "sources": questions, "distractors": [pages[0], source("manuals/*.md")]}
    own = {"task": "single-hop-qa", "pairs": 6, "sources": [{"part": "documents-pairs"}], "distractors": pages}
    return write_config(
        folder,
        families={
            "documents": {"pairs": 12, "sources": [source("leaflets/*.md"), source("manuals/*.md")]},
            "reeval": {
                "seeds": "all", "entailment": "off", "sources": [*questions, {"part": "documents-pairs"}],
                "passages": [*pages, source("related.jsonl")],
            },
            "lveval": {"levels": ["1k"], "datasets": {"multifieldqa-en-mixup": mixed, "mine": own}},
            "uraq": {
                "statements": 12, "context_counts": [1, 4], "statements_from": {"part": "documents-statements"},
                "qa_sources": [*questions, {"part": "documents-pairs"}],
            },
        },
        release={"licence": "CC0-1.0"},
    )  # fmt: skip


def words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", unicodedata.normalize("NFKC", text).lower()))


def sources_of(folder: Path, *patterns: str) -> Iterator[str]:
    for path in (path for pattern in patterns for path in folder.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        yield from (
            [text]
            if path.suffix == ".md"
            else (one for line in text.splitlines() for one in texts_in(json.loads(line)))
        )


def sentences(texts: Iterable[str]) -> set[str]:
    pieces = (words(piece) for text in texts for piece in re.split(r"[.!?。！？；\n]+", text))
    return {piece for piece in pieces if len(piece.split()) >= LEAST_WORDS}


def shown(folder: Path, sought: set[str]) -> dict[str, str]:
    """Of everything in a folder, also inside tables: the files that show one of these, each with the first."""
    found = {}
    for path in (path for path in sorted(folder.rglob("*")) if path.is_file()):
        rows = pq.read_table(path).to_pylist() if path.suffix == ".parquet" else [path.read_text(encoding="utf-8")]
        text = " | ".join(words(one) for row in rows for one in texts_in(row))
        if (piece := next((piece for piece in sorted(sought) if f" {piece} " in f" {text} "), None)) is not None:
            found[path.relative_to(folder).as_posix()] = piece
    return found


def test_nothing_private_is_public_and_both_sides_are_proved(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    config = prepared(folder)
    public = words(" | ".join(sources_of(folder, "open-*.jsonl", "related.jsonl", "leaflets/*.md")))
    private = {piece for piece in sentences(sources_of(folder, *PRIVATE)) if piece not in public}
    assert len(private) > 150

    run = touchstone("run", config, "--out", "out", folder=folder)
    assert run.returncode == 0, run.stderr
    assert sentences([run.stderr]).isdisjoint(private)
    done = touchstone("release", "--out", "out", "--allow-unreviewed", folder=folder)
    assert done.returncode == 0, done.stderr
    made = read_release(folder / "out" / "releases" / "1.0.0")

    beside = made.folder.parent / "private" / "1.0.0"
    assert shown(made.folder, private) == {}
    assert len(shown(beside, private)) > 5
    for path in (path for path in made.folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert not any(name.partition("/")[0].encode() in content for name in PRIVATE), path

    counts = {
        config.name: (config.rows, config.of_private_sources, config.held_out) for config in made.manifest.configs
    }
    for name in ("documents-pairs", "reeval-category1", "reeval-category2", "uraq-evaluation"):
        rows, of_private, held_out = counts[name]
        assert min(rows, of_private) > 0, counts
        assert of_private == held_out
    assert counts["lveval-multifieldqa_en_mixup_1k"][1] > 0
    of_all = sum(of_private for _, of_private, _ in counts.values())
    assert f"not published, but beside the private rows: {of_all} rows of private sources" in done.stdout
    for place in (made.folder, beside):
        proof = touchstone("verify", "release", place, folder=folder)
        assert proof.returncode == 0, proof.stdout + proof.stderr
        assert "cannot be proved" not in proof.stdout


def test_what_is_said_in_all_dialogues_makes_none_of_them_private(tmp_path: Path) -> None:
    for name in ("articles.jsonl", "posts.jsonl"):
        shutil.copy(SAMPLES / name, tmp_path)
    articles = (tmp_path / "articles.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "closed.jsonl").write_text("".join(articles[6:]), encoding="utf-8")
    (tmp_path / "articles.jsonl").write_text("".join(articles[:6]), encoding="utf-8")
    texts = [
        {"format": "jsonl", "path": "articles.jsonl"},
        {"format": "jsonl", "path": "closed.jsonl", "private": True},
    ]
    posts = [{"format": "jsonl", "path": "posts.jsonl", "fields": {"post": "post"}}]
    sources = {"summarisation": texts, "writing": posts}
    config = write_config(
        tmp_path,
        models={"default": {"provider": "rules"}, "attentive": {"provider": "rules"}},
        families={"refutebench": {"evaluated": ["attentive"], "seeds_per_task": 4, "style": [], "sources": sources}},
        release={"licence": "CC0-1.0"},
    )
    assert touchstone("run", config, "--out", "out", folder=tmp_path).returncode == 0
    done = touchstone("release", "--out", "out", "--allow-unreviewed", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for place, private in (("1.0.0", False), ("private/1.0.0", True)):
        for name in ("seeds", "dialogues", "ratings"):
            path = tmp_path / "out" / "releases" / place / "data" / f"refutebench-{name}" / "test.parquet"
            rows = pq.read_table(path, columns=["provenance"]).to_pylist()
            assert rows
            named = [{source["source"] for source in row["provenance"]["sources"]} for row in rows]
            assert {"closed.jsonl" in names for names in named} == {private}, (place, name)
