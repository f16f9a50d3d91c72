"""`touchstone results`, with output for a terminal."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from data.whole_file import write_whole
from flows.construct.engine import Family
from flows.project.console import make_console
from flows.project.output_files import open_build
from flows.results.evaluated import Dataset, Found, TaskRows, asked_tasks, dataset_of, evaluations
from flows.results.every_eval_ever import UNKNOWN, developer_of, record_path, record_text
from flows.results.model_card import FOLDER, entries_text, entry
from schemas.base import counted
from schemas.errors import Failed, WrongInput


def write_results(out: Path | None, to: Path, hub: str | None) -> None:
    """Write the scores of a build for model repositories and for Every Eval Ever.

    The latter are written even if the Hub does not know the version, which then raises at the end.
    """
    console = make_console()
    project = open_build(out, console)
    problem: WrongInput | Failed | None = None
    try:
        found, dataset = evaluations(project), dataset_of(project, hub)
        commit = None
        if dataset.repo and dataset.version:
            from data.publish.hub import commit_of

            try:
                commit = commit_of(dataset.repo, dataset.version)
            except (WrongInput, Failed) as error:
                problem = error
        for name, of_family in found.items():
            if name not in {family.name for family, _ in project.build.parts()}:
                _tell(console, f"{', '.join(one.path.name for one in of_family)}: left out: this build has no {name}")
                continue
            family = project.family(name)
            for one in of_family:
                record = to / record_path(dataset, one)
                write_whole(record, record_text(dataset, family, one).encode())
                console.print(f"{record}: Every Eval Ever", soft_wrap=True, markup=False)
            if dataset.repo and problem is None:
                entries = _Entries(console, to, dataset, commit, family, list(asked_tasks(project, family)))
                for one in of_family:
                    entries.write(one)
    finally:
        project.close()
    models = {one.scores.signature.model for of_family in found.values() for one in of_family}
    for line in (*_nameless(models), *_missing(dataset)):
        _tell(console, line)
    if problem is not None:
        raise problem


@dataclass(frozen=True)
class _Entries:
    """Writes the `.eval_results` on the evaluations of a family."""

    console: Console
    to: Path
    dataset: Dataset
    commit: str | None
    family: Family
    tasks: Sequence[TaskRows]

    def write(self, found: Found) -> None:
        """Write a file for each task and way of asking, and say which tasks have none."""
        folder, signature = self.to / found.key / FOLDER, found.scores.signature
        written, without = 0, dict[str, None]()
        for task in self.tasks:
            for group, way in found.ways.items():
                value = task.value(found.scores.figures, group)
                if value is None:
                    if task.task.figure is not None:
                        without[task.id] = None
                    continue
                name = "-".join(filter(None, [self.dataset.name, task.id, re.sub(r"[^A-Za-z0-9]+", "-", way)]))
                text = entries_text(entry(self.dataset, self.commit, task.id, value, way, signature))
                write_whole(folder / f"{name}.yaml", text.encode())
                written += 1
        if written:
            files = f"{counted(written, 'file')} on {self.family.name}, for the repository of {signature.model}"
            self.console.print(f"{folder}: {files}", soft_wrap=True, markup=False)
        if not self.tasks:
            why = f"no {FOLDER}: the dataset's eval.yaml has no task of {self.family.name}"
            _tell(self.console, f"{found.path.name}: {why}")
        if unmeasured := [task.id for task in self.tasks if task.task.figure is None]:
            why = f"no {FOLDER} for {', '.join(unmeasured)}: no measure is about them alone"
            _tell(self.console, f"{found.path.name}: {why}")
        if without:
            tasks = ", ".join(without)
            why = f"no {FOLDER} for {tasks}: no figure is over exactly these rows; evaluate all of them"
            _tell(self.console, f"{found.path.name}: {why}")


def _tell(console: Console, line: str) -> None:
    console.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)


def _nameless(models: Iterable[str]) -> Iterator[str]:
    """Yield the models whose names do not say who made them."""
    if flat := sorted(name for name in models if developer_of(name) == UNKNOWN):
        yield (
            f"{', '.join(flat)}: filed under {UNKNOWN}: Every Eval Ever asks for a developer, which the name does not "
            "say; before you submit a record, put it into `model_info.developer` and its folder"
        )


def _missing(dataset: Dataset) -> Iterator[str]:
    """Yield what the files lack."""
    if dataset.repo is None:
        yield (
            f"no {FOLDER}: they name the dataset on the Hub; give its repository by --hub OWNER/NAME, or by "
            "`release.repo` in the configuration"
        )
    if not dataset.version:
        yield (
            f"{dataset.name} is a build, not a released version, so nothing here names a revision; `touchstone profile "
            "releases/1.0.0` evaluates a version"
        )
