"""RefuteBench 2.0's prompts for the evaluated model, the refuter and the evaluators (figures 3 and 4)."""

from pathlib import Path
from typing import Any

from pydantic import Field

from flows.families.refutebench.protocol import rating_in
from flows.llm.model import InDialogue, Invalid, Prompt, Text, require_plain_text
from schemas.base import Frozen
from schemas.refutebench import RATINGS

HERE = Path(__file__).parent
EVALUATED, REFUTER, EVALUATOR = "evaluated", "refuter", "evaluator"
ANSWER_TOKENS = 2048
"""Of an answer of the evaluated model, at most: a story or an article is asked for."""


class ToAnswer(InDialogue):
    """A user's message to the evaluated model. Models see it and the dialogue; the rest is for rules alone."""

    said: str
    task: str
    text: str
    reference: str
    forgetting: float = Field(description="Chance that an earlier requirement is let go of")
    ignoring: float = Field(0.0, description="Chance that the latest requirement is not followed")


class ToRefute(Frozen):
    """An answer to be refuted."""

    task: str
    query: str
    response: str
    earlier: tuple[str, ...] = Field(description="The refutations before")
    focus: str
    style: tuple[str, ...] = Field(description="ambiguous, abstract, emotional: those that are asked for")
    strong: str = Field(description="Which of them is strong; it is the same throughout a dialogue")
    standing: bool = Field(description="Whether it is to hold for later queries too")
    refused: tuple[tuple[str, str], ...] = Field(description="Refutations that did not pass, each with why")


class Refutation(Frozen):
    """A refutation, in the user's words."""

    refutation: str = Field(min_length=1)


class ToCheck(Frozen):
    """A refutation to be checked before it is sent."""

    query: str
    response: str
    refutation: str
    focus: str
    earlier: tuple[str, ...]


class Checked(Frozen):
    """The check of a refutation. Earlier ones are named by number, from 1; 0 is none."""

    met: bool = Field(description="The response does already what it asks for")
    off_focus: bool = Field(False, description="It asks for a change in something else than it is to be about")
    aspects: int = Field(ge=0, description="How many things it asks to be changed")
    repeats: int = Field(ge=0, description="Number of the earlier refutation that asks for the same")
    contradicts: int = Field(ge=0, description="Number of the earlier refutation that cannot be met beside it")


class ToRate(Frozen):
    """An answer after a refutation, with the one before (figure 4)."""

    query: str
    previous: str
    refutation: str
    response: str


class ToRateTask(Frozen):
    """An answer to the initial query."""

    query: str
    response: str


def rating_of(reply: str) -> int | None:
    """The rating that a reply ends with, 1 to 5; None for anything else."""
    return rating_in(reply, RATINGS)


def _check_rating(asked: ToRate | ToRateTask, answer: Text) -> None:
    if answer.cut_off:  # what it would have come to is not known, whatever it quoted so far
        raise Invalid("answer cut off", "explain in fewer words, and end with the rating")
    if rating_of(answer.text) is None:
        raise Invalid("no rating", "after the explanation give the rating as [[n]], n a whole number from 1 to 5")


# Section 5: greedy search for the evaluated models. Evaluators and checks are asked greedily too.
RESPOND = Prompt(
    "respond",
    1,
    Text,
    HERE,
    role=EVALUATED,
    temperature=0.0,
    max_tokens=ANSWER_TOKENS,
    inputs=ToAnswer,
    may_be_cut=True,
)
REFUTE = Prompt(
    "refute", 4, Refutation, HERE, role=REFUTER, checks=(require_plain_text,), max_tokens=512, inputs=ToRefute
)
CHECK_REFUTATION = Prompt(
    "check_refutation", 3, Checked, HERE, role=REFUTER, temperature=0.0, max_tokens=256, inputs=ToCheck
)
RATE_REFUTATION = Prompt(
    "rate_refutation", 1, Text, HERE, role=EVALUATOR, checks=(_check_rating,), temperature=0.0, max_tokens=1024,
    inputs=ToRate,
)  # fmt: skip
RATE_TASK = Prompt(
    "rate_task", 1, Text, HERE, role=EVALUATOR, checks=(_check_rating,), temperature=0.0, max_tokens=1024,
    inputs=ToRateTask,
)  # fmt: skip

PROMPTS: tuple[Prompt[Any], ...] = (RESPOND, REFUTE, CHECK_REFUTATION, RATE_REFUTATION, RATE_TASK)
