"""Scores what a model made of CHARPEval's options: the ground truth response (GTRS) and five distractors.

    python charpeval.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Ghaddar et al., "CHARPEval: Benchmarking Large Language Models' Contextual Reasoning in Knowledge-Grounded Dialogue",
2025: sections 2.4 and 3, tables 1, 2, 4 and 5. Part of Touchstone; Apache License 2.0. Needs Python 3.10.

A prediction has, in place of a text, `scores`: {GTRS, KGIR, KGUG, RECF, IECF, COEX}, of which the highest is the
model's choice. Its variant says how an option is scored by the log-probabilities of its tokens: `sum` of the option's
(section 2.4), their `mean`, or the mean over all tokens of prompt and option, `sequence` (appendix A). Those that occur
are scored. Every value lies in 0..1.

- accuracy: how often the ground truth response is the likeliest option.
- ranked first: how often each kind of option is the likeliest; its GTRS is the accuracy.

Of options that tie for the first place each has an equal share of it, so that no table depends on the order of the
options; a note says how many items have ties.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flows.scoring.scorer import (
    Account,
    CannotScore,
    Row,
    Scores,
    command_line,
    group_of,
    in_order,
    matched,
    means,
    predictions_of,
    rows_of,
    run,
    show,
)

COLUMNS = ("id", "subset")
SCORES = ("sum", "mean", "sequence")
"""The ways to score an option."""
OPTION_TYPES = ("GTRS", "KGIR", "KGUG", "RECF", "IECF", "COEX")
"""In the order of the paper's tables 2 to 5."""
FORM = {
    "id": "THE ROW'S id",
    "variant": "sum",
    "scores": {kind: -9.5 - place for place, kind in enumerate(OPTION_TYPES)},
}
"""A row of predictions."""

Ranking = tuple[tuple[str, str], str, Mapping[str, float]]
"""Model and subset, variant, and each kind's share of the first place."""


def first(scores: Mapping[str, float]) -> dict[str, float]:
    """Each kind's share of the first place: 1 for the option of the highest score, equal shares where several have it.

    Raises `CannotScore` unless there is one score for each kind.
    """
    if set(scores) != set(OPTION_TYPES):
        wanted = ": …, ".join(OPTION_TYPES)
        raise CannotScore(f"scores: expected {{{wanted}: …}}, a number each; found {', '.join(scores) or 'none'}")
    best = max(scores.values())
    tied = sum(score == best for score in scores.values())
    return {kind: float(scores[kind] == best) / tied for kind in OPTION_TYPES}


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> Scores:
    """Return the accuracy, and how often each kind of option is ranked first, by model and subset.

    Raises `CannotScore` where a group (model, prompting, shots) lacks the scores of an item under one of the variants
    that occur, has two, or has some of an item or variant that does not exist, and where scores are not those of the
    six options. With `partial`, such predictions are left out, and of two the first counts.
    """
    items, account, all_predictions = {row["id"]: row for row in rows}, Account(), list(predictions)
    if not items:
        raise CannotScore("rows: expected items, found none; check which build or release is scored")
    occurring = {prediction["variant"] for prediction in all_predictions}
    variants = [name for name in SCORES if name in occurring] or SCORES
    rankings = matched(items, lambda row: variants, all_predictions, partial, _ranking, account)
    accuracy = means(((*place, name), shares["GTRS"]) for place, name, shares in rankings)
    tables = {"accuracy": in_order(accuracy, variants)}
    for name in variants:
        shares_of_kinds = means(
            ((*place, kind), share)
            for place, variant, shares in rankings
            if variant == name
            for kind, share in shares.items()
        )
        tables[f"ranked first, by {name}"] = in_order(shares_of_kinds, OPTION_TYPES)
    tied, notes = sum(max(shares.values()) < 1 for _, _, shares in rankings), []
    if tied:
        notes.append(
            f"{tied} of {len(rankings)} rankings have several options in the first place: each has an equal share of it"
        )
    return Scores(tables, notes, account)


def _ranking(row: Row, prediction: Row) -> Ranking:
    try:
        shares = first(prediction["scores"] or {})
    except CannotScore as error:
        raise CannotScore(f"predictions: {prediction['id']} {prediction['variant']}: {error}") from error
    return (group_of(prediction), row["subset"]), prediction["variant"], shares


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def texts(row: Row) -> list[str]:
    """The options in the order of `OPTION_TYPES`, each after the space that separates it from the prompt."""
    options = {"GTRS": row["response"], **row["distractors"]}
    return [f" {_line(options[kind])}" for kind in OPTION_TYPES]


def prompt(row: Row, before: str) -> str:
    """The text before an option: instruction and demonstrations (`before`), dialogue, knowledge, and `Bot:`."""
    turns = [*row["history"], row["last_utterance"]]
    speakers = ["User" if (len(turns) - place) % 2 else "Bot" for place in range(len(turns))]
    dialogue = "\n".join(f"{speaker}: {_line(turn)}" for speaker, turn in zip(speakers, turns, strict=True))
    return f"{before}{dialogue}\n\nKnowledge: {_line(row['knowledge'])}\n\nBot:"


def _line(text: str) -> str:
    return " ".join(text.split())


def dataset(
    load: Mapping[str, Any], before: str, tokenizer: str | None = None, pretrained: str | None = None, **others: Any
) -> Any:
    """`custom_dataset`: two documents for each row that `load_dataset(**load)` gives.

    The choices of the first are the options, after the prompt (`asked`). The only choice of the second is the prompt,
    after nothing: `sequence` needs its log-probability. Whole sequences cannot give it: the harness takes requests of
    the same tokens for one, wherever prompt and option part. The harness tells no task how many tokens the choices have
    (`counts`), so they are counted by the tokenizer that the model's arguments name. For a model without one, `sum`
    alone is scored, and there are no prompts.
    """
    from datasets import load_dataset

    rows, name = load_dataset(**load), tokenizer or pretrained
    if name is None:
        return rows.map(lambda row: {"asked": prompt(row, before), "choices": texts(row), "counts": []})
    from transformers import AutoTokenizer

    counting = AutoTokenizer.from_pretrained(name)

    def parted(rows: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        repeated = {column: [value for value in values for _ in range(2)] for column, values in rows.items()}
        more: dict[str, list[Any]] = {"asked": [], "choices": [], "counts": []}
        for row in (dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)):
            asked, options = prompt(row, before), texts(row)
            # As the harness divides them: the option's tokens are those after as many as the prompt has alone.
            alone = len(counting.encode(asked))
            more["asked"] += [asked, ""]
            more["choices"] += [options, [asked]]
            more["counts"] += [
                [len(counting.encode(asked + option)) - alone for option in options],
                [len(counting.encode(asked, add_special_tokens=False))],
            ]
        return {**repeated, **more}

    return rows.map(parted, batched=True, batch_size=16)


def process_results(doc: Row, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """The values that the harness averages: plainly by `sum` and `mean`, by `sequence` with the function below.

    A score's name stands for the accuracy; followed by a distractor's type, for the share of first places.
    """
    sums, counts = [float(result[0]) for result in results], doc["counts"]
    values: dict[str, Any] = {}
    if doc["asked"]:
        values |= _ranked("sum", sums)
        if counts:
            values |= _ranked("mean", [total / count for total, count in zip(sums, counts, strict=True)])
    if counts:
        values |= {_named("sequence", kind): (doc["id"], kind, sums, counts) for kind in OPTION_TYPES}
    return values


def by_sequence(values: Iterable[tuple[str, str, Sequence[float], Sequence[int]]]) -> float:
    """A kind's share of the first place by `sequence`, over the rows that have both documents.

    The harness puts the model's prefix token before a prompt. With a tokenizer that puts one there itself the
    score is that of `touchstone evaluate`; with another, the prompt's first token is scored too.
    """
    prompts: dict[str, tuple[Sequence[float], Sequence[int]]] = {}
    options: dict[str, tuple[Sequence[float], Sequence[int]]] = {}
    asked = "GTRS"
    for id_, kind, sums, counts in values:
        asked = kind
        (prompts if len(sums) == 1 else options)[id_] = sums, counts
    shares = []
    for id_ in options.keys() & prompts.keys():
        (before, tokens), (sums, counts) = (prompts[id_][0][0], prompts[id_][1][0]), options[id_]
        scores = [(before + total) / (tokens + count) for total, count in zip(sums, counts, strict=True)]
        shares.append(first(dict(zip(OPTION_TYPES, scores, strict=True)))[asked])
    return math.nan if not shares else math.fsum(shares) / len(shares)


def _ranked(name: str, scores: Sequence[float]) -> dict[str, float]:
    shares = first(dict(zip(OPTION_TYPES, scores, strict=True)))
    return {_named(name, kind): share for kind, share in shares.items()}


def _named(name: str, kind: str) -> str:
    return name if kind == "GTRS" else f"{name}_{kind}"


def main() -> None:
    """The command line."""
    arguments = command_line(__doc__).parse_args()
    rows, predictions = rows_of(arguments.data, COLUMNS), predictions_of(arguments.predictions, FORM)
    show(score(rows, predictions, arguments.partial), arguments.output)


if __name__ == "__main__":
    run(main)
