"""Who gets which task.

Everybody has a queue of their own. What somebody holds stays with them; what is open goes to whoever has
least. All choices are seeded by the tasks' keys and the people's codes, so that neither the order in which
they come nor the time at which work was pulled changes anything.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random

from pydantic import Field

from schemas.base import Frozen, content_hash
from schemas.rubric import Rubric, Task

NO_MORE_PEOPLE = "there are no more people for it"
NO_MORE_KNOWN = "no more tasks with a known answer are there"


class Lack(Frozen):
    """What cannot be given: of a task, people; or of a person, tasks with a known answer."""

    key: str = Field("", description="The task's")
    by: str = Field("", description="The person's code")
    wanted: int
    given: int
    reason: str


class Assignment(Frozen):
    """Who has which tasks. What somebody holds and does not find here is to be taken back."""

    queues: Mapping[str, tuple[Task, ...]] = Field(description="By person's code, what to hand out, in its order")
    later: Mapping[str, tuple[Task, ...]] = Field(description="What is theirs once they have passed the practice set")
    lacking: tuple[Lack, ...]

    @property
    def statement(self) -> tuple[str, ...]:
        """What cannot be given, a line for each kind of lack."""
        tasks = Counter((one.wanted, one.given, one.reason) for one in self.lacking if one.key)
        known = [one for one in self.lacking if one.by]
        return (
            *(
                f"tasks that are to go to {wanted} {_people(wanted)} and go to {given}: {number}, for {reason}"
                for (wanted, given, reason), number in sorted(tasks.items())
            ),
            *(
                f"{one.by} gets {one.given} of {one.wanted} tasks with a known answer, for {one.reason}"
                for one in known
            ),
        )


def _people(number: int) -> str:
    return "person" if number == 1 else "people"


def overlapping(
    tasks: Iterable[Task],
    rubric: Rubric,
    overlap_first: int,
    seed: int,
    held: Mapping[str, Collection[str]] | None = None,
    drafted: Collection[str] = (),
) -> frozenset[str]:
    """Keys of the tasks that one person more gets, to see how far people agree: they go out without suggestions.

    They are the first in a seeded order, of a rubric that overlaps; those that went to one person more
    before stay among them. `drafted` names tasks that somebody already has with suggestions: people who
    all mended one draft agree with the draft.
    """
    if not rubric.overlaps:
        return frozenset()
    people: Counter[str] = Counter(key for keys in (held or {}).values() for key in set(keys))
    keys = {task.key for task in tasks if not task.known}
    before = {key for key in keys if people[key] > rubric.people_per_item}
    others = sorted(keys.difference(before, drafted), key=lambda key: _place(seed, key))
    return frozenset([*before, *others[: max(0, overlap_first - len(before))]])


def without_suggestions(task: Task, rubric: Rubric) -> Task:
    """The task as it goes out to several people: only the record's own texts stand in the boxes."""
    drafts = {name: text for name, text in task.drafts.items() if name not in task.suggested}
    return task.model_copy(update={"drafts": drafts, "suggested": ()})


def seat(seed: int, key: str, by: str) -> str:
    """Sorts the people of a task: whose version of it comes first."""
    return content_hash(seed, "seat", key, by)


def assign(
    tasks: Iterable[Task],
    people: Iterable[str],
    rubric: Rubric,
    seed: int,
    *,
    known: Iterable[Task] = (),
    held: Mapping[str, Collection[str]] | None = None,
    overlap: Collection[str] = (),
    barred: Mapping[str, Collection[str]] | None = None,
    aside: Collection[str] = (),
    practice: Sequence[Task] = (),
    passed: Collection[str] = (),
) -> Assignment:
    """Who has which tasks, new and old.

    Each task goes to `rubric.people_per_item` people, those whose keys `overlap` names (see `overlapping`)
    to one more. `held` are the keys of what each person has, done or not: it stays, and counts for the load.
    New tasks go to whoever has fewest, so that loads differ by at most one where nobody holds anything and
    nobody is barred. `barred` names, by task, the people who may not have it: the author of what is reviewed.
    People set `aside` get nothing, and what they had, judged or not, goes to others.

    Of the `known` tasks each person gets the rubric's share, at seeded places among the new ones. Who holds
    no task yet and has not `passed` the `practice` gets that, and the rest `later`.
    """
    held, barred = held or {}, barred or {}
    by_key = {task.key: task for task in tasks if not task.known}
    order = sorted(by_key, key=lambda key: (key not in overlap, _place(seed, key)))
    there = sorted(set(people).difference(aside))
    old = {by: set(held.get(by, ())) for by in there}
    mine: dict[str, list[str]] = {
        by: [key for key in order if key in old[by] and by not in barred.get(key, ())] for by in there
    }
    holders = defaultdict(set)
    for by, keys in mine.items():
        for key in keys:
            holders[key].add(by)
    new: dict[str, list[str]] = defaultdict(list)
    lacking = []
    for key in order:
        wanted = rubric.people_per_item + (key in overlap)
        able = [by for by in there if by not in holders[key] and by not in barred.get(key, ())]
        able.sort(key=lambda by, key=key: (len(mine[by]) + len(new[by]), seat(seed, key, by)))  # type: ignore[misc]
        given = able[: max(0, wanted - len(holders[key]))]
        for by in given:
            new[by].append(key)
        if (number := len(holders[key]) + len(given)) < wanted:
            lacking.append(Lack(key=key, wanted=wanted, given=number, reason=NO_MORE_PEOPLE))
    checks = {task.key: task for task in known}
    queues, later = {}, {}
    for by in there:
        in_turn = sorted((seat(seed, key, by), key) for key in checks)
        seen = [key for _, key in in_turn if key in old[by]]
        unseen = [key for _, key in in_turn if key not in old[by]]
        wanted = known_wanted(len(mine[by]) + len(new[by]), rubric)
        fresh = unseen[: max(0, wanted - len(seen))]
        if len(seen) + len(fresh) < wanted:
            lacking.append(Lack(by=by, wanted=wanted, given=len(seen) + len(fresh), reason=NO_MORE_KNOWN))
        first = _mixed([by_key[key] for key in mine[by]], [checks[key] for key in seen], seed, by)
        rest = _mixed([by_key[key] for key in new[by]], [checks[key] for key in fresh], seed, by)
        waits = not first and by not in passed and bool(practice)
        learnt = [task for task in practice if waits or by in passed or task.key in old[by]]
        queues[by] = (*learnt, *(() if waits else (*first, *rest)))
        later[by] = tuple(rest) if waits else ()
    return Assignment(queues=queues, later=later, lacking=tuple(lacking))


def known_wanted(tasks: int, rubric: Rubric) -> int:
    """How many tasks with known answers make up the rubric's share beside so many others; one, where any is asked."""
    share = rubric.validation_share
    return max(1, round(tasks * share / (1 - share))) if share and tasks else 0


def _mixed(tasks: Sequence[Task], checks: Sequence[Task], seed: int, by: str) -> list[Task]:
    """The tasks in their order, with those whose answer is known among them at places that tell nothing."""
    random = Random(content_hash(seed, "validation", by, sorted(task.key for task in (*tasks, *checks))))
    places = set(random.sample(range(len(tasks) + len(checks)), len(checks)))
    rest, known = iter(tasks), iter(checks)
    return [next(known if place in places else rest) for place in range(len(tasks) + len(checks))]


def _place(seed: int, key: str) -> str:
    return content_hash(seed, "order", key)
