"""The variants and ablations under which a row is put to a model (tables 3 and A4 to A7).

This module needs the standard library alone: a release ships it as part of the scorer.
"""

from typing import Literal, get_args

from flows.families.lveval.datasets import Dataset

Variant = Literal["context", "direct"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
Ablation = Literal["no-cfi", "no-kpr", "neither"]
"""A row without its confusing facts, without its replacements, or without both. Tables A4 to A7 call them
"w. KPR", "w. CFI" and "w.o. both"; a row as released is "w. both"."""
ABLATIONS: tuple[Ablation, ...] = get_args(Ablation)
WITHOUT_FACTS: tuple[Ablation, ...] = ("no-cfi", "neither")
WITHOUT_RULES: tuple[Ablation, ...] = ("no-kpr", "neither")


def ablations_of(dataset: Dataset, *, confused: bool) -> tuple[Ablation, ...]:
    """The ablations that change something in a row of the dataset (table 2), with or without confusing facts."""
    if confused and dataset.replacements:
        return ABLATIONS
    if confused:
        return ("no-cfi",)
    return ("no-kpr",) if dataset.replacements else ()


def variants_of(ablation: Ablation | None) -> tuple[Variant, ...]:
    """The variants of an ablation: without the context, only the replacements make another question."""
    return VARIANTS if ablation in (None, "no-kpr") else ("context",)
