"""The README.md beside the tasks, with all that lm-evaluation-harness asks of contributed tasks."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import jinja2

from data.publish import markdown
from data.publish.folder import SCORERS
from data.publish.harness import HarnessTask, OptionScoring, run_command
from data.publish.inspect_package import DialogueTask, inspect_command, package_name

_LINK = re.compile(r"\burl\s*=\s*\{([^{}]+)\}")


@dataclass(frozen=True)
class TaskFacts:
    """A family's tasks, and the paper that they are of."""

    name: str
    title: str
    short: str
    authors: str
    year: int
    citation: str
    needs: str
    """A sentence on further packages to install."""
    groups: Mapping[str, Sequence[HarnessTask]]

    @property
    def homepage(self) -> str:
        """The link in the citation; empty without one."""
        link = _LINK.search(self.citation)
        return link[1] if link else ""

    @property
    def tasks(self) -> list[HarnessTask]:
        """All tasks."""
        return [task for tasks in self.groups.values() for task in tasks]

    @property
    def values(self) -> list[str]:
        """The descriptions of the tasks' metrics, each once."""
        return list(dict.fromkeys(task.scoring.values for task in self.tasks))

    @property
    def options(self) -> Mapping[str, str]:
        """The values that `--metadata` takes for all tasks, with examples."""
        scoring = self.tasks[0].scoring
        return {} if isinstance(scoring, OptionScoring) else scoring.options

    @property
    def command(self) -> str:
        """The command that runs the main tasks, in the folder of the release."""
        return run_command(SCORERS, next(iter(self.groups)), chat=not self.is_weighed)

    @property
    def is_weighed(self) -> bool:
        """Whether options are weighed."""
        return any(isinstance(task.scoring, OptionScoring) for task in self.tasks)

    @property
    def shots(self) -> int:
        """The number of demonstrations in a language."""
        shown = self.tasks[0].scoring.demonstrations
        return max(Counter(row.get("language") for row in shown).values(), default=0)


def tasks_readme(
    families: Sequence[TaskFacts], dialogues: Sequence[DialogueTask], name: str, repo: str | None, version: str
) -> bytes:
    """Return the README.md of the tasks of a release, in UTF-8."""
    groups = ",".join(group for family in families for group in family.groups)
    text: str = _template().render(
        families=families,
        dialogues=dialogues,
        package=package_name(name),
        inspect="\n".join(
            [
                *(inspect_command(SCORERS, family.tasks[0]) for family in families),
                *(inspect_command(SCORERS, task) for task in dialogues),
            ]
        ),
        weighed=[family.short for family in families if family.is_weighed],
        shots=any(family.shots for family in families),
        name=name,
        repo=repo,
        version=version,
        run="\n".join(family.command for family in families),
        validate=(
            f"lm-eval validate --include_path {SCORERS} --tasks {groups}\n"
            f"lm-eval run --model dummy --include_path {SCORERS} --tasks {groups} --limit 2"
        ),
        download=f"hf download {repo} --repo-type dataset --revision {version} --local-dir FOLDER" if repo else "",
    )
    return re.sub(r"\n{3,}", "\n\n", text).encode()


@cache
def _template() -> jinja2.Template:
    return markdown.environment().get_template("harness.md.j2")
