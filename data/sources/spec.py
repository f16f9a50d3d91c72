"""Sources as the configuration names them, rows as their formats see them, and the errors in both."""

import datetime
import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import Field, SerializationInfo, SerializerFunctionWrapHandler, model_serializer, model_validator

from data.sources.dates import plain_day
from schemas.base import Frozen, Record, content_hash
from schemas.errors import WrongInput, nearest
from schemas.rubric import Turn
from schemas.source import SupportingDocument

T = TypeVar("T")
SHOWN_CHARACTERS = 60
"""Characters that are shown of a wrong value or a refused passage."""
NO_OFFSET = -1
"""The start of an answer whose source does not know it."""
WEB_ADDRESS = r"^https?://[^\s<>]+$"
NO_SUCH_FILE = "no such file; paths are relative to the configuration file"
ATTRIBUTION = ("title", "authors", "homepage", "licence_url")
"""Settings of a source that only a card shows: no row depends on them."""
PART = "part"
"""The format of a part of the same configuration, which is read as it is built."""
FINGERPRINT = "fingerprint"
"""Key in the context of a dump: a function that gives a source's fingerprint, to be dumped in place of its path."""


class SourceError(WrongInput):
    """A source that cannot be read: one line with the file, the row, what was expected and what to do."""


class SourceSpec(Frozen):
    """A source as the configuration names it; `{part: FAMILY-PART}` is a part of the same configuration."""

    format: str
    path: str = Field(
        min_length=1,
        description="A file or an http(s) URL; for `hub`, REPOSITORY[/CONFIG][:SPLIT]; for `documents` also a folder, "
        "or a pattern such as `handbook/**`",
    )
    language: str = "en"
    fields: dict[str, str] | None = Field(
        None,
        description="Our field -> the source's field, for jsonl, csv, parquet and hub; `date` alone also for "
        "conflictqa, creak, nq-open, realtimeqa and strategyqa",
    )
    limit: int | None = Field(None, ge=1, description="Reading stops once this many records are kept")
    words: tuple[Annotated[int, Field(ge=1)], int] | None = Field(
        None,
        exclude_if=lambda value: value is None,
        description="For `documents`, the least and the most words of a passage (characters in Chinese); null: 80, 400",
    )
    private: bool = Field(
        False,
        exclude_if=lambda value: not value,
        description="Keep its texts out of everything that a release publishes",
    )
    internal: bool = Field(
        False,
        exclude_if=lambda value: not value,
        description="Let the server of a URL lead on to addresses of this machine or its network",
    )
    licence: str | None = Field(None, description="Licence of the rows, for their provenance")
    title: str | None = Field(None, description="What the data set is called, for the card of a release")
    authors: str | None = Field(None, description="Whom the card names as its authors")
    homepage: str | None = Field(None, pattern=WEB_ADDRESS, description="Where the data set is to be had, for the card")
    licence_url: str | None = Field(
        None, pattern=WEB_ADDRESS, description="The text of its licence, if the card cannot know it by the name"
    )
    revision: str | None = Field(
        None, description="For `hub`, a commit, tag or branch; for a URL, its ETag; the first build pins what it finds"
    )
    copied: str | None = Field(
        None, exclude=True, repr=False, description="Where the copy of a URL lies; not for users"
    )
    url: str | None = Field(None, exclude=True, repr=False, description="Of a copy, what it is of; not for users")
    records: Callable[[], Iterable[Record]] | None = Field(
        None, exclude=True, repr=False, description="Gives the records of a part; not for users"
    )

    @model_validator(mode="before")
    @classmethod
    def _of_a_part(cls, given: Any) -> Any:
        """Read `{part: documents-pairs}` as a source of the format `part`."""
        if not isinstance(given, Mapping) or PART not in given:
            return given
        if not {"format", "path"}.isdisjoint(given):
            raise ValueError("part stands in place of format and path: leave them out")
        return {"format": PART, "path": given[PART], **{key: value for key, value in given.items() if key != PART}}

    @model_serializer(mode="wrap")
    def _dumped(self, dump: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, object]:
        """Dump the fields, or call the function that the context of the dump has under `FINGERPRINT`."""
        fingerprint = (info.context or {}).get(FINGERPRINT)
        return cast("dict[str, object]", fingerprint(self) if fingerprint else dump(self))

    @property
    def name(self) -> str:
        """The source's name in provenance: the file's name without its folder; of a pattern, with the fixed one."""
        if self.format == "hub":
            return self.path
        if self.is_url:
            parts = urlsplit(self.path)
            return Path(parts.path).name or parts.netloc
        path = Path(self.path)
        fixed = next((place for place, part in enumerate(path.parts) if glob.has_magic(part)), len(path.parts))
        return str(Path(*path.parts[max(0, fixed - 1) :])) if self.format == "documents" else path.name

    @property
    def is_url(self) -> bool:
        """True for a file on a web server."""
        return self.format != "hub" and self.path.startswith(("http://", "https://"))

    @property
    def is_remote(self) -> bool:
        """True if somebody else can change it at any time, so that it has to be pinned."""
        return self.format == "hub" or self.is_url

    @property
    def at_hand(self) -> "SourceSpec":
        """The source as a local file; for a URL, its copy. Raises `SourceError` if there is none."""
        if not self.is_url:
            return self
        if self.copied is None:
            raise SourceError(f"{without_query(self.path)}: was not fetched; a build of its configuration fetches it")
        return self.model_copy(update={"path": self.copied, "url": self.path})


def without_query(url: str) -> str:
    """Return the URL as it may be shown: a query can hold a signature or a key."""
    return url.partition("?")[0]


def shortened(text: str) -> str:
    """Return the text, cut if it is too long to be shown."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


@dataclass(frozen=True)
class OutOfRange:
    """A value that is a day or a time in a file, and can be none in Python."""

    type: str

    def __repr__(self) -> str:
        return f"{self.type} outside the years 1 to 9999"


@dataclass(frozen=True)
class Row:
    """One row of a source, with its place for errors; the place is empty if the row is the whole file."""

    file: str
    place: str
    values: Mapping[str, object]

    def error(self, expected: str, advice: str) -> SourceError:
        """Return an error that names this row."""
        place = f"{self.place}: " if self.place else ""
        return SourceError(f"{self.file}: {place}{expected}; {advice}")

    def value(self, name: str) -> object:
        """Return the field `name`. Raises `SourceError`, with the nearest field, if the row lacks it."""
        if name not in self.values:
            raise self.error(f'expected a field "{name}", found none', nearest(name, list(self.values)))
        return self.values[name]

    def text(self, name: str) -> str:
        """Return the field `name`, which must be a string."""
        value = self.value(name)
        if not isinstance(value, str):
            raise self._mistyped(name, "a string", value)
        return value

    def optional(self, name: str) -> str | None:
        """Return the field `name`, a string; None if it is missing, null or blank."""
        text = self.text(name) if self.values.get(name) is not None else ""
        return text if text.strip() else None

    def title(self, name: str = "title") -> str | None:
        """Return the title in the field `name`, stripped; None if there is none."""
        text = self.optional(name)
        return text.strip() if text else None

    def label(self, name: str) -> str:
        """Return the field `name`, an id: a string or a whole number."""
        value = self.value(name)
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self._mistyped(name, "a string or a whole number", value)
        return str(value)

    def day(self, name: str) -> str | None:
        """Return the day in the field `name`, as `2024-01-31`; None if it is null or blank."""
        value = self.value(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        stated = value.isoformat() if isinstance(value, datetime.date) else value
        if isinstance(stated, str) and (day := plain_day(stated)) is not None:
            return day
        raise self.error(
            f'expected field "{name}" to be a day, found {type(value).__name__} {shortened(repr(value))}',
            "write it as 2024-01-31, with or without a time, or leave it empty",
        )

    def offset(self, name: str) -> int:
        """Return the field `name`, which must be a place in a text, or -1."""
        value = self.value(name)
        if not _is_offset(value):
            raise self._mistyped(name, "a whole number, -1 or more", value)
        return cast(int, value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the field `name`, which must be a list of strings."""
        return tuple(self._each(name, str, "a list of strings"))

    def offsets(self, name: str, count: int) -> tuple[int, ...]:
        """Return the field `name`, which must be a list of `count` places in a text, or -1."""
        expected = f"a list of {count} whole numbers, -1 or more (one per answer)"
        offsets = tuple(self._each(name, int, expected))
        for offset in offsets:
            if not _is_offset(offset):
                raise self._mistyped(name, expected, offset)
        if len(offsets) != count:
            raise self._mistyped(name, expected, list(offsets))
        return offsets

    def flag(self, name: str) -> bool:
        """Return the field `name`, which must be true or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            raise self._mistyped(name, "true or false", value)
        return value

    def rows(self, name: str, each: str = "") -> Iterator["Row"]:
        """Yield the objects in the list `name`, each as a row with the place `each` and its number."""
        within = f"{self.place}, " if self.place else ""
        for number, item in enumerate(self._each(name, object, "a list of objects"), start=1):
            place = f"{within}{each or name} {number}"
            if not isinstance(item, dict):
                value = f"{type(item).__name__} {shortened(repr(item))}"
                raise Row(self.file, place, {}).error(f"expected an object, found {value}", "correct the file")
            yield Row(self.file, place, item)

    def pairs(self, name: str, second: type[T]) -> Iterator[tuple[str, T]]:
        """Yield the pairs of a string and a `second` in the list `name`."""
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

    def _mistyped(self, name: str, expected: str, value: object) -> SourceError:
        return self.error(
            f'expected field "{name}" to be {expected}, found {type(value).__name__} {shortened(repr(value))}',
            "correct the row, or name another field or format",
        )


def _is_offset(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= NO_OFFSET


@dataclass(frozen=True)
class Entry:
    """A row as its format reads it: the fields of a record, or the reason why it gives none."""

    id: str
    """The source's own id, or the row's place."""
    values: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    evidence: str = ""
    related: str | None = None
    """Of a near-duplicate, the id of the record that it resembles."""


class PassageIds:
    """Gives each document of a file its id as a passage.

    Of passages with the same title and text the first is kept, so its id stands for all of them.
    Every document of the file has to pass through here, in the order of the passages.
    """

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def document(self, id_: str, title: str | None, text: str) -> SupportingDocument | None:
        """Return the document; None if it is empty and therefore no passage."""
        if not says_something(text):
            return None
        return SupportingDocument(id=self._first.setdefault(content_hash(title, text), id_), title=title, text=text)


def says_something(text: str) -> bool:
    """Return whether there is a letter or a digit in the text."""
    return any(character.isalnum() for character in text)


DATE = "date"
"""The field for the day that a source states for a row. Only a column that `fields` names is read as one."""


def dated(spec: SourceSpec, row: Row) -> Mapping[str, str | None]:
    """Return the date of a row as a field of its record, if the source names the column."""
    column = (spec.fields or {}).get(DATE)
    return {} if column is None else {DATE: row.day(column)}


USER, BOT = "User", "Bot"


def turns(utterances: Sequence[str]) -> tuple[Turn, ...]:
    """Return alternating turns of user and bot before a user's last utterance; the last turn is the bot's."""
    speakers = (BOT, USER)
    return tuple(
        Turn(speaker=speakers[(len(utterances) - place) % 2 - 1], text=text.strip())
        for place, text in enumerate(utterances)
    )


Reader = Callable[[SourceSpec], Iterator[Entry]]
"""Reads a format's entries as one shape of record."""
