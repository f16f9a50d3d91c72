"""`touchstone profile` where a family's options are weighed by causal models that are loaded here."""

import json
from pathlib import Path

import pytest

from flows.evaluate.rows import evaluated_rows
from flows.families.charpeval.facts import unnamed_entities
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from flows.project.settings import packaged
from schemas.charpeval import DISTRACTOR_TYPES, OPTION_TYPES
from schemas.verdict import Verdict
from tests.builds import write_config
from tests.causal_models import make_llama
from tests.test_flows_cli import Outcome
from tests.toy import run_all


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a build of CHARPEval, whose distractors an author wrote, and two models."""
    folder = tmp_path_factory.mktemp("weighed")
    dialogues = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
    models = {
        name: {"provider": "local", "name": str(make_llama(folder / name, seed=seed))}
        for seed, name in enumerate(("one", "other"))
    }
    config = write_config(
        folder, store=str(folder / "store"), families={"charpeval": {"sources": [dialogues], "shots": [0]}},
        models=models,
    )  # fmt: skip
    project = Project(config, folder / "out")
    project.loop.run(run_all(project.build))
    (folder / "out" / "verdicts").mkdir(parents=True)
    with (folder / "out" / "verdicts" / "charpeval-distractors.jsonl").open("w") as file:
        for record in project.build.accepted("charpeval", "distractors"):
            if not (others := unnamed_entities(record.knowledge, record.response)):
                continue
            texts = {kind: f"Well, this is no answer {place}." for place, kind in enumerate(DISTRACTOR_TYPES)}
            verdict = Verdict(
                key=record.key, view_hash=record.view_hash, rubric="charpeval-authoring", by="a1", decision="fix",
                changes={**texts, "IECF": f"So {others[0].text} is well known."},
            )  # fmt: skip
            file.write(verdict.model_dump_json() + "\n")
    project.close()
    project = Project(config, folder / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    project.close()
    return folder


@pytest.mark.slow
def test_two_local_models_weigh_options_and_stand_on_one_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    ran = Outcome("profile", "out", "--model", "one", "--model", "other")
    assert ran.code == 0, ran.output
    (charpeval,) = json.loads((folder / "out/profile/profile.json").read_text())["families"]
    rows = charpeval["figures"][0]["items"]
    assert rows == 6
    assert [(one["model"], one["spent"]["calls"]) for one in charpeval["models"]] == [
        ("one", 2 * rows * len(OPTION_TYPES)), ("other", 2 * rows * len(OPTION_TYPES))
    ]  # fmt: skip
    figures = {(one["model"], one["at"]): one["value"] for one in charpeval["figures"] if one["against"] is None}
    assert figures == {
        (name, subset): weighed_right(folder, name)[subset] for name in ("one", "other") for subset in ("easy", "hard")
    }
    page = (folder / "out/profile/profile.html").read_text()
    assert "Models side by side" in page
    predictions = folder / "out/predictions/charpeval-one.jsonl"
    before = predictions.stat().st_mtime_ns
    again = Outcome("profile", "out", "--model", "one", "--model", "other")
    assert again.code == 0
    assert predictions.stat().st_mtime_ns == before, "what was weighed is not weighed again"


@pytest.mark.slow
def test_a_model_that_is_a_folder_needs_no_line_in_the_configuration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ran = Outcome("profile", "out", "--model", "./other", "--to", "elsewhere")
    assert ran.code == 0, ran.output
    assert "of provider rules" not in ran.output
    (charpeval,) = json.loads((folder / "elsewhere/profile.json").read_text())["families"]
    assert {one["model"] for one in charpeval["figures"]} == {"./other"}


def weighed_right(folder: Path, name: str) -> dict[str, float]:
    """By subset, the share of items whose right response the model finds the most probable, from its predictions."""
    found: dict[str, list[bool]] = {}
    lines = (folder / f"out/predictions/charpeval-{name}.jsonl").read_text().splitlines()
    project = open_built(folder / "out")
    subsets = {row.id: row.subset for row in evaluated_rows(project, project.family("charpeval"), None)}
    project.close()
    for line in lines:
        row = json.loads(line)
        if row["variant"] == "sum":
            best = max(row["scores"], key=row["scores"].__getitem__)
            found.setdefault({"eCHARP": "easy", "hCHARP": "hard"}[subsets[row["id"]]], []).append(best == "GTRS")
    return {subset: sum(of_subset) / len(of_subset) for subset, of_subset in found.items()}
