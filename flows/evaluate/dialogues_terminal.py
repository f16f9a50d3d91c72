"""Evaluates a model in dialogues, with output for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape

from flows.construct.engine import Family
from flows.construct.evaluation import DialogueContext
from flows.construct.progress import ProgressListener
from flows.construct.stages import Build
from flows.evaluate.dialogues import as_paid, build_with, hold
from flows.evaluate.models import file_name
from flows.evaluate.records import Written, beside, dialogue_context, rows_in, write_dialogues
from flows.evaluate.replaced import tell_left
from flows.evaluate.tables_shown import show_tables
from flows.evaluate.turn_attention import turn_tables
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent, Usage
from flows.project.console import money
from flows.project.locks import building, one_evaluation
from flows.project.project import Project
from flows.run.terminal import Terminal
from schemas.errors import Failed


def evaluate_in_dialogues(
    console: Console, project: Project, family: Family, model: str, limit: int | None, reads: LocalModel | None
) -> None:
    """Hold dialogues with the model and have them rated; write dialogues, ratings and tables beside the build's own."""
    held = family.evaluation.dialogues
    assert held is not None
    stopped: BudgetSpent | None = None
    notes: list[str] = []
    project.models.tell = notes.append
    try:
        if reads is not None:
            with console.status(f"loading {reads.name}"):
                reads.load()
        stem = project.out / "predictions" / f"{family.name}-{file_name(model)}"
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
    messages.append(f"{asked.calls:,} calls, {asked.cached:,} answers from the cache, money: {money(asked)}")
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
    """Finish a stopped build with the answers paid for, and return it; `asked` adds up both attempts."""
    paid, asked.cached = asked.calls, 0
    partial_build = as_paid(project, family, build, limit)
    hold(project, family, partial_build, listener, asked)
    # Answers that the first attempt paid for come from the cache now, but are reported as paid.
    asked.cached = max(0, asked.cached - paid)
    return partial_build
