"""The Hub's benchmark file of a release: tasks that ask what `touchstone evaluate` asks, as far as Inspect can alone.

A task's templates are taken from the prompt itself: a row is asked about with marks in place of its texts, and each
mark becomes the name of its column. Every row is then asked about both ways: if one differs, there is no such task.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.publish.benchmark import BENCHMARK, Asked, HubTask, benchmark_text, task_id, task_of
from data.publish.reading import read_released
from data.whole_file import write_whole
from flows.construct.engine import Family, Part
from flows.construct.evaluation import Evaluation, Request
from flows.llm.model import Prompt
from flows.project.project import Project
from flows.project.release_as_build import record_of
from flows.release.rows import GatheredConfig
from schemas.base import Record

BEGIN, END = "\ue000", "\ue001"
"""Characters of private use, around a mark."""
BY_OTHER_SCORERS = (
    "Inspect's own scorers come near to each family's, and are not the same. The figures that `touchstone evaluate` "
    "gives, and the tasks in `scorers` of this release, are by the family's own."
)
HELD, WEIGHED, UNLIKE = "dialogues are held with a model", "options are weighed", "a template cannot ask for its rows"
UNSCORED = "no scorer of Inspect's own looks for what a reply has to tell"
"""Why a configuration has no task."""


def write_benchmark(project: Project, folder: Path, configs: Sequence[GatheredConfig]) -> None:
    """Write the tasks of all configurations; nothing without any."""
    tasks: list[Mapping[str, Any]] = []
    without: dict[str, list[str]] = {}
    for config in configs:
        if not config.rows.files or config.part.name not in config.family.evaluation.parts:
            continue
        built = project.build.families[config.family.name]
        tasks_of_rows = AlikeTasks(config.family, config.part, built.settings, built.prompts)
        for row in read_released(folder, config.rows.files):
            tasks_of_rows.add(record_of(config.part, row))
        made = tasks_of_rows.found
        config.hub_tasks = tuple(task_id(config.rows.name, task.variant) for task, _ in made)
        tasks += [task_of(config.rows.name, config.rows.split, task, asked) for task, asked in made]
        if not made:
            why = _reason(config.family.evaluation) if tasks_of_rows.is_scored else UNSCORED
            without.setdefault(why, []).append(config.rows.name)
    if tasks:
        papers = dict.fromkeys(config.family.paper.short for config in configs if config.hub_tasks)
        description = " ".join(
            [
                f"Shows whether a language model uses the context it is given, by {', '.join(papers)}.",
                BY_OTHER_SCORERS,
                *(f"Not here, since {why}: {', '.join(names)}." for why, names in without.items()),
            ]
        )
        text = benchmark_text(project.manifest.name, description, tasks)
        write_whole(folder / BENCHMARK, text.encode())


def _reason(evaluation: Evaluation) -> str:
    if evaluation.dialogues is not None:
        return HELD
    return WEIGHED if evaluation.choices is not None else UNLIKE


class AlikeTasks:
    """Finds the tasks under which all rows of a configuration are asked alike."""

    def __init__(self, family: Family, part: Part, settings: Any, prompts: Mapping[str, Prompt[Any]]) -> None:
        self.rows = 0
        self.is_scored = True
        """Whether one of Inspect's own scorers fits: the family has tasks for a row."""
        self.found: list[tuple[HubTask, Asked]] = []
        """The tasks, and how each is asked."""
        self._evaluation = family.evaluation
        self._made_of = {column.name: column for column in (part.released.ready if part.released else ())}
        self._settings = settings
        self._prompts = prompts

    def add(self, row: Record) -> None:
        """Take the tasks of a first row, and leave out those that ask something else about this one."""
        self.rows += 1
        if self.rows == 1 and self._evaluation.hub_tasks is not None:
            tasks = self._evaluation.hub_tasks(row)
            self.is_scored = bool(tasks)
            self.found = list(self._of_first(row, tasks))
        if self.found:
            requests = self._requests(row)
            self.found = [
                (task, asked)
                for task, asked in self.found
                if task.variant in requests
                and asked.messages(self._values(task, row)) == self._messages(requests[task.variant])
            ]

    def _of_first(self, row: Record, tasks: Sequence[HubTask]) -> Iterator[tuple[HubTask, Asked]]:
        """Yield how the tasks are asked, from what a row with marks in place of its texts is asked."""
        shown = dict.fromkeys(name for task in tasks for name in (task.input, *task.shows))
        own = dict.fromkeys(self._made_of[name].of if name in self._made_of else name for name in shown)
        marked = row.model_copy(update={name: _marked(name, getattr(row, name)) for name in own})
        requests = self._requests(marked)
        for task in tasks:
            if task.variant in requests:
                request = requests[task.variant]
                marks = self._values(task, marked)
                templates = {role: _template(text, marks) for role, text in self._messages(request)}
                prompt = request.prompt
                yield (
                    task,
                    Asked(templates.get("system", ""), templates["user"], prompt.max_tokens, prompt.temperature),
                )

    def _values(self, task: HubTask, row: Record) -> Mapping[str, Any]:
        """Return what stands in the templates of a task for a row, by name."""
        return {"prompt": self._text(row, task.input), **{name: self._text(row, name) for name in task.shows}}

    def _text(self, row: Record, column: str) -> Any:
        made_of = self._made_of.get(column)
        return getattr(row, column) if made_of is None else made_of.value(getattr(row, made_of.of))

    def _requests(self, row: Record) -> Mapping[str, Request]:
        """Return the request for each variant: asked in the first way of the settings, without demonstrations."""
        requests: dict[str, Request] = {}
        for request in self._evaluation.requests(row, self._settings):
            if not request.shots:
                requests.setdefault(request.variant, request)
        return requests

    def _messages(self, request: Request) -> list[tuple[str, str]]:
        asked = self._prompts[request.prompt.name].messages(request.inputs)
        return [(str(message["role"]), str(message["content"])) for message in asked]


def _marked(name: str, value: Any) -> Any:
    """Return the mark of a column in place of its text, or of its texts; nothing is no text."""
    mark = f"{BEGIN}{name}{END}"
    return value if value is None else mark if isinstance(value, str) else (mark,)


def _template(text: str, marks: Mapping[str, Any]) -> str:
    """Return a text as a template, with a name in braces in place of its mark."""
    template = _escaped(text)
    for name, mark in marks.items():
        if mark is not None:
            template = template.replace(_escaped(mark), f"{{{name}}}")
    return template


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
