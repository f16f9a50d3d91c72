"""How a model is asked a question: closed-book, open-book and faithful, zero-shot and few-shot (section 4.2).

Tables 10 to 12 give a wording for each kind of model; ours say the same in our own words. The fields stand
as in the paper's released code: label, new line, value, a blank line between fields. The replies are used
whole. Departures: Chinese cases are asked under the same English instruction, with Chinese demonstrations;
a question mark that ends the question is left out of the faithful prompt, whose sentence goes on after it.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from flows.llm.model import Prompt, Text
from schemas.base import Frozen

HERE = Path(__file__).parent / "prompts"
ANSWER_TOKENS = 100  # methods: "inference greedy, 100 tokens"

Style = Literal["chat", "alpaca", "palm", "claude"]
Prompting = Literal["open-book", "faithful"]
Variant = Literal["closed_book", "original", "swapped", "question_focused", "evidence_focused"]


class Demonstration(Frozen):
    """A question answered from its evidence, to precede the question that is asked."""

    evidence: str
    question: str
    answer: str


class ToAnswer(Frozen):
    """A question with the evidence to answer it from; none is closed-book."""

    question: str
    evidence: str | None = None
    prompting: Prompting = "open-book"
    demonstrations: tuple[Demonstration, ...] = ()


def _answer(style: Style) -> Prompt[Text]:
    # The pivot's role: the seeds are selected by the same prompts (section 3).
    return Prompt(
        f"answer_{style}", 1, Text, HERE, role="pivot", temperature=0.0, max_tokens=ANSWER_TOKENS, inputs=ToAnswer
    )


STYLES: Mapping[Style, Prompt[Text]] = MappingProxyType(
    {"chat": _answer("chat"), "alpaca": _answer("alpaca"), "palm": _answer("palm"), "claude": _answer("claude")}
)
"""A prompt for each kind of model: `chat` is for ChatGPT, GPT-4 and what follows system messages."""
ANSWERS: tuple[Prompt[Any], ...] = tuple(STYLES.values())


@cache
def demonstrations(language: str) -> tuple[Demonstration, ...]:
    """A language's "5 static demonstration examples" (section 4.1), always in the same order."""
    lines = (HERE / f"demonstrations.{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Demonstration.model_validate_json(line) for line in lines)


def answering(
    question: str, evidence: str | None, language: str, prompting: Prompting = "open-book", shots: Literal[0, 5] = 0
) -> ToAnswer:
    """A question to be answered from the evidence, or closed-book from what the model knows."""
    return ToAnswer(
        question=question,
        evidence=evidence,
        prompting=prompting,
        demonstrations=demonstrations(language) if shots else (),
    )
