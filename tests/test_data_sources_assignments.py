"""What a user gives a model to work on, out of rows: news, abstracts, requests, one's own tables, seeds of ours."""

import csv
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import yaml

from data.sources import SourceError, SourceSpec, check_source, read_entries, read_source
from data.sources.fingerprint import source_fingerprint
from data.sources.pins import with_sources
from flows.construct.engine import Part
from flows.construct.settings import FamilySettings, sources_of
from flows.project.settings import packaged
from flows.release.contamination import texts_of
from schemas.base import Dropped, Provenance, SourceRef
from schemas.refutebench import Seed
from schemas.source import Assignment, Passage


def write(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8", newline="")
    return path


def spec_of(path: Path, format_: str, **more: object) -> SourceSpec:
    return SourceSpec.model_validate({"format": format_, "path": str(path), **more})


def read(path: Path, format_: str, **more: object) -> tuple[list[Assignment], list[Dropped]]:
    dropped: list[Dropped] = []
    return list(read_source(spec_of(path, format_, **more), Assignment, dropped.append)), dropped


def error(path: Path, format_: str, **more: object) -> str:
    with pytest.raises(SourceError) as raised:
        read(path, format_, **more)
    assert "\n" not in str(raised.value)
    return str(raised.value)


# ---- the shared data: kept + dropped = rows ----

PUBLISHED = (
    ("ntrex", "ntrex_en_zh/newstest2019.en-zh.jsonl.gz", 982, {}),
    ("ntrex-documents", "ntrex_en_zh/newstest2019.en.docs.jsonl.gz", 61, {}),
    ("scitldr", "scitldr_en/dev.jsonl.gz", 618, {"duplicate text": 1}),  # 619 rows
    ("writingbench", "writing_prompts/writingbench_length.jsonl.gz", 143, {}),
    ("ifeval", "writing_prompts/ifeval_en.jsonl.gz", 374, {}),
    ("self-instruct", "writing_prompts/user_oriented_instructions.jsonl.gz", 167, {}),
    ("mt-bench", "writing_prompts/mt_bench.jsonl.gz", 80, {}),
)


@pytest.mark.parametrize(("format_", "name", "kept", "dropped"), PUBLISHED)
def test_every_row_of_the_shared_data_is_kept_or_dropped(
    shared: Path, format_: str, name: str, kept: int, dropped: dict[str, int]
) -> None:
    records, refused = read(shared / "data" / name, format_)
    assert (len(records), Counter(one.reason for one in refused)) == (kept, dropped)
    keys = [one.key for one in (*records, *refused)]
    assert len(set(keys)) == len(keys)
    assert {one.given for one in records} == ({"text"} if kept in (982, 61, 618) else {"request"})
    assert all(one.reference for one in records) == (format_ in ("ntrex", "scitldr"))


def test_a_document_is_the_lines_of_the_same_news(shared: Path) -> None:
    folder = shared / "data" / "ntrex_en_zh"
    lines, _ = read(folder / "newstest2019.en-zh.jsonl.gz", "ntrex")
    (document, *_), _ = read(folder / "newstest2019.en.docs.jsonl.gz", "ntrex-documents")
    assert document.source.id == "nytimes.184853"
    assert document.text.startswith(f"{lines[0].text} {lines[1].text} ")
    assert lines[0].reference == "哈莱姆的教堂疲于生存，圣马丁教堂的钟声陷于沉寂"


def test_writingbench_is_chinese_in_62_of_its_rows(shared: Path) -> None:
    # the data's own notes count them; query 985 is English with some Chinese in it
    records, _ = read(shared / "data" / "writing_prompts/writingbench_length.jsonl.gz", "writingbench")
    assert Counter(one.language for one in records) == {"en": 81, "zh": 62}
    assert next(one for one in records if one.source.id == "985").language == "en"


# ---- each format by itself ----


def test_ntrex_keeps_separators_that_only_look_like_line_ends(tmp_path: Path) -> None:
    rows = [{"line": 7, "doc_id": "a.1", "en": " Rain\u2028fell\u00a0all day. ", "zh": "整天\u3000下雨。 "}]
    (record,), _ = read(write(tmp_path / "n.jsonl", rows), "ntrex", licence="CC-BY-SA-4.0")
    assert (record.given, record.text, record.reference) == ("text", "Rain\u2028fell\u00a0all day.", "整天\u3000下雨。")
    assert (record.source.id, record.source.licence, record.format) == ("7", "CC-BY-SA-4.0", "ntrex")


def test_ntrex_documents_refuse_one_without_sentences(tmp_path: Path) -> None:
    rows = [{"doc_id": "a", "sentences": ["Rain fell.", " It was cold. "]}, {"doc_id": "b", "sentences": []}]
    (record,), refused = read(write(tmp_path / "n.jsonl", rows), "ntrex-documents")
    assert (record.text, record.reference) == ("Rain fell. It was cold.", "")
    assert [one.reason for one in refused] == ["empty text"]


def test_scitldr_takes_the_first_summary(tmp_path: Path) -> None:
    row = {"source": ["We try. ", "It works."], "target": ["It works.", "They try."], "paper_id": "p1", "title": "T"}
    (record, bare), _ = read(
        write(tmp_path / "s.jsonl", [row, {**row, "source": ["We fail."], "target": [], "paper_id": "p2"}]), "scitldr"
    )
    assert (record.text, record.reference, record.source.id) == ("We try. It works.", "It works.", "p1")
    assert bare.reference == ""


def test_writingbench_tells_the_language_by_most_of_the_letters(tmp_path: Path) -> None:
    queries = ["Translate 天气 into English.", "请写一篇关于 APP 的文章。", "12:30"]
    rows = [{"index": number, "query": query, "checklist": []} for number, query in enumerate(queries)]
    records, _ = read(write(tmp_path / "w.jsonl", rows), "writingbench", language="fr")
    # 2 of 23 letters, 10 of 13, and none
    assert [(one.given, one.language) for one in records] == [("request", "en"), ("request", "zh"), ("request", "en")]


def test_writingbench_without_an_index_goes_by_place(tmp_path: Path) -> None:
    (record,), _ = read(write(tmp_path / "w.jsonl", [{"query": "Write."}]), "writingbench")
    assert record.source.id == "line 1"


def test_ifeval_leaves_out_what_is_checked_and_keeps_the_language_of_the_source(tmp_path: Path) -> None:
    row = {"key": 1000, "prompt": "Escribe un poema.", "instruction_id_list": ["no_comma"], "kwargs": [{}]}
    (record,), _ = read(write(tmp_path / "i.jsonl", [row]), "ifeval", language="es")
    assert (record.given, record.text, record.source.id, record.language) == (
        "request", "Escribe un poema.", "1000", "es",
    )  # fmt: skip


def test_self_instruct_puts_the_input_below_where_there_is_one(tmp_path: Path) -> None:
    rows = [
        {"id": "u1", "instruction": "Fix this.", "instances": [{"input": "Helo.\n", "output": "Hello."}]},
        {"id": "u2", "instruction": "Write a joke.", "instances": [{"input": "", "output": "Ha."}]},
    ]
    records, _ = read(write(tmp_path / "u.jsonl", rows), "self-instruct")
    assert [(one.text, one.source.id) for one in records] == [("Fix this.\n\nHelo.", "u1"), ("Write a joke.", "u2")]


def test_mt_bench_takes_the_first_turn(tmp_path: Path) -> None:
    rows = [{"question_id": 81, "turns": ["Write a post.", "Rewrite it."]}, {"question_id": 82, "turns": []}]
    (record,), refused = read(write(tmp_path / "m.jsonl", rows), "mt-bench")
    assert (record.text, record.source.id) == ("Write a post.", "81")
    assert [one.reason for one in refused] == ["empty text"]


@pytest.mark.parametrize(
    ("format_", "row", "expected"),
    [
        ("ntrex", {"line": 1, "en": "Rain."}, 'line 1: expected a field "zh", found none'),
        ("ntrex-documents", {"doc_id": "a", "sentences": "Rain."}, "to be a list of strings, found str"),
        ("scitldr", {"source": ["a", 1], "target": [], "paper_id": "p"}, "to be a list of strings, found int 1"),
        ("writingbench", {"index": 1, "prompt": "Write."}, 'expected a field "query", found none'),
        ("ifeval", {"key": None, "prompt": "Write."}, "to be a string or a whole number, found NoneType"),
        ("self-instruct", {"id": "a", "instruction": "Write.", "instances": ["x"]}, "instance 1: expected an object"),
        ("mt-bench", {"question_id": 1, "turns": "Write."}, "to be a list of strings, found str"),
    ],
)
def test_a_row_of_another_shape_is_one_line_of_error(
    tmp_path: Path, format_: str, row: dict[str, Any], expected: str
) -> None:
    assert expected in error(write(tmp_path / "a.jsonl", [row]), format_)


def test_repeated_and_empty_texts_are_refused_and_the_same_text_given_otherwise_is_not(tmp_path: Path) -> None:
    rows = [
        {"headline": "Rain falls"},
        {"headline": " Rain falls "},
        {"prompt": "Rain falls"},
        {"post": "\u200b …"},
    ]
    records, refused = read(write(tmp_path / "a.jsonl", rows), "jsonl")
    assert [(one.given, one.text) for one in records] == [("headline", "Rain falls"), ("prompt", "Rain falls")]
    assert [(one.reason, one.related_id) for one in refused] == [
        ("duplicate text", records[0].id), ("empty text", None),
    ]  # fmt: skip


# ---- tables of one's own ----


@pytest.mark.parametrize("given", ["text", "headline", "post", "prompt", "request"])
def test_the_field_says_what_is_given(tmp_path: Path, given: str) -> None:
    path = write(tmp_path / "a.jsonl", [{given: "Rain falls", "reference": "下雨了", "id": 3}])
    (record,), _ = read(path, "jsonl")
    assert (record.given, record.text, record.reference, record.source.id) == (given, "Rain falls", "下雨了", "3")


def test_what_the_map_names_counts_whatever_stands_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"title": "Rain falls", "text": "It fell all day.", "post": None}])
    (record,), _ = read(path, "jsonl", fields={"headline": "title"}, language="en-GB")
    assert (record.given, record.text, record.source.id, record.language) == (
        "headline", "Rain falls", "line 1", "en-GB",
    )  # fmt: skip
    (record,), _ = read(path, "jsonl")
    assert (record.given, record.text) == ("text", "It fell all day.")


@pytest.mark.slow
def test_tables_of_every_kind_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["en", "zh"], ["Rain, they say,\nfell.", "他们说下雨了。"]])
    (record,), _ = read(tmp_path / "a.csv", "csv", fields={"text": "en", "reference": "zh"})
    assert (record.text, record.reference) == ("Rain, they say,\nfell.", "他们说下雨了。")

    table = pyarrow.table({"post": ["Rain is good.", None], "prompt": [None, "Rain falls."], "reference": [None, None]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    records, _ = read(tmp_path / "a.parquet", "parquet")
    assert [(one.given, one.text, one.reference) for one in records] == [
        ("post", "Rain is good.", ""), ("prompt", "Rain falls.", ""),
    ]  # fmt: skip

    (tmp_path / "acme" / "news").mkdir(parents=True)
    write(tmp_path / "acme" / "news" / "train.jsonl", [{"title": "Rain falls"}])
    monkeypatch.chdir(tmp_path)
    hub = SourceSpec(format="hub", path="acme/news", fields={"headline": "title"})
    (record,) = read_source(hub, Assignment, pytest.fail)
    assert (record.given, record.text, record.source.source) == ("headline", "Rain falls", "acme/news")


def test_none_or_two_are_refused_with_what_to_do(tmp_path: Path) -> None:
    advice = "name the one to take, such as fields: {headline: title}"
    none = error(write(tmp_path / "a.jsonl", [{"title": "Rain falls"}]), "jsonl")
    assert "a.jsonl: line 1: expected one of the fields text, headline, post, prompt, request, found none" in none
    assert none.endswith(advice)
    two = error(write(tmp_path / "a.jsonl", [{"text": "It fell.", "headline": "Rain falls"}]), "jsonl")
    assert "found text and headline" in two
    assert two.endswith(advice)
    named = error(tmp_path / "a.jsonl", "jsonl", fields={"headline": "headline", "post": "text"})
    assert "a.jsonl: fields: expected one of text, headline, post, prompt, request, found headline and post" in named
    assert 'unknown field "titel"; known: text, headline' in error(tmp_path / "a.jsonl", "jsonl", fields={"titel": "x"})
    assert 'expected a field "title", found ' in error(tmp_path / "a.jsonl", "jsonl", fields={"headline": "title"})


# ---- seeds of ours ----

KINDS = {
    "translation": "text", "summary": "text", "news": "headline", "counter-argument": "post", "story": "prompt",
    "request": "request",
}  # fmt: skip


def seed(kind: str, number: int = 0, **more: str) -> dict[str, Any]:
    task = {"translation": "translation", "summary": "summarisation"}.get(kind, "writing")
    values = {
        "key": f"k{number}-{kind}", "task": task, "kind": kind, "query": "Please.", "text": f" {kind} {number}\n",
        "source": "ntrex:a.jsonl", "provenance": Provenance(sources=(SourceRef(source="a.jsonl", id="1"),), seed=7),
    }  # fmt: skip
    return Seed.model_validate({**values, **more}).model_dump(mode="json")


def write_seeds(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_a_seed_comes_back_as_what_it_was_made_of(tmp_path: Path) -> None:
    rows = [seed(kind) for kind in KINDS]
    rows[0] |= seed("translation", reference="翻译", language="en")
    rows[-1] |= seed("request", language="zh", text="请写信。", query="请写信。")
    records, refused = read(write_seeds(tmp_path / "refutebench-seeds.parquet", rows), "touchstone", language="fr")
    assert not refused
    assert [one.given for one in records] == list(KINDS.values())
    assert [(one.text, one.reference, one.language) for one in records] == [
        (row["text"], row["reference"], row["language"]) for row in rows
    ]
    assert [one.source.id for one in records] == [row["key"] for row in rows]


def test_seeds_in_shards_are_one_source(tmp_path: Path) -> None:
    for shard in range(2):
        write_seeds(tmp_path / f"refutebench-seeds-0000{shard}-of-00002.parquet", [seed("news", shard)])
    path = tmp_path / "refutebench-seeds.parquet"
    records, _ = read(path, "touchstone")
    assert [one.text for one in records] == [" news 0\n", " news 1\n"]
    check_source(spec_of(path, "touchstone"), Assignment)
    assert len(source_fingerprint(spec_of(path, "touchstone"))["sha256"]) == 2  # type: ignore[arg-type]


def test_a_part_without_seeds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "uraq-statements.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"key": ["k"], "text": ["Snow is white."]}), path)
    assert 'row 1: expected a field "kind", found none' in error(path, "touchstone")
    rows = [seed("news") | {"kind": "sonnet"}]
    assert 'found "sonnet"; name a part that holds seeds' in error(
        write_seeds(tmp_path / "s.parquet", rows), "touchstone"
    )


# ---- what else looks at sources ----


def test_a_format_without_assignments_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{}])
    with pytest.raises(
        SourceError, match="expected a format that gives an Assignment, found creak; use one of documents, ntrex"
    ):
        check_source(spec_of(path, "creak"), Assignment)
    with pytest.raises(SourceError, match="format ifeval takes no fields"):
        check_source(spec_of(path, "ifeval", fields={"text": "prompt"}), Assignment)
    with pytest.raises(SourceError, match="no such file"):
        check_source(spec_of(tmp_path / "b.jsonl", "mt-bench"), Assignment)
    check_source(spec_of(write(tmp_path / "c.jsonl", [{"text": "Rain."}]), "jsonl"), Assignment)
    with pytest.raises(SourceError, match="line 1: expected one of the fields text, headline"):
        check_source(spec_of(path, "jsonl"), Assignment)


def test_assignments_are_compared_with_their_references(tmp_path: Path) -> None:
    def texts(path: Path, format_: str, **more: object) -> list[str]:
        return [text for entry in read_entries(spec_of(path, format_, **more)) for text in texts_of(entry)]

    rows = [{"source": ["We try."], "target": ["It works."], "paper_id": "p"}] * 2
    twice = texts(write(tmp_path / "s.jsonl", rows), "scitldr")
    assert twice == ["We try.", "It works."] * 2  # the door would refuse the second
    path = write(tmp_path / "a.jsonl", [{"title": "Rain falls", "body": "It fell.", "tldr": "Rain."}])
    assert texts(path, "jsonl", fields={"headline": "title"}) == ["Rain falls"]
    assert texts(path, "jsonl", fields={"text": "body", "reference": "tldr"}) == ["It fell.", "Rain."]
    assert texts(path, "jsonl", fields={"text": "body", "title": "title"}) == ["It fell."]  # a passage, as before
    assert texts(write_seeds(tmp_path / "s.parquet", [seed("news")]), "touchstone") == [" news 0\n"]


def test_a_source_of_assignments_is_fingerprinted_by_content(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"headline": "Rain falls"}])
    before = source_fingerprint(spec_of(path, "jsonl", fields={"headline": "headline"}))
    assert source_fingerprint(spec_of(path, "jsonl", fields={"prompt": "headline"})) != before
    write(path, [{"headline": "Snow falls"}])
    assert source_fingerprint(spec_of(path, "jsonl", fields={"headline": "headline"})) != before


class ByTask(FamilySettings):
    sources: dict[str, tuple[SourceSpec, ...]]


def test_sources_by_task_have_their_place_and_are_pinned() -> None:
    by_task = {
        "translation": [{"format": "ntrex", "path": "a.jsonl"}],
        "summarisation": [],
        "writing": [{"format": "ifeval", "path": "b.jsonl"}, {"format": "hub", "path": "acme/news"}],
    }
    part = Part("seeds", source=Assignment, sources=("sources",), item=Passage, steps=(), verify=lambda *_: iter(()))
    settings = ByTask.model_validate({"sources": by_task})
    assert [(place, spec.path) for place, spec in sources_of(settings, part.sources)] == [
        ("sources.translation[0]", "a.jsonl"),
        ("sources.writing[0]", "b.jsonl"),
        ("sources.writing[1]", "acme/news"),
    ]
    assert not list(sources_of(ByTask(sources={}), part.sources))
    changed = with_sources(
        settings.model_dump(mode="json"), lambda spec: spec.model_copy(update={"revision": "c0ffee"})
    )
    pinned = ByTask.model_validate(changed)
    assert [spec.revision for _, spec in sources_of(pinned, part.sources)] == [None, None, "c0ffee"]


def test_the_packaged_sample_is_whole(tmp_path: Path) -> None:
    config = yaml.safe_load(packaged("refutebench.yaml").read_text(encoding="utf-8"))
    counts: dict[str, Counter[str]] = {}
    for task, specs in config["families"]["refutebench"]["sources"].items():
        counts[task] = Counter()
        for one in specs:
            records = list(
                read_source(SourceSpec(**{**one, "path": str(packaged(one["path"]))}), Assignment, pytest.fail)
            )
            counts[task].update(record.given for record in records)
            assert all(bool(record.reference) == (task != "summarisation") for record in records)
            words = [len(record.text.split()) for record in records]
            low, high = {"translation": (8, 25), "summarisation": (80, 160), "writing": (5, 60)}[task]
            assert low <= min(words) <= max(words) <= high
    assert counts == {
        "translation": {"text": 24},
        "summarisation": {"text": 12},
        "writing": {"headline": 5, "post": 5, "prompt": 5, "request": 5},
    }
    assert all(sum(found.values()) >= config["families"]["refutebench"]["seeds_per_task"] for found in counts.values())
