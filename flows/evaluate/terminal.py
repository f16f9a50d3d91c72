"""Evaluates models and estimates evaluations, with output for a terminal."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from flows.construct.engine import Family
from flows.evaluate.attention import attend
from flows.evaluate.author_versions import author_versions
from flows.evaluate.dialogues_terminal import evaluate_in_dialogues
from flows.evaluate.estimate import evaluation_lines
from flows.evaluate.models import family_of, file_name, reading_model, weighing_model
from flows.evaluate.predictions import predict, weigh
from flows.evaluate.replaced import counted_before, score_answered
from flows.evaluate.rows import EvaluatedRows, GivenRows, evaluated_rows, settings_now
from flows.evaluate.score import read_predictions, score_predictions
from flows.evaluate.tables_shown import show_tables
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent, Usage
from flows.project.console import LogInterval, make_console, money
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.run.estimate import Estimate, EstimateLine, summed
from flows.run.summary import print_estimate
from schemas.errors import WrongInput


def evaluate_family(
    name: str, model: str, limit: int | None, out: Path | None, *, attention: bool = False, reader: str | None = None
) -> None:
    """Ask a model about a family's rows, write its predictions, and score them.

    `attention` adds tables of what a local model attends to. `reader` names a local model that reads finished
    dialogues; tables of what it attends to are added.
    """
    console = make_console()
    project = open_build(out, console)
    family = family_of(project, name)
    weighs = weighing_model(project, family, model)
    if attention and not (family.evaluation.chunks is not None and isinstance(weighs, LocalModel)):
        why = "its texts have no chunks" if family.evaluation.chunks is None else f"{model} is not of provider local"
        if family.evaluation.dialogues is not None:
            why = "name a local model that reads its dialogues by --attention-model"
        raise WrongInput(f"--attention: cannot be told of {name} by {model}: {why}")
    reads = None if reader is None else reading_model(project, family, reader)
    if family.evaluation.dialogues is not None:
        evaluate_in_dialogues(console, project, family, model, limit, reads)
    else:
        _evaluate_rows(console, project, family, model, weighs, limit, attention=attention)


def _evaluate_rows(
    console: Console,
    project: Project,
    family: Family,
    model: str,
    weighs: LikelihoodModel | None,
    limit: int | None,
    *,
    attention: bool,
) -> None:
    """Ask about rows, or have their options weighed by `weighs`; write the predictions and score them."""
    label = f"{family.name} → {model}"
    path = project.out / "predictions" / f"{family.name}-{file_name(model)}.jsonl"
    rows = evaluated_rows(project, family, limit)
    before = counted_before(path, len(rows), weighs)
    if family.evaluation.ready is not None:
        family.evaluation.ready(settings_now(project, family))
    attention_tables, usage, notes = None, Usage(), list[str]()
    project.models.tell = notes.append
    try:
        _load(console, weighs)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(label)
            log = LogInterval(console)

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)
                if log.due():
                    asked = usage.calls + usage.cached
                    console.print(f"  {label}: {done:,} of {total:,} rows, {asked:,} calls")

            stopped = _write_predictions(project, family, model, weighs, rows, path, show, usage)
            if attention and isinstance(weighs, LocalModel):
                progress.update(task, description="attention", completed=0)
                attention_tables = attend(family, weighs, rows, show)
    finally:
        project.close()
    messages = [
        f"{len(rows):,} of {rows.built:,} rows were asked about",
        f"{path}: {usage.calls:,} calls, {usage.cached:,} answers from the cache, money: {money(usage)}",
        *map(escape, notes),
    ]

    def score() -> None:
        output, partial = path.with_suffix(".tables.json"), stopped is not None
        score_predictions(
            console, project, family, rows, path, output, partial=partial, more=attention_tables, messages=messages
        )

    score_answered(console, project, path, before, stopped, score)


def _write_predictions(
    project: Project,
    family: Family,
    model: str,
    weighs: LikelihoodModel | None,
    rows: EvaluatedRows,
    path: Path,
    show: Callable[[int, int], None],
    usage: Usage,
) -> BudgetSpent | None:
    """Write the predictions of `weighs`, or else of the model called `model`; return the error if money ran out."""
    try:
        if weighs is not None:
            weigh(project, family, weighs, rows, path, show, usage)
        else:
            predict(project, family, project.models.model(model, family), rows, path, show, usage)
    except BudgetSpent as spent:
        return spent
    return None


def _load(console: Console, model: LikelihoodModel | None) -> None:
    """Load the model now if it is a local one."""
    if isinstance(model, LocalModel):
        with console.status(f"loading {model.name}"):
            model.load()


def estimate_evaluations(model: str, limit: int | None, out: Path) -> None:
    """Print an estimate of evaluating a model on each family of a build that it can be evaluated on."""
    console = make_console()
    project = open_build(out, console)
    project.models.asks = False
    lines: list[EstimateLine] = []
    refused: dict[str, str] = {}
    try:
        for configured in project.build.families.values():
            family = configured.family
            try:
                weighs = weighing_model(project, family, model, "--evaluate")
                lines += evaluation_lines(project, family, model, weighs, limit)
            except WrongInput as error:
                refused[family.name] = str(error)
    finally:
        project.close()
    if not lines:
        raise WrongInput("; ".join(dict.fromkeys(refused.values())))
    notes = [f"{name} is not estimated: {why}" for name, why in refused.items()]
    total = summed(lines)
    if total.cost_usd is None:
        notes.append(f"the price of {model} is not known: give it in a file, and name that under prices")
    basis = "by the rows of the build: nothing cached, answers of usual length or else the longest, and no thoughts"
    print_estimate(Estimate((*lines, total), True, tuple(notes)), console, basis)


def evaluate_authors(name: str, model: str, limit: int | None, out: Path | None, *, attention: bool = False) -> None:
    """Weigh the texts of several authors for the same records, and compare the authors."""
    console = make_console()
    project = open_build(out, console)
    family = family_of(project, name)
    authors = family.evaluation.authors
    if authors is None:
        raise WrongInput(f"--by-author: what people write for {name} is not put to a model")
    if attention:
        raise WrongInput("--attention: tells of a build's rows and dialogues; leave it out, or --by-author")
    weighs = weighing_model(project, family, model)
    if weighs is None:
        raise WrongInput(f"--by-author: {name} has no options to weigh")
    versions, notes = author_versions(project, family, authors, limit)
    path = project.out / "predictions" / f"{name}-{file_name(model)}-by-author.jsonl"
    before = counted_before(path, len({version.row.id for version in versions}), weighs)
    usage = Usage()
    stopped: BudgetSpent | None = None
    try:
        _load(console, weighs)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{name} by author → {model}")

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            weigh(project, family, weighs, GivenRows([version.row for version in versions]), path, show, usage)
    except BudgetSpent as spent:
        stopped = spent
    finally:
        project.close()
    messages = [f"{path}: {usage.calls:,} calls, {usage.cached:,} answers from the cache"]
    title = f"{project.config.name}: {name} by author, on {model}"

    def compare() -> None:
        scored = [version._replace(row=family.evaluation.scored(version.row)) for version in versions]
        result = authors.compare(scored, read_predictions(path, family))
        show_tables(console, result, [*notes, *result.notes], path.with_suffix(".html"), title, messages=messages)

    score_answered(console, project, path, before, stopped, compare)
