"""Evaluates models and estimates evaluations, with output for a terminal."""

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from flows.construct.engine import Family
from flows.evaluate.asking import ask_about_rows, calls_in_words, hold_dialogues, load
from flows.evaluate.attention import attend, turn_tables
from flows.evaluate.author_versions import author_versions
from flows.evaluate.estimate import evaluation_lines
from flows.evaluate.models import file_name, reading_model, weighing_model
from flows.evaluate.predictions import Unanswered, weigh
from flows.evaluate.records import seeds_of
from flows.evaluate.report import Shown, show_tables
from flows.evaluate.rows import EvaluatedRows, GivenRows
from flows.evaluate.score import counted_before, earlier_of, score_answered, score_predictions
from flows.evaluate.source_time import dated, dates_of_rows, with_source_time
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent, Usage
from flows.project.console import make_console, money
from flows.project.evaluated import PREDICTIONS, advice_on_rules, read_predictions
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.project.row_choice import only_rows
from flows.run.costs import both_ways
from flows.run.estimate import Estimate, EstimateLine, summed
from flows.run.summary import print_estimate
from flows.scoring.tables import ScoreTables
from schemas.errors import Failed, WrongInput


def evaluate_family(
    name: str,
    model: str,
    limit: int | None,
    out: Path | None,
    *,
    attention: bool = False,
    reader: str | None = None,
    since: str | None = None,
    source_after: str | None = None,
) -> None:
    """Ask a model about a family's rows, write its predictions, and score them.

    `attention` adds tables of what a local model attends to. `reader` names a local model that reads finished
    dialogues; tables of what it attends to are added. `since` and `source_after` choose rows of a released version.
    """
    console = make_console()
    project = open_build(out, console)
    for line in only_rows(project, since, source_after):
        console.print(line, soft_wrap=True, markup=False)
    family = project.family(name)
    weighs = weighing_model(project, family, model)
    if attention and not (family.evaluation.chunks is not None and isinstance(weighs, LocalModel)):
        why = "its texts have no chunks" if family.evaluation.chunks is None else f"{model} is not of provider local"
        if family.evaluation.dialogues is not None:
            why = "name a local model that reads its dialogues by --attention-model"
        raise WrongInput(f"--attention: cannot be told of {name} by {model}: {why}")
    reads = None if reader is None else reading_model(project, family, reader)
    if family.evaluation.dialogues is not None:
        _show_dialogues(console, project, family, model, limit, reads)
    else:
        _show_rows(console, project, family, model, weighs, limit, attention=attention)


def _show_rows(
    console: Console,
    project: Project,
    family: Family,
    model: str,
    weighs: LikelihoodModel | None,
    limit: int | None,
    *,
    attention: bool,
) -> None:
    """Ask about rows, or have their options weighed by `weighs`; score the predictions."""
    attention_tables: ScoreTables | None = None

    def also(rows: EvaluatedRows, show: Callable[[int, int], None]) -> None:
        nonlocal attention_tables
        if attention and isinstance(weighs, LocalModel):
            attention_tables = attend(family, weighs, rows, show)

    try:
        asked = ask_about_rows(console, project, family, model, weighs, limit, also)
    finally:
        project.close()

    def score() -> None:
        output, partial = asked.path.with_suffix(".tables.json"), asked.stopped is not None
        score_predictions(
            console, project, family, asked.rows, asked.path, output,
            partial=partial, more=attention_tables, signature=asked.signature,
            spent=asked.spent, messages=asked.messages,
        )  # fmt: skip

    score_answered(console, project, asked.path, asked.before, asked.stopped, score)


def _show_dialogues(
    console: Console, project: Project, family: Family, model: str, limit: int | None, reads: LocalModel | None
) -> None:
    """Hold dialogues with the model and have them rated; show their tables."""
    try:
        if reads is not None:
            with console.status(f"loading {escape(reads.name)}"):
                reads.load()
        held = hold_dialogues(console, project, family, model, limit)
        with console.status("scoring"):
            result = family.evaluation.held.tables(held.context)
            dates = dated(seeds_of(family, held.context), dates_of_rows(project))
            measures, result = with_source_time(family.evaluation.measures, result, dates)
        cases = family.evaluation.held.cases
        if reads is not None and cases is not None:
            with console.status(f"{escape(reads.name)} reads dialogues"):
                result = result.joined(turn_tables(reads, cases(held.context)))
    finally:
        project.close()
    if isinstance(held.stopped, BudgetSpent):
        held.usage.cost_usd = project.models.budget.spent_usd  # with what was in flight at the stop
    messages = [*held.messages, f"{calls_in_words(held.usage)}, money: {money(held.usage)}"]
    output = held.stem.with_name(f"{held.stem.name}.tables.json")
    title = f"{project.config.name}: {family.name} on {model}"
    shown = Shown(
        title,
        result,
        result.notes,
        measures,
        (),
        held.signature,
        held.spent,
        earlier_of(family, held.signature, output),
        held.stopped is not None,
    )
    show_tables(console, shown, output.with_suffix(".html"), output, messages)
    if isinstance(held.stopped, BudgetSpent):
        raise project.over_budget() from held.stopped
    if held.stopped is not None:
        raise held.stopped
    if not held.rated:
        told = f"no rating was kept; {held.dropped} shows why each was dropped"
        raise Failed("; ".join(filter(None, [told, advice_on_rules(project, family)])))


def estimate_evaluations(model: str, limit: int | None, out: Path) -> None:
    """Print an estimate of evaluating a model on each family of a build that it can be evaluated on."""
    console = make_console()
    project = open_build(out, console)
    project.models.asks = False
    settings = project.config.model_for(model)
    lines: list[EstimateLine] = []
    asked, rounds = list[EstimateLine](), 1
    refused: dict[str, str] = {}
    try:
        for configured in project.build.families.values():
            family = configured.family
            try:
                weighs = weighing_model(project, family, model, "--evaluate")
                of_family = evaluation_lines(project, family, model, weighs, limit)
                lines += of_family
                asked += of_family if weighs is None else []
                if family.evaluation.dialogues is not None:  # its turns follow each other
                    rounds = max(rounds, sum(line.calls > 0 for line in of_family))
            except WrongInput as error:
                refused[family.name] = str(error)
    finally:
        project.close()
    if not lines:
        raise WrongInput("; ".join(dict.fromkeys(refused.values())))
    notes = [f"{name} is not estimated: {why}" for name, why in refused.items()]
    total = summed(lines)
    if total.cost_usd is None:
        name = settings.name if isinstance(settings, EndpointSettings) else model
        notes.append(f"the price of {name} is not known: give it in a file, and name that under prices")
    is_batched = isinstance(settings, EndpointSettings) and settings.batch
    notes += both_ways(summed(asked).costs, rounds, is_batched=is_batched)
    basis = "by the rows of the build: answers of usual length or else the longest, and no thoughts"
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
    stopped: BudgetSpent | Unanswered | None = None
    try:
        load(console, weighs)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{name} by author → {escape(model)}")

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            weigh(project, family, weighs, GivenRows([version.row for version in versions]), path, show, usage)
    except (BudgetSpent, Unanswered) as error:
        stopped = error
    finally:
        project.close()
    messages = [f"{path}: {calls_in_words(usage)}"]
    title = f"{project.config.name}: {name} by author, on {model}"

    def compare() -> None:
        scored = [version._replace(row=family.evaluation.scored(version.row)) for version in versions]
        result = authors.compare(scored, read_predictions(path, family))
        page = path.with_suffix(".html")
        show_tables(console, Shown(title, result, [*notes, *result.notes]), page, messages=messages)

    score_answered(console, project, path, before, stopped, compare)
