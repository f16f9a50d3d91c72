"""What waits for a review, or for its author to revise it, and since when."""

from collections.abc import Iterable
from datetime import UTC, date
from typing import NamedTuple

from annotation.latest import time_of
from annotation.review import derived_key
from annotation.settle import FollowUp
from flows.annotate.work import Collected
from schemas.base import counted


class Waits(NamedTuple):
    """A review, or a revision of what was sent back, that nobody has done yet; `task` is its task's id."""

    task: str
    author: str
    since: str
    """When the work was submitted, or sent back; empty if nobody knows."""


def waits(collected: Collected, follow_ups: Iterable[FollowUp]) -> list[Waits]:
    """Return those of the reviews or revisions that nobody has done, the oldest first."""
    done = {(work.rubric, work.key) for work in collected.settlement.counted}
    since = _since(collected)
    waiting = [
        Waits(task.id, author, since.get(task.key, ""))
        for task, author in follow_ups
        if (task.rubric, task.key) not in done
    ]
    return sorted(waiting, key=lambda one: (time_of(one.since), one.task))


def _since(collected: Collected) -> dict[str, str]:
    """Return, by the key of a review or revision, when the work was submitted, or sent back by its reviewer."""
    forms, works = collected.work.forms, collected.settlement.counted
    at = {work.key: work.at for work in works}
    since = {}
    for work in works:
        if work.rubric in (forms["work"].name, forms["revision"].name):
            review = derived_key(forms["review"], work.key, work.by) if "review" in forms else ""
            since[review] = work.at
            since[derived_key(forms["revision"], work.key, work.by)] = at.get(review, work.at)
    return since


def age(since: str, today: date) -> str:
    """Return for how many days (UTC) something waits; empty if nobody knows."""
    days = (today - day_of(since)).days if since else -1
    return f"for {counted(days, 'day')}" if days > 0 else "since today" if since else ""


def day_of(at: str) -> date:
    """Return the day (UTC) of an ISO 8601 time."""
    return time_of(at).astimezone(UTC).date()
