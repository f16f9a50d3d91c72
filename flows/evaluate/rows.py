"""The rows that a model is asked about: all accepted rows, or those that a limit and the configuration choose."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, Protocol

from data.stage_files import Stage
from flows.construct.engine import Family
from flows.project.evaluated import settings_now
from flows.project.project import Project
from schemas.errors import WrongInput

ROWS_AT_ONCE = 64
"""Rows of a batch. Some batches are asked about together; the model's limits decide how many requests are in flight."""
READ_AT_ONCE = 1024
"""Rows that are read together: each reading begins anew at the top of a file."""
LONG_ROWS_AT_ONCE = 1
"""Both for rows with a text of up to 1.5 MB, which each question on the row repeats."""


class Rows(Protocol):
    """Rows that a model is asked about, in batches."""

    def __len__(self) -> int: ...
    def batches(self, most: int) -> Iterator[list[Any]]: ...


class GivenRows:
    """Rows in memory."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def batches(self, most: int) -> Iterator[list[Any]]:
        """Yield the rows in batches of at most `most`."""
        for start in range(0, len(self._rows), most):
            yield list(self._rows[start : start + most])


class EvaluatedRows:
    """The accepted rows that a model is asked about, part by part, read from disk when they are needed."""

    def __init__(
        self,
        stages: list[Stage[Any]],
        limit: int | None,
        chosen: Callable[[Any], bool] | None = None,
        only_keys: Collection[str] | None = None,
    ) -> None:
        """Take the rows that are `chosen` and have one of the keys, by default all.

        `limit` is the number of rows of each part; a part in several files contributes equally from each.
        """
        self._pieces = [piece for stage in stages for piece in _pieces(stage, limit, chosen, only_keys)]
        self.built = sum(map(len, stages))
        """The number of rows, chosen or not."""
        self.notes: tuple[str, ...] = ()
        """Notes for a reader of their scores."""

    def __len__(self) -> int:
        return sum(stop - start for _, start, stop in self._pieces)

    def __iter__(self) -> Iterator[Any]:
        for stage, start, stop in self._pieces:
            yield from stage.slice(start, stop)

    def at(self, place: int) -> Any:
        """Return the row at a place, counted from 0."""
        for stage, start, stop in self._pieces:
            if place < stop - start:
                [row] = stage.slice(start + place, start + place + 1)
                return row
            place -= stop - start
        raise IndexError(place)

    def sampled(self, long: int) -> Iterator[tuple[Any, float]]:
        """Yield rows, each with the number of rows that it represents: `long` rows of each file of long texts."""
        for stage, start, stop in self._pieces:
            if not _in_files(stage):
                yield from ((row, 1.0) for row in stage.slice(start, stop))
                continue
            taken = min(long, stop - start)
            for place in range(taken):
                at = start + place * (stop - start) // taken
                yield from ((row, (stop - start) / taken) for row in stage.slice(at, at + 1))

    def batches(self, most: int = ROWS_AT_ONCE) -> Iterator[list[Any]]:
        """Yield the rows in batches of at most `most`."""
        for stage, first, last in self._pieces:
            read, size = (LONG_ROWS_AT_ONCE, LONG_ROWS_AT_ONCE) if _in_files(stage) else (READ_AT_ONCE, most)
            for start in range(first, last, read):
                rows = list(stage.slice(start, min(start + read, last)))
                yield from (rows[place : place + size] for place in range(0, len(rows), size))


class RowPlaces:
    """Where rows are among those that a model is asked about: 8 bytes each."""

    def __init__(self, rows: EvaluatedRows) -> None:
        self._rows = rows
        self._hashes = array("q")

    def append(self, id_: str) -> None:
        """Note the id of the next row."""
        self._hashes.append(hash(id_))

    def row(self, id_: str) -> Any:
        """Return the first row with an id that was noted."""
        place = self._hashes.index(hash(id_))
        while (row := self._rows.at(place)).id != id_:
            place = self._hashes.index(hash(id_), place + 1)
        return row


def _in_files(stage: Stage[Any]) -> bool:
    """True if its rows are in finished files of long texts, each of one kind (a dataset and level)."""
    return any(shard.rows for shard in stage.manifest.shards)


def _pieces(
    stage: Stage[Any],
    limit: int | None,
    chosen: Callable[[Any], bool] | None,
    only_keys: Collection[str] | None,
) -> list[tuple[Stage[Any], int, int]]:
    """Return the stretches of a stage to ask about: (stage, start, stop)."""
    groups = _files(stage, chosen) if _in_files(stage) else [_stretches(stage, chosen)]
    if only_keys is not None:
        is_wanted = [row["key"] in only_keys for row in stage.columns(("key",))]
        groups = [
            [(start + first, start + last) for start, stop in stretches for first, last in _runs(is_wanted[start:stop])]
            for stretches in groups
        ]
    sizes = [sum(stop - start for start, stop in stretches) for stretches in groups]
    taken, left = [0] * len(sizes), len(stage) if limit is None else limit
    for number, place in enumerate(
        sorted(range(len(sizes)), key=sizes.__getitem__)
    ):  # what small groups lack, larger ones make up
        taken[place] = min(sizes[place], -(-left // (len(sizes) - number)))
        left -= taken[place]
    pieces = []
    for stretches, count in zip(groups, taken, strict=True):
        wanted = count
        for start, stop in stretches:
            if wanted > 0:
                pieces.append((stage, start, min(stop, start + wanted)))
                wanted -= stop - start
    return pieces


def _files(stage: Stage[Any], chosen: Callable[[Any], bool] | None) -> list[list[tuple[int, int]]]:
    """Return the (start, stop) of each chosen file: its rows are of one kind, so the first row decides."""
    sizes = [shard.kept for shard in stage.manifest.shards]
    spans = [(stop - size, stop) for stop, size in zip(accumulate(sizes), sizes, strict=True) if size]
    return [
        [(start, stop)]
        for start, stop in spans
        if chosen is None or any(chosen(row) for row in stage.slice(start, start + 1))
    ]


def _stretches(stage: Stage[Any], chosen: Callable[[Any], bool] | None) -> list[tuple[int, int]]:
    """Return the (start, stop) of each run of chosen rows."""
    if chosen is None:
        return [(0, len(stage))]
    return _runs(map(chosen, stage))


def _runs(is_chosen: Iterable[bool]) -> list[tuple[int, int]]:
    """Return the (start, stop) of each run of places that are chosen."""
    groups = groupby(enumerate(is_chosen), key=itemgetter(1))
    runs = [[place for place, _ in group] for is_run, group in groups if is_run]
    return [(run[0], run[-1] + 1) for run in runs]


class NoRows(WrongInput):
    """A build has nothing of a family that a model could be asked about."""


def evaluated_rows(project: Project, family: Family, limit: int | None) -> EvaluatedRows:
    """Return the rows of the evaluated parts that the configuration selects now.

    A note names what it selects and the build lacks. Raises `NoRows` if it has none.
    """
    built_parts = [part.name for built_family, part in project.build.parts() if built_family.name == family.name]
    parts = [name for name in family.evaluation.parts if name in built_parts]
    if not parts:
        raise NoRows(
            f"{family.name}: this build has none of the parts that a model is asked about "
            f"({', '.join(family.evaluation.parts)}); build one of them"
        )
    stages = [project.build.accepted(family.name, name) for name in parts]
    if not any(map(len, stages)):
        raise NoRows(
            f"{family.name}: this build has no rows to ask a model about: nothing was kept, or people have yet to "
            "write what is theirs (`touchstone annotate push`)"
        )
    selection = family.evaluation.selection
    only_keys = project.only_keys
    if only_keys is not None and not any(
        row["key"] in only_keys for stage in stages for row in stage.columns(("key",))
    ):
        raise NoRows(f"{family.name}: has none of the rows that are chosen by their version or source date")
    if selection is None:
        return EvaluatedRows(stages, limit, None, only_keys)
    name = selection.setting
    wanted = dict.fromkeys(getattr(settings_now(project, family), name))
    if wanted.keys() == set(getattr(project.build.families[family.name].settings, name)):
        return EvaluatedRows(stages, limit, None, only_keys)
    built = set()

    def chosen(row: Any) -> bool:
        built.add(selection.of(row))
        return selection.of(row) is None or selection.of(row) in wanted

    rows = EvaluatedRows(stages, limit, chosen, only_keys)
    if lacking := [str(value) for value in wanted if value not in built]:
        note = (
            f"families.{family.name}.{name}: {', '.join(lacking)}: this build has no rows of it; "
            f"`touchstone run {project.config_path} --out {project.out}` builds them, where the sources suffice"
        )
        if not len(rows):
            raise WrongInput(f"{project.config_path}: {note}")
        rows.notes = (note,)
    return rows
