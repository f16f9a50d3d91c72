"""A part's declaration for releases: how its accepted records become configurations of a dataset."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from data.publish.benchmark import ReadyColumn
from data.sources import SourceSpec


@dataclass(frozen=True)
class Apart:
    """Rows of a part that are a configuration by themselves: no score is taken over them and the others together."""

    name: str
    """Of the configuration, after its family's."""
    group: str
    """Of their tasks for lm-evaluation-harness, after its family's."""
    column: str
    holds: Callable[[Any], bool]
    """`holds(value of the column)`: whether a row is one of them."""


@dataclass(frozen=True)
class Released:
    """How a part's accepted records become configurations of a release."""

    together: str
    """The field shared by rows that stand together: a fault in one holds back all of them."""
    origin: tuple[str, ...]
    """The fields that tell which source record a row rests on: all rows on it are private, or none. Without any, no row
    of the part is private."""
    rests_on: Callable[..., str] = str
    """`rests_on(the values of origin)`: the text that gives the row away, as its source has it: the question, say. By
    default it is the one field."""
    configs: tuple[str, ...] = ()
    """The fields whose values distinguish its configurations; without any there is one configuration."""
    apart: Apart | None = None
    verification_inputs: tuple[str, ...] = ()
    """The other parts that the verifier reads: their rows are released too, so that anyone can verify a download."""
    asked: Callable[..., bool] | None = None
    """`asked(row)`, for a part that needs people: True if a row needs them; None if every row does."""
    mixes: Callable[..., Iterable[SourceSpec]] | None = None
    """`mixes(settings, the values of configs)`: the sources whose text rows of that configuration may contain. If None,
    these are all sources of the part, of its makers, and of the parts that they use."""
    ready: tuple[ReadyColumn, ...] = ()
    """Columns that a release adds, made of the rows' own."""
    text_fields: tuple[str, ...] = ()
    """The fields (texts, or turns of a dialogue) that show which languages a row is in; by default its `language`."""

    @property
    def named_by(self) -> tuple[str, ...]:
        """The fields that tell which configuration a row is in."""
        return (*self.configs, *([self.apart.column] if self.apart is not None else []))
