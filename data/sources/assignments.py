"""Assignments: texts to translate or to summarise, and requests. Each function reads one format."""

from collections.abc import Iterator

from data.sources.files import json_rows
from data.sources.spec import Entry, SourceSpec, shortened

CHINESE_SHARE = 0.5
"""Share of a query's letters; in WritingBench's subset on length it is below 0.04 or above 0.82."""


def ntrex(spec: SourceSpec) -> Iterator[Entry]:
    """NTREX (Federmann et al. 2022): lines of English news, each with a professional translation into Chinese."""
    for row in json_rows(spec.path):
        yield _entry(row.label("line"), row.text("en").strip(), reference=row.text("zh").strip())


def ntrex_documents(spec: SourceSpec) -> Iterator[Entry]:
    """NTREX's whole documents, their sentences joined, without references."""
    for row in json_rows(spec.path):
        yield _entry(row.label("doc_id"), " ".join(map(str.strip, row.texts("sentences"))))


def scitldr(spec: SourceSpec) -> Iterator[Entry]:
    """SciTLDR (Cachola et al. 2020): abstracts of papers, each with the first of its one-sentence summaries."""
    for row in json_rows(spec.path):
        reference = next(map(str.strip, row.texts("target")), "")
        yield _entry(row.label("paper_id"), " ".join(map(str.strip, row.texts("source"))), reference=reference)


def writingbench(spec: SourceSpec) -> Iterator[Entry]:
    """WritingBench (Wu et al. 2025): writing tasks in English and Chinese; their letters show the language."""
    for row in json_rows(spec.path):
        text = row.text("query").strip()
        language = "zh" if _chinese_share(text) >= CHINESE_SHARE else "en"
        yield _request(row.label("index") if "index" in row.values else row.place, text, language=language)


def ifeval(spec: SourceSpec) -> Iterator[Entry]:
    """IFEval (Zhou et al. 2023): prompts; the instructions that a program can check are left out."""
    for row in json_rows(spec.path):
        yield _request(row.label("key"), row.text("prompt").strip())


def self_instruct(spec: SourceSpec) -> Iterator[Entry]:
    """Self-Instruct (Wang et al. 2023): experts' instructions, each above the input of its first instance, if any."""
    for row in json_rows(spec.path):
        inputs = (instance.text("input").strip() for instance in row.rows("instances", "instance"))
        text = "\n\n".join(part for part in (row.text("instruction").strip(), next(inputs, "")) if part)
        yield _request(row.label("id"), text)


def mt_bench(spec: SourceSpec) -> Iterator[Entry]:
    """MT-bench (Zheng et al. 2023): first turns. The second is about the answer ("Rewrite your previous response")."""
    for row in json_rows(spec.path):
        yield _request(row.label("question_id"), next(map(str.strip, row.texts("turns")), ""))


def _request(id_: str, text: str, **values: str) -> Entry:
    return _entry(id_, text, given="request", **values)


def _entry(id_: str, text: str, **values: str) -> Entry:
    return Entry(id_, {"text": text, **values}, evidence=shortened(text))


def _chinese_share(text: str) -> float:
    """Return the share of the letters that are Han characters; 0 without letters."""
    letters = [character for character in text if character.isalpha()]
    return sum("\u4e00" <= character <= "\u9fff" for character in letters) / len(letters) if letters else 0.0
