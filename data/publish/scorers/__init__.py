"""The scorers that travel with a release: one file a family, which needs nothing of this project to run.

They say again what `flows/scoring` and the families' `score.py` say, on purpose: a test holds both together. Their
last section is the same in all of them, to the letter.
"""

from importlib.resources import files

SCORED = ("charpeval", "lveval", "reeval", "uraq")
"""The families that have a scorer."""


def scorer(family: str) -> str:
    """The text of the family's scorer, to be written as `scorers/FAMILY.py`."""
    return (files(__name__) / f"{family}.py").read_text(encoding="utf-8")
