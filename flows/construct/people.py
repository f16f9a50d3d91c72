"""Which people a part needs, and what they are asked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flows.construct.embed import Embedder
from flows.llm.model import Problem
from schemas.annotation import Annotation, Finding
from schemas.rubric import Rubric, Task, Turn, task_of


@dataclass(frozen=True)
class People:
    """Which people a part needs: `every` record, or a `sample` of them, and what they are asked."""

    rubric: Rubric
    share: Literal["every", "sample"]
    tasks: Callable[[Iterable[Any], int], Sequence[Task]]
    """(sifted records, run seed): what people are shown of them, each task once."""
    validation: Callable[[Iterable[Any], Sequence[Task], int], Sequence[Task]] | None = None
    """(sifted records, their tasks, run seed): tasks whose answers are known, to tell who judges well."""
    unfit: Callable[[Any], Problem] = lambda record: None
    """Why a record cannot be what people made of it; None where it can."""
    checks: Callable[[Any, Mapping[str, str], Embedder], Sequence[Finding]] = lambda record, answers, embedder: ()
    """(record, a person's answers and texts, embedder): what is wrong with them."""
    review: Rubric | None = None
    """What an author's work goes through before it counts; None where it counts as it comes."""
    needed: Callable[[Any], bool] | None = None
    """Whether a record waits for people; None where each does."""
    programs: Callable[[Iterable[Any], Sequence[Task]], Iterable[Annotation]] = lambda records, tasks: ()
    """(sifted records, their tasks): what programs answered to the same questions, `by` their names: people's answers
    are compared with theirs."""


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
    """People decide on every record, or on those alone that `needed(record)` tells.

    `shown(record)` is what they see, by default the fields that the rubric names.
    Texts to be corrected stand in their boxes; `drafts(record)` are suggestions, in place of those or for the others;
    `left_out(record)` says why there is none.
    """

    def task(record: Any) -> Task:
        own = {one.name: in_words(getattr(record, one.name)) for one in rubric.writes if one.corrects}
        suggestions = drafts(record)
        return task_of(
            record,
            rubric,
            shown(record) if shown else {one.name: in_words(getattr(record, one.name)) for one in rubric.shows},
            drafts={**own, **suggestions},
            suggested=suggestions,
            left_out=left_out(record),
        )

    def tasks(records: Iterable[Any], seed: int) -> list[Task]:
        return [task(record) for record in records if needed is None or needed(record)]

    return People(rubric, "every", tasks, unfit=unfit, checks=checks, review=review, needed=needed)


def in_words(value: Any) -> str:
    """A field's value as people read it: of several texts, or rules, each on a line."""
    return value if isinstance(value, str) else "\n".join(map(str, value))


def sample(
    rubric: Rubric,
    tasks: Callable[[Iterable[Any], int], Sequence[Task]],
    validation: Callable[[Iterable[Any], Sequence[Task], int], Sequence[Task]] | None = None,
    *,
    programs: Callable[[Iterable[Any], Sequence[Task]], Iterable[Annotation]] = lambda records, tasks: (),
) -> People:
    """People judge a sample; what they reject is held back."""
    return People(rubric, "sample", tasks, validation, programs=programs)
