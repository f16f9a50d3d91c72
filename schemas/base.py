"""The base of all records: frozen, closed, and named by three hashes."""

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from schemas.errors import Failed, nearest

HASH_LENGTH = 16
"""Hexadecimal digits of a name: 64 bits, one chance in 10^8 of a clash among half a million records."""


def canonical_json(value: object) -> bytes:
    """Return `value` as JSON bytes that depend on the value alone: sorted keys, UTF-8, no white space."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def content_hash(*parts: object) -> str:
    """Return the first `HASH_LENGTH` hexadecimal digits of the SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(canonical_json(parts)).hexdigest()[:HASH_LENGTH]


def odd_character(text: str) -> str | None:
    """Return the first character that does not belong in a line of plain text: a control, a format mark, a line end."""
    return next((character for character in text if unicodedata.category(character) in _ODD), None)


def texts_in(value: object) -> Iterator[str]:
    """Yield every text in a value: itself, or those of its values and elements, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(inner)


_ODD = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def visible(text: str) -> str:
    """Return the text on one line, with odd characters written out as in Python: `\\n`, `\\u202e`.

    Use it to show what others wrote: the result can control neither a page nor a terminal.
    """
    if odd_character(text) is None:
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii") if unicodedata.category(character) in _ODD else character
        for character in text
    )


def as_lines(text: str) -> str:
    """Return a text of several lines with the characters that would control a terminal written out."""
    return "\n".join(map(visible, text.split("\n")))


MOST_READ = 1000
"""Characters of a line that somebody reads."""


def shortened(text: str) -> str:
    """Return a line that a person reads; of a longer one its two ends, and how long it is: its end has the advice."""
    if len(text) <= MOST_READ:
        return text
    most = MOST_READ // 2
    return f"{text[:most]}... ({len(text):,} characters) ...{text[-most:]}"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 row`, `1,200 rows`; `many` is the plural if it takes more than an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _one_line(text: str) -> str:
    if (odd := odd_character(text)) is not None:
        raise ValueError(f"holds the character U+{ord(odd):04X}; write plain text on one line")
    return text


Line = Annotated[str, AfterValidator(_one_line)]
"""A line of plain text."""


class Frozen(BaseModel):
    """A value that cannot be changed, and has no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class SourceRef(Frozen):
    """A record of somebody else's data that an item was made from."""

    source: str = Field(description="Name of the source: a file's name, a Hub repository, or the packaged table")
    id: str = Field(description="The source's own id of the row, or its locator (`line 12`)")
    licence: str | None = Field(None, description="Licence of the source, where it states one")


class PromptRef(Frozen):
    """A prompt that was asked while an item was made."""

    name: str
    version: str = Field(description="Declared version and template hash, `1-9f86d081`")
    role: str = Field(description="The role that was asked: builder, pivot, refuter, evaluator, evaluated")
    model: str = Field(description="Name of the model that played the role")


class Provenance(Frozen):
    """Where an item comes from, up to its construction (people's work lives in records of its own)."""

    sources: tuple[SourceRef, ...] = ()
    prompts: tuple[PromptRef, ...] = ()
    parents: tuple[str, ...] = Field((), description="Ids of the records of earlier parts it was made from")
    seed: int = Field(description="The run seed")
    notes: tuple[str, ...] = Field((), description="What was done to this record that a reader should know")


RowProvenance = Annotated[
    Provenance,
    Field(description="Where it comes from: sources, prompts and models, the records it was made of, the seed"),
]
"""The provenance column of a released row."""


class Record(Frozen):
    """A row with three names.

    `key` names the place it comes from (family, part, the source's own id, slot) and stays the same when the row is
    revised; `id` names its content; `view_hash` names what an annotator sees of it. A subclass lists the fields that
    make up its content in `DEFINES`, those that are shown in `SHOWS`, and those that are compared with other data
    sets in `TEXTS`, the one that asks first. `BOOKKEEPING` lists the fields beside `id` and `provenance` that no model
    is shown or scored by: when they alone change, scores on the row stay comparable.
    """

    DEFINES: ClassVar[tuple[str, ...]]
    SHOWS: ClassVar[tuple[str, ...]] = ()
    TEXTS: ClassVar[tuple[str, ...]] = ()
    BOOKKEEPING: ClassVar[tuple[str, ...]] = ()

    id: Annotated[str, Field(description="Hash of the content that defines the record")] = ""
    key: str = Field(description="Hash of family, part, source row and slot: stable across builds")

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Raise `Failed` if a list of fields has a misspelt name, which hashes would leave out in silence."""
        for listed in ("DEFINES", "SHOWS", "TEXTS", "BOOKKEEPING"):
            for name in getattr(cls, listed, ()):
                if name not in cls.model_fields:
                    raise Failed(
                        f"{cls.__module__.replace('.', '/')}.py: {cls.__name__}.{listed} names the field {name}, which "
                        f"does not exist; {nearest(name, tuple(cls.model_fields))}"
                    )

    @model_validator(mode="after")
    def _name(self) -> Self:
        """Compute the id; refuse a given id that does not match the content."""
        name = self._hash_of(self.DEFINES)
        if not self.id:
            object.__setattr__(self, "id", name)
        elif self.id != name:
            raise ValueError(f"id {self.id} does not match the content, whose id is {name}")
        return self

    def _hash_of(self, fields: tuple[str, ...]) -> str:
        return content_hash(type(self).__name__, self.model_dump(mode="json", include=set(fields)))

    @classmethod
    def id_of(cls, values: Mapping[str, object]) -> str:
        """Return the id of the record with these JSON values, without creating the record."""
        return content_hash(cls.__name__, {name: values[name] for name in cls.DEFINES})

    @property
    def view_hash(self) -> str:
        """Hash of what an annotator sees; a verdict carries over while it is unchanged."""
        return self._hash_of(self.SHOWS or self.DEFINES)

    def revised(self, **changes: Any) -> Self:
        """Return a copy with other content, the same key and a new id."""
        return type(self).model_validate({**dict(self), "id": "", **changes})


class Dropped(Frozen):
    """A record that did not pass a step, and why."""

    item_id: str = Field(description="Id of the record as it reached the step")
    key: str
    step: str
    reason: str = Field(description="A short phrase out of a small set, to be counted")
    evidence: str = Field("", description="What shows it: the answer, the sentence, the number")
    related_id: str | None = Field(None, description="The record it collides with: a near-duplicate's survivor")
    value: float | None = Field(None, description="The measured value: a near-duplicate's cosine")


def key_of(family: str, part: str, source_key: str, slot: Mapping[str, str | int] | None = None) -> str:
    """Return the key of a record of `part` that is made from the record `source_key` at `slot`."""
    return content_hash(family, part, source_key, dict(slot or {}))
