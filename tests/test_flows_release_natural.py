"""Natural conflicts, whose texts disagree by themselves, are never averaged with what was made to conflict."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from data.publish.folder import read_release
from data.publish.reading import read_released
from flows.families import load_family
from flows.families.uraq.conflicts import data_set
from flows.families.uraq.score import NEEDS, is_natural, score
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from flows.release.outcome import release_built
from schemas.source import QASource
from tests.builds import write_config
from tests.toy import run_all

QUESTIONS = (
    ("Which city is the capital of Australia?", "{} is the capital city of Australia.", "Canberra", "Sydney"),
    ("Who painted the Mona Lisa?", "The Mona Lisa was painted by {} in Florence.", "Leonardo", "Raphael"),
    ("Which metal is liquid at room temperature?", "Of all metals {} is liquid in a warm room.", "Mercury", "Gallium"),
    ("Which planet has the most moons?", "No planet has more moons than {}, as telescopes show.", "Saturn", "Jupiter"),
    ("Who wrote the novel Dracula?", "Dracula is a novel written by {} of Dublin.", "Stoker", "Shelley"),
    ("Which river flows through Vienna?", "The river {} flows through Vienna.", "Danube", "Elbe"),
)


CONFIGS = ("uraq-items", "uraq-evaluation", "uraq-natural-conflicts")


def row(question: str, text: str, near: str, far: str) -> dict[str, Any]:
    sides = {"evidence": text.format(near), "other_answer": far, "other_evidence": text.format(far)}
    return {"id": question, "question": question, "answers": [near], **sides}


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version of URAQ on statements that were made to conflict, and on natural conflicts."""
    folder = tmp_path_factory.mktemp("natural")
    lines = [json.dumps(row(*line)) for line in QUESTIONS]
    (folder / "disagree.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    qa = {"format": "jsonl", "path": "disagree.jsonl", "licence": "CC0-1.0"}
    config = write_config(
        folder,
        store=str(folder / "store"),
        families={"uraq": {"statements": 30, "context_counts": [1, 2], "qa_sources": [qa]}},
        release={"licence": dict.fromkeys(CONFIGS, "CC0-1.0")},
    )
    project = Project(config, folder / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    project.close()
    return release_built(str(folder / "out"), allow_unreviewed=True).prepared.folder


def by_config(version: Path) -> Mapping[str, list[dict[str, Any]]]:
    release = read_release(version)
    return {config.name: list(read_released(version, config.files)) for config in release.manifest.configs}


def test_natural_conflicts_are_a_configuration_of_their_own(version: Path) -> None:
    rows = by_config(version)
    assert set(rows) == set(CONFIGS)
    assert {row["dataset"] for row in rows["uraq-natural-conflicts"]} == {"natural:jsonl:disagree.jsonl"}
    assert {row["dataset"] for row in rows["uraq-evaluation"]} == {"uraq"}
    assert {row["question"] for row in rows["uraq-natural-conflicts"]} == {question for question, *_ in QUESTIONS}


def test_no_table_and_no_measure_takes_a_value_over_both(version: Path) -> None:
    rows = [row for name, rows in by_config(version).items() if name != "uraq-items" for row in rows]
    natural = {row["id"] for row in rows if is_natural(row["dataset"])}
    predictions = [
        # Right on natural conflicts, and on nothing else: a value over both would be neither 0 nor 1.
        {"id": row["id"], "variant": need,
         "prediction": f"<output>{row['expected'][need] if row['id'] in natural else 'no such thing'}</output>"}
        for row in rows for need in NEEDS
    ]  # fmt: skip
    scores = score(rows, predictions)
    shares = [cell for name, cells in scores.tables.items() if "accuracy" in name for cell in cells]
    assert {value for _, _, value, _ in shares} == {0.0, 1.0}
    measures = {measure.name for measure in load_family("uraq").evaluation.measures}
    assert {value.measure for value in scores.values} == measures
    for value in scores.values:
        assert value.measure.endswith(", natural conflicts") == (value.row in natural)
        assert value.value == (value.row in natural)


def test_no_group_of_tasks_has_both(version: Path) -> None:
    groups = {
        path.stem: tasks["task"]
        for path in (version / "scorers").glob("*.yaml")
        if "group" in (tasks := yaml.load(path.read_text(), yaml.BaseLoader))
    }
    assert groups["touchstone-uraq"] == ["touchstone-uraq-evaluation"]
    assert groups["touchstone-uraq-natural"] == ["touchstone-uraq-natural-conflicts"]
    for group, tasks in groups.items():
        assert {"-natural-conflicts" in task for task in tasks} == {"-natural" in group}


def test_what_touchstone_made_is_not_natural() -> None:
    sides = (("Canberra", "Canberra is it."), ("Sydney", "Sydney is it."))
    for format_, name in (("conflictqa", "natural:conflictqa:a"), ("touchstone", "touchstone:a"), ("part", "part:a")):
        source = QASource(
            key="0" * 16, question="Which?", answers=("Canberra",), sides=sides, format=format_,
            source={"source": "a", "id": "1"},
        )  # fmt: skip
        assert data_set(source) == name
    assert not is_natural("hotpotqa:dev.jsonl")
