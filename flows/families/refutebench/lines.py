"""The lines of RefuteBench's tables: a model under one condition, rated by one evaluator on one task."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pandas as pd

from schemas.refutebench import PLAIN, Rating, RefutationDialogue

LineName = Callable[..., str]
"""(condition, evaluator, *more) -> the name of the line."""


class Condition(NamedTuple):
    """The fields that the dialogues of one line share."""

    model: str
    refuter: str
    style: str

    @classmethod
    def of(cls, record: Rating | RefutationDialogue) -> "Condition":
        """The condition of a dialogue, or of the dialogue that is rated."""
        return cls(record.model, record.refuter, record.style)


class Line(NamedTuple):
    """The fields that the ratings of one line share."""

    condition: Condition
    evaluator: str
    task: str


def line_names(conditions: Iterable[Condition], evaluators: Iterable[str]) -> LineName:
    """Name lines by model, and by refuter, style and evaluator where there are several. Plain refutations say so."""
    several = {name for name in ("refuter", "style") if len({getattr(condition, name) for condition in conditions}) > 1}
    rated_by_several = len(set(evaluators)) > 1

    def name(condition: Condition, evaluator: str | None = None, *more: str) -> str:
        parts = [condition.model]
        parts += [f"refuted by {condition.refuter}"] if "refuter" in several else []
        parts += [f"style: {condition.style}"] if "style" in several or condition.style == PLAIN else []
        parts += [f"rated by {evaluator}"] if evaluator is not None and rated_by_several else []
        return " / ".join((", ".join(parts), *more))

    return name


def cell_frame(lines: Iterable[tuple[str, str | int, float, int]]) -> pd.DataFrame:
    """The cells of a table, one a line, as `ScoreTables.of` takes them."""
    return pd.DataFrame(list(lines), columns=["row", "column", "value", "n"])
