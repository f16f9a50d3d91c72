"""Work on an earlier version of a task. It does not count, and it comes back to its person with the new version."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from annotation.latest import time_of
from annotation.review import REJECT, decision_name, derived_key, parts_of, revision_of
from annotation.wording import say
from schemas.annotation import Annotation
from schemas.rubric import Change, Marked, Rubric, Task

CHANGED = "This task has changed since you did it. Your work on it no longer counts: please do it again."
CHANGED_FOR_ALL = "This task has changed since it was done. It has to be done again."
TEXTS_BACK = "The texts are in the boxes again: check that they still fit, then submit."
ANSWERED = "You answered:"


class EarlierWork:
    """People's work on all versions of a rubric's tasks."""

    def __init__(self, annotations: Iterable[Annotation], rubric: Rubric, review: Rubric | None = None) -> None:
        """`annotations` are all under the rubric, its revision and its review."""
        self.rubric, self.review, self.revision = rubric, review, revision_of(rubric)
        self._by_task: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
        for work in sorted(annotations, key=lambda work: (time_of(work.at), work.source)):
            if not work.cancelled and work.version == rubric.version:
                self._by_task[work.rubric, work.key].append(work)

    def on(self, task: Task, by: str | None) -> Annotation | None:
        """Return somebody's last work on an earlier version of a task, with its texts as they were in the end.

        It is older than all work of the person on the present version. If `by` is None, it is the last of anybody's.
        """
        works = [work for work in self._by_task.get((self.rubric.name, task.key), ()) if by in (None, work.by)]
        now = next((place for place, work in enumerate(works) if work.task == task.id), len(works))
        if not now:
            return None
        work = works[now - 1]
        until = time_of(works[now].at) if now < len(works) else None
        later = [
            one
            for one in self._later(task.key, work.by)
            if time_of(work.at) < time_of(one.at) and (until is None or time_of(one.at) < until)
        ]
        for one in sorted(later, key=lambda one: (time_of(one.at), one.source)):
            work = self._with(work, one)
        return work

    def _later(self, key: str, by: str) -> Iterator[Annotation]:
        """Yield the reviews and revisions of somebody's work on all versions of a task."""
        while True:
            if self.review is not None:
                reviews = self._by_task.get((self.review.name, derived_key(self.review, key, by)), ())
                yield from (review for review in reviews if review.by != by)
            key = derived_key(self.revision, key, by)
            revisions = [one for one in self._by_task.get((self.revision.name, key), ()) if one.by == by]
            if not revisions:
                return
            yield from revisions

    def _with(self, work: Annotation, later: Annotation) -> Annotation:
        """Return the work with what its author revised, or a reviewer corrected."""
        if later.rubric == self.revision.name:
            return work.model_copy(update={"answers": later.answers, "marks": later.marks, "untouched": ()})
        texts = {
            part.name: later.answers[part.name]
            for part in parts_of(self.rubric)
            if part.name in later.answers and later.answers.get(decision_name(part.name)) != REJECT
        }
        return work.model_copy(
            update={
                "answers": {**work.answers, **texts},
                "marks": {name: spans for name, spans in work.marks.items() if name not in texts},
                "untouched": tuple(name for name in work.untouched if name not in texts),
            }
        )


def asked_again(
    task: Task, rubric: Rubric, work: Annotation, texts: Mapping[str, str], changes: Sequence[Change], *, own: bool
) -> Task:
    """Return the task with somebody's earlier work on it: their `texts` in the boxes, and what changed as news.

    What was chosen and marked is told to its `own` person, and asked again.
    """
    in_words = partial(say, rubric.language)
    chosen = [(ask, work.answers[ask.name]) for ask in rubric.asks if ask.name in work.answers]
    answers = [in_words("{} {}", ask.question, ask.label(option)) for ask, option in chosen]
    marked = [(mark.title, _marked(work, mark, rubric)) for mark in rubric.marks]
    answers += [in_words("{}: {}", title, spans) for title, spans in marked if spans]
    news = [in_words(CHANGED if own else CHANGED_FOR_ALL)]
    news += [in_words(TEXTS_BACK)] if texts else []
    news += [in_words("{} {}", in_words(ANSWERED), " · ".join(answers))] if answers and own else []
    return task.model_copy(
        update={
            "drafts": {**task.drafts, **texts},
            "returned": tuple(texts),
            "suggested": tuple(name for name in task.suggested if name not in texts),
            "left_out": {name: why for name, why in task.left_out.items() if name not in texts},
            "news": "\n".join(news),
            "changes": tuple(changes),
        }
    )


def _marked(work: Annotation, mark: Marked, rubric: Rubric) -> str:
    """Return what was marked, on one line."""
    spans = work.marks.get(mark.name) or work.answers.get(mark.name, "").splitlines()
    return say(rubric.language, ", ").join(span.strip() for span in spans if span.strip())
