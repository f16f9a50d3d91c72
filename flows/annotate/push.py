"""Push: bring everybody's tasks to their queues on the server."""

from dataclasses import dataclass, field

from annotation.label_studio.client import Client
from annotation.label_studio.sync import PushedQueue, projects_of, push_queue, withdraw
from flows.annotate.queues import WorkQueues, queue_of
from flows.annotate.work import ANYBODY, account_name, accounts_of, benchmark_of, works
from flows.project.project import Project
from flows.project.settings import Config


@dataclass
class Pushed:
    """What a push did, and what it could not assign."""

    queues: list[PushedQueue] = field(default_factory=list)
    shortages: list[str] = field(default_factory=list)


def push(project: Project, client: Client) -> Pushed:
    """Bring everybody's current tasks to their queues.

    Our queues that nobody works in any more are emptied: those of an earlier version of a form, of a person who is no
    longer named, and of a part that the build no longer has.
    """
    pushed = Pushed()
    codes = {account_name(number): code for number, code in accounts_of(project, client).items()}
    projects = projects_of(client, benchmark_of(project))
    names = set()
    for work in works(project):
        queues = WorkQueues(project, client, work, projects, codes)
        for queue, rows in queues.queues():
            names.add(queue.name)
            existing = projects.get(queue.name)
            if existing is not None or queue.tasks:
                pushed.queues.append(push_queue(client, queue, existing, rows))
        pushed.shortages += queues.shortages
    for name, info in projects.items():
        if name not in names and (left := withdraw(client, name, info)).retired:
            pushed.queues.append(left)
    return pushed


def open_queues(config: Config, client: Client) -> int:
    """Make an empty project for each rubric and person of the configured families; return how many were made."""
    existing, made = set(projects_of(client, config.name)), 0
    for family, settings in config.chosen():
        asking = [part.people for part in family.wanted(settings) if part.people is not None]
        for people in {one.rubric.name: one for one in asking}.values():
            for by in config.annotation.people or (ANYBODY,):
                number = people.rubric.people_per_item if by == ANYBODY else 1
                queue = queue_of(config.name, people, family.folder, people.rubric, by, (), number)
                if queue.name not in existing:
                    push_queue(client, queue, None)
                    made += 1
    return made
