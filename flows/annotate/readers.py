"""Whether enough people read the languages of a build's tasks."""

from collections import Counter
from collections.abc import Iterable, Iterator

from flows.annotate.work import Work
from flows.project.annotation_settings import AnnotationSettings
from schemas.base import counted
from schemas.errors import WrongInput

LANGUAGE_NAMES = {"en": "English", "zh": "Chinese"}


def check_readers(settings: AnnotationSettings, works: Iterable[Work]) -> None:
    """Raise `WrongInput` if fewer people read the language of some tasks than have to do each of them.

    Where there are fewer people altogether, a push says so, and hands out what it can.
    """
    for work in works:
        if settings.is_for_strangers(work.rubric.name):
            continue  # see `unread`
        wanted = min(work.rubric.people_per_item, len(settings.annotators))
        for language in sorted({task.language for task in work.tasks}):
            readers = [by for by in settings.annotators if settings.can_read(by, language)]
            if len(readers) < wanted:
                number = sum(task.language == language for task in work.tasks)
                name = LANGUAGE_NAMES.get(language, language)
                raise WrongInput(
                    f"annotation.languages: {counted(number, 'task')} of {work.rubric.name} in {name}, for "
                    f"{counted(wanted, 'person', 'people')} each, but {len(readers)} of "
                    f"{', '.join(settings.annotators)} read {name}: add {language} to somebody's languages, or name "
                    "somebody who reads it"
                )


def unread(settings: AnnotationSettings, works: Iterable[Work]) -> Iterator[str]:
    """Yield a line for each language that strangers do not read, and that tasks of their rubric are in."""
    study = settings.strangers
    for work in works:
        if study is None or not settings.is_for_strangers(work.rubric.name):
            continue
        numbers = Counter(task.language for task in work.tasks if task.language not in study.languages)
        for language, number in sorted(numbers.items()):
            name = LANGUAGE_NAMES.get(language, language)
            yield (
                f"{work.rubric.name}: {counted(number, 'task')} in {name}, which strangers do not read: add {language} "
                "to annotation.strangers.languages, or nobody gets them"
            )
