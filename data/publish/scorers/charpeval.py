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

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from data.publish.scorers.common import (
    CannotScore,
    Row,
    Tables,
    command_line,
    fitting,
    group_of,
    in_order,
    means,
    predictions_of,
    rows_of,
    tell,
)

COLUMNS = ("id", "subset")
SCORES = ("sum", "mean", "sequence")
OPTION_TYPES = ("GTRS", "KGIR", "KGUG", "RECF", "IECF", "COEX")
"""In the order of the paper's tables 2 to 5."""
FORM = {
    "id": "THE ROW'S id",
    "variant": "sum",
    "scores": {kind: -9.5 - place for place, kind in enumerate(OPTION_TYPES)},
}
"""A row of predictions."""


def first(scores: Mapping[str, float]) -> dict[str, float]:
    """Each kind's share of the first place: 1 for the option of the highest score, equal shares where several have it.

    Raises `CannotScore` where there is not one score for each kind.
    """
    if set(scores) != set(OPTION_TYPES):
        wanted = ": …, ".join(OPTION_TYPES)
        raise CannotScore(f"scores: expected {{{wanted}: …}}, a number each; found {', '.join(scores) or 'none'}")
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
    given = command_line(__doc__).parse_args()
    rows, predictions = rows_of(given.data, COLUMNS), predictions_of(given.predictions, FORM)
    tell(*score(rows, predictions, given.partial), given.output)


if __name__ == "__main__":
    try:
        main()
    except (CannotScore, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
