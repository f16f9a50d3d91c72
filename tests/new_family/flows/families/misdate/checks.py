"""What a question of Misdate must meet."""

import re
from typing import Any

from flows.llm.model import Invalid, Text


def check_question(inputs: Any, output: Text) -> None:
    """Refuse what is not one question, or names a year. Raises `Invalid`."""
    if not output.text.endswith("?"):
        raise Invalid("not a question", output.text)
    if re.search(r"\b\d{4}\b", output.text):
        raise Invalid("the question names a year", output.text)
