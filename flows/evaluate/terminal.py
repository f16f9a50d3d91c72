"""Evaluates models and estimates evaluations, with output for a terminal."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from flows.construct.engine import Family
from flows.construct.evaluation import DialogueContext
from flows.construct.progress import ProgressListener
from flows.construct.stages import Build
from flows.evaluate.attention import attend, turn_tables
from flows.evaluate.author_versions import author_versions
from flows.evaluate.dialogues import as_paid, build_with, hold
from flows.evaluate.estimate import evaluation_lines
from flows.evaluate.models import file_name, reading_model, weighing_model
from flows.evaluate.predictions import NothingAnswered, predict, weigh
from flows.evaluate.records import Written, beside, dialogue_context, rows_in, write_dialogues
from flows.evaluate.report import show_tables
from flows.evaluate.rows import EvaluatedRows, GivenRows, evaluated_rows
from flows.evaluate.score import counted_before, score_answered, score_predictions, tell_left
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent, Usage
from flows.project.console import LogInterval, make_console, money
from flows.project.evaluated import PREDICTIONS, read_predictions, settings_now, write_note
from flows.project.locks import building, one_evaluation
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.run.estimate import Estimate, EstimateLine, summed
from flows.run.summary import print_estimate
from flows.run.terminal import Terminal
from schemas.base import counted
from schemas.errors import Failed, WrongInput


def evaluate_family(
    name: str, model: str, limit: int | None, out: Path | None, *, attention: bool = False, reader: str | None = None
) -> None:
    """Ask a model about a family's rows, write its predictions, and score them.

    `attention` adds tables of what a local model attends to. `reader` names a local model that reads finished
    dialogues; tables of what it attends to are added.
    """
    console = make_console()
    project = open_build(out, console)
    family = project.family(name)
    weighs = weighing_model(project, family, model)
    if attention and not (family.evaluation.chunks is not None and isinstance(weighs, LocalModel)):
        why = "its texts have no chunks" if family.evaluation.chunks is None else f"{model} is not of provider local"
        if family.evaluation.dialogues is not None:
            why = "name a local model that reads its dialogues by --attention-model"
        raise WrongInput(f"--attention: cannot be told of {name} by {model}: {why}")
    reads = None if reader is None else reading_model(project, family, reader)
    if family.evaluation.dialogues is not None:
        _evaluate_in_dialogues(console, project, family, model, limit, reads)
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
    path = project.out / PREDICTIONS / f"{family.name}-{file_name(model)}.jsonl"
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
                    console.print(f"  {label}: {done:,} of {total:,} rows, {counted(asked, 'call')}")

            stopped = _write_predictions(project, family, model, weighs, rows, path, show, usage)
            if attention and isinstance(weighs, LocalModel):
                progress.update(task, description="attention", completed=0)
                attention_tables = attend(family, weighs, rows, show)
    finally:
        project.close()
    if not isinstance(stopped, NothingAnswered):
        write_note(project, family, model, rows, path)
    messages = [
        f"{len(rows):,} of {counted(rows.built, 'row')} asked about",
        f"{path}: {_calls(usage)}, money: {money(usage)}",
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


def _evaluate_in_dialogues(
    console: Console, project: Project, family: Family, model: str, limit: int | None, reads: LocalModel | None
) -> None:
    """Hold dialogues with the model and have them rated; write dialogues, ratings and tables beside the build's own."""
    held = family.evaluation.held
    stopped: BudgetSpent | None = None
    notes: list[str] = []
    project.models.tell = notes.append
    try:
        if reads is not None:
            with console.status(f"loading {reads.name}"):
                reads.load()
        stem = project.out / PREDICTIONS / f"{family.name}-{file_name(model)}"
        with building(project.state), one_evaluation(project.state, stem):
            build = build_with(project, family, model, limit)
            asked = Usage()
            with Terminal(console) as listener:
                try:
                    hold(project, family, build, listener, asked)
                except BudgetSpent as spent:
                    stopped = spent
                    build = _held_as_paid(project, family, build, limit, listener, asked)
            context = dialogue_context(family, build)
            rated = len(build.accepted(family.name, held.parts[-1]))
            if stopped is not None and not rated:
                ratings = beside(stem, held.parts[-1])
                tell_left(console, ratings, rows_in(ratings), "rated")
                raise project.over_budget() from stopped
            written = write_dialogues(family, context, stem)
            messages = [*_written_in_words(family, build, context, written), *map(escape, notes)]
            with console.status("scoring"):
                result = held.tables(context)
            if reads is not None and held.cases is not None:
                with console.status(f"{reads.name} reads dialogues"):
                    result = result.joined(turn_tables(reads, held.cases(context)))
    finally:
        project.close()
    if stopped is not None:
        asked.cost_usd = project.models.budget.spent_usd  # with what was in flight at the stop
    messages.append(f"{_calls(asked)}, money: {money(asked)}")
    output = stem.with_name(f"{stem.name}.tables.json")
    title = f"{project.config.name}: {family.name} on {model}"
    show_tables(console, result, result.notes, output.with_suffix(".html"), title, output, messages)
    if stopped is not None:
        raise project.over_budget() from stopped
    if not rated:
        raise Failed(f"no rating was kept; {written[-1].path} shows why each was dropped")


def _written_in_words(
    family: Family, build: Build, context: DialogueContext, written: Sequence[Written]
) -> Iterator[str]:
    """Yield a line for each file that an evaluation in dialogues wrote."""
    held = family.evaluation.held
    for part, file in zip(held.parts, written, strict=False):
        kept, dropped = len(build.accepted(family.name, part)), sum(1 for _ in context.dropped(part))
        instead = f", in place of {file.before:,}" if file.before > kept else ""
        yield f"{file.path}: {kept:,} kept{instead}, {dropped:,} dropped"
    yield f"{written[-1].path}: what was dropped, and why"


def _held_as_paid(
    project: Project, family: Family, build: Build, limit: int | None, listener: ProgressListener, asked: Usage
) -> Build:
    """Finish a stopped build with the answers paid for, and return it; `asked` adds up both attempts."""
    paid, asked.cached = asked.calls, 0
    partial_build = as_paid(project, family, build, limit)
    hold(project, family, partial_build, listener, asked)
    # Answers that the first attempt paid for come from the cache now, but are reported as paid.
    asked.cached = max(0, asked.cached - paid)
    return partial_build


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
    family = project.family(name)
    authors = family.evaluation.authors
    if authors is None:
        raise WrongInput(f"--by-author: models are not asked about what people write for {name}")
    if attention:
        raise WrongInput("--attention: tells of a build's rows and dialogues; leave it out, or --by-author")
    weighs = weighing_model(project, family, model)
    if weighs is None:
        raise WrongInput(f"--by-author: {name} has no options to weigh")
    versions, notes = author_versions(project, family, authors, limit)
    path = project.out / PREDICTIONS / f"{name}-{file_name(model)}-by-author.jsonl"
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
    messages = [f"{path}: {_calls(usage)}"]
    title = f"{project.config.name}: {name} by author, on {model}"

    def compare() -> None:
        scored = [version._replace(row=family.evaluation.scored(version.row)) for version in versions]
        result = authors.compare(scored, read_predictions(path, family))
        show_tables(console, result, [*notes, *result.notes], path.with_suffix(".html"), title, messages=messages)

    score_answered(console, project, path, before, stopped, compare)


def _calls(usage: Usage) -> str:
    return f"{counted(usage.calls, 'call')}, {counted(usage.cached, 'answer')} from the cache"
