"""`history.jsonl` of a release: when its rows came, their source dates, and when and why they were retired."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from data.publish.check import faults_of
from data.publish.folder import read_release
from flows.evaluate.source_time import by_source_time
from flows.families import load_family
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from flows.release.history import release_date
from flows.scoring.on_disk import Rows
from flows.scoring.values import Value
from schemas.base import HASH_LENGTH
from schemas.errors import WrongInput
from tests.builds import write_config
from tests.chat_server import ChatServer
from tests.profiled import SAMPLES, model
from tests.test_flows_cli import Outcome
from tests.toy import run_all

DATES = {"branch-leaflet": "2021-03-05", "library-rules": "2023-07-01", "pump-manual": "2024-11-30"}


def build(folder: Path) -> None:
    """Build what is configured there, as the last build."""
    project = Project(folder / "config.yaml", folder / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    project.close()


def history(folder: Path, version: str) -> list[dict[str, Any]]:
    lines = (folder / "out/releases" / version / "history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def released(folder: Path, day: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Release what was built, on a day in seconds since 1970; return the version."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", day)
    ran = Outcome("release", "--out", "out", "--allow-unreviewed")
    assert ran.code == 0, ran.output
    return max(path.name for path in (folder / "out/releases").glob("*.*.*"))


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three versions: of three documents, of which one is changed and one goes, and a row is rejected."""
    folder = tmp_path_factory.mktemp("history")
    (folder / "documents").mkdir()
    for name, date in DATES.items():
        text = (SAMPLES / "documents" / f"{name}.md").read_text()
        dated = f"---\ndate: {date}\n---\n{text}" if name != "branch-leaflet" else text
        (folder / "documents" / f"{name}.md").write_text(dated)
    documents = {"format": "documents", "path": f"{folder}/documents/*.md", "licence": "CC-BY-4.0"}
    task = {
        "task": "single-hop-qa",
        "pairs": 6,
        "sources": [{"part": "documents-pairs"}],
        "distractors": [{"format": "jsonl", "path": str(SAMPLES / "pages.jsonl"), "licence": "Apache-2.0"}],
    }
    families = {
        "documents": {"pairs": 12, "sources": [documents]},
        "lveval": {"levels": ["1k"], "datasets": {"ours": task}},
    }
    write_config(folder, store=str(folder / "store"), families=families, release={"licence": "CC-BY-4.0"})
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        build(folder)
        assert released(folder, "1767225600", monkeypatch) == "1.0.0"  # 2026-01-01
        leaflet, rules = (folder / "documents" / f"{name}.md" for name in ("branch-leaflet", "library-rules"))
        leaflet.unlink()
        rules.write_text(rules.read_text().replace("2023-07-01", "2026-02-02").replace(" weeks", " full weeks"))
        build(folder)
        version = released(folder, "1772323200", monkeypatch)  # 2026-03-01
        kept = [
            line for line in history(folder, version) if line["config"] == "documents-pairs" and not line["retired"]
        ]
        rows = Outcome("show", "documents-pairs", "--out", "out")
        assert rows.code == 0
        project = Project(folder / "config.yaml", folder / "out")
        record = next(one for one in project.build.accepted("documents", "pairs") if one.key == kept[0]["key"])
        project.close()
        verdict = {"key": record.key, "view_hash": record.view_hash, "rubric": "documents-check", "decision": "reject"}
        (folder / "out/verdicts").mkdir(exist_ok=True)
        (folder / "out/verdicts/documents-pairs.jsonl").write_text(json.dumps(verdict) + "\n")
        build(folder)
        released(folder, "1775001600", monkeypatch)  # 2026-04-01
    return folder


def copied(versions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the versions and their build, as the current folder."""
    folder = tmp_path / "folder"
    shutil.copytree(versions, folder, symlinks=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_each_row_says_since_when_it_is_there_and_of_which_date_its_source_is(versions: Path) -> None:
    first = history(versions, "1.0.0")
    assert {(line["since"], line["since_date"], line["retired"]) for line in first} == {("1.0.0", "2026-01-01", None)}
    counts = Counter((line["config"], line["source_date"]) for line in first)
    assert {date for config, date in counts if config == "documents-pairs"} == {None, "2023-07-01", "2024-11-30"}
    (release,) = [read_release(versions / "out/releases/1.0.0")]
    assert Counter(line["config"] for line in first) == {one.name: one.rows for one in release.manifest.configs}
    assert any(config.startswith("lveval") and date for config, date in counts), "made of a dated document's question"
    assert all(re.fullmatch(rf"[0-9a-f]{{{HASH_LENGTH}}}", line["key"]) for line in first)


@pytest.mark.slow
def test_what_changed_came_anew_and_what_went_is_told_with_the_reason(versions: Path) -> None:
    numbers = sorted(path.name for path in (versions / "out/releases").glob("*.*.*"))
    first, second, third = (history(versions, number) for number in numbers)
    before = {(line["config"], line["key"]) for line in first}
    now = {(line["config"], line["key"]): line for line in second if not line["retired"]}
    gone = {(line["config"], line["key"]): line for line in second if line["retired"]}
    assert gone
    assert now.keys() | gone.keys() >= before
    assert not now.keys() & gone.keys()
    changes = [json.loads(line) for line in (versions / "out/releases" / numbers[1] / "changes.jsonl").open()]
    came = {(one["config"], one["key"]) for one in changes if one["change"] in ("added", "changed")}
    assert any(config == "documents-pairs" for config, _ in came & before), "a changed row comes anew"
    assert {name for name, line in now.items() if line["since"] == numbers[1]} == came
    assert {now[name]["since_date"] for name in came} == {"2026-03-01"}
    assert {(line["since"], line["since_date"]) for name, line in now.items() if name not in came} == {
        ("1.0.0", "2026-01-01")
    }
    assert {"2026-02-02", "2024-11-30"} <= {line["source_date"] for line in now.values()}
    assert {(line["retired"], line["retired_date"]) for line in gone.values()} == {(numbers[1], "2026-03-01")}
    assert {line["reason"] for line in gone.values()} == {"no longer made from the sources"}

    rejected = [line for line in third if line["retired"] == numbers[2] and line["config"] == "documents-pairs"]
    assert [(line["retired_date"], line["reason"]) for line in rejected] == [("2026-04-01", "rejected by people")]
    assert [line for line in third if line["retired"] == numbers[1]] == [*gone.values()], "it is carried on"


@pytest.mark.slow
def test_a_history_that_lacks_a_row_is_a_fault(versions: Path, tmp_path: Path) -> None:
    copy = tmp_path / "1.0.0"
    shutil.copytree(versions / "out/releases/1.0.0", copy)
    assert list(faults_of(read_release(copy))) == []
    file = copy / "history.jsonl"
    file.write_text("".join(f"{line}\n" for line in file.read_text().splitlines()[1:]))
    faults = list(faults_of(read_release(copy)))
    number = sum(line["config"] == "documents-pairs" for line in history(versions, "1.0.0"))
    assert f"history.jsonl: {number - 1} rows of documents-pairs, expected {number}" in faults


@pytest.mark.slow
def test_rows_are_chosen_by_version_day_and_date_of_source(versions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(versions)
    second = sorted((versions / "out/releases").glob("*.*.*"))[1]
    lines = [line for line in history(versions, second.name) if line["config"] == "documents-pairs"]
    present = [line for line in lines if not line["retired"]]
    newer = {line["key"] for line in present if line["since"] == second.name}
    assert 0 < len(newer) < len(present)
    with ChatServer(lambda messages: "Right." if "full weeks" in messages[-1]["content"] else "Wrong.") as server:
        models = {"m": model(server)}
        (versions / "models.yaml").write_text(json.dumps({"name": "t", "store": "chosen", "models": models}))
        profile = ("profile", str(second), "--config", "models.yaml", "--model", "m", "--to", "chosen-out")
        asked = {}
        for options, expected in (
            ((), {line["key"] for line in present}),
            (("--since", second.name), newer),
            (("--since", "2026-02-01"), newer),
            (("--since", "2025-12-31"), {line["key"] for line in present}),
            (
                ("--source-after", "2025-01-01"),
                {line["key"] for line in present if line["source_date"] == "2026-02-02"},
            ),
            (("--since", "1.0.0", "--source-after", "2026-02-02"), set()),
        ):
            ran = Outcome(*profile, *options)
            if not expected:
                assert ran.code == 2
                assert "--since and --source-after: test@1.1.0 has no rows since 1.0.0 with sources" in str(ran.error)
                continue
            assert ran.code == 0, ran.output
            asked[options] = rows_asked(versions / "chosen-out")
            assert asked[options] == expected, options
            assert (f"rows since {second.name}: " in ran.output) is (options == ("--since", second.name))
        ran = Outcome("evaluate", "documents", "--model", "m", "--out", "chosen-out", "--since", second.name)
        assert ran.code == 0, ran.output
        assert rows_asked(versions / "chosen-out") == newer
        assert Outcome("evaluate", "documents", "--model", "m", "--out", "chosen-out").code == 0
        page = (versions / "chosen-out/predictions/documents-m.tables.html").read_text()
        assert "exact match over time of source" in page
        scores = json.loads((versions / "chosen-out/predictions/documents-m.scores.json").read_text())
        timed = {one["at"]: one["items"] for one in scores["figures"] if "time of source" in one["measure"]
                 and one["against"] is None}  # fmt: skip
        assert timed == Counter(window(line["source_date"]) for line in present)
    refused = Outcome("evaluate", "documents", "--model", "m", "--out", "out", "--since", "1.0.0")
    assert refused.code == 2
    assert "out has no history of its rows" in str(refused.error)
    for options in (("--since", "newest"), ("--source-after", "2026")):
        wrong = Outcome("evaluate", "documents", "--model", "m", "--out", "chosen-out", *options)
        assert wrong.code == 2
        assert str(wrong.error).startswith(f"{options[0]} {options[1]}: expected a")


def window(day: str) -> str:
    return f"{day[:4]}, quarter {(int(day[5:7]) + 2) // 3}"


def rows_asked(out: Path) -> set[str]:
    """Keys of the questions on documents that predictions are on."""
    project = open_built(out)
    keys = {row.id: row.key for row in project.build.accepted("documents", "pairs")}
    project.close()
    lines = (out / "predictions/documents-m.jsonl").read_text().splitlines()
    return {keys[json.loads(line)["id"]] for line in lines}


def test_windows_are_as_long_as_the_time_of_the_sources_calls_for() -> None:
    measure, _ = load_family("documents").evaluation.measures
    values = [Value("m", measure.name, at, f"i{number}", f"s{number}", float(number % 2))
              for at in ("closed_book", "evidence") for number in range(4)]  # fmt: skip
    for days, windows in (
        (("2019-01-02", "2024-05-01", "2024-06-01"), ["2019", "2024", "2024"]),
        (("2023-01-02", "2024-05-01", "2024-03-31"), ["2023, quarter 1", "2024, quarter 1", "2024, quarter 2"]),
        (("2024-01-02", "2024-05-01", "2024-05-31"), ["2024-01", "2024-05", "2024-05"]),
    ):
        found = by_source_time([measure], values, Rows((f"i{number}", day) for number, day in enumerate(days)))
        assert found is not None
        timed, dated = found
        assert [value.at for value in dated] == windows
        assert {value.measure for value in dated} == {timed.name} == {f"{measure.name} over time of source"}
        assert all(value.item != "i3" for value in dated), "a row whose source has no date has no window"
    assert by_source_time([measure], values, Rows([("i0", "2024-01-02"), ("i1", "2024-01-31")])) is None, (
        "one month is no time"
    )


@pytest.mark.slow
def test_a_profile_has_a_plot_over_the_time_of_sources_for_each_family_that_has_dates(
    versions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(versions)
    second = sorted((versions / "out/releases").glob("*.*.*"))[1]
    present = [line for line in history(versions, second.name) if not line["retired"]]
    with ChatServer(lambda messages: "Wrong.") as server:
        models = {"m": model(server), "n": model(server, temperature=0.5)}
        (versions / "models.yaml").write_text(json.dumps({"name": "t", "store": "timed", "models": models}))
        ran = Outcome("profile", str(second), "--config", "models.yaml", "--model", "m", "--model", "n",
                      "--to", "timed-out")  # fmt: skip
        assert ran.code == 0, ran.output
    profile = json.loads((versions / "timed-out/profile.json").read_text())
    page = (versions / "timed-out/profile.html").read_text().partition('<section id="time">')[2]
    over_time = page.partition("</section>")[0]
    families = {family["family"]: family for family in profile["families"]}
    assert over_time.count("<svg") == len(families) == 2
    for name, family in families.items():
        days = Counter(
            window(line["source_date"]) for line in present if line["config"].startswith(name) and line["source_date"]
        )
        timed = [one for one in family["figures"] if "time of source" in one["measure"] and one["against"] is None]
        for model_ in ("m", "n"):
            assert {one["at"]: one["items"] for one in timed if one["model"] == model_} == days
        assert f"<h3>{name}: {timed[0]['measure']}</h3>" in over_time


@pytest.mark.slow
def test_the_card_has_scores_over_versions_and_says_what_is_not_comparable(
    versions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(versions, tmp_path, monkeypatch)
    project = Project(folder / "config.yaml", folder / "out")
    remember(project)
    project.close()
    first, newest = folder / "out/releases/1.0.0", max((folder / "out/releases").glob("*.*.*"))
    results = newest / "results"
    results.mkdir()
    with ChatServer(lambda messages: "Wrong.") as server:
        models = {"m": model(server), "warm": model(server, temperature=0.5)}
        (folder / "models.yaml").write_text(json.dumps({"name": "t", "store": "asked", "models": models}))
        for version in (first, newest):
            ran = Outcome("profile", str(version), "--config", "models.yaml", "--model", "m", "--model", "warm",
                          "--to", f"of-{version.name}")  # fmt: skip
            assert ran.code == 0, ran.output
            for key in ("m", "warm"):
                scores = folder / f"of-{version.name}" / "predictions" / f"documents-{key}.scores.json"
                shutil.copy(scores, results / f"{version.name}-documents-{key}.scores.json")
    (results / "other.scores.json").write_text("{}")
    number = released(folder, "1777593600", monkeypatch)
    assert number == "1.2.1", "scores are no rows: a patch"
    made = folder / "out/releases" / number
    card = (made / "README.md").read_text().partition("## Scores over versions")[2].partition("\n## ")[0]
    table = [line for line in card.splitlines() if line.startswith("|")]
    assert "other parameters" in table[0], "the column of another temperature says so"
    assert table[0].count("gpt-4o-mini") == 2
    assert [line.split("|")[1].strip() for line in table[2:]] == ["1.0.0", newest.name]
    assert all(line.count("| 0.0, n = ") == 2 for line in table[2:])
    assert card.count("data:test@1.0.0\\|") == card.count(f"data:test@{newest.name}\\|") == 2
    plot = made / "plots" / "documents-scores.svg"
    assert f'src="plots/{plot.name}"' in card
    assert plot.read_text().count("<circle") == 4
    ran = Outcome("release", "--out", "out", "--allow-unreviewed")
    assert ran.code == 0
    assert not (folder / "out/releases/1.2.2").exists(), "nothing is new"
    assert sorted(path.name for path in (made / "results").iterdir()) == sorted(path.name for path in results.iterdir())
    assert list(faults_of(read_release(made))) == []


@pytest.mark.slow
def test_a_preview_proposes_what_tells_no_model_from_another_and_a_verdict_retires_it(
    versions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(versions, tmp_path, monkeypatch)
    config = json.loads((folder / "config.yaml").read_text()) | {"store": str(folder / "store")}
    with ChatServer(lambda messages: "Wrong.") as server:
        models = {"default": {"provider": "rules"}, "m": model(server), "n": model(server, temperature=0.5)}
        (folder / "config.yaml").write_text(json.dumps({**config, "models": models}))
        build(folder)
        preview = ("rebuild", "config.yaml", "--out", "out", "--preview")
        assert "retire?" not in Outcome(*preview).output, "no profile, no proposal"
        assert Outcome("profile", "out", "--model", "m", "--model", "n").code == 0
    ran = Outcome(*preview)
    assert ran.code == 0, ran.output
    kept = next(one for one in json.loads((folder / "out/profile/profile.json").read_text())["families"]
            if one["family"] == "documents")["alike"]["none_right"]  # fmt: skip
    assert f"none of 2 models has them right: {len(kept)}" in ran.output
    (line, file) = re.findall(r"a line such as (\{.*?\}) in (\S+) retires one", ran.output)[0]
    assert Outcome(*preview).output == ran.output, "it stays, until somebody decides"
    with (folder / file).open("a") as verdicts:
        verdicts.write(f"{line}\n")
    build(folder)
    number = released(folder, "1777593600", monkeypatch)
    gone = [one for one in history(folder, number) if one["retired"] == number and one["config"] == "documents-pairs"]
    assert [(one["key"], one["reason"]) for one in gone] == [
        (json.loads(line)["key"], "retired: tells no model from another")
    ]


def test_a_release_is_dated_as_reproducible_builds_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert release_date() == "1970-01-01"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert release_date() >= "2026-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "")
    assert release_date() >= "2026-01-01"


@pytest.mark.parametrize("epoch", ["abc", "-1", "1.5", "2026-11-28", "٣", "253402300800", "9" * 17, "9" * 5000])
def test_a_date_that_is_none_is_refused(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(WrongInput, match=r"^SOURCE_DATE_EPOCH: expected whole seconds since 1970") as refused:
        release_date()
    assert len(str(refused.value)) < 400
