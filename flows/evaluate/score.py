"""Scores files of predictions, and the dialogues of a build.

Predictions may replace earlier ones, and an evaluation may have been stopped by the budget: a person is told so.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape

from data.sources.files import json_lines
from data.whole_file import whole_file
from flows.construct.engine import Family
from flows.evaluate.failures import failed_values, failures
from flows.evaluate.predictions import NothingAnswered, Unanswered
from flows.evaluate.records import dialogue_context, given_context
from flows.evaluate.report import Shown, show_tables
from flows.evaluate.rows import EvaluatedRows, RowPlaces, evaluated_rows
from flows.evaluate.scores_file import EarlierLine, Spent, earlier_lines, scores_path
from flows.evaluate.signature import Signature
from flows.evaluate.source_time import DateOf, dates_of_rows, with_source_time
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent
from flows.project.console import make_console
from flows.project.evaluated import PREDICTIONS, read_predictions, settings_now
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.scoring.metrics import METRICS
from flows.scoring.on_disk import Rows
from flows.scoring.tables import Beside, PartialScores, ScoreError, ScoreTables, tally, told_beside
from schemas.base import counted
from schemas.errors import WrongInput, nearest

_ID = re.compile(r'\{"id": "([^"]*)"')


def score_family(name: str, predictions: Path | None, output: Path | None, partial: bool, out: Path | None) -> None:
    """Score a file of predictions; without one, the dialogues of the build, if the family holds dialogues."""
    console = make_console()
    project = open_build(out, console)
    family = project.family(name)
    if family.evaluation.dialogues is not None:
        if predictions is None:
            _score_built(console, project, family, output)
        else:
            _score_dialogues(console, project, family, predictions, output, partial=partial)
        return
    if predictions is None:
        raise WrongInput(f"--input: is missing; name the predictions, as `touchstone evaluate {name}` writes them")
    score_predictions(
        console, project, family, evaluated_rows(project, family, None), predictions, output, partial=partial
    )


def _score_built(console: Console, project: Project, family: Family, output: Path | None) -> None:
    """Show the tables of the build's own dialogues."""
    held = family.evaluation.held
    built_parts = {part.name for built_family, part in project.build.parts() if built_family.name == family.name}
    if missing := [part for part in held.parts if part not in built_parts]:
        raise WrongInput(
            f"{family.name}: this build has no {' and '.join(missing)}; name a file of them by --input, or build them"
        )
    output = output or project.out / PREDICTIONS / f"{family.name}-built.tables.json"
    page = page_of(None, output)
    with console.status("scoring"):
        result = held.tables(dialogue_context(family, project.build))
    title = f"{project.config.name}: {family.name} as it was built"
    show_tables(console, Shown(title, result, result.notes, family.evaluation.measures), page, output)


def _score_dialogues(
    console: Console, project: Project, family: Family, path: Path, output: Path | None, *, partial: bool
) -> None:
    """Show the tables of a file of ratings in the form that an evaluation writes."""
    held = family.evaluation.held
    page = page_of(path, output)
    context = given_context(family, project, path)
    if not any(True for _ in context.records(held.parts[-1])):
        raise WrongInput(f"{path}: has no rows; `touchstone evaluate {family.name}` writes them")
    with partly(path) as left_out:
        result = held.tables(held.select(context, partial))
    title = f"{project.config.name}: {family.name} on {path.stem}"
    notes = [*map(str, left_out), *result.notes]
    show_tables(console, Shown(title, result, notes, family.evaluation.measures), page, output)


class Scored(NamedTuple):
    """A file of predictions, scored."""

    result: ScoreTables
    notes: Sequence[str]
    places: RowPlaces
    dates: Rows
    """The dates of the rows' sources, where they state one."""


def scores_of(
    project: Project, family: Family, rows: EvaluatedRows, path: Path, date_of: DateOf, *, partial: bool
) -> Scored:
    """Score a file of predictions; `date_of` gives the dates of the rows.

    Raises `ScoreError` for those that do not fit the rows.
    """
    evaluation, settings = family.evaluation, settings_now(project, family)
    seen, places, dates = Beside(), RowPlaces(rows), Rows()

    def scored() -> Iterator[Any]:
        for row in rows:
            places.append(row.id)
            if (date := date_of(row)) is not None:
                dates.add(row.id, date)
            yield evaluation.scored(row)

    with partly(path) as left_out:
        result = evaluation.score(scored(), tally(read_predictions(path, family), seen), partial, settings)
    for scores in left_out:
        seen.subtract(scores.left_out)
    result = result.joined(told_beside(seen))
    return Scored(result, [*rows.notes, *map(str, left_out), *result.notes], places, dates)


def score_predictions(
    console: Console,
    project: Project,
    family: Family,
    rows: EvaluatedRows,
    path: Path,
    output: Path | None,
    *,
    partial: bool,
    more: ScoreTables | None = None,
    signature: Signature | None = None,
    spent: Spent | None = None,
    messages: Sequence[str] = (),
) -> None:
    """Score a file of predictions; print the `messages`, then its tables and those of `more`, and its figures."""
    page = page_of(path, output)
    with console.status(f"scoring {escape(str(path))}"):
        scored = scores_of(project, family, rows, path, dates_of_rows(project), partial=partial)
        chosen = failed_values(family.evaluation.measures, scored.result.values)
        examples = failures(family, scored.places, read_predictions(path, family), chosen)
    result = scored.result if more is None else scored.result.joined(more)
    measures, result = with_source_time(family.evaluation.measures, result, scored.dates)
    shown = Shown(
        f"{project.config.name}: {family.name} on {path.stem.removeprefix(f'{family.name}-')}",
        result,
        scored.notes,
        measures,
        examples,
        signature,
        spent,
        earlier_of(family, signature, output),
        partial,
    )
    show_tables(console, shown, page, output, messages)


def earlier_of(family: Family, signature: Signature | None, tables: Path | None) -> Sequence[EarlierLine]:
    """Return the figures of models that were evaluated before, whose files lie beside the tables of this one."""
    if signature is None or tables is None:
        return ()
    units = {measure.name: measure.unit for measure in family.evaluation.measures}
    return list(earlier_lines(scores_path(tables), signature, units))


@contextmanager
def partly(path: Path) -> Iterator[list[PartialScores]]:
    """Collect the `PartialScores` warnings of the body into the list it is given; name the file in a `ScoreError`."""
    partial_scores: list[PartialScores] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PartialScores)
            yield partial_scores
    except ScoreError as error:
        raise ScoreError(f"{path}: {error}") from error
    partial_scores += [warning.message for warning in caught if isinstance(warning.message, PartialScores)]


def page_of(path: Path | None, output: Path | None) -> Path:
    """Return the path of the page beside tables or predictions. Raises `WrongInput` if two files would be the same."""
    beside = output or path
    assert beside is not None
    page = beside.with_suffix(".html")
    files = [file.resolve() for file in (page, output, path) if file is not None]
    if len(set(files)) < len(files):
        raise WrongInput(f"{beside}: tables, page and predictions are three files; name another under --output")
    return page


def score_rows(name: str, rows: Path, output: Path) -> None:
    """Score rows of `{id, prediction, answers, keywords, lang}` into `{id, score}` by one metric."""
    if name not in METRICS:
        raise WrongInput(f"{name}: no such metric; {nearest(name, list(METRICS))}")
    scored: dict[str, float] = {}
    for number, row in enumerate(json_lines(str(rows)), 1):
        id_ = str(row.values.get("id", number))
        if id_ in scored:
            raise row.error(f"{id_} stands twice", "every row has an id of its own")
        keywords, lang = row.values.get("keywords"), row.values.get("lang", "en")
        try:
            scored[id_] = METRICS[name](row.text("prediction"), row.texts("answers"), keywords, lang)  # type: ignore[arg-type]
        except ValueError as error:
            raise row.error(str(error), "a row has id, prediction, answers, keywords and lang") from error
    if not scored:
        raise WrongInput(f"{rows}: has no rows; a row has id, prediction, answers, keywords and lang")
    with whole_file(output) as file:
        file.writelines(json.dumps({"id": id_, "score": score}) + "\n" for id_, score in scored.items())
    make_console().print(f"{output}: {len(scored)} scores", soft_wrap=True, markup=False)


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
            f"{path}: has predictions on {counted(before.rows, 'row')}, whose place those on {rows:,} would take, and "
            "what a local model weighed is kept nowhere else; move the file away, or ask about as many rows"
        )
    return before


def tell_replaced(console: Console, path: Path, before: Counted) -> None:
    """Print a warning if fewer predictions replaced more."""
    now = _counted(path)
    if now.rows < before.rows:
        change = f"predictions on {counted(now.rows, 'row')} take the place of those on {before.rows:,}"
    elif now.predictions < before.predictions:
        change = f"now there are {counted(now.predictions, 'prediction')} in place of {before.predictions:,}"
    else:
        return
    warning = f"{path}: {change}, whose answers stay in the cache: asked for again, they cost nothing"
    console.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)


def tell_left(console: Console, path: Path, before: int, what: str) -> None:
    """Print that the budget left nothing to write to a file, which had `before` rows."""
    outcome = f"what was there stays, {counted(before, 'row')}, with the tables" if before else "nothing is written"
    warning = f"{path}: nothing was {what} before the budget was spent; {outcome}"
    console.print(f"[yellow]{escape(warning)}[/]", soft_wrap=True)


def score_answered(
    console: Console,
    project: Project,
    path: Path,
    before: Counted,
    stopped: BudgetSpent | Unanswered | None,
    score: Callable[[], None],
) -> None:
    """Score an evaluation, or if `stopped` the predictions that could be made, then raise that error.

    Prints a warning if the file has fewer predictions than before.
    """
    if isinstance(stopped, NothingAnswered):
        tell_left(console, path, before.predictions, "answered")
        raise project.over_budget() from stopped
    tell_replaced(console, path, before)
    if stopped is None:
        score()
        return
    try:
        score()
    except ScoreError as error:  # what stopped it, raised below, is the more serious error
        console.print(f"[yellow]{escape(str(error))}[/]", soft_wrap=True)
    if isinstance(stopped, Unanswered):
        raise stopped
    raise project.over_budget() from stopped
