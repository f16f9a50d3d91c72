"""Rows as scoring reads them, and a model's predictions on them; seeds, dialogues and ratings: made one by one."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flows.construct.evaluation import DialogueContext
from flows.families import load_family
from flows.families.refutebench.plan import dialogues_of, ratings_of
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.scoring.scorer import Row
from schemas.base import key_of
from schemas.charpeval import OPTION_TYPES
from schemas.refutebench import Rating, RefutationDialogue, Seed
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
from tests.test_flows_families_refutebench_score import dialogue, rated, seed

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


def many_dialogues(number: int) -> DialogueContext:
    """Return a model's dialogues about so many seeds, each of one round, all alike and rated alike."""
    settings = RefuteBenchSettings(evaluated=("m",), evaluators=("judge",), unrelated=(), style=("abstract",), rounds=1)
    held = dialogue(seed("first"))
    first = held.model_copy(update={"turns": held.turns[:4]})
    templates = list(rated(first, {(0, 1): 4, (None, 0): 5, (None, 1): 3}))
    [slot] = dialogues_of(seed("first"), settings)

    def seeds() -> Iterator[Seed]:
        return (
            seed("first").model_copy(update={"key": f"seed {place}", "query": f"{place}"}) for place in range(number)
        )

    def dialogues() -> Iterator[RefutationDialogue]:
        for one in seeds():
            key = key_of("refutebench", "dialogues", one.key, slot)
            yield first.model_copy(update={"key": key, "id": f"of {one.key}", "seed": one.key, "query": one.query})

    def ratings() -> Iterator[Rating]:
        for one in dialogues():
            for rating, place in zip(templates, ratings_of(one, settings.evaluators), strict=True):
                key = key_of("refutebench", "ratings", one.key, place)
                yield rating.model_copy(update={"key": key, "dialogue": one.id, "query": one.query})

    records = {"seeds": seeds, "dialogues": dialogues, "ratings": ratings}
    return DialogueContext(settings, 7, lambda part: records[part](), lambda part: ())


def many_predictions(family: str, number: int, variants: Callable[[Row], Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Yield a prediction on each of so many rows under each of its variants."""
    drawn = random.Random(1)
    for row in many_rows(family, number):
        for variant in variants(row):
            prediction: dict[str, Any] = {"prediction": drawn.choice(SAID)}
            if family == "charpeval":
                prediction = {"scores": {kind: -drawn.randrange(1, 40) / 8 for kind in OPTION_TYPES}}
            yield {"id": row["id"], "variant": variant, **prediction}
