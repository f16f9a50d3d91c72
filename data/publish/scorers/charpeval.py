"""Scores what a model made of CHARPEval's options: the ground truth response (GTRS) and five distractors.

    python charpeval.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Ghaddar et al., "CHARPEval: Benchmarking Large Language Models' Contextual Reasoning in Knowledge-Grounded Dialogue",
2025: sections 2.4 and 3, tables 1, 2, 4 and 5. Part of Touchstone; Apache License 2.0. Needs Python 3.10.

A prediction has, in place of a text, `scores`: {GTRS, KGIR, KGUG, RECF, IECF, COEX}, of which the highest is the
model's choice. Its variant tells how an option is scored by the log-probabilities of its tokens: `sum` of the option's
(section 2.4), their `mean`, or the mean over all tokens of prompt and option, `sequence` (appendix A). Of options that
tie for the first place each has an equal share of it. Every value lies in 0..1.
"""

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

COLUMNS = ("id", "subset")
SCORES = ("sum", "mean", "sequence")
OPTION_TYPES = ("GTRS", "KGIR", "KGUG", "RECF", "IECF", "COEX")
"""In the order of the paper's tables 2 to 5."""


def first(scores: Mapping[str, float]) -> dict[str, float]:
    """Each kind's share of the first place: 1 for the option of the highest score, equal shares where several have it.

    Raises `CannotScore` where there is not one score for each kind.
    """
    if set(scores) != set(OPTION_TYPES):
        raise CannotScore(f"scores: expected one for each of {', '.join(OPTION_TYPES)}; found {', '.join(scores)}")
    best = max(scores.values())
    tied = sum(score == best for score in scores.values())
    return {kind: float(scores[kind] == best) / tied for kind in OPTION_TYPES}


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> tuple[Tables, list[str]]:
    """Accuracy, and how often each kind of option is ranked first, by subset; and notes to their reader."""
    items, notes = {row["id"]: row for row in rows}, list[str]()
    if not items:
        raise CannotScore("rows: expected items, found none; name the data of CHARPEval")
    given = list(predictions)
    occurring = {one["variant"] for one in given}
    variants = [name for name in SCORES if name in occurring] or SCORES
    ranked = []
    for one in fitting(items, lambda row: variants, given, partial, notes):
        try:
            ranked.append(((group_of(one), items[one["id"]]["subset"]), one["variant"], first(one["scores"])))
        except CannotScore as error:
            raise CannotScore(f"predictions: {one['id']} {one['variant']}: {error}") from error
    accuracy = means(((*place, name), shares["GTRS"]) for place, name, shares in ranked)
    tables = {"accuracy": in_order(accuracy, variants)}
    for name in variants:
        own = means(
            ((*place, kind), share)
            for place, variant, shares in ranked
            if variant == name
            for kind, share in shares.items()
        )
        tables[f"ranked first, by {name}"] = in_order(own, OPTION_TYPES)
    tied = sum(max(shares.values()) < 1 for _, _, shares in ranked)
    if tied:
        notes.append(
            f"{tied} of {len(ranked)} rankings have several options in the first place: each has an equal share of it"
        )
    return tables, notes


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def texts(row: Row) -> list[str]:
    """The options in the order of `OPTION_TYPES`, each behind the space that parts it from the prompt."""
    options = {"GTRS": row["response"], **row["distractors"]}
    return [f" {_line(options[kind])}" for kind in OPTION_TYPES]


def prompt(row: Row, before: str) -> str:
    """What stands before an option: instruction and demonstrations (`before`), dialogue, knowledge, and `Bot:`."""
    turns = [*row["history"], row["last_utterance"]]
    speakers = ["User" if (len(turns) - place) % 2 else "Bot" for place in range(len(turns))]
    said = "\n".join(f"{speaker}: {_line(turn)}" for speaker, turn in zip(speakers, turns, strict=True))
    return f"{before}{said}\n\nKnowledge: {_line(row['knowledge'])}\n\nBot:"


def _line(text: str) -> str:
    return " ".join(text.split())


def dataset(
    load: Mapping[str, Any], before: str, tokenizer: str | None = None, pretrained: str | None = None, **others: Any
) -> Any:
    """`custom_dataset`: two documents for each row that `load_dataset(**load)` gives.

    Of one the choices are the options, after the prompt (`asked`). Of the other the only choice is the prompt, after
    nothing: `sequence` needs its log-probability. It cannot be had of whole sequences: the harness takes requests
    of the same tokens for one, wherever prompt and option part. How many tokens the choices have (`counts`), which
    the harness tells no task, is counted by the tokenizer that the model's arguments name. Of a model without one
    `sum` alone is scored, and there are no prompts.
    """
    from datasets import load_dataset

    rows, name = load_dataset(**load), tokenizer or pretrained
    if name is None:
        return rows.map(lambda row: {"asked": prompt(row, before), "choices": texts(row), "counts": []})
    from transformers import AutoTokenizer

    counting = AutoTokenizer.from_pretrained(name)

    def parted(found: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        made = {column: [value for value in values for _ in range(2)] for column, values in found.items()}
        more: dict[str, list[Any]] = {"asked": [], "choices": [], "counts": []}
        for row in (dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)):
            asked, options = prompt(row, before), texts(row)
            # As the harness divides them: the option's tokens are those behind as many as the prompt has alone.
            alone = len(counting.encode(asked))
            more["asked"] += [asked, ""]
            more["choices"] += [options, [asked]]
            more["counts"] += [
                [len(counting.encode(asked + option)) - alone for option in options],
                [len(counting.encode(asked, add_special_tokens=False))],
            ]
        return {**made, **more}

    return rows.map(parted, batched=True, batch_size=16)


def process_results(doc: Row, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """What the harness averages: by `sum` and `mean` as they are, by `sequence` with the function below.

    A score's name stands for the accuracy; with a distractor's type behind it, for the share of first places.
    """
    sums, counts = [float(result[0]) for result in results], doc["counts"]
    found: dict[str, Any] = {}
    if doc["asked"]:
        found |= _ranked("sum", sums)
        if counts:
            found |= _ranked("mean", [one / count for one, count in zip(sums, counts, strict=True)])
    if counts:
        found |= {_named("sequence", kind): (doc["id"], kind, sums, counts) for kind in OPTION_TYPES}
    return found


def by_sequence(found: Iterable[tuple[str, str, Sequence[float], Sequence[int]]]) -> float:
    """A kind's share of the first place by `sequence`, over the rows of which both documents are there.

    The harness puts the model's prefix token before a prompt. With a tokenizer that puts one there itself the
    score is that of `touchstone evaluate`; with another, the prompt's first token is scored too.
    """
    prompts: dict[str, tuple[Sequence[float], Sequence[int]]] = {}
    options: dict[str, tuple[Sequence[float], Sequence[int]]] = {}
    asked = "GTRS"
    for id_, kind, sums, counts in found:
        asked = kind
        (prompts if len(sums) == 1 else options)[id_] = sums, counts
    shares = []
    for id_ in options.keys() & prompts.keys():
        (before, tokens), (sums, counts) = (prompts[id_][0][0], prompts[id_][1][0]), options[id_]
        scores = [(before + one) / (tokens + count) for one, count in zip(sums, counts, strict=True)]
        shares.append(first(dict(zip(OPTION_TYPES, scores, strict=True)))[asked])
    return math.nan if not shares else math.fsum(shares) / len(shares)


def _ranked(name: str, scores: Sequence[float]) -> dict[str, float]:
    shares = first(dict(zip(OPTION_TYPES, scores, strict=True)))
    return {_named(name, kind): share for kind, share in shares.items()}


def _named(name: str, kind: str) -> str:
    return name if kind == "GTRS" else f"{name}_{kind}"


def main() -> None:
    """The command line."""
    given = command_line().parse_args()
    rows, predictions = rows_of(given.data, COLUMNS), predictions_of(given.predictions, "scores")
    tell(*score(rows, predictions, given.partial), given.output)


# ---- the same in every family's scorer: rows and predictions in, tables out ----

FIELDS = {"id", "variant", "prediction", "scores", "model", "prompting", "shots"}


class CannotScore(Exception):  # noqa: N818 - names what happened
    """What was given cannot be scored: one line says what was expected, what was found and what to do."""


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


def predictions_of(path: str, answer: str) -> Iterator[Row]:
    """The predictions of a JSONL file: rows of id, variant and `answer` ("prediction" or "scores")."""
    for place, one in lines_of(path):
        scores, shots = one.get("scores"), one.get("shots")
        right = {
            "id": isinstance(one.get("id"), str),
            "variant": isinstance(one.get("variant"), str),
            "prediction": isinstance(one.get("prediction"), str) if answer == "prediction" else "prediction" not in one,
            "scores": isinstance(scores, dict) and all(map(is_number, scores.values()))
            if answer == "scores"
            else scores is None,
            "model": isinstance(one.get("model", "model"), str),
            "prompting": isinstance(one.get("prompting"), str | None),
            "shots": shots is None or (isinstance(shots, int) and not isinstance(shots, bool)),
            **{name: False for name in one if name not in FIELDS},
        }
        if wrong := [name for name, fits in right.items() if not fits]:
            raise CannotScore(
                f"{place}: {wrong[0]} is not as it should be; a row has id, variant and {answer}, and may have model, "
                "prompting and shots (a number)"
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
    """The predictions, of which each group needs one for each of the `rows` (by id) and its variants.

    Raises `CannotScore` where one is missing, double or of a row or variant that is not there. With `partial` the
    unknown are left out, of two the first counts, and a note says how many.
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
    return list(kept.values())


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


def command_line() -> argparse.ArgumentParser:
    """What every scorer is told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("predictions", help="JSONL: id, variant, prediction or scores; model, prompting, shots")
    parser.add_argument("data", nargs="+", help="the rows: Parquet or JSONL files of the release")
    parser.add_argument("--output", help="write all tables here, too, as JSON")
    parser.add_argument("--partial", action="store_true", help="score what is there; leave out the missing and unknown")
    return parser


def tell(tables: Tables, notes: Sequence[str], output: str | None) -> None:
    """Print every value, tab-separated, and write them to `output`."""
    cells = [
        {"table": table, "row": row, "column": column, "value": value, "n": n}
        for table, found in tables.items()
        for row, column, value, n in found
    ]
    lines = ["table\trow\tcolumn\tvalue\tn", *("\t".join(map(str, cell.values())) for cell in cells)]
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    for note in notes:
        print(note, file=sys.stderr)
    if output:
        Path(output).write_text(json.dumps(cells, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (CannotScore, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
