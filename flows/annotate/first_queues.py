"""The empty queues with which people begin, before there is a build."""

from collections.abc import Iterator
from pathlib import Path

from annotation.adjudicate import adjudication_of
from annotation.label_studio.client import Client
from annotation.label_studio.sync import Queue, projects_of, push_queue
from flows.annotate.queues import queue_of
from flows.annotate.work import ANYBODY
from flows.construct.people import People
from flows.project.annotation_settings import AnnotationSettings
from flows.project.settings import Config
from schemas.rubric import Rubric


def open_queues(config: Config, client: Client) -> int:
    """Make an empty project for each rubric and person of the configured families; return how many were made."""
    existing, made = set(projects_of(client, config.name)), 0
    for family, people in config.asking().values():
        for queue in _first_queues(config.name, config.annotation, people, family.folder):
            if queue.name not in existing:
                push_queue(client, queue, None)
                made += 1
    return made


def _first_queues(benchmark: str, settings: AnnotationSettings, people: People, folder: Path) -> Iterator[Queue]:
    """Yield the queues of the rubric's own form, and the lead's to decide."""
    rubric = people.rubric
    if not settings.people:
        yield queue_of(benchmark, people, folder, rubric, ANYBODY, (), rubric.people_per_item)
    for by in () if settings.is_for_strangers(rubric.name) else settings.annotators:
        if (own := _read_by(by, rubric, settings)) is not None:
            yield queue_of(benchmark, people, folder, own, by, (), 1)
    lead = settings.lead if people.review is None and rubric.decides else None
    if lead is not None and (own := _read_by(lead, rubric, settings)) is not None:
        yield queue_of(benchmark, people, folder, adjudication_of(own), lead, (), 1)


def _read_by(by: str, rubric: Rubric, settings: AnnotationSettings) -> Rubric | None:
    """Return the rubric in English, or in another language if the person reads no English; None if they read none."""
    read = [language for language in rubric.languages if settings.can_read(by, language)]
    return rubric.in_language(read[0]) if read else None
