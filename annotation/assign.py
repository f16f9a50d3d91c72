"""Assign tasks to people.

Each person has a queue. A task stays with whoever holds it; an open task goes to whoever has the fewest. All choices
are seeded by the tasks' keys and the people's codes, so neither the order of arrival nor the time of a pull changes
anything.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from pydantic import Field

from schemas.base import Frozen, content_hash, counted
from schemas.rubric import Rubric, Task

AT_ONCE = 20
"""By value, a person gets further tasks up to this many open ones: what others do may make the rest superfluous."""


class Further(NamedTuple):
    """Tasks that are worth another person's decision."""

    worth: Mapping[tuple[str, str], float]
    """By (task's key, person), how much the person's decision is worth."""
    done: Mapping[str, Collection[str]]
    """By person, the keys of the tasks that they have done."""


class Shortage(Frozen):
    """A task that lacks people, or a person who lacks gold tasks."""

    key: str = Field("", description="The task's key, or empty")
    by: str = Field("", description="The person's code, or empty")
    wanted: int
    assigned: int


class Assignment(Frozen):
    """Each person's tasks. A task that a person holds but that is not listed here is to be withdrawn."""

    queues: Mapping[str, tuple[Task, ...]] = Field(description="By person's code, the tasks to push, in order")
    later: Mapping[str, tuple[Task, ...]] = Field(description="The tasks a person gets after the practice set")
    shortages: tuple[Shortage, ...]

    @property
    def messages(self) -> tuple[str, ...]:
        """A line for each kind of shortage."""
        lacking_people = Counter((short.wanted, short.assigned) for short in self.shortages if short.key)
        return (
            *(
                f"tasks that need {counted(wanted, 'person', 'people')} and have {assigned}: {number}; "
                "nobody else can take them; name more people in annotation.people (in a study, raise its most_people), "
                "then push again"
                for (wanted, assigned), number in sorted(lacking_people.items())
            ),
            *(
                f"{short.by} gets {short.assigned} of {short.wanted} gold tasks; there are no more"
                for short in self.shortages
                if short.by
            ),
        )


def overlapping(
    tasks: Iterable[Task],
    rubric: Rubric,
    overlap_first: int,
    seed: int,
    held: Mapping[str, Collection[str]] | None = None,
    drafted: Collection[str] = (),
) -> frozenset[str]:
    """Return the keys of the tasks that go to one more person, without suggestions, to measure agreement.

    They are the first in a seeded order; tasks that already went to one more person stay among them. Tasks in
    `drafted`, which somebody holds with suggestions, are left out: people who edit the same draft agree with the draft.
    """
    if not rubric.overlaps:
        return frozenset()
    people: Counter[str] = Counter(key for keys in (held or {}).values() for key in set(keys))
    keys = {task.key for task in tasks if not task.right_answers}
    before = {key for key in keys if people[key] > rubric.people_per_item}
    others = sorted(keys.difference(before, drafted), key=lambda key: _place(seed, key))
    return frozenset([*before, *others[: max(0, overlap_first - len(before))]])


def fixed_number(rubric: Rubric) -> int:
    """Return how many people do a task on which agreement is measured."""
    return rubric.people_per_item + rubric.overlaps


def drawn(tasks: Iterable[Task], rubric: Rubric, overlap_first: int, seed: int) -> frozenset[str]:
    """Return the keys of the tasks that go to a fixed number of people where others go out by value.

    They are the first in a seeded order, whatever people decide: agreement on the others would be that on difficult
    tasks.
    """
    keys = sorted((task.key for task in tasks if not task.right_answers), key=lambda key: _place(seed, key))
    return frozenset(keys[:overlap_first] if fixed_number(rubric) > 1 else ())


def without_suggestions(task: Task) -> Task:
    """Return the task with only the record's own texts in the boxes."""
    drafts = {name: text for name, text in task.drafts.items() if name not in task.suggested}
    return task.model_copy(update={"drafts": drafts, "suggested": ()})


def seat(seed: int, key: str, by: str) -> str:
    """Return the sort key that orders the people of a task."""
    return content_hash(seed, "seat", key, by)


def assign(
    tasks: Iterable[Task],
    people: Iterable[str],
    rubric: Rubric,
    seed: int,
    *,
    gold: Iterable[Task] = (),
    held: Mapping[str, Collection[str]] | None = None,
    overlap: Collection[str] = (),
    barred: Mapping[str, Collection[str]] | None = None,
    suspended: Collection[str] = (),
    practice: Sequence[Task] = (),
    passed: Collection[str] = (),
    further: Further | None = None,
    most_new: int | None = None,
) -> Assignment:
    """Assign tasks, old and new.

    Each task goes to `rubric.people_per_item` people, and to one more if its key is in `overlap` (see `overlapping`).
    `held` has the keys of each person's tasks, done or not: they stay, and count for the load. New tasks go to whoever
    has the fewest, so loads differ by at most one where nobody holds anything and nobody is barred. `barred` has, by
    task, the people who may not have it, such as the author of what is reviewed. People who are `suspended` get
    nothing, and their tasks go to others.

    By value, if there is `further`, each task that is not in `overlap` goes to one person, and each of the `further`
    ones to one more, where it is worth most first. With `most_new`, nobody gets more new ones, beside gold tasks.

    Each person gets the rubric's share of `gold` tasks, at seeded places among the new ones, and none that shows what
    another task of theirs does. A person who holds no task yet and has not `passed` the `practice` gets only that, and
    the rest `later`.
    """
    barred = barred or {}
    by_key = {task.key: task for task in tasks if not task.right_answers}
    order = sorted(by_key, key=lambda key: (key not in overlap, _place(seed, key)))
    active = sorted(set(people).difference(suspended))
    holding = {by: set((held or {}).get(by, ())) for by in active}
    kept = {by: [key for key in order if key in holding[by] and by not in barred.get(key, ())] for by in active}
    usual = rubric.people_per_item if further is None else 1
    wanted = {key: fixed_number(rubric) if key in overlap else usual for key in order}
    new, shortages = _distribute(wanted, kept, barred, seed, most_new, further)
    gold_by_key = {task.key: task for task in gold}
    queues, later = {}, {}
    for by in active:
        turn = sorted(gold_by_key, key=lambda key, by=by: (seat(seed, key, by), key))  # type: ignore[misc]
        seen = [gold_by_key[key] for key in turn if key in holding[by]]
        asked = {by_key[key].id for key in (*kept[by], *new[by])}
        may_have = [key for key in turn if by not in barred.get(key, ()) and gold_by_key[key].id not in asked]
        unseen = [gold_by_key[key] for key in may_have if key not in holding[by]]
        gold_count = gold_wanted(len(kept[by]) + len(new[by]), rubric)
        fresh = unseen[: max(0, gold_count - len(seen))]
        if len(seen) + len(fresh) < gold_count:
            shortages.append(Shortage(by=by, wanted=gold_count, assigned=len(seen) + len(fresh)))
        first = _mixed([by_key[key] for key in kept[by]], seen, seed, by)
        rest = _mixed([by_key[key] for key in new[by]], fresh, seed, by)
        waits = bool(practice) and not first and by not in passed
        practised = [task for task in practice if waits or by in passed or task.key in holding[by]]
        queues[by] = (*practised, *first, *(() if waits else rest))
        later[by] = tuple(rest) if waits else ()
    return Assignment(queues=queues, later=later, shortages=tuple(shortages))


def _distribute(
    wanted: Mapping[str, int],
    kept: Mapping[str, Sequence[str]],
    barred: Mapping[str, Collection[str]],
    seed: int,
    most: int | None,
    further: Further | None,
) -> tuple[dict[str, list[str]], list[Shortage]]:
    """Return the keys of each person's new tasks, and the tasks that lack people.

    `wanted` has the number of people of each task, in the order of assignment; `kept` the tasks that each person keeps.
    """
    holders: dict[str, set[str]] = defaultdict(set)
    for by, keys in kept.items():
        for key in keys:
            holders[key].add(by)
    new: dict[str, list[str]] = {by: [] for by in kept}
    shortages = []
    for key, number in wanted.items():
        able = [
            (len(kept[by]) + len(new[by]), seat(seed, key, by), by)
            for by in kept
            if by not in holders[key] and by not in barred.get(key, ()) and (most is None or len(new[by]) < most)
        ]
        chosen = sorted(able)[: max(0, number - len(holders[key]))]
        for _, _, by in chosen:
            new[by].append(key)
        if (assigned := len(holders[key]) + len(chosen)) < number:
            shortages.append(Shortage(key=key, wanted=number, assigned=assigned))
    if further is not None:
        shortages += _add_further(further, kept, new, barred, seed, most)
    return new, shortages


def _add_further(
    further: Further,
    kept: Mapping[str, Sequence[str]],
    new: Mapping[str, list[str]],
    barred: Mapping[str, Collection[str]],
    seed: int,
    most: int | None,
) -> list[Shortage]:
    """Add the further tasks to people's `new` ones, up to `AT_ONCE` open ones each; the others wait.

    Return those that everybody is barred from who has not done them.
    """
    room = {by: AT_ONCE - len(new[by]) - len(set(kept[by]).difference(further.done.get(by, ()))) for by in new}
    if most is not None:
        room = {by: min(free, most - len(new[by])) for by, free in room.items()}
    able = {(key, by): worth for (key, by), worth in further.worth.items() if by not in barred.get(key, ())}
    given: set[str] = set()
    for key, by in sorted(able, key=lambda pair: (-able[pair], seat(seed, *pair))):
        if key not in given and room.get(by, 0) > 0:
            given.add(key)
            room[by] -= 1
            new[by].append(key)
    done = Counter(key for keys in further.done.values() for key in keys)
    stuck = sorted({key for key, _ in further.worth}.difference(key for key, _ in able))
    return [Shortage(key=key, wanted=done[key] + 1, assigned=done[key]) for key in stuck]


def gold_wanted(tasks: int, rubric: Rubric) -> int:
    """Return how many gold tasks go with that many tasks to make up the rubric's share; at least one if any."""
    share = rubric.validation_share
    return max(1, round(tasks * share / (1 - share))) if share and tasks else 0


def without_gold(most: int, rubric: Rubric) -> int:
    """Return how many tasks leave room for the gold tasks that go with them, with at most so many in all.

    It is at least one: known answers alone would be work for nothing.
    """
    return max(1, *(number for number in range(most + 1) if number + gold_wanted(number, rubric) <= most))


def _mixed(tasks: Sequence[Task], gold: Sequence[Task], seed: int, by: str) -> list[Task]:
    """Return the tasks in their order, with the gold tasks at seeded places among them."""
    random = Random(content_hash(seed, "validation", by, sorted(task.key for task in (*tasks, *gold))))
    places = set(random.sample(range(len(tasks) + len(gold)), len(gold)))
    rest, checks = iter(tasks), iter(gold)
    return [next(checks if place in places else rest) for place in range(len(tasks) + len(gold))]


def _place(seed: int, key: str) -> str:
    return content_hash(seed, "order", key)
