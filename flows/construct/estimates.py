"""What a step declares for estimates alone: how much it makes and asks where all goes well."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

from flows.construct.settings import S_contra


@dataclass(frozen=True)
class Expected(Generic[S_contra]):
    """How much a step makes and asks under the settings where nothing is dropped; each number is an upper bound."""

    slots: Callable[[S_contra], float] | None = None
    """Of an `expand` step: the slots of a record; the mean, where records differ in it."""
    calls: Callable[[S_contra], Mapping[str, float]] | None = None
    """By prompt, how often a record asks it; by default once for each model that is asked."""
    kept: Callable[[S_contra], int] | None = None
    """Of an `all_` step: the records that it keeps."""
    calls_in_all: Callable[[S_contra], int] | None = None
    """Of an `all_` step that asks for records, several with each call: its calls."""
