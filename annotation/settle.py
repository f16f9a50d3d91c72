"""Settle the tasks of a rubric: from people's annotations to outcomes and verdicts.

A person does a task; checks and a reviewer look at the work; rejected work goes back to its author as a task of its
own, with the author's texts and the reviewer's comment, and is checked and reviewed again. All of this is computed from
the annotations each time. Nothing is remembered, and the order in which they were pulled does not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from annotation.adjudicate import (
    Disagreement,
    adjudication_key,
    adjudication_of,
    adjudication_task,
    decided_again,
    differ,
)
from annotation.assign import Further, seat
from annotation.latest import OLDER, decision_of, exclude, time_of, unwritten
from annotation.quality import unconfirmed
from annotation.reliability import Given, Reliabilities, known_decision
from annotation.review import (
    COMMENT,
    FIX,
    REJECT,
    corrected_task,
    decision_name,
    parts_of,
    problem_of,
    review_task,
    revision_of,
    revision_task,
)
from annotation.submissions import Submissions
from annotation.value import ByValue
from annotation.verdicts import UNSURE, Course, Outcome, changes_of, outcome_of, record_verdicts, same_text
from annotation.wording import say
from schemas.annotation import Annotation, Excluded, Finding
from schemas.base import Frozen
from schemas.rubric import Change, Rubric, Task
from schemas.verdict import Decision, Verdict

ADJUDICATOR_ANSWERED = "decides on an answer of their own"
NOTHING_FIXED = "says fix, and nothing is fixed"
BROKEN_FIX = "the corrected text breaks a check"
REFUSED = "a check refuses it"
LEAD_DECIDED = "the lead decided"

Check = Callable[[Task, Annotation], Sequence[Finding]]
"""(the original task, an annotation of it): what is wrong with the annotation."""
Weigh = Callable[[Iterable[Given], Mapping[str, Decision], Mapping[str, Decision]], Reliabilities | None]
"""(people's decisions, the right ones of gold tasks by key, those of adjudicators): how sure they are, if known."""


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
    disagreements: tuple[Disagreement, ...] = Field(description="Where people differ, decided or not")
    counted: tuple[Annotation, ...]
    excluded: tuple[Excluded, ...]
    sent_back: tuple[tuple[str, str], ...] = Field(description="(task's key, author) of each rejected submission")
    accepted: tuple[tuple[str, str], ...] = Field(description="(task's key, author) of what a reviewer accepted")
    reliabilities: Reliabilities | None = Field(
        None, description="How sure the decisions are; None with a review, and if nothing is known of it"
    )
    by_value: ByValue | None = Field(None, description="How the tasks go out by value; None if they do not")

    def further(self, held: Mapping[str, Collection[str]]) -> Further | None:
        """Return what one more decision is worth on each unsure task, by value; `held` has the keys of people's tasks.

        A task that one of them has yet to do waits for that.
        """
        if self.by_value is None:
            return None
        done: dict[str, set[str]] = {by: set() for by in held}
        for work in self.counted:
            done.setdefault(work.by, set()).add(work.key)
        pending = {key for by, keys in held.items() for key in keys if key not in done[by]}
        unsure = [outcome.key for outcome in self.outcomes if outcome.reason == UNSURE and outcome.key not in pending]
        asked = [(key, by) for key in unsure for by in held if key not in done[by]]
        known = self.reliabilities
        return Further({pair: known.gain(*pair) if known else 0.0 for pair in asked}, done)


def settle(
    tasks: Iterable[Task],
    annotations: Iterable[Annotation],
    rubric: Rubric,
    *,
    review: Rubric | None = None,
    check: Check = lambda task, annotation: (),
    weigh: Weigh = lambda given, known, adjudicated: None,
    people: Collection[str] | None = None,
    suspended: Collection[str] = (),
    by_value: ByValue | None = None,
    able: Mapping[str, int] | None = None,
    lead: str | None = None,
    seed: int = 0,
) -> Settlement:
    """Settle the tasks by all annotations of the rubric, its revision and its review.

    - Work goes back to its author without a reviewer if a check's finding rejects it, a required text is missing, a
      suggestion was submitted unchanged without a reason, or it says "fixed" and nothing is changed. Other findings are
      shown to the reviewer. An author who rejects the record decides it without a reviewer.
    - With a review, the record is decided by the first accepted version, with people in the order of `seat`. Other
      people's versions show how far they agree.
    - Without one, a record is decided by the majority of accept, fix and reject; with fix, the texts are those of the
      first who says so. Where as many say one as the other it waits, however sure `weigh` is.
    - Without a review, somebody else may decide a task that people answered differently (`annotation/adjudicate.py`):
      the last who does, unless the `lead` did; once as many did it as are asked for, or as are `able` to (by task).
    - Texts of the record that differ from those in the boxes are changes, and make the decision a fix.
    - `weigh` says how sure decisions without a review are; `by_value`, the likeliest decides once it is sure enough.
    - A rubric that decides nothing gives no verdict: a task is rated once as many people did it as it asks for.
    """
    by_key = {task.key: task for task in tasks}
    keys = {task.id: task.key for task in by_key.values()}
    rubrics = {form.name for form in (rubric, revision_of(rubric), review or adjudication_of(rubric))}
    submissions = Submissions(annotations, rubrics, people, suspended)
    settling = _Settling(rubric, review, check, submissions, by_value, able or {}, lead)
    courses: dict[str, list[Course]] = defaultdict(list)
    work = [(by_key[work.key or keys[work.task]], work) for work in submissions.take(by_key.values(), rubric)]
    for task, annotation in work:
        if not task.right_answers:
            courses[task.key].append(settling.follow(task, annotation))
    seated = _seated(by_key, courses, seed)
    differing = {key: settling.difference(by_key[key], of_task) for key, of_task in seated.items()}
    weighed = None if review or not rubric.decides else _weighed(weigh, courses, work, rubric, differing)
    touched = {excluded.key for excluded in submissions.excluded}
    outcomes = [settling.outcome(by_key[key], seated[key], key in touched, weighed, differing[key]) for key in seated]
    submissions.exclude_rest()
    return Settlement(
        outcomes=tuple(outcomes),
        verdicts=tuple(record_verdicts(by_key, outcomes)),
        reviews=tuple(settling.reviews),
        revisions=tuple(settling.revisions),
        corrections=tuple(settling.corrections),
        disagreements=tuple(settling.disagreements),
        counted=tuple(submissions.counted),
        excluded=tuple(submissions.excluded),
        sent_back=tuple(settling.sent_back),
        accepted=tuple(settling.accepted),
        reliabilities=weighed,
        by_value=by_value,
    )


def _seated(by_key: Mapping[str, Task], courses: Mapping[str, Sequence[Course]], seed: int) -> dict[str, list[Course]]:
    """Return the courses of each record's task, in the order of `seat`."""
    asked = [key for key, task in sorted(by_key.items()) if not task.right_answers]
    return {key: sorted(courses.get(key, ()), key=lambda course, key=key: seat(seed, key, course.by)) for key in asked}  # type: ignore[misc]


def _weighed(
    weigh: Weigh,
    courses: Mapping[str, Sequence[Course]],
    work: Iterable[tuple[Task, Annotation]],
    rubric: Rubric,
    differing: Mapping[str, Disagreement | None],
) -> Reliabilities | None:
    """Weigh people's finished work against one another's, against adjudicators' and against known answers."""
    on_gold = [(task, annotation) for task, annotation in work if task.right_answers]
    done = [(key, course) for key in courses for course in courses[key] if course.state == "done"]
    given = [Given(key, course.by, course.decision) for key, course in done]
    given += [Given(task.key, made.by, known_decision(task, made.answers, rubric)) for task, made in on_gold]
    known = {task.key: known_decision(task, task.right_answers, rubric) for task, _ in on_gold}
    return weigh(given, known, {key: one.decided.decision for key, one in differing.items() if one and one.decided})


class _Settling:
    """Follows each person's work through checks, reviews and revisions, and collects the tasks that come of it."""

    def __init__(
        self,
        rubric: Rubric,
        review: Rubric | None,
        check: Check,
        submissions: Submissions,
        by_value: ByValue | None,
        able: Mapping[str, int],
        lead: str | None,
    ) -> None:
        self.by_value, self.able, self.lead = by_value, able, lead
        self.rubric, self.review, self.check, self.submissions = rubric, review, check, submissions
        self.revision = revision_of(rubric)
        self.reviews: list[FollowUp] = []
        self.revisions: list[FollowUp] = []
        self.corrections: list[FollowUp] = []
        self.adjudication = adjudication_of(rubric)
        self.disagreements: list[Disagreement] = []
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

    def outcome(
        self,
        task: Task,
        courses: Sequence[Course],
        touched: bool,
        weighed: Reliabilities | None,
        difference: Disagreement | None,
    ) -> Outcome:
        """Return the outcome of a task; `courses` are in the order of `seat`.

        Somebody else is asked where enough people differ; by value, where the decision is not sure enough besides.
        """
        chances = weighed.tasks.get(task.key, {}) if weighed else {}
        wanted = min(self.rubric.people_per_item, self.able.get(task.key, self.rubric.people_per_item))
        decided = None
        if difference is not None:
            decided, given = difference.decided, difference.decisions
            enough = len(given) >= wanted
            if self.by_value is not None:
                enough = self.by_value.is_open(task.key, given, chances, self.rubric)
            if enough or decided is not None:
                self.disagreements.append(difference)
        reviewed = self.review is not None
        return outcome_of(task, courses, self.rubric, reviewed, touched, chances, wanted, decided, self.by_value)

    def difference(self, task: Task, courses: Sequence[Course]) -> Disagreement | None:
        """Return where people answered a task differently, or somebody else decided it; None if neither is so."""
        if self.review is not None or not self.rubric.decides:
            return None
        form, done = self.adjudication, [course for course in courses if course.state == "done"]
        they_differ = differ(self.rubric, task, done)
        if not they_differ and not self.submissions.are_left(form, adjudication_key(form, task)):
            return None
        asked = adjudication_task(self.rubric, form, task, done)
        people = tuple(course.by for course in courses)
        decided = refused = None
        works = self.submissions.take_others(asked, form, people, ADJUDICATOR_ANSWERED)
        for work in sorted(works, key=lambda work: work.by != self.lead):
            if decided is not None:
                reason = OLDER if time_of(work.at) <= time_of(decided.at) else LEAD_DECIDED
                self._exclude(work, asked, reason, f"the one of {decided.at} counts")
            elif problems := self._refusals(task, work):
                self._exclude(work, asked, REFUSED, "; ".join(problems))
                language = self.rubric.form_language(task.language)
                refused = refused or decided_again(asked, form, work, problems, language)
            else:
                decided = self._finished(task, work, _notes(self.adjudication, work))
                self.submissions.counted.append(work)
        if not they_differ and decided is None:
            return None
        asked = asked if refused is None or decided is not None else refused
        return Disagreement(task, asked, people, tuple(course.decision for course in done), decided)

    def _refusals(self, task: Task, work: Annotation) -> list[str]:
        """Return what is wrong with the decision of somebody who decides where people differ."""
        if decision_of(work.answers, self.rubric) == "reject":
            return []
        empty = _empty(work, self.adjudication)
        return self._problems(task, [*empty, *self.check(task, work), *_nothing_fixed(task, work, self.rubric)])

    def _problems(self, task: Task, findings: Iterable[Finding]) -> list[str]:
        """Return what the rejecting ones of some findings on a task say, each with what it is about."""
        return [problem_of(self.rubric.in_language(task.language), finding) for finding in findings if finding.rejects]

    def _judged(self, first: Task, task: Task, work: Annotation) -> Course:
        """Return the result of the checks and the last review for a version of the work."""
        if decision_of(work.answers, self.rubric) == "reject":
            return self._finished(first, work, _notes(self.rubric, work))
        findings = self._findings(first, task, work)
        if problems := self._problems(task, findings):
            return Course(work.by, "back", "sent back by a check", "reject", work, "\n".join(dict.fromkeys(problems)))
        if self.review is None:
            return self._finished(first, work, _notes(self.rubric, work))
        asked = review_task(self.rubric, self.review, task, work, findings)
        self.reviews.append(FollowUp(asked, work.by))
        course = None
        for review in self.submissions.take_others(asked, self.review, [work.by]):
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
            *_empty(work, self.rubric),
            *self.check(first, work),
            *unconfirmed(first, submitted, self.rubric),
            *_nothing_fixed(first, work, self.rubric),
        ]

    def _reviewed(self, first: Task, asked: Task, work: Annotation, review: Annotation) -> Course | None:
        """Return the result of a review of the work; None if the review contradicts itself and is excluded.

        A part that was accepted and yet corrected counts as corrected. What was fixed beside a rejected part goes back
        to the author as fixed.
        """
        rubric = self.rubric.in_language(first.language)
        parts = parts_of(rubric)
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
            names = say(rubric.language, ", ").join(rejected)
            text = "\n".join(filter(None, [say(rubric.language, "Rejected: {}", names), comment]))
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
        """Return the finished state of work that rejects the record, or in which nothing is wrong."""
        rejected = decision_of(work.answers, self.rubric) == "reject"
        decision: Decision = "reject" if rejected else "fix" if changes_of(first, work, self.rubric) else "accept"
        reviewer, at = (review.by, review.at) if review else ("", work.at)
        return Course(work.by, "done", "", decision, work, comment, reviewer, at)

    def _exclude(self, review: Annotation, asked: Task, reason: str, evidence: str) -> None:
        self.submissions.excluded.append(exclude(review, reason, evidence, key=asked.key))


def _empty(work: Annotation, rubric: Rubric) -> list[Finding]:
    """Return a rejecting finding for each required text of the rubric that the work lacks."""
    return [Finding(name=name, problem="is empty", rejects=True) for name in unwritten(work, rubric)]


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
