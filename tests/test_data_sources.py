"""Source records out of rows: every format, what is refused at the door, and what an error says."""

import csv as stdlib_csv
import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import pyarrow
import pyarrow.parquet
import pytest

from data import sources
from data.sources import SourceError, SourceSpec, read_source
from data.sources.hub import located
from schemas.base import Dropped
from schemas.source import Passage, QASource, Statement

S = TypeVar("S", Statement, QASource, Passage)

CREAK = {"ex_id": "train_1", "sentence": "Snow is white.", "label": "true", "entity": "Snow"}


def read(path: Path, shape: type[S], format_: str, **more: object) -> tuple[list[S], list[Dropped]]:
    dropped: list[Dropped] = []
    spec = SourceSpec.model_validate({"format": format_, "path": str(path), **more})
    return list(read_source(spec, shape, dropped.append)), dropped


def write(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8", newline="")
    return path


def error(path: Path, shape: type[S], format_: str, **more: object) -> str:
    with pytest.raises(SourceError) as raised:
        read(path, shape, format_, **more)
    assert "\n" not in str(raised.value)
    return str(raised.value)


# ---- the shared data: kept + dropped = rows ----


@pytest.mark.parametrize(
    ("format_", "name", "shape", "kept", "dropped"),
    [
        ("creak", "creak_en/train.jsonl.gz", Statement, 1439, {"labelled false": 1504}),  # 2,943 rows
        ("strategyqa", "strategyqa_en/train.jsonl.gz", Statement, 4116, {"duplicate text": 5}),  # 4,121 facts
        ("strategyqa", "strategyqa_en/train.jsonl.gz", QASource, 1540, {}),
        ("conflictqa", "conflictqa_en/strategyqa-chatgpt.jsonl.gz", QASource, 805, {}),
        ("hotpotqa", "hotpotqa_en/dev_subsampled.jsonl.gz", QASource, 355, {}),
    ],
)
def test_every_row_of_the_shared_data_is_kept_or_dropped(
    shared: Path, format_: str, name: str, shape: type[Statement], kept: int, dropped: dict[str, int]
) -> None:
    records, refused = read(shared / "data" / name, shape, format_)
    assert len(records) == kept
    assert Counter(one.reason for one in refused) == dropped
    keys = [one.key for one in (*records, *refused)]
    assert len(set(keys)) == len(keys)


def test_hotpotqa_joins_the_two_supporting_paragraphs(shared: Path) -> None:
    records, _ = read(shared / "data" / "hotpotqa_en" / "dev_subsampled.jsonl.gz", QASource, "hotpotqa")
    first = records[0]
    assert first.source.source == "dev_subsampled.jsonl.gz"
    assert first.source.id == "5a8e3ea95542995a26add48d"
    assert first.answers == ("Greenwich Village, New York City",)
    assert first.evidence is not None
    assert first.evidence.count("\n") == 1
    assert "based in Greenwich Village, New York City" in first.evidence


# ---- formats ----


def test_creak_keeps_what_is_labelled_true(tmp_path: Path) -> None:
    rows = [CREAK, {**CREAK, "ex_id": "train_2", "sentence": "Snow is black.", "label": "false"}]
    records, refused = read(write(tmp_path / "a.jsonl", rows), Statement, "creak", licence="MIT")
    (record,) = records
    assert (record.text, record.topic) == ("Snow is white.", "Snow")
    assert record.source is not None
    assert record.source.model_dump() == {"source": "a.jsonl", "id": "train_1", "licence": "MIT"}
    (drop,) = refused
    assert (drop.reason, drop.evidence, drop.step) == ("labelled false", "Snow is black.", "source:creak")


def test_creak_refuses_a_label_it_does_not_know(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{**CREAK, "label": True}])
    assert 'line 1: expected field "label" to be a string, found bool True' in error(path, Statement, "creak")
    path = write(tmp_path / "b.jsonl", [{**CREAK, "label": "TRUE"}])
    assert 'expected label "true" or "false", found "TRUE"' in error(path, Statement, "creak")


def test_strategyqa_gives_each_fact_and_counts_a_row_without_any(tmp_path: Path) -> None:
    rows = [
        {
            "qid": "q1",
            "term": "Snow",
            "question": "Is it?",
            "answer": True,
            "facts": [" Snow is white. ", "Ice is cold."],
        },
        {"qid": "q2", "question": "Is it?", "answer": False, "facts": []},
    ]  # fmt: skip
    records, refused = read(write(tmp_path / "a.jsonl", rows), Statement, "strategyqa")
    assert [(one.text, one.source.id) for one in records if one.source] == [
        ("Snow is white.", "q1#1"), ("Ice is cold.", "q1#2"),
    ]  # fmt: skip
    assert [one.reason for one in refused] == ["no facts"]
    questions, _ = read(tmp_path / "a.jsonl", QASource, "strategyqa")
    assert [(one.answers, one.evidence) for one in questions] == [
        (("yes",), "Snow is white. Ice is cold."), (("no",), None),
    ]  # fmt: skip


def test_conflictqa_brings_both_sides(tmp_path: Path) -> None:
    row = {
        "question": "Can fish fly?", "ground_truth": ["False"], "memory_answer": "Fish cannot fly.",
        "parametric_memory": "They have fins. ",
        "counter_answer": "Fish can fly.", "counter_memory": "They have wings.",
    }  # fmt: skip
    (record,), _ = read(write(tmp_path / "a.jsonl", [row]), QASource, "conflictqa")
    assert record.answers == ("False",)
    assert record.sides == (("Fish cannot fly.", "They have fins."), ("Fish can fly.", "They have wings."))
    assert (record.source.id, record.format) == ("line 1", "conflictqa")


def test_hotpotqa_is_read_in_its_authors_shape_too(tmp_path: Path) -> None:
    row = {
        "_id": "h1", "question": "Who?", "answer": "Lee", "supporting_facts": [["B", 0], ["A", 1], ["A", 0]],
        "context": [["A", ["One.", " Two."]], ["X", ["No."]], ["B", ["Lee."]]],
    }  # fmt: skip
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([row, {**row, "_id": "h2", "supporting_facts": []}]), encoding="utf-8")
    records, refused = read(path, QASource, "hotpotqa")
    assert [(one.evidence, one.source.id) for one in records] == [("One. Two.\nLee.", "h1")]
    assert [one.reason for one in refused] == ["no supporting paragraph"]


def test_jsonl_maps_fields(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"sentence": "Snow is white.", "n": 7}])
    (record,), _ = read(path, Statement, "jsonl", fields={"text": "sentence", "id": "n"})
    assert record.text == "Snow is white."
    assert record.source is not None
    assert record.source.id == "7"


def test_jsonl_brings_the_other_side_of_a_conflict(tmp_path: Path) -> None:
    row = {"q": "Where?", "a": "Bonn", "e": "It was Bonn.", "a2": "Berlin", "e2": "It was Berlin."}
    fields = {"question": "q", "answers": "a", "evidence": "e", "other_answer": "a2", "other_evidence": "e2"}
    (record,), _ = read(write(tmp_path / "a.jsonl", [row]), QASource, "jsonl", fields=fields, language="de")
    assert record.sides == (("Bonn", "It was Bonn."), ("Berlin", "It was Berlin."))
    assert record.language == "de"
    sides = [["Bonn", "It was Bonn."], ["Berlin", "It was Berlin."]]
    whole = {"question": "Where?", "answers": ["Bonn", "bonn"], "sides": sides}
    (record,), _ = read(write(tmp_path / "b.jsonl", [whole]), QASource, "jsonl")
    assert (record.answers, record.sides) == (
        ("Bonn", "bonn"),
        (("Bonn", "It was Bonn."), ("Berlin", "It was Berlin.")),
    )


def test_csv_keeps_separators_and_line_ends_inside_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        stdlib_csv.writer(file).writerows(
            [["text", "id"], ["Snow, they say,\nis white.", "s1"], ["Ice is cold.", "s2"]]
        )
    records, _ = read(path, Statement, "csv")
    assert [one.text for one in records] == ["Snow, they say,\nis white.", "Ice is cold."]
    tabs = tmp_path / "a.tsv.gz"
    tabs.write_bytes(gzip.compress(b"question\tanswers\nWho?\tLee, of course\n"))
    (question,), _ = read(tabs, QASource, "csv")
    assert (question.answers, question.source.id) == (("Lee, of course",), "row 1")


def test_parquet_reads_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"question": ["Who?"], "answers": [["Lee", "Ann"]]}), path)
    (record,), _ = read(path, QASource, "parquet")
    assert record.answers == ("Lee", "Ann")


def test_our_own_parquet_gives_statements_and_conflicts_from_all_shards(tmp_path: Path) -> None:
    for shard in range(2):
        table = pyarrow.table(
            {
                "id": ["x"], "key": [f"k{shard}"], "original": [f"Snow is white {shard}."],
                "manipulated": ["Snow is black."], "question": [f"What is {shard}?"], "answer_original": ["white"],
                "answer_manipulated": ["black"], "topic": [None],
            }
        )  # fmt: skip
        pyarrow.parquet.write_table(table, tmp_path / f"uraq-items-0000{shard}-of-00002.parquet")
    statements, _ = read(tmp_path / "uraq-items.parquet", Statement, "touchstone")
    assert [one.text for one in statements] == ["Snow is white 0.", "Snow is white 1."]
    questions, _ = read(tmp_path / "uraq-items.parquet", QASource, "touchstone")
    assert questions[0].sides == (("white", "Snow is white 0."), ("black", "Snow is black."))
    one_shard, _ = read(tmp_path / "uraq-items-00001-of-00002.parquet", QASource, "touchstone")
    assert one_shard[0].key == questions[1].key


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("acme/facts", ("acme/facts", None, "train")),
        ("acme/facts:test", ("acme/facts", None, "test")),
        ("acme/facts/en:test", ("acme/facts", "en", "test")),
    ],
)
def test_a_hub_path_names_repository_configuration_and_split(path: str, expected: tuple[str, str | None, str]) -> None:
    assert located(path) == expected


@pytest.mark.slow
def test_a_data_set_is_read_through_the_hub_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library takes a folder in the current one for a repository: its own loading, without a network.
    (tmp_path / "acme" / "facts").mkdir(parents=True)
    write(tmp_path / "acme" / "facts" / "test.jsonl", [{"sentence": "Snow is white."}, {"sentence": "Ice is cold."}])
    monkeypatch.chdir(tmp_path)
    spec = SourceSpec(format="hub", path="acme/facts:test", fields={"text": "sentence"})
    records = list(read_source(spec, Statement, pytest.fail))
    assert [(one.text, one.source.id) for one in records if one.source] == [
        ("Snow is white.", "row 1"), ("Ice is cold.", "row 2"),
    ]  # fmt: skip
    with pytest.raises(SourceError, match="acme/facts:dev: expected a data set on the Hub"):
        list(read_source(spec.model_copy(update={"path": "acme/facts:dev"}), Statement, pytest.fail))


def test_a_hub_path_without_a_repository_is_refused() -> None:
    for path in ("facts", "acme/facts/en/more"):
        with pytest.raises(SourceError, match=r"expected OWNER/NAME\[/CONFIG\]\[:SPLIT\]"):
            located(path)


# ---- the door ----


@pytest.mark.parametrize("at_once", [1, 2, 256])
def test_empty_and_repeated_rows_are_refused_with_their_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(sources, "AT_ONCE", at_once)
    rows = [
        {"text": "Snow is white.", "id": "a"},
        {"text": " Snow is white. ", "id": "b"},
        {"text": " \u200b\ufeff ", "id": "c"},
        {"text": "Ice is cold.", "id": "a"},
        {"text": "Fire is hot.", "id": "d"},
    ]
    records, refused = read(write(tmp_path / "a.jsonl", rows), Statement, "jsonl")
    assert [one.text for one in records] == ["Snow is white.", "Fire is hot."]
    assert [(one.reason, one.related_id) for one in refused] == [
        ("duplicate text", records[0].id), ("empty text", None), ("duplicate id", records[0].id),
    ]  # fmt: skip


def test_nothing_is_read_beyond_the_limit(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", [{"text": text} for text in ("Snow is white.", "Snow is white.", "Ice is cold.")]
    )
    path.write_text(f"{path.read_text(encoding='utf-8')}no JSON\n", encoding="utf-8")
    records, refused = read(path, Statement, "jsonl", limit=2)
    assert ([one.text for one in records], len(refused)) == (["Snow is white.", "Ice is cold."], 1)


def test_a_question_without_an_answer_is_refused(tmp_path: Path) -> None:
    rows: list[object] = [{"question": "Who?", "answers": []}, {"question": "Who?", "answers": ["", " "]}]
    records, refused = read(write(tmp_path / "a.jsonl", rows), QASource, "jsonl")
    assert not records
    assert [one.reason for one in refused] == ["no answer", "no answer"]


def test_answers_are_stripped_and_stand_once(tmp_path: Path) -> None:
    row = {"question": "How many?", "answers": [" 291", "291 episodes", "291", ""]}
    (record,), _ = read(write(tmp_path / "a.jsonl", [row]), QASource, "jsonl")
    assert record.answers == ("291", "291 episodes")


def test_the_limit_counts_records_that_are_kept(tmp_path: Path) -> None:
    rows = [{"text": text} for text in ("a b", "a b", "c", "d", "d")]
    records, refused = read(write(tmp_path / "a.jsonl", rows), Statement, "jsonl", limit=2)
    assert [one.text for one in records] == ["a b", "c"]
    assert len(refused) == 1


def test_keys_depend_on_the_file_but_not_on_its_folder_or_compression(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    one = write(tmp_path / "x" / "a.jsonl", [CREAK])
    other = tmp_path / "y" / "a.jsonl.gz"
    other.write_bytes(gzip.compress(one.read_bytes()))
    renamed = write(tmp_path / "b.jsonl", [CREAK])
    keys = [read(path, Statement, "creak")[0][0].key for path in (one, other, renamed)]
    assert keys[0] == keys[1] != keys[2]
    mapped = read(one, Statement, "jsonl", fields={"text": "sentence", "id": "ex_id"})[0][0].key
    assert mapped != keys[0]


# ---- the quirks of real files ----


def test_lines_end_at_newlines_alone(tmp_path: Path) -> None:
    strange = "One\u2028two\u2029three\x85four\x0bfive\xa0six\u200bseven\ufeffeight."
    path = write(tmp_path / "a.jsonl", [{"text": strange}, {"text": "Ice is cold."}])
    records, _ = read(path, Statement, "jsonl")
    assert [one.text for one in records] == [strange, "Ice is cold."]


def test_a_byte_order_mark_windows_line_ends_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "One."}\r\n\r\n{"text": "Two."}')
    records, _ = read(path, Statement, "jsonl")
    assert [one.source.id for one in records if one.source] == ["line 1", "line 3"]


def test_evidence_keeps_its_own_white_space(tmp_path: Path) -> None:
    row = {"question": " Who? ", "answers": "Lee", "evidence": " \xa0It was Lee. "}
    (record,), _ = read(write(tmp_path / "a.jsonl", [row]), QASource, "jsonl")
    assert (record.question, record.evidence) == ("Who?", " \xa0It was Lee. ")


# ---- errors: file, row, what was expected, what to do ----


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    message = error(tmp_path / "no.jsonl", Statement, "creak")
    assert str(tmp_path / "no.jsonl") in message
    assert "no such file; paths are relative to the configuration file" in message
    assert "no such file" in error(tmp_path / "no.parquet", Statement, "parquet")


def test_compression_and_name_must_agree(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.jsonl.gz", [CREAK])
    assert "expected gzip data, found something else; take .gz off its name" in error(plain, Statement, "creak")
    packed = tmp_path / "a.jsonl"
    packed.write_bytes(gzip.compress(b"{}"))
    assert "found gzip data; add .gz to its name" in error(packed, Statement, "creak")


def test_a_cut_or_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress("".join(json.dumps({**CREAK, "ex_id": i}) + "\n" for i in range(2000)).encode())
    cut, damaged = tmp_path / "cut.jsonl.gz", tmp_path / "damaged.jsonl.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    damaged.write_bytes(whole[:100] + bytes(20) + whole[120:])
    assert "expected whole gzip data" in error(cut, Statement, "creak")
    assert "expected" in error(damaged, Statement, "creak")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"text": "a"}\n{"text": \n', "line 2: expected JSON"),
        (b'{"text": "a"}\n["b"]\n', "line 2: expected a JSON object, found list"),
        (b'{"text": "a"}\n{"text": "caf\xe9"}\n', "line 2: expected UTF-8, found byte 0xe9 at 13"),
        (b'{"text": "a"}\n{"txt": "b"}\n', 'line 2: expected a field "text", found none; did you mean "txt"?'),
        (b'{"text": "a"}\n{"text": 3}\n', 'line 2: expected field "text" to be a string, found int 3'),
        (b'{"text": "a"}\n{"text": null}\n', 'line 2: expected field "text" to be a string, found NoneType None'),
        (b"", "expected at least one row, found none"),
        (b"\n\n", "expected at least one row, found none"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    message = error(path, Statement, "jsonl")
    assert says in message
    assert "a.jsonl" in message
    assert ";" in message


def test_bad_nested_values_are_named(tmp_path: Path) -> None:
    row = {"qid": "q", "facts": ["ok", 3]}
    path = write(tmp_path / "a.jsonl", [row])
    assert 'expected field "facts" to be a list of strings, found int 3' in error(path, Statement, "strategyqa")
    path = write(
        tmp_path / "b.jsonl", [{"question_id": "h", "question_text": "Who?", "answers_objects": [{"span": []}]}]
    )
    assert 'line 1, answers_objects 1: expected a field "spans"' in error(path, QASource, "hotpotqa")


def test_csv_errors_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,id\none,1\ntwo,2,3\n", encoding="utf-8")
    assert "row 2 (line 3): expected 2 cells as in the header, found 3" in error(path, Statement, "csv")
    path.write_bytes("text\nçok\n".encode("latin-1"))
    assert "expected UTF-8" in error(path, Statement, "csv")
    path.write_text('text\n"one" two\n', encoding="utf-8")
    assert "expected a CSV row" in error(path, Statement, "csv")
    path.write_text("text\n", encoding="utf-8")
    assert "expected at least one row" in error(path, Statement, "csv")


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("no", encoding="utf-8")
    assert "expected Parquet" in error(path, Statement, "parquet")


def test_the_specification_is_checked_with_the_nearest_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [CREAK])
    assert 'unknown format "creek"; did you mean "creak"?' in error(path, Statement, "creek")
    assert "expected a format that gives a Statement, found conflictqa; use one of creak" in error(
        path, Statement, "conflictqa"
    )
    assert "format creak takes no fields" in error(path, Statement, "creak", fields={"text": "sentence"})
    assert 'fields: unknown field "txt"; did you mean "text"?' in error(
        path, Statement, "jsonl", fields={"txt": "sentence"}
    )
    assert 'expected a field "topics", found ex_id, sentence, label, entity; say which' in error(
        path, Statement, "jsonl", fields={"text": "sentence", "topic": "topics"}
    )
