"""What Misdate asks of its models."""

from pathlib import Path

from flows.families.misdate.checks import check_question
from flows.llm.model import Prompt, Text
from schemas.base import Frozen

HERE = Path(__file__).parent


class ToAsk(Frozen):
    """A statement whose year is to be asked for."""

    statement: str


class ToAnswer(Frozen):
    """A question, with the context that answers it."""

    context: str
    question: str


ASK_YEAR = Prompt("ask_year", 1, Text, HERE, checks=(check_question,), inputs=ToAsk)
ANSWER_YEAR = Prompt("answer_year", 1, Text, HERE, role="evaluated", temperature=0.0, max_tokens=16, inputs=ToAnswer)
PROMPTS = (ASK_YEAR, ANSWER_YEAR)
