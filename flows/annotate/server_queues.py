"""The tasks of people's queues as the server has them."""

from collections.abc import Collection, Mapping

from annotation.label_studio.client import Client, ProjectInfo, Row
from annotation.label_studio.sync import VIEW, is_retired, tasks_of
from annotation.wording import LANGUAGES
from flows.annotate.pull import source_of
from flows.annotate.queues import queue_name
from schemas.rubric import Rubric


class ServerQueues:
    """The queues of a benchmark; each is read once."""

    def __init__(self, client: Client, benchmark: str, projects: Mapping[str, ProjectInfo]) -> None:
        """`projects` are those of the benchmark, by the queue's name."""
        self.client, self.benchmark, self.projects = client, benchmark, projects
        self._rows: dict[str, list[Row]] = {}

    def has(self, form: Rubric, by: str) -> bool:
        """Return whether a person has a queue of a form, in the form's language."""
        return queue_name(self.benchmark, form, by) in self.projects

    def tasks(self, form: Rubric, by: str) -> list[Row]:
        """Return the tasks of a person's queue of a form, in the form's language."""
        name = queue_name(self.benchmark, form, by)
        if name not in self._rows:
            info = self.projects.get(name)
            self._rows[name] = tasks_of(self.client, info) if info is not None else []
        return self._rows[name]

    def all_tasks(self, form: Rubric, by: str) -> list[Row]:
        """Return the tasks of a person's queues of a form in all languages."""
        spoken = [form.model_copy(update={"language": language}) for language in LANGUAGES]
        return [row for one in spoken for row in self.tasks(one, by)]

    def blocked(
        self, form: Rubric, by: str, done: Collection[str], people: int, excluded: Collection[str]
    ) -> frozenset[str]:
        """Return the ids of tasks that the server regards as done, but where no work counts: they go out again.

        `done` has the ids of tasks on which work counts, `excluded` the sources of work that does not. Work that the
        last pull has not seen yet may count, and blocks nothing.
        """
        full = {
            row["id"]: str(row["data"].get(VIEW))
            for row in self.tasks(form, by)
            if not is_retired(row) and row["data"].get(VIEW) not in done and (row["total_annotations"] or 0) >= people
        }
        if not full:
            return frozenset()
        exported = self.client.export(self.projects[queue_name(self.benchmark, form, by)].id)
        sources = {
            row["id"]: {
                source_of(annotation) for annotation in row["annotations"] if not annotation.get("was_cancelled")
            }
            for row in exported
            if row["id"] in full
        }
        return frozenset(full[number] for number, names in sources.items() if names and names <= set(excluded))
