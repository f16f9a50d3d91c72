"""The code that the scorers of all families share: they read rows and predictions and give tables.

This module needs the standard library alone: a release ships it as part of each scorer.
"""

import argparse
import json
import math
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from flows.scoring.on_disk import Rows, Spooled
from flows.scoring.values import Value

Row = Mapping[str, Any]
Cell = tuple[str, "str | int", "float | None", int]
"""Row, column, value (None: a share of nothing), and the number of values behind it."""
Tables = dict[str, list[Cell]]
Line = TypeVar("Line")

SHOWN = 60
"""The most characters of a wrong value that a message shows."""
FIELDS = {
    "id", "variant", "prediction", "scores", "model", "prompting", "shots", "failure", "cut_off", "refused",
    "prompt_cut",
}  # fmt: skip


class CannotScore(Exception):  # noqa: N818 - names what happened
    """The rows or predictions cannot be scored: one line with what was expected, what was found and what to do."""


class AllFailed(CannotScore):
    """Every prediction is a failure."""


# ---- files ----


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
                raise CannotScore(f"{path}: line {number}: expected an object; write one per line")
            yield f"{path}: line {number}", value


def parquet_rows(path: str, columns: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """The rows of a Parquet file, with those of the columns that it has."""
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


def rows_of(paths: Iterable[str], needed: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of JSONL and Parquet files, with the columns that scoring reads."""
    columns = (*needed, *optional)
    for path in paths:
        for place, row in parquet_rows(path, columns) if path.endswith(".parquet") else lines_of(path):
            if missing := [name for name in needed if name not in row]:
                raise CannotScore(f"{place}: expected a column {missing[0]}, found none; name this family's data")
            yield {name: row[name] for name in columns if name in row}


def predictions_of(path: str, form: Row) -> Iterator[Row]:
    """The predictions of a JSONL file: rows such as `form`, with id, variant and either `prediction` or `scores`."""
    for place, row in lines_of(path):
        if wrong := _wrong_fields(row, answer="scores" if "scores" in form else "prediction"):
            value = json.dumps(row.get(wrong[0]), ensure_ascii=False)
            raise CannotScore(
                f"{place}: {wrong[0]} is not as it should be: found "
                f"{value if len(value) <= SHOWN else f'{value[:SHOWN]}…'}; expected a row such as "
                f"{json.dumps(form, ensure_ascii=False)}, which may also have model, prompting and shots (a number)"
            )
        yield row


def _wrong_fields(row: Row, answer: str) -> list[str]:
    """The names of fields that are missing, unknown or of the wrong type."""
    scores, shots, failure = row.get("scores"), row.get("shots"), row.get("failure")
    if answer == "scores" and failure is None:
        right_answer = "prediction" not in row
        right_scores = isinstance(scores, dict) and all(map(is_number, scores.values()))
    else:
        right_answer, right_scores = isinstance(row.get("prediction"), str), scores is None
    right = {
        "id": isinstance(row.get("id"), str),
        "variant": isinstance(row.get("variant"), str),
        "prediction": right_answer,
        "scores": right_scores,
        "failure": failure is None or (isinstance(failure, str) and not row.get("prediction")),
        "model": isinstance(row.get("model", "model"), str),
        "prompting": isinstance(row.get("prompting"), str | None),
        "shots": shots is None or (isinstance(shots, int) and not isinstance(shots, bool)),
        **{name: False for name in row if name not in FIELDS},
    }
    return [name for name, is_right in right.items() if not is_right]


def is_number(value: object) -> bool:
    """Return whether the value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


# ---- predictions that belong to the rows ----


def model_of(prediction: Row) -> str:
    return str(prediction.get("model", "model"))


def group_of(prediction: Row) -> str:
    """The name that the tables give the prediction's model: `name`, `name, cot`, `name, cot, 3 shots`."""
    number = prediction.get("shots")
    shots = None if number is None else f"{number} shot{'s' * (number != 1)}"
    # Interned: all predictions of a group share one text.
    return sys.intern(", ".join(part for part in (model_of(prediction), prediction.get("prompting"), shots) if part))


class PartialScore(NamedTuple):
    """Some predictions were missing, double or unknown, and the others are scored."""

    message: str
    left_out: Iterable[Row]
    """The double and unknown ones."""


class Account:
    """The predictions that are in no score, and the empty ones."""

    def __init__(self) -> None:
        self.partial: list[PartialScore] = []
        self.failed = 0
        self.empty = 0

    def notes(self) -> list[str]:
        """The account in sentences."""
        notes = [part.message for part in self.partial]
        if self.failed:
            notes.append(failed_note(self.failed))
        if self.empty:
            notes.append(empty_note(self.empty))
        return notes


def failed_note(number: int) -> str:
    """The sentence on so many failures."""
    reason = "the server (or the model that is loaded here) did not take the prompt"
    return f"{number:,} predictions failed and are not scored: {reason}"


def empty_note(number: int) -> str:
    """The sentence on so many empty replies."""
    return f"{number:,} replies are empty, and are scored as they are: the model said nothing"


class Scores(NamedTuple):
    """The tables of a family's predictions."""

    tables: Tables
    notes: list[str]
    """For a reader of the tables."""
    account: Account
    values: Collection[Value] = ()


Variants = Callable[[Any], Sequence[str]]
"""row -> the variants that it is asked under."""


def matched(
    rows: Rows,
    variants: Variants,
    predictions: Iterable[Row],
    partial: bool,
    line: Callable[[Any, Row], Line],
    account: Account,
    may_lack: Callable[[str | None], Collection[str]] = lambda prompting: (),
) -> Iterator[Line]:
    """Yield `line(row, prediction)` of each prediction that is not a failure, in their order.

    Each group (model, prompting, shots) needs a prediction for each row and variant; `may_lack` names the variants
    that a prompting can do without. At its end it raises `CannotScore` if a prediction was missing, double, or of a
    row or variant that does not exist, and `AllFailed` if all have failed. With `partial`, unknown predictions are
    left out and of two the first counts. The account then has these, failures and empty replies.
    """
    seen: dict[tuple[str, str], bytearray] = {}
    """By group and variant, a byte for each row: 1 if there is a prediction. There may be millions."""
    faults = _Faults()
    groups: dict[str, str | None] = {}
    number, left_out, found, failed = len(rows), Spooled(), 0, 0
    looked_up, place, row = "", *rows.find("")
    for prediction in predictions:
        id_, variant, group = prediction["id"], prediction["variant"], group_of(prediction)
        groups[group] = prediction.get("prompting")
        if id_ != looked_up:  # the predictions on a row often come together
            looked_up, (place, row) = id_, rows.find(id_)
        of_variant = seen.get((group, variant), b"")
        is_known = row is not None and variant in variants(row)
        if not is_known or (of_variant and of_variant[place]):
            faults.note("double" if is_known else "unknown", id_, variant)
            left_out.append(prediction)
            continue
        found += 1
        seen.setdefault((group, variant), bytearray(number))[place] = 1
        if prediction.get("failure") is not None:
            failed += 1
        else:
            account.empty += says_nothing(prediction)
            yield line(row, prediction)
    account.failed += failed
    expected = 0
    for group, prompting in sorted(groups.items()):
        spared = may_lack(prompting)
        for place, (id_, row) in enumerate(rows):
            for variant in variants(row):
                expected += variant not in spared
                if variant not in spared and not ((group, variant) in seen and seen[group, variant][place]):
                    faults.note("missing", id_, variant)
    has_faults = any(faults.counts.values())
    if not found or (has_faults and not partial):
        advice = _advice(rows, variants, left_out, found > 0, faults.counts["double"] > 0)
        raise CannotScore(f"predictions: expected one for each of {expected}, found {faults}; {advice}")
    if has_faults:
        account.partial.append(PartialScore(f"{found} of {expected} predictions are scored: {faults}", left_out))
    if failed == found:
        raise AllFailed(
            f"predictions: all {found} failed, and none is scored; their `failure` says why. Prompts that are too "
            "long are cut where the model's settings have its `window`"
        )


class _Faults:
    """How many predictions are missing, double and unknown, with the first of each."""

    def __init__(self) -> None:
        self.counts = {"missing": 0, "double": 0, "unknown": 0}
        self._firsts: dict[str, str] = {}

    def note(self, fault: str, id_: str, variant: str) -> None:
        self.counts[fault] += 1
        self._firsts.setdefault(fault, f" (first: {id_} {variant})")

    def __str__(self) -> str:
        return ", ".join(f"{number} {fault}{self._firsts.get(fault, '')}" for fault, number in self.counts.items())


def says_nothing(prediction: Row) -> bool:
    """Return whether the model was asked for a reply, and gave an empty one."""
    is_reply = prediction.get("failure") is None and prediction.get("scores") is None
    return is_reply and not prediction.get("prediction", "").strip()


def _advice(rows: Rows, variants: Variants, unknown: Spooled, some_fit: bool, double: bool) -> str:
    advice = "give one for each row and variant, or score what is there with --partial"
    if not some_fit:
        if not len(unknown):
            raise CannotScore("predictions: expected JSONL rows of id, variant and prediction, found none")
        if all(rows.find(prediction["id"])[1] is not None for prediction in unknown):
            names = ", ".join(sorted({variant for _, row in rows for variant in variants(row)}))
            return f"no variant is known; they are {names}"
        return "they seem to be of another build; name theirs by --out (of a release, name its files)"
    return f"{advice}; model, prompting and shots tell replies of one model apart from another's" if double else advice


# ---- tables ----


def mean(values: Sequence[float]) -> float | None:
    """The mean of the values; None if there are none."""
    return math.fsum(values) / len(values) if values else None


MOST_TERMS = 64
"""The numbers that a mean keeps: of more, those few that have the same sum."""


class Means:
    """The cells of a table whose values come one by one, of any number: the mean of those of each key."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[Any, ...], tuple[list[int], array[float]]] = {}
        """How many values there are, and numbers with the same sum."""

    def add(self, key: tuple[Any, ...], value: float | None) -> None:
        """Add a value to the cell of a key, whose last part is the column; None is no value."""
        counted = self._by_key.get(key)
        if counted is None:
            counted = self._by_key[key] = [0], array("d")
        if value is not None:
            number, terms = counted
            number[0] += 1
            terms.append(value)
            if len(terms) > MOST_TERMS:
                terms[:] = array("d", exact_terms(terms))

    def __iter__(self) -> Iterator[tuple[tuple[Any, ...], float | None, int]]:
        """Yield each key in order, with the mean of its values, and their number."""
        for key, ([number], terms) in sorted(self._by_key.items(), key=itemgetter(0)):
            yield key, math.fsum(terms) / number if number else None, number

    def cells(self) -> list[Cell]:
        """Return the cells by key, in order."""
        return [(" / ".join(map(str, key[:-1])), key[-1], mean, number) for key, mean, number in self]


def exact_terms(values: Sequence[float]) -> list[float]:
    """Return a few numbers whose sum is exactly that of the values, which are finite: `fsum` gives the same of both."""
    terms: list[float] = []
    while rest := math.fsum([*values, *(-term for term in terms)]):
        terms.append(rest)
    return terms


def means(values: Iterable[tuple[tuple[Any, ...], float | None]]) -> list[Cell]:
    """A cell for each key, in order: the mean of its values but None. The last part of a key is the column."""
    cells = Means()
    for key, value in values:
        cells.add(key, value)
    return cells.cells()


def in_order(cells: Iterable[Cell], columns: Sequence[str]) -> list[Cell]:
    """Cells by row, and in a row by the order of the columns."""
    places: dict[str | int, int] = {column: place for place, column in enumerate(columns)}
    return sorted(cells, key=lambda cell: (cell[0], places[cell[1]]))


# ---- the command line ----


def command_line(description: str | None) -> argparse.ArgumentParser:
    """The arguments that every scorer takes."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("predictions", help="JSONL: id, variant, prediction or scores; model, prompting, shots")
    parser.add_argument("data", nargs="+", help="the rows: Parquet or JSONL files of the release")
    parser.add_argument("--output", help="write all tables here, too, as JSON")
    parser.add_argument("--partial", action="store_true", help="score what is there; leave out the missing and unknown")
    return parser


def printable(value: object) -> str:
    """A value on one line, with characters that would control a terminal written out: `\\x1b`."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))


def show(scores: Scores, output: str | None, in_per_cent: Callable[[str], bool] = lambda table: False) -> None:
    """Print every value, tab-separated, and write them to `output`.

    Shares of the tables that are `in_per_cent` are printed in per cent, with two decimals, but written as shares.
    """
    lines, cells = ["table\trow\tcolumn\tvalue\tn"], []
    for table, rows in scores.tables.items():
        for row, column, value, n in rows:
            cells.append({"table": table, "row": row, "column": str(column), "value": value, "n": n})
            shown = f"{100 * value:.2f}" if value is not None and in_per_cent(table) else value
            lines.append("\t".join(map(printable, (table, row, column, shown, n))))
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    for note in (*scores.account.notes(), *scores.notes):
        print(printable(note), file=sys.stderr)
    if output:
        Path(output).write_text(json.dumps(cells, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def run(main: Callable[[], None]) -> None:
    """Run a scorer's command line; for wrong input it prints one line and exits with code 2, for Ctrl-C with 130."""
    try:
        main()
    except (CannotScore, OSError) as error:
        print(printable(error), file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None
