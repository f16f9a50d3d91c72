"""Where somebody's documents contradict each other: a part and a configuration of their own, the whole way."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from data.publish.folder import read_release
from data.publish.reading import read_released
from data.whole_file import write_whole
from flows.construct.counting import part_summary
from flows.construct.verification import VerifyContext
from flows.families.documents import FAMILY
from flows.families.documents.checks import agree
from flows.families.documents.score import BOTH, CONFLICT_VARIANTS, TOLD, grade, own_words, process_results, told_of
from flows.project.build_report import write_report
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from flows.release.benchmark import UNSCORED
from flows.release.outcome import release_built
from schemas.documents import DocumentConflict
from schemas.verdict import Verdict
from tests.builds import write_config
from tests.chat_server import ChatServer, Messages
from tests.clerk import ASKED, CONFLICTS, FILES, OPENING, POSTAGE, RETURNS, clerk
from tests.documents import written
from tests.profiled import model
from tests.test_flows_cli import Outcome
from tests.toy import run_all


def build(folder: Path) -> None:
    project = Project(folder / "config.yaml", folder / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    write_report(project)
    remember(project)
    project.close()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a build on the policies in `out`, by a model over HTTP, and a version of it."""
    folder = tmp_path_factory.mktemp("policies")
    written(folder / "policies", FILES)
    with pytest.MonkeyPatch.context() as patch, ChatServer(clerk) as server:
        patch.chdir(folder)
        configure(folder, default=model(server))
        build(folder)
        asked = len(server.requests)
        assert server.answered_twice == []
        build(folder)
        assert len(server.requests) == asked, "a second run asks nothing"
    release_built(str(folder / "out"), allow_unreviewed=True)
    return folder


def configure(folder: Path, **models: Any) -> None:
    sources = [{"format": "documents", "path": "policies/**", "licence": "CC0-1.0"}]
    documents = {"sources": sources, "kinds": {"number": 1.0}, "pairs": 8, "rivals": 7}
    write_config(folder, models=models, release={"licence": "CC0-1.0"}, families={"documents": documents})


@pytest.fixture
def folder(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(built)
    monkeypatch.setenv("COLUMNS", "200")
    return built


@pytest.fixture
def project(folder: Path) -> Project:
    return open_built(folder / "out")


def conflicts(project: Project) -> dict[str, DocumentConflict]:
    return {row.question: row for row in project.build.accepted("documents", "conflicts")}


def test_a_contradiction_has_both_answers_with_their_places(project: Project) -> None:
    found = conflicts(project)
    assert {question: (row.first_answer, row.second_answer) for question, row in found.items()} == CONFLICTS
    row = found[RETURNS]
    assert [str(place) for place in row.places] == [
        'terms.md, "Terms of sale / Returns"', 'service.md, "Customer service / Sending goods back"'
    ]  # fmt: skip
    (first,), (second,) = row.first_sentences, row.second_sentences
    assert "14 days" in first.text == row.first_evidence[first.start : first.end]
    assert "30 days" in second.text == row.second_evidence[second.start : second.end]


def test_what_contradicts_is_no_ordinary_question_and_everything_is_counted(project: Project) -> None:
    build = project.build
    assert {pair.question for pair in build.accepted("documents", "pairs")} == {OPENING, POSTAGE}
    counts = {}
    for part in FAMILY.parts:
        summary = part_summary(build, FAMILY, part)
        assert summary.planned == summary.kept + summary.refused
        counts[part.name] = (summary.planned, summary.kept, {**summary.dropped})
    assert counts["pairs"] == (5, 2, {"require_one_answer": {"another passage answers otherwise": 3}})
    # Members are others: what one passage says of them contradicts nothing.
    assert counts["conflicts"] == (4, 3, {"require_contradiction": {"passages speak of different things": 1}})
    assert POSTAGE not in conflicts(project)


def test_the_rows_are_proved_and_a_changed_one_is_a_fault(project: Project) -> None:
    def faults(part: str, rows: list[Any]) -> list[str]:
        context = VerifyContext(None, project.embedder, lambda name: list(project.build.accepted("documents", name)))
        return [fault.problem for fault in FAMILY.part(part).verify(rows, context)]

    for part in FAMILY.parts:
        assert faults(part.name, list(project.build.accepted("documents", part.name))) == []
    row = conflicts(project)[RETURNS]
    for change, problem in (
        ({"second_answer": "31 days"}, "second: its answer does not stand in its sentences"),
        ({"first_evidence": "Goods."}, "first: its evidence is not the text of its passages"),
        ({"second_answer": "within 14 days of delivery"}, "one of its answers has all words of the other"),
        ({"question": OPENING}, "its question is among those with one answer"),
        ({"passages": (row.passages[0], row.passages[0])}, "its passages are the same"),
    ):
        assert problem in faults("conflicts", [row.model_copy(update=change)])
    question = next(one for one in project.build.accepted("documents", "questions") if one.others)
    of_its_own = question.others[0].model_copy(update={"passage": question.passages[0]})
    for others in ([of_its_own], question.others * 2):
        changed = question.model_copy(update={"others": others})
        assert "its other answers are not each of another passage" in faults("questions", [changed])


def test_a_reader_sees_both_sides(folder: Path, project: Project) -> None:
    row = conflicts(project)[RETURNS]
    told = Outcome("explain", row.id, "--out", "out").output
    for text in ("14 days", "30 days", "terms.md", "service.md", "weigh_answers", "documents conflicts"):
        assert text in told
    report = (folder / "out" / "report.html").read_text()
    assert "Contradictions by documents" in report
    assert RETURNS in report
    (people,) = (part.people for part in FAMILY.parts if part.name == "conflicts")
    assert people is not None
    tasks = list(people.tasks([row], 7))
    assert [task.shown["first_evidence"].partition("\n")[0] for task in tasks] == [str(row.places[0])]


def test_what_people_reject_is_left_out_and_told(folder: Path, project: Project) -> None:
    (opening,) = (pair for pair in project.build.accepted("documents", "pairs") if pair.question == OPENING)
    for part, row, rubric in (
        ("pairs", opening, "documents-check"),
        ("conflicts", conflicts(project)[RETURNS], "documents-conflicts"),
    ):
        verdict = Verdict(key=row.key, view_hash=row.view_hash, rubric=rubric, decision="reject", comment="no")
        write_whole(folder / "judged" / "verdicts" / f"documents-{part}.jsonl", verdict.model_dump_json().encode())
    judged = Project(folder / "config.yaml", folder / "judged")
    judged.loop.run(run_all(judged.build))
    assert set(conflicts(judged)) == set(CONFLICTS) - {RETURNS}
    notes = [note for stage in part_summary(judged.build, FAMILY, FAMILY.part("pairs")).stages for note in stage.notes]
    assert notes == ["1 of 8 wanted are left: verdicts dropped 1"]
    judged.close()


def test_a_release_has_them_as_a_configuration_of_their_own(folder: Path) -> None:
    version = folder / "out" / "releases" / "1.0.0"
    release = read_release(version)
    rows = {config.name: list(read_released(version, config.files)) for config in release.manifest.configs}
    sizes = {name: len(of_config) for name, of_config in rows.items()}
    assert sizes == {"documents-pairs": 2, "documents-conflicts": 3}
    assert {row["question"] for row in rows["documents-conflicts"]} == set(CONFLICTS)
    card = (version / "README.md").read_text()
    assert "two passages of somebody's own documents give answers that contradict each other." in card
    assert "neither answer is the right one" in card
    assert "--tasks touchstone-documents,touchstone-documents-natural" in card
    benchmark = yaml.safe_load((version / "eval.yaml").read_text())
    assert [task["config"] for task in benchmark["tasks"]] == ["documents-pairs", "documents-pairs"]
    assert f"Not here, since {UNSCORED}: documents-conflicts." in benchmark["description"]
    groups = {
        path.stem: tasks["task"]
        for path in (version / "scorers").glob("*.yaml")
        if "group" in (tasks := yaml.load(path.read_text(), yaml.BaseLoader))
    }
    assert groups["touchstone-documents"] == ["touchstone-documents-pairs"]
    assert groups["touchstone-documents-natural"] == ["touchstone-documents-conflicts"]
    assert "def touchstone_documents_conflicts_reversed(" in (version / "scorers" / "inspect_tasks.py").read_text()
    verified = Outcome("verify", "release", str(version))
    assert verified.code == 0, verified.output


def follower(messages: Messages) -> str:
    """A model that goes by what it reads first, and tells of both only where returns are asked about."""
    text = messages[-1]["content"]
    question = text.rpartition("Question: ")[2]
    if question not in CONFLICTS:
        return "9:00" if question == OPENING and "opens at 9:00" in text else "no idea"
    first, second = CONFLICTS[question]
    if question == RETURNS:
        return f"One page says {first}, another one {second}."
    ours = next(sentence for one, _, sentence in ASKED.values() if one == question)
    is_in_order = text.index(ours) < text.index("club")
    return f"You have {first if is_in_order else second}."


def test_a_model_is_told_from_one_that_follows_what_it_reads_first(folder: Path) -> None:
    with ChatServer(follower, model="follower") as server:
        configure(folder, m=model(server))
        ran = Outcome("evaluate", "documents", "--out", "out", "--model", "m")
        assert ran.code == 0, ran.output
        assert len(server.requests) == 2 * (2 + 3)
        ran = Outcome("profile", "out", "--model", "m")
        assert ran.code == 0, ran.output
        assert len(server.requests) == 2 * (2 + 3), "nothing is asked twice"
    (of_family,) = json.loads((folder / "out" / "profile" / "profile.json").read_text())["families"]
    shown = {
        (one["measure"], one["at"]): (one["value"], one["items"])
        for one in of_family["figures"] if one["against"] is None
    }  # fmt: skip
    assert shown == {
        ("exact match", "closed_book"): (0, 2), ("exact match", "evidence"): (0.5, 2),
        (BOTH, "in_order"): (pytest.approx(1 / 3), 3), (BOTH, "reversed"): (pytest.approx(1 / 3), 3),
    }, "no figure is over both kinds of question"  # fmt: skip
    tables = json.loads(next((folder / "out" / "predictions").glob("*.tables.json")).read_text())
    for variant in CONFLICT_VARIANTS:
        cells = {
            cell["column"]: cell["value"] for cell in tables
            if cell["table"] == f"natural conflicts, {variant}" and cell["row"].endswith("all kinds")
        }  # fmt: skip
        assert [cells[told] for told in TOLD] == pytest.approx([1 / 3, 2 / 3, 0, 0])


def conflict(first: str, second: str, language: str = "en") -> dict[str, Any]:
    return {"id": "i", "question": "?", "kind": "number", "language": language, "first_answer": first,
            "second_answer": second}  # fmt: skip


BOTH_TOLD, FIRST, LAST, NEITHER = TOLD


@pytest.mark.parametrize(
    ("row", "reply", "told"),
    [
        (conflict("14 days", "30 days"), "Within 14 days, or 30 by the other page.", BOTH_TOLD),
        (conflict("14 days", "30 days"), "You have 14 days.", FIRST),
        (conflict("14 days", "30 days"), "You have 30 days.", LAST),
        (conflict("14 days", "30 days"), "A few days.", NEITHER),
        (conflict("Anna Berg", "Peter Lang"), "Anna Lang", NEITHER),
        (conflict("yes", "no"), "No, dogs stay outside.", LAST),
        (conflict("yes", "no"), "The handbook says yes, the leaflet says no.", BOTH_TOLD),
        (conflict("14天", "30天", "zh"), "十四天，即14天。", FIRST),
        (conflict("是", "否", "zh"), "手册说是，传单说否。", BOTH_TOLD),
        (conflict("是", "否", "zh"), "否，这是不可以的。", LAST),
        (conflict("是", "否", "zh"), "是的，可以。", FIRST),
        (conflict("是", "否", "zh"), "不是，是否可以另外说明。", NEITHER),
    ],
)
def test_a_reply_tells_of_an_answer_by_the_words_that_the_other_has_not(
    row: dict[str, Any], reply: str, told: str
) -> None:
    swapped = {FIRST: LAST, LAST: FIRST}
    assert told_of(row, "in_order", reply) == told
    assert told_of(row, "reversed", reply) == swapped.get(told, told)
    assert grade(row, "reversed", reply) == (told == BOTH_TOLD)
    assert process_results(row, [reply, ""])["first_in_order"] == (told == FIRST)


def test_answers_of_which_one_has_all_words_of_the_other_cannot_be_told_apart() -> None:
    assert own_words("14 days", "the 30 days", "en") == ({"14"}, {"30"})
    assert own_words("Monday", "Monday and Friday", "en") == (set(), {"and", "friday"})


@pytest.mark.parametrize(
    ("language", "answer", "same", "others"),
    [
        ("en", "within 30 days of delivery", "Within 30 days of the delivery.",
         ["within 14 days of delivery", "within thirty-one days of delivery", "within 30 days or 60 days of delivery"]),
        ("en", "It is allowed in the yard", "is allowed in the yard",
         ["It is not allowed in the yard", "It is never allowed in the yard", "It was allowed in the yard"]),
        ("en", "staff may enter the store at night", "Staff may enter the store at night.",
         ["staff must enter the store at night", "nobody may enter the store at night"]),
        ("en", "1.5 litres of water", "1.5 litres of water.", ["15 litres of water", "1.5 litres of oil"]),
        ("en", "from 9:00 to 17:00", "From 9:00 to 17:00.", ["from 17:00 to 9:00", "until 17:00"]),
        ("en", "$5", "$5.", ["€5", "5%"]),
        ("en", "Monday", "on Monday", ["Monday and Friday"]),
        ("en", "Monday and Friday", "Friday and Monday", ["Monday", "Monday or Friday"]),
        ("en", "no", "No, dogs stay outside.", ["Normally dogs are let in.", "Yes."]),
        ("zh", "交货后30天内", "交货后30天内。", ["交货后14天内", "交货后十四天内"]),
        ("zh", "交货后三十天内可以退货", "交货后三十天内，可以退货",
         ["交货后十四天内可以退货", "交货后三十天内不可以退货"]),
        ("zh", "是", "是的，可以。", ["否", "是否可以，另行说明"]),
    ],
)  # fmt: skip
def test_answers_are_the_same_by_words_only_where_neither_says_more(
    language: str, answer: str, same: str, others: list[str]
) -> None:
    assert agree(language, answer, same)
    assert [other for other in others if agree(language, answer, other)] == []
