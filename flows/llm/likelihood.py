"""Options that follow a prompt, and how well each does by a model's log-probabilities (CHARPEval, 2.4 and appendix A).

The paper has two definitions. Section 2.4 takes the option of the highest probability given the prompt: the `sum` of
its tokens' log-probabilities. Appendix A takes the lowest perplexity of prompt and option together: `sequence`, the
mean log-probability of all their tokens. Both favour some lengths: the sum short options, the sequence long ones that
continue fluently after a prompt that is less fluent. We add `mean`, over the option's tokens alone.

The default is `sum`: the main text defines it, figure 1 shows sums, and lm-evaluation-harness, which produced the
paper's numbers, takes it for the accuracy of a multiple choice. So our numbers compare with theirs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

from flows.llm.model import Usage
from schemas.errors import WrongInput

ScoreName = Literal["sum", "mean", "sequence"]
DEFAULT_SCORE: ScoreName = "sum"


class TooLong(WrongInput):
    """Prompt and option do not fit into the model's window."""


@dataclass(frozen=True)
class Options:
    """A prompt and texts that could follow it, each by itself: no option is shown with another.

    An option begins with the white space that separates it from the prompt.
    """

    prompt: str
    options: tuple[str, ...]

    @property
    def split(self) -> "Options":
        """The same with the prompt's trailing white space at the options' beginning.

        Tokens begin with the space before a word: after a separate space a word is another token, and
        less likely. lm-evaluation-harness moves the space too.
        """
        bare = self.prompt.rstrip()
        space = self.prompt[len(bare) :]
        return Options(bare, tuple(space + option for option in self.options))


@dataclass(frozen=True)
class Likelihood:
    """Natural logarithms of the probabilities of a prompt's tokens, and of an option's after them.

    The prompt's first token is left out: nothing precedes it.
    """

    prompt: tuple[float, ...]
    option: tuple[float, ...]


class LikelihoodModel(Protocol):
    """Says how likely texts are."""

    name: str

    async def likelihoods(self, asked: Sequence[Options], *, usage: Usage) -> list[tuple[Likelihood, ...]]:
        """For each prompt its options' likelihoods, in the options' order; what it took is added to `usage`.

        An option's tokens are, as in lm-evaluation-harness, those of prompt and option together after the number
        that the prompt has alone. Raises `WrongInput` for a prompt or option without tokens, and `TooLong` if they
        do not fit into the model's window: nothing is cut (the harness cuts at the left, which removes the
        instruction); and, if a server is asked, `TransportError` and `BudgetSpent`.
        """
        ...


def option_sum(likelihood: Likelihood) -> float:
    """Log-probability of the option after the prompt, in nats."""
    return math.fsum(likelihood.option)


def option_mean(likelihood: Likelihood) -> float:
    """Mean log-probability of the option's tokens, in nats a token."""
    return math.fsum(likelihood.option) / len(likelihood.option)


def sequence_mean(likelihood: Likelihood) -> float:
    """Mean log-probability of all tokens of prompt and option but the first, in nats a token: minus log perplexity."""
    tokens = (*likelihood.prompt, *likelihood.option)
    return math.fsum(tokens) / len(tokens)


SCORES: Mapping[ScoreName, Callable[[Likelihood], float]] = MappingProxyType(
    {"sum": option_sum, "mean": option_mean, "sequence": sequence_mean}
)
"""By name, the default first. Higher means likelier."""
