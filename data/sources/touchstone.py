"""Accepted records of any part as the source of another part: of a build's file, or of the same configuration."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

from data.sources.files import parquet_rows
from data.sources.opening import is_file
from data.sources.spec import Entry, Reader, Row, SourceSpec, shortened
from schemas.source import Assignment, Passage, QASource, Statement

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_COLUMNS = (
    "key", "text", "original", "manipulated", "topic",
    "question", "answers", "evidence", "sentences", "sides", "answer_original", "answer_manipulated",
    "single_hop_question", "single_hop_answer",
    "answer", "aliases", "original_answer", "evidence_question_focused", "title",
    "task", "kind", "reference", "language", "place",
)  # fmt: skip
SINGLE_HOP = "#single-hop"
"""After the id of a row, in the id of its second question."""
_EVIDENCE = ("evidence_question_focused", "evidence", "original")
"""Fields that may hold evidence; the first that a row has counts."""
_GIVEN = {
    "translation": "text", "summary": "text", "news": "headline", "counter-argument": "post", "story": "prompt",
    "request": "request",
}  # fmt: skip
"""Kind of a seed query -> what its text is."""


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the statement of each row: its `text`, or the `original` of a pair."""
    for row in rows(spec):
        text = row.text("text" if "text" in row.values else "original")
        topic = row.values.get("topic")
        yield Entry(row.text("key"), {"text": text.strip(), "topic": topic, **_kept(row, "source")}, evidence=text)


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the question of each row with its answers and evidence, and the two sides if it was made from a conflict.

    A row with an original and a manipulated side gives the original's answer and text, and both sides. A row with a
    single-hop question gives two entries: its own question of several steps, whose answer follows from the statement
    but is hardly ever in it, and then the single-hop question, whose answer is in the statement, without sides.
    A row with one answer gives it with its aliases; those of a row whose answer was swapped belong to the answer
    before, and are left out. Question-focused evidence takes precedence. Sentences that the answer rests on are kept.
    """
    for row in rows(spec):
        id_ = row.text("key")
        kept = _kept(row, "language", "source")
        values: dict[str, object] = {"question": row.text("question"), "evidence": _evidence(row), **kept}
        if "answer_original" in row.values:
            values["answers"] = (row.text("answer_original"),)
            values["sides"] = (
                (row.text("answer_original"), row.text("original")),
                (row.text("answer_manipulated"), row.text("manipulated")),
            )
        elif "answer" in row.values and "answers" not in row.values:
            has_aliases = "aliases" in row.values and "original_answer" not in row.values
            values["answers"] = (row.text("answer"), *(row.texts("aliases") if has_aliases else ()))
            values["title"] = row.title()
            if row.values.get("sentences"):
                values["sentences"] = tuple(sentence.text("text") for sentence in row.rows("sentences"))
        else:
            values["answers"] = row.texts("answers")
            if row.values.get("sides"):
                values["sides"] = tuple(row.pairs("sides", str))
        yield Entry(id_, values, evidence=row.text("question"))
        if "single_hop_question" in row.values:
            asked = row.text("single_hop_question")
            answers = (row.text("single_hop_answer"),)
            single = {"question": asked, "answers": answers, "evidence": _evidence(row), **kept}
            yield Entry(f"{id_}{SINGLE_HOP}", single, evidence=asked)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """Yield the evidence of each row as its question has it; for a row without a question, its text or statement."""
    for row in rows(spec):
        if "text" not in row.values and not _holders(row):
            row.value("evidence")  # raises: it has none
        text = (row.text("text") if "text" in row.values else _evidence(row)) or ""
        kept = _kept(row, "language", "place", "source")
        yield Entry(row.text("key"), {"text": text, "title": row.title(), **kept}, evidence=shortened(text))


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """Yield what the query of each seed was made from, in its language, so that it makes the same query again.

    A passage gives its text to work on.
    """
    for row in rows(spec):
        if "kind" not in row.values and "title" in row.values:
            text = row.text("text")
            yield Entry(row.text("key"), {"text": text, **_kept(row, "language", "source")}, evidence=shortened(text))
            continue
        kind = row.text("kind")
        if kind not in _GIVEN:
            raise row.error(
                f'expected a seed\'s kind, of {", ".join(_GIVEN)}, found "{kind}"', "name a part that holds seeds"
            )
        text = row.text("text")
        values = {
            "task": row.optional("task") or "",
            "given": _GIVEN[kind],
            "text": text,
            "reference": row.text("reference"),
            "language": row.text("language"),
            **_kept(row, "source"),
        }
        yield Entry(row.text("key"), values, evidence=shortened(text))


def gives(fields: Container[str], shape: type) -> bool:
    """Return whether records with these fields can be read as `shape`."""
    enough: Mapping[type, Sequence[tuple[str, ...]]] = {
        Statement: [("text",), ("original",)],
        QASource: [("question", "answer"), ("question", "answers"), ("question", "answer_original")],
        Passage: [("text",), *((name,) for name in _EVIDENCE)],
        Assignment: [("kind", "text", "reference", "language"), ("title", "text")],
    }
    return any(all(name in fields for name in names) for names in enough.get(shape, ()))


def _kept(row: Row, *names: str) -> dict[str, object]:
    """Return what a record keeps of a row as it is, if the row has it: its language, its place in a document, ..."""
    return {name: row.values[name] for name in names if row.values.get(name) is not None}


def _evidence(row: Row) -> str | None:
    """Return the text that supports the answer; None if the row has none."""
    return next((row.optional(name) for name in _holders(row)), None)


def _holders(row: Row) -> list[str]:
    return [name for name in _EVIDENCE if name in row.values]


def unsharded(name: str) -> str:
    """Return the file's name without its shard number: `a-00000-of-00004.parquet` is `a.parquet`."""
    path = Path(name)
    return _SHARD.sub("", path.stem) + path.suffix


def parts(path: str) -> list[Path]:
    """Return the file itself, or its shards in order."""
    file = Path(path)
    shards = sorted(file.parent.glob(f"{file.stem}-?????-of-?????{file.suffix}"))
    return [file] if is_file(file) or not shards else shards


def rows(spec: SourceSpec) -> Iterator[Row]:
    """Yield the rows of the part, or of the file or its shards in order, with the fields that are read here.

    Of a part, a row's `source` is the first of the record's own, if it has any.
    """
    if spec.records is not None:
        for number, record in enumerate(spec.records(), 1):
            values = record.model_dump(mode="json")
            row = {name: values[name] for name in _COLUMNS if name in values}
            sources = [values["source"]] if isinstance(values.get("source"), dict) else []
            sources += (values.get("provenance") or {}).get("sources") or []
            yield Row(spec.name, f"row {number}", {**row, **({"source": sources[0]} if sources else {})})
        return
    for part in parts(spec.path):
        yield from parquet_rows(str(part), _COLUMNS)


READERS: Mapping[type, Reader] = {
    Statement: statements,
    QASource: questions,
    Passage: passages,
    Assignment: assignments,
}
"""Type of record -> its reader, of a build's file as of a part of the same configuration."""
