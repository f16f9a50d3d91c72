"""Rows have the dates of the table rows that they were made from, in all families."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from data.publish.history import read_history
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from flows.release.outcome import release_built
from tests.builds import write_config
from tests.refreshed import CONTEXTS, PAGES, SAMPLES, SWAPS
from tests.test_flows_release_natural import QUESTIONS, row
from tests.toy import run_all


def dated(folder: Path, name: str, **more: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A packaged table with a day in most rows: its source, and the days by the rows' ids."""
    rows = [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]
    days = {one["id"]: f"20{20 + place % 4}-0{1 + place % 9}-15" for place, one in enumerate(rows) if place % 5}
    lines = [json.dumps({**one, "day": days.get(one["id"])}) for one in rows]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"format": "jsonl", "path": name, "licence": "CC0-1.0", "fields": {"date": "day", **more}}, days


@pytest.mark.slow
def test_rows_made_from_tables_have_their_dates_in_all_families(tmp_path: Path) -> None:
    asked, days = dated(tmp_path, "questions.jsonl")
    sentences, written = dated(tmp_path, "sentences.jsonl")
    conflicts = [json.dumps({**row(*line), "day": "2022-02-02"}) for line in QUESTIONS]
    (tmp_path / "disagree.jsonl").write_text("\n".join(conflicts) + "\n", encoding="utf-8")
    disagree = {"format": "jsonl", "path": "disagree.jsonl", "licence": "CC0-1.0", "fields": {"date": "day"}}
    datasets = {"multifieldqa-en-mixup": {"pairs": 6, "sources": [asked], "distractors": [PAGES]}}
    config = write_config(
        tmp_path,
        store=str(tmp_path / "store"),
        families={
            "uraq": {"statements": 12, "context_counts": [1], "qa_sources": [disagree]},
            "reeval": {**SWAPS, "sources": [asked]},
            "lveval": {**CONTEXTS, "datasets": datasets},
            "refutebench": {
                "sources": {"translation": [sentences]}, "style": [], "evaluated": ["default"], "seeds_per_task": 12,
            },
        },
        release={"licence": "CC0-1.0"},
    )  # fmt: skip
    project = Project(config, tmp_path / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    sources = {
        record.key: [source.id for source in record.provenance.sources]
        for family, part in (("reeval", "category1"), ("lveval", "contexts"), ("refutebench", "seeds"))
        for record in project.build.accepted(family, part)
    }
    project.close()
    version = release_built(str(tmp_path / "out"), allow_unreviewed=True).prepared.folder

    counts: Counter[str] = Counter()
    for line in read_history(version):
        if line.key in sources:
            known = written if line.config.startswith("refutebench") else days
            assert line.source_date == max((known[id_] for id_ in sources[line.key] if id_ in known), default=None)
        counts[line.config] += line.source_date is not None
    assert {config for config, number in counts.items() if number} >= {
        "reeval-category1", "lveval-multifieldqa_en_mixup_1k", "refutebench-seeds", "uraq-natural-conflicts",
    }, counts  # fmt: skip
