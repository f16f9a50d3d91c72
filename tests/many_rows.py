"""Rows of a family as scoring reads them, of any number, and a model's predictions on them: made one by one."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flows.families import load_family
from flows.scoring.scorer import Row
from schemas.charpeval import OPTION_TYPES
from tests.released import (
    SAID,
    charpeval_items,
    document_conflicts,
    document_pairs,
    enriched_cases,
    long_contexts,
    swap_cases,
    uraq_rows,
)

TEMPLATES: Mapping[str, Callable[[], Sequence[Any]]] = {
    "uraq": lambda: uraq_rows((1, 10, 25)),
    "reeval": lambda: [*swap_cases(("p", "q")), *enriched_cases(("p", "q"))],
    "lveval": lambda: [*long_contexts("hotpotwikiqa-mixup"), *long_contexts("factrecall-en")],
    "charpeval": charpeval_items,
    "documents": lambda: [*document_pairs(), *document_conflicts()],
}
NAMES = {"item_id", "pair_id", "dialogue_id", "knowledge", "document", "id"}
"""Fields by which the copies of a row are told apart, at any depth."""


def many_rows(family: str, number: int) -> Iterator[Row]:
    """Yield so many rows."""
    templates = [load_family(family).evaluation.scored(row) for row in TEMPLATES[family]()]
    for place in range(number):
        copy, template = divmod(place, len(templates))
        yield {**_renamed(templates[template], copy), "id": f"{place:016x}"}


def _renamed(value: Any, copy: int, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {inner: _renamed(part, copy, inner) for inner, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, copy) for part in value]
    return f"{value} {copy}" if name in NAMES else value


def many_predictions(family: str, number: int, variants: Callable[[Row], Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Yield a prediction on each of so many rows under each of its variants."""
    drawn = random.Random(1)
    for row in many_rows(family, number):
        for variant in variants(row):
            prediction: dict[str, Any] = {"prediction": drawn.choice(SAID)}
            if family == "charpeval":
                prediction = {"scores": {kind: -drawn.randrange(1, 40) / 8 for kind in OPTION_TYPES}}
            yield {"id": row["id"], "variant": variant, **prediction}
