"""`touchstone new`: what it prints, what it writes, and that it runs."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from flows import cli
from flows.new.configuration import model_settings
from flows.project.project import Project
from flows.project.settings import default_config, load_config, sample_path
from schemas.errors import Failed, WrongInput
from tests.builds import share_vectors, touchstone
from tests.test_flows_new_look import RIVERS, write_csv, write_jsonl

SAMPLES = sample_path().parent


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def new(*arguments: str) -> str:
    """Run the command; return what it printed. Raises its error."""
    result = CliRunner().invoke(cli.app, ["new", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def families() -> dict[str, Any]:
    written: dict[str, Any] = yaml.safe_load(Path("touchstone.yaml").read_text(encoding="utf-8"))["families"]
    return written


def test_questions_give_the_families_that_read_them(here: Path) -> None:
    shutil.copy(SAMPLES / "questions.jsonl", "faq.jsonl")
    shutil.copy(SAMPLES / "pages.jsonl", "pages.jsonl")
    printed = new("faq.jsonl", "pages.jsonl")
    assert "120 questions of about 11 words each, 60 passages of 92, English" in printed
    assert "charpeval: wants English dialogues" in printed
    written = families()
    assert {"documents", "reeval", "lveval"} <= written.keys()
    assert "uraq" not in written
    assert "charpeval" not in written
    assert written["reeval"]["sources"][0]["fields"]["evidence"] == "evidence"
    dataset = written["lveval"]["datasets"]["faq"]
    assert dataset["task"] == "single-hop-cqa"
    assert Project(Path("touchstone.yaml"), here / "out").build, "it is ready to run"


def test_documents_give_the_families_that_read_their_questions(here: Path) -> None:
    folder = here / "handbook"
    folder.mkdir()
    for number, line in enumerate((SAMPLES / "pages.jsonl").read_text(encoding="utf-8").splitlines()[:40]):
        page = json.loads(line)
        (folder / f"{number}.md").write_text(f"# {page['title']}\n\n{page['text']}\n")
    printed = new("handbook")
    assert "40 documents" in printed
    written = families()
    assert [*written] == ["documents", "reeval", "lveval", "refutebench"], "first what the others read"
    assert written["documents"]["sources"] == [{"format": "documents", "path": "handbook"}]
    assert written["reeval"]["sources"] == [{"part": "documents-pairs"}]
    assert written["reeval"]["parts"] == ["category1"], "of a manual, no three other pages are on a question's matter"
    assert written["lveval"]["datasets"]["handbook"]["distractors"] == [{"part": "documents-passages"}]
    assert written["refutebench"]["sources"] == {"summarisation": [{"format": "documents", "path": "handbook"}]}
    assert "uraq: wants a model" in printed
    text = Path("touchstone.yaml").read_text()
    assert re.search(r"# questions; about [\d,]+ words that none of them asks about are left to hide the answers", text)
    assert Project(Path("touchstone.yaml"), here / "out").build


def test_contexts_are_as_many_as_the_questions_on_the_documents_can_give(here: Path) -> None:
    folder = here / "handbook"
    folder.mkdir()
    pages = (SAMPLES / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(pages[:30]):
        (folder / f"{number}.md").write_text(json.loads(line)["text"])
    new("handbook", "--model", "m", "--base-url", "http://localhost:8000/v1")
    written = families()
    wanted, counts = written["documents"]["pairs"], written["uraq"]["context_counts"]
    assert counts[0] == 1 < counts[-1] <= wanted / 2
    text = Path("touchstone.yaml").read_text()
    assert f"# statements in a row: {wanted} questions give about {int(wanted * 0.4)} that have nothing" in text
    assert "prescreen: [checker]  # drops what the model knows without the documents: public ones mostly" in text


def test_the_questions_on_chinese_documents_are_read_in_chinese(here: Path) -> None:
    text = "这条河流经这座城市,然后流入大海。城里有一个很大的市场和一座老磨坊,每天都有很多人来。"
    (here / "handbook.md").write_text("\n\n".join(f"# 第{n}章\n\n{text}今年是{1900 + n}年。" * 2 for n in range(40)))
    new("handbook.md", "--model", "m", "--base-url", "http://localhost:8000/v1")
    written = families()
    assert written["reeval"]["sources"] == [{"part": "documents-pairs", "language": "zh"}]
    assert written["reeval"]["passages"] == [{"part": "documents-passages", "language": "zh"}]
    (dataset,) = written["lveval"]["datasets"].values()
    assert (dataset["language"], dataset["sources"]) == ("zh", written["reeval"]["sources"])
    assert "uraq" not in written, "it reads English alone"


def test_a_format_without_passages_holds_no_family_up(here: Path) -> None:
    facts = ["Rome lies on the Tiber.", "The Tiber is a river."]
    rows = [
        {
            "qid": str(n),
            "term": "Rome",
            "question": "Is there a river in Rome?",
            "answer": n > 0,
            "facts": [f"Yes, {n}.", *facts],
        }
        for n in range(3)
    ]
    write_jsonl(here / "strategy.jsonl", rows)
    shutil.copy(SAMPLES / "questions.jsonl", "faq.jsonl")
    new("strategy.jsonl", "faq.jsonl")
    assert [source["path"] for source in families()["reeval"]["sources"]] == ["faq.jsonl"]
    assert "parts" not in families()["reeval"]


def test_with_a_model_statements_are_built_and_the_model_is_named(here: Path) -> None:
    write_csv(here / "facts.csv", ["fact"], [[f"The tower of Town{n} was built in 18{n}."] for n in range(10, 40)])
    printed = new("facts.csv", "--model", "qwen3", "--base-url", "http://localhost:8000/v1")
    config = load_config(Path("touchstone.yaml"))
    assert config.model_for("builder").model_dump()["base_url"] == "http://localhost:8000/v1"
    assert families()["uraq"]["context_counts"] == [1, 10, 25, 50]
    assert "touchstone estimate" in printed


def test_a_model_elsewhere_has_a_key_and_one_here_has_none() -> None:
    assert "api_key_env" in model_settings("m", "https://api.example.org/v1")
    for url in ("http://localhost:8000/v1", "http://127.0.0.1:11434/v1", "http://[::1]:8000/v1"):
        assert "api_key_env" not in model_settings("m", url)


def test_a_wrong_model_is_told_before_anything_is_looked_at(here: Path) -> None:
    with pytest.raises(WrongInput, match="--base-url: names a server without a model"):
        new("nothing", "--base-url", "http://localhost:8000/v1")
    with pytest.raises(WrongInput, match="expected an address"):
        new("nothing", "--model", "m", "--base-url", "localhost")


def test_answers_that_are_not_in_their_context_are_counted_and_said(here: Path) -> None:
    write_jsonl(here / "faq.jsonl", [*RIVERS[:5], {**RIVERS[5], "answer": "the Danube"}])
    printed = " ".join(new_or_failed("faq.jsonl").split())
    assert '1 of 6 answers (answer) are not in text: first "the Danube" (line 6)' in printed


def new_or_failed(*arguments: str) -> str:
    return CliRunner().invoke(cli.app, ["new", *arguments]).output


def test_other_columns_stand_behind_the_line(here: Path) -> None:
    write_jsonl(here / "faq.jsonl", [{**row, "answer 2": row["answer"]} for row in RIVERS])
    assert "answers could also be answer 2" in new("faq.jsonl")
    assert "or answers: answer 2" in Path("touchstone.yaml").read_text()


def test_other_languages_are_said_and_build_nothing(here: Path) -> None:
    rows = [[f"Der Turm der Stadt{n} wurde im Jahr 18{n} gebaut und ist nicht hoch."] for n in range(10, 20)]
    write_csv(here / "fakten.csv", ["Aussage"], rows)
    result = CliRunner().invoke(cli.app, ["new", "fakten.csv"])
    assert isinstance(result.exception, Failed)
    assert "no family reads German" in result.output
    assert not Path("touchstone.yaml").exists()


def test_it_never_overwrites(here: Path) -> None:
    Path("touchstone.yaml").write_text("mine")
    write_jsonl(here / "faq.jsonl", RIVERS)
    with pytest.raises(WrongInput, match=r"touchstone\.yaml: is here already"):
        new("faq.jsonl")
    assert Path("touchstone.yaml").read_text() == "mine"


def test_the_output_fits_80_columns_and_the_file_is_commented(here: Path) -> None:
    shutil.copytree(SAMPLES, here / "samples")
    printed = new("samples")
    assert max(map(len, printed.splitlines())) <= 80
    text = Path("touchstone.yaml").read_text(encoding="utf-8")
    assert max(len(line.partition("#")[0].rstrip()) for line in text.splitlines()) < 200
    assert text.startswith("# Written by `touchstone new`")
    assert Project(Path("touchstone.yaml"), here / "out").build


def test_a_command_without_a_configuration_takes_the_one_that_is_here(here: Path) -> None:
    assert default_config() == sample_path()
    (here / "touchstone.yaml").write_text("name: mine\nfamilies: {uraq: {}}\n")
    assert default_config() == Path("touchstone.yaml")


@pytest.mark.slow
def test_documents_become_rows_with_two_commands(tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for number, line in enumerate((SAMPLES / "pages.jsonl").read_text(encoding="utf-8").splitlines()):
        page = json.loads(line)
        (folder / f"{number:02}.md").write_text(f"# {page['title']}\n\n{page['text']}\n")
    _new_and_run(tmp_path, "handbook")
    for name in ("documents-pairs", "reeval-category1", "refutebench-ratings"):
        assert touchstone("show", name, "--sample", "1", folder=tmp_path).returncode == 0
    assert list((tmp_path / "out" / "accepted").glob("lveval-handbook_*.parquet")), "LV-Eval reads the parts"


@pytest.mark.slow
def test_a_table_of_questions_becomes_rows_with_two_commands(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    header = ["Frage", "Antwort", "Absatz"]
    write_csv(tmp_path / "faq.csv", header, [[row["question"], row["answers"][0], row["evidence"]] for row in rows])
    _new_and_run(tmp_path, "faq.csv")
    assert list((tmp_path / "out" / "accepted").glob("lveval-faq_*.parquet"))


def _new_and_run(folder: Path, data: str) -> None:
    share_vectors(folder / ".touchstone")
    for command in (("new", data), ("run",)):
        done = touchstone(*command, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "touchstone.yaml" in done.stdout
    for family in yaml.safe_load((folder / "touchstone.yaml").read_text())["families"]:
        done = touchstone("verify", family, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
