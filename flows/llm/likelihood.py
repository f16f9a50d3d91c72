"""How well an option follows a prompt, by a model's log-probabilities (CHARPEval, section 2.4 and appendix A).

The paper has two definitions. Section 2.4 takes the option of the highest probability given the prompt: the `sum` of
its tokens' log-probabilities. Appendix A takes the lowest perplexity of prompt and option together: `sequence`, the
mean log-probability of all their tokens. Both favour some lengths: the sum short options, the sequence long ones that
go on fluently after a prompt that does not. We add `mean`, over the option's tokens alone.

The default is `sum`: the main text defines it, figure 1 shows sums, and lm-evaluation-harness, which produced the
paper's numbers, takes it for the accuracy of a multiple choice. So our numbers compare with theirs.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from flows.llm.options import Likelihood

ScoreName = Literal["sum", "mean", "sequence"]
DEFAULT_SCORE: ScoreName = "sum"


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
"""By name, the default first. Of each, the higher the likelier."""
