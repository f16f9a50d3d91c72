"""Whose work it is that a pull reads, once an account is gone."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from annotation.label_studio.sync import Submitted
from flows.annotate.hours import HOURS
from flows.annotate.pull import _read, pull
from flows.annotate.push import push
from flows.annotate.work import ANYBODY
from flows.construct.people import every
from tests.label_studio import Served
from tests.test_flows_annotate_work import ANIMALS, TWO, Bench, right
from tests.toy import WORDS

AT = "2026-01-05T09:00:00Z"


@pytest.mark.parametrize(
    ("owner", "known", "by"),
    [("a1", {}, "a1"), ("all", {}, "account 0"), ("all", {"1": "a2"}, "a2"), ("a1", {"1": "a2"}, "a2")],
)
def test_work_of_a_deleted_account_stays_that_of_who_did_it_or_of_its_queue(
    owner: str, known: Mapping[str, str], by: str
) -> None:
    # Label Studio keeps the work, and forgets who did it.
    row = {"id": 1, "completed_by": None, "created_at": AT, "updated_at": AT}
    submission = Submitted(f"toys/{WORDS.name}@1/{owner}", 1, {}, row)
    (_, (read,)) = _read({WORDS.name: WORDS}, [submission], {1: "a1"}, known)
    assert read.by == by


@pytest.mark.slow
def test_the_hours_have_people_who_left_and_whose_accounts_are_gone(label_studio: Served, tmp_path: Path) -> None:
    bench, client = Bench(label_studio, tmp_path, TWO, every(WORDS)), label_studio.client
    push(bench.project(ANIMALS[:4]), client)
    assert bench.do_all("toy-words", "a2", right) == 2
    bench.people = {}
    push(shared := bench.project(ANIMALS[:4]), client)
    for row, by in zip(bench.queue("toy-words", ANYBODY), TWO, strict=False):
        bench.hand_in(row, TWO[by], right(row["data"]))
    bench.people = TWO
    pull(bench.project(ANIMALS[:4]), client)
    before = hours(shared)
    assert before == {"a1": 1, "a2": 3}
    client._request("DELETE", f"api/users/{client.users()[TWO['a2']]}/")
    for people in ({"a1": TWO["a1"]}, {}):
        bench.people = people
        pull(bench.project(ANIMALS[:4]), client)
        assert hours(shared)["a2"] == 3
    assert sum(hours(shared).values()) == 4


def hours(project: Any) -> dict[str, int]:
    """By person, the submissions in `hours.csv`."""
    rows = list(csv.DictReader((project.out / HOURS).open(encoding="utf-8")))
    return {row["person"]: int(row["submissions"]) for row in rows}
