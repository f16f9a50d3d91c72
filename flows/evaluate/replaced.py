"""Predictions that take the place of earlier ones, and scores of an evaluation that the budget stopped."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from flows.evaluate.predictions import NothingAnswered
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent
from flows.llm.options import LikelihoodModel
from flows.project.project import Project
from flows.scoring.tables import ScoreError
from schemas.errors import WrongInput

_ID = re.compile(r'\{"id": "([^"]*)"')


class Counted(NamedTuple):
    """How many rows a file has predictions on, and how many predictions."""

    rows: int
    predictions: int


def _counted(path: Path) -> Counted:
    if not path.exists():
        return Counted(0, 0)
    with path.open(encoding="utf-8", errors="replace") as lines:
        ids = [found[1] for line in lines if (found := _ID.match(line))]
    return Counted(len(set(ids)), len(ids))


def counted_before(path: Path, rows: int, weighs: LikelihoodModel | None) -> Counted:
    """What a file has whose place predictions on so many rows are to take.

    Raises `WrongInput` where some of it would be lost: what a local model weighed is kept nowhere else.
    """
    before = _counted(path)
    if rows < before.rows and isinstance(weighs, LocalModel):
        raise WrongInput(
            f"{path}: has predictions on {before.rows:,} rows, whose place those on {rows:,} would take, and what a "
            "local model weighed is kept nowhere else; move the file away, or ask about as many rows"
        )
    return before


def _tell_replaced(console: Console, path: Path, before: Counted) -> None:
    """Say so where fewer predictions took the place of more."""
    now = _counted(path)
    if now.rows < before.rows:
        said = f"predictions on {now.rows:,} rows take the place of those on {before.rows:,}"
    elif now.predictions < before.predictions:
        said = f"{now.predictions:,} predictions take the place of {before.predictions:,}"
    else:
        return
    told = f"{path}: {said}, whose answers stay in the cache: asked for again, they cost nothing"
    console.print(f"[yellow]{escape(told)}[/]", soft_wrap=True)


def tell_left(console: Console, path: Path, before: int, what: str) -> None:
    """Say what became of a file of so many rows where the budget left nothing to write."""
    there = f"the {before:,} rows of before stay there, with their tables" if before else "nothing is written"
    said = f"{path}: nothing was {what} before the budget was spent; {there}"
    console.print(f"[yellow]{escape(said)}[/]", soft_wrap=True)


def score_answered(
    console: Console,
    project: Project,
    path: Path,
    before: Counted,
    stopped: BudgetSpent | None,
    score: Callable[[], None],
) -> None:
    """Score an evaluation: all of it, or what was answered before the budget was spent, which is raised at last.

    Where it left fewer predictions in the file than there were before, that is said.
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
    except ScoreError as error:  # what stopped the evaluation is the graver
        console.print(f"[yellow]{escape(str(error))}[/]", soft_wrap=True)
    raise project.over_budget() from stopped
