"""Scores files of predictions, and the dialogues of a build."""

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from data.sources.files import json_lines
from data.whole_file import whole_file
from flows.construct.engine import Family
from flows.evaluate.records import dialogue_context, given_context
from flows.evaluate.rows import EvaluatedRows, evaluated_rows, settings_now
from flows.evaluate.tables_shown import show_tables
from flows.project.console import make_console
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.scoring.metrics import METRICS
from flows.scoring.tables import PartialScores, ScoreError, ScoreTables, tally, told_beside
from schemas.errors import WrongInput, first_problem, nearest
from schemas.prediction import Prediction


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
    held = family.evaluation.dialogues
    assert held is not None
    built_parts = {part.name for built_family, part in project.build.parts() if built_family.name == family.name}
    if missing := [part for part in held.parts if part not in built_parts]:
        raise WrongInput(
            f"{family.name}: this build has no {' and '.join(missing)}; name a file of them by --input, or build them"
        )
    output = output or project.out / "predictions" / f"{family.name}-built.tables.json"
    page = page_of(None, output)
    with console.status("scoring"):
        result = held.tables(dialogue_context(family, project.build))
    show_tables(console, result, result.notes, page, f"{project.config.name}: {family.name} as it was built", output)


def _score_dialogues(
    console: Console, project: Project, family: Family, path: Path, output: Path | None, *, partial: bool
) -> None:
    """Show the tables of a file of ratings in the form that an evaluation writes."""
    held = family.evaluation.dialogues
    assert held is not None
    page = page_of(path, output)
    context = given_context(family, project, path)
    if not context.records(held.parts[-1]):
        raise WrongInput(f"{path}: has no rows; `touchstone evaluate {family.name}` writes them")
    with partly(path) as left_out:
        result = held.tables(held.select(context, partial))
    title = f"{project.config.name}: {family.name} on {path.stem}"
    show_tables(console, result, [*map(str, left_out), *result.notes], page, title, output)


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
    messages: Sequence[str] = (),
) -> None:
    """Score a file of predictions; print the `messages`, then its tables and those of `more`."""
    settings = settings_now(project, family)
    page = page_of(path, output)
    predictions: list[Prediction] = []
    with console.status(f"scoring {path}"), partly(path) as left_out:
        result = family.evaluation.score(
            map(family.evaluation.scored, rows), tally(read_predictions(path, family), predictions), partial, settings
        )
    result = result.joined(told_beside(predictions, [id_ for scores in left_out for id_ in scores.left_out]))
    if more is not None:
        result = result.joined(more)
    title = f"{project.config.name}: {family.name} on {path.stem}"
    show_tables(console, result, [*rows.notes, *map(str, left_out), *result.notes], page, title, output, messages)


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


def read_predictions(path: Path, family: Family) -> Iterator[Prediction]:
    """Yield the predictions of a JSONL file: replies, or scores if the family weighs options.

    Raises `WrongInput` for a bad line.
    """
    wanted = "prediction" if family.evaluation.choices is None else "scores"
    for row in json_lines(str(path)):
        advice = f"a row has id, variant and {wanted}"
        try:
            prediction = Prediction.model_validate(dict(row.values))
        except ValidationError as error:
            raise row.error(first_problem(error, "the row"), advice) from error
        if prediction.failure is None and (prediction.scores is None) != (wanted == "prediction"):
            raise row.error(f"it has no {wanted}", advice)
        yield prediction


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
    make_console().print(f"{output}: {len(scored)} scores", soft_wrap=True)
