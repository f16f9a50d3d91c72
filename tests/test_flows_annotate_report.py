"""People's work as it is told: in the terminal, as an artifact's rows, on a page."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from annotation.label_studio.sync import PushedQueue
from annotation.quality import GoldScore
from annotation.verdicts import Outcome
from flows.annotate.guidelines import EXAMPLE
from flows.annotate.progress import QueueProgress
from flows.annotate.pull import write_lines
from flows.annotate.report import MOST_DIFFERENCES, agreement_lines, progress_row, question_line, write_annotation
from flows.annotate.terminal import _folded, _print_progress, _print_queues
from flows.annotate.work import Collected, last_pull, read_annotations, works
from flows.construct.people import every
from schemas.annotation import Annotation
from schemas.rubric import Rubric
from tests.team import Team, now, words
from tests.test_flows_annotate_work import TWO, Bench
from tests.toy import WORDS

FOUR = ["ant", "bee", "cat", "dog"]
BOTH = WORDS.model_copy(update={"people_per_item": 2})
NAMED = "toy-words-that-are-asked-in-full"


def bench(folder: Path, rubric: Rubric = WORDS) -> Bench:
    served: Any = SimpleNamespace(folder=folder / "state" / "label-studio")
    return Bench(served, folder, TWO, every(rubric))


def hand_in(project: Any, answers: Mapping[str, str], **more: str) -> Collected:
    """What people chose, by their code, on each word: `yny-` is yes, no, yes and nothing."""
    (work,) = works(project)
    made = [
        Annotation(
            task=task.id, key=task.key, rubric=task.rubric, version=task.version, by=by, seconds=60, source=f"{by}{n}",
            answers={"decision": {"y": "yes", "n": "no"}[said], "upper": task.drafts["upper"]},
            at="2026-11-02T09:00:00Z", question=more.get(by, "") if n == 0 else "",
        )
        for by, all_said in answers.items()
        for n, (task, said) in enumerate(zip(work.tasks, all_said, strict=True))
        if said != "-"
    ]  # fmt: skip
    write_lines(project, f"annotations/{work.rubric.name}.jsonl", made)
    (collected,) = last_pull(project)
    return collected


def line(collected: Collected, **more: Any) -> QueueProgress:
    given: dict[str, Any] = {
        "work": collected.rubric, "form": "work", "rubric": collected.rubric, "by": "a1", "done": 3, "left": 1,
        "minutes": 1.25, "slow_minutes": 2.5, "returned": 4, "rejected": 0.25, "unchanged": 2, "suggested": 4,
        "gold": GoldScore(right=9, answered=10),
        "agreement": 0.75, "suspended": False, "to_pull": 0, "changed_since": 0, "no_longer_asked": 0, "changed": False,
        "url": "http://127.0.0.1/1",
    }  # fmt: skip
    return QueueProgress(**{**given, **more})


def test_records_that_nobody_is_asked_about_are_counted_and_not_held(tmp_path: Path) -> None:
    bench_of_some = bench(tmp_path)
    bench_of_some.part = every(WORDS, needed=lambda word: word.text in ("bee", "dog"))
    (work,) = works(bench_of_some.project(FOUR))
    assert sorted(getattr(record, "text", "") for record in work.records.values()) == ["bee", "dog"]
    assert (work.sizes, set(work.parts.values())) == ({"toy-words": 4}, {"toy-words"})


def test_agreement_of_two_people_worked_by_hand(tmp_path: Path) -> None:
    # They agree on 3 of 4. a1 says yes to 3 of 4, a2 to 2 of 4: P_e = 3/4 * 1/2 + 1/4 * 1/2 = 1/2, and so
    # kappa = (3/4 - 1/2) / (1/2) = 1/2.
    collected = hand_in(bench(tmp_path).project(FOUR), {"a1": "yyyn", "a2": "yynn"})
    rows = {(one.question, one.measure): one for one in collected.agreement(3)}
    assert rows["decision", "percent agreement"].value == 0.75
    assert rows["decision", "Cohen's kappa"].value == pytest.approx(0.5)
    assert rows["decision", "percent agreement"].low is not None
    quick = collected.agreement(3, draws=0)
    assert all(one.low is None for one in quick)
    assert agreement_lines(quick) == [
        "decision (4 items): percent agreement 0.75, Cohen's kappa 0.50, Fleiss' kappa 0.47, "
        "Krippendorff's alpha (nominal) 0.53",
        "identical texts (4 items): upper 1.00",
    ]


def test_where_nothing_can_be_told_one_line_says_why(tmp_path: Path) -> None:
    project = bench(tmp_path).project(FOUR)
    assert agreement_lines(hand_in(project, {"a1": "yy--", "a2": "--nn"}).agreement(0, 0)) == [
        "no item was done by two people"
    ]
    assert agreement_lines(hand_in(project, {"a1": "yyyy"}).agreement(0, 0)) == ["only one person answered"]


def test_reviews_and_people_set_aside_tell_nothing_of_agreement(tmp_path: Path) -> None:
    one = bench(tmp_path)
    collected = hand_in(one.project(FOUR), {"a1": "yyyn", "a2": "yynn"})
    assert len(collected.judged) == 8
    one.people = {"a1": TWO["a1"]}
    assert {one.by for one in hand_in(one.project(FOUR), {"a1": "yyyn", "a2": "yynn"}).judged} == {"a1"}


def test_the_artifact_s_rows_hold_what_a_manager_asks(tmp_path: Path) -> None:
    collected = hand_in(bench(tmp_path).project(FOUR), {"a1": "yyyn", "a2": "yynn"})
    assert dict(progress_row(line(collected))) == {
        "rubric": "toy-words", "form": "work", "person": "a1", "done": 3, "left": 1, "minutes an item": "1.2",
        "rejected": "25% of 4", "known right": "90% of 10", "agrees": "75%", "as suggested": 2, "note": "",
    }  # fmt: skip
    nothing = line(
        collected, form="review", minutes=None, rejected=None, gold=GoldScore(), agreement=None, suspended=True
    )
    assert dict(progress_row(nothing))["note"] == "suspended"
    assert [dict(progress_row(nothing))[name] for name in ("minutes an item", "rejected", "known right", "agrees")] == [
        "–"
    ] * 4


def test_work_that_is_not_pulled_yet_is_named(tmp_path: Path) -> None:
    collected = hand_in(bench(tmp_path).project(FOUR), {"a1": "yyyn", "a2": "yynn"})
    notes = [
        progress_row(line(collected, **more))["note"]
        for more in ({"to_pull": 23}, {"to_pull": 2, "changed": True, "suspended": True}, {"changed": True})
    ]
    assert notes == ["23 new", "suspended, 2 new", "changed"]
    assert progress_row(line(collected, minutes=0.04))["minutes an item"] == "under 0.1"


def test_a_question_about_a_worked_example_names_no_record(tmp_path: Path) -> None:
    collected = hand_in(bench(tmp_path).project(FOUR), {"a1": "yyyn"}, a1="Is it one?")
    (asked,) = collected.questions
    assert question_line(asked) == f"a1 asks about {asked.item or asked.key}: Is it one?"
    on_example = asked.model_copy(update={"item": EXAMPLE, "rubric": "toy-words-practice"})
    assert question_line(on_example) == "a1 asks about an example of toy-words-practice: Is it one?"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_of_a_push_cuts_neither_people_nor_addresses(width: int) -> None:
    form, url = "charpeval-utterance-judging-practice@2", "http://127.0.0.1:28537/projects/10/data"
    queues = [PushedQueue(f"sample/{form}/{by}", 10, url, wanted=2, imported=2) for by in TWO]
    console = Console(width=width, record=True)
    _print_queues(console, queues)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert all(any(re.search(rf"\b{by} +2 +2 +0 +0\b", one) for one in lines) for by in TWO)
    if width == 120:
        assert sum(form in one and url in one for one in lines) == len(TWO), "a line each"


def test_the_table_can_be_read_at_100_columns(tmp_path: Path) -> None:
    rubric = WORDS.model_copy(update={"name": NAMED})
    collected = hand_in(bench(tmp_path, rubric).project(FOUR), {"a1": "yyyn", "a2": "yynn"})
    standings = [
        line(collected, form=form, by=by, changed=by == "a2", suspended=by == "a2", done=1234)
        for form in ("practice", "work", "revision", "deciding")
        for by in TWO
    ]
    console = Console(width=100, record=True)
    _print_progress(console, [collected], standings)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(NAMED in one for one in lines) == 1, "the rubric stands once, as a heading"
    of_people = [" ".join(one.split()) for one in lines if re.search(r"\ba[12] +1234 ", one)]
    assert "decides rightly: a1 70%, a2 70%" in [one.rstrip() for one in lines]
    assert [one.partition(" ")[0] for one in of_people[::2]] == ["practice", "work", "revision", "deciding"]
    assert of_people[1] == "a2 1234 1 1.2 25% of 4 90% of 10 75% 2 suspended, changed", "a line each"
    assert any("Cohen's kappa 0.50" in one for one in lines)
    empty = line(collected, by="a1", done=0, left=0, changed=False)
    plain = line(collected, by="a2", done=0, left=3, changed=False, suspended=False, unchanged=0)
    console = Console(width=100, record=True)
    _print_progress(console, [collected], [empty, plain])
    (of_person,) = [one.split() for one in console.export_text().splitlines() if re.search(r"\ba[12] +\d+ ", one)]
    assert of_person[:4] == ["work", "a2", "0", "3"], "who has nothing to do, and did nothing, has no line"
    _print_progress(console, [collected], [empty])
    assert NAMED not in console.export_text(), "nor has a rubric with no line a table"
    told = " ".join(" ".join(lines).split())
    assert "as suggested: a program's suggestions that were submitted unchanged" in told


@pytest.mark.parametrize("width", range(60, 130))
def test_a_figure_stays_with_its_name_where_a_line_is_folded(width: int) -> None:
    told = "agreement: decision (4 items): percent agreement 1.00, Cohen's kappa –, Fleiss' kappa –, nominal alpha –"
    lines = _folded(told, width).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()) == told
    assert not any(re.match(r"\s*(–|\d)", one) for one in lines)


def test_the_page_tells_it_all_without_a_name_or_an_address(tmp_path: Path) -> None:
    project = bench(tmp_path).project(FOUR)
    asked = "Is <b>ant</b> one?"
    collected = hand_in(project, {"a1": "yyyn", "a2": "yynn", "a3": "y---"}, a1=asked)
    page = write_annotation(project, [collected], [line(collected), line(collected, by="a2", form="review")])
    assert page == project.out / "annotation.html"
    text = page.read_text(encoding="utf-8")
    for said in ("Cohen&#39;s kappa", "0.50", "unknown person", "a3 1", "25% of 4", "2 accept, 1 reject",
                 "3 decided, 1 waiting", "people differ on", "toy-words 4",
                 "suggestions that were submitted unchanged", "Is &lt;b&gt;ant&lt;/b&gt; one?", "review"):  # fmt: skip
        assert said in text, said
    alone = write_annotation(project, [hand_in(project, {"a1": "yyyn"})], []).read_text(encoding="utf-8")
    assert "Not measured: only one person answered." in alone
    assert "kappa" not in alone
    assert re.search(r"0\.50</bdi></td><td class=\"n\"><bdi>-?\d\.\d\d to \d\.\d\d<", text), "with its interval"
    assert "@" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    assert "<script" not in text


def test_of_many_tasks_on_which_people_differ_the_page_shows_the_first(tmp_path: Path) -> None:
    team = Team(tmp_path, words(MOST_DIFFERENCES + 3), ["a1", "a2"], per_item=2)
    for task in team.tasks:
        for by, said in (("a1", "yes"), ("a2", "no")):
            team.do(task, by, now(), 60, {"decision": said, "upper": task.drafts["upper"]})
    team.pull()
    collected = last_pull(team.project)
    assert len(collected[0].disagreements) == MOST_DIFFERENCES + 3
    text = write_annotation(team.project, collected, []).read_text(encoding="utf-8")
    assert text.count('<details class="difference">') == MOST_DIFFERENCES
    assert "and 3 more" in text


class CountedReads(tuple[Outcome, ...]):
    """Outcomes that count how often they are gone through."""

    reads = 0

    def __iter__(self) -> Iterator[Outcome]:
        self.reads += 1
        return super().__iter__()


def test_the_outcomes_are_gone_through_once_however_many_people_differ(tmp_path: Path) -> None:
    collected = hand_in(bench(tmp_path, BOTH).project(FOUR), {"a1": "yyyy", "a2": "nnnn"})
    outcomes = CountedReads(collected.settlement.outcomes)
    settlement = collected.settlement.model_copy(update={"outcomes": outcomes})
    collected = dataclasses.replace(collected, settlement=settlement)
    assert len(collected.disagreements) == len(collected.disagreements) == 4
    assert outcomes.reads == 1


def test_the_page_shows_where_people_differ_with_what_is_worth_most_first(tmp_path: Path) -> None:
    some = bench(tmp_path, WORDS.model_copy(update={"people_per_item": 3}))
    some.people = {by: f"{by}@example.org" for by in ("a1", "a2", "a3", "lead")}
    some.lead = "lead"
    project = some.project(FOUR)
    # Of three people, one or two differ; on "dog", everybody agrees.
    answers = {"a1": "yyyy", "a2": "ynyy", "a3": "nnny"}
    collected = hand_in(project, answers)
    first = {one.task.shown["text"]: one for one in collected.disagreements}
    assert set(first) == {"ant", "bee", "cat"}
    made = [*read_annotations(project, collected.rubric), Annotation(
        task=first["ant"].asked.id, key=first["ant"].asked.key, rubric=first["ant"].asked.rubric, version=1, by="lead",
        answers={"decision": "yes", "use_as": "nothing", "why_decided": "It <is> one."}, source="lead",
        at="2026-11-03T09:00:00Z",
    )]  # fmt: skip
    write_lines(project, f"annotations/{collected.rubric}.jsonl", made)
    (collected,) = last_pull(project)
    worth = [collected.worth(one) for one in collected.disagreements]
    assert worth == sorted(worth, reverse=True)
    assert [one.task.shown["text"] for one in collected.disagreements][-1] == "ant", "what is decided comes last"
    assert worth[-1] == 0.0
    asked = {one.asked.key: f"http://127.0.0.1/projects/1/data?task={n}" for n, one in enumerate(first.values())}
    deciding = line(collected, form="deciding", by="lead", links=asked)
    text = write_annotation(project, [collected], [deciding]).read_text(encoding="utf-8")
    told = [" ".join(re.sub(r"<[^>]+>", "", one).split()) for one in re.findall(r"<summary>(.*?)</summary>", text)]
    assert [one.split()[0] for one in told] == [one.task.shown["text"] for one in collected.disagreements]
    assert "worth –, accept, decided by lead" in told[-1]
    assert "Decided: <b>accept</b>, <bdi>It &lt;is&gt; one.</bdi>." in text
    assert all(f'href="{address}"' in text for address in asked.values())
    part = text[text.index("Where people differ") :]
    assert not re.search(r"\ba[123]\b", part), "whoever decides does not learn who answered what"
    assert "people differ on 3 tasks, of which 1 is decided" in text
