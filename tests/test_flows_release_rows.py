from collections import Counter

from flows.release.rows import sources_named
from schemas.base import SourceRef


def row(*records: tuple[str, str]) -> dict[str, object]:
    sources = [{"source": source, "id": id_, "licence": "CC-BY-SA-4.0"} for source, id_ in records]
    return {"provenance": {"sources": sources}}


def test_a_row_counts_once_for_each_source_however_many_of_its_records_it_names() -> None:
    rows = [
        row(("dev.json.gz", "1"), ("dev.json.gz", "2"), ("dev.json.gz", "3")),
        row(("dev.json.gz", "1"), ("nq.jsonl", "line 12")),
        row(("nq.jsonl", "line 12")),
        row(),
    ]
    counted = Counter(source for each in rows for source in sources_named(each))
    assert counted == {
        SourceRef(source="dev.json.gz", id="", licence="CC-BY-SA-4.0"): 2,
        SourceRef(source="nq.jsonl", id="", licence="CC-BY-SA-4.0"): 2,
    }
