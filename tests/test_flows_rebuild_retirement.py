"""What a preview proposes for retirement: rows that people accepted and yet marked, and what verdict retires a row."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.annotate.pull import _write_verdicts
from flows.annotate.work import collect, read_annotations, works
from flows.families.reeval.rubric import SUPPORT
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project, read_verdicts
from flows.rebuild.retirement import proposed
from schemas.annotation import Annotation
from schemas.rubric import Task
from tests.builds import write_config
from tests.refreshed import CONTEXTS, PAGES, QUESTIONS, SAMPLES, SWAPS
from tests.toy import run_all

AT = "2026-03-01T09:00:00Z"


def build(folder: Path, families: Mapping[str, Any]) -> Project:
    """Build the families into `out`; return the finished build."""
    config = write_config(folder, store=str(folder / "store"), families=families)
    with_verdicts = Project(config, folder / "out")
    with_verdicts.loop.run(run_all(with_verdicts.build))
    write_output_files(with_verdicts)
    remember(with_verdicts)
    with_verdicts.close()
    return open_built(folder / "out")


def done(task: Task, by: str, answers: Mapping[str, str], **more: Any) -> Annotation:
    return Annotation(
        task=task.id, key=task.key, item=task.item_key, rubric=SUPPORT.name, version=SUPPORT.version, by=by,
        answers=answers, at=AT, source=f"{task.id}-{by}", **more,
    )  # fmt: skip


def lines_in(told: str) -> list[tuple[dict[str, str], Path]]:
    """The verdicts that a proposal gives, with the files that they belong in."""
    return [(json.loads(line), Path(file)) for line, file in re.findall(r"(\{.*?\}) in (\S+) retires", told)]


@pytest.mark.slow
def test_rows_that_people_marked_are_proposed_with_the_line_that_retires_each(tmp_path: Path) -> None:
    families = {"reeval": {**SWAPS, "sources": [{**QUESTIONS, "limit": 24}]}}
    project = build(tmp_path, families)
    assert list(proposed(project)) == []
    (work,) = works(project)
    yes = {ask.name: ask.accepts[0] if ask.accepts else ask.options[0] for ask in work.rubric.asks}
    no = yes | {next(ask.name for ask in work.rubric.asks if ask.rejects): next(
        ask.rejects[0] for ask in work.rubric.asks if ask.rejects)}  # fmt: skip
    outvoted, asked, skipped, fine, gone = work.tasks[:5]
    annotations = [
        *(done(outvoted, by, answers) for by, answers in (("a1", yes), ("a2", no), ("a3", yes))),
        *(done(asked, by, yes, question="Is it still so?" if by == "a1" else "") for by in ("a1", "a2", "a3")),
        done(skipped, "a1", {}, cancelled=True), *(done(skipped, by, yes) for by in ("a2", "a3")),
        *(done(fine, by, yes) for by in ("a1", "a2", "a3")), *(done(gone, by, no) for by in ("a1", "a2", "a3")),
    ]  # fmt: skip
    path = tmp_path / "out/annotations/reeval-support.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(one.model_dump_json() + "\n" for one in annotations))
    _write_verdicts(project, work, annotations, collect(project, work, annotations).settlement.verdicts)
    project.close()

    project = build(tmp_path, families)
    told = list(proposed(project))
    headings = [line for line in told if not line.startswith("  ")]
    assert [line.partition(" (")[0] for line in headings] == [
        "reeval-category1: 1 row that some rejected, and they were accepted",
        "reeval-category1: 1 row that somebody has a question about",
        "reeval-category1: 1 row that somebody skipped",
    ]
    found = lines_in("\n".join(told))
    assert [verdict["key"] for verdict, _ in found] == [outvoted.item_key, asked.item_key, skipped.item_key]

    verdict, file = found[0]
    with file.open("a") as lines:
        lines.write(json.dumps(verdict) + "\n")
    (work,) = works(project)
    again = read_annotations(project, "reeval-support")
    _write_verdicts(project, work, again, collect(project, work, again).settlement.verdicts)
    assert read_verdicts(file)[outvoted.item_key].decision == "reject", "a pull leaves it"
    project.close()
    project = build(tmp_path, families)
    keys = {row.key for row in project.build.accepted("reeval", "category1")}
    assert outvoted.item_key not in keys
    assert {asked.item_key, skipped.item_key} <= keys
    assert not any(outvoted.item_key in line for line in proposed(project))
    project.close()


@pytest.mark.slow
def test_rows_on_a_source_of_which_people_rejected_something_are_proposed_with_what_retires_them(
    tmp_path: Path,
) -> None:
    questions = {**QUESTIONS, "limit": 24}
    pairs = {"pairs": 6, "sources": [questions], "distractors": [PAGES]}
    families = {
        "reeval": {**SWAPS, "sources": [questions]},
        "lveval": {**CONTEXTS, "datasets": {"multifieldqa-en-mixup": pairs}},
    }
    project = build(tmp_path, families)
    row = next(iter(project.build.accepted("lveval", "contexts")))
    (source,) = row.provenance.sources
    case = next(one for one in project.build.accepted("reeval", "category1") if source in one.provenance.sources)
    verdict = {"key": case.key, "view_hash": case.view_hash, "rubric": "reeval-support", "decision": "reject"}
    (tmp_path / "out/verdicts").mkdir(exist_ok=True)
    (tmp_path / "out/verdicts/reeval-category1.jsonl").write_text(json.dumps(verdict) + "\n")
    project.close()

    project = build(tmp_path, families)
    heading, told = proposed(project)
    assert heading == "lveval-contexts: 1 row on sources of which people rejected what reeval-category1 has"
    ((verdict, file),) = lines_in(told)
    assert file.name == "lveval-pairs.jsonl"
    assert told.endswith(f"it is on {verdict['key']} in lveval-pairs, from which {row.key} is made")
    file.write_text(json.dumps(verdict) + "\n")
    project.close()
    project = build(tmp_path, families)
    assert row.key not in {one.key for one in project.build.accepted("lveval", "contexts")}
    assert list(proposed(project)) == []
    project.close()


@pytest.mark.slow
def test_a_row_that_nobody_judges_is_retired_by_a_verdict_on_what_it_is_made_from_or_by_its_source(
    tmp_path: Path,
) -> None:
    sentences = {"format": "jsonl", "path": str(SAMPLES / "sentences.jsonl"), "licence": "Apache-2.0"}
    families = {
        "uraq": {"statements": 12, "context_counts": [1]},
        "refutebench": {
            "sources": {"translation": [sentences]}, "style": [], "evaluated": ["default"], "seeds_per_task": 6,
        },
    }  # fmt: skip
    project = build(tmp_path, families)
    row = next(iter(project.build.accepted("uraq", "evaluation")))
    seed = next(iter(project.build.accepted("refutebench", "seeds")))
    alike = {"all_right": [], "items": 9}
    profile = {"families": [{"family": family, "models": [1, 2], "alike": {**alike, "none_right": [id_]}}
                            for family, id_ in (("uraq", row.id), ("refutebench", seed.id))]}  # fmt: skip
    (tmp_path / "out/profile").mkdir()
    (tmp_path / "out/profile/profile.json").write_text(json.dumps(profile))
    _, of_row, _, of_seed = proposed(project)
    (source,) = seed.provenance.sources
    assert of_seed == f"nobody judges what {seed.key} is made from: without sentences.jsonl {source.id} it is gone"
    ((verdict, file),) = lines_in(of_row)
    assert file == tmp_path / "out/verdicts/uraq-items.jsonl"
    assert of_row.endswith(f"it is on {verdict['key']} in uraq-items, from which {row.key} is made")
    assert verdict["retired"] == "tells no model from another"
    (item,) = (one for one in project.build.accepted("uraq", "items") if one.key == verdict["key"])
    taken = {one.key for one in project.build.accepted("uraq", "evaluation") if item.id in one.provenance.parents}
    assert len(taken) > 1
    others = f"{len(taken) - 1} of which {'is' if len(taken) == 2 else 'are'} not among these"
    assert f" retires one and takes {len(taken)} rows with it, {others}: " in of_row
    project.close()
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(verdict) + "\n")
    project = build(tmp_path, families)
    left = {one.key for one in project.build.accepted("uraq", "evaluation")}
    assert left
    assert row.key not in left
    assert left.isdisjoint(taken)
    told = list(proposed(project))
    assert told[0] == "uraq: of the last profile's 9 items, these tell no model from another: 1; none is left"
    project.close()
