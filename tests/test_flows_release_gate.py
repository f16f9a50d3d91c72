"""The release gate: what leaves, what is held back, and why; the counts add up."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.seen import text_of
from flows.construct.engine import Part
from flows.construct.verification import Fault, VerifyContext
from flows.project.output_files import accepted_rows
from flows.project.project import Project
from flows.release.gate import Gated, check_current, gate, needs_people
from schemas.errors import Failed, WrongInput
from tests.families.saying import FAMILY
from tests.saying import build, decide

pytestmark = pytest.mark.usefixtures("saying")


def part(name: str) -> Part:
    return FAMILY.part(name)


def judged(project: Project, name: str, *, allow_unreviewed: bool = False) -> Gated:
    before: list[Gated] = []
    family = project.build.families["saying"].family
    for one in family.parts:
        if one.released is not None:
            before.append(gate(project, family, one, before, allow_unreviewed=allow_unreviewed))
            if one.name == name:
                return before[-1]
    raise AssertionError(name)


def test_which_parts_need_people_for_every_row() -> None:
    assert not needs_people(FAMILY, part("lines"))  # they see a sample
    assert not needs_people(FAMILY, part("shadows"))
    assert needs_people(FAMILY, part("words"))
    assert needs_people(FAMILY, part("echoes"))  # made of words
    assert [one.name for one in FAMILY.with_makers(["echoes"])] == ["words", "echoes"]


def test_of_a_sampled_part_all_rows_leave_but_those_that_the_sample_rejected(tmp_path: Path) -> None:
    project = build(tmp_path)
    assert judged(project, "lines").reasons == {}
    decide(project, "lines", {"one": "accept", "two": "reject"})
    gated = judged(build(tmp_path), "lines")
    assert gated.decisions == {None: 1, "accept": 1}  # nobody saw the third
    assert gated.reasons == {"rejected by people": 1}
    assert [rejected.record.text for rejected in gated.rejected] == ["two"]  # type: ignore[attr-defined]


def test_what_people_have_to_accept_row_by_row_waits_for_them(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave", "calm", "dull"])
    gated = judged(project, "echoes")
    assert gated.decisions == {}
    assert gated.reasons == {"not reviewed yet": 6}
    decide(project, "words", {"brave": "accept", "calm": "CALMLY", "dull": "reject"})
    gated = judged(build(tmp_path, words=["brave", "calm", "dull"]), "echoes")
    # Reviewed through the word each is made of: accepted, and corrected; of the rejected one nothing is made.
    assert gated.decisions == {"accept": 2, "fix": 2}
    assert gated.reasons == {}


def test_unreviewed_rows_leave_with_a_stamp_where_that_is_asked_for(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave", "calm"])
    decide(project, "words", {"brave": "accept"})
    gated = judged(build(tmp_path, words=["brave", "calm"]), "echoes", allow_unreviewed=True)
    assert gated.decisions == {"accept": 2, "unreviewed_allowed": 2}


def test_a_faulty_row_is_held_back_and_what_is_made_of_it(tmp_path: Path) -> None:
    project = build(tmp_path, ["one", "a typo here", "three"])
    lines = judged(project, "lines")
    assert lines.reasons == {"a fault that the verifier found": 1}
    assert lines.decisions == {None: 2}
    assert len(lines.faults) == 1
    assert lines.faults[0].endswith("the capitals are not those of the text")
    shadows = judged(project, "shadows")
    assert shadows.reasons == {"made of a row that is held back": 1}
    assert shadows.decisions == {None: 2}


def with_fault_in(project: Project, name: Callable[[Any], str | None]) -> Gated:
    """The echoes at the gate, where the verifier finds faults in what `name` names of a row."""

    def verify(rows: Iterable[Any], ctx: VerifyContext) -> Iterator[Fault]:
        for row in rows:
            if (faulty := name(row)) is not None:
                yield Fault(id=faulty, problem="wrong")

    echoes = replace(part("echoes"), verify=verify)
    family = replace(FAMILY, parts=tuple(echoes if each.name == "echoes" else each for each in FAMILY.parts))
    return gate(project, family, echoes, allow_unreviewed=True)


def test_a_fault_is_that_of_a_row_or_of_a_group_and_nothing_beside_it_leaves(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave", "calm"])
    of_a_row = with_fault_in(project, lambda row: row.id if (row.text, row.times) == ("calm", "once") else None)
    assert of_a_row.reasons == {"a fault that the verifier found": 1, "beside a row with a fault": 1}
    assert of_a_row.decisions == {"unreviewed_allowed": 2}
    assert [judgement.held_back for judgement in of_a_row].count(None) == 2
    echoes = list(accepted_rows(project, "saying", part("echoes")))
    assert {text_of(int(number)) for number in of_a_row.ids} == {row.id for row in echoes if row.text == "calm"}
    of_a_group = with_fault_in(project, lambda row: row.text if row.echo == "BRAVE" else None)
    assert of_a_group.reasons == {"a fault that the verifier found": 2}
    with pytest.raises(Failed, match="saying-echoes: dull: wrong; this concerns no single row"):
        with_fault_in(project, lambda row: "dull")


def test_verdicts_that_came_since_the_build_are_not_passed_over(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave"])
    check_current(project)
    decide(project, "lines", {"one": "reject"})
    with pytest.raises(WrongInput, match="new verdicts on saying-lines since it was built; `touchstone run"):
        check_current(build_as_it_is(tmp_path))


def test_verdicts_on_what_rows_are_made_of_count_as_well(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave"])
    decide(project, "words", {"brave": "reject"})  # `words` is not released, `echoes` is
    with pytest.raises(WrongInput, match="new verdicts on saying-words since it was built"):
        check_current(build_as_it_is(tmp_path))


def build_as_it_is(folder: Path) -> Project:
    from flows.project.output_files import open_built

    return open_built(folder / "out")
