"""Options that follow a prompt, and how likely a model finds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flows.llm.model import Usage
from schemas.errors import WrongInput


class TooLong(WrongInput):
    """Prompt and option do not fit into the model's window."""


@dataclass(frozen=True)
class Options:
    """A prompt and texts that could follow it, each by itself: no option is shown another one.

    An option begins with the white space that separates it from the prompt.
    """

    prompt: str
    options: tuple[str, ...]

    @property
    def split(self) -> "Options":
        """The same with the prompt's trailing white space at the options' beginning.

        Tokens begin with the space before a word: behind a space of its own a word is another token, and
        less likely than it is. lm-evaluation-harness moves it too.
        """
        bare = self.prompt.rstrip()
        space = self.prompt[len(bare) :]
        return Options(bare, tuple(space + option for option in self.options))


@dataclass(frozen=True)
class Likelihood:
    """Natural logarithms of the probabilities of a prompt's tokens, and of an option's after them.

    Of the prompt, that of its first token is left out: nothing stands before it.
    """

    prompt: tuple[float, ...]
    option: tuple[float, ...]


class LikelihoodModel(Protocol):
    """Tells how likely texts are."""

    name: str

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """For each prompt its options' likelihoods, in the options' order; what it took is added to `usage`.

        An option's tokens are, as in lm-evaluation-harness, those of prompt and option together after the number
        that the prompt has alone. Raises `WrongInput` for a prompt or option without tokens, and `TooLong` if they
        do not fit into the model's window: nothing is cut (the harness cuts at the left, which removes the
        instruction); and, if a server is asked, `TransportError` and `BudgetSpent`.
        """
        ...
