"""Accepted records of ours, whatever part they come from, as the source of another part."""

import re
from collections.abc import Iterator
from pathlib import Path

from data.sources.parquet import parquet_rows
from data.sources.spec import Entry, Row, SourceSpec

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_COLUMNS = (
    "key", "text", "original", "manipulated", "topic",
    "question", "answers", "evidence", "sides", "answer_original", "answer_manipulated",
    "answer", "aliases", "original_answer", "evidence_question_focused", "title",
)  # fmt: skip


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """The statement of a row: its `text`, or the `original` of a pair."""
    for row in _rows(spec):
        text = row.text("text" if "text" in row.values else "original")
        topic = row.values.get("topic")
        yield Entry(row.text("key"), {"text": text.strip(), "topic": topic}, evidence=text)


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """The question of a row, with its answers and evidence, or with the two sides it was made from.

    A case of ReEval gives its answer, with the other wordings of it; those of a swapped case are of the
    answer that it had before, and are left out. The evidence of an enriched case is the question-focused one.
    """
    for row in _rows(spec):
        values: dict[str, object] = {"question": row.text("question")}
        if "answer_original" in row.values:
            original = row.text("answer_original"), row.text("original")
            values["answers"] = (original[0],)
            values["sides"] = (original, (row.text("answer_manipulated"), row.text("manipulated")))
        elif "answer" in row.values and "answers" not in row.values:
            own = "aliases" in row.values and "original_answer" not in row.values
            values["answers"] = (row.text("answer"), *(row.texts("aliases") if own else ()))
            enriched = "evidence_question_focused" in row.values
            values["evidence"] = row.text("evidence_question_focused" if enriched else "evidence")
            values["title"] = row.title()
        else:
            values["answers"] = row.texts("answers")
            values["evidence"] = row.values.get("evidence")
            if row.values.get("sides"):
                values["sides"] = tuple(row.pairs("sides", str))
        yield Entry(row.text("key"), values, evidence=row.text("question"))


def unsharded(name: str) -> str:
    """The file's name without its shard number: `uraq-items-00000-of-00004.parquet` is `uraq-items.parquet`."""
    path = Path(name)
    return _SHARD.sub("", path.stem) + path.suffix


def parts(path: str) -> list[Path]:
    """The file itself, or its shards in order where it is there in shards."""
    file = Path(path)
    shards = sorted(file.parent.glob(f"{file.stem}-?????-of-?????{file.suffix}"))
    return [file] if file.is_file() or not shards else shards


def _rows(spec: SourceSpec) -> Iterator[Row]:
    for part in parts(spec.path):
        yield from parquet_rows(str(part), _COLUMNS)
