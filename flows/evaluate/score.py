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
from flows.evaluate.models import family_of
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
    """Score a file of predictions; of a family whose parts hold dialogues, without one, those of the build."""
    console = make_console()
    project = open_build(out, console)
    family = family_of(project, name)
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
    """The tables of the dialogues that the build holds itself."""
    held = family.evaluation.dialogues
    assert held is not None
    there = {part.name for one, part in project.build.parts() if one.name == family.name}
    if missing := [part for part in held.parts if part not in there]:
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
    """The tables of a file of ratings, as an evaluation wrote it or in its form."""
    held = family.evaluation.dialogues
    assert held is not None
    page = page_of(path, output)
    given = given_context(family, project, path)
    if not given.records(held.parts[-1]):
        raise WrongInput(f"{path}: has no rows; `touchstone evaluate {family.name}` writes them")
    with partly(path) as told:
        result = held.tables(held.select(given, partial))
    title = f"{project.config.name}: {family.name} on {path.stem}"
    show_tables(console, result, [*map(str, told), *result.notes], page, title, output)


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
    said: Sequence[str] = (),
) -> None:
    """Score a file of predictions, and show its tables and those of `more`, after what is to be `said` first."""
    settings = settings_now(project, family)
    page = page_of(path, output)
    seen: list[Prediction] = []
    with console.status(f"scoring {path}"), partly(path) as told:
        result = family.evaluation.score(
            map(family.evaluation.scored, rows), tally(read_predictions(path, family), seen), partial, settings
        )
    result = result.joined(told_beside(seen, [one for part in told for one in part.left_out]))
    if more is not None:
        result = result.joined(more)
    title = f"{project.config.name}: {family.name} on {path.stem}"
    show_tables(console, result, [*rows.notes, *map(str, told), *result.notes], page, title, output, said)


@contextmanager
def partly(path: Path) -> Iterator[list[PartialScores]]:
    """What is said of scores of what is there, once they are there; what does not fit is refused by the file's name."""
    said: list[PartialScores] = []
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PartialScores)
            yield said
    except ScoreError as error:
        raise ScoreError(f"{path}: {error}") from error
    said += [one.message for one in told if isinstance(one.message, PartialScores)]


def page_of(path: Path | None, output: Path | None) -> Path:
    """Where the page goes, beside tables or predictions. Raises `WrongInput` where a file would be written over
    another."""
    beside = output or path
    assert beside is not None
    page = beside.with_suffix(".html")
    files = [one.resolve() for one in (page, output, path) if one is not None]
    if len(set(files)) < len(files):
        raise WrongInput(f"{beside}: tables, page and predictions are three files; name another under --output")
    return page


def read_predictions(path: Path, family: Family) -> Iterator[Prediction]:
    """The predictions of a JSONL file: replies, or where the family weighs options, scores.

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
    with whole_file(output) as file:
        file.writelines(json.dumps({"id": at, "score": score}) + "\n" for at, score in scored.items())
    make_console().print(f"{output}: {len(scored)} scores", soft_wrap=True)
