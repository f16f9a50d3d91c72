"""The scorers that travel with a release: one file a family, which needs nothing of this project to run.

They say again what `flows/scoring` and the families' `score.py` say, on purpose: a test holds both together. What they
have in common with one another lies in `common.py`, and stands within each file that is shipped.
"""

import re
from importlib.resources import files

SCORED = ("charpeval", "lveval", "reeval", "uraq")
"""The families that have a scorer."""

_IMPORT = re.compile(r"^from data\.publish\.scorers\.common import \([^)]*\)\n", re.MULTILINE)
_HEAD = re.compile(r'\A""".*?"""\n+from __future__ import annotations\n', re.DOTALL)


def scorer(family: str) -> str:
    """The text of the family's scorer, to be written as `scorers/FAMILY.py`: what it imports from here stands in it."""
    own, common = ((files(__name__) / f"{name}.py").read_text(encoding="utf-8") for name in (family, "common"))
    before, after = _IMPORT.split(own)
    return f"{before}{_HEAD.sub('', common).strip()}\n{after}"
