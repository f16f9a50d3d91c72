"""Commands that read a build, and what every command says when it is given something wrong."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from data.checksum import checksum
from flows import cli
from flows.construct.stages import StageRef
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import Usage
from flows.project.console import money
from flows.project.output_files import open_built, read_manifest, remember, write_output_files
from flows.project.project import Project
from flows.project.settings import sample_path
from flows.run.summary import print_next, print_summary
from flows.run.terminal import Terminal
from schemas.errors import Failed, WrongInput
from schemas.manifest import BuildManifest, PartManifest, ShardManifest, StageManifest, UsageOfPrompt, sum_usage
from schemas.sealed import SEAL
from tests.builds import TOUCHSTONE, touchstone, write_config
from tests.chat_server import ChatServer
from tests.toy import run_all


class Outcome:
    """What a command printed, and the one line it ended with."""

    def __init__(self, *arguments: str) -> None:
        result = CliRunner().invoke(cli.app, list(arguments))
        self.output = result.output
        self.error = result.exception
        self.code = (
            2 if isinstance(self.error, WrongInput) else 1 if isinstance(self.error, Failed) else result.exit_code
        )
        if self.error is not None and not isinstance(self.error, SystemExit | WrongInput | Failed):
            raise self.error


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small build in `out`."""
    import asyncio
    import os

    folder = tmp_path_factory.mktemp("cli")
    before = Path.cwd()
    os.chdir(folder)
    config = write_config(
        folder, families={"uraq": {"statements": 20, "context_counts": [1, 3]}},
        annotation={"people": {"a1": "anna@example.org"}},
    )  # fmt: skip
    project = Project(config, folder / "out")
    asyncio.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    os.chdir(before)
    return folder


@pytest.fixture
def folder(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(built)
    monkeypatch.setenv("COLUMNS", "200")
    return built


def test_a_build_tells_nobodys_address(folder: Path) -> None:
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if b"anna@example.org" in path.read_bytes()]


def test_a_build_ends_by_saying_how_to_open_the_forms(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = open_built(None)
    manifest = read_manifest(project.out)
    assert manifest is not None

    def said() -> str:
        console = Console(width=200, record=True, file=io.StringIO())
        print_next(console, project, manifest, project.out / "report.html")
        return console.export_text()

    ends = said().splitlines()[-1].strip()
    assert ends == f"touchstone label-studio up {project.config_path} && touchstone annotate push --out {project.out}"
    elsewhere = project.config.annotation.model_copy(update={"url": "https://labels.example.org"})
    monkeypatch.setattr(project, "config", project.config.model_copy(update={"annotation": elsewhere}))
    assert said().splitlines()[-1].strip() == f"touchstone annotate push --out {project.out}"


def test_what_to_do_next_names_the_build_where_it_is_not_the_default(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = open_built(None)
    manifest = read_manifest(project.out)
    assert manifest is not None

    def said() -> list[str]:
        console = Console(width=200, record=True, file=io.StringIO())
        print_next(console, project, manifest, project.out / "report.html")
        return [line.strip() for line in console.export_text().splitlines()]

    commands = ("show uraq-items --sample 5", "verify uraq", "evaluate uraq --model mine")
    for command in commands:
        assert any(line.startswith(f"touchstone {command}  ") for line in said()), said()
    for out, option in ((Path("pilot"), "--out pilot"), (Path("my builds/out"), "--out 'my builds/out'")):
        monkeypatch.setattr(project, "out", out)
        for command in commands:
            assert any(line.startswith(f"touchstone {command} {option} ") for line in said()), said()


def counted(part: str, kept: int, waiting: int, calls: int) -> PartManifest:
    """A part of one stage, of whose drafts two were dropped."""
    shard = ShardManifest(
        index=0, planned=kept + waiting + 2, kept=kept + waiting, dropped={"no other": 2}, kept_sha256="",
        dropped_sha256="", usage={"ask": UsageOfPrompt(calls=calls)}, seconds=0.0,
    )  # fmt: skip
    stage = StageManifest(
        family="toy", part=part, step="ask", version=1, fingerprint=part, record="Note", inputs=(),
        planned=shard.planned, kept=shard.kept, dropped=shard.dropped, shards=(shard,),
    )  # fmt: skip
    return PartManifest(
        family="toy", part=part, planned=shard.planned, kept=kept, dropped={"ask": {"no other": 2}}, waiting=waiting,
        stages=(stage,), files=(),
    )  # fmt: skip


def test_what_to_do_next_follows_from_what_was_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = open_built(None)
    manifest = read_manifest(project.out)
    assert manifest is not None

    def said(manifest: BuildManifest) -> str:
        console = Console(width=200, record=True, file=io.StringIO())
        print_next(console, project, manifest, project.out / "report.html")
        return console.export_text()

    config = project.config_path
    by_rules = said(manifest)
    assert f"    touchstone run {config} --out pilot --limit 5" in by_rules.splitlines(), "not the sample's"
    assert "sample.yaml" not in by_rules
    assert "--model default" not in by_rules, "the rules would be asked about what they wrote"
    assert "models: {mine: {provider: endpoint" in by_rules
    assert "build the whole" not in by_rules
    pilot = said(manifest.model_copy(update={"limit": 5}))
    assert any(line.startswith(f"  touchstone run {config} ") for line in pilot.splitlines())

    model = EndpointSettings(provider="endpoint", name="m")
    monkeypatch.setattr(project, "config", project.config.model_copy(update={"model": model}))
    by_model = said(manifest.model_copy(update={"models": {"default": "m"}}))
    assert "touchstone evaluate uraq --model default " in by_model
    assert "provider:" not in by_model, "there is a model"

    monkeypatch.setattr(project, "config", project.config.model_copy(update={"model": None}))
    monkeypatch.setattr(project, "config_path", sample_path())
    of_the_sample = said(manifest)
    assert f"    cp {sample_path()} my.yaml" in of_the_sample.splitlines()
    assert "    touchstone run my.yaml --out pilot --limit 5" in of_the_sample.splitlines()
    assert "evaluate" not in of_the_sample, "nobody changes the packaged file"


def test_the_summary_counts_as_the_manifest_does_and_fits_a_narrow_terminal() -> None:
    manifest = BuildManifest(
        name="toy", seed=7, limit=None, config={}, versions={}, models={}, prompts={},
        parts=(counted("facts", 0, 6, 151), counted("rows", 3, 0, 40)),
    )  # fmt: skip
    console = Console(width=80, record=True, file=io.StringIO())
    watcher = Terminal(console)
    facts, rows = (StageRef("toy", part, "ask") for part in ("facts", "rows"))
    watcher.finished(facts, manifest.parts[0].stages[0], before=True, example=None)
    watcher.finished(rows, manifest.parts[1].stages[0], before=False, example=None)
    print_summary(console, manifest, watcher.seconds, watcher.asked)
    text = console.export_text()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    lines = [line.split() for line in text.splitlines()]
    # family and part, planned, kept, waiting, dropped, calls, money, seconds
    assert ["toy:", "planned", "=", "kept", "+", "waiting", "+", "dropped"] in lines
    assert ["toy", "facts", "8", "0", "6", "2", "0", "-", "0.0"] in lines
    assert ["toy", "rows", "5", "3", "0", "2", "40", "-"] in [line[:-1] for line in lines]
    assert ["toy", "facts:", "2", "dropped:", "no", "other"] in lines
    assert ["this", "run:", "40", "model", "calls,", "0", "answers", "from", "the", "cache"] in lines
    assert ["the", "whole", "build:", "191", "model", "calls,", "0", "answers", "from", "the", "cache"] in lines


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_tells_every_so_often_how_far_each_stage_is() -> None:
    clock, out = Clock(), io.StringIO()
    watcher = Terminal(Console(width=160, file=out), clock)
    asks, sorts, writes = (StageRef("toy", "facts", name) for name in ("ask_twice", "sort", "write"))
    with watcher:
        watcher.started(asks, 2, calls=120)
        watcher.started(sorts, 3)
        watcher.started(writes, None)
        for _ in range(36):
            watcher.called(asks, Usage(calls=1))
        watcher.called(asks, Usage(cached=1))
        watcher.called(writes, Usage(calls=2))
        watcher.advanced(sorts, 1, 3)
        assert out.getvalue() == ""  # not a line a call
        clock.now = 29.0
        watcher.waited()
        assert out.getvalue() == ""
        clock.now = 30.0
        watcher.called(writes, Usage(calls=1))
        watcher.waited()
        clock.now = 61.0
        watcher.advanced(writes, 40, 400)
        watcher.waited()
    lines = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert lines == [
        "toy facts · ask twice 37/120 calls after 30 s",
        "toy facts · sort 1/3 after 30 s",
        "toy facts · write 3 calls after 30 s",
        "toy facts · ask twice 37/120 calls after 61 s",
        "toy facts · sort 1/3 after 61 s",
        "toy facts · write 40/400, 3 calls after 61 s",
    ]


def test_the_time_of_a_part_is_that_on_the_clock_while_its_stages_run_side_by_side() -> None:
    clock = Clock()
    watcher = Terminal(Console(file=io.StringIO()), clock)
    stage = counted("facts", 6, 0, 4).stages[0]
    events = [(0, "a", ""), (2, "b", ""), (10, "", "a"), (12, "", "b"), (20, "c", ""), (21, "d", ""), (25, "", "d")]
    with watcher:
        for clock.now, starts, ends in (*events, (30, "", "c")):
            if starts:
                watcher.started(StageRef("toy", "facts", starts), 1)
            if ends:
                watcher.finished(StageRef("toy", "facts", ends), stage, before=False, example=None)
    assert watcher.seconds == {("toy", "facts"): 12 + 10}


def test_a_terminal_draws_a_bar_for_each_stage_that_runs() -> None:
    console = Console(width=160, file=io.StringIO(), force_terminal=True, record=True)
    watcher = Terminal(console)
    asks, sorts = (StageRef("toy", part, "ask") for part in ("facts", "rows"))
    stage = counted("facts", 6, 0, 4).stages[0]
    with watcher:
        watcher.started(asks, 1, calls=4)
        watcher.started(sorts, 5)
        for _ in range(6):  # two were asked again
            watcher.called(asks, Usage(calls=1))
        watcher.advanced(sorts, 2, 5)
        console.print(watcher._progress.get_renderable())
        drawn = console.export_text()
        assert "toy facts · ask" in drawn
        assert "6/6 calls" in drawn
        assert "2/5" in drawn
        watcher.finished(asks, stage, before=False, example=None)
        console.print(watcher._progress.get_renderable())
        assert "6/6 calls" not in console.export_text()
    assert watcher.asked == {("toy", "facts"): UsageOfPrompt(calls=4)}


def test_an_unknown_price_is_no_sum_of_money() -> None:
    priced, other = UsageOfPrompt(calls=2, cost_usd=0.5), UsageOfPrompt(calls=1, cost_usd=None)
    assert money(priced) == "$0.5000"
    assert money(other) == "?"
    assert money(UsageOfPrompt(cached=3)) == "-"
    assert sum_usage([{"ask": priced}, {"ask": other}]) == {"ask": UsageOfPrompt(calls=3, cost_usd=None)}
    assert '"cost_usd":null' in other.model_dump_json()
    manifest = BuildManifest(
        name="toy", seed=7, limit=None, config={}, versions={}, models={}, prompts={},
        parts=(counted("facts", 3, 0, 4), counted("rows", 3, 0, 40)),
    )  # fmt: skip
    console = Console(width=160, record=True, file=io.StringIO())
    print_summary(console, manifest, {}, {("toy", "facts"): other, ("toy", "rows"): priced})
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["toy", "facts", "5", "3", "2", "1", "?", "0.0"] in lines
    assert ["toy", "rows", "5", "3", "2", "2", "$0.5000", "0.0"] in lines


def test_a_run_that_asked_for_everything_needs_no_second_count() -> None:
    manifest = BuildManifest(
        name="toy", seed=7, limit=None, config={}, versions={}, models={}, prompts={},
        parts=(counted("rows", 3, 0, 40),),
    )  # fmt: skip
    console = Console(width=160, record=True, file=io.StringIO())
    print_summary(console, manifest, {}, {("toy", "rows"): UsageOfPrompt(calls=40)})
    assert "of this run" not in console.export_text()
    assert "waiting" not in console.export_text()


@pytest.mark.parametrize(("arguments", "said"), [([], "Usage: touchstone"), (["--version"], "touchstone 0.")])
def test_the_bare_command_prints_its_help_and_a_version_is_to_be_had(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(sys, "argv", ["touchstone", *arguments])
    cli.main()
    printed = capsys.readouterr()
    assert printed.out.strip().startswith(said)
    assert not printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["release", "--dry-run"], "No such option: --dry-run; `touchstone release --help` shows what it takes"),
        (["annotate", "push", "--nope"], "No such option: --nope; `touchstone annotate push --help` shows"),
        (["frobnicate"], "`touchstone --help` shows what it takes"),
    ],
)
def test_a_wrong_option_names_the_help_of_its_command(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)  # the tests' own handlers stay
    monkeypatch.setattr(sys, "argv", ["touchstone", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "takes", "said"),
    [
        ((64, 512), "[open('/dev/null') for _ in range(300)]", ""),
        ((64, 64), "[open('/dev/null') for _ in range(300)]", "too many open files; allow more (`ulimit -n 4096`)"),
        ((64, 64), "bytearray(2**60)", "not enough memory; free some"),
        ((64, 512), "(_ for _ in ()).throw(OSError('no room; make some'))", "no room; make some; finished work"),
    ],
)
def test_all_files_that_may_be_open_may_be_and_a_lack_of_files_memory_or_room_is_a_line(
    limits: tuple[int, int], takes: str, said: str
) -> None:
    script = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, {limits})\n"
        "from flows import cli\n"
        f"cli.app.command('take')(lambda: {takes})\n"
        "sys.argv = ['touchstone', 'take']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == (1 if said else 0), done.stderr
    assert done.stderr.startswith(f"touchstone: {said}") if said else not done.stderr
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.slow
def test_what_the_terminals_encoding_lacks_is_written_out(folder: Path) -> None:
    usual = touchstone("show", "uraq-items", folder=folder).stdout
    assert "\u2022 statement:" in usual
    shown = touchstone("show", "uraq-items", folder=folder, fork=False, PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\\u2022 statement:" in shown.stdout
    assert shown.stdout.isascii()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["show", "uraq-items"], ["schema", "list"]])
def test_an_output_that_cannot_be_written_is_named(folder: Path, command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([TOUCHSTONE, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    said = "touchstone: the output cannot be written (No space left on device); send it elsewhere"
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == 1


def test_show_prints_items_as_a_person_reads_them(folder: Path) -> None:
    shown = Outcome("show", "uraq-items", "--sample", "2")
    assert shown.code == 0
    assert shown.output.count("statement:") == 2
    assert "build: " in shown.output
    assert Outcome("show", "uraq-items", "--sample", "2").output == shown.output
    assert Outcome("show", "uraq-items", "--sample", "2", "--seed", "9").output != shown.output


def test_explain_tells_of_a_kept_row_and_of_a_dropped_one(folder: Path) -> None:
    item = pq.read_table("out/accepted/uraq-items.parquet").to_pylist()[0]
    told = Outcome("explain", item["id"])
    assert told.code == 0
    for part in (
        "write_statements",
        "manipulate",
        "ask_question",
        "seed: 7",
        "made from",
        "records in uraq evaluation",
    ):
        assert part in told.output
    dropped = pq.read_table("out/dropped/uraq-statements.parquet").to_pylist()
    dropped += pq.read_table("out/dropped/uraq-items.parquet").to_pylist()
    assert f"reason: {dropped[0]['reason']}" in Outcome("explain", dropped[0]["item_id"]).output


def test_verify_passes_and_finds_a_changed_file(folder: Path) -> None:
    assert Outcome("verify", "uraq").code == 0
    path = folder / "out/accepted/uraq-items.parquet"
    table = pq.read_table(path)
    whole = path.read_bytes()
    questions = ["Is this it?", *table["question"].to_pylist()[1:]]
    place = table.schema.get_field_index("question")
    pq.write_table(table.set_column(place, table.schema.field("question"), [questions]), path)
    try:
        changed = Outcome("verify", "uraq")
    finally:
        path.write_bytes(whole)
    assert changed.code == 1
    assert "uraq-items.parquet: was changed" in changed.output
    assert "uraq-items.parquet: damaged or missing; run the build again" in str(changed.error)


def test_verify_misses_a_missing_file(folder: Path) -> None:
    path = folder / "out/accepted/uraq-items.parquet"
    whole = path.read_bytes()
    path.unlink()
    try:
        missing = Outcome("verify", "uraq")
    finally:
        path.write_bytes(whole)
    assert missing.code == 1
    assert "uraq-items.parquet: cannot be read" in missing.output


def test_verify_finds_rows_that_the_manifest_does_not_tell_of(folder: Path) -> None:
    stranger = folder / "out/accepted/uraq-items-00001-of-00002.parquet"
    stranger.write_bytes((folder / "out/accepted/uraq-items.parquet").read_bytes())
    try:
        found = Outcome("verify", "uraq")
    finally:
        stranger.unlink()
    assert found.code == 1
    assert "is not in the manifest" in found.output


def test_verify_holds_the_files_to_the_counts(folder: Path) -> None:
    path, told = folder / "out/accepted/uraq-items.parquet", folder / "out/manifest.json"
    whole, manifest = path.read_bytes(), told.read_bytes()
    table = pq.read_table(path)
    pq.write_table(table.slice(0, len(table) - 1), path)
    old = next(
        file["sha256"]
        for part in json.loads(manifest)["parts"]
        for file in part["files"]
        if file["path"] == "accepted/uraq-items.parquet"
    )
    forged = json.loads(manifest.replace(old.encode(), checksum(path).encode()))
    told.write_text(json.dumps({name: value for name, value in forged.items() if name != SEAL}), encoding="utf-8")
    try:
        short = Outcome("verify", "uraq")
    finally:
        path.write_bytes(whole)
        told.write_bytes(manifest)
    assert short.code == 1
    assert f"{len(table) - 1} rows, where the manifest tells of {len(table)}" in short.output


def test_verify_names_a_file_with_damaged_pages(folder: Path) -> None:
    path = folder / "out/accepted/uraq-items.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:2000] + bytes(2000) + whole[4000:])
    try:
        damaged = Outcome("verify", "uraq")
    finally:
        path.write_bytes(whole)
    assert damaged.code == 1
    assert "uraq-items.parquet" in str(damaged.error)


def test_a_source_that_cannot_be_read_is_refused_before_anything_is_built(place: Path) -> None:
    sources = [{"format": "conflictqa", "path": "gone.jsonl"}]
    config = write_config(place, families={"uraq": {"qa_sources": sources}})
    with pytest.raises(WrongInput, match=r"families\.uraq\.qa_sources\[0\]: .*gone\.jsonl: no such file"):
        _ = Project(config, place / "out").build


def test_an_output_folder_that_is_a_file_is_refused_before_anything_is_built(place: Path) -> None:
    config = write_config(place, families={"uraq": {"statements": 20}})
    (place / "out").write_text("mine")
    refused = Outcome("run", str(config), "--out", "out")
    assert refused.code == 2
    assert "is no folder" in str(refused.error)
    assert (place / "out").read_text() == "mine"


def test_a_build_is_read_with_the_settings_it_was_made_with(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = folder / "config.yaml"
    before = config.read_text()
    config.write_text('{"name": "other", "families": {"uraq": {"hops": [2], "statements": 5}}}')
    try:
        assert Outcome("verify", "uraq").code == 0
        config.unlink()
        assert Outcome("verify", "uraq").code == 0
        monkeypatch.chdir(tmp_path)
        assert Outcome("show", "uraq", "--out", str(folder / "out")).code == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        config.write_text(before)


def test_evaluate_then_score_and_what_is_missing(folder: Path) -> None:
    done = Outcome("evaluate", "uraq", "--model", "default")
    assert done.code == 0, done.output
    path = folder / "out/predictions/uraq-default.jsonl"
    tables = json.loads((folder / "out/predictions/uraq-default.tables.json").read_text())
    overall = [one for one in tables if one["table"] == "overall accuracy"]
    assert overall
    assert all(one["value"] == 1.0 for one in overall)
    lines = path.read_text().splitlines()
    page = (folder / "out/predictions/uraq-default.tables.html").read_text()
    assert page.count("<polyline") >= 10
    assert "overall accuracy" in page
    # What values, columns and lines are stands above each table.
    for said in (page, done.output):
        assert "shares from 0 to 1; columns: contexts in a row" in said
        assert "counts and lengths; columns: contexts in a row" in said
        assert "model / data set / user need" in said
    partial = folder / "some.jsonl"
    partial.write_text(
        "\n".join([*lines[3:], lines[5], json.dumps({"id": "f" * 16, "variant": "x", "prediction": ""})])
    )
    wrong = Outcome("score", "uraq", "--input", "some.jsonl")
    assert wrong.code == 2
    assert "3" in str(wrong.error)
    scored = Outcome("score", "uraq", "--input", "some.jsonl", "--partial", "--output", "t.json")
    assert scored.code == 0
    assert "predictions are scored" in scored.output
    assert " missing" in scored.output


def test_what_is_left_out_of_the_scores_is_not_told_beside_them(folder: Path) -> None:
    assert Outcome("evaluate", "uraq", "--model", "default").code == 0
    rows = [json.loads(line) for line in (folder / "out/predictions/uraq-default.jsonl").read_text().splitlines()]
    cut = [{**row, "cut_off": True} for row in rows[:2]]
    double = {**rows[5], "cut_off": True, "prediction": " "}
    unknown = [{**cut[0], "id": "f" * 16}, {**cut[0], "variant": "nobody's"}]
    given = [*cut, *rows[2:], cut[1], double, *unknown]
    Path("cut.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    scored = Outcome("score", "uraq", "--input", "cut.jsonl", "--partial", "--output", "cut.json")
    assert scored.code == 0, scored.output
    assert "2 replies were cut off at their limit of tokens" in scored.output
    assert "replies are empty" not in scored.output
    told = [one for one in json.loads(Path("cut.json").read_text()) if one["table"] == "beside the scores"]
    assert sum(one["n"] for one in told) == 2
    assert {one["row"].split(" / ")[-1] for one in told} == {"reply cut off at its tokens"}


def test_context_counts_are_chosen_at_evaluation_without_another_build(folder: Path) -> None:
    config, predictions = folder / "config.yaml", folder / "out/predictions/uraq-default.jsonl"
    before, manifest = config.read_text(), (folder / "out/manifest.json").read_bytes()
    try:
        config.write_text(before.replace("[1, 3]", "[3, 60]"))
        done = Outcome("evaluate", "uraq", "--model", "default")
        assert done.code == 0, done.output
        asked, _, built = done.output.split(" rows asked about")[0].split()[-3:]
        assert int(built) == 2 * int(asked) > 0
        assert "families.uraq.context_counts: 60: this build has no rows of it; `touchstone run" in done.output
        tables = json.loads((folder / "out/predictions/uraq-default.tables.json").read_text())
        assert {cell["column"] for cell in tables if cell["table"].startswith("case-level")} == {"3"}
        assert len(predictions.read_text().splitlines()) == 3 * int(asked)
        config.write_text(before.replace("[1, 3]", "[60]"))
        assert "context_counts: 60: this build has no rows" in str(Outcome("evaluate", "uraq").error)
        config.write_text(before.replace("context_counts", "context_count"))
        assert 'did you mean "context_counts"?' in str(Outcome("evaluate", "uraq").error)
        config.unlink()
        assert f"{built} of {built} rows asked about" in Outcome("evaluate", "uraq").output
    finally:
        config.write_text(before)
    assert (folder / "out/manifest.json").read_bytes() == manifest


def test_scores_do_not_overwrite_the_predictions(folder: Path) -> None:
    path = folder / "mine.jsonl"
    path.write_text(json.dumps({"id": "f" * 16, "variant": "x", "prediction": ""}) + "\n")
    page = folder / "mine.html"
    page.write_bytes(path.read_bytes())
    for given in (("mine.jsonl", "mine.jsonl"), ("mine.html", "tables.json"), ("mine.jsonl", "t.html")):
        refused = Outcome("score", "uraq", "--input", given[0], "--output", given[1], "--partial")
        assert refused.code == 2
    assert path.read_bytes() == page.read_bytes()
    stranger = Outcome("score", "uraq", "--input", "mine.jsonl", "--output", "t.json", "--partial")
    assert stranger.code == 2
    assert "of another build" in str(stranger.error)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "none.yaml"], 2, "none.yaml: no such file"),
        (["show", "uraq-item"], 2, 'did you mean "uraq-items"'),
        (["show", "uraq-items", "--out", "elsewhere"], 2, "there is no build here"),
        (["explain", "nothing"], 2, "no record of this build"),
        (["verify", "reeval"], 2, "no such family"),
        (["evaluate", "uraq", "--model", "gpt"], 2, "no such model"),
        (["score", "uraq", "--input", "none.jsonl"], 2, "none.jsonl: no such file"),
        (["metric", "f2", "--input", "a", "--output", "b"], 2, 'did you mean "f1"'),
        (["metric", "f1", "--input", "none.jsonl", "--output", "b"], 2, "no such file"),
        (["schema", "uraq-itms"], 2, 'did you mean "uraq-items"'),
        (
            ["evaluate", "uraq", "--model", "default", "--by-author"],
            2,
            "models are not asked about what people write for uraq",
        ),
        (["annotate", "push"], 1, "`touchstone label-studio up "),
        (["annotate", "status", "--out", "elsewhere"], 2, "there is no build here"),
        (["label-studio", "up", "none.yaml"], 2, "none.yaml: no such file"),
        (["label-studio", "down", "none.yaml"], 2, "none.yaml: no such file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder: Path, arguments: list[str], code: int, said: str) -> None:
    outcome = Outcome(*arguments)
    assert outcome.code == code
    assert said in str(outcome.error)
    assert "\n" not in str(outcome.error)


def test_metric_scores_rows_as_the_official_script(tmp_path: Path, shared: Path) -> None:
    vectors = [json.loads(line) for line in (shared / "vectors/mrqa_metrics.jsonl").read_text().splitlines()]
    for name in ("exact_match", "f1"):
        expected = {one["id"]: one["score"] for one in vectors if one["metric"] == name}
        rows = tmp_path / f"{name}.jsonl"
        rows.write_text("".join(json.dumps(one) + "\n" for one in vectors if one["metric"] == name))
        assert Outcome("metric", name, "--input", str(rows), "--output", str(tmp_path / "scores.jsonl")).code == 0
        scored = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
        assert {one["id"]: one["score"] for one in scored} == pytest.approx(expected, abs=1e-6)


def test_metric_names_the_row_that_is_wrong(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "1", "prediction": "a", "answers": ["a"]}\n{"id": "2", "answers": ["a"]}\n')
    outcome = Outcome("metric", "f1", "--input", str(rows), "--output", str(tmp_path / "scores.jsonl"))
    assert outcome.code == 2
    assert "line 2" in str(outcome.error)
    assert not (tmp_path / "scores.jsonl").exists()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "has no rows"),
        ('{"id": "1", "prediction": "a", "answers": ["a"]}\n' * 2, "1 stands twice"),
    ],
)
def test_metric_refuses_no_rows_and_double_ones(tmp_path: Path, lines: str, said: str) -> None:
    (tmp_path / "rows.jsonl").write_text(lines)
    outcome = Outcome("metric", "f1", "--input", str(tmp_path / "rows.jsonl"), "--output", str(tmp_path / "s.jsonl"))
    assert outcome.code == 2
    assert said in str(outcome.error)


def test_schemas_are_json_schemas_of_the_records(folder: Path) -> None:
    names = Outcome("schema", "list").output.split()
    assert {"uraq-statements", "uraq-items", "uraq-conflicts", "uraq-evaluation", "dropped", "verdict"} <= set(names)
    for name in names:
        schema = json.loads(Outcome("schema", name).output)
        assert schema["type"] == "object"
    fields = json.loads(Outcome("schema", "uraq-items").output)["properties"]
    assert fields["answer_type"]["enum"] == ["number", "boolean", "entity"]


def test_a_read_of_no_build_says_what_to_do(place: Path) -> None:
    outcome = Outcome("show", "uraq-items")
    assert outcome.code == 2
    assert "`touchstone run` makes one" in str(outcome.error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("megabytes", "said", "code"),
    [
        (50, "✗ 0.0 GB free on this disk; a build of the sample needs 0.1 GB", 1),
        (1_900, "✓ 1.9 GB free on this disk\n- enough for a small build", 0),
        (90_000, "✓ 87.9 GB free on this disk\n- no", 0),
    ],
)
def test_the_doctor_refuses_a_full_disk_alone(
    megabytes: int, said: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from flows.project import installation

    monkeypatch.setattr(installation.shutil, "disk_usage", lambda _: SimpleNamespace(free=megabytes * 2**20))
    monkeypatch.setattr(installation, "local_servers", lambda: iter(()))
    outcome = Outcome("doctor")
    assert said in outcome.output
    assert outcome.code == code


@pytest.mark.slow
def test_the_doctor_asks_the_servers_that_the_configuration_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ChatServer(lambda messages: "hello") as server:
        named = {"provider": "endpoint", "name": "mine", "base_url": server.url}
        write_config(tmp_path, "touchstone.yaml", families={"uraq": {}}, model=named)
        told = Outcome("doctor")
        assert told.code == 0, told.output
        assert f"✓ {server.url} answers, for mine" in told.output
        assert "no OpenAI-compatible server" not in told.output
    told = Outcome("doctor")
    assert told.code == 1
    assert f"✗ {server.url}: no answer (" in told.output
    assert "start it, or correct base_url in touchstone.yaml" in told.output
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    write_config(tmp_path, "touchstone.yaml", families={"uraq": {}}, model={**named, "api_key_env": "NO_SUCH_KEY"})
    assert f"✗ {server.url}: NO_SUCH_KEY is not set" in Outcome("doctor").output
