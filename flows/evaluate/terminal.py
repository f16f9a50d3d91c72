"""Evaluates and scores: predictions in, tables out."""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from data.sources.files import json_lines
from data.whole_file import whole_file
from flows.construct.engine import Family
from flows.construct.evaluation import DialogueContext
from flows.construct.progress import ProgressListener
from flows.construct.stages import Build
from flows.evaluate.attention import attend
from flows.evaluate.author_versions import author_versions
from flows.evaluate.dialogues import as_paid, build_with, hold
from flows.evaluate.estimate import evaluation_lines
from flows.evaluate.predictions import EVALUATED, NothingAnswered, predict, weigh
from flows.evaluate.records import Written, beside, dialogue_context, given_context, rows_in, write_dialogues
from flows.evaluate.report import write_evaluation
from flows.evaluate.rows import EvaluatedRows, GivenRows, evaluated_rows, settings_now
from flows.evaluate.turn_attention import turn_tables
from flows.llm.local import LocalModel, LocalSettings
from flows.llm.model import BudgetSpent, Usage
from flows.llm.options import LikelihoodModel
from flows.project.console import LogInterval, make_console, money
from flows.project.locks import building, one_evaluation
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.run.estimate import Estimate, EstimateLine, summed
from flows.run.summary import print_estimate
from flows.run.terminal import Terminal
from flows.scoring.metrics import METRICS
from flows.scoring.tables import PartialScores, ScoreError, ScoreTables, Unit, in_words, measured, tally, told_beside
from schemas.errors import Failed, WrongInput, first_problem, nearest
from schemas.prediction import Prediction

LINES_SHOWN = 40
"""Lines of a table on the terminal."""


def evaluate_family(
    name: str, model: str, limit: int | None, out: Path | None, *, attention: bool = False, reader: str | None = None
) -> None:
    """Ask, write the predictions, score; with `attention`, tell where a local model's attention goes.

    With a `reader`, a local model, tell where its attention goes when it reads finished dialogues.
    """
    console = make_console()
    project = open_build(out, console)
    family = _family(project, name)
    weighs = _weighing_model(project, family, model)
    if attention and not (family.evaluation.chunks is not None and isinstance(weighs, LocalModel)):
        why = "its texts have no chunks" if family.evaluation.chunks is None else f"{model} is not of provider local"
        if family.evaluation.dialogues is not None:
            why = "name a local model that reads its dialogues by --attention-model"
        raise WrongInput(f"--attention: cannot be told of {name} by {model}: {why}")
    reads = None if reader is None else _reading_model(project, family, reader)
    if family.evaluation.dialogues is not None:
        _evaluate_in_dialogues(console, project, family, model, limit, reads)
        return
    path = project.out / "predictions" / f"{name}-{_file_name(model)}.jsonl"
    rows = evaluated_rows(project, family, limit)
    before = _before(path, len(rows), weighs)
    if family.evaluation.ready is not None:
        family.evaluation.ready(settings_now(project, family))
    told, usage, notes = None, Usage(), list[str]()
    project.models.tell = notes.append
    stopped: BudgetSpent | None = None
    try:
        if isinstance(weighs, LocalModel):
            with console.status(f"loading {weighs.name}"):
                weighs.load()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{name} → {model}")
            log = LogInterval(console)

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)
                if log.due():
                    asked = usage.calls + usage.cached
                    console.print(f"  {name} → {model}: {done:,} of {total:,} rows, {asked:,} calls")

            try:
                if weighs is not None:
                    weigh(project, family, weighs, rows, path, show, usage)
                else:
                    predict(project, family, project.models.model(model, family), rows, path, show, usage)
            except BudgetSpent as spent:
                stopped = spent
            if attention and isinstance(weighs, LocalModel):
                progress.update(task, description="attention", completed=0)
                told = attend(family, weighs, rows, show)
    finally:
        project.close()
    said = [
        f"{len(rows):,} of {rows.built:,} rows were asked about",
        f"{path}: {usage.calls:,} calls, {usage.cached:,} answers from the cache, money: {money(usage)}",
    ]
    output = path.with_suffix(".tables.json")
    said += map(escape, notes)
    _score_answered(
        console,
        project,
        path,
        before,
        stopped,
        lambda: _score(console, project, family, rows, path, output, partial=stopped is not None, more=told, said=said),
    )


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


def _before(path: Path, rows: int, weighs: LikelihoodModel | None) -> Counted:
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


def _tell_left(console: Console, path: Path, before: int, what: str) -> None:
    """Say what became of a file of so many rows where the budget left nothing to write."""
    there = f"the {before:,} rows of before stay there, with their tables" if before else "nothing is written"
    said = f"{path}: nothing was {what} before the budget was spent; {there}"
    console.print(f"[yellow]{escape(said)}[/]", soft_wrap=True)


def _score_answered(
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
        _tell_left(console, path, before.predictions, "answered")
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


def _evaluate_in_dialogues(
    console: Console, project: Project, family: Family, model: str, limit: int | None, reads: LocalModel | None
) -> None:
    """Hold dialogues with the model and have them rated, beside the build's own; write both, and the tables."""
    held = family.evaluation.dialogues
    assert held is not None
    stopped: BudgetSpent | None = None
    notes: list[str] = []
    project.models.tell = notes.append
    try:
        if reads is not None:
            with console.status(f"loading {reads.name}"):
                reads.load()
        stem = project.out / "predictions" / f"{family.name}-{_file_name(model)}"
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
                _tell_left(console, ratings, rows_in(ratings), "rated")
                raise project.over_budget() from stopped
            written = write_dialogues(family, context, stem)
            said = [*_written_in_words(family, build, context, written), *map(escape, notes)]
            with console.status("scoring"):
                result = held.tables(context)
            if reads is not None and held.cases is not None:
                with console.status(f"{reads.name} reads dialogues"):
                    result = result.joined(turn_tables(reads, held.cases(context)))
    finally:
        project.close()
    if stopped is not None:
        asked.cost_usd = project.models.budget.spent_usd  # with what was in flight at the stop
    said.append(f"{asked.calls:,} calls, {asked.cached:,} answers from the cache, money: {money(asked)}")
    output = stem.with_name(f"{stem.name}.tables.json")
    title = f"{project.config.name}: {family.name} on {model}"
    _tell(console, result, result.notes, output.with_suffix(".html"), title, output, said)
    if stopped is not None:
        raise project.over_budget() from stopped
    if not rated:
        raise Failed(f"no rating was kept; {written[-1].path} shows why each was dropped")


def _written_in_words(
    family: Family, build: Build, context: DialogueContext, written: Sequence[Written]
) -> Iterator[str]:
    """A line for each file that an evaluation in dialogues wrote."""
    held = family.evaluation.dialogues
    assert held is not None
    for part, file in zip(held.parts, written, strict=False):
        kept, dropped = len(build.accepted(family.name, part)), sum(1 for _ in context.dropped(part))
        instead = f", in place of {file.before:,}" if file.before > kept else ""
        yield f"{file.path}: {kept:,} kept{instead}, {dropped:,} dropped"
    yield f"{written[-1].path}: what was dropped, and why"


def _held_as_paid(
    project: Project, family: Family, build: Build, limit: int | None, listener: ProgressListener, asked: Usage
) -> Build:
    """The build as far as it was answered when the budget stopped it; `asked` is then that of both attempts."""
    paid, asked.cached = asked.calls, 0
    stopped = as_paid(project, family, build, limit)
    hold(project, family, stopped, listener, asked)
    # What the first attempt paid for came from the cache now, and is told as paid.
    asked.cached = max(0, asked.cached - paid)
    return stopped


def estimate_evaluations(model: str, limit: int | None, out: Path) -> None:
    """Print what it takes to evaluate a model on each family of a build that can be put to it."""
    console = make_console()
    project = open_build(out, console)
    project.models.asks = False
    lines: list[EstimateLine] = []
    refused: dict[str, str] = {}
    try:
        for one in project.build.families.values():
            try:
                weighs = _weighing_model(project, one.family, model, "--evaluate")
                lines += evaluation_lines(project, one.family, model, weighs, limit)
            except WrongInput as error:
                refused[one.family.name] = str(error)
    finally:
        project.close()
    if not lines:
        raise WrongInput("; ".join(dict.fromkeys(refused.values())))
    notes = [f"{family} is not estimated: {why}" for family, why in refused.items()]
    total = summed(lines)
    if total.cost_usd is None:
        notes.append(f"the price of {model} is not known: give it in a file, and name that under prices")
    basis = "by the rows of the build: nothing cached, answers of usual length or else the longest, and no thoughts"
    print_estimate(Estimate((*lines, total), True, tuple(notes)), console, basis)


def evaluate_authors(name: str, model: str, limit: int | None, out: Path | None, *, attention: bool = False) -> None:
    """Weigh what several authors made of the same records, and tell how far the model tells them apart."""
    console = make_console()
    project = open_build(out, console)
    family = _family(project, name)
    authors = family.evaluation.authors
    if authors is None:
        raise WrongInput(f"--by-author: what people write for {name} is not put to a model")
    if attention:
        raise WrongInput("--attention: tells of a build's rows and dialogues; leave it out, or --by-author")
    weighs = _weighing_model(project, family, model)
    if weighs is None:
        raise WrongInput(f"--by-author: {name} has no options to weigh")
    versions, notes = author_versions(project, family, authors, limit)
    path = project.out / "predictions" / f"{name}-{_file_name(model)}-by-author.jsonl"
    before = _before(path, len({one.row.id for one in versions}), weighs)
    usage = Usage()
    stopped: BudgetSpent | None = None
    try:
        if isinstance(weighs, LocalModel):
            with console.status(f"loading {weighs.name}"):
                weighs.load()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{name} by author → {model}")

            def show(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            weigh(project, family, weighs, GivenRows([one.row for one in versions]), path, show, usage)
    except BudgetSpent as spent:
        stopped = spent
    finally:
        project.close()
    said = [f"{path}: {usage.calls:,} calls, {usage.cached:,} answers from the cache"]
    title = f"{project.config.name}: {name} by author, on {model}"

    def compare() -> None:
        scored = [one._replace(row=family.evaluation.scored(one.row)) for one in versions]
        result = authors.compare(scored, read_predictions(path, family))
        _tell(console, result, [*notes, *result.notes], path.with_suffix(".html"), title, said=said)

    _score_answered(console, project, path, before, stopped, compare)


def _weighing_model(project: Project, family: Family, model: str, option: str = "--model") -> LikelihoodModel | None:
    """The model that weighs the family's options; None where it asks for replies.

    Raises `WrongInput` for an unknown name, given by an `option` of the command.
    """
    known = ["default", EVALUATED, *(prompt.role for prompt in family.prompts), *project.config.models]
    weighs = family.evaluation.choices is not None
    if model in known:
        return project.models.likelihood_model(model) if weighs else None
    if weighs and _can_be_loaded(model):
        return LocalModel(LocalSettings(name=model))
    also = ", and no such folder" if weighs else ""
    raise WrongInput(f"{option} {model}: no such model in {project.config_path}{also}; {nearest(model, known)}")


def _reading_model(project: Project, family: Family, name: str) -> LocalModel:
    """The local model that is to read dialogues. Raises `WrongInput` where there are none, or it is not one."""
    held = family.evaluation.dialogues
    if held is None or held.cases is None:
        raise WrongInput(f"--attention-model: {family.name} has no dialogues for it to read; leave it out")
    if name in project.config.models:
        settings = project.config.model_for(name)
        if isinstance(settings, LocalSettings):
            return LocalModel(settings)
        raise WrongInput(f"--attention-model {name}: is of provider {settings.provider}; name one of provider local")
    if _can_be_loaded(name):
        return LocalModel(LocalSettings(name=name))
    raise WrongInput(
        f"--attention-model {name}: no such model in {project.config_path}, and no such folder"
        f"; {nearest(name, list(project.config.models))}"
    )


def _can_be_loaded(name: str) -> bool:
    """Whether it names a model outside of the configuration: a folder, or a name on the Hub."""
    return "/" in name or Path(name).exists()


def _file_name(model: str) -> str:
    """A model's name as part of a file's: of a folder its last part."""
    name = Path(model).resolve().name if Path(model).exists() else model
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"


def score_family(name: str, predictions: Path | None, output: Path | None, partial: bool, out: Path | None) -> None:
    """Score a file of predictions; of a family whose parts hold dialogues, without one, those of the build."""
    console = make_console()
    project = open_build(out, console)
    family = _family(project, name)
    if family.evaluation.dialogues is not None:
        if predictions is None:
            _score_built(console, project, family, output)
        else:
            _score_dialogues(console, project, family, predictions, output, partial=partial)
        return
    if predictions is None:
        raise WrongInput(f"--input: is missing; name the predictions, as `touchstone evaluate {name}` writes them")
    _score(console, project, family, evaluated_rows(project, family, None), predictions, output, partial=partial)


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
    page = _page_of(None, output)
    with console.status("scoring"):
        result = held.tables(dialogue_context(family, project.build))
    _tell(console, result, result.notes, page, f"{project.config.name}: {family.name} as it was built", output)


def _score_dialogues(
    console: Console, project: Project, family: Family, path: Path, output: Path | None, *, partial: bool
) -> None:
    """The tables of a file of ratings, as an evaluation wrote it or in its form."""
    held = family.evaluation.dialogues
    assert held is not None
    page = _page_of(path, output)
    given = given_context(family, project, path)
    if not given.records(held.parts[-1]):
        raise WrongInput(f"{path}: has no rows; `touchstone evaluate {family.name}` writes them")
    with _partly(path) as told:
        result = held.tables(held.select(given, partial))
    title = f"{project.config.name}: {family.name} on {path.stem}"
    _tell(console, result, [*map(str, told), *result.notes], page, title, output)


def _score(
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
    page = _page_of(path, output)
    seen: list[Prediction] = []
    with console.status(f"scoring {path}"), _partly(path) as told:
        result = family.evaluation.score(
            map(family.evaluation.scored, rows), tally(read_predictions(path, family), seen), partial, settings
        )
    result = result.joined(told_beside(seen, [one for part in told for one in part.left_out]))
    if more is not None:
        result = result.joined(more)
    title = f"{project.config.name}: {family.name} on {path.stem}"
    _tell(console, result, [*rows.notes, *map(str, told), *result.notes], page, title, output, said)


@contextmanager
def _partly(path: Path) -> Iterator[list[PartialScores]]:
    """What is said of scores of what is there, once they are there; what does not fit is refused by the file's name."""
    said: list[PartialScores] = []
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PartialScores)
            yield said
    except ScoreError as error:
        raise ScoreError(f"{path}: {error}") from error
    said += [one.message for one in told if isinstance(one.message, PartialScores)]


def _page_of(path: Path | None, output: Path | None) -> Path:
    """Where the page goes, beside tables or predictions. Raises `WrongInput` where a file would be written over
    another."""
    beside = output or path
    assert beside is not None
    page = beside.with_suffix(".html")
    files = [one.resolve() for one in (page, output, path) if one is not None]
    if len(set(files)) < len(files):
        raise WrongInput(f"{beside}: tables, page and predictions are three files; name another under --output")
    return page


def _write_tables(result: ScoreTables, output: Path) -> int:
    """Write all cells as JSON; gives their number."""
    cells = [cell.model_dump() for cell in result.tables]
    with whole_file(output) as file:
        file.write(json.dumps(cells, ensure_ascii=False, indent=1) + "\n")
    return len(cells)


def _tell(
    console: Console,
    result: ScoreTables,
    notes: Iterable[str],
    page: Path,
    title: str,
    output: Path | None = None,
    said: Iterable[str] = (),
) -> None:
    """Write the tables' page, and their cells to `output`; then print what is `said` and the tables, but for those
    that only a drawing tells."""
    notes = list(notes)
    write_evaluation(page, title, result, notes)
    written = _write_tables(result, output) if output is not None else 0
    for line in said:
        console.print(line, soft_wrap=True)
    for name, frame in result.frames.items():
        if name in result.grids:
            continue
        unit = result.unit(name)
        console.print(f"\n[bold]{escape(name)}[/]\n[dim]{escape(result.about(name))}[/]", soft_wrap=True)
        table = Table()
        shown = in_words(frame.head(LINES_SHOWN), partial(_cell, unit=unit))
        table.add_column(escape(result.lines(name)), overflow="fold", ratio=1)
        for column in shown.columns:
            table.add_column(column, overflow="fold")
        for row, *cells in shown.itertuples():
            table.add_row(escape(str(row)), *cells)
        console.print(table)
        if len(frame) > LINES_SHOWN:
            console.print(f"and {len(frame) - LINES_SHOWN:,} lines more; the page has all of them")
    for note in notes:
        console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    grids = f", and {len(result.grids)} heatmaps" if result.grids else ""
    console.print(f"{page}: the tables with their curves{grids}", soft_wrap=True)
    if output is not None:
        console.print(f"{output}: {written} values", soft_wrap=True)


def _cell(value: Any, unit: Unit) -> str:
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 - not a number
            return "-"
        if unit != "share":
            return measured(value, unit)
        return f"{value:.0f}" if value.is_integer() and value > 1 else f"{value:.3f}"
    return escape(str(value))


def _family(project: Project, name: str) -> Family:
    families = {family.name: family for family, _ in project.build.parts()}
    if name not in families:
        raise WrongInput(f"{name}: no such family in this build; {nearest(name, list(families))}")
    return families[name]


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
