"""How the configuration names a source, a row as its format sees it, and what can be wrong with either."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from schemas.base import Frozen
from schemas.errors import WrongInput

T = TypeVar("T")
SHOWN_CHARACTERS = 60
"""How much of a wrong value an error shows."""


class SourceError(WrongInput):
    """A source that cannot be read: one line with the file, the row, what was expected and what to do."""


class SourceSpec(Frozen):
    """A source as the configuration names it."""

    format: str
    path: str = Field(description="A file; for `hub` REPOSITORY[/CONFIG][:SPLIT]", min_length=1)
    language: str = "en"
    fields: dict[str, str] | None = Field(
        None, description="Our field to the source's field, for jsonl, csv, parquet and hub"
    )
    limit: int | None = Field(None, ge=1, description="Reading stops once so many records are kept")
    licence: str | None = Field(None, description="The licence of the rows, for their provenance")

    @property
    def name(self) -> str:
        """What the source is called in provenance: the file's name, whatever folder it lies in."""
        return self.path if self.format == "hub" else Path(self.path).name


def nearest(name: str, known: Collection[str]) -> str:
    """`did you mean "x"?`, or where nothing is near, all there is."""
    near = get_close_matches(name, known, n=1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known) or 'none'}"


@dataclass(frozen=True)
class Row:
    """One row of a source, with the place that an error names."""

    file: str
    place: str
    values: Mapping[str, object]

    def error(self, expected: str, advice: str) -> SourceError:
        """The error that names this row."""
        return SourceError(f"{self.file}: {self.place}: {expected}; {advice}")

    def value(self, name: str) -> object:
        """The field `name`; raises `SourceError` where the row lacks it, naming the nearest it has."""
        if name not in self.values:
            raise self.error(f'expected a field "{name}", found none', nearest(name, list(self.values)))
        return self.values[name]

    def text(self, name: str) -> str:
        """The field `name`, which must be a string."""
        value = self.value(name)
        if not isinstance(value, str):
            raise self._mistyped(name, "a string", value)
        return value

    def label(self, name: str) -> str:
        """The field `name`, which must be a string or a whole number: an id."""
        value = self.value(name)
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self._mistyped(name, "a string or a whole number", value)
        return str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        """The field `name`, which must be a list of strings."""
        return tuple(self._each(name, str, "a list of strings"))

    def flag(self, name: str) -> bool:
        """The field `name`, which must be true or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            raise self._mistyped(name, "true or false", value)
        return value

    def rows(self, name: str) -> Iterator["Row"]:
        """The field `name`, which must be a list of objects; each is a row of its own."""
        for number, item in enumerate(self._each(name, dict, "a list of objects"), start=1):
            yield Row(self.file, f"{self.place}, {name} {number}", item)

    def pairs(self, name: str, second: type[T]) -> Iterator[tuple[str, T]]:
        """The field `name`, which must be a list of pairs of a string and a `second`."""
        expected = f"a list of pairs of a string and a {second.__name__}"
        for item in self._each(name, list, expected):
            if len(item) != 2 or not isinstance(item[0], str) or not isinstance(item[1], second):
                raise self._mistyped(name, expected, item)
            yield item[0], item[1]

    def _each(self, name: str, kind: type[T], expected: str) -> Iterator[T]:
        value = self.value(name)
        if not isinstance(value, list):
            raise self._mistyped(name, expected, value)
        for item in value:
            if not isinstance(item, kind):
                raise self._mistyped(name, expected, item)
            yield item

    def _mistyped(self, name: str, expected: str, found: object) -> SourceError:
        shown = repr(found)
        shown = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[: SHOWN_CHARACTERS - 3]}..."
        return self.error(
            f'expected field "{name}" to be {expected}, found {type(found).__name__} {shown}',
            "correct the row, or name another field or format",
        )


@dataclass(frozen=True)
class Entry:
    """What a format makes of a row, before the door: the record's fields, or why the row gives none."""

    id: str
    """The source's own id, or the row's place."""
    values: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    evidence: str = ""


Reader = Callable[[SourceSpec], Iterator[Entry]]
"""How a format gives its entries in one shape of record."""
