"""What a question of Misdate must meet."""

import re
from typing import Any

from flows.llm.model import Text, require


def check_question(inputs: Any, output: Text) -> None:
    """Refuse what is not one question, or names a year. Raises `Invalid`."""
    require(output.text.endswith("?"), "not a question", output.text)
    require(not re.search(r"\b\d{4}\b", output.text), "the question names a year", output.text)
