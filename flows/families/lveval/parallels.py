"""Confusing facts by rule (section 3.2.2)."""

import random
from collections.abc import Iterator

from flows.families.lveval import parallels_en
from flows.families.lveval.confusing import CHANGES, fact_problem
from flows.families.lveval.prompts import ToConfuse
from schemas.lveval import Changed, Pair

OFFERED = 3


def facts(asked: ToConfuse, pair: Pair, rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Subject facts and object facts that pass, the best first."""
    documents = [document.text for document in pair.documents]
    made = parallels_en.facts(asked, documents, rng)
    subject, other = (_sound(asked, change, one) for change, one in zip(CHANGES, made, strict=True))
    return subject, other


def _sound(asked: ToConfuse, change: Changed, made: Iterator[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for fact in made:
        if fact_problem(asked, change, fact) is None:
            found[fact] = None
            if len(found) == OFFERED:
                break
    return tuple(found)
