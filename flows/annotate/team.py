"""Who works on a build: the people whom the configuration names, and strangers who joined its study."""

from collections.abc import Mapping

from annotation.label_studio.accounts import accounts
from annotation.label_studio.client import Client
from annotation.label_studio.strangers import address_of, check_own_study, strangers
from flows.annotate.server import server_folder
from flows.project.annotation_settings import LOCAL
from flows.project.project import Project


def strangers_of(project: Project) -> tuple[str, ...]:
    """Return the codes of the strangers who joined, in the order in which they did; none without a study.

    Raises `WrongInput` if they joined another build's.
    """
    if project.config.annotation.strangers is None:
        return ()
    folder = server_folder(project.config)
    check_own_study(folder, project.config.name)
    return tuple(stranger.code for stranger in strangers(folder))


def annotators_of(project: Project, rubric: str) -> tuple[str, ...]:
    """Return the codes of those who get the rubric's tasks."""
    settings = project.config.annotation
    return strangers_of(project) if settings.is_for_strangers(rubric) else settings.annotators


def codes_of(project: Project) -> frozenset[str] | None:
    """Return the codes of all people of the build; None if the configuration names nobody."""
    people = project.config.annotation.people
    return frozenset({*people, *strangers_of(project)}) if people else None


def accounts_of(project: Project, client: Client) -> Mapping[int, str]:
    """Return the person's code of each account, by number; nothing if the configuration names nobody."""
    settings = project.config.annotation
    folder = server_folder(project.config) if settings.url == LOCAL else None
    if not settings.people:
        return {}
    named = accounts(client, settings.people, folder)
    codes = strangers_of(project)
    users = client.users() if codes else {}
    # An account is made just after its line: it may not be there yet.
    return {**named, **{users[address_of(code)]: code for code in codes if address_of(code) in users}}


def account_name(number: int) -> str:
    """Return the name of a person who is not of the build."""
    return f"account {number}"
