"""`touchstone new` looks at files: formats, columns, languages, and what cannot be used."""

import csv
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.construct.proposal import Material, has_answer
from flows.new import look as looking
from flows.new.columns import guess
from flows.new.languages import language_of_texts
from flows.new.look import look
from schemas.errors import WrongInput
from schemas.source import Assignment, Dialogue, Passage, QASource, Statement

RIVERS = [
    {
        "question": f"Which river flows through the town of Place{number}?",
        "answer": f"the River{number}",
        "text": f"Place{number} is an old town with a market. The River{number} flows through it to the sea.",
    }
    for number in range(6)
]


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def the_only(path: Path) -> Material:
    material, unused = look([path])
    assert not unused, unused
    (some,) = material
    return some


def test_german_headers_of_a_table_of_questions_are_understood(tmp_path: Path) -> None:
    rows = [[str(n), row["question"], row["answer"], row["text"], "x"] for n, row in enumerate(RIVERS)]
    some = the_only(write_csv(tmp_path / "faq.csv", ["Nr", "Frage", "Antwort", "Absatz", "Stand"], rows))
    assert some.spec.format == "csv"
    assert some.spec.fields == {"question": "Frage", "answers": "Antwort", "evidence": "Absatz", "id": "Nr"}
    assert (some.language, some.is_whole, len(some.records[QASource])) == ("en", True, 6)


def test_columns_without_telling_names_are_told_by_what_they_hold(tmp_path: Path) -> None:
    rows = [{"x": row["text"], "y": row["answer"], "z": row["question"]} for row in RIVERS]
    assert the_only(write_jsonl(tmp_path / "a.jsonl", rows)).spec.fields == {
        "question": "z", "answers": "y", "evidence": "x"
    }  # fmt: skip


def test_other_columns_that_could_be_meant_are_kept(tmp_path: Path) -> None:
    rows = [{**row, "answer 2": row["answer"]} for row in RIVERS]
    some = the_only(write_jsonl(tmp_path / "a.jsonl", rows))
    assert some.spec.fields is not None
    assert some.spec.fields["answers"] == "answer"
    assert some.others == {"answers": ("answer 2",)}


def test_parquet_with_lists_of_answers(tmp_path: Path) -> None:
    table = pa.table(
        {
            "query": [row["question"] for row in RIVERS],
            "gold_answers": [[row["answer"]] for row in RIVERS],
            "context": [row["text"] for row in RIVERS],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    some = the_only(tmp_path / "a.parquet")
    assert some.spec.fields == {"question": "query", "answers": "gold_answers", "evidence": "context"}
    assert len(some.with_answers()) == 6


def test_squad_is_known_by_its_form(tmp_path: Path) -> None:
    paragraphs = [
        {
            "context": row["text"],
            "qas": [
                {"id": str(n), "question": row["question"],
                 "answers": [{"text": row["answer"], "answer_start": row["text"].lower().index(row["answer"].lower())}]}
            ],
        }
        for n, row in enumerate(RIVERS)
    ]  # fmt: skip
    path = tmp_path / "dev.json.gz"
    with gzip.open(path, "wt") as file:
        json.dump({"data": [{"title": "Rivers", "paragraphs": paragraphs}]}, file)
    some = the_only(path)
    assert (some.spec.format, some.spec.fields, len(some.records[QASource])) == ("squad", None, 6)


def test_dialogues_statements_and_texts(tmp_path: Path) -> None:
    turns = ["Do you like tea?", "Yes, green tea most of all.", "Where does it come from?"]
    dialogues = [
        {
            "dialogue_history": turns,
            "knowledge": "Tea comes from China and is old.",
            "reply": f"From China, I think {n}.",
        }
        for n in range(3)
    ]
    some = the_only(write_jsonl(tmp_path / "talk.jsonl", dialogues))
    assert some.spec.fields == {"history": "dialogue_history", "knowledge": "knowledge", "response": "reply"}
    assert len(some.records[Dialogue]) == 3
    claims = [[f"The tower of Town{n} was built in 19{n}0.", "true"] for n in range(1, 5)]
    some = the_only(write_csv(tmp_path / "claims.csv", ["Behauptung", "wahr"], claims))
    assert some.spec.fields == {"text": "Behauptung"}
    assert list(some.records) == [Statement]
    texts = [{"body": " ".join([f"{row['text']} In the year {n} it was so."] * 5)} for n, row in enumerate(RIVERS)]
    some = the_only(write_jsonl(tmp_path / "texts.jsonl", texts))
    assert list(some.records) == [Passage, Assignment]


def test_a_label_beside_statements_is_said(tmp_path: Path) -> None:
    rows = [[f"The tower of Town{n} was built in 19{n}0.", str(n % 2 == 0).lower()] for n in range(1, 5)]
    (note,) = the_only(write_csv(tmp_path / "claims.csv", ["claim", "label"], rows)).notes
    assert note.startswith("label says which are true")


def test_lists_written_as_text_are_said(tmp_path: Path) -> None:
    rows = [[row["question"], f'["{row["answer"]}"]', row["text"]] for row in RIVERS]
    some = the_only(write_csv(tmp_path / "faq.csv", ["question", "answers", "context"], rows))
    assert "answers has lists written as text" in some.notes[0]


def test_an_answer_is_looked_for_as_the_families_do(tmp_path: Path) -> None:
    rows = [*RIVERS[:4], {**RIVERS[4], "answer": "the Danube"}]
    some = the_only(write_jsonl(tmp_path / "a.jsonl", rows))
    assert [has_answer(question) for question in some.records[QASource]] == [True] * 4 + [False]


def test_a_mixed_folder_gives_each_file_its_format(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "rivers.md").write_text("# Rivers\n\n" + " ".join(row["text"] for row in RIVERS * 2))
    (folder / ".hidden.md").write_text("secret")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    write_jsonl(folder / "faq.jsonl", RIVERS)
    material, unused = look([folder])
    assert [(some.spec.format, some.name) for some in material] == [
        ("documents", f"{folder}/notes/**/*.md"), ("jsonl", f"{folder}/faq.jsonl"),
    ]  # fmt: skip
    assert [(file.path, file.why) for file in unused] == [(str(folder), "1 file of no known format (.png)")]


def test_a_folder_of_documents_is_one_source(tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"# Part {number}\n\n" + " ".join(row["text"] for row in RIVERS[number:]))
    some = the_only(folder)
    assert (some.name, some.files) == (str(folder), 3)
    assert sum(len(passage.text.split()) for passage in some.records[Passage]) > 100


def test_documents_in_other_languages_are_counted(tmp_path: Path) -> None:
    texts = {
        "en": " ".join(row["text"] for row in RIVERS),
        "zh": "这条河流经这座城市,然后流入大海。城里有一个很大的市场和一座老磨坊,每天都有很多人来。" * 3,
        "de": " ".join(f"Der Fluss Nummer {n} fließt durch die Stadt und dann in das Meer." for n in range(9)),
    }
    for language, text in texts.items():
        (tmp_path / f"{language}.md").write_text(f"# {language}\n\n{text}\n")
    german, chinese = the_only(tmp_path).notes
    assert german.startswith("1 document in German, which no family reads")
    assert chinese == "1 of 3 passages are in Chinese, the others are not"


def test_the_folder_of_the_build_is_named_by_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the report that a build writes there would be one of its documents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("# A\n\n" + " ".join(row["text"] for row in RIVERS))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("{}")
    (tmp_path / "out" / "accepted").mkdir()
    (tmp_path / "out" / "report.html").write_text("<p>a report</p>")
    material, unused = look([Path()])
    assert [some.name for some in material] == ["*.md"]
    assert not unused


def test_no_more_than_the_beginning_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MOST_ROWS", 4)
    monkeypatch.setattr(looking, "MOST_BYTES", 600)
    some = the_only(write_jsonl(tmp_path / "a.jsonl", RIVERS))
    assert (len(some.records[QASource]), some.is_whole) == (4, False)
    folder = tmp_path / "handbook"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.md").write_text(" ".join(row["text"] for row in RIVERS[:3]) + f" It is part {number}.")
    some = the_only(folder)
    assert (some.files, some.is_whole) == (4, False)
    assert some.more == pytest.approx(2, rel=0.1)


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": \n')
    latin = tmp_path / "latin.csv"
    latin.write_bytes("Frage,Antwort\nWo?,K\xf6ln\n".encode("latin-1"))
    unasked = write_jsonl(tmp_path / "unasked.jsonl", [{"question": row["question"]} for row in RIVERS])
    numbers = write_csv(tmp_path / "numbers.csv", ["a", "b"], [["1", "2"], ["3", "4"]])
    talk = write_csv(tmp_path / "talk.csv", ["history", "knowledge", "response"], [["a b", "c d", "e f"]])
    fake = tmp_path / "fake.parquet"
    fake.write_text("no parquet")
    material, unused = look([broken, latin, unasked, numbers, talk, fake])
    assert not material
    said = {Path(file.path).name: file.why for file in unused}
    assert "expected JSON" in said["broken.jsonl"]
    assert "expected UTF-8" in said["latin.csv"]
    assert said["unasked.jsonl"] == "questions without a column of answers"
    assert said["numbers.csv"] == "no column looks like texts; it has a, b"
    assert said["talk.csv"].startswith("dialogues are read from jsonl alone")
    assert "expected Parquet" in said["fake.parquet"]


def test_questions_whose_passages_are_only_other_answers_have_no_evidence(tmp_path: Path) -> None:
    rows = [
        {
            "Question": row["question"],
            "Best Answer": row["answer"],
            "Correct Answers": f"{row['answer']}; a river there",
        }
        for row in RIVERS
    ]
    assert "evidence" not in (the_only(write_jsonl(tmp_path / "a.jsonl", rows)).spec.fields or {})


def test_of_many_sources_less_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "FEWEST_ROWS", 2)
    monkeypatch.setattr(looking, "ROWS_IN_ALL", 9)
    paths = [write_jsonl(tmp_path / f"{number}.jsonl", RIVERS) for number in range(3)]
    material, _ = look(paths)
    assert [len(some.records[QASource]) for some in material] == [3, 3, 3]


def test_a_row_that_a_build_would_stop_at_is_said_now(tmp_path: Path) -> None:
    rows = [*RIVERS, {**RIVERS[0], "question": "Which river is this one?", "answer": None}]
    (file,) = look([write_jsonl(tmp_path / "a.jsonl", rows)])[1]
    assert "line 7" in file.why


def test_what_is_no_file_is_refused_by_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(WrongInput, match=r"pipe\.jsonl: expected a file, found a pipe"):
        look([tmp_path / "pipe.jsonl"])
    with pytest.raises(WrongInput, match="/dev/zero: expected a file, found a device"):
        look([Path("/dev/zero")])


@pytest.mark.parametrize("what", ["missing", "empty"])
def test_nothing_to_look_at_is_wrong_input(what: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(WrongInput, match=what if what == "empty" else "no such file or folder"):
        look([tmp_path / what])


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The river flows through the town and into the sea.", "en"),
        ("这条河流经这座城市,然后流入大海。", "zh"),
        ("Der Fluss fließt durch die Stadt und dann in das Meer.", "de"),
        ("La rivière traverse la ville et se jette dans la mer.", "fr"),
        ("この川は町を流れて海に注ぎます。", "ja"),
        ("이 강은 도시를 지나 바다로 흐른다.", "ko"),
        ("Река течёт через город и впадает в море.", "ru"),
        ("1 2 3", "und"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of_texts([text]) == language


def test_a_guess_needs_columns_that_every_row_has() -> None:
    assert guess([{"question": "Where is it?", "answer": "here"}, {"question": "Who is it?"}]) is not None
    guessed = guess([{"question": "Where is it?", "answer": "here"}, {"question": "Who is it?"}])
    assert guessed is not None
    assert guessed.shapes == ()
