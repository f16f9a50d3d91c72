"""What the scorers have in common: rows and predictions in, tables out. It is shipped within each of them."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Cell = tuple[str, str, "float | None", int]
"""Row, column, value (None: a share of nothing), and the number that it is taken over."""
Tables = dict[str, list[Cell]]

SHOWN = 60
"""Characters of a wrong value that are shown."""
FIELDS = {"id", "variant", "prediction", "scores", "model", "prompting", "shots", "failure", "cut_off", "prompt_cut"}


class CannotScore(Exception):  # noqa: N818 - names what happened
    """What was given cannot be scored: one line says what was expected, what was found and what to do."""


class AllFailed(CannotScore):
    """Every prediction is a failure."""


def lines_of(path: str) -> Iterator[tuple[str, Row]]:
    """The objects of a JSONL file, each with its place."""
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line.decode("utf-8-sig"))
            except ValueError as error:
                raise CannotScore(f"{path}: line {number}: expected JSON, found {error}; correct the line") from error
            if not isinstance(value, dict):
                raise CannotScore(f"{path}: line {number}: expected an object; write one a line")
            yield f"{path}: line {number}", value


def parquet_rows(path: str, columns: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """The rows of a Parquet file, by the columns that it has."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise CannotScore(f"{path}: Parquet needs pyarrow: pip install pyarrow, or give the rows as JSONL") from error
    try:
        file = pyarrow.parquet.ParquetFile(path)
        for batch in file.iter_batches(16, columns=[name for name in columns if name in file.schema_arrow.names]):
            yield from ((path, row) for row in batch.to_pylist())
    except pyarrow.ArrowException as error:
        raise CannotScore(f"{path}: cannot be read as Parquet ({error}); download it again") from error


def rows_of(paths: Iterable[str], needed: Sequence[str], also: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of JSONL and Parquet files, of each the columns that scoring reads."""
    columns = (*needed, *also)
    for path in paths:
        for place, row in parquet_rows(path, columns) if path.endswith(".parquet") else lines_of(path):
            if lacking := [name for name in needed if name not in row]:
                raise CannotScore(f"{place}: expected a column {lacking[0]}, found none; name this family's data")
            yield {name: row[name] for name in columns if name in row}


def predictions_of(path: str, form: Row) -> Iterator[Row]:
    """The predictions of a JSONL file: rows such as `form`, of id, variant and either `prediction` or `scores`."""
    for place, one in lines_of(path):
        answer = "scores" if "scores" in form and one.get("failure") is None else "prediction"
        scores, shots = one.get("scores"), one.get("shots")
        right = {
            "id": isinstance(one.get("id"), str),
            "variant": isinstance(one.get("variant"), str),
            "prediction": isinstance(one.get("prediction"), str) if answer == "prediction" else "prediction" not in one,
            "scores": isinstance(scores, dict) and all(map(is_number, scores.values()))
            if answer == "scores"
            else scores is None,
            "failure": one.get("failure") is None or (isinstance(one["failure"], str) and not one.get("prediction")),
            "model": isinstance(one.get("model", "model"), str),
            "prompting": isinstance(one.get("prompting"), str | None),
            "shots": shots is None or (isinstance(shots, int) and not isinstance(shots, bool)),
            **{name: False for name in one if name not in FIELDS},
        }
        if wrong := [name for name, fits in right.items() if not fits]:
            found = json.dumps(one.get(wrong[0]), ensure_ascii=False)
            raise CannotScore(
                f"{place}: {wrong[0]} is not as it should be: found "
                f"{found if len(found) <= SHOWN else f'{found[:SHOWN]}…'}; expected a row such as "
                f"{json.dumps(form, ensure_ascii=False)}, which may also have model, prompting and shots (a number)"
            )
        yield one


def is_number(value: object) -> bool:
    """Whether it is a number, and finite."""
    return isinstance(value, int | float) and math.isfinite(value)


def group_of(one: Row) -> str:
    """What the tables call the model of a prediction: `name`, `name, cot`, `name, cot, 3 shots`."""
    shots = None if one.get("shots") is None else f"{one['shots']} shot{'s' * (one['shots'] != 1)}"
    return ", ".join(part for part in (one.get("model", "model"), one.get("prompting"), shots) if part)


def fitting(
    rows: Mapping[str, Any],
    variants: Callable[[Any], Sequence[str]],
    predictions: Iterable[Row],
    partial: bool,
    notes: list[str],
    may_lack: Callable[[str | None], Collection[str]] = lambda prompting: (),
) -> list[Row]:
    """The predictions but failures, of which each group needs one for each of the `rows` (by id) and its variants.

    Raises `CannotScore` where one is missing, double or of a row or variant that is not there. With `partial` the
    unknown are left out, of two the first counts, and a note says how many. A prediction with a `failure` is there, but
    is not scored: a note counts them, and another one empty replies.
    """
    kept: dict[tuple[str, str, str], Row] = {}
    faults: dict[str, list[str]] = {"missing": [], "double": [], "unknown": []}
    groups: dict[str, str | None] = {}
    for one in predictions:
        group, row = group_of(one), rows.get(one["id"])
        groups[group] = one.get("prompting")
        place = group, one["id"], one["variant"]
        if row is None or one["variant"] not in variants(row):
            faults["unknown"].append(f"{one['id']} {one['variant']}")
        elif place in kept:
            faults["double"].append(f"{one['id']} {one['variant']}")
        else:
            kept[place] = one
    expected = 0
    for group in sorted(groups):
        spared = may_lack(groups[group])
        needed = [(id_, variant) for id_, row in rows.items() for variant in variants(row) if variant not in spared]
        expected += len(needed)
        faults["missing"] += [f"{id_} {variant}" for id_, variant in needed if (group, id_, variant) not in kept]
    counts = ", ".join(
        f"{len(found)} {fault}" + (f" (first: {found[0]})" if found else "") for fault, found in faults.items()
    )
    if not groups:
        raise CannotScore("predictions: expected JSONL rows, found none")
    if not kept or (any(faults.values()) and not partial):
        advice = "give one for each row and variant, or score what is there with --partial"
        raise CannotScore(f"predictions: expected one for each of {expected}, found {counts}; {advice}")
    if any(faults.values()):
        notes.append(f"{len(kept)} of {expected} predictions are scored: {counts}")
    answered = [one for one in kept.values() if one.get("failure") is None]
    if not answered:
        raise AllFailed(f"predictions: all {len(kept)} failed, and none is scored; their `failure` says why")
    if len(answered) < len(kept):
        said = "the server (or the model that is loaded here) did not take the prompt"
        notes.append(f"{len(kept) - len(answered)} predictions failed and are not scored: {said}")
    if empty := sum(one.get("scores") is None and not str(one.get("prediction", "")).strip() for one in answered):
        notes.append(f"{empty} replies are empty, and are scored as they are: the model said nothing")
    return answered


def mean(values: Sequence[float]) -> float | None:
    """Their mean; None of no values."""
    return math.fsum(values) / len(values) if values else None


def means(values: Iterable[tuple[tuple[Any, ...], float | None]]) -> list[Cell]:
    """A cell for each key, in order: the mean of the values that are there. A key's last part names the column."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for key, value in values:
        there = found.setdefault(key, [])
        if value is not None:
            there.append(value)
    return [(" / ".join(map(str, key[:-1])), str(key[-1]), mean(found[key]), len(found[key])) for key in sorted(found)]


def in_order(cells: Iterable[Cell], columns: Sequence[str]) -> list[Cell]:
    """Cells by row, and in a row by the order of the columns."""
    return sorted(cells, key=lambda cell: (cell[0], columns.index(cell[1])))


def command_line(about: str | None) -> argparse.ArgumentParser:
    """What every scorer is told."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("predictions", help="JSONL: id, variant, prediction or scores; model, prompting, shots")
    parser.add_argument("data", nargs="+", help="the rows: Parquet or JSONL files of the release")
    parser.add_argument("--output", help="write all tables here, too, as JSON")
    parser.add_argument("--partial", action="store_true", help="score what is there; leave out the missing and unknown")
    return parser


def tell(
    tables: Tables, notes: Sequence[str], output: str | None, in_per_cent: Callable[[str], bool] = lambda table: False
) -> None:
    """Print every value, tab-separated, and write them to `output`.

    Shares of the tables that are `in_per_cent` are printed so, with two decimals; they are written as they are.
    """
    cells = [
        {"table": table, "row": row, "column": column, "value": value, "n": n}
        for table, found in tables.items()
        for row, column, value, n in found
    ]
    lines = ["table\trow\tcolumn\tvalue\tn"]
    for table, found in tables.items():
        for row, column, value, n in found:
            shown = f"{100 * value:.2f}" if value is not None and in_per_cent(table) else value
            lines.append("\t".join(map(str, (table, row, column, shown, n))))
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    for note in notes:
        print(note, file=sys.stderr)
    if output:
        Path(output).write_text(json.dumps(cells, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
