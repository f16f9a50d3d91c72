"""What a refreshed step drew for the releases before: a model may have learned it, so it is not drawn again.

A version of a dataset is never changed. Once it is out, what a step drew at random (another answer, another name) can
be learned. A later version draws it anew (`release.refresh`), and the same model on both tells what it has learned.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from flows.construct.engine import StepContext
from flows.construct.records import R

D = TypeVar("D")


def drawn_before(step: StepContext, record: type[R], drawn: Callable[[R], D]) -> Mapping[str, tuple[D, ...]]:
    """Return by key what a refreshed step drew for each record in the draws before, once each, the last one last.

    Nothing without a draw: the first one has nothing to avoid.
    """
    by_key: dict[str, tuple[D, ...]] = {}
    for release in step.drawn_before:
        for made in release:
            assert isinstance(made, record)
            last = drawn(made)
            by_key[made.key] = (*(one for one in by_key.get(made.key, ()) if one != last), last)
    return by_key
