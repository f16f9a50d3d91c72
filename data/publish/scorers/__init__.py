"""The scorers that travel with a release: one file a family, which needs nothing of this project to run.

They say again what `flows/scoring` and the families' `score.py` say, on purpose: a test holds both together. What they
have in common with one another lies in `common.py`, and stands within each file that is shipped.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from data.publish.scorers import charpeval, lveval, reeval, uraq

SCORED = ("charpeval", "lveval", "reeval", "uraq")
"""The families that have a scorer."""
FORMS: Mapping[str, Mapping[str, Any]] = {
    "charpeval": charpeval.FORM, "lveval": lveval.FORM, "reeval": reeval.FORM, "uraq": uraq.FORM,
}  # fmt: skip
"""Of each, a row of predictions."""
READ: Mapping[str, str] = {
    "charpeval": "`scores` has a number for each option, the higher the likelier, of the log-probabilities of its "
    "tokens after the prompt: variant `sum`, their sum; `mean`, their mean; `sequence`, the mean over prompt and "
    "option. Give the variants that you have.",
    "lveval": "`prediction` is the whole reply. `context` asks with the context, `direct` with the question alone.",
    "reeval": "`prediction` is the whole reply, which should be the answer and no more. With `prompting` `faithful` "
    "there is no `closed_book`.",
    "uraq": "`prediction` is the whole reply. Its answer is what the last `<output>` tag holds: a reply without the "
    "tag is wrong, and is counted.",
}
"""Of each, what is made of a prediction."""

_IMPORT = re.compile(r"^from data\.publish\.scorers\.common import \([^)]*\)\n", re.MULTILINE)
_HEAD = re.compile(r'\A""".*?"""\n+from __future__ import annotations\n', re.DOTALL)


def scorer(family: str) -> str:
    """The text of the family's scorer, to be written as `scorers/FAMILY.py`: what it imports from here stands in it."""
    own, common = ((files(__name__) / f"{name}.py").read_text(encoding="utf-8") for name in (family, "common"))
    before, after = _IMPORT.split(own)
    return f"{before}{_HEAD.sub('', common).strip()}\n{after}"
