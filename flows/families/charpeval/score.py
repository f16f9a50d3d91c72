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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flows.scoring.on_disk import Rows
from flows.scoring.scorer import (
    Account,
    CannotScore,
    Means,
    Row,
    Scores,
    command_line,
    group_of,
    in_order,
    matched,
    predictions_of,
    rows_of,
    run,
    show,
)
from flows.scoring.values import Value, Values

COLUMNS = ("id", "subset")
OPTIONAL = ("dialogue_id", "knowledge")
"""By which items belong together, where models are compared."""
SCORES = ("sum", "mean", "sequence")
"""The ways to score an option. By the first, that of section 2.4, models are compared."""
LAST_UTTERANCES = {"eCHARP": "easy", "hCHARP": "hard"}
OPTION_TYPES = ("GTRS", "KGIR", "KGUG", "RECF", "IECF", "COEX")
"""In the order of the paper's tables 2 to 5."""
FORM = {
    "id": "THE ROW'S id",
    "variant": "sum",
    "scores": {kind: -9.5 - place for place, kind in enumerate(OPTION_TYPES)},
}
"""A row of predictions."""


class Ranking(NamedTuple):
    """Each kind's share of the first place in an item."""

    row: str
    group: str
    subset: str
    dialogue: str
    knowledge: str
    variant: str
    shares: Mapping[str, float]


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
    items, account, values, occurring = Rows((row["id"], row) for row in rows), Account(), Values(), set[str]()
    if not len(items):
        raise CannotScore("rows: expected items, found none; check which build or release is scored")

    def noted() -> Iterator[Row]:
        for prediction in predictions:
            occurring.add(prediction["variant"])
            yield prediction

    def variants(row: object = None) -> Sequence[str]:
        return [name for name in SCORES if name in occurring] or SCORES

    accuracy, firsts = Means(), {name: Means() for name in SCORES}
    number = tied = 0
    for number, ranked in enumerate(matched(items, variants, noted(), partial, _ranking, account), 1):
        accuracy.add((ranked.group, ranked.subset, ranked.variant), ranked.shares["GTRS"])
        for kind, share in ranked.shares.items():
            firsts[ranked.variant].add((ranked.group, ranked.subset, kind), share)
        tied += max(ranked.shares.values()) < 1
        values.add(_values(number, ranked))
    tables = {"accuracy": in_order(accuracy.cells(), variants())}
    tables |= {f"ranked first, by {name}": in_order(firsts[name].cells(), OPTION_TYPES) for name in variants()}
    notes = [f"{tied} of {number} rankings have several options in the first place: each has an equal share of it"]
    return Scores(tables, notes if tied else [], account, values)


def _ranking(row: Row, prediction: Row) -> Ranking:
    try:
        shares = first(prediction["scores"] or {})
    except CannotScore as error:
        raise CannotScore(f"predictions: {prediction['id']} {prediction['variant']}: {error}") from error
    dialogue = row.get("dialogue_id", row["id"])
    return Ranking(
        row["id"], group_of(prediction), row["subset"], dialogue, row.get("knowledge", dialogue), prediction["variant"],
        shares,
    )  # fmt: skip


def _values(number: int, ranked: Ranking) -> Iterator[tuple[float, int, Value]]:
    """The accuracy with the easy last utterance of a dialogue, and with its hard one."""
    if ranked.variant == SCORES[0] and ranked.subset in LAST_UTTERANCES:
        at, right = LAST_UTTERANCES[ranked.subset], ranked.shares["GTRS"]
        value = Value(
            ranked.group, "accuracy", at, ranked.dialogue, ranked.knowledge, right, ranked.row, ranked.variant
        )
        yield list(LAST_UTTERANCES).index(ranked.subset), number, value


# ---- for lm-evaluation-harness (the YAML files beside this one), and for Inspect ----


def texts(row: Row) -> list[str]:
    """The options in the order of `OPTION_TYPES`, each after the space that separates it from the prompt."""
    options = {"GTRS": row["response"], **row["distractors"]}
    return [f" {_line(options[kind])}" for kind in OPTION_TYPES]


def prompt(row: Row) -> str:
    """The text before an option, behind instruction and demonstrations: dialogue, knowledge, and `Bot:`."""
    turns = [*row["history"], row["last_utterance"]]
    speakers = ["User" if (len(turns) - place) % 2 else "Bot" for place in range(len(turns))]
    dialogue = "\n".join(f"{speaker}: {_line(turn)}" for speaker, turn in zip(speakers, turns, strict=True))
    return f"{dialogue}\n\nKnowledge: {_line(row['knowledge'])}\n\nBot:"


def _line(text: str) -> str:
    return " ".join(text.split())


def process_results(doc: Row, results: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """The values of an item: a score's name stands for the accuracy; with a distractor's type behind it, for its share.

    `results` are the log-probabilities of the options, and of the prompt where the numbers of all their tokens are
    known (`counts`). The harness puts the model's prefix token before a prompt. With a tokenizer that puts one there
    itself `sequence` is that of `touchstone evaluate`; with another, the prompt's first token is scored too.
    """
    (*options, last), counts = [float(result[0]) for result in results], doc["counts"]
    scores = weighed(options, counts[:-1], last, counts[-1]) if counts else {"sum": by_kind([*options, last])}
    return {
        name if kind == "GTRS" else f"{name}_{kind}": share
        for name, of_options in scores.items()
        for kind, share in first(of_options).items()
    }


def weighed(options: Sequence[float], counts: Sequence[int], before: float, tokens: int) -> dict[str, dict[str, float]]:
    """The options by each of the `SCORES`, by kind.

    `options` are the sums of the log-probabilities of each option's tokens, whose number is in `counts`; `before` is
    the sum over the prompt, of so many `tokens`.
    """
    pairs = list(zip(options, counts, strict=True))
    return {
        "sum": by_kind(options),
        "mean": by_kind([total / count for total, count in pairs]),
        "sequence": by_kind([(before + total) / (tokens + count) for total, count in pairs]),
    }


def by_kind(scores: Sequence[float]) -> dict[str, float]:
    """The scores of the options, which are in the order of `OPTION_TYPES`, by kind."""
    return dict(zip(OPTION_TYPES, scores, strict=True))


def main() -> None:
    """The command line."""
    arguments = command_line(__doc__).parse_args()
    rows, predictions = rows_of(arguments.data, COLUMNS, OPTIONAL), predictions_of(arguments.predictions, FORM)
    show(score(rows, predictions, arguments.partial), arguments.output)


if __name__ == "__main__":
    run(main)
