"""The two ways in which a command can fail. Each problem is one line for a person: what, where, what to do.

The line holds no secret, whatever it quotes: it is printed, logged, and kept by Prefect.
"""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from pydantic import ValidationError

from schemas.secrets import without_secrets


class _WithoutSecrets(Exception):  # noqa: N818 - the base of what is told to people
    def __init__(self, *told: object) -> None:
        super().__init__(*(without_secrets(line) if isinstance(line, str) else line for line in told))


class WrongInput(_WithoutSecrets):
    """The user's input is wrong: a file, a row, a key, a setting. Exit code 2."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, each in a line."""
        return (str(self),)


class WrongInputs(WrongInput):
    """Several things are wrong; each has a line of the message."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, each in a line."""
        return self.args

    def __str__(self) -> str:
        return "\n".join(self.problems)


class Failed(_WithoutSecrets):
    """The work could not be done: a full disk, a network, a damaged file, a ceiling reached. Exit code 1."""


class Stopped(Failed):
    """The work stopped because somebody has to look first. Trying again changes nothing."""


class Conflicts(Stopped):
    """People and a new version changed the same things in different ways; each thing has a line of the message."""

    def __init__(self, outcome: str, conflicts: Sequence[str]) -> None:
        self.problems = (f"{outcome}; see to what follows, then run again", *conflicts)
        super().__init__("\n".join(self.problems))
        self._arguments = outcome, tuple(conflicts)

    def __reduce__(self) -> tuple[type["Conflicts"], tuple[str, tuple[str, ...]]]:
        return Conflicts, self._arguments


def raise_all(problems: Sequence[str]) -> None:
    """Raise `WrongInput` with all the problems, each once; return if there are none."""
    match [*dict.fromkeys(problems)]:
        case []:
            return
        case [problem]:
            raise WrongInput(problem)
        case several:
            raise WrongInputs(*several)


def first_problem(error: ValidationError, whole: str) -> str:
    """Return pydantic's first problem as "field: problem"; if it is of no one field, as "`whole`: problem"."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {in_short(first['msg'])}"


def in_short(message: str) -> str:
    """Return pydantic's message without the prefix that it gives to our own errors."""
    return message.removeprefix("Value error, ")


def first_line(error: Exception) -> str:
    """Return the first line of an error's message that is not blank, or the error's type if there is none."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def innermost(error: BaseException) -> BaseException:
    """Return the first cause of an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def alike(name: str, names: Collection[str]) -> Sequence[str]:
    """Return the one of `names` that is most like `name`, if one is like it."""
    return get_close_matches(name, names, n=1, cutoff=0.5)


def nearest(name: str, names: Collection[str]) -> str:
    """Return the advice for an unknown name: `did you mean "x"?`, or if nothing is similar, all known names."""
    match = alike(name, names)
    return f'did you mean "{match[0]}"?' if match else f"known: {', '.join(names) or 'none'}"
