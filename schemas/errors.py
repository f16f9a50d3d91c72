"""The two ways in which a command can fail. Each error is one line for a person: what, where, what to do."""

from collections.abc import Collection
from difflib import get_close_matches

from pydantic import ValidationError


class WrongInput(Exception):  # noqa: N818 - names what is wrong
    """What was given is wrong: a file, a row, a key, a setting. Exit code 2."""


class Failed(Exception):  # noqa: N818 - names what happened
    """The work could not be done: a disk, a network, a damaged file, a ceiling reached. Exit code 1."""


class Stopped(Failed):
    """The work stopped itself: somebody has to see to it first. Trying again changes nothing."""


def first_problem(error: ValidationError, whole: str) -> str:
    """The first problem that pydantic found, as "where: what"; where it is in no one field, of the `whole`."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {in_short(first['msg'])}"


def in_short(message: str) -> str:
    """What pydantic says, without its own word for errors that are ours."""
    return message.removeprefix("Value error, ")


def first_line(error: Exception) -> str:
    """The first line of an error's message; its type where it has no message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def nearest(name: str, known: Collection[str]) -> str:
    """Return the advice for an unknown name: `did you mean "x"?`, or if nothing is similar, all known names."""
    match = get_close_matches(name, known, n=1, cutoff=0.5)
    return f'did you mean "{match[0]}"?' if match else f"known: {', '.join(known) or 'none'}"
