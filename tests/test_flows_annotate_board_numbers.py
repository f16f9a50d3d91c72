"""The board's numbers, against small cases worked by hand."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from annotation.agreement import SharedWork
from annotation.measures import share_interval
from annotation.review import COMMENT, decision_name, review_of, revision_of
from flows.annotate.board.forecast import DAYS, LEAST_DAYS, Forecast, Load, forecast
from flows.annotate.board.numbers import Line, RubricNumbers, rubric_numbers, task_links
from flows.annotate.board.outliers import (
    LEAST,
    disagreeing,
    share,
    unusual_people,
    unusual_submissions,
    unvarying,
)
from flows.annotate.progress import OnServer, progress_on
from flows.annotate.work import last_pull
from schemas.annotation import Annotation
from tests.team import BENCHMARK, URL, Team, words
from tests.toy import WORDS

TODAY = date(2026, 11, 26)
NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


def done(by: str, minutes: Iterable[float], answers: str = "") -> list[Annotation]:
    """A person's works, each of these minutes; `yyn` are the answers."""
    return [
        Annotation(
            task=f"t{number}", by=by, rubric="toy-words", seconds=taken * 60, source=f"{by}{number}",
            answers={"decision": {"y": "yes", "n": "no"}[answers[number]]} if answers else {},
        )
        for number, taken in enumerate(minutes)
    ]  # fmt: skip


# ---- shares ----


def test_wilson_s_interval_worked_by_hand() -> None:
    # z^2 = 3.8415; (0.9 + 3.8415/20 -+ 1.96 sqrt(0.09/10 + 3.8415/400)) / 1.38415 = (1.09207 -+ 0.26735) / 1.38415
    assert share_interval(0.9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-3)
    low, high = share_interval(1.0, 10)
    assert (low, high) == pytest.approx((0.7225, 1.0), abs=1e-4), "ten alike prove nothing for certain"


def test_a_share_of_too_few_has_no_interval() -> None:
    assert share(0, 0) is None
    told = share(3, LEAST - 1)
    assert told is not None
    assert (told.value, told.number, told.low, told.high) == (3 / 9, 9, None, None)
    assert share(5, LEAST) is not None


# ---- outliers ----


def test_a_person_twice_as_fast_as_two_others_stands_out() -> None:
    works = {"a": done("a", [1.0] * 10), "b": done("b", [2.0] * 10), "c": done("c", [2.2] * 10)}
    assert unusual_people(works, WORDS) == {"a": ["faster than the others: median 1.0 minutes, the others 2.1"]}
    slow = {**works, "a": done("a", [4.2] * 10)}
    assert unusual_people(slow, WORDS) == {"a": ["slower than the others: median 4.2 minutes, the others 2.1"]}
    hasty = {**works, "a": done("a", [0.04] * 10)}
    assert unusual_people(hasty, WORDS)["a"] == ["faster than the others: median under 0.1 minutes, the others 2.1"]


def test_of_two_people_or_few_items_no_speed_stands_out() -> None:
    assert unusual_people({"a": done("a", [1.0] * 10), "b": done("b", [9.0] * 10)}, WORDS) == {}
    few = {"a": done("a", [1.0] * 9), "b": done("b", [9.0] * 10), "c": done("c", [9.0] * 10)}
    assert unusual_people(few, WORDS) == {}


def test_one_answer_throughout_stands_out_if_the_others_would_hardly_give_it() -> None:
    # others say yes to half: 0.5^10 = 0.00098, under 1 in 1,000; 0.5^9 would not be
    works = {"a": done("a", [1] * 10, "y" * 10), "b": done("b", [1] * 10, "yn" * 5)}
    assert unusual_people(works, WORDS) == {"a": ["always answers “yes” to decision, 10 times; the others in 50%"]}
    alike = {"a": done("a", [1] * 10, "y" * 10), "b": done("b", [1] * 10, "yyyyyynyyy")}
    assert unusual_people(alike, WORDS) == {}


def test_forms_that_were_left_open_are_counted_and_short_ones_named() -> None:
    works = done("a", [*([2.0] * 10), 30.0, 0.1, 0.2])
    assert unusual_people({"a": works, "b": done("b", [30, 40, 50])}, WORDS) == {
        "b": ["3 forms open for 30 minutes or more"]
    }
    # a tenth of the median of 2 minutes is 12 seconds: 6 are less, 12 are not
    assert [(work.source, why) for work, why in unusual_submissions(works)] == [
        ("a11", "6 seconds"), ("a10", "open for 30 minutes"),
    ]  # fmt: skip


def shared(by: str, agreed: int, items: int) -> list[SharedWork]:
    return [SharedWork(f"t{n}", by, "2026-11-20T10:00:00Z", int(n < agreed), 1) for n in range(items)]


def test_agreement_below_the_others_interval_stands_out() -> None:
    # 4 of 20: 8 % to 42 %; 57 of 60: 86 % to 98 %
    assert disagreeing([*shared("a", 4, 20), *shared("b", 28, 30), *shared("c", 29, 30)]) == {
        "a": "agrees less than the others: 20%, the others 95%"
    }
    assert disagreeing([*shared("a", 0, 9), *shared("b", 28, 30), *shared("c", 29, 30)]) == {}, "too few to say"
    assert disagreeing([*shared("a", 15, 20), *shared("b", 15, 20)]) == {}


def test_more_suggestions_left_unchanged_than_the_others_stand_out() -> None:
    assert unvarying({"a": (19, 20), "b": (5, 20), "c": (0, 0)}) == {
        "a": "leaves more suggestions unchanged: 95%, the others 25%"
    }


# ---- the forecast ----


def steady(**minutes: float) -> dict[str, dict[date, float]]:
    """So many minutes on each of the last days."""
    return {by: {TODAY - timedelta(days=back): value for back in range(1, DAYS + 1)} for by, value in minutes.items()}


def expected(*loads: Load, daily: dict[str, dict[date, float]], times: Any = None) -> Forecast:
    times = {("w", "a"): [10.0] * 20, ("w", "b"): [10.0] * 20} if times is None else times
    return forecast(loads, times, daily, TODAY, 1)


def test_a_queue_takes_its_minutes_at_its_owner_s_pace() -> None:
    # 30 items of 10 minutes at 60 minutes a day
    told = expected(Load("w", "a", 30), daily=steady(a=60.0))
    assert told.hours == (5.0, 5.0, 5.0)
    assert told.days == (5.0, 5.0, 5.0)
    assert (told.items, told.last, told.stalled) == (30, "", {})
    assert told.why == "rests on the last 40 items and on 14 days with work of the last 14"


def test_what_nobody_has_yet_goes_to_whoever_has_time() -> None:
    # 300 + 60 + 360 minutes at 120 a day: 6 days, more than the 5 of the longer queue
    told = expected(Load("w", "a", 30), Load("w", "b", 6), Load("w", "", 36), daily=steady(a=60.0, b=60.0))
    assert told.days == (6.0, 6.0, 6.0)
    # 600 minutes wait for a alone: 10 days; together they would need (600 + 60) / 120
    alone = expected(Load("w", "a", 60), Load("w", "b", 6), daily=steady(a=60.0, b=60.0))
    assert (alone.days, alone.shared_out, alone.last) == ((10.0,) * 3, (5.5,) * 3, "a")


def test_the_queue_of_somebody_who_does_nothing_is_named_and_left_out() -> None:
    old = {"b": {TODAY - timedelta(days=DAYS + 1): 60.0}}
    told = expected(Load("w", "a", 6), Load("w", "b", 7), daily={**steady(a=60.0), **old})
    assert (told.days, dict(told.stalled), told.items) == ((1.0,) * 3, {"b": 7}, 13)


def test_loads_that_are_alike_are_all_counted() -> None:
    # twice 6 items of 10 minutes that nobody has yet, and 6 of a's: 3 hours
    told = expected(Load("w", "a", 6), Load("w", "", 6), Load("w", "", 6), daily=steady(a=60.0))
    assert (told.items, told.hours, told.days) == (18, (3.0,) * 3, (3.0,) * 3)


def test_who_began_today_is_at_work_and_who_has_not_begun_is_not_late_in_the_first_days() -> None:
    loads = (Load("w", "a", 6), Load("w", "b", 7), Load("w", "c", 8))
    old, today = {TODAY - timedelta(days=DAYS + 1): 60.0}, {TODAY: 60.0}
    assert dict(expected(*loads, daily={"a": today, "b": old}).stalled) == {"b": 7}
    assert dict(expected(*loads, daily={**steady(a=60.0), "b": today}).stalled) == {"c": 8}


def test_too_little_work_is_too_early_to_say() -> None:
    early = expected(Load("w", "a", 6), daily=steady(a=60.0), times={("w", "a"): [10.0] * 9})
    assert (early.hours, early.days, early.why) == (None, None, "too early to say: 9 items done, 10 needed")
    young = {"a": {TODAY - timedelta(days=back): 60.0 for back in range(LEAST_DAYS)}}  # one of them is today
    told = expected(Load("w", "a", 6), daily=young)
    assert (told.hours, told.days) == ((1.0,) * 3, None)
    assert told.why == "too early to name a day: work on 2 whole days, 3 needed"
    assert expected(daily=steady(a=60.0)).items == 0


def test_uneven_days_widen_the_interval_and_the_same_seed_gives_the_same() -> None:
    uneven = {"a": {TODAY - timedelta(days=back): 120.0 for back in range(1, DAYS, 2)}}
    told = expected(Load("w", "a", 30), daily=uneven)
    assert told == expected(Load("w", "a", 30), daily=uneven)
    assert told.days is not None
    # the person began 13 days ago, and worked on 7 of them
    assert told.days.value == pytest.approx(300 / (120 * 7 / 13))
    assert told.days.low < told.days.value < told.days.high


# ---- a rubric, with a server and a review ----


def numbers(team: Team, server: bool = True) -> RubricNumbers:
    team.pull()
    (collected,) = last_pull(team.project)
    at: Any = None
    if server:
        at = OnServer(team.server, BENCHMARK)  # type: ignore[arg-type]
    lines = progress_on(team.project, at, [collected])
    link = task_links(at, BENCHMARK)
    return rubric_numbers(collected, collected.agreement(1, 0), lines, at, link, TODAY, 1)


def line_of(told: RubricNumbers, by: str, form: str = "work") -> Line:
    (found,) = [line for line in told.lines if (line.progress.by, line.progress.form) == (by, form)]
    return found


def test_what_waits_and_what_came_back_is_counted_and_linked(tmp_path: Path) -> None:
    team = Team(tmp_path, words(4), ["a1", "a2"], review=True)
    yes = {"decision": "yes", "upper": "UP"}
    first, second, third, last = team.tasks
    for number, task in enumerate((first, second, third)):
        team.do(task, "a1", NOON - timedelta(days=number), 60 * (number + 1), yes)
    team.give(last, "a2", submitted=True)
    review = review_of(WORDS)
    team.pull()
    (collected,) = last_pull(team.project)
    asked = [task for task, _ in collected.settlement.reviews]
    decided = {decision_name("upper"): "reject", "upper": "UP", COMMENT: "No."}
    team.do(asked[0], "a2", NOON, 30, decided)
    team.do(asked[1], "a2", NOON, 30, {**decided, decision_name("upper"): "accept"})
    team.give(asked[2], "a2", submitted=False)
    team.pull()
    (collected,) = last_pull(team.project)
    ((revised, author),) = collected.settlement.revisions
    team.give(revised, author, submitted=False)

    told = numbers(team)
    a1 = line_of(told, "a1")
    assert (a1.progress.done, a1.waiting, a1.back, a1.progress.returned, a1.progress.rejected) == (3, 1, 1, 2, 0.5)
    assert [(point.value, point.items) for point in a1.days] == [(3.0, 1), (2.0, 1), (1.0, 1)]
    assert (a1.progress.minutes, a1.progress.slow_minutes) == (2.0, 2.8)
    assert line_of(told, "a2").progress.to_pull == 1
    assert dict(told.states) == {"back": 1, "decided": 1, "waiting": 2}
    places = {name: number for number, name in enumerate(team.server.rows, 1)}
    urls = {look.kind: look.url for look in told.looks}
    of_reviews = places[f"{BENCHMARK}/{review.name}@{review.version}/a2"]
    of_revisions = places[f"{BENCHMARK}/{revision_of(WORDS).name}@1/a1"]
    number = team.server.rows[f"{BENCHMARK}/{review.name}@{review.version}/a2"][2]["id"]
    assert urls["reviews"] == f"{URL}/projects/{of_reviews}/data?task={number}"
    assert urls["returned"].startswith(f"{URL}/projects/{of_revisions}/data?task=")
    # left: a revision and a review in queues, and the review of that revision; two reviews are too few for a share, so
    # that the one that came back counts as one of ten: of the two still to be judged, 2/9 are revised and judged again
    assert told.forecast.items == pytest.approx(1 + 1 + 1 + 2 * 2 / 9)


def test_what_waits_comes_oldest_first_with_its_age(tmp_path: Path) -> None:
    team = Team(tmp_path, words(6), ["a1", "a2"], review=True)
    yes = {"decision": "yes", "upper": "UP"}
    for task, days in zip(team.tasks, (2, 9, 0, 5, 7, 8), strict=True):
        team.do(task, "a1", NOON + timedelta(days=1 - days), 60, yes)
    team.pull()
    (collected,) = last_pull(team.project)
    submitted = {work.task: work.at for work in team.done}
    rejects = {decision_name("upper"): "reject", "upper": "UP", COMMENT: "No."}
    # the two oldest, sent back 3 days and 1 day ago
    by_age = sorted(collected.settlement.reviews, key=lambda follow: submitted[of_item(team, follow.task.item_key)])
    for (review, _), days in zip(by_age, (1, 3), strict=False):
        team.do(review, "a2", NOON + timedelta(days=1 - days), 30, rejects)
    told = numbers(team)
    assert [look.text for look in told.looks if look.kind == "reviews"] == [
        "for 7 days", "for 5 days", "for 2 days", "since today",
    ]  # fmt: skip
    assert [look.text for look in told.looks if look.kind == "returned"] == ["for 3 days", "for 1 day"]


def of_item(team: Team, item: str) -> str:
    """The id of the task on an item."""
    return next(task.id for task in team.tasks if task.item_key == item)


def test_whoever_decides_does_not_learn_from_the_board_who_said_what(tmp_path: Path) -> None:
    team = Team(tmp_path, words(12), ["a1", "a2", "lea"], per_item=2)
    for task in team.tasks:
        for by, says in (("a1", "yes"), ("a2", "no")):
            team.do(task, by, NOON, 60, {"decision": says, "upper": task.drafts["upper"]})
    told = [look for look in numbers(team).looks if look.kind == "differ"]
    assert [look.people for look in told] == [("a1", "a2")] * 12
    (collected,) = last_pull(team.project)
    assert {one.people for one in collected.disagreements} == {("a1", "a2"), ("a2", "a1")}, "as on the tasks"
    assert {look.url for look in told} == {""}, "nobody has the task of deciding yet, and people's own tell"
    assert numbers(team).forecast.items == 12, "what nobody has decided is left"
    team.give(collected.disagreements[0].asked, "lea", submitted=False)
    assert numbers(team).forecast.items == 12
    urls = [look.url for look in numbers(team).looks if look.kind == "differ"]
    assert urls == [f"{URL}/projects/3/data?task=25", *[""] * 11]


def test_a_queue_that_nobody_has_begun_is_named_with_its_form(tmp_path: Path) -> None:
    team = Team(tmp_path, words(12), ["a1", "a2", "lea"], per_item=2)
    for number, task in enumerate(team.tasks):
        for by, says in (("a1", "yes"), ("a2", "no" if number == 0 else "yes")):
            at = NOON - timedelta(days=number % LEAST_DAYS)
            team.do(task, by, at, 60, {"decision": says, "upper": task.drafts["upper"]})
    team.pull()
    (collected,) = last_pull(team.project)
    team.give(collected.disagreements[0].asked, "lea", submitted=False)
    (idle,) = [look for look in numbers(team).looks if look.kind == "idle"]
    assert (idle.form, idle.people, idle.text) == ("deciding", ("lea",), "1 item left, not begun yet")


def test_tasks_that_nobody_has_yet_are_left_too(tmp_path: Path) -> None:
    team = Team(tmp_path, words(5), ["a1", "a2"], per_item=2)
    for task in team.tasks[:3]:
        team.give(task, "a1", submitted=False)
    # 3 tasks lack one person, 2 lack two
    assert numbers(team).forecast.items == 3 + 3 + 4


def test_agreement_is_told_by_week_where_there_is_enough(tmp_path: Path) -> None:
    team = Team(tmp_path, words(LEAST + 2), ["a1", "a2"], per_item=2)
    week_before = NOON - timedelta(days=7)
    for number, task in enumerate(team.tasks):
        at = NOON if number < LEAST else week_before
        team.do(task, "a1", at - timedelta(days=14), 60, {"decision": "yes", "upper": "X"})
        team.do(task, "a2", at, 60, {"decision": "no" if number == 0 else "yes", "upper": "X"})
    told = numbers(team)
    few, enough = told.weeks
    assert few == ("2026-W47", None, None, None, 2)
    assert (enough.label, enough.value, enough.items) == ("2026-W48", 0.9, LEAST)
    assert (enough.low, enough.high) == share_interval(0.9, LEAST)
    assert [week.label for week in line_of(told, "a1").weeks] == ["2026-W45", "2026-W46"]
    own = line_of(told, "a1").agreement
    assert own is not None
    assert own.value == line_of(told, "a1").progress.agreement == pytest.approx(11 / 12)


def test_without_a_server_what_was_pulled_is_told_and_no_forecast(tmp_path: Path) -> None:
    team = Team(tmp_path, words(3), ["a1", "a2"])
    team.do(team.tasks[0], "a1", NOON, 60, {"decision": "yes", "upper": "X"}, "Which word?")
    told = numbers(team, server=False)
    assert (line_of(told, "a1").progress.done, line_of(told, "a1").progress.url) == (1, "")
    assert told.forecast.why == "the server was not reached yet, so nobody knows what is left"
    assert [(look.kind, look.text, look.url) for look in told.looks] == [("questions", "Which word?", "")]
