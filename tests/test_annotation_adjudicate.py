"""Where people differ: what counts as a difference, who may decide, and what comes of a decision."""

import re
from collections.abc import Iterable, Mapping

import pytest

from annotation.adjudicate import (
    KNOWN_ANSWER,
    NOTHING,
    UNCHANGED,
    WORKED_EXAMPLE,
    Disagreement,
    adjudication_of,
    known_answers,
    may_decide,
    who_knows,
    worked_examples,
)
from annotation.label_studio.config import EXAMPLES, guideline_page
from annotation.label_studio.task_data import NEWS, task_data
from annotation.latest import OLDER
from annotation.quality import gold_scores
from annotation.reliability import Given, Reliabilities, reliabilities
from annotation.settle import ADJUDICATOR_ANSWERED, LEAD_DECIDED, REFUSED, Settlement, settle
from schemas.annotation import Annotation, Finding
from schemas.rubric import Choice, Rubric, Shown, Task, Written
from schemas.verdict import Decision

Rights = Mapping[str, Decision]
JUDGED = Rubric(
    name="toy-judged", title="Is it good?", version=2, guideline="g.md", shows=(Shown(name="text"),),
    asks=(
        Choice(name="decision", question="Is it?", options=("keep", "edit", "reject"), accepts=("keep",),
               fixes=("edit",), about="text"),
        Choice(name="taste", question="Do you like it?", options=("yes", "no")),
    ),
    writes=(Written(name="text", title="Text", corrects=True), Written(name="note", title="Note", note=True)),
)  # fmt: skip
THREE = JUDGED.model_copy(update={"people_per_item": 3})
FORM = adjudication_of(JUDGED)


def task(number: int = 1, text: str = "It is 1.") -> Task:
    return Task(
        key=f"k{number}", rubric=JUDGED.name, version=2, item_id="i", item_key=f"r{number}", item_view="v",
        shown={"text": text}, drafts={"text": text},
    )  # fmt: skip


def judged(by: str, decision: str, on: Task | None = None, **more: str) -> Annotation:
    on = on or task()
    return Annotation(
        task=on.id, key=on.key, rubric=JUDGED.name, version=2, by=by, at="2026-11-02T09:00:00Z", source=f"{on.key}{by}",
        answers={"decision": decision, "taste": "yes", **more},
    )  # fmt: skip


def decided(on: Disagreement, by: str, decision: str, hour: int = 10, use: str = NOTHING, **more: str) -> Annotation:
    return Annotation(
        task=on.asked.id, key=on.asked.key, rubric=FORM.name, version=2, by=by, at=f"2026-11-02T{hour}:00:00Z",
        source=f"{on.asked.key}{by}{hour}",
        answers={"decision": decision, "taste": "no", "use_as": use, "why_decided": "It has to be.", **more},
    )  # fmt: skip


def settled(*work: Annotation, rubric: Rubric = JUDGED, **more: object) -> Settlement:
    return settle([task()], work, rubric, **more)  # type: ignore[arg-type]


def differences(*work: Annotation, rubric: Rubric = JUDGED) -> int:
    return len(settled(*work, rubric=rubric).disagreements)


def test_people_differ_if_they_decide_otherwise_or_correct_otherwise() -> None:
    assert differences(judged("a", "keep"), judged("b", "reject")) == 1
    assert differences(judged("a", "keep"), judged("b", "edit", text="It is 2.")) == 1
    assert differences(judged("a", "edit", text="It is 3."), judged("b", "edit", text="It is 2.")) == 1
    assert differences(judged("a", "keep", taste="no"), judged("b", "keep", note="Nice.")) == 0
    assert differences(judged("a", "edit", text="It is 2."), judged("b", "edit", text="It is 2. ")) == 0
    lines = [judged("a", "edit", text="It is 2.\nYes."), judged("b", "edit", text="It is 2. \nYes.")]
    assert differences(*lines) == 0, "browsers change white space at the ends of lines"
    assert differences(judged("a", "keep")) == 0
    # A third person may still agree with one of them.
    assert differences(judged("a", "keep"), judged("b", "reject"), rubric=THREE) == 0
    assert differences(judged("a", "keep"), judged("b", "reject"), judged("c", "keep"), rubric=THREE) == 1
    rated = THREE.model_copy(update={"asks": JUDGED.asks[1:], "writes": ()})
    work = [one.model_copy(update={"answers": {"taste": taste}}) for one, taste in
            ((judged("a", ""), "yes"), (judged("b", ""), "no"), (judged("c", ""), "no"))]  # fmt: skip
    assert differences(*work, rubric=rated) == 0, "ratings decide nothing"


def test_whoever_decides_sees_the_answers_side_by_side_and_no_code() -> None:
    (one,) = settled(judged("anna", "keep", note="Fine."), judged("ben", "edit", text="It is <2>.")).disagreements
    order = [0, 1] if one.people == ("anna", "ben") else [1, 0]
    rows = {row.title: [row.answers[place] for place in order] for row in one.asked.compared}
    assert rows == {
        "Is it?": ["keep", "edit"], "Do you like it?": ["yes", "yes"], "Text": [UNCHANGED, "It is <2>."],
        "Note": ["Fine.", ""],
    }  # fmt: skip
    data = task_data(FORM, one.asked)
    assert data["draft_text"] == "It is 1."
    assert "<tr><th>Do you like it?</th><td>yes</td><td>yes</td></tr>" in data[NEWS]
    assert "<b>It is &lt;2&gt;.</b>" in data[NEWS]
    assert "<th>First person</th><th>Second person</th>" in data[NEWS]
    assert not [code for code in ("anna", "ben") if code in str(data)]
    assert [ask.name for ask in FORM.asks] == ["decision", "taste", "use_as"]
    assert [write.name for write in FORM.writes] == ["text", "why_decided"]


def test_a_decision_of_somebody_else_decides_the_task_whatever_people_answer_later() -> None:
    work = [judged("a", "keep"), judged("b", "reject"), judged("c", "keep")]
    before = settled(*work, rubric=THREE)
    assert [verdict.decision for verdict in before.verdicts] == ["accept"], "until then, the majority decides"
    (one,) = before.disagreements
    lead = decided(one, "lead", "reject")
    after = settled(*work, lead, rubric=THREE)
    (verdict,) = after.verdicts
    assert (verdict.decision, verdict.by, verdict.comment, verdict.rubric, verdict.at) == (
        "reject", "lead", "It has to be.", JUDGED.name, lead.at,
    )  # fmt: skip
    assert lead in after.counted
    # b sees it otherwise now; c is suspended. Nobody differs any more, and it stays decided.
    later = settled(work[0], judged("b", "keep"), work[2], lead, rubric=THREE, suspended="c")
    assert [verdict.by for verdict in later.verdicts] == ["lead"]
    # The record is shown otherwise: it is another task.
    changed = settle([task(text="It is 9.")], [*work, lead], THREE)
    assert changed.verdicts == ()
    assert {one.reason for one in changed.excluded} == {"earlier view"}


def test_a_correction_by_whoever_decides_is_the_records() -> None:
    work = [judged("a", "edit", text="It is 3."), judged("b", "edit", text="It is 2.")]
    (one,) = settled(*work).disagreements
    (verdict,) = settled(*work, decided(one, "lead", "edit", text="It is 4.")).verdicts
    assert (verdict.decision, verdict.changes) == ("fix", {"text": "It is 4."})


def test_what_does_not_count_as_a_decision() -> None:
    work = [judged("a", "keep"), judged("b", "reject")]
    (one,) = settled(*work).disagreements
    first, second = decided(one, "c", "keep", 10), decided(one, "c", "reject", 11)
    own, unfixed = decided(one, "a", "keep", 12), decided(one, "d", "edit", 13, text="It is 1.")
    after = settled(*work, first, second, own, unfixed)
    assert {left.by: left.reason for left in after.excluded if left.key == one.asked.key} == {
        "c": "older", "a": ADJUDICATOR_ANSWERED, "d": REFUSED,
    }  # fmt: skip
    assert [verdict.by for verdict in after.verdicts] == ["c"]

    def no_four(on: Task, given: Annotation) -> list[Finding]:
        bad = "4" in given.answers.get("text", "")
        return [Finding(name="text", problem="has a 4", rejects=True)] if bad else []

    refused = decided(one, "lead", "edit", text="It is 4.")
    broken = settled(*work, refused, check=no_four)
    assert [(left.reason, left.evidence) for left in broken.excluded] == [(REFUSED, "Text: has a 4")]
    # It goes out again with the reason and the texts; once it is decided, it is as it was.
    (again,) = broken.disagreements
    assert again.asked.id == one.asked.id
    assert "Text: has a 4" in task_data(FORM, again.asked)[NEWS]
    assert again.asked.drafts == {"text": "It is 4.", "why_decided": "It has to be."}
    mended = settled(*work, refused, decided(again, "lead", "edit", 11, text="It is 5."), check=no_four)
    assert [(verdict.by, verdict.changes) for verdict in mended.verdicts] == [("lead", {"text": "It is 5."})]
    assert [left.asked for left in mended.disagreements] == [one.asked]


def test_whoever_decides_need_not_write_the_notes_that_people_have_to() -> None:
    note = Written(name="note", title="Note", note=True, required=True)
    source = Written(name="source", title="Source", note=True, corrects=True)
    rubric = JUDGED.model_copy(update={"writes": (JUDGED.writes[0], note, source)})
    on = task().model_copy(update={"drafts": {"text": "It is 1.", "source": "A book"}})
    work = [judged("a", "keep", on, note="x"), judged("b", "reject", on, note="y")]
    (one,) = settle([on], work, rubric).disagreements
    assert [write.name for write in adjudication_of(rubric).writes] == ["text", "source", "why_decided"]
    assert one.asked.drafts == {"text": "It is 1.", "source": "A book"}
    after = settle([on], [*work, decided(one, "lead", "edit", source="Another book")], rubric)
    assert [(verdict.by, verdict.changes) for verdict in after.verdicts] == [("lead", {"source": "Another book"})]


def test_the_leads_decision_stands_whenever_somebody_else_decided() -> None:
    work = [judged("a", "keep"), judged("b", "reject")]
    (one,) = settled(*work).disagreements
    for hour, reason in ((9, OLDER), (11, LEAD_DECIDED)):
        other = decided(one, "c", "keep", hour).model_copy(update={"at": f"2026-11-02T{hour:02}:00:00Z"})
        made = settled(*work, decided(one, "lead", "reject", 10), other, lead="lead")
        assert [verdict.by for verdict in made.verdicts] == ["lead"]
        assert [(left.by, left.reason) for left in made.excluded] == [("c", reason)]
    # without a lead the last one counts, and so does that of somebody who decided before the lead was named
    last = [decided(one, "d", "reject", 10), decided(one, "c", "keep", 11)]
    assert [verdict.by for verdict in settled(*work, *last).verdicts] == ["c"]
    assert [verdict.by for verdict in settled(*work, last[1], lead="lead").verdicts] == ["c"]


def test_how_sure_decisions_are_follows_from_those_of_adjudicators_too() -> None:
    tasks = [task(number) for number in range(1, 9)]
    work = [judged(by, decision, on) for on in tasks for by, decision in (("a", "keep"), ("b", "reject"))]

    def weigh(given: Iterable[Given], known: Rights, adjudicated: Rights) -> Reliabilities | None:
        return reliabilities(given, known, JUDGED, adjudicated)

    before = settle(tasks, work, JUDGED, weigh=weigh)
    lead = [decided(one, "lead", "keep") for one in before.disagreements[:6]]
    after = settle(tasks, [*work, *lead], JUDGED, weigh=weigh)
    first, last = before.reliabilities, after.reliabilities
    assert first is not None
    assert last is not None
    assert first.people["a"].right == pytest.approx(first.people["b"].right, abs=0.05)
    assert last.people["a"].right > last.people["b"].right + 0.2
    assert last.tasks["k8"]["accept"] > 0.9, "who is right here follows from where the lead decided"
    assert all((verdict.posterior is None) == (verdict.by == "lead") for verdict in after.verdicts)
    assert sum(verdict.by == "lead" for verdict in after.verdicts) == 6


def test_a_known_answer_judges_nobody_who_did_the_task_before() -> None:
    work = [judged("a", "keep"), judged("b", "reject")]
    (one,) = settled(*work).disagreements
    after = settled(*work, decided(one, "lead", "reject", use=KNOWN_ANSWER))
    (gold,) = known_answers(after.disagreements, JUDGED)
    assert worked_examples(after.disagreements, JUDGED) == []
    assert (gold.id, gold.right_answers, gold.why) == (
        task().id, {"decision": "reject", "taste": "no"}, "It has to be.",
    )  # fmt: skip
    by_c = judged("c", "reject", gold, taste="no")
    assert {by: score.right for by, score in gold_scores([gold], [*work, by_c]).items()} == {"c": 2}
    again = settle([gold, task()], [*work, by_c, decided(one, "lead", "reject", use=KNOWN_ANSWER)], JUDGED)
    assert [(len(again.outcomes), again.excluded)] == [(1, ())]


def test_a_worked_example_has_the_answers_and_the_reason() -> None:
    work = [judged("a", "keep"), judged("b", "reject")]
    (one,) = settled(*work).disagreements
    after = settled(*work, decided(one, "lead", "edit", use=WORKED_EXAMPLE, text="It is <4>."))
    (example,) = worked_examples(after.disagreements, JUDGED)
    assert known_answers(after.disagreements, JUDGED) == []
    page = guideline_page(JUDGED, "# How to judge", [example])
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td></tr>", page)
    assert rows[:5] == [
        ("text", "It is 1."), ("Is it?", "edit"), ("Do you like it?", "no"), ("Text", "It is &lt;4&gt;."),
        ("Why", "It has to be."),
    ]  # fmt: skip
    assert page.index("How to judge") < page.index(EXAMPLES) < page.index(">Keys</h2>")
    assert EXAMPLES not in guideline_page(JUDGED, "# How to judge")


def test_who_may_decide_and_who_may_not_do_the_task_any_more() -> None:
    work = [judged("a", "keep"), judged("b", "reject")]
    (one,) = settled(*work).disagreements
    assert may_decide(one, None, "abcd") == {"c", "d"}
    assert may_decide(one, "lead", "abcd") == {"lead"}
    assert may_decide(one, "a", "bcd") == {"c", "d"}, "a lead who did the task does not decide it"
    (closed,) = settled(*work, decided(one, "d", "keep", use=KNOWN_ANSWER)).disagreements
    assert may_decide(closed, "lead", "abcd") == {"d"}
    (gold,) = known_answers([closed], JUDGED)
    held = {"a": ["k1"], "b": ["k1"], "c": [gold.key]}
    assert who_knows([closed], [gold], {"d": [one.asked.key]}, held) == {"k1": {"c", "d"}, gold.key: {"a", "b", "d"}}
