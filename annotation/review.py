"""From what people handed in to verdicts: review, what goes back to its author, and who decides.

Work takes a course. A person does a task; checks and a reviewer look at it; what is rejected goes back to
its author as a task of its own, with the texts as they were and the reviewer's comment, and takes the same
course again. Review and revision are rubrics made from the author's, so that every form, check and queue
works for them as for any other. Everything is worked out anew from all that was handed in: nothing is
remembered, and the order in which it was pulled does not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from annotation.assign import seat
from annotation.latest import ANOTHER_RUBRIC, OLDER, UNKNOWN_TASK, decision_of, latest, set_apart, time_of, unwritten
from annotation.quality import most, named, unconfirmed
from schemas.annotation import Annotation, Finding, SetAside
from schemas.base import Frozen, key_of
from schemas.rubric import Choice, Marked, Rubric, Shown, Task, Written
from schemas.verdict import Verdict

ACCEPT, FIX, REJECT = "accept", "fix", "reject"
RIGHT, WRONG = "right", "wrong"
COMMENT, WARNINGS, CHOSEN = "review_comment", "warnings", "chosen"
REVIEWER_IS_AUTHOR = "reviewer is the author"
NOTHING_FIXED = "says fix, and nothing is fixed"
ANOTHERS_REVISION = "another person's revision"
BROKEN_FIX = "the corrected text breaks a check"

Check = Callable[[Task, Annotation], Sequence[Finding]]
"""(the task as it first went out, what was handed in): what is wrong with it."""


def review_of(rubric: Rubric, guideline: str = "") -> Rubric:
    """The rubric by which the work of an authoring rubric's people is reviewed.

    It shows all that the author saw, what the author wrote, marked and chose, and what the checks warn of.
    Each part that the author wrote or marked is accepted, fixed or rejected; marked stretches are corrected
    as text, a stretch a line. The guideline is the author's where no other is named. Raises `ValueError`
    for a rubric whose people neither write nor mark.
    """
    parts = _parts(rubric)
    if not parts:
        raise ValueError(f"rubric {rubric.name}: nothing is written or marked that could be reviewed")
    return Rubric(
        name=named(rubric.name, "-review"),
        title=f"Review: {rubric.title or rubric.name}",
        version=rubric.version,
        guideline=guideline or rubric.guideline,
        shows=(
            *rubric.shows,
            Shown(name=CHOSEN, title="What the author chose and noted"),
            *(
                Shown(name=_author(part.name), title=f"{part.title}: the author's", beside=_decision(part.name))
                for part in parts
            ),
            Shown(name=WARNINGS, title="What the checks warn of"),
        ),
        listed=rubric.lists_by,
        asks=tuple(
            Choice(
                name=_decision(part.name),
                question=f"{part.title}: is it right as it stands?",
                about=part.name,
                options=(ACCEPT, FIX, REJECT),
                accepts=(ACCEPT,),
                fixes=(FIX,),
            )
            for part in parts
        ),
        writes=(
            *(
                Written(
                    name=part.name,
                    title=f"{part.title}: corrected",
                    hint="The text as it should be",
                    lines=part.lines if isinstance(part, Written) else 2,
                )
                for part in parts
            ),
            Written(
                name=COMMENT, title="Comment for the author", hint="Why, and what to do about it", note=True, lines=3
            ),
        ),
    )


def revision_of(rubric: Rubric) -> Rubric:
    """The rubric by which an author revises what was rejected: the author's, with the comment above all else."""
    return rubric.model_copy(
        update={
            "name": named(rubric.name, "-revision"),
            "title": f"Back from review: {rubric.title or rubric.name}",
            "shows": (Shown(name=COMMENT, title="Why it comes back to you"), *rubric.shows),
            "listed": rubric.lists_by,
            "people_per_item": 1,
            "overlaps": False,
            "samples": (),
            "validation_share": 0.0,
            "pass_share": 0.0,
        }
    )


def judging_of(rubric: Rubric) -> Rubric:
    """What the people of an authoring rubric practise: telling which parts of a made-up author's work are right.

    What they write themselves has no known answer; this has.
    """
    parts = _parts(rubric)
    return Rubric(
        name=named(rubric.name, "-judging"),
        title=f"Right or wrong? {rubric.title or rubric.name}",
        version=rubric.version,
        guideline=rubric.guideline,
        shows=(
            *rubric.shows,
            *(Shown(name=_author(part.name), title=part.title, beside=_decision(part.name)) for part in parts),
        ),
        asks=tuple(
            Choice(name=_decision(part.name), question=f"{part.title}: is it as it should be?", options=(RIGHT, WRONG))
            for part in parts
        ),
    )


def review_task(rubric: Rubric, review: Rubric, task: Task, work: Annotation, findings: Iterable[Finding]) -> Task:
    """What a reviewer is shown of an author's work on a task. Its key stays while the author changes the work."""
    parts = {part.name: _text(work, part, task) for part in _parts(rubric)}
    chosen = [f"{ask.question} {work.answers.get(ask.name, '')}" for ask in rubric.asks]
    chosen += [
        f"{one.title}: {work.answers[one.name]}" for one in rubric.writes if one.note and work.answers.get(one.name)
    ]
    return Task(
        key=key_of("task", review.name, task.key, {"by": work.by}),
        rubric=review.name,
        version=review.version,
        item_id=task.item_id,
        item_key=task.item_key,
        item_view=task.item_view,
        shown={
            **{one.name: task.shown[one.name] for one in rubric.shows},
            CHOSEN: "\n".join(chosen),
            **{_author(name): text for name, text in parts.items()},
            WARNINGS: "\n".join(f"{_title(rubric, one.name)}: {one.problem}" for one in findings) or "none",
        },
        drafts={name: text for name, text in parts.items() if text},
    )


def revision_task(rubric: Rubric, task: Task, work: Annotation, comment: str) -> Task:
    """What goes back to the author of rejected work on a task, itself a revision or not."""
    revision = revision_of(rubric)
    return Task(
        key=key_of("task", revision.name, task.key, {"by": work.by}),
        rubric=revision.name,
        version=revision.version,
        sample=task.sample,
        item_id=task.item_id,
        item_key=task.item_key,
        item_view=task.item_view,
        shown={COMMENT: comment, **{one.name: task.shown[one.name] for one in rubric.shows}},
        drafts={one.name: text for one in rubric.writes if (text := _text(work, one, task))},
    )


class Handed(NamedTuple):
    """A task that comes of somebody's work: to be reviewed by others, or to be revised by its author."""

    task: Task
    author: str


class Outcome(Frozen):
    """How one task stands: decided; rated, which decides nothing; waiting for people; back with its author; or apart,
    as nothing on it counts."""

    key: str = Field(description="The task's")
    state: Literal["decided", "rated", "waiting", "back", "apart"]
    reason: str = ""
    verdict: Verdict | None = None


class Settlement(Frozen):
    """How all tasks of a rubric stand. Each annotation is counted or apart; each task has one outcome."""

    outcomes: tuple[Outcome, ...]
    verdicts: tuple[Verdict, ...] = Field(description="One a record, of which every task is decided or one rejects")
    reviews: tuple[Handed, ...] = Field(description="Tasks for reviewers, done or not; the author may not have them")
    revisions: tuple[Handed, ...] = Field(description="Tasks for authors, done or not")
    counted: tuple[Annotation, ...]
    apart: tuple[SetAside, ...]
    sent_back: tuple[tuple[str, str], ...] = Field(description="(task's key, author) of each piece of rejected work")
    accepted: tuple[tuple[str, str], ...] = Field(description="(task's key, author) of what a reviewer accepted")


def settle(
    tasks: Iterable[Task],
    annotations: Iterable[Annotation],
    rubric: Rubric,
    *,
    review: Rubric | None = None,
    check: Check = lambda task, annotation: (),
    people: Collection[str] | None = None,
    aside: Collection[str] = (),
    seed: int = 0,
) -> Settlement:
    """How the tasks of a rubric stand after all that was handed in by it, its revision and its review.

    - A check's finding that rejects sends work back without a reviewer, and so does a required text that is missing;
      the other findings are shown to the reviewer.
      Suggestions handed back as they stood without a reason go back as well, and so does what says it is
      fixed where nothing is. An author who rejects the record decides that without a reviewer.
    - With a review, the record is decided by the first person's version, in the order of `seat`, that was
      accepted; other people's versions show how far they agree.
    - Without one, a record that one person is asked for is decided by the first person in that order. One
      that several are asked for is decided by what most of them say, of accept, fix and reject; with fix,
      the texts are those of the first who says so.
    - A record's texts that differ from those that stood in the boxes are changes, and make it a fix.
    - Of a rubric that decides nothing there is no verdict: a task is rated once so many people did it as it asks for.
    """
    base = {task.key: task for task in tasks}
    keys = {task.id: task.key for task in base.values()}
    pool = _Pool(
        annotations, {rubric.name, revision_of(rubric).name, *([review.name] if review else [])}, people, aside
    )
    courses = _Courses(rubric, review, check, pool)
    done: dict[str, list[_Course]] = defaultdict(list)
    for one in pool.take(base.values(), rubric):
        task = base[one.key or keys[one.task]]
        if not task.known:
            done[task.key].append(courses.follow(task, one))
    outcomes = []
    touched = {one.key for one in pool.apart}
    for key, task in sorted(base.items()):
        if not task.known:
            given = sorted(done[key], key=lambda one: seat(seed, task.key, one.by))
            outcomes.append(_outcome(task, given, rubric, review is not None, key in touched))
    pool.close()
    return Settlement(
        outcomes=tuple(outcomes),
        verdicts=tuple(_of_records(base, outcomes)),
        reviews=tuple(courses.reviews),
        revisions=tuple(courses.revisions),
        counted=tuple(pool.counted),
        apart=tuple(pool.apart),
        sent_back=tuple(courses.sent_back),
        accepted=tuple(courses.accepted),
    )


class _Pool:
    """All that was handed in, out of which each task takes what counts on it."""

    def __init__(
        self,
        annotations: Iterable[Annotation],
        rubrics: Collection[str],
        people: Collection[str] | None,
        aside: Collection[str],
    ) -> None:
        self.people, self.aside = people, aside
        self.left: dict[str, dict[str, list[Annotation]]] = {name: defaultdict(list) for name in rubrics}
        self.counted: list[Annotation] = []
        self.apart: list[SetAside] = []
        for one in annotations:
            if one.rubric in self.left:
                self.left[one.rubric][one.key or one.task].append(one)
            else:
                self.apart.append(set_apart(one, ANOTHER_RUBRIC, one.rubric))

    def take(self, tasks: Iterable[Task], rubric: Rubric, author: str | None = None) -> list[Annotation]:
        """What counts on the tasks; on a revision, of its `author` only."""
        tasks = list(tasks)
        left = self.left[rubric.name]
        given = [one for task in tasks for place in (task.key, task.id) for one in left.pop(place, ())]
        if author is not None:
            self.apart.extend(set_apart(one, ANOTHERS_REVISION, author) for one in given if one.by != author)
            given = [one for one in given if one.by == author]
        counted, apart = latest(given, tasks, rubric, self.people, self.aside)
        self.counted.extend(counted)
        self.apart.extend(apart)
        return counted

    def reviews(self, task: Task, review: Rubric, author: str) -> list[Annotation]:
        """The reviews of a task that somebody else than its author gave, the last one first."""
        left = self.left[review.name]
        given = [one for place in (task.key, task.id) for one in left.pop(place, ())]
        self.apart.extend(set_apart(one, REVIEWER_IS_AUTHOR, author, key=task.key) for one in given if one.by == author)
        counted, apart = latest((one for one in given if one.by != author), [task], review, self.people, self.aside)
        self.apart.extend(apart)
        return sorted(counted, key=lambda one: (time_of(one.at), one.by), reverse=True)

    def close(self) -> None:
        """Set apart what is on no task."""
        for left in self.left.values():
            self.apart.extend(set_apart(one, UNKNOWN_TASK, one.task) for given in left.values() for one in given)


class _Course(NamedTuple):
    """Where one person's work on a task has got to."""

    by: str
    state: Literal["done", "waiting", "back"]
    reason: str
    decision: Literal["accept", "fix", "reject"]
    work: Annotation
    comment: str = ""
    reviewer: str = ""
    at: str = ""


class _Courses:
    def __init__(self, rubric: Rubric, review: Rubric | None, check: Check, pool: _Pool) -> None:
        self.rubric, self.review, self.check, self.pool = rubric, review, check, pool
        self.revision = revision_of(rubric)
        self.reviews: list[Handed] = []
        self.revisions: list[Handed] = []
        self.sent_back: list[tuple[str, str]] = []
        self.accepted: list[tuple[str, str]] = []

    def follow(self, first: Task, work: Annotation) -> _Course:
        """One person's work on a task, through all its reviews and revisions."""
        task = first
        while True:
            course = self._judged(first, task, work)
            if course.state != "back":
                return course
            self.sent_back.append((task.key, work.by))
            task = revision_task(self.rubric, task, course.work, course.comment)
            self.revisions.append(Handed(task, work.by))
            revised = self.pool.take([task], self.revision, work.by)
            if not revised:
                return course
            work = revised[0]

    def _judged(self, first: Task, task: Task, work: Annotation) -> _Course:
        if decision_of(work.answers, self.rubric) == "reject":
            return _Course(work.by, "done", "", "reject", work, _notes(self.rubric, work), at=work.at)
        # What stands in the boxes of a revision is the author's own.
        handed = work if task is first else work.model_copy(update={"untouched": ()})
        findings = [
            *(Finding(name=name, problem="is empty", rejects=True) for name in unwritten(work, self.rubric)),
            *self.check(first, work),
            *unconfirmed(first, handed, self.rubric),
            *_nothing_fixed(first, work, self.rubric),
        ]
        if rejecting := [one for one in findings if one.rejects]:
            told = dict.fromkeys(f"{_title(self.rubric, one.name)}: {one.problem}" for one in rejecting)
            comment = "\n".join(told)
            return _Course(work.by, "back", "sent back by a check", "reject", work, comment)
        if self.review is None:
            return self._accepted(first, work, _notes(self.rubric, work))
        asked = review_task(self.rubric, self.review, task, work, findings)
        self.reviews.append(Handed(asked, work.by))
        course = None
        for given in self.pool.reviews(asked, self.review, work.by):
            if course is not None:
                self.pool.apart.append(set_apart(given, OLDER, f"a later one is of {course.at}", key=asked.key))
            elif (course := self._reviewed(first, asked, work, given)) is not None:
                self.pool.counted.append(given)
        if course is not None and course.state == "done":
            self.accepted.append((task.key, work.by))
        return course or _Course(work.by, "waiting", "to be reviewed", "reject", work)

    def _reviewed(self, first: Task, asked: Task, work: Annotation, given: Annotation) -> _Course | None:
        """What a review makes of the work; None where the review contradicts itself, and is set apart.

        A part that was accepted and yet corrected is corrected. What was fixed beside a rejected part goes
        back to the author as it was fixed.
        """
        parts = _parts(self.rubric)
        said = {part.name: given.answers[_decision(part.name)] for part in parts}
        before = {part.name: asked.drafts.get(part.name, "") for part in parts}
        texts = {name: given.answers.get(name, text).strip() for name, text in before.items()}
        changed = {name for name, text in texts.items() if said[name] != REJECT and not _alike(text, before[name])}
        comment = given.answers.get(COMMENT, "").strip()
        merged = _with_texts(work, {name: texts[name] for name in changed}, self.rubric)
        if rejected := [part.title for part in parts if said[part.name] == REJECT]:
            told = "\n".join([f"Rejected: {', '.join(rejected)}", *([comment] if comment else [])])
            return _Course(work.by, "back", "rejected by its reviewer", "reject", merged, told, given.by, given.at)
        if idle := [name for name in said if said[name] == FIX and name not in changed]:
            self.pool.apart.append(set_apart(given, NOTHING_FIXED, ", ".join(idle), key=asked.key))
            return None
        if problems := [one for one in self.check(first, merged) if one.rejects and one.name in changed]:
            told = "; ".join(f"{one.name}: {one.problem}" for one in problems)
            self.pool.apart.append(set_apart(given, BROKEN_FIX, told, key=asked.key))
            return None
        return self._accepted(first, merged, comment, given)

    def _accepted(self, first: Task, work: Annotation, comment: str, review: Annotation | None = None) -> _Course:
        decision: Literal["accept", "fix"] = "fix" if _changes(first, work, self.rubric) else "accept"
        who, at = (review.by, review.at) if review else ("", work.at)
        return _Course(work.by, "done", "", decision, work, comment, who, at)


def _outcome(task: Task, courses: Sequence[_Course], rubric: Rubric, reviewed: bool, touched: bool) -> Outcome:
    done = [one for one in courses if one.state == "done"]
    chosen: list[_Course] = []
    if rubric.people_per_item > 1 and not reviewed:
        decision = most([one.decision for one in done], rubric)
        chosen = [one for one in done if one.decision == decision]
    elif not reviewed:
        chosen = done[:1]
    elif accepted := [one for one in done if one.decision != "reject"]:
        chosen = accepted[:1]
    elif len(done) == len(courses):
        chosen = done[:1]
    if chosen and not rubric.decides:
        return Outcome(key=task.key, state="rated")
    if chosen:
        return Outcome(key=task.key, state="decided", verdict=_verdict(task, chosen, rubric))
    if back := [one for one in courses if one.state == "back"]:
        return Outcome(key=task.key, state="back", reason=back[0].reason)
    if courses:
        waits = [one.reason for one in courses if one.state == "waiting"]
        split = "people disagree" if len(done) >= rubric.people_per_item else "others are to do it too"
        return Outcome(key=task.key, state="waiting", reason=waits[0] if waits else split)
    if touched:
        return Outcome(key=task.key, state="apart", reason="nothing that was handed in counts")
    return Outcome(key=task.key, state="waiting", reason="to be done")


def _verdict(task: Task, chosen: Sequence[_Course], rubric: Rubric) -> Verdict:
    one = chosen[0]
    rejected = one.decision == "reject"
    own = {part.name for part in rubric.writes if not part.corrects}
    return Verdict(
        key=task.item_key,
        view_hash=task.item_view,
        rubric=rubric.name,
        decision=one.decision,
        changes={} if rejected else _changes(task, one.work, rubric),
        texts={} if rejected else {name: text for name, text in one.work.answers.items() if name in own},
        marks={} if rejected else one.work.marks,
        comment=one.comment,
        by=", ".join(sorted(course.by for course in chosen)),
        reviewed_by=one.reviewer,
        at=max((course.at for course in chosen), key=time_of),
    )


def _of_records(tasks: Mapping[str, Task], outcomes: Iterable[Outcome]) -> list[Verdict]:
    """A record that is shown in several tasks is rejected by any of them, and accepted by all."""
    by_record: dict[str, list[Verdict | None]] = defaultdict(list)
    for one in outcomes:
        by_record[tasks[one.key].item_key].append(one.verdict)
    verdicts = []
    for _, given in sorted(by_record.items()):
        decided = [one for one in given if one is not None]
        if rejecting := [one for one in decided if one.decision == "reject"]:
            verdicts.append(rejecting[0])
        elif len(decided) == len(given):
            verdicts.append(_together(decided))
    return verdicts


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict of several that accept a record; of two texts of one name, the first."""
    if len(verdicts) == 1:
        return verdicts[0]
    changes = {name: text for one in reversed(verdicts) for name, text in one.changes.items()}
    return verdicts[0].model_copy(
        update={
            "decision": "fix" if changes else "accept",
            "changes": changes,
            "texts": {name: text for one in reversed(verdicts) for name, text in one.texts.items()},
            "marks": {name: marks for one in reversed(verdicts) for name, marks in one.marks.items()},
            "comment": "\n".join(dict.fromkeys(one.comment for one in verdicts if one.comment)),
            "by": ", ".join(sorted({code for one in verdicts for code in one.by.split(", ")})),
            "at": max((one.at for one in verdicts), key=time_of),
        }
    )


def _changes(task: Task, work: Annotation, rubric: Rubric) -> dict[str, str]:
    """The record's texts that differ from those that it has."""
    return {
        name: work.answers[name].strip()
        for name in rubric.corrects
        if name in work.answers and not _alike(work.answers[name], _own(task, name))
    }


def _own(task: Task, name: str) -> str:
    """The record's own text in a box; none where a suggestion stands."""
    return "" if name in task.suggested else task.drafts.get(name, "")


def _nothing_fixed(task: Task, work: Annotation, rubric: Rubric) -> list[Finding]:
    """Work that says it is mended goes back where no text of the record was mended."""
    fixing = [ask.name for ask in rubric.asks if work.answers.get(ask.name) in ask.fixes]
    if not fixing or not rubric.corrects or rubric.marks or _changes(task, work, rubric):
        return []
    return [Finding(name=fixing[0], problem="you say that it is mended, and no text was changed", rejects=True)]


def _with_texts(work: Annotation, texts: Mapping[str, str], rubric: Rubric) -> Annotation:
    """The work with other texts; marked stretches are given a line each."""
    marked = {part.name for part in rubric.marks}
    marks = {
        name: tuple(line.strip() for line in text.splitlines() if line.strip())
        for name, text in texts.items()
        if name in marked
    }
    answers = {name: text for name, text in texts.items() if name not in marked}
    return work.model_copy(update={"answers": {**work.answers, **answers}, "marks": {**work.marks, **marks}})


def _parts(rubric: Rubric) -> list[Written | Marked]:
    """What an author makes that can be right or wrong."""
    return [*(one for one in rubric.writes if not one.note), *rubric.marks]


def _text(work: Annotation, part: Written | Marked, task: Task) -> str:
    """What the author handed in of a part; the record's own text where that was left alone, never a program's."""
    if isinstance(part, Marked):
        return "\n".join(work.marks.get(part.name, ()))
    return work.answers.get(part.name, _own(task, part.name) if part.corrects else "").strip()


def _notes(rubric: Rubric, work: Annotation) -> str:
    return "\n".join(text for one in rubric.writes if one.note and (text := work.answers.get(one.name, "").strip()))


def _title(rubric: Rubric, name: str) -> str:
    titles = {one.name: one.question for one in rubric.asks}
    titles |= {one.name: one.title for one in rubric.writes} | {one.name: one.title for one in rubric.marks}
    return titles.get(name, name)


def _alike(text: str, other: str) -> bool:
    """Whether two texts are one: a browser may end lines in its own way."""
    return [line.strip() for line in text.strip().splitlines()] == [line.strip() for line in other.strip().splitlines()]


def _author(name: str) -> str:
    return f"author_{name}"


def _decision(name: str) -> str:
    return f"{name}_decision"
