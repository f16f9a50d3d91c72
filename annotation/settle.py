"""Settle the tasks of a rubric: from people's annotations to outcomes and verdicts.

A person does a task; checks and a reviewer look at the work; rejected work goes back to its author as a task of its
own, with the author's texts and the reviewer's comment, and is checked and reviewed again. All of this is computed from
the annotations each time. Nothing is remembered, and the order in which they were pulled does not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from annotation.latest import ANOTHER_RUBRIC, OLDER, UNKNOWN_TASK, decision_of, exclude, latest, time_of, unwritten
from annotation.quality import unconfirmed
from annotation.reliability import Given, Reliabilities, known_decision
from annotation.review import (
    COMMENT,
    FIX,
    REJECT,
    corrected_task,
    decision_name,
    parts_of,
    review_task,
    revision_of,
    revision_task,
    title_of,
)
from annotation.verdicts import Course, Outcome, changes_of, outcome_of, record_verdicts, same_text
from schemas.annotation import Annotation, Excluded, Finding
from schemas.base import Frozen
from schemas.rubric import Change, Rubric, Task
from schemas.verdict import Decision, Verdict

REVIEWER_IS_AUTHOR = "reviewer is the author"
NOTHING_FIXED = "says fix, and nothing is fixed"
ANOTHERS_REVISION = "another person's revision"
BROKEN_FIX = "the corrected text breaks a check"

Check = Callable[[Task, Annotation], Sequence[Finding]]
"""(the original task, an annotation of it): what is wrong with the annotation."""
Weigh = Callable[[Iterable[Given], Mapping[str, Decision]], Reliabilities | None]
"""(people's decisions, the right ones of gold tasks by key): how sure they are; None if that is unknown."""


class FollowUp(NamedTuple):
    """A task that follows from somebody's work: for others to review, or for its author to revise."""

    task: Task
    author: str


class Settlement(Frozen):
    """The state of all tasks of a rubric. Each annotation is counted or excluded; each task has one outcome."""

    outcomes: tuple[Outcome, ...]
    verdicts: tuple[Verdict, ...] = Field(description="One for each record whose tasks are all decided, or rejected")
    reviews: tuple[FollowUp, ...] = Field(description="Tasks for reviewers, done or not; not for the author")
    revisions: tuple[FollowUp, ...] = Field(description="Tasks for authors, done or not")
    corrections: tuple[FollowUp, ...] = Field(description="Tasks that tell authors what was corrected, read or not")
    counted: tuple[Annotation, ...]
    excluded: tuple[Excluded, ...]
    sent_back: tuple[tuple[str, str], ...] = Field(description="(task's key, author) of each rejected submission")
    accepted: tuple[tuple[str, str], ...] = Field(description="(task's key, author) of what a reviewer accepted")
    reliabilities: Reliabilities | None = Field(
        None, description="How sure the decisions are; None with a review, and if nothing is known of it"
    )


def settle(
    tasks: Iterable[Task],
    annotations: Iterable[Annotation],
    rubric: Rubric,
    *,
    review: Rubric | None = None,
    check: Check = lambda task, annotation: (),
    weigh: Weigh = lambda given, known: None,
    people: Collection[str] | None = None,
    suspended: Collection[str] = (),
    seed: int = 0,
) -> Settlement:
    """Settle the tasks by all annotations of the rubric, its revision and its review.

    - Work goes back to its author without a reviewer if a check's finding rejects it, a required text is missing, a
      suggestion was submitted unchanged without a reason, or it says "fixed" and nothing is changed. Other findings are
      shown to the reviewer. An author who rejects the record decides it without a reviewer.
    - With a review, the record is decided by the first accepted version, with people in the order of `seat`. Other
      people's versions show how far they agree.
    - Without one, a record for one person is decided by the first person in that order. A record for several is decided
      by the majority of accept, fix and reject; with fix, the texts are those of the first who says so.
    - Texts of the record that differ from those in the boxes are changes, and make the decision a fix.
    - `weigh` says how sure decisions without a review are.
    - A rubric that decides nothing gives no verdict: a task is rated once as many people did it as it asks for.
    """
    by_key = {task.key: task for task in tasks}
    keys = {task.id: task.key for task in by_key.values()}
    rubrics = {rubric.name, revision_of(rubric).name, *([review.name] if review else [])}
    submissions = _Submissions(annotations, rubrics, people, suspended)
    settling = _Settling(rubric, review, check, submissions)
    courses: dict[str, list[Course]] = defaultdict(list)
    work = [(by_key[work.key or keys[work.task]], work) for work in submissions.take(by_key.values(), rubric)]
    for task, annotation in work:
        if not task.right_answers:
            courses[task.key].append(settling.follow(task, annotation))
    weighed = _weighed(weigh, courses, work, rubric) if review is None and rubric.decides else None
    touched = {excluded.key for excluded in submissions.excluded}
    chances = weighed.tasks if weighed else {}
    outcomes = [
        outcome_of(task, courses[key], rubric, seed, review is not None, key in touched, chances.get(key, {}))
        for key, task in sorted(by_key.items())
        if not task.right_answers
    ]
    submissions.exclude_rest()
    return Settlement(
        outcomes=tuple(outcomes),
        verdicts=tuple(record_verdicts(by_key, outcomes)),
        reviews=tuple(settling.reviews),
        revisions=tuple(settling.revisions),
        corrections=tuple(settling.corrections),
        counted=tuple(submissions.counted),
        excluded=tuple(submissions.excluded),
        sent_back=tuple(settling.sent_back),
        accepted=tuple(settling.accepted),
        reliabilities=weighed,
    )


def _weighed(
    weigh: Weigh, courses: Mapping[str, Sequence[Course]], work: Iterable[tuple[Task, Annotation]], rubric: Rubric
) -> Reliabilities | None:
    """Weigh people's finished work against one another's and, on gold tasks, against the known answers."""
    on_gold = [(task, annotation) for task, annotation in work if task.right_answers]
    done = [(key, course) for key in courses for course in courses[key] if course.state == "done"]
    given = [Given(key, course.by, course.decision) for key, course in done]
    given += [Given(task.key, made.by, known_decision(task, made.answers, rubric)) for task, made in on_gold]
    return weigh(given, {task.key: known_decision(task, task.right_answers, rubric) for task, _ in on_gold})


class _Submissions:
    """All annotations; each task takes its own, and annotations that count are separated from excluded ones."""

    def __init__(
        self,
        annotations: Iterable[Annotation],
        rubrics: Collection[str],
        people: Collection[str] | None,
        suspended: Collection[str],
    ) -> None:
        self.people, self.suspended = people, suspended
        self.left: dict[str, dict[str, list[Annotation]]] = {name: defaultdict(list) for name in rubrics}
        self.counted: list[Annotation] = []
        self.excluded: list[Excluded] = []
        for annotation in annotations:
            if annotation.rubric in self.left:
                self.left[annotation.rubric][annotation.key or annotation.task].append(annotation)
            else:
                self.excluded.append(exclude(annotation, ANOTHER_RUBRIC, annotation.rubric))

    def take(self, tasks: Iterable[Task], rubric: Rubric) -> list[Annotation]:
        """Return the annotations of the tasks that count."""
        tasks = list(tasks)
        return self._count(self._pop(tasks, rubric), tasks, rubric)

    def take_revision(self, task: Task, rubric: Rubric, author: str) -> Annotation | None:
        """Return the author's revision; anybody else's is excluded."""
        submitted = self._pop([task], rubric)
        self.excluded.extend(exclude(work, ANOTHERS_REVISION, author) for work in submitted if work.by != author)
        counted = self._count([work for work in submitted if work.by == author], [task], rubric)
        return counted[0] if counted else None

    def take_reviews(self, task: Task, rubric: Rubric, author: str) -> list[Annotation]:
        """Return the valid reviews of the author's work by others, the last first; the caller says which one counts."""
        submitted = self._pop([task], rubric)
        self.excluded.extend(
            exclude(work, REVIEWER_IS_AUTHOR, author, key=task.key) for work in submitted if work.by == author
        )
        others = [work for work in submitted if work.by != author]
        valid, excluded = latest(others, [task], rubric, self.people, self.suspended)
        self.excluded.extend(excluded)
        return sorted(valid, key=lambda work: (time_of(work.at), work.by), reverse=True)

    def exclude_rest(self) -> None:
        """Exclude the annotations that no task took."""
        for left in self.left.values():
            self.excluded.extend(exclude(work, UNKNOWN_TASK, work.task) for rest in left.values() for work in rest)

    def _pop(self, tasks: Iterable[Task], rubric: Rubric) -> list[Annotation]:
        left = self.left[rubric.name]
        return [work for task in tasks for name in (task.key, task.id) for work in left.pop(name, ())]

    def _count(self, submitted: Iterable[Annotation], tasks: Iterable[Task], rubric: Rubric) -> list[Annotation]:
        counted, excluded = latest(submitted, tasks, rubric, self.people, self.suspended)
        self.counted.extend(counted)
        self.excluded.extend(excluded)
        return counted


class _Settling:
    """Follows each person's work through checks, reviews and revisions, and collects the tasks that come of it."""

    def __init__(self, rubric: Rubric, review: Rubric | None, check: Check, submissions: _Submissions) -> None:
        self.rubric, self.review, self.check, self.submissions = rubric, review, check, submissions
        self.revision = revision_of(rubric)
        self.reviews: list[FollowUp] = []
        self.revisions: list[FollowUp] = []
        self.corrections: list[FollowUp] = []
        self.sent_back: list[tuple[str, str]] = []
        self.accepted: list[tuple[str, str]] = []

    def follow(self, first: Task, work: Annotation) -> Course:
        """Return the state of a person's work on a task, after all its reviews and revisions."""
        task = first
        while (course := self._judged(first, task, work)).state == "back":
            self.sent_back.append((task.key, work.by))
            task = revision_task(self.rubric, task, course.work, course.comment, course.corrected)
            self.revisions.append(FollowUp(task, work.by))
            revised = self.submissions.take_revision(task, self.revision, work.by)
            if revised is None:
                return course
            work = revised
        if course.corrected:
            told = corrected_task(self.rubric, task, work.by, course.comment, course.corrected)
            self.corrections.append(FollowUp(told, work.by))
        return course

    def _judged(self, first: Task, task: Task, work: Annotation) -> Course:
        """Return the result of the checks and the last review for a version of the work."""
        if decision_of(work.answers, self.rubric) == "reject":
            return Course(work.by, "done", "", "reject", work, _notes(self.rubric, work), at=work.at)
        findings = self._findings(first, task, work)
        if any(finding.rejects for finding in findings):
            problems = [
                f"{title_of(self.rubric, finding.name)}: {finding.problem}" for finding in findings if finding.rejects
            ]
            return Course(work.by, "back", "sent back by a check", "reject", work, "\n".join(dict.fromkeys(problems)))
        if self.review is None:
            return self._finished(first, work, _notes(self.rubric, work))
        asked = review_task(self.rubric, self.review, task, work, findings)
        self.reviews.append(FollowUp(asked, work.by))
        course = None
        for review in self.submissions.take_reviews(asked, self.review, work.by):
            if course is not None:
                self._exclude(review, asked, OLDER, f"a later one is of {course.at}")
            elif (course := self._reviewed(first, asked, work, review)) is not None:
                self.submissions.counted.append(review)
        if course is not None and course.state == "done":
            self.accepted.append((task.key, work.by))
        return course or Course(work.by, "waiting", "to be reviewed", "reject", work)

    def _findings(self, first: Task, task: Task, work: Annotation) -> list[Finding]:
        # The texts in the boxes of a revision are the author's own, not suggestions.
        submitted = work if task is first else work.model_copy(update={"untouched": ()})
        return [
            *(Finding(name=name, problem="is empty", rejects=True) for name in unwritten(work, self.rubric)),
            *self.check(first, work),
            *unconfirmed(first, submitted, self.rubric),
            *_nothing_fixed(first, work, self.rubric),
        ]

    def _reviewed(self, first: Task, asked: Task, work: Annotation, review: Annotation) -> Course | None:
        """Return the result of a review of the work; None if the review contradicts itself and is excluded.

        A part that was accepted and yet corrected counts as corrected. What was fixed beside a rejected part goes back
        to the author as fixed.
        """
        parts = parts_of(self.rubric)
        decisions = {part.name: review.answers[decision_name(part.name)] for part in parts}
        before = {part.name: asked.drafts.get(part.name, "") for part in parts}
        texts = {name: review.answers.get(name, text).strip() for name, text in before.items()}
        changed = {
            name: text
            for name, text in texts.items()
            if decisions[name] != REJECT and not same_text(text, before[name])
        }
        comment = review.answers.get(COMMENT, "").strip()
        corrected = _with_texts(work, changed, self.rubric)
        told = tuple(
            Change(title=part.title, before=before[part.name], after=changed[part.name])
            for part in parts
            if part.name in changed
        )
        if rejected := [part.title for part in parts if decisions[part.name] == REJECT]:
            text = "\n".join(filter(None, [f"Rejected: {', '.join(rejected)}", comment]))
            return Course(
                work.by, "back", "rejected by its reviewer", "reject", corrected, text, review.by, review.at, told
            )
        if unfixed := [name for name in decisions if decisions[name] == FIX and name not in changed]:
            self._exclude(review, asked, NOTHING_FIXED, ", ".join(unfixed))
            return None
        findings = self.check(first, corrected)
        if problems := [
            f"{finding.name}: {finding.problem}" for finding in findings if finding.rejects and finding.name in changed
        ]:
            self._exclude(review, asked, BROKEN_FIX, "; ".join(problems))
            return None
        return self._finished(first, corrected, comment, review)._replace(corrected=told)

    def _finished(self, first: Task, work: Annotation, comment: str, review: Annotation | None = None) -> Course:
        decision: Literal["accept", "fix"] = "fix" if changes_of(first, work, self.rubric) else "accept"
        reviewer, at = (review.by, review.at) if review else ("", work.at)
        return Course(work.by, "done", "", decision, work, comment, reviewer, at)

    def _exclude(self, review: Annotation, asked: Task, reason: str, evidence: str) -> None:
        self.submissions.excluded.append(exclude(review, reason, evidence, key=asked.key))


def _nothing_fixed(task: Task, work: Annotation, rubric: Rubric) -> list[Finding]:
    """Return a rejecting finding for work that says it is fixed, with no text of the record changed."""
    fixing = [ask.name for ask in rubric.asks if work.answers.get(ask.name) in ask.fixes]
    if not fixing or not rubric.corrects or rubric.marks or changes_of(task, work, rubric):
        return []
    return [Finding(name=fixing[0], problem="you said that you fixed it, but no text was changed", rejects=True)]


def _with_texts(work: Annotation, texts: Mapping[str, str], rubric: Rubric) -> Annotation:
    """Return the work with other texts; marked spans are given one per line."""
    marked = {part.name for part in rubric.marks}
    marks = {
        name: tuple(line.strip() for line in text.splitlines() if line.strip())
        for name, text in texts.items()
        if name in marked
    }
    answers = {name: text for name, text in texts.items() if name not in marked}
    return work.model_copy(update={"answers": {**work.answers, **answers}, "marks": {**work.marks, **marks}})


def _notes(rubric: Rubric, work: Annotation) -> str:
    return "\n".join(text for note in rubric.writes if note.note and (text := work.answers.get(note.name, "").strip()))
