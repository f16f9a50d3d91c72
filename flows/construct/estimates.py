"""Declarations of a step for estimates only: the records it makes and the calls it needs if nothing is dropped."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """The records that a step makes and its calls if nothing is dropped; each number is an upper bound.

    Each field is a function of the family's settings.
    """

    slots: Callable[..., float] | None = None
    """For an `expand` step: the slots of a record, or their mean if records differ."""
    slots_in_all: Callable[..., float] = lambda settings, limit: math.inf
    """For an `expand` step that plans a number of slots: the most of all records together; also of a pilot's limit."""
    calls: Callable[..., Mapping[str, float]] | None = None
    """By prompt, the number of calls for a record; by default one for each model that is asked."""
    kept: Callable[..., int] | None = None
    """For a step that keeps as many records as are wanted: their number."""
    calls_in_all: Callable[..., int] | None = None
    """For an `all_` step that asks for several records with each call: its calls."""
    asks_more: Callable[..., float] | None = None
    """For an `all_` step that goes through the part's steps again while it keeps too few: the most slots in all."""
