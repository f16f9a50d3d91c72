"""One row with what several checks of it need."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify.texts import says_something
from flows.language import Language, keywords
from schemas.lveval import LongContext, Position


class Span(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True)
class Case:
    """A row with what its checks need again and again."""

    row: LongContext
    dataset: Dataset
    language: Language
    spans: Sequence[Span]
    """Where the documents stand, each from the end of its header to the next; a book is one document."""
    within: Sequence[int | None]
    """For each of the row's positions, the number of the document that it stands in."""

    @property
    def code(self) -> str:
        return self.dataset.language

    @cached_property
    def rules(self) -> list[tuple[str, str]]:
        """The rules that can be searched for; the others are a fault of the row."""
        sides = ((rule.old, rule.new) for rule in self.row.replacements)
        return [(old, new) for old, new in sides if says_something(old) and says_something(new)]

    def text(self, position: Position) -> str:
        return self.row.context[position.start : position.end]

    def undone(self, text: str) -> str:
        """Return the text as it was before replacement."""
        return keywords.undo(text, self.rules, self.code) if self.rules else text

    def of_kind(self, kind: str) -> list[tuple[Position, int | None]]:
        """Return the positions of a kind, each with the number of its document."""
        places = zip(self.row.positions, self.within, strict=True)
        return [(position, number) for position, number in places if position.kind == kind]
