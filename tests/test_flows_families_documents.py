"""Questions on documents: planned evenly, asked, read back, compared with other passages, and chosen."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.construct.counting import part_summary
from flows.construct.stages import StageRef
from flows.construct.verification import VerifyContext
from flows.families.documents import FAMILY, checks
from flows.families.documents.method import place_of
from flows.families.documents.prompts import NOT_KNOWN, NOT_THERE
from flows.llm.model import Invalid, InvalidAnswer, Out, Prompt, Usage
from flows.project.output_files import write_output_files
from flows.project.project import Project
from flows.run.estimate import estimate
from schemas.base import Dropped, Provenance
from schemas.documents import DocumentPair, Kind
from schemas.manifest import PartManifest
from schemas.source import Place
from tests.builds import write_config
from tests.toy import run_all

HANDBOOK = """# Staff handbook

## Leave

Employees of Nordwind get 28 days of leave a year. Trainees of Nordwind get 30 days of leave a year. Leave must be
requested two weeks before it begins. Anna Berg, the head of staff, approves every request within three days. Days that
were not taken by the end of March lapse, unless an employee was ill. Whoever falls ill during leave sends a certificate
to the head of staff on the first day, and gets the days of leave back. Unpaid leave is possible for up to three months.
Anna Berg was hired in 2009.

## Travel

Trips of Nordwind's staff are booked by the travel desk in Hamburg. Anna Berg must approve a trip abroad. The daily
allowance in Germany is 30 euros, and abroad it is 45 euros. Receipts must be handed in within 14 days of the return,
and the travel desk pays the costs back with the next salary. Trains are taken in second class, and flights are booked
for trips of more than six hours alone. Whoever travels by car of their own gets 30 cents for each kilometre.
"""
WELCOME = """# Welcome to Nordwind

## First days

New employees of Nordwind get a laptop, a badge and a key on their first day. Employees of Nordwind get 25 days of leave
a year. The canteen of Nordwind is open from 11:30 to 14:00, and lunch costs five euros for everybody who works here.
Every new employee has a mentor for the first six months, who is named by the head of the department before they start.
The mentor introduces them to the team, shows them the building, and meets them for an hour every week to talk.
"""
LEAVE = "How many days of leave do employees of Nordwind get a year?"
ALLOWANCE = "What daily allowance does Nordwind pay in Germany?"
LUNCH = "How much does lunch cost in the canteen of Nordwind?"
ASKED = {
    "Anna Berg, the head": (LEAVE, "28 days", "Employees of Nordwind get 28 days of leave a year."),
    "travel desk in Hamburg": (
        ALLOWANCE, "30 euros", "The daily allowance in Germany is 30 euros, and abroad it is 45 euros.",
    ),
    "canteen": (
        LUNCH, "five euros",
        "The canteen of Nordwind is open from 11:30 to 14:00, and lunch costs five euros for everybody who works here.",
    ),
}  # fmt: skip
"""By words of a passage, what is asked about it."""
READ = {
    LEAVE: {"Trainees of Nordwind": "28 days", "laptop": "25 days"},
    ALLOWANCE: {"allowance": "30 euros"},
    LUNCH: {"lunch": "5 euros"},
}
"""By question, what a reader finds in a passage with these words."""


class Staff:
    """A model that asks the questions above, and reads passages as a person would."""

    name = "scripted"

    def __init__(
        self,
        recalls: Mapping[str, str] | None = None,
        reads: Mapping[str, str] | None = None,
        faults: Mapping[str, str] | None = None,
    ) -> None:
        """`recalls` and `reads` are answers without a passage, and with any one; `faults` are those of questions."""
        self.recalls, self.reads, self.faults = recalls or {}, reads or {}, faults or {}

    async def complete(self, prompt: Prompt[Out], inputs: Any, *, draw: int = 0, usage: Usage) -> Out:
        usage.calls += 1
        output = prompt.output.model_validate(getattr(self, f"_{prompt.name}")(inputs))
        try:
            for check in prompt.checks:
                check(inputs, output)
        except Invalid as error:
            raise InvalidAnswer(error.reason, error.detail) from error
        return output

    def _ask_pair(self, asked: Any) -> dict[str, Any]:
        for words, (question, answer, sentence) in ASKED.items():
            if words in asked.passages[0] and asked.kind == "number":
                return {"question": question, "answer": answer, "evidence": [sentence], "steps": []}
        return {"question": "", "answer": "", "evidence": [], "steps": []}

    def _judge_question(self, asked: Any) -> dict[str, Any]:
        return {"fault": self.faults.get(asked.question, "none"), "why": ""}

    def _read_answer(self, asked: Any) -> dict[str, Any]:
        found = (answer for words, answer in READ[asked.question].items() if words in asked.passage)
        return {"text": self.reads.get(asked.question) or next(found, NOT_THERE)}

    def _recall_answer(self, asked: Any) -> dict[str, Any]:
        return {"text": self.recalls.get(asked.question, NOT_KNOWN)}

    def _same_answer(self, asked: Any) -> dict[str, Any]:
        return {"same": "yes" if {asked.answer, asked.other} == {"five euros", "5 euros"} else "no"}

    def _weigh_answers(self, asked: Any) -> dict[str, Any]:
        answer, text = asked.second.answer, asked.second.passage
        evidence = next(sentence for sentence in re.findall(r"[^.]+\.", text) if answer in sentence).strip()
        return {"verdict": "contradict each other", "why": "", "answer": answer, "evidence": [evidence]}

    def _state(self, asked: Any) -> dict[str, Any]:
        return {"statement": asked.sentence.replace("The daily", "Nordwind's daily")}

    def identity(self) -> Mapping[str, object]:
        return {"model": "scripted", "recalls": dict(self.recalls), "reads": self.reads, "faults": self.faults}


def built(
    folder: Path,
    staff: Staff | None = None,
    files: Mapping[str, str] | None = None,
    limit: int | None = None,
    **settings: Any,
) -> Project:
    """A build on the files: by the rules, or by a model."""
    (folder / "staff").mkdir(parents=True)
    for name, text in (files or {"handbook.md": HANDBOOK, "welcome.md": WELCOME}).items():
        (folder / "staff" / name).write_text(text, encoding="utf-8")
    sources = [{"format": "documents", "path": "staff/**"}]
    config = write_config(
        folder, embeds=True, families={"documents": {"sources": sources, "kinds": {"number": 1.0}, **settings}}
    )
    project = Project(config, folder / "out", limit)
    if staff is not None:
        staffed(project, staff)
    asyncio.run(run_all(project.build))
    return project


def staffed(project: Project, staff: Staff) -> Project:
    """A project with these staff in all roles."""
    models = project.build.families["documents"].models
    models.update(dict.fromkeys([*models, "checker", "prescreen"], staff))  # type: ignore[attr-defined]
    return project


def pairs(project: Project) -> dict[str, DocumentPair]:
    return {pair.question: pair for pair in project.build.accepted("documents", "pairs")}


def summary_of(project: Project, part: str) -> PartManifest:
    family = project.build.families["documents"].family
    return part_summary(project.build, family, family.part(part))


def dropped(project: Project, step: str, part: str = "questions") -> list[Dropped]:
    return list(project.build.read(StageRef("documents", part, step)).dropped())


def faults(project: Project, part: str, changed: list[Any] | None = None) -> list[str]:
    def rows(name: str) -> list[Any]:
        return list(project.build.accepted("documents", name))

    context = VerifyContext(project.build.families["documents"].settings, project.embedder, rows)
    return [fault.problem for fault in FAMILY.part(part).verify(changed or rows(part), context)]


def test_a_question_knows_where_its_answer_stands(tmp_path: Path) -> None:
    project = built(tmp_path, Staff())
    asked = pairs(project)
    assert set(asked) == {ALLOWANCE, LUNCH}
    pair = asked[ALLOWANCE]
    assert str(pair.places[0]) == 'handbook.md, "Staff handbook / Travel"'
    (span,) = pair.sentences
    assert pair.evidence[span.start : span.end] == span.text == ASKED["travel desk in Hamburg"][2]
    assert {prompt.name for prompt in pair.provenance.prompts} >= {"ask_pair", "read_answer"}
    assert [fault for part in FAMILY.parts for fault in faults(project, part.name)] == []
    for family, part in project.build.parts():
        summary = part_summary(project.build, family, part)
        assert summary.planned == summary.kept + summary.refused
    statements = {row.text: row.sentence for row in project.build.accepted("documents", "statements")}
    assert set(statements.values()) == {pair.sentences[0].text for pair in asked.values()}
    assert "Nordwind's daily allowance in Germany is 30 euros, and abroad it is 45 euros." in statements


def test_documents_that_contradict_each_other_are_told(tmp_path: Path) -> None:
    (refused,) = dropped(built(tmp_path, Staff()), "require_one_answer", "pairs")
    assert refused.reason == "another passage answers otherwise"
    there = 'welcome.md, "Welcome to Nordwind / First days": 25 days'
    assert refused.evidence == f'{LEAVE} handbook.md, "Staff handbook / Leave": 28 days; {there}'


REMOTE = "How many days a week may staff of Halden work at home?"
AT_HOME = {"page": "2 days", "apprentices": "1 day", "branch": "4 days", "handbook": "3 days"}
"""What each document says of working at home; one speaks of others."""


class AtHome(Staff):
    """Asks of the page how many days one may work at home, and reads it in every document."""

    def __init__(self) -> None:
        super().__init__()
        self.weighed: list[str] = []

    def _ask_pair(self, asked: Any) -> dict[str, Any]:
        if "of the page" not in asked.passages[0]:
            return {"question": "", "answer": "", "evidence": [], "steps": []}
        evidence = "People of the page may work at home 2 days a week."
        return {"question": REMOTE, "answer": "2 days", "evidence": [evidence], "steps": []}

    def _read_answer(self, asked: Any) -> dict[str, Any]:
        return {"text": re.findall(r"at home (\d days?)", asked.passage)[0]}

    def _weigh_answers(self, asked: Any) -> dict[str, Any]:
        self.weighed.append(asked.second.answer)
        if "apprentices" in asked.second.passage:
            return {"verdict": "speak of different things", "why": "The second is about apprentices."}
        return super()._weigh_answers(asked)


def at_home(folder: Path, names: Sequence[str]) -> tuple[Project, AtHome]:
    """A build on some of these documents."""
    files = {
        f"{name}.md": f"# {name}\n\nPeople of the {name} may work at home {AT_HOME[name]} a week. "
        + f"Whoever is in the {name} writes that down for all who ask about the {name}. " * 3
        for name in names
    }
    staff = AtHome()
    return built(folder, staff, files, pairs=4), staff


def test_every_passage_that_answers_otherwise_is_weighed(tmp_path: Path) -> None:
    project, staff = at_home(tmp_path, list(AT_HOME))
    found = project.build.accepted("documents", "conflicts")
    assert {(row.first_answer, row.second_answer) for row in found} == {("2 days", "3 days"), ("2 days", "4 days")}
    (beside,) = dropped(project, "require_contradiction", "conflicts")
    assert (beside.reason, "2 days / 1 day" in beside.evidence) == ("passages speak of different things", True)
    (told,) = dropped(project, "require_one_answer", "pairs")
    for text in ("page.md", "2 days", "branch.md", "4 days", "handbook.md", "3 days"):
        assert text in told.evidence
    assert "apprentices" not in told.evidence
    assert sorted(staff.weighed) == ["1 day", "3 days", "4 days"], "each once"
    assert [fault for part in FAMILY.parts for fault in faults(project, part.name)] == []


def test_a_question_whose_answer_holds_beside_the_others_is_a_pair(tmp_path: Path) -> None:
    project, _ = at_home(tmp_path, ["page", "apprentices"])
    assert set(pairs(project)) == {REMOTE}
    assert list(project.build.accepted("documents", "conflicts")) == []


TWICE = {
    "The travel allowance of Nordwind is {} euros a day.": ("30", "25"),
    "The canteen of Nordwind opens at {}.": ("11:30", "12:00"),
    "The head of the Harbour Clinic is {}.": ("Anna Berg", "Peter Lang"),
    "The Lindenau Museum was founded in {}.": ("1912", "1921"),
    "Employees of Nordwind get {} days of leave a year.": ("28", "30"),
    "The Meridian H2 pump weighs {} kilograms.": ("2.4", "2.9"),
    "Members of the Oak Club pay {} euros a year.": ("15", "20"),
    "The library card of Lindenau costs {} euros.": ("ten", "twelve"),
    "The Oak Club was founded in {}.": ("1954", "1954"),
    "The swimming pool of Lindenau opens at {}.": ("7:00", "7:00"),
}
"""What two documents say of the same things: the last two say the same."""


def test_the_rules_find_what_two_documents_say_otherwise(tmp_path: Path) -> None:
    more = "People in the building know each other well, and they like to help whoever is new. " * 3
    files = {
        f"{kind} {number}.md": f"# {kind} {number}\n\n{before}{sentence.format(value)} {more}"
        for number, (sentence, values) in enumerate(TWICE.items())
        for kind, before, value in zip(
            ("Handbook", "Leaflet"), ("", "Welcome to all who are here. "), values, strict=True
        )
    }
    project = built(tmp_path, files=files, pairs=100, kinds={"number": 0.8, "fact": 0.2})
    told = {one.evidence.partition("? ")[0] for one in dropped(project, "require_one_answer", "pairs")}
    kept = set(pairs(project))
    otherwise = [sentence for sentence, values in TWICE.items() if len(set(values)) > 1]
    print(f"planted contradictions: {len(told)} of {len(otherwise)} told")
    assert len(told) == len(otherwise) - 1, "the rules ask for no head of a clinic"
    assert kept == {"In which year was the Oak Club founded?", "At what time does the swimming pool of Lindenau open?"}


def test_what_is_known_without_the_passage_or_read_otherwise_is_dropped(tmp_path: Path) -> None:
    project = built(tmp_path, Staff(recalls={ALLOWANCE: "30 euros"}, reads={LUNCH: "six euros"}), rivals=0)
    assert set(pairs(project)) == {LEAVE}, "with no rivals, no passage contradicts"
    assert [one.reason for one in dropped(project, "check_answer")] == ["a reader answers otherwise"]
    assert [one.reason for one in dropped(project, "prescreen")] == [
        "known to checker without the passage (families.documents.prescreen: [] keeps such questions)"
    ]


def test_a_question_that_nobody_would_ask_is_dropped(tmp_path: Path) -> None:
    (refused,) = dropped(built(tmp_path, Staff(faults={LUNCH: "is not worth asking"})), "judge_question")
    assert refused.reason == "question is not worth asking"
    assert LUNCH in refused.evidence


class Numbering(Staff):
    """Asks of each passage for the code of its room; the first rooms' questions are none that people would ask."""

    def __init__(self, refused: int) -> None:
        super().__init__()
        self.refused = refused
        self.asked: list[str] = []

    def _ask_pair(self, asked: Any) -> dict[str, Any]:
        room, code = re.findall(r"of room (\w+) is (\d+)", asked.passages[0])[0]
        self.asked.append(room)
        evidence = f"The code of room {room} is {code}."
        return {"question": f"What is the code of room {room}?", "answer": code, "evidence": [evidence], "steps": []}

    def _judge_question(self, asked: Any) -> dict[str, Any]:
        room = int(asked.question[:-1].rpartition("r")[2], 36)
        return {"fault": "is contrived" if room < self.refused else "none", "why": ""}

    def _read_answer(self, asked: Any) -> dict[str, Any]:
        found = re.findall(rf"of {asked.question[20:-1]} is (\d+)", asked.passage)
        return {"text": found[0] if found else NOT_THERE}

    def identity(self) -> Mapping[str, object]:
        return {"model": "numbering", "refused": self.refused}


ROOMS = {
    f"room-{number}.md": f"# Room r{number}\n\nThe code of room r{number} is {4000 + number}. " + "It has a desk. " * 30
    for number in range(10)
}


@pytest.mark.parametrize(
    ("refused", "pairs_kept", "asked"),
    [(0, 4, 6), (6, 4, 10), (8, 2, 10)],
    ids=["the first are enough", "more are asked", "nothing is left to ask"],
)
def test_more_are_asked_until_enough_are_left(tmp_path: Path, refused: int, pairs_kept: int, asked: int) -> None:
    staff = Numbering(refused)
    project = built(tmp_path, staff, ROOMS, rivals=0, pairs=4, similar_above=0.9999)
    assert len(pairs(project)) == pairs_kept
    assert len(staff.asked) <= asked
    assert len(staff.asked) == len(set(staff.asked)), "nothing is asked twice"
    summary = summary_of(project, "questions")
    assert summary.planned == len(staff.asked) == summary.kept + summary.refused
    notes = [note for stage in summary.stages for note in stage.notes]
    short = ["2 of 4 questions wanted: more documents give more"]
    assert notes == (short if pairs_kept < 4 else [])
    keys = {pair.key for pair in pairs(project).values()}
    all_asked = built(tmp_path / "all", Numbering(refused), ROOMS, rivals=0, pairs=10, similar_above=0.9999)
    assert keys <= {pair.key for pair in pairs(all_asked).values()}, "a later round asks as the first one would"


def test_after_a_pilot_the_estimate_counts_what_will_be_asked_again(tmp_path: Path) -> None:
    pilot = built(tmp_path, Numbering(5), ROOMS, limit=6, rivals=0, pairs=8, similar_above=0.9999)
    write_output_files(pilot)
    kept, planned = len(pairs(pilot)), summary_of(pilot, "questions").planned
    assert 0 < kept < planned == 6
    told = estimate(staffed(Project(pilot.config_path, pilot.out), Numbering(5)))
    asked = {line.step.rpartition(" ")[2]: line.calls for line in told.lines}["ask_pair"]
    assert asked == pytest.approx(8 * planned / kept, abs=2)


def test_people_judge_a_sample_or_every_question(tmp_path: Path) -> None:
    for review, waiting in (("sample", 0), ("every", 2)):
        project = built(tmp_path / review, Staff(), review=review)
        summary = summary_of(project, "pairs")
        assert (summary.waiting, summary.kept) == (waiting, 2 - waiting)
        _, people = project.config.asking()["documents-check"]
        assert people.share == review
        assert len(list(people.tasks(list(pairs(project).values()), 7))) == 2


def test_as_many_as_wanted_are_kept_and_the_rest_is_counted(tmp_path: Path) -> None:
    project = built(tmp_path, Staff(), rivals=0, pairs=2)
    documents = Counter(pair.places[0].document for pair in pairs(project).values())
    assert documents == {"handbook.md": 1, "welcome.md": 1}, "evenly over documents"
    assert [one.reason for one in dropped(project, "keep_wanted")] == ["more than wanted"]


def test_another_document_changes_no_question_of_the_others(tmp_path: Path) -> None:
    before = built(tmp_path / "before", Staff(), {"handbook.md": HANDBOOK}, rivals=0)
    after = built(tmp_path / "after", Staff(), {"handbook.md": HANDBOOK, "a.md": WELCOME}, rivals=0)
    kept = pairs(after)
    for question, pair in pairs(before).items():
        assert kept[question].id == pair.id
        assert kept[question].key == pair.key


PASSAGES = ("The fee is 30 euros a day. Anna Berg approves it.", "Anna Berg works in Hamburg.")


@pytest.mark.parametrize(
    ("kind", "question", "answer", "reason"),
    [
        ("number", "What does Nordwind's parking permit cost a day?", "30 euros", None),
        ("number", "What does Nordwind's parking permit cost a day", "30 euros", "not one question"),
        ("number", "What does it say about Nordwind in the passage?", "30 euros", "question speaks of a text"),
        ("number", "Above which sum does Anna Berg approve costs at Nordwind?", "500 euros", None),
        ("fact", "Who approves the costs described above?", "Anna Berg", "question speaks of a text"),
        ("number", "Does Nordwind's permit cost 30 euros a day?", "30 euros", "question holds the answer"),
        ("yes-no", "Does Nordwind's permit cost 30 euros a day?", "yes", None),
        ("number", "How many days of leave do they get a year?", "28", "question needs the passage"),
        ("fact", "Who approves it?", "Anna Berg", "question needs the passage"),
        ("fact", "What makes it unlikely that Nordwind moves to Hamburg?", "the rent", None),
        ("fact", "What makes it fail?", "the rent", "question needs the passage"),
    ],
)
def test_a_question_is_understood_by_itself(kind: Kind, question: str, answer: str, reason: str | None) -> None:
    problem = checks.question_problem("en", kind, question, answer, PASSAGES)
    assert (problem and problem[0]) == reason


@pytest.mark.parametrize(
    ("kind", "answer", "sentences", "steps", "reason"),
    [
        ("number", "30 euros", PASSAGES[:1], (), None),
        ("number", "40 euros", PASSAGES[:1], (), "answer is not in the evidence"),
        ("yes-no", "yes", PASSAGES[:1], (), None),
        ("yes-no", "maybe", PASSAGES[:1], (), "not yes or no"),
        ("comparison", "15 euros", PASSAGES[:1], (), "answer is derived without steps"),
        ("comparison", "15 euros", PASSAGES[:1], ("45 - 30 = 15",), None),
        ("two-step", "Hamburg", PASSAGES, ("Anna Berg approves it.",), "not two steps"),
        ("two-step", "Hamburg", PASSAGES, ("Anna Berg approves it.", "She works in Hamburg."), None),
        ("list", "a laptop, a badge and a key", ("They get a laptop, a badge and a key.",), (), None),
        ("list", "a laptop", ("They get a laptop, a badge and a key.",), (), "not a list"),
        ("fact", " ", PASSAGES[:1], (), "no answer"),
    ],
)
def test_an_answer_follows_from_what_is_quoted(
    kind: Kind, answer: str, sentences: tuple[str, ...], steps: tuple[str, ...], reason: str | None
) -> None:
    problem = checks.answer_problem("en", kind, answer, sentences, steps)
    assert (problem and problem[0]) == reason


def test_what_is_quoted_stands_in_the_passages() -> None:
    assert checks.sentences_problem(PASSAGES, ["The fee is 30 euros a day.", PASSAGES[1]]) is None
    assert checks.sentences_problem(PASSAGES, []) == ("no evidence", "quote one to 4 sentences")
    for quoted, reason in (
        (["The fee is 31 euros."], "evidence is not in the passage"),
        ([PASSAGES[1]], "a passage is not needed"),
    ):
        problem = checks.sentences_problem(PASSAGES, quoted)
        assert problem is not None
        assert problem[0] == reason
    evidence = checks.evidence_of(PASSAGES)
    for span in checks.spans_of(PASSAGES, ["Anna Berg works in Hamburg.", "Anna Berg approves it."]) or ():
        assert evidence[span.start : span.end] == span.text


def test_a_changed_row_is_a_fault(tmp_path: Path) -> None:
    project = built(tmp_path, Staff())
    rows = list(pairs(project).values())
    (first, *_) = rows
    for change, problem in (
        ({"answer": "31 euros"}, "its answer does not stand in its sentences"),
        ({"question": "No question."}, "its question is none"),
        ({"evidence": first.evidence.upper()}, "its evidence is not the text of its passages"),
        ({"passages": ("none",)}, "it names a passage that is not there"),
    ):
        assert problem in faults(project, "pairs", [first.model_copy(update=change)])
    assert "its question is asked twice" in faults(project, "pairs", [first, first])


def test_a_statement_of_two_passages_stands_where_its_sentence_does() -> None:
    first, second = (
        Place(document=name, start=100, end=100 + len(text), checksum="0")
        for name, text in zip(("a.md", "b.md"), PASSAGES, strict=True)
    )
    spans = checks.spans_of(PASSAGES, [*PASSAGES, "The fee is 30 euros a day."])
    assert spans is not None
    pair = DocumentPair(
        key="k", question="Where does the person who approves the fee work?", answer="Hamburg", kind="two-step",
        evidence=checks.evidence_of(PASSAGES), sentences=tuple(spans), steps=("Anna Berg.", "Hamburg."), title=None,
        passages=("1", "2"), places=(first, second), language="en", provenance=Provenance(seed=1),
    )  # fmt: skip
    assert [place_of(span, pair) for span in spans] == [first, second, first]
    assert place_of(spans[0], pair.model_copy(update={"places": ()})) is None
