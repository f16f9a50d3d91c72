"""One model on one family: asked about its rows, or held in dialogues, with progress in the terminal."""

import datetime
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from flows.construct.engine import Family
from flows.construct.evaluation import DialogueContext
from flows.construct.progress import ProgressListener
from flows.construct.stages import Build
from flows.evaluate.dialogues import as_paid, build_with, hold
from flows.evaluate.models import predictions_path
from flows.evaluate.predictions import NothingAnswered, Unanswered, predict, weigh
from flows.evaluate.records import Written, beside, dialogue_context, rows_in, write_dialogues
from flows.evaluate.rows import EvaluatedRows, evaluated_rows
from flows.evaluate.score import Counted, counted_before, tell_left
from flows.evaluate.scores_file import ENDING, Spent, read_scores
from flows.evaluate.signature import Signature, asked_as, signature_of
from flows.llm.endpoint import Endpoint
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel
from flows.llm.model import BudgetSpent, EachOnce, TransportError, Usage
from flows.project.console import LogInterval, money
from flows.project.evaluated import AskedRows, fingerprint_lines, settings_now, write_note
from flows.project.locks import building, one_evaluation
from flows.project.project import Project
from flows.run.terminal import Terminal
from schemas.base import counted
from schemas.manifest import UsageOfPrompt, total_usage


class Asked(NamedTuple):
    """A family's rows about which a model was asked."""

    rows: EvaluatedRows
    path: Path
    """Of the predictions."""
    before: Counted
    spent: Spent
    messages: Sequence[str]
    stopped: BudgetSpent | Unanswered | None
    """Set if the money ran out, or some questions got no answer: the predictions are those that were made."""
    signature: Signature | None
    """None if nothing was answered."""


def ask_about_rows(
    console: Console,
    project: Project,
    family: Family,
    model: str,
    weighs: LikelihoodModel | None,
    limit: int | None,
    also: Callable[[EvaluatedRows, Callable[[int, int], None]], None] | None = None,
) -> Asked:
    """Ask about rows, or have their options weighed by `weighs`; write the predictions, and a note on them.

    `also` is done with the rows while the progress is shown.
    """
    label = f"{family.name} → {model}"
    path = predictions_path(project, family, model)
    rows = evaluated_rows(project, family, limit)
    before = counted_before(path, len(rows), weighs)
    if family.evaluation.ready is not None:
        family.evaluation.ready(settings_now(project, family))
    usage, notes = EachOnce(), list[str]()
    project.models.tell = notes.append
    project.models.progress = partial(show_batches, console)
    load(console, weighs)
    if weighs is None:
        replies = project.models.model(model, family)
        write, waits, served = partial(predict, project, family, replies), waits_of(replies), served_by(replies)
    else:
        write, waits, served = partial(weigh, project, family, weighs), waits_of(weighs), served_by(weighs)
    stopped: BudgetSpent | Unanswered | None = None
    begun = time.monotonic()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(escape(label))
        log = LogInterval(console)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if log.due():
                asked = usage.calls + usage.cached
                console.print(f"  {escape(label)}: {done:,} of {total:,} rows, {counted(asked, 'call')}")

        try:
            write(rows, path, show, usage)
        except (BudgetSpent, Unanswered) as error:
            stopped = error
        spent = Spent.of(usage, time.monotonic() - begun, waits())
        if also is not None:
            progress.update(task, completed=0)
            also(rows, show)
    signature = None
    if not isinstance(stopped, NothingAnswered):
        asked = write_note(project, family, model, rows, path)
        asked_for = asked_as(project, model, weighs)._replace(served=served())
        signature = signature_of(project, family, asked_for, asked, datetime.date.today())
    messages = [
        f"{len(rows):,} of {counted(rows.built, 'row')} asked about",
        f"{escape(str(path))}: {calls_in_words(usage)}, money: {money(usage)}",
        *map(escape, notes),
    ]
    return Asked(rows, path, before, spent, messages, stopped, signature)


def show_batches(console: Console, line: str) -> None:
    """Print a line about batches that are waited for."""
    console.print(f"  [dim]{escape(line)}[/]", soft_wrap=True)


def waits_of(answers: object) -> Callable[[], Sequence[float]]:
    """Return a function that gives how long a model's server took for each answer from now on; nothing without one."""
    if not isinstance(answers, Endpoint):
        return tuple
    before = len(answers.waits)
    return lambda: answers.waits[before:]


def served_by(answers: object) -> Callable[[], tuple[str, ...]]:
    """Return a function that names the models that answer from now on, by their server's own word."""
    if not isinstance(answers, Endpoint):
        return tuple
    before = Counter(answers.served)
    return lambda: tuple(sorted(filter(None, Counter(answers.served) - before)))


def load(console: Console, model: LikelihoodModel | None) -> None:
    """Load the model now if it is a local one."""
    if isinstance(model, LocalModel):
        with console.status(f"loading {escape(model.name)}"):
            model.load()


class Held(NamedTuple):
    """Dialogues that were held with a model, and rated."""

    context: DialogueContext
    stem: Path
    """Of the names of their files."""
    rated: int
    dropped: Path
    usage: Usage
    """Of this evaluation alone."""
    spent: Spent
    """On these dialogues and ratings, also by evaluations before."""
    messages: Sequence[str]
    stopped: BudgetSpent | Unanswered | None
    """Set if the money ran out, or a server gave no answer: the dialogues are those that could be held."""
    signature: Signature


def hold_dialogues(console: Console, project: Project, family: Family, model: str, limit: int | None) -> Held:
    """Hold dialogues with the model and have them rated; write both beside the build's own.

    Raises `BudgetSpent` if the money ran out before the first rating, and `TransportError` if there was no answer.
    """
    held = family.evaluation.held
    stopped: BudgetSpent | TransportError | None = None
    notes: list[str] = []
    project.models.tell = notes.append
    project.models.progress = partial(show_batches, console)
    stem = predictions_path(project, family, model).with_suffix("")
    answers = project.models.model(model, family)
    begun, waits, served = time.monotonic(), waits_of(answers), served_by(answers)
    before = read_scores(stem.with_name(f"{stem.name}{ENDING}"))
    with building(project.state), one_evaluation(project.state, stem):
        build = build_with(project, family, model, limit)
        asked = Usage()
        with Terminal(console) as listener:
            try:
                hold(project, family, build, listener, asked)
            except (BudgetSpent, TransportError) as error:
                stopped = error
                build = _held_as_paid(project, family, build, limit, listener, asked)
        context = dialogue_context(family, build)
        rated = len(build.accepted(family.name, held.parts[-1]))
        if isinstance(stopped, TransportError) and not rated:
            raise stopped
        if stopped is not None and not rated:
            ratings = beside(stem, held.parts[-1])
            tell_left(console, ratings, rows_in(ratings), "rated")
            raise project.over_budget() from stopped
        written = write_dialogues(family, context, stem)
    seconds = time.monotonic() - begun
    messages = [*_written_in_words(family, build, context, written), *map(escape, notes)]
    first = build.stages(family, family.part(held.parts[0]))[0]
    seeds = fingerprint_lines((seed.key, seed.id) for seed in build.inputs(first))
    asked_for = asked_as(project, model, None)
    # Dialogues that are there already ask nothing: who held them stands in the scores of that time.
    known = before.signature.served if before is not None and before.signature.model == asked_for.name else ()
    asked_for = asked_for._replace(served=served() or known)
    signature = signature_of(project, family, asked_for, AskedRows(seeds), datetime.date.today())
    took = Spent.of(_used(family, build), seconds, waits())
    lacks = (
        Unanswered(f"some dialogues could not be held, and the scores are of the others: {stopped}")
        if isinstance(stopped, TransportError)
        else stopped
    )
    return Held(context, stem, rated, written[-1].path, asked, took, messages, lacks, signature)


def _used(family: Family, build: Build) -> UsageOfPrompt:
    """Return what dialogues and ratings took, whenever they were asked for."""
    stages = [ref for name in family.evaluation.held.parts for ref in build.stages(family, family.part(name))]
    manifests = filter(None, map(build.manifest, stages))
    return total_usage(usage for manifest in manifests for usage in manifest.usage.values())


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


def calls_in_words(usage: Usage) -> str:
    """Return how many calls were paid for, and how many answers the cache gave."""
    return f"{counted(usage.calls, 'call')}, {counted(usage.cached, 'answer')} from the cache"
