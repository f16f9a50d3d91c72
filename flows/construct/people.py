"""The people that a part needs, and their tasks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from flows.construct.embed import Embedder
from flows.construct.records import Records
from flows.llm.model import Problem
from schemas.annotation import Annotation, Finding
from schemas.rubric import Rubric, Task, Turn, task_of
from schemas.verdict import Verdict


@dataclass(frozen=True)
class People:
    """The people that a part needs, for `every` record or a `sample`, and their tasks."""

    rubric: Rubric
    share: Literal["every", "sample"]
    tasks: Callable[[Records[Any], int], Iterable[Task]]
    """(sifted records, run seed): the tasks, each once; where there may be millions, one at a time."""
    fields: tuple[str, ...] = ()
    """The fields of a record that its task shows as they are."""
    gold: Callable[[Records[Any], Sequence[Task], int], Sequence[Task]] | None = None
    """(sifted records, their tasks, run seed): tasks with known answers, which show who judges well."""
    unfit: Callable[[Any], Problem] = lambda record: None
    """Returns why a record is not valid with people's changes; None if it is valid."""
    checks: Callable[[Any, Mapping[str, str], Embedder], Sequence[Finding]] = lambda record, answers, embedder: ()
    """(record, a person's answers and texts, embedder): the problems with them."""
    review: Rubric | None = None
    """The rubric for reviewing an author's work; None if it counts without a review."""
    needed: Callable[[Any], bool] | None = None
    """Returns whether a record waits for people; None if every record does."""
    programs: Callable[[Records[Any], Sequence[Task]], Iterable[Annotation]] = lambda records, tasks: ()
    """(sifted records, their tasks): programs' answers, `by` their names, to compare with people's."""

    def refusal(self, verdict: Verdict) -> str | None:
        """Return why a verdict cannot be one of these people's; None if it can."""
        if verdict.rubric != self.rubric.name:
            return f"its rubric is {verdict.rubric!r}, where people are asked by {self.rubric.name!r}"
        if {"id", "key", "provenance"}.intersection(verdict.changes):
            return "id, key and provenance are not for people to change"
        if other := sorted(set(verdict.changes).difference(self.rubric.corrects)):
            corrects = ", ".join(sorted(self.rubric.corrects)) or "nothing"
            return f"{', '.join(other)} is not for people to change; {self.rubric.name} corrects {corrects}"
        return None


def every(
    rubric: Rubric,
    unfit: Callable[[Any], Problem] = lambda record: None,
    *,
    shown: Callable[[Any], Mapping[str, str | tuple[Turn, ...]]] | None = None,
    drafts: Callable[[Any], Mapping[str, str]] = lambda record: {},
    left_out: Callable[[Any], Mapping[str, str]] = lambda record: {},
    checks: Callable[[Any, Mapping[str, str], Embedder], Sequence[Finding]] = lambda record, answers, embedder: (),
    review: Rubric | None = None,
    needed: Callable[[Any], bool] | None = None,
) -> People:
    """Ask people to decide on every record, or only on those for which `needed(record)` is true.

    `shown(record)` is what they see, by default the fields that the rubric names. The boxes have the texts to be
    corrected; `drafts(record)` are suggestions for these or for other boxes, and `left_out(record)` says why there is
    none.
    """

    fields = () if shown else tuple(text.name for text in rubric.shows)

    def task(record: Any) -> Task:
        texts = {write.name: in_words(getattr(record, write.name)) for write in rubric.writes if write.corrects}
        suggestions = drafts(record)
        return task_of(
            record,
            rubric,
            shown(record) if shown else {name: in_words(getattr(record, name)) for name in fields},
            drafts={**texts, **suggestions},
            suggested=suggestions,
            left_out=left_out(record),
        )

    def tasks(records: Iterable[Any], seed: int) -> Iterator[Task]:
        return (task(record) for record in records if needed is None or needed(record))

    return People(rubric, "every", tasks, fields, unfit=unfit, checks=checks, review=review, needed=needed)


def in_words(value: Any) -> str:
    """Return a field's value as people read it; several texts or rules get a line each."""
    return value if isinstance(value, str) else "\n".join(map(str, value))


def sample(
    rubric: Rubric,
    tasks: Callable[[Records[Any], int], Iterable[Task]] | None = None,
    gold: Callable[[Records[Any], Sequence[Task], int], Sequence[Task]] | None = None,
    *,
    programs: Callable[[Records[Any], Sequence[Task]], Iterable[Annotation]] = lambda records, tasks: (),
) -> People:
    """Ask people to judge a sample; records that they reject are held back.

    `tasks(records, seed)` draws the sample; by default it is every record, with the fields that the rubric names.
    """
    if tasks is None:
        return replace(every(rubric), share="sample", gold=gold, programs=programs)
    return People(rubric, "sample", tasks, gold=gold, programs=programs)
