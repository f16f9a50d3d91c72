"""The `files` step: a set to finished files of rows, each with a text too long to be passed around as a record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from flows.construct.engine import Drop, Given, P, P_co, Slot, Step, StepContext
from flows.construct.settings import S
from schemas.base import Record


@dataclass(frozen=True)
class RowFile:
    """A file that a `files` step writes."""

    name: str
    """Unique among the part's files, such as `hotpotwikiqa_mixup_16k`."""
    records: Sequence[Record]
    """The records that it is made from."""
    slot: Slot
    """Shared by all rows of this file and no others."""
    planned: int
    """The number of its rows if none is dropped."""
    group: str = ""
    """Files of a group are made from the same things, such as the documents of a dataset: one worker makes them."""


@dataclass(frozen=True)
class FilesContext(Generic[P_co]):
    """The data and callbacks of a `files` step while it writes one file."""

    prepared: P_co
    """The result of the step's `prepare`."""
    key: Callable[[Record, Slot], str]
    """Returns the key of the row made from a record at a slot."""
    drop: Callable[[Record, Slot, Drop], None]
    note: Callable[[str], None]
    """Says something of the file for people; the stage has each text once."""


@dataclass(frozen=True, kw_only=True)
class FilesStep(Step):
    """A `files` step."""

    function: Callable[..., Iterator[tuple[Mapping[str, object], bytes]]]
    files: Callable[..., Sequence[RowFile]]
    long: str

    @property
    def keeps_count(self) -> bool:
        return False


def files(
    function: Callable[[RowFile, FilesContext[P]], Iterator[tuple[Mapping[str, object], bytes]]],
    *,
    files: Callable[[StepContext[S, Given], P], Sequence[RowFile]],
    prepare: Callable[[StepContext[S, Given]], P],
    long: str,
    version: int = 1,
    settings: Sequence[str] = (),
) -> Step:
    """A set to finished files of rows, each with one text too long to be passed around as a record.

    It is the last step of its part. `files(context, prepared)` lists the files before any is written.
    `function(file, ctx)` yields, for each row, its fields as JSON values and the field `long` in UTF-8, or refuses the
    row with `ctx.drop(record, slot, Drop(...))`. Files are written in parallel threads, the last of the list first: so
    list the longest last.
    """
    return FilesStep(
        name=function.__name__, function=function, version=version, settings=tuple(settings), prepare=prepare,
        files=files, long=long,
    )  # fmt: skip
