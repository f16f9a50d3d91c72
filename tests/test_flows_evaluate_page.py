"""The page of an evaluation and the files beside it, and the signature of its scores."""

import csv
import datetime
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.evaluate.rows import evaluated_rows
from flows.evaluate.scores_file import EvaluationScores, read_scores
from flows.evaluate.signature import Signature, asked_as, signature_of
from flows.project.evaluated import AskedRows, Fingerprints, fingerprint_lines
from flows.project.output_files import open_built
from schemas.base import content_hash
from tests.builds import touchstone, write_config
from tests.chat_server import ChatServer, Faults, Messages, message_hash
from tests.profiled import able, build, model, right_answers, work_in
from tests.test_flows_cli import Outcome

URAQ = {"uraq": {"statements": 40, "context_counts": [1, 5]}}
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202eturned"
TODAY = datetime.date(2026, 11, 27)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, tuple[str, str]]]:
    """A folder with a build in `out`, and what is right about its rows."""
    folder = tmp_path_factory.mktemp("page")
    return folder, right_answers(build(folder, URAQ), "uraq")


@pytest.fixture
def folder(made: tuple[Path, dict[str, tuple[str, str]]], monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_in(made[0], monkeypatch)


@pytest.fixture
def right(made: tuple[Path, dict[str, tuple[str, str]]]) -> dict[str, tuple[str, str]]:
    return made[1]


def configure(folder: Path, models: Mapping[str, Any] | None = None, **config: Any) -> None:
    write_config(folder, **{"store": str(folder / "store"), "families": URAQ, "models": models or {}, **config})


def scores_of(folder: Path, key: str) -> EvaluationScores:
    found = read_scores(folder / f"out/predictions/uraq-{key}.scores.json")
    assert found is not None
    return found


def section(page: str, title: str) -> str:
    return page.partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]


# ---- the page ----


@pytest.mark.slow
def test_the_page_shows_figures_failures_earlier_models_and_files_and_they_say_the_same(
    folder: Path, right: dict[str, tuple[str, str]]
) -> None:
    known = able(right, 0.5)
    assert callable(known)

    def answer(messages: Messages) -> str:
        reply = str(known(messages))
        return ATTACK if reply == "no such thing" else reply

    with ChatServer(able(right, 0.9), model="other-1") as other, ChatServer(answer) as server:
        configure(folder, {"other": model(other), "few": model(other), "m": model(server)})
        for key, limit in (("other", []), ("few", ["--limit", "30"]), ("m", [])):
            ran = Outcome("evaluate", "uraq", "--model", key, "--out", "out", *limit)
            assert ran.code == 0, ran.output
    predictions = folder / "out" / "predictions"
    page, scores = (predictions / "uraq-m.tables.html").read_text(), scores_of(folder, "m")

    found = section(page, "What it found")
    assert found.count("<svg") == found.count("<h3>") == len({row.measure for row in scores.figures})
    (figure,) = [
        row for row in scores.figures
        if (row.measure, row.at, row.against) == ("accuracy, context-exclusive", "5 contexts", None)
    ]  # fmt: skip
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < 0.5 < figure.high
    assert f"{100 * figure.value:.1f} ({100 * figure.low:.1f} to {100 * figure.high:.1f})" in found
    assert f"({figure.items} items)" in found

    failed = section(page, "Where it failed")
    assert failed.count('<div class="failure">') == 10
    ids = re.findall(r"touchstone explain (\w+)", failed)
    project = open_built(folder / "out")
    rows = {row.id: row for row in evaluated_rows(project, project.family("uraq"), None)}
    project.close()
    assert len(ids) == 10
    assert set(ids) <= set(rows)
    rows_page = (predictions / "uraq-m.rows.html").read_text()
    assert re.findall(r'href="uraq-m.rows.html#(\w+)"', failed) == ids == re.findall(r'<section id="(\w+)">', rows_page)
    for id_ in ids:
        of_row = rows_page.partition(f'<section id="{id_}">')[2].partition("</section>")[0]
        assert all(context in html.unescape(of_row) for context in rows[id_].contexts), "every context, whole"
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in of_row
    assert "<script" not in rows_page
    assert failed.count("gpt-4o-mini said (context-exclusive)") == 10, "no reply but that without a point"
    assert failed.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 10
    assert "<script" not in page
    assert "<img" not in page
    assert not {"\x1b", "\u202e"} & set(page)
    assert "\\x1b[31m\\u202eturned" in failed
    assert "script-src" not in page
    assert "default-src 'none'" in page

    earlier = section(page, "Beside models evaluated before")
    lines = [re.sub(r"<[^>]+>", " ", line).split() for line in earlier.split("<tr>")[2:]]
    assert any(" ".join(line).endswith(f"no: asked about 30 rows, not {len(rows)}") for line in lines)
    assert any(line[0] == "other-1" and line[-1] == "yes" for line in lines)

    names = ["uraq-m.scores.json", "uraq-m.tables.json", "uraq-m.tables.csv"]
    assert re.findall(r'<a href="([^"]+)">', page.partition("<footer>")[2]) == names
    assert str(scores.signature) in page
    cells = json.loads((predictions / names[1]).read_text())
    with (predictions / names[2]).open(newline="") as file:
        listed = list(csv.DictReader(file))
    assert [{**cell, "value": "" if cell["value"] is None else str(cell["value"]), "n": str(cell["n"])}
            for cell in cells] == listed  # fmt: skip
    for table in {cell["table"] for cell in cells if cell["table"].startswith("setting-specific accuracy")}:
        shown = section(page, table)
        of_table = [cell["value"] for cell in cells if cell["table"] == table and cell["value"] is not None]
        assert of_table
        assert all(f'<td class="n">{value:.3f}</td>' in shown for value in of_table)


@pytest.mark.slow
def test_a_row_without_an_answer_is_missing_and_the_others_are_scored(
    folder: Path, right: dict[str, tuple[str, str]]
) -> None:
    with ChatServer(able(right, 1.0)) as server:
        stubborn = next(place for place, _ in right.values() if place.endswith(" context-exclusive"))
        fails = {hash_ for hash_, (place, _) in right.items() if place == stubborn}
        server.refuses = lambda body: (500, "bad luck") if message_hash(body["messages"]) in fails else None
        configure(folder, {"m": model(server, max_retries=1, parameters={"seed": 99})})
        ran = Outcome("evaluate", "uraq", "--model", "m", "--out", "out")
        assert ran.code == 1
        assert str(ran.error).startswith("1 question got no answer, and the scores are of the others: ")
        assert "server error 500" in str(ran.error)
        assert len(server.answered) == len(right) - 1
        scores = scores_of(folder, "m")
        assert scores.partial
        assert all(figure.value == 1 for figure in scores.figures if figure.against is None)
        page = (folder / "out/predictions/uraq-m.tables.html").read_text()
        assert f"{len(right) - 1} of {len(right)} predictions are scored: 1 missing (first: {stubborn})" in page
        server.refuses = lambda body: None
        assert Outcome("evaluate", "uraq", "--model", "m", "--out", "out").code == 0
        assert server.answered_twice == []
        assert len(server.answered) == len(right)
        assert not scores_of(folder, "m").partial


@pytest.mark.slow
def test_of_a_server_that_dies_half_way_what_it_answered_is_scored_and_the_rest_is_asked_later(
    folder: Path, right: dict[str, tuple[str, str]]
) -> None:
    known = able(right, 1.0)
    assert callable(known)
    with ChatServer(known) as server:
        server.refuses = lambda body: (500, "out of memory") if len(server.requests) > 100 else None
        configure(folder, {"m": model(server, max_retries=0, concurrency=4, parameters={"seed": 100})})
        ran = touchstone("evaluate", "uraq", "--model", "m", "--out", "out", folder=folder)
        assert ran.returncode == 1
        assert len(ran.stderr.strip().splitlines()) == 1
        assert "500" in ran.stderr
        answered = len(server.answered)
        assert len(server.requests) < answered + 64 + 2 * 4, "a server that is gone is not asked about all rows"
        scored = len((folder / "out/predictions/uraq-m.jsonl").read_text().splitlines())
        assert 64 <= scored <= answered
        assert scores_of(folder, "m").partial
        assert f"{len(right) - scored:,} missing" in (folder / "out/predictions/uraq-m.tables.html").read_text()
        server.refuses = lambda body: None
        assert Outcome("evaluate", "uraq", "--model", "m", "--out", "out").code == 0
        assert answered > 90
        assert server.answered_twice == []
        assert len(server.answered) == len(right)


@pytest.mark.slow
def test_where_the_budget_ends_half_way_the_page_says_what_is_missing(
    folder: Path, right: dict[str, tuple[str, str]]
) -> None:
    (folder / "prices.yaml").write_text("gpt-4o-mini: {input_per_million: 0, output_per_million: 1000000}")
    with ChatServer(able(right, 1.0), faults=Faults(latency_s=(0.0, 0.002))) as server:
        configure(folder, {"m": model(server, parameters={"seed": 101})}, prices="prices.yaml", budget_usd=1300)
        ran = Outcome("evaluate", "uraq", "--model", "m", "--out", "out")
    assert ran.code == 1
    assert "the ceiling of 1300 USD is reached" in str(ran.error)
    predictions = folder / "out" / "predictions"
    endings = ("evaluation.json", "jsonl", "scores.json", "tables.csv", "tables.html", "tables.json")
    assert sorted(file.name for file in predictions.iterdir()) == [f"uraq-m.{ending}" for ending in endings]
    scores, asked = scores_of(folder, "m"), len((predictions / "uraq-m.jsonl").read_text().splitlines())
    assert scores.partial
    assert 0 < asked < len(right)
    notes = section((predictions / "uraq-m.tables.html").read_text(), "Notes")
    assert f"{len(right) - asked:,} missing" in notes
    assert f"{len(right) - asked:,} missing" in ran.output


# ---- the signature ----


@pytest.mark.slow
def test_a_signature_names_the_model_as_the_server_did_also_when_the_cache_answers(
    folder: Path, right: dict[str, tuple[str, str]]
) -> None:
    with ChatServer(able(right, 1.0), serves="gpt-4o-mini-2024-07-18") as server, ChatServer(able(right, 1.0)) as same:
        configure(folder, {"m": model(server, parameters={"seed": 102}), "same": model(same)})
        for _ in range(2):
            assert Outcome("evaluate", "uraq", "--model", "m", "--limit", "3", "--out", "out").code == 0
            found = scores_of(folder, "m").signature
            assert (found.model, found.served) == ("gpt-4o-mini", ("gpt-4o-mini-2024-07-18",))
            assert "|model:gpt-4o-mini|served:gpt-4o-mini-2024-07-18|date:" in str(found)
        assert len(server.requests) == 9
        assert Outcome("evaluate", "uraq", "--model", "same", "--limit", "3", "--out", "out").code == 0
        assert "served:" not in str(scores_of(folder, "same").signature)


def signature(folder: Path, limit: int | None = None, *, backwards: bool = False, **config: Any) -> Signature:
    """The signature of scores of the model `m`, as the configuration says now."""
    configure(folder, {"m": {"provider": "endpoint", "name": "m-1", **config.pop("model", {})}}, **config)
    project = open_built(folder / "out")
    family, fingerprint = project.family("uraq"), Fingerprints(project, project.family("uraq"))
    pairs = [(row.id, fingerprint(row)) for row in evaluated_rows(project, family, limit)]
    asked = AskedRows(fingerprint_lines(reversed(pairs) if backwards else pairs), fingerprint.prompts)
    found = signature_of(project, family, asked_as(project, "m", None), asked, TODAY)
    assert found.rows == len(pairs)
    assert found.asked == content_hash(sorted(pairs))[: len(found.asked)], "as in earlier scores"
    project.close()
    return found


def test_a_signature_is_one_line_with_all_that_a_score_depends_on(folder: Path) -> None:
    line = str(signature(folder, model={"temperature": 0.5, "parameters": {"top_p": 0.9}, "window": 4000}))
    assert "\n" not in line
    fields = dict(field.partition(":")[::2] for field in line.split("|"))
    assert list(fields) == [
        "data", "family", "rows", "prompts", "window", "parameters", "scorer", "touchstone", "model", "date"
    ]  # fmt: skip
    assert (fields["data"], fields["family"], fields["model"], fields["date"]) == ("test", "uraq", "m-1", "2026-11-27")
    assert (fields["window"], fields["parameters"]) == ("4000", 'parameters={"top_p":0.9},temperature=0.5')


def test_what_does_not_change_a_score_does_not_change_comparability(folder: Path) -> None:
    one = signature(folder)
    assert signature(folder) == one
    assert signature(folder, backwards=True) == one, "the order of rows"
    later = one.model_copy(update={"date": datetime.date(2027, 1, 1), "model": "n", "touchstone": "9.9"})
    assert str(later) != str(one)
    assert one.differences(later) == []
    busy = signature(folder, model={"concurrency": 3, "base_url": "http://localhost:1/v1"})
    assert one.differences(busy) == []


def test_what_changes_a_score_is_named(folder: Path) -> None:
    one = signature(folder)
    few = signature(folder, limit=30)
    assert (few.rows, one.differences(few)) == (30, ["asked"])
    assert one.differences(signature(folder, model={"window": 2000})) == ["window"]
    assert one.differences(signature(folder, model={"temperature": 0.7})) == ["parameters"]
    assert one.differences(signature(folder, model={"reasoning_tokens": 900})) == ["parameters"]
    assert one.differences(signature(folder, families={"uraq": {**URAQ["uraq"], "context_counts": [1]}})) == ["asked"]
