"""ReEval's method on the packaged pages: filters, seeds, both categories, and proof that damage is found."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import BaseModel

from data.sources import SourceSpec
from flows.construct.counting import part_summary
from flows.construct.engine import Drop
from flows.construct.stages import StageRef
from flows.construct.verification import VerifyContext
from flows.families.reeval import FAMILY, filters
from flows.families.reeval.checks.alternative import alternative_problem
from flows.families.reeval.checks.passage import RIVAL_ABOVE, rival
from flows.families.reeval.checks.swap import answer_position, compare, swap_problem
from flows.families.reeval.passages import MOST_SHARED
from flows.families.reeval.prompts import (
    Alternative,
    Objection,
    Reading,
    Replaced,
    Sentence,
    ToAlter,
    ToMerge,
    ToRead,
)
from flows.families.reeval.prompts import Passage as CondensedPassage
from flows.families.reeval.rules import RULES
from flows.families.reeval.rules.swapping import first_fitting
from flows.families.reeval.settings import ReEvalSettings, problems
from flows.language import language_of
from flows.llm.model import Invalid, InvalidAnswer, Out, Prompt, Text, Usage
from flows.llm.rules import Rules
from flows.project.project import Project
from flows.project.settings import packaged
from schemas.base import Provenance, SourceRef
from schemas.errors import WrongInput
from schemas.reeval import Case, Edit, EnrichedCase, SwapCase
from schemas.source import QASource
from tests.builds import write_config
from tests.toy import run_all

SAMPLES = packaged("reeval.yaml").parent
QUESTIONS = {"format": "jsonl", "path": str(SAMPLES / "questions.jsonl")}
PAGES = {"format": "jsonl", "path": str(SAMPLES / "pages.jsonl")}
RELATED = {"format": "jsonl", "path": str(SAMPLES / "related.jsonl")}


def project_of(folder: Path, limit: int | None = None, **reeval: Any) -> Project:
    """A ReEval project over the packaged pages, of `limit` cases a part."""
    settings = {"seeds": "all", "entailment": "off", "sources": [QUESTIONS], "passages": [PAGES, RELATED], **reeval}
    return Project(
        write_config(folder, store=str(folder / "store"), families={"reeval": settings}), folder / "out", limit
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A build of all cases, for the slow tests that only read it."""
    project = project_of(tmp_path_factory.mktemp("whole"))
    asyncio.run(run_all(project.build))
    return project


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A build of few cases, for the tests that only read it."""
    project = project_of(tmp_path_factory.mktemp("small"), limit=12)
    asyncio.run(run_all(project.build))
    return project


def rows(project: Project, part: str) -> list[Any]:
    return list(project.build.accepted("reeval", part))


def faults(project: Project, part: str, changed: list[Any] | None = None) -> list[str]:
    context = VerifyContext(
        project.build.families["reeval"].settings, project.embedder, lambda name: rows(project, name)
    )
    return [fault.problem for fault in FAMILY.part(part).verify(changed or rows(project, part), context)]


# ---- the whole line ----


def adds_up_and_is_what_it_claims(project: Project) -> None:
    for family, part in project.build.parts():
        summary = part_summary(project.build, family, part)
        assert summary.planned == summary.kept + sum(sum(one.values()) for one in summary.dropped.values())
        assert faults(project, part.name) == []


def test_every_part_adds_up_and_is_what_it_claims(small: Project) -> None:
    adds_up_and_is_what_it_claims(small)
    assert len(rows(small, "category1")) >= 8
    assert rows(small, "category2")


@pytest.mark.slow
def test_every_part_of_all_cases_adds_up_and_is_what_it_claims(whole: Project) -> None:
    adds_up_and_is_what_it_claims(whole)
    assert len(rows(whole, "category1")) >= 85
    assert len(rows(whole, "category2")) >= 30  # few pages are near, and sentences must stand alone


def test_a_swapped_case_says_the_new_answer_alone(small: Project) -> None:
    for case in rows(small, "category1"):
        assert case.answer in case.evidence or case.answer.casefold() in case.evidence.casefold()
        assert case.original_answer.casefold() not in case.evidence.casefold()
        assert case.answer.casefold() not in case.original_evidence.casefold()
        assert case.provenance.sources[0].source == "questions.jsonl"


def test_an_enriched_case_has_three_pages_and_its_support(small: Project) -> None:
    for case in rows(small, "category2"):
        for evidence, passages in (
            (case.evidence_question_focused, case.passages_question_focused),
            (case.evidence_evidence_focused, case.passages_evidence_focused),
        ):
            assert len({passage.title for passage in passages}) == 3
            assert case.supporting_sentence_resolved in evidence
            assert case.original_evidence not in {passage.text for passage in passages}
        one, other = case.passages_question_focused, case.passages_evidence_focused
        assert len({passage.id for passage in one} & {passage.id for passage in other}) <= MOST_SHARED


@pytest.mark.slow
def test_order_of_work_changes_nothing(whole: Project, tmp_path: Path) -> None:
    again = project_of(tmp_path)
    asyncio.run(run_all(again.build, order=-1))
    for part in ("passages", "category1", "category2"):
        assert rows(again, part) == rows(whole, part)


@pytest.mark.slow
def test_a_pilot_takes_few_cases_of_the_whole_collection(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    pilot = Project(project.config_path, tmp_path / "pilot", limit=5)
    asyncio.run(run_all(pilot.build))
    assert pilot.build.manifest(StageRef("reeval", "category2", "enrich")).planned == 5  # type: ignore[union-attr]
    assert len(rows(pilot, "passages")) == sum(
        len((SAMPLES / name).read_text(encoding="utf-8").splitlines()) for name in ("pages.jsonl", "related.jsonl")
    )


# ---- filters (section 4.1) ----


def source(question: str = "Who wrote it?", **fields: Any) -> QASource:
    known = {
        "answers": ("Ada Brown",),
        "evidence": "The book was written by Ada Brown in the long and cold winter of 1890.",
        "source": SourceRef(source="made.json", id="1"),
        "format": "squad",
    }
    return QASource(key="k", question=question, **(known | fields))


LONG = "The text goes on for more than ten words and says nothing at all of any use."


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"evidence": None}, "no evidence"),
        ({"evidence": "Ada Brown wrote the book."}, "evidence under 10 words"),
        ({"evidence": f"Ada Brown. {'And so it went on and on. ' * 3_000}"}, "evidence over 2000 words"),
        ({"evidence": "<!--" * 60_000}, "evidence over 100000 characters"),
        ({"answers": ("9" * 5000,)}, "answer over 5 words"),
        ({"question": "谁写了这本书？谁写了这本书？"}, "question in another language"),
        ({"answers": ("...",)}, "answer is only punctuation"),
        ({"answers": ("No",), "evidence": f"There was no winter of that kind. {LONG}"}, "answer is yes or no"),
        ({"question": "Who wrote the book on the life of Ada Brown?"}, "question holds its answer"),
        (
            {"question": "Who wrote it first, Ada Brown or Eve White?", "evidence": f"Ada Brown met Eve White. {LONG}"},
            "question chooses between things of the evidence",
        ),
        (
            {"question": "Between Eve White and Ada Brown, who won?", "evidence": f"Ada Brown met Eve White. {LONG}"},
            "question chooses between things of the evidence",
        ),
        ({"answers": ("the very long and cold winter",)}, "answer over 5 words"),
        ({"answers": ("Eve White",)}, "answer not in the evidence"),
        ({"answers": ("Ada Brown", "winter")}, "several answers"),
        (
            {"evidence": f"Ada Brown met Ada Brown. {LONG}", "answer_starts": (5,)},
            "answer offset does not match",
        ),
        ({"evidence": f"Адa Браун написала эту книгу зимой. {'Это было очень давно. ' * 5}"}, "another language"),
        (
            {"evidence": "Le livre a été écrit par Ada Brown pendant le long hiver. " * 4},
            "another language",
        ),
        ({"evidence": "艾达写了这本书。", "answers": ("艾达",), "language": "zh"}, "evidence under 20 characters"),
    ],
)
def test_each_filter_names_its_reason(fields: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(Drop) as refused:
        filters.filtered(source(**fields), random.Random(0))
    assert reason in refused.value.reason


def test_of_overlapping_answers_one_is_kept_whatever_their_order() -> None:
    one = filters.filtered(source(answers=("Ada Brown", "Brown")), random.Random(3))
    other = filters.filtered(source(answers=("Brown", "Ada Brown")), random.Random(3))
    assert one.answer == other.answer
    assert {one.answer, *one.aliases} == {"Ada Brown", "Brown"}


def test_an_offset_is_repaired_where_the_answer_stands_once() -> None:
    kept = filters.filtered(source(answer_starts=(3,)), random.Random(0))
    assert kept.answer == "Ada Brown"
    assert any("repaired" in note for note in kept.notes)


def test_html_is_taken_out_and_said() -> None:
    kept = filters.filtered(source(evidence=f"<p>The book is by <b>Ada&nbsp;Brown</b>.</p> {LONG}"), random.Random(0))
    assert "<" not in kept.evidence
    assert kept.notes == ("HTML was taken out of the evidence",)


def test_a_formula_is_no_html() -> None:
    kept = filters.filtered(source(evidence=f"Ada Brown shows that x<y and y>z hold. {LONG}"), random.Random(0))
    assert "x<y and y>z" in kept.evidence


def write_rows(path: Path, *more: dict[str, Any]) -> dict[str, str]:
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()[:6]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, *(json.dumps(row) for row in more)]) + "\n", encoding="utf-8")
    return {"format": "jsonl", "path": str(path)}


def test_a_source_named_twice_counts_once(tmp_path: Path) -> None:
    one, two = write_rows(tmp_path / "a/q.jsonl"), write_rows(tmp_path / "b/q.jsonl")
    project = project_of(tmp_path, sources=[one, one, two], passages=[])
    asyncio.run(run_all(project.build))
    read = project.build.manifest(StageRef("reeval", "category1", "source"))
    assert read is not None
    assert (read.planned, read.kept, dict(read.dropped)) == (18, 6, {"row of a source that was read before": 12})


def test_two_sources_that_settle_on_one_case_count_once(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "q.jsonl")
    lines = (json.loads(line) for line in (tmp_path / "q.jsonl").read_text(encoding="utf-8").splitlines())
    path = tmp_path / "other.jsonl"
    path.write_text("".join(json.dumps({**row, "answers": [*row["answers"], "..."]}) + "\n" for row in lines))
    project = project_of(tmp_path, sources=[one, {**one, "path": str(path)}], passages=[PAGES])
    asyncio.run(run_all(project.build))
    settled = project.build.manifest(StageRef("reeval", "category1", "drop_duplicates"))
    assert settled is not None
    assert settled.dropped == {"duplicate question, evidence and answer": 6}
    assert faults(project, "category1") == faults(project, "category2") == []


def test_two_sources_of_one_name_with_other_rows_are_refused(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "a/q.jsonl")
    lines = (tmp_path / "a/q.jsonl").read_text(encoding="utf-8").replace("Marie Curie", "Marie Sklodowska")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/q.jsonl").write_text(lines, encoding="utf-8")
    project = project_of(tmp_path, sources=[one, {**one, "path": str(tmp_path / "b/q.jsonl")}], passages=[])
    with pytest.raises(WrongInput, match="give one of the files another name"):
        asyncio.run(run_all(project.build))


def test_one_row_in_another_language_is_a_drop_and_no_more(tmp_path: Path) -> None:
    stranger = {
        "id": "zh", "question": "Where was she born?", "answers": ["华沙"],
        "evidence": "玛丽居里是一位著名的物理学家和化学家，她出生于华沙，后来在巴黎大学学习和工作。",
    }  # fmt: skip
    project = project_of(tmp_path, sources=[write_rows(tmp_path / "q.jsonl", stranger)])
    asyncio.run(run_all(project.build))
    passages = project.build.manifest(StageRef("reeval", "passages", "drop_duplicate_passages"))
    assert passages is not None
    assert passages.dropped["passage in another language than the source's"] == 1
    assert len(rows(project, "category2")) > 0


# ---- settings that cannot do ----


def models(**roles: Any) -> Any:
    return {"pivot": Rules({}, 0), **roles}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sources": [QUESTIONS]}, "write `seeds: all`"),
        ({"seeds": "all"}, "sources: is empty"),
        ({"seeds": "all", "sources": [{"format": "squad", "path": "x.json", "language": "fr"}]}, "language fr"),
    ],
)
def test_what_the_rules_cannot_do_is_said_before_anything_is_read(settings: dict[str, Any], said: str) -> None:
    (told,) = problems(ReEvalSettings.model_validate(settings), models())
    assert said in told


def test_an_entailment_model_that_is_off_cannot_grade() -> None:
    settings = ReEvalSettings.model_validate({"entailment": False, "sources": [QUESTIONS]})
    (told,) = problems(settings, models(pivot=Scripted({})))
    assert "write `right: em`" in told


# ---- a model of one's own ----


class Scripted:
    """A model that answers each prompt by a function of what it is given, past the prompt's checks."""

    name = "scripted"

    def __init__(self, answers: Mapping[str, Callable[[Any], BaseModel]]) -> None:
        self.answers = answers

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        usage.calls += 1
        output = self.answers[prompt.name](inputs)
        try:
            for check in prompt.checks:
                check(inputs, output)
        except Invalid as invalid:
            raise InvalidAnswer(invalid.reason, output.model_dump_json(), invalid.detail) from invalid
        assert isinstance(output, prompt.output)
        return output

    def identity(self) -> Mapping[str, object]:
        return {"provider": "scripted"}


async def run_scripted(folder: Path, answers: Mapping[str, Callable[[Any], BaseModel]], **reeval: Any) -> Project:
    pivot = {"provider": "endpoint", "name": "m", "base_url": "http://127.0.0.1:1/v1"}
    settings = {"entailment": "off", "right": "em", "sources": [QUESTIONS], "passages": [PAGES, RELATED], **reeval}
    config = write_config(folder, store=str(folder / "store"), models={"pivot": pivot}, families={"reeval": settings})
    project = Project(config, folder / "out", limit=30)
    family = project.build.families["reeval"]
    family.models.update(dict.fromkeys(family.models, Scripted(answers)))  # type: ignore[attr-defined]
    await run_all(project.build)
    return project


async def test_a_rewrite_that_fails_its_checks_is_done_span_by_span_and_said(tmp_path: Path) -> None:
    answers = {
        "alternative_answer": lambda asked: Alternative(answer="Zanzibar Moonstone"),
        "replace_answer": lambda asked: Replaced(evidence=asked.evidence),  # nothing replaced
    }
    project = await run_scripted(tmp_path, answers, seeds="all", parts=["category1"])
    cases = rows(project, "category1")
    assert cases
    for case in cases:
        assert "Zanzibar Moonstone" in case.evidence
        assert any("span by span" in note for note in case.provenance.notes)
    assert faults(project, "category1") == []


async def test_the_pivot_selects_the_seeds(tmp_path: Path) -> None:
    def answer(asked: Any) -> Text:
        if asked.evidence is None:
            return Text(text="1911")
        first = asked.evidence.split()
        return Text(text="1911" if "Marie Curie" in asked.question else " ".join(first[:2]))

    answers = {
        "answer_chat": answer,
        "alternative_answer": lambda asked: Alternative(answer="Zanzibar"),
        "replace_answer": lambda asked: Replaced(evidence=asked.evidence.replace(asked.answer, "Zanzibar")),
    }
    project = await run_scripted(tmp_path, answers, parts=["category1"])
    selected = list(project.build.read(StageRef("reeval", "category1", "select_seed")))
    dropped = list(project.build.read(StageRef("reeval", "category1", "select_seed")).dropped())
    assert [case.answer for case in selected] == ["1911"]
    assert {one.reason for one in dropped} == {"pivot is wrong with the evidence"}
    assert selected[0].provenance.prompts[0].role == "pivot"


def asked_in_vain(asked: Any) -> Any:
    raise AssertionError("nothing was to be asked")


@pytest.mark.parametrize(
    ("evidence", "answer", "reason", "told"),
    [
        (
            "In the long winter of 1890 the fair came to Warsaw (Polish: Warszawa) for the first time.", "Warsaw",
            "passage explains the answer's name", "(Polish: Warszawa)",
        ),
        (
            "In the long winter of 1890 the fair was held by Oxford University for the first time.", "Oxford",
            "answer stands within other names alone", "Oxford University",
        ),
    ],
)  # fmt: skip
async def test_what_nothing_can_stand_in_for_is_dropped_before_anything_is_asked(
    tmp_path: Path, evidence: str, answer: str, reason: str, told: str
) -> None:
    row = {"id": "1", "question": "Where was the fair held in 1890?", "answers": [answer], "evidence": evidence}
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    answers = {"alternative_answer": asked_in_vain, "replace_answer": asked_in_vain}
    sources = [{"format": "jsonl", "path": str(path)}]
    project = await run_scripted(tmp_path, answers, seeds="all", parts=["category1"], sources=sources)
    [dropped] = project.build.read(StageRef("reeval", "category1", "swap_answer")).dropped()
    assert dropped.reason == reason
    assert told in (dropped.evidence or "")


async def test_an_answer_that_the_pivot_finds_no_other_for_is_a_counted_drop(tmp_path: Path) -> None:
    answers = {"alternative_answer": lambda asked: Alternative(answer=""), "replace_answer": asked_in_vain}
    project = await run_scripted(tmp_path, answers, seeds="all", parts=["category1"])
    assert rows(project, "category1") == []
    dropped = list(project.build.read(StageRef("reeval", "category1", "swap_answer")).dropped())
    assert "no other answer fits the passage" in {one.reason for one in dropped}


async def test_no_supporting_sentence_is_a_counted_drop(tmp_path: Path) -> None:
    answers = {"select_sentence": lambda asked: Sentence(sentence="")}
    project = await run_scripted(tmp_path, answers, seeds="all", parts=["category2", "passages"])
    manifest = project.build.manifest(StageRef("reeval", "category2", "enrich"))
    assert manifest is not None
    assert set(manifest.dropped) == {"no single sentence supports the answer"}


def three_of_each_matter(folder: Path) -> dict[str, str]:
    """The related pages, but no more than three that name what a question is about."""
    named = {json.loads(line)["title"].casefold() for line in Path(QUESTIONS["path"]).read_text("utf-8").splitlines()}
    left = Counter(dict.fromkeys(named, 3))
    kept = []
    for line in Path(RELATED["path"]).read_text("utf-8").splitlines(keepends=True):
        matters = [title for title in named if title in json.loads(line)["text"].casefold()]
        if all(left[title] for title in matters):
            left.subtract(matters)
            kept.append(line)
    path = folder / "related.jsonl"
    path.write_text("".join(kept), encoding="utf-8")
    return {"format": "jsonl", "path": str(path)}


@pytest.mark.parametrize(
    ("merged", "reason"),
    [
        (lambda asked: "", "supporting sentence has no place in the text"),
        (
            lambda asked: f"{asked.sentence} " + " ".join(sorted(asked.condensed.splitlines())),
            "both expansions say the same",
        ),
    ],
)
async def test_what_cannot_be_merged_or_says_the_same_twice_is_a_counted_drop(
    tmp_path: Path, merged: Callable[[Any], str], reason: str
) -> None:
    passages = [PAGES, three_of_each_matter(tmp_path)]  # both expansions draw on the same ones
    project = project_of(tmp_path, limit=30, passages=passages, parts=["category2", "passages"])
    merge = {"merge": lambda asked, rng: CondensedPassage(text=merged(asked))}
    family = project.build.families["reeval"]
    family.models.update(dict.fromkeys(family.models, Rules({**RULES, **merge}, 7)))  # type: ignore[attr-defined]
    await run_all(project.build)
    manifest = project.build.manifest(StageRef("reeval", "category2", "enrich"))
    assert manifest is not None
    assert manifest.dropped[reason] >= 5
    assert rows(project, "category2") == []


@pytest.mark.parametrize(("objected", "kept"), [(0, True), (1, True), (2, False)])
async def test_what_a_reader_objects_to_is_merged_once_more_and_then_dropped(
    tmp_path: Path, objected: int, kept: bool
) -> None:
    def read(asked: ToRead, rng: Random) -> Reading:
        sentence = language_of(asked.language).sentences(asked.passage)[0]
        objection = Objection(sentence=sentence, reason="comes from nowhere")
        return Reading(objections=(objection,) if tries[asked.passage] <= objected else ())

    def merge(asked: ToMerge, rng: Random) -> CondensedPassage:
        given = RULES["merge"](asked, rng)
        assert isinstance(given, CondensedPassage)
        tries[given.text] = 2 if asked.objections else 1
        if asked.objections:
            mended.append(asked)
            assert asked.merged != given.text
        return given

    built: list[list[Any]] = []
    for folder in ("once", "again") if objected == 1 else ("once",):
        tries: dict[str, int] = {}
        mended: list[ToMerge] = []
        project = project_of(tmp_path / folder, limit=30, parts=["category2", "passages"])
        family = project.build.families["reeval"]
        rules = Rules({**RULES, "merge": merge, "read_passage": read}, 7)
        family.models.update(dict.fromkeys(family.models, rules))  # type: ignore[attr-defined]
        await run_all(project.build)
        built.append(rows(project, "category2"))
    assert built[0] == built[-1]
    manifest = project.build.manifest(StageRef("reeval", "category2", "enrich"))
    assert manifest is not None
    reason = "a reader objects to the merged text"
    assert len(built[0]) >= 5 if kept else built[0] == []
    assert (manifest.dropped.get(reason, 0) >= 5) is not kept
    assert bool(mended) is (objected > 0)
    assert all(one.merged.startswith(one.objections[0].sentence) and one.evidence for one in mended)
    for one in project.build.read(StageRef("reeval", "category2", "enrich")).dropped():
        if one.reason == reason:
            assert "(comes from nowhere) | " in (one.evidence or "")
    if kept:
        read_by = [ref for ref in built[0][0].provenance.prompts if ref.name == "read_passage"]
        assert [ref.role for ref in read_by] == ["builder"]


async def test_passages_that_make_no_text_are_a_counted_drop(tmp_path: Path) -> None:
    project = project_of(tmp_path, limit=30, parts=["category2", "passages"])
    nothing = {"condense": lambda asked, rng: CondensedPassage(text="")}
    family = project.build.families["reeval"]
    family.models.update(dict.fromkeys(family.models, Rules({**RULES, **nothing}, 7)))  # type: ignore[attr-defined]
    await run_all(project.build)
    manifest = project.build.manifest(StageRef("reeval", "category2", "enrich"))
    assert manifest is not None
    assert manifest.dropped["passages do not make one text"] >= 5
    assert rows(project, "category2") == []


async def test_a_drop_of_a_condensed_text_tells_its_passages_and_what_it_lacks(tmp_path: Path) -> None:
    project = project_of(tmp_path, limit=30, parts=["category2", "passages"])
    short = {"condense": lambda asked, rng: CondensedPassage(text=f"{asked.passages[0].split('. ')[0]}.")}
    family = project.build.families["reeval"]
    family.models.update(dict.fromkeys(family.models, Rules({**RULES, **short}, 7)))  # type: ignore[attr-defined]
    await run_all(project.build)
    told = [
        one.evidence or ""
        for one in project.build.read(StageRef("reeval", "category2", "enrich")).dropped()
        if one.reason == "condensed text leaves a passage out"
    ]
    assert told
    for evidence in told:
        assert evidence.startswith("question-focused, of ")
        assert re.search(r"of the words that passage \d alone has it holds \d, not 3: say something of \w", evidence)


# ---- checks ----

EVIDENCE = (
    "In 1890 Ada Lindqvist wrote an early book. Lindqvist sold it in Leeds, and it was a great success for years."
)
REWRITTEN = EVIDENCE.replace("Ada Lindqvist", "Eve Sørensen").replace("Lindqvist", "Sørensen")


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (EVIDENCE, "new answer is not in the new evidence"),
        (EVIDENCE.replace("Ada Lindqvist", "Eve Sørensen"), "old answer is left in the new evidence"),
        (
            REWRITTEN.replace("great success", "flop"),
            "evidence changed beyond the answer",
        ),
        (REWRITTEN + "\x00", "evidence changed beyond the answer"),
        ("\u202e" + REWRITTEN, "evidence changed beyond the answer"),
        (REWRITTEN.replace(" ", "\u00a0", 1), "evidence changed beyond the answer"),
        (REWRITTEN.replace(" early", "  early"), "evidence changed beyond the answer"),
        (REWRITTEN.replace(". ", ".\n\n", 1), "evidence changed beyond the answer"),
    ],
)
def test_a_bad_rewrite_is_told_what_is_wrong(new: str, reason: str) -> None:
    problem = swap_problem("en", EVIDENCE, "Ada Lindqvist", (), "Eve Sørensen", new)
    assert problem is not None
    assert problem[0] == reason


def test_a_good_rewrite_passes_and_its_edits_are_listed() -> None:
    assert swap_problem("en", EVIDENCE, "Ada Lindqvist", (), "Eve Sørensen", REWRITTEN) is None
    compared = compare("en", EVIDENCE, "Ada Lindqvist", (), REWRITTEN)
    assert [(edit.old, edit.new) for edit in compared.replacements] == [
        ("Ada Lindqvist", "Eve Sørensen"),
        ("Lindqvist", "Sørensen"),
    ]
    assert compared.agreement == ()


def test_a_passage_that_answers_otherwise_is_a_rival() -> None:
    case = Case.model_construct(
        question="When was the first public railway opened?", answer="1825", aliases=(), evidence="", language="en"
    )
    found = rival(case, "Cows graze there. The first public railway was opened in 1830 between two cities.")
    assert found is not None
    assert found[1] > RIVAL_ABOVE
    assert rival(case, "The first public railway was opened in 1825.") is None
    assert rival(case, "The lake froze in 1830.") is None


# ---- damage ----


def damaged(case: SwapCase, **changes: Any) -> SwapCase:
    return case.revised(**changes)


SWAP_DAMAGE: dict[str, tuple[Callable[[SwapCase], dict[str, Any]], str]] = {
    "new answer gone": (lambda one: {"evidence": one.original_evidence}, "does not hold the answer"),
    "old answer left": (lambda one: {"evidence": f"{one.evidence} {one.original_answer}."}, "still holds"),
    "another sentence": (lambda one: {"evidence": f"{one.evidence} Nobody knows why."}, "differs where no edit"),
    "same answer": (lambda one: {"answer": one.original_answer}, "the answer is the original one"),
    "given away": (lambda one: {"question": f"{one.question} {one.answer}?"}, "gives"),
    "no edits": (lambda one: {"replacements": ()}, "no replacement is listed"),
    "answer added": (lambda one: {"evidence": f"{one.evidence} {one.answer}."}, "words came or went"),
    "hidden rewrite": (
        lambda one: {
            "evidence": one.evidence.replace("the", "thy", 1),
            "replacements": (*one.replacements, Edit(old="the", new="thy")),
        },
        "is of no mention",
    ),
    "invented edit": (lambda one: {"agreement": (Edit(old="Pluto", new="Mars"),)}, "was not made"),
    "empty question": (lambda one: {"question": " "}, "the question is empty"),
    "unknown pivot": (lambda one: {"pivot": "nobody"}, "no pivot is called"),
    "unknown language": (lambda one: {"language": "fr"}, "the language 'fr' is none of"),
    "wrong third": (
        lambda one: {"answer_position": "last" if one.answer_position != "last" else "first"},
        "does not start in the",
    ),
    "changed year": (
        lambda one: {
            "original_evidence": f"{one.original_evidence} It ended in 1895.",
            "evidence": f"{one.evidence} It ended in 1555.",
            "agreement": (*one.agreement, Edit(old="1895", new="1555")),
        },
        "the number '1555' changed",
    ),
    "too many edits": (
        lambda one: {"agreement": (Edit(old="a b c d e f", new="g h i j k l"),)},
        "words changed that the new answer does not ask for",
    ),
    "answer too long": (lambda one: {"original_answer": "one two three four five six"}, "is too long"),
    "in the original": (
        lambda one: {"original_evidence": f"{one.original_evidence} {one.answer}."},
        "holds",
    ),
}


@pytest.mark.parametrize("kind", SWAP_DAMAGE)
def test_damage_to_a_swapped_case_is_found(small: Project, kind: str) -> None:
    change, said = SWAP_DAMAGE[kind]
    case = rows(small, "category1")[0]
    assert any(said in problem for problem in faults(small, "category1", [case.revised(**change(case))]))


ENRICHED_DAMAGE: dict[str, tuple[Callable[[EnrichedCase], dict[str, Any]], str]] = {
    "answer gone": (lambda one: {"evidence_question_focused": "Nothing."}, "does not hold the answer"),
    "support gone": (lambda one: {"evidence_evidence_focused": f"{one.answer}."}, "supporting fact is not there"),
    "invented sentence": (
        lambda one: {"supporting_sentence": f"{one.answer} it is."},
        "supporting sentence is not in the original evidence",
    ),
    "sentence from nowhere": (
        lambda one: {"evidence_question_focused": f"{one.evidence_question_focused} Bananas are yellow."},
        "'Bananas are yellow.' is in none of the passages",
    ),
    "leaning sentence": (
        lambda one: {"supporting_sentence_resolved": f"He was seen with {one.answer}."},
        "nobody can tell who or what",
    ),
    "whole evidence as support": (
        lambda one: {"supporting_sentence": one.original_evidence},
        "supporting sentence is not one sentence",
    ),
    "another title": (
        lambda one: {
            "passages_question_focused": (
                one.passages_question_focused[0].model_copy(update={"title": "Another page"}),
                *one.passages_question_focused[1:],
            )
        },
        "is not of the collection",
    ),
    "two passages": (
        lambda one: {"passages_question_focused": one.passages_question_focused[:2]},
        "3 different passages are wanted",
    ),
    "foreign passage": (
        lambda one: {
            "passages_evidence_focused": (
                one.passages_evidence_focused[0].model_copy(update={"text": "Made up."}),
                *one.passages_evidence_focused[1:],
            )
        },
        "is not of the collection",
    ),
    "nameless beginning": (
        lambda one: {"evidence_question_focused": f"It was seen. {one.evidence_question_focused}"},
        "it begins with 'It', and nobody can tell",
    ),
    "the same twice": (
        lambda one: {"evidence_evidence_focused": one.evidence_question_focused},
        "both expansions say the same",
    ),
    "too long": (
        lambda one: {"evidence_question_focused": f"{one.evidence_question_focused} {'More and more. ' * 80}"},
        "more than half of the passages' length",
    ),
}


@pytest.mark.parametrize("kind", ENRICHED_DAMAGE)
def test_damage_to_an_enriched_case_is_found(small: Project, kind: str) -> None:
    change, said = ENRICHED_DAMAGE[kind]
    case = rows(small, "category2")[0]
    assert any(said in problem for problem in faults(small, "category2", [case.revised(**change(case))]))


@pytest.mark.slow
def test_passages_that_name_nothing_of_what_is_asked_about_are_found(whole: Project) -> None:
    case = rows(whole, "category2")[0].revised(question="How long is the Quux Bridge?", title="Quux Bridge")
    problems = faults(whole, "category2", [case])
    assert any("names nothing of what is asked about: Quux Bridge" in problem for problem in problems)


def test_a_row_that_stands_twice_is_found(small: Project) -> None:
    case = rows(small, "category1")[0]
    assert "it stands twice" in faults(small, "category1", [case, case])


# ---- real data ----


@pytest.mark.slow
def test_real_sources_run_and_prove_themselves(tmp_path: Path, shared: Path) -> None:
    places = {"squad": "squad2_en/dev.json.gz", "nq-open": "nq_en/nq-open-oracle.jsonl.gz"}
    sources = [SourceSpec(format=name, path=str(shared / "data" / place)) for name, place in places.items()]
    chinese = SourceSpec(format="squad", path=str(shared / "data/xquad/xquad.zh.json.gz"), language="zh")
    specs = [spec.model_dump(mode="json") for spec in (*sources, chinese)]
    project = project_of(tmp_path, sources=specs, parts=["category1"])
    limited = Project(project.config_path, tmp_path / "out", limit=150)
    asyncio.run(run_all(limited.build))
    kept = rows(limited, "category1")
    assert {case.language for case in kept} == {"en", "zh"}
    assert faults(limited, "category1") == []


# ---- what a model may not smuggle in ----


def test_text_beside_the_new_answer_is_a_change() -> None:
    old = "The fair was held in London. It drew many people from all over the country, and it went on for weeks."
    put = old.replace("London", "Zanzibar")
    assert swap_problem("en", old, "London", (), "Zanzibar", put) is None
    more = old.replace("London", "Zanzibar, which by the way is nonsense because the earth is flat")
    problem = swap_problem("en", old, "London", (), "Zanzibar", more)
    assert problem is not None
    assert problem[0] == "evidence changed beyond the answer"


@pytest.mark.parametrize(
    ("alternative", "reason"),
    [
        ("Zan\x00zibar", "alternative is no plain text"),
        ("Zan\nzibar", "alternative is no plain text"),
        ("<b>Zanzibar</b>", "alternative is no plain text"),
        ("[red]Zanzibar[/red]", "alternative is no plain text"),
        ("桑给巴尔", "alternative in another script"),
        ("Zanzibar", None),
    ],
)
def test_an_alternative_is_plain_text_of_the_passages_language(alternative: str, reason: str | None) -> None:
    case = Case(
        key="k",
        question="Where was the fair held?",
        answer="London",
        evidence="The fair was held in London.",
        pivot="pivot",
        source="s",
        provenance=Provenance(seed=1),
    )
    problem = alternative_problem(case, alternative)
    assert (problem[0] if problem else None) == reason


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [
        ("en", "Who designed the bridge at Varn?", True),
        ("en", "José Isbert was a Spanish actor.", True),
        ("en", "En quelle année est né Victor Hugo?", False),
        ("en", "¿En qué año nació Cervantes?", False),
        ("en", "Ada Lovelace wurde 1785 in London geboren und ist dort begraben, wie der Vater.", False),
        ("en", "Siapa yang menulis buku ini dan kapan?", False),
        ("en", "Leonardo da Vinci painted it.", True),
        ("en", "谁写了这本书？", False),
        ("zh", "谁写了这本书？", True),
        ("zh", "NASUWT是什么？", True),
        ("zh", "复杂性类 RP、BPP、PP、BQP、MA 和 PH 在哪里可以找到？", True),
        ("zh", "これは誰が書いた本ですか？", False),
        ("zh", "Who wrote this book 书?", False),
    ],
)
def test_the_language_of_a_text_is_told(language: str, text: str, told: bool) -> None:
    assert filters.is_in(language, text) is told


# ---- alternatives by the rules ----


def asked_about(answer: str, question: str) -> ToAlter:
    evidence = f"As is well known, it was {answer} that the long and quiet story speaks of in the end."
    return ToAlter(question=question, answer=answer, aliases=(), evidence=evidence, language="en")


@pytest.mark.parametrize(
    ("answer", "question", "reason"),
    [
        ("the war", "What is it about?", "kind of the answer cannot be told"),
        ("gas turbines", "Which engines?", "no other answer of its kind"),
    ],
)
def test_without_an_alternative_the_drop_says_whether_the_kind_was_told(
    answer: str, question: str, reason: str
) -> None:
    with pytest.raises(Invalid) as refused:
        first_fitting(asked_about(answer, question), [])
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("evidence", "answer", "third"),
    [
        ("他于1944年去世，此前一直住在北京的一个小院里。", "1944 年", "first"),
        ("这里住着很多很多人，据说他于 1944 年去世。", "1944年", "middle"),
        ("1944 年和1944年。", "1944年", None),
        ("他于1945年去世。", "1944 年", None),
    ],
)
def test_blanks_beside_chinese_characters_do_not_matter_to_the_position(
    evidence: str, answer: str, third: str | None
) -> None:
    assert answer_position("zh", evidence, answer) == third


def test_a_case_that_no_step_has_changed_yet_can_be_shown() -> None:
    case = Case(
        key="k", question="Who met Khan?", answer="Ada", aliases=(), evidence="Ada met Khan.", language="en",
        pivot="pivot", source="s", provenance=Provenance(seed=1),
    )  # fmt: skip
    assert "- evidence: Ada met Khan." in FAMILY.view_of(case).in_markdown()
