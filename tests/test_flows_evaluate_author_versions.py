"""Each author's version of what a model weighs: from annotations to the table that lays authors side by side."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from flows.annotate.pull import write_lines
from flows.annotate.work import last_pull, works
from flows.construct.evaluation import Version
from flows.evaluate import terminal as scoring
from flows.evaluate.author_versions import author_versions
from flows.families.charpeval import FAMILY
from flows.families.charpeval.checks import DECISION, REJECT, USABLE
from flows.families.charpeval.evaluation import compare_authors
from flows.families.charpeval.facts import unnamed_entities
from flows.llm.likelihood import Likelihood, Options
from flows.llm.model import Usage
from flows.project.models import Models
from flows.project.project import Project
from flows.project.settings import packaged
from flows.scoring.tables import ScoreError
from schemas.annotation import Annotation
from schemas.charpeval import DISTRACTOR_TYPES, OPTION_TYPES, SUBSETS, Authored
from schemas.errors import WrongInput
from schemas.prediction import Prediction
from schemas.rubric import Task
from tests.builds import write_config
from tests.toy import run_all

BEST = "Certainly"
"""What the planted model likes: the option that begins so; where none does, the response."""
AUTHORS = FAMILY.evaluation.authors
assert AUTHORS is not None


class Planted:
    """A model with a ranking that is known beforehand."""

    name = "planted"

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        def likes(text: str, place: int) -> float:
            return -1.0 if text.startswith(f" {BEST}") else -2.0 - place  # the response comes first

        return [tuple(Likelihood((), (likes(text, place),)) for place, text in enumerate(one.options)) for one in asked]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("authors")
    dialogues = {"format": "jsonl", "path": str(packaged("charpeval.yaml").parent / "dialogues.jsonl")}
    config = write_config(
        folder, store=str(folder / "store"), families={"charpeval": {"sources": [dialogues], "shots": [0]}},
        annotation={"people": {"a1": "anna@example.org", "a2": "ben@example.org", "a3": "cleo@example.org"}},
    )  # fmt: skip
    project = Project(config, folder / "out")
    asyncio.run(run_all(project.build))
    return project


def texts(record: Authored, best: str = "", **changes: str) -> Mapping[str, str]:
    """What an author hands in: five distractors, of which the model prefers that of one type, or none."""
    other = unnamed_entities(record.knowledge, record.response)[0].text
    made = {kind: f"Well, this is no answer {place}." for place, kind in enumerate(DISTRACTOR_TYPES)}
    made["IECF"] = f"So {other} is well known."
    if best:
        made[best] = f"{BEST}, {made[best].lower()}"
    return {DECISION: USABLE, **made, **changes}


def handed(task: Task, by: str, answers: Mapping[str, str]) -> Annotation:
    return Annotation(
        task=task.id, key=task.key, rubric=task.rubric, version=task.version, by=by, answers=answers,
        at="2026-11-02T09:00:00Z", source=f"{task.key}-{by}",
    )  # fmt: skip


@pytest.fixture
def written(built: Project) -> Project:
    """Four dialogues that a1 and a2 wrote for, and some that do not come into it."""
    work = next(one for one in works(built) if one.rubric.name == "charpeval-authoring")
    best = [("KGIR", "KGIR"), ("KGIR", "KGIR"), ("KGIR", ""), ("", "")]
    tasks = list(zip(work.tasks, [work.records[task.item_key] for task in work.tasks], strict=True))
    given = []
    for (task, record), (one, other) in zip(tasks, best, strict=False):
        given += [handed(task, "a1", texts(record, one)), handed(task, "a2", texts(record, other))]  # type: ignore[arg-type]
    (fifth, alone), (sixth, refused) = tasks[4:6]
    given += [handed(fifth, "a1", texts(alone, "COEX"))]  # type: ignore[arg-type]
    given += [handed(fifth, "a2", {DECISION: REJECT}), handed(sixth, "a3", texts(refused, "RECF"))]  # type: ignore[arg-type]
    given += [handed(sixth, "a1", texts(refused, KGIR=refused.response))]  # type: ignore[arg-type, attr-defined]
    write_lines(built, "annotations/charpeval-authoring.jsonl", given)
    return built


def test_table_3_worked_by_hand(written: Project, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    # Of four dialogues, the model puts KGIR first in three of a1's versions and in two of a2's, else the response:
    # 3/4 and 1/4 beside 2/4 and 2/4, so that they are 25 points apart.
    monkeypatch.setattr(scoring, "open_build", lambda out, console: written)
    monkeypatch.setattr(Models, "likelihood_model", lambda self, role: Planted())
    monkeypatch.setattr(Project, "close", lambda self: None)
    told: list[Any] = []
    real = scoring.show_tables
    monkeypatch.setattr(
        scoring, "show_tables", lambda console, *rest, **more: (told.append(rest), real(console, *rest, **more))
    )
    scoring.evaluate_authors("charpeval", "default", None, None)
    ((shown, page),) = told
    result, notes = shown.result, shown.notes
    ranked = result.frames["ranked first, by author"]
    for subset in SUBSETS:
        assert ranked.loc[f"planted, 0 shots / {subset} / a1, beside a2"].tolist() == [0.25, 0.75, 0, 0, 0, 0]
        assert ranked.loc[f"planted, 0 shots / {subset} / a2, beside a1"].tolist() == [0.5, 0.5, 0, 0, 0, 0]
        apart = result.frames["difference between authors"].loc[f"planted, 0 shots / {subset} / a1 and a2"]
        assert apart.tolist() == [0.25, 0.25, 0, 0, 0, 0]
    assert list(ranked.columns) == list(OPTION_TYPES)
    assert len(ranked) == 4, "one author alone, and what is no item, do not come into it"
    assert notes == [
        "left out: 2 versions (no item as they stand, or a rejection of their record)",
        *(f"planted, 0 shots / {subset} / a1 and a2: at most 25.0 points apart, in GTRS, over 4 dialogues (the paper: "
          "at most 1, over 100)" for subset in SUBSETS),
    ]  # fmt: skip
    assert "a1, beside a2" in page.read_text()
    assert "25.0 points apart" in capsys.readouterr().out
    rows = [json.loads(line) for line in page.with_suffix(".jsonl").read_text().splitlines()]
    assert {row["model"] for row in rows} == {"planted"}
    assert len({row["id"] for row in rows}) == 2 * (4 + 1), (
        "in three dialogues both wrote the same, which is asked once"
    )


def test_an_author_s_version_is_what_was_handed_in_last(written: Project) -> None:
    collected = next(one for one in last_pull(written) if one.rubric == "charpeval-authoring")
    ((back, author),) = collected.settlement.revisions
    assert author == "a1"
    record: Any = collected.work.records[back.item_key]
    path = written.out / "annotations" / "charpeval-authoring.jsonl"
    before = path.read_text()
    path.write_text(before + handed(back, "a1", texts(record, "RECF")).model_dump_json() + "\n")
    assert AUTHORS is not None
    versions, notes = author_versions(written, FAMILY, AUTHORS)
    mended = [one for one in versions if one.key == record.key]
    assert sorted({one.by for one in mended}) == ["a1", "a3"]
    assert {one.row.distractors["RECF"].partition(",")[0] for one in mended} == {BEST}
    assert notes == ["left out: 1 version (no item as they stand, or a rejection of their record)"]
    assert len({one.key for one in author_versions(written, FAMILY, AUTHORS, limit=2)[0]}) == 2


def test_where_nobody_wrote_for_the_same_record_it_is_said(built: Project) -> None:
    (built.out / "annotations" / "charpeval-authoring.jsonl").unlink(missing_ok=True)
    assert AUTHORS is not None
    with pytest.raises(WrongInput, match="nobody wrote for the same record of charpeval-distractors"):
        author_versions(built, FAMILY, AUTHORS)


def scored(key: str, by: str, name: str) -> Version:
    return Version(key, by, {"id": name, "subset": "hCHARP"})


def test_three_authors_are_compared_two_by_two_on_what_both_wrote() -> None:
    def predicted(name: str, best: str) -> Prediction:
        return Prediction(id=name, variant="sum", scores={kind: float(kind == best) for kind in OPTION_TYPES})

    versions = [scored("x", "a", "1"), scored("x", "b", "2"), scored("y", "b", "3"), scored("y", "c", "4")]
    given = [predicted("1", "GTRS"), predicted("2", "COEX"), predicted("3", "GTRS"), predicted("4", "GTRS")]
    mean = [one.model_copy(update={"variant": "mean"}) for one in given]
    found = compare_authors(versions, [*given, *mean])
    values = {(cell.row, cell.column): (cell.value, cell.n) for cell in found.tables}
    assert values["model / hCHARP / b, beside a", "COEX"] == (1, 1)
    assert values["model / hCHARP / b, beside c", "GTRS"] == (1, 1)
    assert values["model / hCHARP / a and b", "GTRS"] == (1, 1)
    assert values["model / hCHARP / b and c", "GTRS"] == (0, 1)
    with pytest.raises(ScoreError, match="none of two authors' items"):
        compare_authors(versions[:1], given)
