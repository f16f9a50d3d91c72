"""Small real files of every format that sources have, each with a configuration that reads it."""

import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests import documents
from tests.builds import ROOT
from tests.rebuilds import FACTS

SAMPLES = ROOT / "data" / "samples"
Families = Mapping[str, Any]


@dataclass(frozen=True)
class Sample:
    """A file, and the families that read it."""

    kind: str
    name: str
    content: bytes
    families: Families


def statements(source: Mapping[str, Any]) -> Families:
    """A family that reads statements."""
    return {"uraq": {"statements_from": source, "context_counts": [1, 3]}}


def questions(source: Mapping[str, Any]) -> Families:
    """A family that reads questions."""
    return {"reeval": {"seeds": "all", "entailment": "off", "parts": ["category1"], "sources": [source]}}


def passages(source: Mapping[str, Any]) -> Families:
    """A family that reads passages."""
    return {"documents": {"pairs": 3, "sources": [source]}}


def dialogues(source: Mapping[str, Any]) -> Families:
    """A family that reads dialogues."""
    return {"charpeval": {"sources": [source]}}


def requests(source: Mapping[str, Any]) -> Families:
    """A family that reads what a user gives a model to work on."""
    model = {"evaluated": ["default"], "style": []}
    return {"refutebench": {**model, "parts": ["seeds"], "seeds_per_task": 2, "sources": {"writing": [source]}}}


def lines(rows: Sequence[object]) -> bytes:
    """JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def packaged(name: str, count: int = 4) -> bytes:
    """The first lines of a packaged file."""
    return b"".join((SAMPLES / name).read_bytes().splitlines(keepends=True)[:count])


def table(columns: Mapping[str, Any]) -> bytes:
    """A Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), file)
    return file.getvalue()


def timeless(content: bytes) -> bytes:
    """The same ZIP file, without the time at which its parts were written."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(file, "w") as other:
        for name in archive.namelist():
            other.writestr(zipfile.ZipInfo(name), archive.read(name), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def samples() -> Sequence[Sample]:
    """All samples."""
    facts = lines([{"id": text[:20], "text": text} for text in FACTS[:5]])
    asked = packaged("questions.jsonl")
    rows = [json.loads(line) for line in asked.splitlines()]
    cells = "question,answers,evidence,id\n" + "".join(
        ",".join('"' + text.replace('"', '""') + '"' for text in (row["question"], row["answers"][0], row["evidence"],
                                                                  row["id"])) + "\n" for row in rows
    )  # fmt: skip
    text = "\n\n".join(f"{documents.sentences(9, place)}" for place in ("The office in Leeds", "The mill at York"))
    markdown = (SAMPLES / "documents" / "pump-manual.md").read_bytes()
    page = f"<html><head><title>Rules</title></head><body><h1>Rules</h1><p>{text}</p><ul><li>One.</li></ul></body>"
    printed = documents.pdf([documents.paragraph(70, 700, text.split(". "))] * 2, title="Rules")
    return [
        *(Sample("JSON", f"{name}.json", json.dumps(value).encode(), families({"format": format_,
        "path": f"{name}.json"}))
          for name, format_, value, families in _in_json()),
        *(Sample("JSONL", f"{format_}.jsonl", lines(value), families({"format": format_, "path": f"{format_}.jsonl"}))
          for format_, value, families in _in_json_lines()),
        Sample("JSONL", "facts.jsonl", facts, statements(_of("jsonl", "facts.jsonl"))),
        Sample("JSONL", "questions.jsonl", asked, questions(_of("jsonl", "questions.jsonl"))),
        Sample("JSONL", "pages.jsonl", packaged("pages.jsonl"), passages(_of("jsonl", "pages.jsonl"))),
        Sample("JSONL", "talk.jsonl", packaged("dialogues.jsonl"), dialogues(_of("jsonl", "talk.jsonl"))),
        Sample("JSONL", "asked.jsonl", packaged("requests.jsonl"), requests(_of("jsonl", "asked.jsonl"))),
        Sample("CSV", "facts.csv", b"text,id\nSnow is white.,s1\n\"Ice, they say, is cold.\",s2\n",
               statements(_of("csv", "facts.csv"))),
        Sample("CSV", "questions.csv", cells.encode(), questions(_of("csv", "questions.csv"))),
        Sample("CSV", "texts.csv", b"title,text\nA,\"" + text.encode() + b"\"\n", passages(_of("documents",
        "texts.csv"))),
        Sample("Parquet", "questions.parquet", table({name: [row[name] for row in rows]
               for name in ("id", "question", "answers", "evidence")}), questions(_of("parquet", "questions.parquet"))),
        Sample("Parquet", "facts.parquet", table({"text": FACTS[:5], "id": [1, 2, 3, 4, 5]}),
               statements(_of("parquet", "facts.parquet"))),
        Sample("Parquet", "uraq-statements.parquet", table({"key": ["k1", "k2"], "id": ["a", "b"], "text": FACTS[:2],
               "topic": [None, "Troy"]}), statements(_of("touchstone", "uraq-statements.parquet"))),
        Sample("PDF", "rules.pdf", printed, passages(_of("documents", "rules.pdf"))),
        Sample("HTML", "rules.html", page.encode(), passages(_of("documents", "rules.html"))),
        Sample("Markdown", "manual.md", markdown, passages(_of("documents", "manual.md"))),
        Sample("Word", "rules.docx", timeless(documents.docx([("Rules", [text])], "Rules", [["a", "b"], ["c", "d"]])),
               passages(_of("documents", "rules.docx"))),
        Sample("slides", "rules.pptx", timeless(documents.pptx([("Rules", ["One.", "Two."], text)], "Page")),
               passages(_of("documents", "rules.pptx"))),
        Sample("text", "rules.txt", text.encode(), passages(_of("documents", "rules.txt"))),
        Sample("text", "book.txt", text.encode(), passages(_of("book", "book.txt"))),
        Sample("gzip", "facts.jsonl.gz", gzip.compress(facts, mtime=0), statements(_of("jsonl", "facts.jsonl.gz"))),
        Sample("gzip", "book.txt.gz", gzip.compress(text.encode(), mtime=0), passages(_of("book", "book.txt.gz"))),
    ]  # fmt: skip


def _of(format_: str, path: str) -> Mapping[str, Any]:
    return {"format": format_, "path": path}


def _in_json() -> Sequence[tuple[str, str, Any, Any]]:
    answers = [{"text": "Lee", "answer_start": 7}]
    asked = {"id": "q1", "question": "Who was it?", "answers": answers}
    squad = {"version": "1.1", "data": [{"title": "A", "paragraphs": [{"context": "It was Lee.", "qas": [asked]}]}]}
    hotpot = [{"_id": "h1", "question": "Who?", "answer": "Lee", "supporting_facts": [["B", 0], ["A", 1]],
               "context": [["A", ["One.", " Two."]], ["B", ["Lee."]]]}]  # fmt: skip
    return [("squad", "squad", squad, questions), ("hotpotqa", "hotpotqa", hotpot, questions),
            ("squad-pages", "squad", squad, passages)]  # fmt: skip


def _in_json_lines() -> Sequence[tuple[str, Any, Any]]:
    creak = {"ex_id": "train_1", "sentence": "Snow is white.", "label": "true", "entity": "Snow"}
    strategy = {"qid": "q1", "term": "Snow", "question": "Is it?", "answer": True, "facts": ["Snow is white."]}
    conflict = {"question": "Can fish fly?", "ground_truth": ["False"], "memory_answer": "Fish cannot fly.",
                "parametric_memory": "They have fins.", "counter_answer": "Fish can fly.",
                "counter_memory": "They have wings."}  # fmt: skip
    nq = {
        "question": "Who was it?",
        "answers": ["Lee"],
        "ctxs": [{"title": "A", "text": "It was Lee.", "isgold": True}],
    }
    news = {"question_id": "r1", "question_sentence": "Who?", "choices": ["Lee", "Ann"], "answer": ["0"],
            "evidence": "<p>It was Lee.</p>", "question_date": "2024-01-31"}  # fmt: skip
    charp = {"row_idx": 0, "subset": "hCHARP", "history": ["Hello.", "Hello. What then?"],
             "knowledge": "Bread needs yeast.",
             "response": "Yeast."}  # fmt: skip
    faith = {"dialog_idx": 0, "utterances": [{"history": ["Hello?"], "response": "Bread needs yeast.",
             "knowledge": "Bread needs yeast.", "original_response": None, "BEGIN": [], "VRM": []}]}  # fmt: skip
    return [
        ("creak", [creak, {**creak, "ex_id": "train_2", "sentence": "Ice is cold."}], statements),
        ("strategyqa", [strategy], questions), ("conflictqa", [conflict], questions),
        ("nq-open", [nq], questions), ("realtimeqa", [news], questions), ("charp", [charp], dialogues),
        ("faithdial", [faith], dialogues), ("writingbench", [{"index": 1, "query": "Write a letter."}], requests),
        ("mt-bench", [{"question_id": 81, "turns": ["Write a letter.", "Again."]}], requests),
        ("self-instruct", [{"id": "s1", "instruction": "Write.", "instances": [{"input": "a", "output": "b"}]}],
        requests),
    ]  # fmt: skip


def configurations() -> Sequence[tuple[str, bytes]]:
    """The packaged configurations, each with the name of its file."""
    return [(path.name, path.read_bytes()) for path in sorted(SAMPLES.glob("*.yaml"))]


def beside(folder: Path) -> None:
    """Lay the packaged sources into a folder, as links."""
    for path in SAMPLES.glob("*.jsonl"):
        (folder / path.name).symlink_to(path)
    (folder / "documents").symlink_to(SAMPLES / "documents")
