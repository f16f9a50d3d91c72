"""Writes records as Parquet: the files of an output folder that people and other tools read."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from data.checksum import checksum
from schemas.errors import Failed
from schemas.manifest import FileManifest

ROW_GROUP_BYTES = 64 * 2**20
"""Flushed by bytes, not rows: rows of any length stream, and readers hold one group at a time."""
FILE_BYTES = 500 * 2**20
"""A part longer than this goes into several files, `-NNNNN-of-NNNNN`."""

_SCALARS = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def arrow_type(annotation: Any) -> pa.DataType:  # noqa: PLR0911 - one for each kind of type
    """The Arrow type of a field's annotation. Raises `TypeError` for one that has none."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if origin is Literal:
        return _SCALARS[type(arguments[0])]
    if origin in (Union, UnionType):
        (inner,) = [one for one in arguments if one is not type(None)]
        return arrow_type(inner)
    if origin in (tuple, list):
        return pa.list_(arrow_type(arguments[0]))
    if origin in (dict, Mapping) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        key, value = arguments
        if get_origin(key) is Literal:
            return pa.struct([(name, arrow_type(value)) for name in get_args(key)])
        return pa.map_(arrow_type(key), arrow_type(value))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(arrow_fields(annotation))
    raise TypeError(f"no Arrow type for {annotation}")


def arrow_fields(model: type[BaseModel]) -> list[pa.Field]:
    """A record type's fields as Arrow fields, with their descriptions."""
    return [
        pa.field(
            name,
            arrow_type(field.annotation),
            metadata={"description": field.description} if field.description else None,
        )
        for name, field in model.model_fields.items()
    ]


def write_parquet(
    folder: Path, name: str, model: type[BaseModel], rows: Iterable[Mapping[str, Any]], more: Iterable[pa.Field] = ()
) -> tuple[FileManifest, ...]:
    """Write `rows` (a record's fields, and `more`) to `folder/name.parquet`, or to several files of that name.

    Each file is written under a temporary name and then renamed. Equal rows give equal bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([*arrow_fields(model), *more])
    parts: list[tuple[Path, int]] = []
    try:
        for number, groups in enumerate(_files(rows)):
            temporary = folder / f".{name}-{number}.parquet.tmp"
            parts.append((temporary, 0))
            with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
                for group in groups:
                    writer.write_table(pa.Table.from_pylist(group, schema=schema))
                    parts[-1] = (temporary, parts[-1][1] + len(group))
    except OSError as error:
        for temporary, _ in parts:
            temporary.unlink(missing_ok=True)
        place = folder / f"{name}.parquet"
        raise Failed(f"{place}: cannot be written ({error}); free space there, then run again") from error
    for stale in [*folder.glob(f"{name}.parquet"), *folder.glob(f"{name}-[0-9]*-of-[0-9]*.parquet")]:
        stale.unlink()
    files = []
    for number, (temporary, count) in enumerate(parts):
        suffix = f"-{number:05}-of-{len(parts):05}" if len(parts) > 1 else ""
        path = folder / f"{name}{suffix}.parquet"
        temporary.rename(path)
        files.append(FileManifest(path=f"{folder.name}/{path.name}", rows=count, sha256=checksum(path)))
    return tuple(files)


def _files(rows: Iterable[Mapping[str, Any]]) -> Iterator[Iterator[list[Mapping[str, Any]]]]:
    """The rows, cut into files and their row groups; at least one file, which may be empty."""
    source = iter(rows)
    state = {"more": True}

    def groups() -> Iterator[list[Mapping[str, Any]]]:
        size = 0
        while size < FILE_BYTES:
            group: list[Mapping[str, Any]] = []
            held = 0
            for row in source:
                group.append(row)
                held += _weight(row)
                if held >= ROW_GROUP_BYTES:
                    break
            else:
                state["more"] = False
            if group:
                yield group
            size += held
            if not state["more"]:
                return

    while state["more"]:
        yield groups()


def _weight(value: Any) -> int:
    """Roughly the bytes of a row's text."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_weight, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(_weight, value))
    return 8
