"""Predictions that replace earlier ones, and scores of an evaluation that the budget stopped."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from flows.evaluate.predictions import NothingAnswered
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent
from flows.project.project import Project
from flows.scoring.tables import ScoreError
from schemas.errors import WrongInput

_ID = re.compile(r'\{"id": "([^"]*)"')


class Counted(NamedTuple):
    """The number of rows that a file has predictions on, and the number of predictions."""

    rows: int
    predictions: int


def _counted(path: Path) -> Counted:
    if not path.exists():
        return Counted(0, 0)
    with path.open(encoding="utf-8", errors="replace") as lines:
        ids = [match[1] for line in lines if (match := _ID.match(line))]
    return Counted(len(set(ids)), len(ids))


def counted_before(path: Path, rows: int, weighs: LikelihoodModel | None) -> Counted:
    """Count the predictions in a file that predictions on `rows` rows are about to replace.

    Raises `WrongInput` if some would be lost: the scores of a local model are kept nowhere else.
    """
    before = _counted(path)
    if rows < before.rows and isinstance(weighs, LocalModel):
        raise WrongInput(
            f"{path}: has predictions on {before.rows:,} rows, whose place those on {rows:,} would take, and what a "
            "local model weighed is kept nowhere else; move the file away, or ask about as many rows"
        )
    return before


def _tell_replaced(console: Console, path: Path, before: Counted) -> None:
    """Print a warning if fewer predictions replaced more."""
    now = _counted(path)
    if now.rows < before.rows:
        change = f"predictions on {now.rows:,} rows take the place of those on {before.rows:,}"
    elif now.predictions < before.predictions:
        change = f"{now.predictions:,} predictions take the place of {before.predictions:,}"
    else:
        return
    warning = f"{path}: {change}, whose answers stay in the cache: asked for again, they cost nothing"
    console.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)


def tell_left(console: Console, path: Path, before: int, what: str) -> None:
    """Print that the budget left nothing to write to a file, which had `before` rows."""
    outcome = f"the {before:,} rows of before stay there, with their tables" if before else "nothing is written"
    warning = f"{path}: nothing was {what} before the budget was spent; {outcome}"
    console.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)


def score_answered(
    console: Console,
    project: Project,
    path: Path,
    before: Counted,
    stopped: BudgetSpent | None,
    score: Callable[[], None],
) -> None:
    """Score an evaluation, or if `stopped` the predictions made before the budget was spent, then raise that error.

    Prints a warning if the file has fewer predictions than before.
    """
    if isinstance(stopped, NothingAnswered):
        tell_left(console, path, before.predictions, "answered")
        raise project.over_budget() from stopped
    _tell_replaced(console, path, before)
    if stopped is None:
        score()
        return
    try:
        score()
    except ScoreError as error:  # the spent budget, raised below, is the more serious error
        console.print(f"[yellow]{escape(str(error))}[/]", soft_wrap=True)
    raise project.over_budget() from stopped
