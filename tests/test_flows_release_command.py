"""`touchstone release`, `diff` and `verify release` on all families, as a consumer and a maintainer use them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.publish.folder import read_release, write_manifest
from flows.evaluate.rows import evaluated_rows
from flows.project.evaluated import note_of, settings_now, write_note
from flows.project.output_files import open_built
from flows.project.project import Project
from flows.release.private_share import SECRET
from tests.builds import touchstone, write_config
from tests.causal_models import make_llama
from tests.rebuilds import modules_of
from tests.released import write_lines
from tests.saying import OURS

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
COLUMNS = {"COLUMNS": "200"}
AUTHORED = {"KGIR": "One.", "KGUG": "Two.", "RECF": "Three.", "IECF": "A hamster is small.", "COEX": "Five."}


def configured(folder: Path, questions: Path, **release: Any) -> Path:
    asked = {"format": "jsonl", "path": str(questions), "licence": "Apache-2.0"}
    pages = {"format": "jsonl", "path": str(SAMPLES / "pages.jsonl"), "licence": "Apache-2.0"}
    related = {**pages, "path": str(SAMPLES / "related.jsonl")}
    dialogues = {"format": "jsonl", "path": str(SAMPLES / "dialogues.jsonl"), "licence": "Apache-2.0"}
    mixup = {"pairs": 6, "sources": [asked], "distractors": [pages]}
    families = {
        "uraq": {"statements": 30, "context_counts": [1, 3]},
        "reeval": {"seeds": "all", "entailment": False, "sources": [asked], "passages": [pages, related]},
        "lveval": {"levels": ["1k"], "datasets": {"multifieldqa-en-mixup": mixup}},
        "charpeval": {"sources": [dialogues]},
    }
    return write_config(
        folder, store=str(folder / "store"), families=families, release={"licence": "Apache-2.0", **release}
    )


def author(project: Project) -> None:
    """What somebody wrote on the dialogue about hamsters."""
    record = next(one for one in project.build.accepted("charpeval", "distractors") if "eighty" in one.response)
    verdict = {
        "key": record.key, "view_hash": record.view_hash, "rubric": "charpeval-authoring", "by": "a1",
        "decision": "fix", "changes": AUTHORED,
    }  # fmt: skip
    write_lines(project.out / "verdicts" / "charpeval-distractors.jsonl", [verdict])


def run(*arguments: str | Path, folder: Path) -> str:
    done = touchstone(*arguments, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a build of all families, one dialogue of it authored, and its release 1.0.0."""
    folder = tmp_path_factory.mktemp("released")
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()[:24]
    (folder / "questions.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    config = configured(folder, folder / "questions.jsonl")
    run("run", config, "--out", "out", folder=folder)
    author(open_built(folder / "out"))
    done = touchstone("release", "--out", "out", folder=folder)
    assert done.returncode == 2
    assert "new verdicts on charpeval-distractors since it was built" in done.stderr
    run("run", config, "--out", "out", folder=folder)
    run("release", "--out", "out", "--to", "releases", "--allow-unreviewed", folder=folder)
    return folder


def test_a_build_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    done = touchstone("release", "--out", "none", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "touchstone: none: there is no build here; `touchstone run CONFIG --out none` makes one\n"


@pytest.mark.slow
def test_all_families_are_in_the_release(sample: Path) -> None:
    manifest = read_release(sample / "releases" / "1.0.0").manifest
    by_name = {one.name: one for one in manifest.configs}
    assert set(by_name) == {
        "uraq-items", "uraq-evaluation", "reeval-category1", "reeval-category2", "lveval-multifieldqa_en_mixup_1k",
        "charpeval-hcharp", "charpeval-echarp",
    }  # fmt: skip
    for name in ("charpeval-hcharp", "charpeval-echarp"):  # accepted as what an author wrote
        assert (by_name[name].rows, by_name[name].reviewed) == (1, 1)
    (row,) = pq.read_table(sample / "releases" / "1.0.0" / "data" / "charpeval-hcharp" / "test.parquet").to_pylist()
    assert (row["reviewed"], row["decision"]) == (True, "fix")
    lveval = pq.read_table(sample / "releases" / "1.0.0" / by_name["lveval-multifieldqa_en_mixup_1k"].files[0])
    assert set(lveval["decision"].to_pylist()) == {"unreviewed_allowed"}
    assert manifest.allowed_unreviewed


@pytest.mark.slow
def test_every_field_is_described(sample: Path) -> None:
    folder = sample / "releases" / "1.0.0"
    for config in read_release(folder).manifest.configs:
        for field in pq.read_schema(folder / config.files[0]):
            assert (field.metadata or {}).get(b"description"), f"{config.name}: {field.name}"


NOTHING = """
import sys
from flows.cli import main
sys.argv = ["touchstone", "release", "--out", "out", "--to", "releases", "--allow-unreviewed"]
main()
print(sorted({"torch", "sentence_transformers", "faiss", "huggingface_hub"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_nothing_new_is_said_and_loads_no_model(sample: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NOTHING], cwd=sample, capture_output=True, text=True, check=True,
        env={**os.environ, **COLUMNS},
    )  # fmt: skip
    assert "- nothing differs from version 1.0.0: releases/1.0.0" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_where_it_was_built_a_version_is_proved_by_the_vectors_that_are_there(sample: Path) -> None:
    shutil.copy(sample / "store" / "embeddings.sqlite", sample / ".touchstone" / "embeddings.sqlite")
    said, heavy = modules_of(sample, "verify", "release", "releases/1.0.0")
    assert "0 faults" in said
    assert heavy == [], "no embedding model"


@pytest.mark.slow
def test_a_changed_source_row_is_the_next_version(sample: Path) -> None:
    questions = sample / "changed.jsonl"
    lines = (sample / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows[2]["question"] = rows[2]["question"].replace("?", ", exactly?")
    (sample / "next").mkdir()
    questions = write_lines(sample / "next" / "questions.jsonl", rows)
    config = configured(sample / "next", questions)
    run("run", config, "--out", "next/out", folder=sample)
    author(open_built(sample / "next" / "out"))
    run("run", config, "--out", "next/out", folder=sample)
    told = run("release", "--out", "next/out", "--to", "releases", "--allow-unreviewed", folder=sample)
    assert "✓ version 1.1.0, after 1.0.0: releases/1.1.0" in told
    manifest = read_release(sample / "releases" / "1.1.0").manifest
    assert (manifest.previous, manifest.comparable) == ("1.0.0", False)
    told = run("diff", "releases/1.0.0", "releases/1.1.0", "--output", "changes.jsonl", folder=sample)
    assert told.startswith("## 1.1.0\n\nA minor change of `1.0.0`")
    assert told.endswith("The rule makes this version 1.1.0.\n")
    assert ", exactly?" in told
    assert (sample / "changes.jsonl").read_bytes() == (sample / "releases" / "1.1.0" / "changes.jsonl").read_bytes()
    assert "0 faults" in run("verify", "release", "releases/1.1.0", folder=sample)
    of_newest = run("verify", "release", "releases", folder=sample)
    assert " 1.1.0: " in of_newest
    assert "0 faults" in of_newest


@pytest.mark.slow
def test_another_style_of_asking_leaves_no_row_of_that_family_comparable(sample: Path) -> None:
    (sample / "styled").mkdir()
    shutil.copytree(sample / "releases" / "1.0.0", sample / "styled" / "releases" / "1.0.0")
    shutil.copytree(sample / "out" / "verdicts", sample / "styled" / "out" / "verdicts")
    config = json.loads((sample / "config.yaml").read_text(encoding="utf-8"))
    config["families"]["reeval"]["style"] = "alpaca"
    (sample / "styled.yaml").write_text(json.dumps(config), encoding="utf-8")
    run("run", "styled.yaml", "--out", "styled/out", folder=sample)
    told = run("release", "--out", "styled/out", "--to", "styled/releases", "--allow-unreviewed", folder=sample)
    assert "✓ version 2.0.0, after 1.0.0" in told
    assert (
        "A major change of `1.0.0`. How far scores are comparable with those on it: `reeval-category1`, "
        "`reeval-category2` not at all; " in told
    )
    manifest = read_release(sample / "styled" / "releases" / "2.0.0").manifest
    assert {config.name for config in manifest.configs if config.comparable != config.rows} == {
        "reeval-category1", "reeval-category2",
    }  # fmt: skip
    assert all(config.scorer and config.asked for config in manifest.configs if config.name != "uraq-items")


@pytest.mark.slow
def test_a_changed_download_is_told_apart(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "1.0.0"
    subprocess.run(["cp", "-r", sample / "releases" / "1.0.0", folder], check=True)
    assert "0 faults" in run("verify", "release", folder, folder=sample)
    path = folder / "data" / "reeval-category1" / "test.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0]["evidence"] = rows[0]["evidence"].replace(rows[0]["answer"], "somebody else")
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    done = touchstone("verify", "release", folder, folder=sample)
    assert done.returncode == 1
    assert "data/reeval-category1/test.parquet: " in done.stdout
    release = read_release(folder)
    write_manifest(folder, release.manifest)  # made to fit
    done = touchstone("verify", "release", folder, folder=sample)
    assert done.returncode == 1
    assert "does not match the content" in done.stdout
    assert done.stderr.startswith(f"touchstone: {folder}: ")
    assert "this is not version 1.0.0 as it was released" in done.stderr


@pytest.mark.slow
def test_each_scorer_runs_alone_on_the_released_rows(sample: Path, tmp_path: Path) -> None:
    folder = sample / "releases" / "1.0.0"
    rows = pq.read_table(folder / "data" / "uraq-evaluation" / "test.parquet").to_pylist()
    predictions = write_lines(
        tmp_path / "uraq.jsonl",
        [
            {"id": row["id"], "variant": need, "prediction": f"<output>{row['expected'][need]}</output>"}
            for row in rows
            for need in row["expected"]
        ],
    )
    exported = write_lines(tmp_path / "rows.jsonl", rows)
    alone = [sys.executable, "-I", "-S", str(folder / "scorers" / "uraq.py")]
    done = subprocess.run([*alone, str(predictions), str(exported)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    overall = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("overall accuracy\t")]
    assert [(column, value) for _, _, column, value, _ in overall][:2] == [("1", "1.0"), ("3", "1.0")]
    for name in ("reeval", "lveval", "charpeval"):
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(folder / "scorers" / f"{name}.py"), "--help"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def evaluate_section(sample: Path) -> str:
    """What the card says of evaluating a model."""
    card = (sample / "releases" / "1.0.0" / "README.md").read_text()
    return card.partition("## Evaluate")[2].partition("## Baselines")[0]


@pytest.fixture(scope="module")
def exported(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each configuration as JSONL, written by the card's code for one of them."""
    folder, release = tmp_path_factory.mktemp("exported"), sample / "releases" / "1.0.0"
    loads = evaluate_section(sample).partition("```python\n")[2].partition("\n```")[0]
    code = loads.replace("path/to/this/folder", str(release))
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code.replace("uraq-evaluation", config) for config in configs_of(release))],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "HF_DATASETS_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def configs_of(release: Path) -> list[str]:
    return [config.name for config in read_release(release).manifest.configs]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uraq", "reeval", "lveval", "charpeval"])
def test_what_the_card_says_of_predictions_is_scored(name: str, sample: Path, exported: Path, tmp_path: Path) -> None:
    """Its example, of every row and variant that it names; as Parquet, and as the JSONL that it tells how to write."""
    folder = sample / "releases" / "1.0.0"
    (told,) = (
        part for part in re.split(r"\n\*\*.*\*\*\n", evaluate_section(sample)) if f"python scorers/{name}.py" in part
    )
    form = json.loads(told.partition("```json\n")[2].partition("\n```")[0])
    command = re.findall(r"^python (.*)$", told, re.MULTILINE)[0].split()
    variants = {
        place: re.findall(r"`([^`]+)`", names)
        for place, names in re.findall(r"- `variant`(?: in `(.*?)`)?: (.*)", told)
    }
    rows, predictions = [], {}
    for path in command[2:]:
        config = Path(path).parent.name
        rows.append(str(exported / f"{config}.jsonl"))
        for row in pq.read_table(folder / path, columns=["id"]).to_pylist():
            for variant in variants.get(config) or variants[""]:
                predictions[row["id"], variant] = {**form, "id": row["id"], "variant": variant}
    given = write_lines(tmp_path / "predictions.jsonl", predictions.values())
    from_parquet, from_jsonl = (
        subprocess.run(
            [sys.executable, command[0], given, *files], cwd=folder, capture_output=True, text=True, check=False
        )
        for files in (command[2:], rows)
    )
    assert from_parquet.returncode == 0, from_parquet.stderr
    assert from_parquet.stdout == from_jsonl.stdout
    assert from_parquet.stdout.count("\n") > 2


@pytest.mark.slow
def test_scores_on_the_released_rows_stand_in_the_card_and_make_a_patch(sample: Path, tmp_path: Path) -> None:
    for name in ("out", "releases/1.0.0"):
        shutil.copytree(sample / name, tmp_path / name)
    project = open_built(tmp_path / "out")
    for name in ("uraq", "reeval", "lveval", "charpeval"):
        evaluate_by_rote(project, name)
    version = "1.0.1"
    run("release", "--out", "out", "--to", "releases", folder=tmp_path)
    release = read_release(tmp_path / "releases" / version)
    sizes: Counter[str] = Counter()
    for config in release.manifest.configs:
        sizes[config.family] += config.rows if config.name != "uraq-items" else 0
    baselines = release.manifest.baselines
    assert {scores.family: (scores.model, scores.rows, scores.of) for scores in baselines} == {
        family: ("m", size, size) for family, size in sizes.items()
    }
    for scores in baselines:  # the very numbers that its scorer gives
        scorer = release.folder / "scorers" / f"{scores.family}.py"
        files = [release.folder / path for config in release.manifest.configs if config.family == scores.family
                 and config.name != "uraq-items" for path in config.files]  # fmt: skip
        given = tmp_path / "out" / "predictions" / f"{scores.family}-m.jsonl"
        command = [sys.executable, scorer, given, *files, "--output", tmp_path / "tables.json", "--partial"]
        subprocess.run(command, check=True, capture_output=True)
        told = json.loads((tmp_path / "tables.json").read_text())
        assert scores.scores
        assert all(cell.model_dump() in told for cell in scores.scores)
    card = (release.folder / "README.md").read_text()
    assert f"**m** on URAQ, all {sizes['uraq']} rows:" in card
    assert "the scores of models" in (release.folder / "CHANGELOG.md").read_text().partition("## 1.0.0")[0]
    assert "nothing differs" in run("release", "--out", "out", "--to", "releases", folder=tmp_path)

    # Rows that would be asked about in another way do not count; predictions that were changed by hand are refused.
    path = note_of(tmp_path / "out" / "predictions" / "uraq-m.jsonl")
    note = json.loads(path.read_text())
    note["rows"][0] = re.sub(r" \S+\n", " another\n", note["rows"][0], count=1)
    del note["checksum"]
    path.write_text(json.dumps(note))
    with (tmp_path / "out" / "predictions" / "reeval-m.jsonl").open("a") as file:
        file.write("\n")
    said = run("release", "--out", "out", "--to", "releases", folder=tmp_path)
    assert "reeval-m.jsonl: the card has no scores of it: it was changed since it was written" in said
    assert "`touchstone evaluate reeval --model m` evaluates it again" in said
    baselines = read_release(tmp_path / "releases" / "1.0.2").manifest.baselines
    assert {scores.family: scores.rows for scores in baselines} == {
        family: size - (family == "uraq") for family, size in sizes.items() if family != "reeval"
    }


@pytest.mark.slow
def test_scores_on_private_rows_stand_below_those_on_public_ones(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, OURS)
    for name in ("out", "store"):
        shutil.copytree(sample / name, tmp_path / name)
    config = configured(tmp_path, sample / "questions.jsonl", held_out=0.4)
    run("run", config, "--out", "out", folder=tmp_path)
    project = open_built(tmp_path / "out")
    evaluate_by_rote(project, "uraq")
    said = run("release", "--out", "out", "--to", "releases", "--allow-unreviewed", folder=tmp_path)
    release = read_release(tmp_path / "releases" / "1.0.0")
    public, private = release.manifest.baselines
    rows = next(config for config in release.manifest.configs if config.name == "uraq-evaluation")
    assert (public.private, public.rows, public.of) == (False, rows.rows, rows.rows)
    assert (private.private, private.rows, private.of) == (True, rows.held_out, rows.held_out)
    assert 0 < rows.held_out < rows.rows
    assert f"on {rows.held_out} of {rows.held_out} private rows of uraq" in said
    by_table = [{cell.table: cell.n for cell in scores.scores} for scores in (public, private)]
    assert by_table[0].keys() == by_table[1].keys()
    card = (release.folder / "README.md").read_text()
    assert f"**m** on URAQ, all {rows.held_out} private rows (not published: " in card
    # What the card tells of them is what the scorer gives for them.
    kept = tmp_path / "releases" / "private" / "1.0.0" / "data" / "uraq-evaluation" / "test.parquet"
    given = tmp_path / "out" / "predictions" / "uraq-m.jsonl"
    command = [sys.executable, release.folder / "scorers" / "uraq.py", given, kept, "--partial", "--output", "t.json"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    told = json.loads((tmp_path / "t.json").read_text())
    assert all(cell.model_dump() in told for cell in private.scores)


def evaluate_by_rote(project: Project, name: str) -> None:
    """Write the predictions of a model that always says the same, with their note."""
    family = project.family(name)
    rows, settings = evaluated_rows(project, family, None), settings_now(project, family)
    predictions: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if family.evaluation.choices is not None:
            ways = [({"variant": "sum", "scores": dict.fromkeys(choice.options, -1.0)}, choice)
                    for choice in family.evaluation.choices(row, settings)]  # fmt: skip
        else:
            ways = [({"variant": request.variant, "prediction": "no"}, request)
                    for request in family.evaluation.requests(row, settings)]  # fmt: skip
        for answer, way in ways:
            asked = {name: value for name, value in (("prompting", way.prompting), ("shots", way.shots)) if value}
            predictions[row.id, answer["variant"], str(asked)] = {"id": row.id, "model": "m", **answer, **asked}
    path = write_lines(project.out / "predictions" / f"{name}-m.jsonl", predictions.values())
    write_note(project, family, "m", rows, path)


@pytest.mark.slow
def test_the_card_tells_what_made_the_released_rows_alone(sample: Path) -> None:
    manifest = read_release(sample / "releases" / "1.0.0").manifest
    card = (sample / "releases" / "1.0.0" / "README.md").read_text()
    # ReEval's pivot writes, and its builder reads what was merged.
    makers = {"charpeval.builder", "lveval.builder", "reeval.builder", "reeval.pivot", "uraq.builder"}
    assert set(manifest.models) == makers
    assert "uraq/ask_question" in manifest.prompts
    for unasked in ("uraq/contradict", "uraq/answer_single_hop", "reeval/answer_alpaca", "uraq/answer_with_context"):
        assert unasked not in manifest.prompts  # the first ones are for settings that this has not, the last evaluates
        assert unasked.partition("/")[2] not in card.partition("## How it was made")[2]
    # Without the rows that wait for people LV-Eval has none, and nothing of it is told of.
    run("release", "--out", "out", "--to", "reviewed", folder=sample)
    manifest = read_release(sample / "reviewed" / "1.0.0").manifest
    assert not [name for name in (*manifest.models, *manifest.prompts) if name.startswith("lveval")]
    assert "lveval" not in manifest.settings["families"]  # type: ignore[operator]
    told = (sample / "reviewed" / "1.0.0" / "README.md").read_text()
    assert "lveval" not in told.partition("## How it was made")[2].partition("## What is held back")[0]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_card_s_commands_run_the_released_tasks_as_printed(sample: Path, lm_eval: Path, tmp_path: Path) -> None:
    folder = tmp_path / "1.0.0"
    shutil.copytree(sample / "releases" / "1.0.0", folder)
    tokenizer = make_llama(tmp_path / "llama", window=4096) / "tokenizer_config.json"
    told = {"chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"}
    tokenizer.write_text(json.dumps(json.loads(tokenizer.read_text()) | told))
    card = (folder / "README.md").read_text()
    commands = re.findall(r"^lm-eval run .*--tasks (touchstone-\w+)(.*)$", card, re.MULTILINE)
    assert dict(commands) == {
        "touchstone-uraq": " --apply_chat_template", "touchstone-reeval": " --apply_chat_template",
        "touchstone-lveval": " --apply_chat_template", "touchstone-charpeval": "",
    }  # fmt: skip
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lm-eval").symlink_to(lm_eval)
    environment = {
        **os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "hf"),
    }  # fmt: skip
    for group, _ in commands:
        line = next(line for line in card.splitlines() if line.startswith("lm-eval run") and f"--tasks {group}" in line)
        printed = line.replace("=MODEL ", f"={tmp_path / 'llama'},dtype=float32 ")
        more = f"--device cpu --limit 2 --gen_kwargs max_gen_toks=4 --output_path {tmp_path / 'found' / group}"
        done = subprocess.run(
            f"{printed} {more} --log_samples", shell=True, cwd=folder, env=environment, capture_output=True, text=True,
            check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        (results,) = (tmp_path / "found" / group).rglob("results_*.json")
        found = json.loads(results.read_text())
        assert set(found["versions"].values()) == {"1.0.0"}
        values = {name: value for name, value in found["results"][group].items() if "," in name}
        assert values
        assert not [name for name, value in values.items() if value == "NaN" or value != value], group
        if group != "touchstone-charpeval":  # whose tasks have a row each
            assert not [name for name, value in values.items() if value == "N/A"], group
            asked = next(results.parent.glob("samples_*.jsonl")).read_text()
            assert '"<user>' in asked or '"<system>' in asked


@pytest.mark.slow
def test_the_readme_of_the_tasks_names_and_validates_all_of_them(sample: Path, lm_eval: Path, tmp_path: Path) -> None:
    folder = tmp_path / "1.0.0"
    shutil.copytree(sample / "releases" / "1.0.0", folder)
    readme = (folder / "scorers" / "README.md").read_text()
    for path in (folder / "scorers").glob("*.yaml"):
        assert f"* `{path.stem}`: " in readme
    for heading in ("### Paper", "### Citation", "### Groups, Tags, and Tasks", "## Checklist", "## Changelog"):
        assert f"\n{heading}\n" in readme
    assert "* 1.0.0: see `CHANGELOG.md`" in readme
    assert "pip install jieba==0.42.1" in readme
    validate, dry = re.findall(r"^lm-eval .*(?:validate|--model dummy).*$", readme, re.MULTILINE)
    for line in (validate, dry):
        done = subprocess.run(
            line.replace("lm-eval", str(lm_eval), 1), shell=True, cwd=folder, capture_output=True, text=True,
            check=False, timeout=600, env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
    for path in (path for path in (folder / "scorers").iterdir() if path.is_file()):
        assert str(sample) not in path.read_text(), path  # where it was made is nobody's business
