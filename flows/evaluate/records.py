"""The files of an evaluation in dialogues: its records, its drops, and the context in which its tables read both."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from data.publish.rows import ADDED
from data.sources.files import json_lines
from data.sources.spec import Row
from data.whole_file import whole_file
from flows.construct.engine import Family
from flows.construct.evaluation import DialogueContext
from flows.construct.stages import Build
from flows.evaluate.predictions import remove_tables
from flows.project.project import Project
from flows.scoring.on_disk import Rows
from schemas.base import Dropped, Frozen, Record
from schemas.errors import first_problem

T = TypeVar("T", bound=Frozen)


def dialogue_context(family: Family, build: Build) -> DialogueContext:
    """Return the context for tables of a finished build: the project's own, or one of `build_with`."""

    def dropped(name: str) -> Iterator[Dropped]:
        for ref in build.stages(family, family.part(name)):
            yield from build.read(ref).dropped()

    return DialogueContext(
        build.families[family.name].settings, build.seed, lambda name: build.accepted(family.name, name), dropped
    )


def seeds_of(family: Family, context: DialogueContext) -> Iterator[Any]:
    """Yield the rows that dialogues are held on."""
    return (row for part in family.evaluation.parts for row in context.records(part))


DROPPED = "dropped"


class Written(NamedTuple):
    """A file of records, and how many rows it had before."""

    path: Path
    before: int


def write_dialogues(family: Family, context: DialogueContext, stem: Path) -> list[Written]:
    """Write an evaluation's records to `STEM.PART.jsonl`, and its drops with their reasons to `STEM.dropped.jsonl`.

    Tables of earlier records are removed.
    """
    held = family.evaluation.held
    for name in (stem, *(beside(stem, part).with_suffix("") for part in held.parts)):
        remove_tables(name)
    written = [write_records(context.records(part), beside(stem, part)) for part in held.parts]
    dropped = (drop for part in held.parts for drop in context.dropped(part))
    return [*written, write_records(dropped, beside(stem, DROPPED))]


def given_context(family: Family, project: Project, path: Path) -> DialogueContext:
    """Return the context for tables of a file: the last part's records, and the files of `write_dialogues` beside it.

    Columns that a release adds are left out. Raises `WrongInput` for a row that is not such a record.
    """
    held = family.evaluation.held
    *earlier, last = held.parts
    files = {last: path}
    stem = path.with_name(path.name.removesuffix(f".{last}.jsonl"))
    drops: Path | None = None
    if stem != path and all(beside(stem, name).is_file() for name in (*earlier, DROPPED)):
        files |= {name: beside(stem, name) for name in earlier}
        drops = beside(stem, DROPPED)
    for name, file in files.items():
        _check_keys(file, family, name)
    for _ in _read_drops(drops, family):
        pass
    steps = {name: {step.name for step in family.part(name).steps} for name in held.parts}

    def records_of(name: str) -> Iterable[Any]:
        if name not in held.parts:
            return project.build.accepted(family.name, name)
        return (record for _, record in read_records(files[name], family, name)) if name in files else ()

    return DialogueContext(
        project.build.families[family.name].settings,
        project.build.seed,
        records_of,
        lambda name: (drop for drop in _read_drops(drops, family) if drop.step in steps[name]),
    )


def _check_keys(path: Path, family: Family, part: str) -> None:
    """Raise `WrongInput` if a key stands twice in a file of records, or a row is not valid."""
    keys = Rows()
    for row, record in read_records(path, family, part):
        if not keys.add(record.key, None):
            raise row.error(f"the key {record.key} stands twice", "give one row for each")


def read_records(path: Path, family: Family, part: str) -> Iterator[tuple[Row, Record]]:
    """Yield the rows of a JSONL file, each with the record of a part that it is. Raises `WrongInput` if it is none."""
    item = family.part(part).item
    added = {field.name for field in ADDED} - set(item.model_fields)
    advice = f"a row is a record of {family.name}-{part}; `touchstone evaluate {family.name}` writes them"
    for row in json_lines(str(path)):
        yield row, _row_as(item, row, advice, added)


def _read_drops(path: Path | None, family: Family) -> Iterator[Dropped]:
    """Yield the drops of a file, if there is one. Raises `WrongInput` for a row that is none."""
    advice = f"a row tells what was dropped; `touchstone evaluate {family.name}` writes them"
    return (_row_as(Dropped, row, advice) for row in json_lines(str(path))) if path is not None else iter(())


def _row_as(kind: type[T], row: Row, advice: str, added: Collection[str] = ()) -> T:
    try:
        return kind.model_validate({name: value for name, value in row.values.items() if name not in added})
    except ValidationError as error:
        raise row.error(first_problem(error, "the row"), advice) from error


def beside(stem: Path, name: str) -> Path:
    """Return the path of the file in which an evaluation writes a part's records."""
    return stem.with_name(f"{stem.name}.{name}.jsonl")


def write_records(records: Iterable[Frozen], path: Path) -> Written:
    """Write records as JSONL, to a file that appears when it is complete."""
    before = rows_in(path)
    with whole_file(path) as out:
        for record in records:
            out.write(record.model_dump_json() + "\n")
    return Written(path, before)


def rows_in(path: Path) -> int:
    """Return the number of rows of a JSONL file; 0 if there is no file."""
    if not path.exists():
        return 0
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
