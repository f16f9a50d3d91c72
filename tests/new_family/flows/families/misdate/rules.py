"""Misdate without a model: the question repeats the statement, and the answer is the year of the context."""

import random
import re

from flows.families.misdate.prompts import ToAnswer, ToAsk
from flows.llm.model import RuleSet, Text

YEAR = re.compile(r"(?: in)? (\d{4})\b")


def ask_year(inputs: ToAsk, rng: random.Random) -> Text:
    """The statement without its year, as a question."""
    return Text(text=f"In which year does this fall: {YEAR.sub('', inputs.statement).rstrip('.')}?")


def answer_year(inputs: ToAnswer, rng: random.Random) -> Text:
    """The year of the context."""
    return Text(text=YEAR.findall(inputs.context)[0])


RULES_VERSION = 1
"""Raised when an answer changes for the same inputs."""
RULES: RuleSet = {"ask_year": ask_year, "answer_year": answer_year}
