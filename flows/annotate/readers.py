"""Whether enough people read the languages of a build's tasks."""

from collections.abc import Iterable

from flows.annotate.work import Work
from flows.project.settings import AnnotationSettings
from schemas.base import counted
from schemas.errors import WrongInput

LANGUAGE_NAMES = {"en": "English", "zh": "Chinese"}


def check_readers(settings: AnnotationSettings, works: Iterable[Work]) -> None:
    """Raise `WrongInput` if fewer people read the language of some tasks than have to do each of them.

    Where there are fewer people altogether, a push says so, and hands out what it can.
    """
    for work in works:
        if settings.strangers is not None and settings.strangers.rubric == work.rubric.name:
            continue  # strangers read every language
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
