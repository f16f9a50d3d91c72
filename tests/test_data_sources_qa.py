"""Question answering data and its passages: real files against a plain reading of them, and malformed ones."""

import gzip
import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from data.sources import SourceSpec, read_source
from data.sources.fingerprint import source_fingerprint
from schemas.base import Record
from schemas.reeval import Case, EnrichedCase, SwapCase
from schemas.source import Passage, QASource, Statement
from schemas.uraq import Conflict, UraqItem
from tests.test_data_sources import error, read, write

SQUAD2 = "squad2_en/dev.json.gz"
XQUAD_EN = "xquad/xquad.en.json.gz"
XQUAD_ZH = "xquad/xquad.zh.json.gz"
CMRC = "cmrc2018_zh/cmrc2018_dev.json.gz"
DRCD = "drcd_zh_hant/DRCD_dev.json.gz"
NQ = "nq_en/nq-open-oracle.jsonl.gz"
TIMEQA = "timeqa_en/human_annotated_train.jsonl.gz"
HOTPOTQA = "hotpotqa_en/dev_subsampled.jsonl.gz"
CORPUS = "wiki_passages_en/2wikimultihopqa_corpus.jsonl.gz"


def raw(path: Path) -> Any:
    """A SQuAD file as `json` has it."""
    return json.loads(gzip.decompress(path.read_bytes()).decode("utf-8"))


def raw_rows(path: Path) -> list[Any]:
    """The lines of a file as `json` has them."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n") if line]


def raw_questions(path: Path) -> dict[str, tuple[Any, Any, Any]]:
    """By id (article, paragraph, question)."""
    return {
        question["id"]: (article, paragraph, question)
        for article in raw(path)["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    }


def squad(*questions: object, context: object = "It was Lee. Lee it was.", **paragraph: object) -> dict[str, Any]:
    """A file of one article with one paragraph."""
    return {
        "version": "1.1",
        "data": [{"title": "A", "paragraphs": [{"context": context, "qas": questions, **paragraph}]}],
    }


def question(*answers: object, **more: object) -> dict[str, Any]:
    return {"id": "q1", "question": "Who?", "answers": answers, **more}


def answer(text: object, start: object) -> dict[str, object]:
    return {"text": text, "answer_start": start}


def saved(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8", newline="")
    return path


def pointing(records: list[QASource]) -> Counter[str]:
    """How many answers stand where they are said to, how many have no place, how many stand elsewhere."""
    counts: Counter[str] = Counter()
    for record in records:
        assert record.evidence is not None
        for text, start in zip(record.answers, record.answer_starts, strict=True):
            if start < 0:
                counts["no place"] += 1
            else:
                counts["right" if record.evidence.startswith(text, start) else "elsewhere"] += 1
    return counts


# ---- the shared data: counts ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "kept", "dropped"),
    [
        ("squad", SQUAD2, 2048, {"no answer": 2326}),  # 4,374 questions
        ("squad", XQUAD_EN, 687, {"duplicate text": 2}),  # 689
        ("squad", XQUAD_ZH, 685, {"duplicate text": 4}),  # 689
        ("squad", CMRC, 1906, {}),
        ("squad", DRCD, 3524, {}),
        ("nq-open", NQ, 1892, {}),
        ("timeqa", TIMEQA, 981, {"no answer": 189, "duplicate text": 1}),  # 1,171 questions of 320 pages
        ("squad-articles", SQUAD2, 2048, {"no answer": 2326}),
        ("timeqa-pages", TIMEQA, 981, {"no answer": 189, "duplicate text": 1}),
    ],
)
def test_every_question_is_kept_or_dropped(
    shared: Path, format_: str, name: str, kept: int, dropped: dict[str, int]
) -> None:
    records, refused = read(shared / "data" / name, QASource, format_)
    assert len(records) == kept
    assert Counter(one.reason for one in refused) == dropped
    assert len({one.key for one in (*records, *refused)}) == kept + sum(dropped.values())
    assert {one.format for one in records} == {format_}
    assert all(one.question == one.question.strip() for one in records)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "kept", "dropped"),
    [
        ("squad", SQUAD2, 462, {}),
        ("squad", XQUAD_EN, 145, {}),
        ("squad", XQUAD_ZH, 145, {}),
        ("squad", CMRC, 502, {}),
        ("squad", DRCD, 1000, {}),
        ("nq-open", NQ, 1848, {"duplicate text": 44}),  # 1,892, one a question
        ("timeqa", TIMEQA, 15088, {"duplicate text": 246, "empty text": 1}),  # 15,335 below 320 titles
        ("timeqa-pages", TIMEQA, 318, {"duplicate text": 2}),
        ("hotpotqa", HOTPOTQA, 3480, {"duplicate text": 44}),  # 3,524
        ("jsonl", CORPUS, 4056, {}),
    ],
)
def test_every_passage_is_kept_or_dropped(
    shared: Path, format_: str, name: str, kept: int, dropped: dict[str, int]
) -> None:
    records, refused = read(shared / "data" / name, Passage, format_, language="xx")
    assert len(records) == kept
    assert Counter(one.reason for one in refused) == dropped
    assert len({one.key for one in (*records, *refused)}) == kept + sum(dropped.values())
    assert {one.language for one in records} == {"xx"}
    assert all(len(one.evidence) <= 60 for one in refused)


# ---- the shared data: answers, offsets and text ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "right", "without"),
    [
        ("squad", SQUAD2, 3631, 0),
        ("squad", XQUAD_EN, 687, 0),
        ("squad", XQUAD_ZH, 685, 0),
        ("squad", DRCD, 4298, 0),
        ("timeqa", TIMEQA, 1033, 46),  # those of another paragraph than the first answer's
        ("timeqa-pages", TIMEQA, 1079, 0),
    ],
)
def test_every_offset_points_at_its_answer(shared: Path, format_: str, name: str, right: int, without: int) -> None:
    records, _ = read(shared / "data" / name, QASource, format_)
    assert pointing(records) == Counter({"right": right, "no place": without})


def test_cmrc_keeps_the_offsets_that_its_source_gets_wrong(shared: Path) -> None:
    path = shared / "data" / CMRC
    given = [
        (one["text"], one["answer_start"], paragraph["context"])
        for _, paragraph, row in raw_questions(path).values()
        for one in row["answers"]
    ]
    wrong = [one for one in given if one[1] < 0 or not one[2].startswith(one[0], one[1])]
    assert (len(given), len(wrong), sum(start == -1 for _, start, _ in wrong)) == (5718, 129, 122)
    records, _ = read(path, QASource, "squad")
    # 13 of the 129 repeat another wrong one of their question: 116 are left.
    assert pointing(records) == Counter({"right": 2370, "no place": 112, "elsewhere": 4})
    assert all(any(text in (record.evidence or "") for text in record.answers) for record in records)
    assert "39613.0" in {text for record in records for text in record.answers}


def test_cmrc_answers_lose_their_white_space_and_their_starts_follow(shared: Path) -> None:
    path = shared / "data" / CMRC
    spaced = {
        one["text"]
        for _, _, row in raw_questions(path).values()
        for one in row["answers"]
        if one["text"].strip() != one["text"]
    }
    assert len(spaced) == 5  # 7 answers
    records, _ = read(path, QASource, "squad")
    moved = [
        (text, record.evidence[start : start + len(text)])
        for record in records
        for text, start in zip(record.answers, record.answer_starts, strict=True)
        if record.evidence and text in {one.strip() for one in spaced}
    ]
    assert len(moved) >= len(spaced)
    assert all(text == there for text, there in moved)


@pytest.mark.slow
@pytest.mark.parametrize("name", [SQUAD2, XQUAD_EN, XQUAD_ZH, CMRC, DRCD])
def test_squad_text_is_the_files_own(shared: Path, name: str) -> None:
    rows = raw_questions(shared / "data" / name)
    records, _ = read(shared / "data" / name, QASource, "squad")
    for record in records:
        article, paragraph, row = rows[record.source.id]
        assert record.evidence == paragraph["context"]
        assert record.title == (article["title"] or None)
        assert record.question == row["question"].strip()
        assert record.answers == tuple(dict.fromkeys(one["text"].strip() for one in row["answers"]))
    passages, _ = read(shared / "data" / name, Passage, "squad")
    assert {one.text for one in passages} == {paragraph["context"] for _, paragraph, _ in rows.values()}


def test_white_space_around_questions_goes(shared: Path) -> None:
    for name, spaced in ((SQUAD2, 449), (XQUAD_EN, 29)):
        rows = raw_questions(shared / "data" / name).values()
        assert sum(row["question"] != row["question"].strip() for _, _, row in rows) == spaced


def test_stray_byte_order_marks_stay_where_offsets_count_them(shared: Path) -> None:
    passages, _ = read(shared / "data" / XQUAD_ZH, Passage, "squad")
    assert sum(one.text.count("\ufeff") for one in passages) == 5


def test_xquad_is_parallel_by_question_id(shared: Path) -> None:
    ids = [
        {one.source.id for one in read(shared / "data" / name, QASource, "squad")[0]} for name in (XQUAD_EN, XQUAD_ZH)
    ]
    assert len(ids[0] & ids[1]) == 685


def test_squad_and_xquad_share_paragraphs(shared: Path) -> None:
    texts = [{one.text for one in read(shared / "data" / name, Passage, "squad")[0]} for name in (SQUAD2, XQUAD_EN)]
    assert len(texts[0] & texts[1]) == 58


def test_a_question_that_is_asked_of_two_passages_is_kept_twice(shared: Path) -> None:
    for name, repeated in ((SQUAD2, 3), (CMRC, 1)):
        records, _ = read(shared / "data" / name, QASource, "squad")
        assert len(records) - len({one.question for one in records}) == repeated
    records, _ = read(shared / "data" / NQ, QASource, "nq-open")
    assert len(records) - len({one.title for one in records}) == 133  # another row's page


def test_passages_are_named_by_their_own_id_or_their_place(shared: Path) -> None:
    def first(format_: str, name: str) -> str:
        return read(shared / "data" / name, Passage, format_, limit=1)[0][0].source.id

    assert first("squad", SQUAD2) == "article 1, paragraph 1"
    assert first("squad", CMRC) == "DEV_0"
    assert first("squad", DRCD) == "1147-5"
    assert first("nq-open", NQ) == "line 1, context 1"
    assert first("timeqa", TIMEQA) == "/wiki/Newton_D._Baker_House#P466, paragraph 1"
    assert first("hotpotqa", HOTPOTQA) == "5a8e3ea95542995a26add48d, paragraph 1"


def test_nq_open_answers_and_gold_passage(shared: Path) -> None:
    rows = raw_rows(shared / "data" / NQ)
    assert sum(row["answers"] != row["nq_annotated_gold"]["short_answers"] for row in rows) == 703
    records, _ = read(shared / "data" / NQ, QASource, "nq-open")
    for row, record in zip(rows, records, strict=True):
        assert record.answers == tuple(row["answers"])
        assert (record.evidence, record.title) == (row["ctxs"][0]["text"], row["ctxs"][0]["title"])
        assert record.answer_starts == ()
    assert sum(len(record.answers) > 1 for record in records) == 882
    assert max(len(record.answers) for record in records) == 13
    evidence = [record.evidence or "" for record in records]
    assert sum(text.count("\xa0") for text in evidence) == 162  # of the file's 842; the others are in long answers
    assert sum(not unicodedata.is_normalized("NFC", text) for text in evidence) == 1


def test_timeqa_takes_the_paragraph_of_the_first_answer(shared: Path) -> None:
    records, _ = read(shared / "data" / TIMEQA, QASource, "timeqa")
    rows = {row["index"]: row for row in raw_rows(shared / "data" / TIMEQA)}
    assert len(rows) == 320
    for record in records:
        index, _, number = record.source.id.rpartition("#")
        _, answers = rows[index]["questions"][int(number) - 1]
        assert record.evidence == rows[index]["paras"][answers[0]["para"]]
        assert record.title == rows[index]["paras"][0]
        assert record.answers == tuple(dict.fromkeys(one["answer"] for one in answers))
    assert sum(len(record.answers) > 1 for record in records) == 83
    assert records[1].answers == ("Newton D . Baker",)
    assert sum(record.evidence == record.title for record in records) == 11  # it stands in the title


def test_hotpotqa_passages_are_every_paragraph(shared: Path) -> None:
    rows = raw_rows(shared / "data" / HOTPOTQA)
    assert Counter(len(row["contexts"]) for row in rows) == Counter({10: 351, 2: 3, 8: 1})
    passages, _ = read(shared / "data" / HOTPOTQA, Passage, "hotpotqa")
    given = {(one["title"], one["paragraph_text"].strip()) for row in rows for one in row["contexts"]}
    assert {(one.title, one.text) for one in passages} == given
    questions, _ = read(shared / "data" / HOTPOTQA, QASource, "hotpotqa")
    assert sum(one.answers in (("yes",), ("no",)) for one in questions) == 55
    assert all((one.title, one.answer_starts) == (None, ()) for one in questions)


# ---- the shared data: supporting documents ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "most"),
    [("hotpotqa", HOTPOTQA, 2), ("squad-articles", SQUAD2, 49), ("squad-articles", DRCD, 22)],
)
def test_every_document_is_found_among_the_passages(shared: Path, format_: str, name: str, most: int) -> None:
    records, _ = read(shared / "data" / name, QASource, format_)
    passages = {one.source.id: one for one in read(shared / "data" / name, Passage, format_)[0]}
    for record in records:
        for document in record.documents:
            passage = passages[document.id]
            assert (passage.title, passage.text) == (document.title, document.text)
    assert max(len(record.documents) for record in records) == most
    assert all(record.documents for record in records)


def test_hotpotqa_documents_are_the_supporting_paragraphs(shared: Path) -> None:
    records, _ = read(shared / "data" / HOTPOTQA, QASource, "hotpotqa")
    rows = {row["question_id"]: row for row in raw_rows(shared / "data" / HOTPOTQA)}
    for record in records:
        given = [one for one in rows[record.source.id]["contexts"] if one["is_supporting"]]
        assert [(one.title, one.text) for one in record.documents] == [
            (one["title"], one["paragraph_text"].strip()) for one in given
        ]
        assert record.evidence == "\n".join(one.text for one in record.documents)


def test_squad_documents_are_the_article_and_evidence_is_one_of_them(shared: Path) -> None:
    plain, _ = read(shared / "data" / SQUAD2, QASource, "squad")
    records, _ = read(shared / "data" / SQUAD2, QASource, "squad-articles")
    rows = raw_questions(shared / "data" / SQUAD2)
    for one, record in zip(plain, records, strict=True):
        assert (record.id, record.answers, record.answer_starts) == (one.id, one.answers, one.answer_starts)
        assert (one.documents, record.evidence in [document.text for document in record.documents]) == ((), True)
        article, _, _ = rows[record.source.id]
        assert [one.text for one in record.documents] == [one["context"] for one in article["paragraphs"]]


def test_timeqa_pages_hold_every_answer(shared: Path) -> None:
    records, _ = read(shared / "data" / TIMEQA, QASource, "timeqa-pages")
    texts = {one.text for one in read(shared / "data" / TIMEQA, Passage, "timeqa-pages")[0]}
    rows = {row["index"]: row for row in raw_rows(shared / "data" / TIMEQA)}
    several = 0
    for record in records:
        index, _, number = record.source.id.rpartition("#")
        assert record.evidence == "\n".join(rows[index]["paras"])
        assert record.evidence in texts
        _, answers = rows[index]["questions"][int(number) - 1]
        several += len(answers) > 1
        assert (len(record.answers) > 1) == (len(answers) > 1)  # so questions of several spans are told
    assert several == 83


# ---- the door: starts stay with their answers ----


def test_a_start_moves_with_what_is_stripped_off_the_front(tmp_path: Path) -> None:
    context = "It was \u3000Lee \xa0, and 𝒜nn."
    row = question(answer(" \u3000Lee \xa0", 6), answer("𝒜nn", 19), answer(" lost ", -1))
    (record,), _ = read(saved(tmp_path / "a.json", squad(row, context=context)), QASource, "squad")
    assert record.evidence == context
    assert (record.answers, record.answer_starts) == (("Lee", "𝒜nn", "lost"), (8, 19, -1))
    assert pointing([record]) == Counter({"right": 2, "no place": 1})


def test_a_repeated_answer_keeps_its_first_known_start(tmp_path: Path) -> None:
    row = question(answer("Lee", -1), answer("", 0), answer("was", 3), answer(" Lee", 11), answer("Lee", 7))
    (record,), _ = read(saved(tmp_path / "a.json", squad(row)), QASource, "squad")
    assert (record.answers, record.answer_starts) == (("Lee", "was"), (12, 3))


def test_zero_width_characters_are_no_white_space(tmp_path: Path) -> None:
    context = "\ufeffIt \u200bwas\u200d Lee\u2028."
    (record,), _ = read(
        saved(tmp_path / "a.json", squad(question(answer("\u200bwas\u200d", 4)), context=context)), QASource, "squad"
    )
    assert (record.answers, record.answer_starts, record.evidence) == (("\u200bwas\u200d",), (4,), context)


# ---- squad ----


def test_squad_refuses_what_has_no_answer(tmp_path: Path) -> None:
    rows = [
        question(is_impossible=True, plausible_answers=[answer("Lee", 7)]),
        {"id": "q2", "question": "Who?", "is_impossible": True},
        question(id="q3"),
        question(answer(" ", 2), id="q4", is_impossible=False),
        question(answer("Lee", 7), id="q5", question=" \u200b "),
        question(answer("Lee", 7), id="q6"),
        question(answer("Lee", 12), id="q7"),
        question(answer("it", 16), id="q6"),
    ]
    records, refused = read(saved(tmp_path / "a.json", squad(*rows)), QASource, "squad")
    assert [one.source.id for one in records] == ["q6"]
    assert [one.reason for one in refused] == [*["no answer"] * 4, "empty text", "duplicate text", "duplicate id"]
    assert refused[0].evidence == "Who?"
    assert {one.related_id for one in refused[5:]} == {records[0].id}


def test_squad_titles_are_the_paragraphs_or_the_articles(tmp_path: Path) -> None:
    titled = squad(question(answer("Lee", 7)), title=" B ")
    (record,), _ = read(saved(tmp_path / "a.json", titled), QASource, "squad")
    assert record.title == "B"
    for title in (None, "", " "):
        plain = squad(question(answer("Lee", 7)), title=title)
        (record,), _ = read(saved(tmp_path / "a.json", plain), QASource, "squad")
        assert record.title == "A"
        plain["data"][0]["title"] = title
        (record,), _ = read(saved(tmp_path / "a.json", plain), QASource, "squad")
        assert record.title is None
    del plain["data"][0]["title"]
    (passage,), _ = read(saved(tmp_path / "a.json", plain), Passage, "squad")
    assert (passage.title, passage.source.id) == (None, "article 1, paragraph 1")


def test_the_same_text_under_another_title_is_another_passage(tmp_path: Path) -> None:
    one, other = squad(), squad(id=7)
    one["data"] += [{**other["data"][0], "title": "B"}, {"title": "A", "paragraphs": other["data"][0]["paragraphs"]}]
    one["data"].append({"title": "C", "paragraphs": [{"context": "\u200b!", "qas": []}]})
    records, refused = read(saved(tmp_path / "a.json", one), Passage, "squad")
    assert [(passage.title, passage.source.id) for passage in records] == [("A", "article 1, paragraph 1"), ("B", "7")]
    assert [(drop.reason, drop.related_id) for drop in refused] == [
        ("duplicate text", records[0].id), ("empty text", None),
    ]  # fmt: skip


def test_a_document_has_the_id_of_the_first_passage_of_its_text(tmp_path: Path) -> None:
    first = {"context": "One.", "qas": [question(answer("One", 0))]}
    again = {"context": "One.", "id": 7, "qas": []}
    other = {"context": "Two.", "id": "t", "qas": [question(answer("Two", 0), id="q2")]}
    blank = {"context": "* * *", "qas": []}
    file: dict[str, Any] = {
        "data": [
            {"title": "A", "paragraphs": [first]},
            {"title": "A", "paragraphs": [again, blank, other, again]},
            {"title": "B", "paragraphs": [{**again, "qas": [question(answer("One", 0), id="q3", question="Which?")]}]},
        ]
    }
    path = saved(tmp_path / "a.json", file)
    records, _ = read(path, QASource, "squad-articles")
    place = "article 1, paragraph 1"
    assert [[one.id for one in record.documents] for record in records] == [[place], [place, "t"], ["7"]]
    assert [one.source.id for one in read(path, Passage, "squad-articles")[0]] == [place, "t", "7"]
    del file["data"][1]["paragraphs"][2]["context"]
    assert 'article 2, paragraph 3: expected a field "context", found none' in error(
        saved(path, file), QASource, "squad-articles"
    )


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([squad()], "a.json: expected one JSON object, found list; check the format and the path"),
        ("no", "a.json: expected one JSON object, found str"),
        ({"dta": []}, 'a.json: expected a field "data", found none; did you mean "dta"?'),
        ({"data": {}}, 'a.json: expected field "data" to be a list of objects, found dict {}'),
        ({"data": [{"title": "A"}]}, 'a.json: article 1: expected a field "paragraphs", found none'),
        ({"data": [*squad()["data"], "B"]}, "a.json: article 2: expected an object, found str 'B'"),
        ({"data": [{"paragraphs": [[]]}]}, "article 1, paragraph 1: expected an object, found list []"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, 'article 1, paragraph 1: expected a field "context", found none'),
        (squad(context=None), 'paragraph 1: expected field "context" to be a string, found NoneType None'),
        (squad(title=3), 'paragraph 1: expected field "title" to be a string, found int 3'),
        (squad("q"), "article 1, paragraph 1, question 1: expected an object, found str 'q'"),
        (squad(question(id=None)), 'question 1: expected field "id" to be a string or a whole number'),
        (squad({"id": "1", "question": "Who?"}), 'question 1: expected a field "answers", found none'),
        (squad(question(answers="Lee")), 'question 1: expected field "answers" to be a list of objects, found str'),
        (squad(question(is_impossible="no")), 'expected field "is_impossible" to be true or false, found str'),
        (squad(question(), question(answer("Lee", 7), "Lee")), "question 2, answer 2: expected an object, found str"),
        (squad(question({"text": "Lee"})), 'question 1, answer 1: expected a field "answer_start", found none'),
        (squad(question(answer(7, 7))), 'answer 1: expected field "text" to be a string, found int 7'),
        (squad(question(answer("Lee", "7"))), 'field "answer_start" to be a whole number, -1 or more, found str'),
        (squad(question(answer("Lee", 7.0))), 'field "answer_start" to be a whole number, -1 or more, found float'),
        (squad(question(answer("Lee", True))), 'field "answer_start" to be a whole number, -1 or more, found bool'),
        (squad(question(answer("Lee", -2))), 'field "answer_start" to be a whole number, -1 or more, found int -2'),
        ({"data": []}, "expected at least one row, found none"),
    ],
)
def test_a_malformed_squad_file_is_named_with_the_place(tmp_path: Path, value: object, says: str) -> None:
    assert says in error(saved(tmp_path / "a.json", value), QASource, "squad")


def test_a_file_of_mixed_encodings_or_no_json_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"data": [{"title": "\xe8\xa5\xbf", "paragraphs": "' + "西游记".encode("gb18030") + b'"}]}')
    assert "a.json: the file: expected UTF-8, found byte 0xce at 42; save the file as UTF-8" in error(
        path, QASource, "squad"
    )
    path.write_bytes(json.dumps(squad()).encode("utf-16"))
    assert "the file: expected UTF-8, found byte 0xff at 0" in error(path, Passage, "squad")
    for content in (b"", b"{", b'{"data": []} {}', b'{"data": "\\ud800"}', b"[" * 5000, b'{"data": NaN}'):
        path.write_bytes(content)
        assert "the file: expected JSON, found" in error(path, QASource, "squad")
    path.write_bytes(b'{"data": []}\n{"data": []}\n')
    assert error(path, QASource, "squad").endswith("at line 2, character 1; correct it, or name another format")
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(squad(question(answer("Lee", 7)))).encode())
    assert len(read(path, QASource, "squad")[0]) == 1


@pytest.mark.parametrize("format_", ["squad", "nq-open", "timeqa"])
def test_a_truncated_gzip_file_is_refused(tmp_path: Path, shared: Path, format_: str) -> None:
    whole = (shared / "data" / {"squad": SQUAD2, "nq-open": NQ, "timeqa": TIMEQA}[format_]).read_bytes()
    path = tmp_path / "cut.gz"
    for size in (len(whole) // 2, len(whole) - 4, 12):
        path.write_bytes(whole[:size])
        for shape in (QASource, Passage):
            assert "cut.gz: expected whole gzip data" in error(path, shape, format_)


def test_evidence_of_a_million_words_is_a_record(tmp_path: Path) -> None:
    context = "word " * 1_000_000 + "Lee."
    path = saved(tmp_path / "a.json", squad(question(answer("Lee", 5_000_000)), context=context))
    (record,), _ = read(path, QASource, "squad")
    assert record.evidence == context
    assert pointing([record]) == Counter({"right": 1})
    (passage,), _ = read(path, Passage, "squad")
    assert passage.text == context
    assert len(error(saved(path, squad(question(context))), QASource, "squad")) < 300


# ---- nq-open ----


def nq(*contexts: object, **more: object) -> dict[str, Any]:
    return {"question": " who ", "answers": ["291 episodes", "291", "291"], "ctxs": contexts, **more}


def context(text: object, gold: object, title: object = "A") -> dict[str, object]:
    return {"title": title, "text": text, "isgold": gold, "hasanswer": gold}


def test_nq_open_takes_the_gold_passage_among_others(tmp_path: Path) -> None:
    rows = [
        nq(
            context("No.", False),
            context(" It has 291\xa0episodes.", True, " B "),
            nq_annotated_gold={"short_answers": []},
        ),
        nq(context("No.", False), question="what"),
    ]
    path = write(tmp_path / "a.jsonl", rows)
    (record,), (drop,) = read(path, QASource, "nq-open")
    assert (record.question, record.answers) == ("who", ("291 episodes", "291"))
    assert (record.evidence, record.title, record.source.id) == (" It has 291\xa0episodes.", "B", "line 1")
    assert (drop.reason, drop.evidence) == ("no gold passage", "what")
    passages, refused = read(path, Passage, "nq-open")
    assert [one.source.id for one in passages] == ["line 1, context 1", "line 1, context 2"]
    assert [(one.reason, one.related_id) for one in refused] == [("duplicate text", passages[0].id)]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (nq("no"), "line 1, context 1: expected an object, found str 'no'"),
        (nq(context("It.", 1)), 'context 1: expected field "isgold" to be true or false, found int 1'),
        (nq({"text": "It."}), 'context 1: expected a field "isgold", found none'),
        (nq(context(None, True)), 'context 1: expected field "text" to be a string, found NoneType'),
        (nq(context("It.", True, [])), 'context 1: expected field "title" to be a string, found list'),
        (nq(context("It.", True), answers="291"), 'line 1: expected field "answers" to be a list of strings'),
    ],
)
def test_a_malformed_nq_open_row_is_named(tmp_path: Path, row: object, says: str) -> None:
    assert says in error(write(tmp_path / "a.jsonl", [row]), QASource, "nq-open")


# ---- timeqa ----

PAGE = ["Lee", "Lee was mayor . Then Ann was .", "In 1990 Ann was mayor .", "\u200b"]


def timed(*questions: object, paras: object = PAGE, index: object = "/wiki/Lee#P1") -> dict[str, object]:
    return {"index": index, "type": "P1", "link": "/wiki/Lee", "questions": questions, "paras": paras}


def stands(text: object, para: object, start: object) -> dict[str, object]:
    return {"para": para, "from": start, "end": 0, "answer": text}


def test_timeqa_keeps_answers_of_other_paragraphs_without_a_start(tmp_path: Path) -> None:
    rows = [
        timed(
            [" Who? ", [stands("Ann", 2, 8), stands("Lee", 1, 0), stands("mayor", 2, 16), stands("Ann", 1, 21)]],
            ["Who then?", [stands("", 0, 0)]],
            ["And who?", []],
            ["Whose page?", [stands("Lee", 0, 0), stands("", 0, 0)]],
        )
    ]
    path = write(tmp_path / "a.jsonl", rows)
    records, refused = read(path, QASource, "timeqa")
    assert [(one.source.id, one.question, one.evidence, one.title) for one in records] == [
        ("/wiki/Lee#P1#1", "Who?", PAGE[2], "Lee"), ("/wiki/Lee#P1#4", "Whose page?", "Lee", "Lee"),
    ]  # fmt: skip
    assert (records[0].answers, records[0].answer_starts) == (("Ann", "Lee", "mayor"), (8, -1, 16))
    assert (records[1].answers, records[1].answer_starts) == (("Lee",), (0,))
    assert [(one.reason, one.evidence) for one in refused] == [("no answer", "Who then?"), ("no answer", "And who?")]
    passages, dropped = read(path, Passage, "timeqa")
    assert [(one.text, one.title, one.source.id) for one in passages] == [
        (PAGE[1], "Lee", "/wiki/Lee#P1, paragraph 1"), (PAGE[2], "Lee", "/wiki/Lee#P1, paragraph 2"),
    ]  # fmt: skip
    assert [one.reason for one in dropped] == ["empty text"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (timed(["Who?", [stands("Ann", 4, 0)]]), 'question 1, answer 1: expected field "para" to be 0 to 3, found 4'),
        (timed(["Who?", [stands("Ann", -1, 0)]]), 'answer 1: expected field "para" to be 0 to 3, found -1'),
        (timed(["Who?", [stands("Ann", "2", 0)]]), 'answer 1: expected field "para" to be a whole number'),
        (timed(["Who?", [stands("Ann", 2, None)]]), 'answer 1: expected field "from" to be a whole number'),
        (timed(["Who?", [stands(None, 2, 0)]]), 'answer 1: expected field "answer" to be a string'),
        (timed(["Who?", ["Ann"]]), "line 1, question 1, answer 1: expected an object, found str 'Ann'"),
        (timed(["Who?"]), 'line 1: expected field "questions" to be a list of pairs of a string and a list'),
        (timed({"question": "Who?"}), 'line 1: expected field "questions" to be a list of pairs'),
        (timed(paras=[]), 'line 1: expected field "paras" to start with the title, found an empty list'),
        (timed(paras=["Lee", 3]), 'line 1: expected field "paras" to be a list of strings, found int 3'),
        (timed(index=None), 'line 1: expected field "index" to be a string or a whole number'),
    ],
)
def test_a_malformed_timeqa_row_is_named(tmp_path: Path, row: object, says: str) -> None:
    assert says in error(write(tmp_path / "a.jsonl", [row]), QASource, "timeqa")


def test_timeqa_pages_count_starts_in_the_page(tmp_path: Path) -> None:
    answers = [stands("Ann", 2, 8), stands("Lee", 0, 0), stands("mayor", 1, 8), stands("1990", 2, -1)]
    path = write(tmp_path / "a.jsonl", [timed(["Who?", answers], ["And who?", [stands("", 0, 0)]])])
    (record,), (drop,) = read(path, QASource, "timeqa-pages")
    assert record.evidence == "Lee\nLee was mayor . Then Ann was .\nIn 1990 Ann was mayor .\n\u200b"
    assert (record.answers, record.answer_starts) == (("Ann", "Lee", "mayor", "1990"), (43, 0, 12, -1))
    assert pointing([record]) == Counter({"right": 3, "no place": 1})
    assert (record.documents, drop.reason) == ((), "no answer")
    (passage,), _ = read(path, Passage, "timeqa-pages")
    assert (passage.text, passage.title, passage.source.id) == (record.evidence, "Lee", "/wiki/Lee#P1")


# ---- realtimeqa: no real rows are at hand ----

NEWS = {
    "question_id": "20220617_0", "question_date": "2022/06/17", "question_source": "CNN",
    "question_sentence": " Which country won? ", "choices": ["Italy", " Japan ", "Peru", "Chad"], "answer": ["1"],
    "evidence": " <p>Japan&nbsp;won.</p>\n",
}  # fmt: skip


def test_realtimeqa_gives_the_right_choices_and_the_evidence_as_it_is(tmp_path: Path) -> None:
    rows = [
        NEWS,
        {**NEWS, "question_id": "20220617_1", "answer": ["2", "0"], "evidence": None},
        {**NEWS, "question_id": "20220617_2", "answer": []},
    ]
    for path in (write(tmp_path / "a.jsonl", rows), saved(tmp_path / "a.json", rows)):
        records, refused = read(path, QASource, "realtimeqa")
        assert [(one.source.id, one.question, one.answers, one.evidence) for one in records] == [
            ("20220617_0", "Which country won?", ("Japan",), " <p>Japan&nbsp;won.</p>\n"),
            ("20220617_1", "Which country won?", ("Peru", "Italy"), None),
        ]
        assert [one.reason for one in refused] == ["no answer"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"answer": ["4"]}, 'line 1: expected field "answer" to number the choices from "0" to "3", found \'4\''),
        ({"answer": ["Japan"]}, "found 'Japan'"),
        ({"answer": ["-1"]}, "found '-1'"),
        ({"answer": ["²"]}, "found '²'"),
        ({"answer": "1"}, 'expected field "answer" to be a list of strings, found str'),
        ({"answer": [1]}, 'expected field "answer" to be a list of strings, found int 1'),
        ({"choices": "Japan"}, 'expected field "choices" to be a list of strings'),
        ({"evidence": []}, 'expected field "evidence" to be a string, found list'),
        ({"question_id": None}, 'expected field "question_id" to be a string or a whole number'),
    ],
)
def test_a_malformed_realtimeqa_row_is_named(tmp_path: Path, more: dict[str, object], says: str) -> None:
    assert says in error(write(tmp_path / "a.jsonl", [{**NEWS, **more}]), QASource, "realtimeqa")


# ---- hotpotqa ----


def test_hotpotqa_passages_in_its_authors_shape(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "_id": "h1", "question": "Who?", "answer": "Lee", "supporting_facts": [["B", 0]],
        "context": [["A", ["One.", " Two. "]], ["B", ["Lee."]], ["C", []]],
    }  # fmt: skip
    path = saved(tmp_path / "dev.json", [row])
    records, refused = read(path, Passage, "hotpotqa")
    assert [(one.title, one.text, one.source.id) for one in records] == [
        ("A", "One. Two.", "h1, paragraph 1"), ("B", "Lee.", "h1, paragraph 2"),
    ]  # fmt: skip
    assert [one.reason for one in refused] == ["empty text"]
    row["context"][1][1] = ["Lee.", 3]
    message = error(saved(path, [row]), QASource, "hotpotqa")
    assert 'row 1, context 2: expected field "sentences" to be a list of strings, found int 3' in message


def test_hotpotqa_documents_in_its_authors_shape(tmp_path: Path) -> None:
    row = {
        "_id": "h1", "question": "Who?", "answer": "Lee", "supporting_facts": [["B", 0], ["C", 0]],
        "context": [["A", ["One.", " Two. "]], ["B", ["Lee."]], ["C", []]],
    }  # fmt: skip
    other = {**row, "_id": "h2", "question": "What?", "supporting_facts": [["B", 0], ["A", 1]]}
    (first, second), _ = read(write(tmp_path / "dev.jsonl", [row, other]), QASource, "hotpotqa")
    assert [(one.id, one.title, one.text) for one in first.documents] == [("h1, paragraph 2", "B", "Lee.")]
    # The second question's paragraphs repeat the first's, and are passages under its ids.
    assert [one.id for one in second.documents] == ["h1, paragraph 1", "h1, paragraph 2"]
    assert second.revised(documents=()).id == second.id


# ---- mapped rows ----


@pytest.mark.slow
def test_mapped_rows_give_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"body": " \xa0Snow is white. ", "page": " Snow ", "n": 7}, {"body": "Ice is cold.", "page": "", "n": 8}]
    fields = {"text": "body", "title": "page", "id": "n"}
    write(tmp_path / "a.jsonl", rows)
    (tmp_path / "a.csv").write_text(
        "body,page,n\n" + "".join(f"{row['body']},{row['page']},{row['n']}\n" for row in rows), encoding="utf-8"
    )
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "acme" / "pages").mkdir(parents=True)
    write(tmp_path / "acme" / "pages" / "train.jsonl", rows)
    monkeypatch.chdir(tmp_path)
    for format_, path in (("jsonl", "a.jsonl"), ("csv", "a.csv"), ("parquet", "a.parquet"), ("hub", "acme/pages")):
        spec = SourceSpec(format=format_, path=path, fields=fields, language="de", licence="CC0")
        records = list(read_source(spec, Passage, pytest.fail))
        assert [(one.text, one.title, one.language) for one in records] == [
            (" \xa0Snow is white. ", "Snow", "de"), ("Ice is cold.", None, "de"),
        ]  # fmt: skip
        assert [one.source.id for one in records] == ["7", "8"]
        assert records[0].source.licence == "CC0"


def test_mapped_passages_need_no_more_than_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"text": "Snow is white.", "title": None}, {"text": "Ice is cold."}])
    records, _ = read(path, Passage, "jsonl")
    assert [(one.title, one.source.id) for one in records] == [(None, "line 1"), (None, "line 2")]
    assert 'expected a field "page", found text, title' in error(path, Passage, "jsonl", fields={"title": "page"})
    assert 'fields: unknown field "topic"' in error(path, Passage, "jsonl", fields={"topic": "page"})
    path = write(tmp_path / "b.jsonl", [{"body": "Snow is white."}])
    assert 'expected a field "text" or "question", found body' in error(path, Passage, "jsonl")


def test_mapped_questions_bring_starts_and_a_title(tmp_path: Path) -> None:
    row = {"question": "Who?", "a": [" Lee", "Lee", "Ann"], "evidence": "It was Lee.", "at": [6, 7, -1], "title": " B "}
    fields = {"answers": "a", "answer_starts": "at"}
    write(tmp_path / "a.jsonl", [row])
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "a.parquet")
    for format_ in ("jsonl", "parquet"):
        (record,), _ = read(tmp_path / f"a.{format_}", QASource, format_, fields=fields)
        assert (record.answers, record.answer_starts, record.title) == (("Lee", "Ann"), (7, -1), "B")
    (record,), _ = read(tmp_path / "a.jsonl", QASource, "jsonl", fields={"answers": "a"})
    assert record.answer_starts == ()


@pytest.mark.parametrize("starts", [[7], [7, 0, 0], 7, "7", [7, "0"], [7, True], [7, -2], [7, 0.5], [7, None]])
def test_starts_must_be_one_per_answer(tmp_path: Path, starts: object) -> None:
    row = {"question": "Who?", "answers": ["Lee", "It"], "evidence": "It was Lee.", "answer_starts": starts}
    assert (
        'expected field "answer_starts" to be a list of 2 whole numbers, -1 or more (one per answer), found'
        in error(write(tmp_path / "a.jsonl", [row]), QASource, "jsonl")
    )


def test_csv_offers_no_starts(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,answers,title,answer_starts\nWho?,Lee,B,7\n", encoding="utf-8")
    (record,), _ = read(path, QASource, "csv")
    assert (record.title, record.answer_starts) == ("B", ())
    assert 'fields: unknown field "answer_starts"' in error(path, QASource, "csv", fields={"answer_starts": "n"})


# ---- our own cases ----


@pytest.mark.parametrize(
    ("shape", "more", "answers", "evidence", "title"),
    [
        (Case, {"evidence": "It was Lee.", "title": "B"}, ("Lee", "Li"), "It was Lee.", "B"),
        # The aliases of a swapped case are of the answer that was swapped out.
        (
            SwapCase,
            {"answer": "Ann", "original_answer": "Lee", "evidence": "It was Ann."},
            ("Ann",),
            "It was Ann.",
            None,
        ),
        (
            EnrichedCase,
            {"evidence_question_focused": "Q. It was Lee.", "evidence_evidence_focused": "E. It was Lee."},
            ("Lee", "Li"),
            "Q. It was Lee.",
            None,
        ),
    ],
)
def test_cases_of_ours_are_questions_of_another_part(
    tmp_path: Path,
    shape: type[Record],
    more: dict[str, str],
    answers: tuple[str, ...],
    evidence: str,
    title: str | None,
) -> None:
    row = {"key": "k", "question": "Who?", "answer": "Lee", "aliases": ["Li"], **more}
    assert set(row) <= set(shape.model_fields)
    path = tmp_path / "cases.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    (record,), _ = read(path, QASource, "touchstone")
    assert (record.question, record.answers, record.evidence, record.title) == ("Who?", answers, evidence, title)
    (passage,), _ = read(path, Passage, "touchstone")
    assert (passage.text, passage.title, passage.source.id) == (evidence, title, "k")


PAIR = {
    "key": "k", "original": "Bees have 6 legs.", "manipulated": "Bees have 8 legs.", "question": "How many of two?",
    "answer_original": "12", "answer_manipulated": "16",
}  # fmt: skip


def test_pairs_of_uraq_are_questions_with_the_original_as_evidence(tmp_path: Path) -> None:
    assert set(PAIR) <= set(Conflict.model_fields)
    path = tmp_path / "uraq-conflicts.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([PAIR]), path)
    (record,), _ = read(path, QASource, "touchstone")
    assert (record.question, record.answers, record.evidence) == ("How many of two?", ("12",), "Bees have 6 legs.")
    assert record.sides == (("12", "Bees have 6 legs."), ("16", "Bees have 8 legs."))
    (passage,), _ = read(path, Passage, "touchstone")
    assert (passage.text, passage.source.id) == ("Bees have 6 legs.", "k")


def test_items_of_uraq_ask_their_single_hop_question_too(tmp_path: Path) -> None:
    row = {**PAIR, "single_hop_question": "How many legs have bees?", "single_hop_answer": "6", "topic": None}
    assert set(row) <= set(UraqItem.model_fields)
    path = tmp_path / "uraq-items.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    (own, single), _ = read(path, QASource, "touchstone")
    assert (own.source.id, own.answers, own.evidence, len(own.sides)) == ("k", ("12",), "Bees have 6 legs.", 2)
    assert (single.source.id, single.question) == ("k#single-hop", "How many legs have bees?")
    assert (single.answers, single.evidence, single.sides) == (("6",), "Bees have 6 legs.", ())
    passages, _ = read(path, Passage, "touchstone")
    assert [(one.text, one.source.id) for one in passages] == [("Bees have 6 legs.", "k")]


def test_records_of_ours_without_evidence_are_no_passages(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"key": "k", "question": "Who?"}]), path)
    assert 'a.parquet: row 1: expected a field "evidence", found none' in error(path, Passage, "touchstone")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"key": "k", "text": "Snow is white."}]), path)
    assert [one.text for one in read(path, Passage, "touchstone")[0]] == ["Snow is white."]


def test_what_a_reader_gives_anew_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{}])
    prints = {name: source_fingerprint(SourceSpec(format=name, path=str(path))) for name in ("hotpotqa", "squad")}
    assert prints["hotpotqa"]["reader"] == 2
    assert "reader" not in prints["squad"]


# ---- the specification ----


def test_a_format_is_asked_only_for_what_it_gives(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.json", squad(question(answer("Lee", 7))))
    assert "expected a format that gives a Statement, found squad; use one of" in error(path, Statement, "squad")
    assert "a Passage, found realtimeqa; use one of hotpotqa, squad, squad-articles, nq-open, timeqa" in error(
        path, Passage, "realtimeqa"
    )
    assert "expected a format that gives a QASource, found book; use one of" in error(path, QASource, "book")
    assert "format squad takes no fields" in error(path, QASource, "squad", fields={"question": "q"})
    assert 'unknown format "nq_open"; did you mean "nq-open"?' in error(path, QASource, "nq_open")


def test_the_limit_counts_questions_and_passages_that_are_kept(tmp_path: Path) -> None:
    rows = [question(), question(answer("Lee", 7), id="q2"), question(answer("it", 16), id="q3")]
    records, refused = read(saved(tmp_path / "a.json", squad(*rows)), QASource, "squad", limit=1)
    assert ([one.source.id for one in records], len(refused)) == (["q2"], 1)
