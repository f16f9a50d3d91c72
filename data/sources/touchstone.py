"""Accepted records of ours, whatever part they come from, as the source of another part."""

import re
from collections.abc import Iterator
from pathlib import Path

from data.sources.parquet import parquet_rows
from data.sources.spec import Entry, Row, SourceSpec, shortened

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_COLUMNS = (
    "key", "text", "original", "manipulated", "topic",
    "question", "answers", "evidence", "sides", "answer_original", "answer_manipulated",
    "single_hop_question", "single_hop_answer",
    "answer", "aliases", "original_answer", "evidence_question_focused", "title",
    "task", "kind", "reference", "language",
)  # fmt: skip
_EVIDENCE = ("evidence_question_focused", "evidence", "original")
"""The fields that hold evidence; of those that a row has the first counts."""
_GIVEN = {
    "translation": "text", "summary": "text", "news": "headline", "counter-argument": "post", "story": "prompt",
    "request": "request",
}  # fmt: skip
"""What the text of a seed of RefuteBench is, by its kind."""


def statements(spec: SourceSpec) -> Iterator[Entry]:
    """The statement of a row: its `text`, or the `original` of a pair."""
    for row in rows(spec):
        text = row.text("text" if "text" in row.values else "original")
        topic = row.values.get("topic")
        yield Entry(row.text("key"), {"text": text.strip(), "topic": topic}, evidence=text)


def questions(spec: SourceSpec) -> Iterator[Entry]:
    """The question of a row, with its answers and evidence, and the two sides it was made from where it has them.

    A pair of URAQ gives its question with the answer and the text of the original; both sides are told. An
    item gives two: its own question of several steps, whose answer follows from the statement but hardly ever
    stands in it, and after it the single-hop question, whose answer the statement gives, without sides.
    A case of ReEval gives its answer, with the other wordings of it; those of a swapped case are of the
    answer that it had before, and are left out. The evidence of an enriched case is the question-focused one.
    """
    for row in rows(spec):
        id_ = row.text("key")
        values: dict[str, object] = {"question": row.text("question"), "evidence": _evidence(row)}
        if "answer_original" in row.values:
            values["answers"] = (row.text("answer_original"),)
            values["sides"] = (
                (row.text("answer_original"), row.text("original")),
                (row.text("answer_manipulated"), row.text("manipulated")),
            )
        elif "answer" in row.values and "answers" not in row.values:
            own = "aliases" in row.values and "original_answer" not in row.values
            values["answers"] = (row.text("answer"), *(row.texts("aliases") if own else ()))
            values["title"] = row.title()
        else:
            values["answers"] = row.texts("answers")
            if row.values.get("sides"):
                values["sides"] = tuple(row.pairs("sides", str))
        yield Entry(id_, values, evidence=row.text("question"))
        if "single_hop_question" in row.values:
            asked = row.text("single_hop_question")
            single = {"question": asked, "answers": (row.text("single_hop_answer"),), "evidence": _evidence(row)}
            yield Entry(f"{id_}#single-hop", single, evidence=asked)


def passages(spec: SourceSpec) -> Iterator[Entry]:
    """The evidence of a row as its questions have it; of a row without a question its text or its statement."""
    for row in rows(spec):
        if "text" not in row.values and not _holders(row):
            row.value("evidence")  # there is none: says so
        text = (row.text("text") if "text" in row.values else _evidence(row)) or ""
        yield Entry(row.text("key"), {"text": text, "title": row.title()}, evidence=shortened(text))


def assignments(spec: SourceSpec) -> Iterator[Entry]:
    """What the query of a seed of RefuteBench was made of, in the seed's language, so that it makes the same again."""
    for row in rows(spec):
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
        }
        yield Entry(row.text("key"), values, evidence=shortened(text))


def _evidence(row: Row) -> str | None:
    """What the answer rests on; None where the row tells none."""
    return next((row.optional(name) for name in _holders(row)), None)


def _holders(row: Row) -> list[str]:
    return [name for name in _EVIDENCE if name in row.values]


def unsharded(name: str) -> str:
    """The file's name without its shard number: `uraq-items-00000-of-00004.parquet` is `uraq-items.parquet`."""
    path = Path(name)
    return _SHARD.sub("", path.stem) + path.suffix


def parts(path: str) -> list[Path]:
    """The file itself, or its shards in order where it is there in shards."""
    file = Path(path)
    shards = sorted(file.parent.glob(f"{file.stem}-?????-of-?????{file.suffix}"))
    return [file] if file.is_file() or not shards else shards


def rows(spec: SourceSpec) -> Iterator[Row]:
    """The rows of the file, or of its shards in order; of their fields those that are read here."""
    for part in parts(spec.path):
        yield from parquet_rows(str(part), _COLUMNS)
