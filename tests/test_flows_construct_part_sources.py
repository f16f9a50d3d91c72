"""A part of a configuration as the source of another family: built before it, and read as it is built."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from data.sources import PART, SourceSpec
from flows.construct.stages import SOURCE, StageRef
from flows.project.project import Project
from flows.project.settings import ConfigError, load_config
from flows.release.rows import line_sources
from flows.run.estimate import estimate
from schemas.reeval import SwapCase
from tests.builds import ROOT, write_config
from tests.toy import run_all, run_by_runner

SAMPLES = ROOT / "data" / "samples"
QUESTIONS = {"format": "jsonl", "path": str(SAMPLES / "questions.jsonl"), "licence": "Apache-2.0"}
REEVAL = {"seeds": "all", "entailment": "off", "parts": ["category1"], "sources": [QUESTIONS]}
URAQ = {
    "statements": 40, "context_counts": [1, 5], "parts": ["evaluation"],
    "qa_sources": [{"part": "reeval-category1"}],
}  # fmt: skip


def project_of(folder: Path, limit: int | None = None, **families: Any) -> Project:
    config = write_config(folder, store=str(folder / "store"), families=families)
    return Project(config, folder / "out", limit)


async def test_a_part_is_built_first_and_read_as_it_is(tmp_path: Path) -> None:
    project = project_of(tmp_path, uraq=URAQ, reeval=REEVAL)  # uraq stands first, and is built last
    assert next(family.name for family, _ in project.build.parts()) == "reeval"
    await run_all(project.build)
    build = project.build
    cases: list[SwapCase] = list(build.accepted("reeval", "category1"))
    read = list(build.read(StageRef("uraq", "conflicts", SOURCE)))
    assert len(cases) > 20
    assert {record.question for record in read} == {case.question for case in cases}
    sources = {record.source for record in read}
    assert {source.source for source in sources} == {"questions.jsonl"}, "a row's origin stays what it was"
    assert {source.licence for source in sources} == {"Apache-2.0"}
    uraq = build.families["uraq"].family
    origins = line_sources(project, uraq, uraq.part("conflicts"))
    assert [spec.name for spec in origins] == ["questions.jsonl"]


def test_what_a_part_holds_decides_what_is_built_anew(tmp_path: Path) -> None:
    project = project_of(tmp_path / "one", uraq=URAQ, reeval=REEVAL)
    other = project_of(tmp_path / "other", uraq=URAQ, reeval={**REEVAL, "sources": [{**QUESTIONS, "limit": 30}]})
    conflicts, statements = (StageRef("uraq", name, SOURCE) for name in ("conflicts", "statements"))
    assert project.build.fingerprint(conflicts) != other.build.fingerprint(conflicts)
    assert project.build.fingerprint(statements) == other.build.fingerprint(statements)
    last = project.build.stages(*project.build.part_of(SourceSpec.model_validate({"part": "reeval-category1"})))[-1]
    assert project.build.needs(conflicts) == (last,)
    run_by_runner(project.build)
    assert project.build.manifest(conflicts) is not None


def test_an_estimate_counts_what_the_part_is_estimated_to_have(tmp_path: Path) -> None:
    model = {"provider": "endpoint", "name": "m", "base_url": "http://127.0.0.1:9/v1"}
    config = write_config(
        tmp_path, store=str(tmp_path / "store"), model=model, families={"uraq": URAQ, "reeval": REEVAL}
    )
    lines = {line.step: line.calls for line in estimate(Project(config, tmp_path / "out")).lines}
    assert lines["uraq make_conflict · contradict"] > 60


@pytest.mark.parametrize(
    ("families", "told"),
    [
        ({"uraq": {**URAQ, "qa_sources": [{"part": "reeval-category3"}]}, "reeval": REEVAL},
         'qa_sources[0]: part reeval-category3: no other family of this configuration builds such a part; '
         'did you mean "reeval-category1"?'),
        ({"uraq": {**URAQ, "statements_from": {"part": "reeval-category1"}}, "reeval": REEVAL},
         "statements_from: part reeval-category1: gives no Statement; name another"),
        ({"charpeval": {"sources": [{"part": "reeval-category1"}]}, "reeval": REEVAL},
         "sources[0]: part reeval-category1: gives no Dialogue; name another"),
        ({"uraq": {**URAQ, "qa_sources": [{"part": "uraq-items"}]}},
         "qa_sources[0]: part uraq-items: no other family of this configuration builds such a part"),
        ({"uraq": URAQ, "reeval": {**REEVAL, "sources": [{"part": "uraq-items"}]}},
         "qa_sources[0]: part reeval-category1: is made from a part of uraq itself; leave one of them out"),
        ({"uraq": {**URAQ, "qa_sources": [{"part": "reeval-category1", "path": "a.jsonl"}]}, "reeval": REEVAL},
         "part stands in place of format and path: leave them out"),
    ],
)  # fmt: skip
def test_a_part_that_cannot_be_read_is_told_before_anything_is_built(
    families: dict[str, Any], told: str, tmp_path: Path
) -> None:
    config = write_config(tmp_path, store=str(tmp_path / "store"), families=families)
    with pytest.raises(ConfigError) as error:
        assert Project(config, tmp_path / "out").build
    assert told in str(error.value)


def test_a_part_is_named_in_one_word_and_stays_so_in_the_manifest(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path, families={"uraq": URAQ, "reeval": REEVAL}))
    (spec,) = config.families["uraq"].qa_sources  # type: ignore[attr-defined]
    assert (spec.format, spec.path, spec.name) == (PART, "reeval-category1", "reeval-category1")
    assert SourceSpec.model_validate(spec.model_dump(mode="json")) == spec


def parted_questions(folder: Path, *counts: int) -> list[dict[str, str]]:
    """As many of the sample's questions in each of several files."""
    rows = iter((SAMPLES / "questions.jsonl").read_text().splitlines(keepends=True))
    specs = []
    for number, count in enumerate(counts):
        path = folder / f"{number}.jsonl"
        path.write_text("".join(islice(rows, count)))
        specs.append({"format": "jsonl", "path": str(path), "licence": "Apache-2.0"})
    return specs


async def test_a_pilot_takes_as_many_of_each_source_and_of_a_part(tmp_path: Path) -> None:
    alone, few, *of_part = parted_questions(tmp_path, 30, 2, 30, 30)
    uraq = {**URAQ, "parts": ["conflicts"], "qa_sources": [alone, {"part": "reeval-category1"}, few]}
    reeval = {**REEVAL, "sources": of_part}
    pilot = project_of(tmp_path / "pilot", limit=3, uraq=uraq, reeval=reeval).build
    await run_all(pilot)
    assert len(pilot.accepted("reeval", "category1")) > 3
    make_conflict = StageRef("uraq", "conflicts", "make_conflict")
    asked = Counter(record.source.source for record in pilot.inputs(make_conflict))
    assert (asked["0.jsonl"], asked["1.jsonl"], asked["2.jsonl"] + asked["3.jsonl"]) == (3, 2, 3)
    conflicts = pilot.manifest(make_conflict)
    assert conflicts is not None
    assert conflicts.planned == 8


def test_the_estimate_of_a_pilot_counts_its_limit_of_each_source(tmp_path: Path) -> None:
    alone, few, of_part = parted_questions(tmp_path, 30, 2, 30)
    reeval = {**REEVAL, "sources": [of_part]}
    model = {"provider": "endpoint", "name": "m", "base_url": "http://127.0.0.1:9/v1"}

    def asked(*sources: Any) -> int:
        uraq = {**URAQ, "parts": ["conflicts"], "qa_sources": sources}
        config = write_config(
            tmp_path, store=str(tmp_path / "store"), model=model, families={"uraq": uraq, "reeval": reeval}
        )
        lines = {line.step: line.records for line in estimate(Project(config, tmp_path / "out", 3)).lines}
        return lines["uraq make_conflict · contradict"]

    assert asked(alone, few) == 5
    assert asked(alone, {"part": "reeval-category1"}) == 6
