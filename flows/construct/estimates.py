"""What a step declares for estimates alone: how much it makes and asks where all goes well."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Expected:
    """How much a step makes and asks under the settings where nothing is dropped; each number is an upper bound.

    Each is a function of the family's settings.
    """

    slots: Callable[..., float] | None = None
    """Of an `expand` step: the slots of a record; the mean, where records differ in it."""
    calls: Callable[..., Mapping[str, float]] | None = None
    """By prompt, how often a record asks it; by default once for each model that is asked."""
    kept: Callable[..., int] | None = None
    """Of an `all_` step: the records that it keeps."""
    calls_in_all: Callable[..., int] | None = None
    """Of an `all_` step that asks for records, several with each call: its calls."""
