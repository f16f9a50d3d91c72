"""Evaluates and scores: predictions in, tables out."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from data.sources.files import json_lines
from flows.cli.reading import open_build
from flows.cli.terminal import make_console
from flows.compose import Project
from flows.construct.engine import Family
from flows.evaluate import EVALUATED, EvaluatedRows, evaluated_rows, predict
from flows.report.evaluation import write_evaluation
from flows.scoring.qa import METRICS
from flows.scoring.tables import PartialScores, ScoreError
from flows.settings import nearest
from schemas.errors import WrongInput, first_problem
from schemas.prediction import Prediction

LINES_SHOWN = 40
"""Lines of a table on the terminal."""


def evaluate_family(name: str, model: str, limit: int | None, out: Path | None) -> None:
    """Ask, write the predictions, score."""
    console = make_console()
    project = open_build(out, console)
    family = _family(project, name)
    known = ["default", EVALUATED, *(prompt.role for prompt in family.prompts), *project.config.models]
    if model not in known:
        raise WrongInput(f"--model {model}: no such model in {project.config_path}{nearest(model, known)}")
    path = project.out / "predictions" / f"{name}-{model}.jsonl"
    rows = evaluated_rows(project, family, limit)
    if family.evaluation.ready is not None:
        family.evaluation.ready(project.build.families[name].settings)
    try:
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{name} → {model}")
            usage = predict(
                project,
                family,
                project.model(model, family),
                rows,
                path,
                lambda done, total: progress.update(task, completed=done, total=total),
            )
    finally:
        project.close()
    money = f", ${usage.cost_usd:.4f}" if usage.cost_usd else ""
    console.print(f"{len(rows):,} of {len(evaluated_rows(project, family, None)):,} rows were asked about")
    console.print(f"{path}: {usage.calls:,} calls, {usage.cached:,} answers from the cache{money}", soft_wrap=True)
    _score(console, project, family, rows, path, path.with_suffix(".tables.json"), partial=False)


def score_family(name: str, predictions: Path, output: Path | None, partial: bool, out: Path | None) -> None:
    """Score a file of predictions."""
    console = make_console()
    project = open_build(out, console)
    family = _family(project, name)
    _score(console, project, family, evaluated_rows(project, family, None), predictions, output, partial=partial)


def _score(
    console: Console,
    project: Project,
    family: Family,
    rows: EvaluatedRows,
    path: Path,
    output: Path | None,
    *,
    partial: bool,
) -> None:
    settings = project.build.families[family.name].settings
    page = (output or path).with_suffix(".html")
    for written in (page, *([output] if output else [])):
        if written.resolve() == path.resolve() or (written == output and written.resolve() == page.resolve()):
            raise WrongInput(f"{written}: tables, page and predictions are three files; name another under --output")
    try:
        with console.status(f"scoring {path}"), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PartialScores)
            result = family.evaluation.score(
                map(family.evaluation.scored, rows), read_predictions(path), partial, settings
            )
    except ScoreError as error:
        raise ScoreError(f"{path}: {error}") from error
    for name, frame in result.frames.items():
        table = Table(title=name, title_justify="left", title_style="bold")
        shown = frame.reset_index()
        for column in shown.columns:
            table.add_column(str(column))
        for row in shown.head(LINES_SHOWN).itertuples(index=False):
            table.add_row(*(_cell(value) for value in row))
        console.print(table)
        if len(shown) > LINES_SHOWN:
            console.print(f"and {len(shown) - LINES_SHOWN:,} lines more; the page has all of them")
    partly = [str(one.message) for one in told if issubclass(one.category, PartialScores)]
    for note in (*partly, *result.notes):
        console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    write_evaluation(page, f"{project.config.name}: {family.name} on {path.stem}", result.frames)
    console.print(f"{page}: the tables with their curves", soft_wrap=True)
    if output is not None:
        cells = [cell.model_dump() for cell in result.tables]
        temporary = output.with_name(f"{output.name}.tmp")
        temporary.write_text(json.dumps(cells, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        temporary.replace(output)
        console.print(f"{output}: {len(cells)} values", soft_wrap=True)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - not a number
            return "-"
        return f"{value:.0f}" if value.is_integer() and value > 1 else f"{value:.3f}"
    return escape(str(value))


def _family(project: Project, name: str) -> Family:
    families = {family.name: family for family, _ in project.build.parts()}
    if name not in families:
        raise WrongInput(f"{name}: no such family in this build{nearest(name, list(families))}")
    return families[name]


def read_predictions(path: Path) -> Iterator[Prediction]:
    """The predictions of a JSONL file. Raises `WrongInput` for a bad line."""
    for row in json_lines(str(path)):
        try:
            yield Prediction.model_validate(dict(row.values))
        except ValidationError as error:
            raise row.error(first_problem(error, "the row"), "a row has id, variant and prediction") from error


def score_rows(name: str, rows: Path, output: Path) -> None:
    """Score rows of `{id, prediction, answers, keywords, lang}` into `{id, score}` by one metric."""
    if name not in METRICS:
        raise WrongInput(f"{name}: no such metric{nearest(name, list(METRICS))}")
    scored: dict[str, float] = {}
    for number, row in enumerate(json_lines(str(rows)), 1):
        at = str(row.values.get("id", number))
        if at in scored:
            raise row.error(f"{at} stands twice", "every row has an id of its own")
        keywords, lang = row.values.get("keywords"), row.values.get("lang", "en")
        try:
            scored[at] = METRICS[name](row.text("prediction"), row.texts("answers"), keywords, lang)  # type: ignore[arg-type]
        except ValueError as error:
            raise row.error(str(error), "a row has id, prediction, answers, keywords and lang") from error
    if not scored:
        raise WrongInput(f"{rows}: has no rows; a row has id, prediction, answers, keywords and lang")
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f"{output.name}.tmp")
    lines = [json.dumps({"id": at, "score": score}) + "\n" for at, score in scored.items()]
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(output)
    make_console().print(f"{output}: {len(scored)} scores", soft_wrap=True)
