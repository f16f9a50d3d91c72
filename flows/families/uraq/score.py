"""Scores replies to URAQ's evaluation rows.

    python uraq.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Anonymous, "Do Retrieval-Augmented Language Models Adapt to Varying User Needs?": three accuracies (section 4.3) and
two analyses of errors (sections 5.2 and 5.3, appendix D). Part of Touchstone; Apache License 2.0. Needs Python 3.10.

A prediction's variant is the user need; every share lies in 0..1. An item counts at a context count if all the
replies that the accuracy asks for are there; a share of nothing is None, with n = 0. The answer is what the last
`<output>` tag holds. It is right as follows.

- Expected "I don't know": it is a refusal.
- number: it has the expected value ("3.0", "three" and "3" are equal), without a unit, which the prompt forbids.
- boolean: it is yes (or true), or no (or false), as expected, and nothing beside it.
- entity: it has the expected SQuAD normal form.

Departure: a reply without `<output>` is wrong, since the prompt asks for the tag; the paper's appendix D counts it as
right if a reader understands it. The table "replies without <output>" says how many there are.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

from flows.scoring.number_value import number_value
from flows.scoring.on_disk import Lines, Rows
from flows.scoring.qa import normalise_answer
from flows.scoring.scorer import (
    Account,
    CannotScore,
    Cell,
    Means,
    Row,
    Scores,
    command_line,
    group_of,
    matched,
    mean,
    predictions_of,
    rows_of,
    run,
    show,
)
from flows.scoring.values import Value, Values

COLUMNS = ("id", "item_id", "setting", "n_contexts", "contexts", "answer_type", "expected", "dataset")
FORM = {"id": "THE ROW'S id", "variant": "context-first", "prediction": "So it is <output>3</output>"}
"""A row of predictions."""
NEEDS = ("context-exclusive", "context-first", "memory-first")
MEMORY_NEEDS = ("context-first", "memory-first")
SETTINGS = ("match", "conflict", "irrelevant")
CHALLENGES = ("conflict", "irrelevant")  # section 5.3.2
AGAINST_MEMORY = {
    ("context-first", "conflict"), ("context-exclusive", "conflict"), ("context-exclusive", "irrelevant"),
}  # fmt: skip
"""Where the right reply is not the one that the model knows (figure 2): each is a measure by itself."""
SHORT_CONTEXTS = 4  # section 5.3.1, "up to four retrieved context segments"
CHARACTERS_PER_TOKEN = 4  # the usual estimate for English; exact counts depend on the model
DONT_KNOW = "I don't know"
SINGLE_NEGATIVES = {"no", "none", "0"}  # section 5.2, 'responses such as "no," "none," or "0"'
REFUSALS = {
    "i dont know", "i do not know", "dont know", "do not know", "idk", "unknown", "i am not sure", "im not sure",
    "not sure", "i am unsure", "unsure", "i cannot answer", "i cant answer", "cannot answer", "cant answer",
    "unanswerable", "no answer", "not enough information", "insufficient information", "cannot be determined",
    "cant be determined", "not specified", "not mentioned",
}  # fmt: skip
"""Normal forms of the replies that are refusals."""
REFUSAL_STARTS = ("i dont know ", "i do not know ")
"""A refusal may continue after these: "I don't know based on the provided information"."""
NATURAL = "natural:"
"""Begins the name of a data set whose own texts disagree. No value is taken over it and what was made to conflict."""
TRUTH_VALUES = {"yes": True, "true": True, "no": False, "false": False}

_TAG = re.compile(r"<output>(.*?)(?:</output>|\Z)", re.IGNORECASE | re.DOTALL)


def is_natural(dataset: str) -> bool:
    """Return whether the texts of a data set disagree by themselves."""
    return dataset.startswith(NATURAL)


def measure_of(name: str, *, natural: bool) -> str:
    """Return the name of a measure: that of natural conflicts is another."""
    return f"{name}, natural conflicts" if natural else name


# ---- one reply ----


def read_reply(text: str) -> tuple[str, bool]:
    """Return the last `<output>` of the reply (or the whole of a reply without one), and whether there is a tag.

    A tag that is never closed ends with the reply: closing tags are often the stop sequence.
    """
    tags = _TAG.findall(text)
    return (tags[-1].strip(), True) if tags else (text.strip(), False)


def normal_form(answer: str) -> str:
    """SQuAD's normal form, with curly quotes taken for straight ones."""
    return normalise_answer(answer.replace("’", "'").replace("“", '"').replace("”", '"'))


def is_refusal(answer: str) -> bool:
    """Return whether the answer is one of `REFUSALS`, or begins with one of `REFUSAL_STARTS`."""
    normal = normal_form(answer)
    return normal in REFUSALS or normal.startswith(REFUSAL_STARTS)


def is_right(answer: str, expected: str, answer_type: str) -> bool:
    """Return whether the answer is the expected one, by the rule of its type (see above)."""
    if expected == DONT_KNOW:
        return is_refusal(answer)
    if answer_type == "number" and (wanted := number_value(expected)) is not None:
        return number_value(answer) == wanted
    if answer_type == "boolean":
        truth = TRUTH_VALUES.get(normal_form(answer))
        return truth is not None and truth == TRUTH_VALUES.get(normal_form(expected))
    return normal_form(answer) == normal_form(expected)


# ---- the tables ----


class Reply(NamedTuple):
    """How a reply counts."""

    right: bool
    refused: bool
    negative: bool
    tagged: bool
    row: str = ""
    """Id of the row that it replies to."""
    number: int = 0
    """Its place among all replies."""


Asked = tuple[str, str]
"""User need and setting."""
Replies = Mapping[Asked, Reply]
"""To an item with a number of contexts."""
ACCURACIES: Mapping[str, Mapping[tuple[str, ...], Sequence[Asked]]] = {
    "overall accuracy": {(): [(need, setting) for need in NEEDS for setting in SETTINGS]},
    "case-level accuracy": {(need,): [(need, setting) for setting in SETTINGS] for need in NEEDS},
    "setting-specific accuracy": {(need, setting): [(need, setting)] for need in NEEDS for setting in SETTINGS},
    "setting-specific accuracy, also right under match": {
        (need, setting): [(need, setting), (need, "match")] for need in NEEDS for setting in CHALLENGES
    },
}
"""Section 4.3, and section 5.3.2's accuracy in a setting and in match as well: by table and name, what has to be right
of an item with a number of contexts."""


def graded(row: Row, need: str, text: str) -> Reply:
    """A reply to a row under a user need."""
    answer, tagged = read_reply(text)
    right = tagged and is_right(answer, row["expected"][need], row["answer_type"])
    return Reply(right, is_refusal(answer), normal_form(answer) in SINGLE_NEGATIVES, tagged)


REFUSED, UNTAGGED = "I don't know among context-exclusive errors", "replies without <output>"
NEGATIVES, PAIRS = "single negatives", "pairs"
"""They make one table."""


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> Scores:
    """Return every table, by model and data set.

    Raises `CannotScore` if a model lacks a reply to a row under a need, has two, or has one to a row or need that
    does not exist. With `partial`, such rows are left out, and of two replies the first counts.
    """
    (by_id, most), account, values, numbers = _read(rows), Account(), Values(), count()
    tokens = _Tokens(len(by_id))
    tables: defaultdict[str, Means] = defaultdict(Means)

    def line(row: Row, prediction: Row) -> tuple[str | int, ...]:
        tokens.add(row)
        place, need = (group_of(prediction), row["dataset"], row["item_id"], row["n_contexts"]), prediction["variant"]
        reply = graded(row, need, prediction["prediction"])
        return (*place, need, row["setting"], *reply._replace(row=row["id"], number=next(numbers)))

    lines = Lines(12, matched(by_id, lambda row: NEEDS, predictions, partial, line, account))
    for (model, dataset, item), of_item in lines.groups(3):
        by_contexts: dict[int, dict[Asked, Reply]] = {}
        for contexts, need, setting, *reply in of_item:
            by_contexts.setdefault(contexts, {})[need, setting] = Reply(*reply)
        for contexts, replies in by_contexts.items():
            longest = by_contexts.get(most[dataset], {}) if contexts == 1 < most[dataset] else {}
            for table, key, value in chain(_shares(contexts, replies), _recovered(replies, longest)):
                tables[table].add((model, dataset, *key), value)
            values.add(_values(model, dataset, item, contexts, replies))
    negatives, pairs = tables[NEGATIVES].cells(), tables[PAIRS].cells()
    recovered = [
        (row, "number", float(number) if n else None, n)
        for (row, _, _, n), (_, _, _, number) in zip(pairs, negatives, strict=True)
    ]
    cells = {
        **{name: tables[name].cells() for name in (*ACCURACIES, REFUSED)},
        "wrong with 1 context, right with the most": [*negatives, *recovered],
        UNTAGGED: tables[UNTAGGED].cells(),
        "context tokens": tokens.cells(),
    }
    return Scores(cells, [], account, values)


def _read(rows: Iterable[Row]) -> tuple[Rows, Mapping[str, int]]:
    """The rows with the number of tokens in place of the contexts; and by data set, the most contexts of a row."""
    by_id, by_place = Rows(), Rows()
    most: dict[str, int] = {}
    for number, row in enumerate(rows):
        place = f"{row['item_id']}, {row['setting']}, {row['n_contexts']} contexts"
        tokens = sum(map(len, row["contexts"])) / CHARACTERS_PER_TOKEN
        scored = {name: value for name, value in row.items() if name in COLUMNS and name != "contexts"}
        if not (by_id.add(row["id"], {**scored, "number": number, "tokens": tokens}) and by_place.add(place, None)):
            raise CannotScore(f"rows: expected one row for item {place}, found two; score one release at a time")
        most[row["dataset"]] = max(row["n_contexts"], most.get(row["dataset"], 0))
    if not most:
        raise CannotScore("rows: expected evaluation rows, found none; check which build or release is scored")
    return by_id, most


def _shares(contexts: int, replies: Replies) -> Iterator[tuple[str, tuple[str | int, ...], float | None]]:
    """What the replies to an item with so many contexts add to tables of shares: (table, line and column, value)."""
    for table, asked in ACCURACIES.items():
        for name, wanted in asked.items():
            yield table, (*name, contexts), _all_right(replies, wanted)
    yield REFUSED, ("share",), _refused(contexts, replies)
    for (need, _), reply in replies.items():
        yield UNTAGGED, (need, contexts), float(not reply.tagged)


def _all_right(replies: Replies, wanted: Iterable[Asked]) -> float | None:
    """1 if every wanted reply is right, else 0; None if any is missing."""
    chosen = [replies.get(asked) for asked in wanted]
    return None if None in chosen else float(all(reply.right for reply in chosen if reply is not None))


def _refused(contexts: int, replies: Replies) -> float | None:
    """Table 2: how many context-exclusive errors are refusals although the contexts gave the answer to another need.

    Taken over the match setting with up to `SHORT_CONTEXTS` contexts if context-exclusive is wrong and
    context-first or memory-first is right. Departure: the paper samples 100 of them; we take all.
    """
    knows_answer = any(replies[need, "match"].right for need in MEMORY_NEEDS if (need, "match") in replies)
    reply = replies.get(("context-exclusive", "match"))
    if reply is None or reply.right or not knows_answer or contexts > SHORT_CONTEXTS:
        return None
    return float(reply.refused)


def _recovered(replies: Replies, longest: Replies) -> Iterator[tuple[str, tuple[str, str], float | None]]:
    """Table 3: replies wrong with one context and right with the most, and how many of the wrong were a bare "no".

    Pairs are the replies to an item in a setting under a need; `longest` are those with the most contexts, if
    `replies` are those with one. "share of single negatives" is that of the short replies in `SINGLE_NEGATIVES`;
    "number" counts the pairs that recovered, of n pairs. Departure: the paper samples 100 pairs and also asks for
    explicit reasoning in the long reply; we take all, and leave the reasoning out.
    """
    for (need, setting), short in replies.items():
        if need in MEMORY_NEEDS:
            long = longest.get((need, setting))
            recovers = long is not None and long.right and not short.right
            yield NEGATIVES, (need, "share of single negatives"), float(short.negative) if recovers else None
            yield PAIRS, (need, "number"), None if long is None else 1.0


def _values(model: str, dataset: str, item: str, contexts: int, replies: Replies) -> Iterator[tuple[float, int, Value]]:
    """The accuracy under each need, over all settings and data sets, and that of each of `AGAINST_MEMORY`.

    Natural conflicts have measures of their own.
    """
    at, natural = f"{contexts} context{'s' * (contexts != 1)}", is_natural(dataset)
    first = min(reply.number for reply in replies.values())
    for (need, setting), reply in replies.items():
        accuracy, right = measure_of(f"accuracy, {need}", natural=natural), float(reply.right)
        yield contexts, first, Value(model, accuracy, at, f"{item} {setting}", item, right, reply.row, need)
        if (need, setting) in AGAINST_MEMORY:
            against = measure_of(f"{setting}, {need}", natural=natural)
            yield contexts, first, Value(model, against, at, item, item, right, reply.row, need)


class _Tokens:
    """Table 1's tokens: mean and maximum over the rows of a context count, by their characters / 4."""

    def __init__(self, rows: int) -> None:
        self._is_counted = bytearray(rows)
        self._means, self._most = Means(), dict[tuple[str, int], float]()

    def add(self, row: Row) -> None:
        """Count a row that was answered, once."""
        if not self._is_counted[row["number"]]:
            self._is_counted[row["number"]] = 1
            key = row["dataset"], row["n_contexts"]
            self._means.add(key, row["tokens"])
            self._most[key] = max(row["tokens"], self._most.get(key, 0.0))

    def cells(self) -> list[Cell]:
        """Return the cells, of means first."""
        means = self._means.cells()
        return [
            *((f"{name} / mean", contexts, value, n) for name, contexts, value, n in means),
            *(
                (f"{dataset} / max", contexts, self._most[dataset, int(contexts)], n)
                for dataset, contexts, _, n in means
            ),
        ]


# ---- for Inspect (`inspect_tasks.py` beside this file) ----


def grade(row: Row, variant: str, reply: str) -> float:
    """Return whether a reply to a row under a user need is right."""
    return float(graded(row, variant, reply).right)


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def process_results(doc: Row, results: Sequence[str]) -> dict[str, float]:
    """The values of an item with a number of contexts, by the replies to each of its rows under each need.

    Where a setting is not among the rows, values that take it are left out.
    """
    asked = [(row, need) for row in doc["rows"] for need in NEEDS]
    replies = {
        (need, row["setting"]): graded(row, need, text) for (row, need), text in zip(asked, results, strict=True)
    }
    values = {name: _all_right(replies, wanted) for name, wanted in _in_harness().items()}
    untagged = mean([float(not reply.tagged) for reply in replies.values()])
    return {name: value for name, value in {**values, "untagged": untagged}.items() if value is not None}


def _in_harness() -> dict[str, list[Asked]]:
    """By value, the replies that have to be right."""
    return {
        "overall": [(need, setting) for need in NEEDS for setting in SETTINGS],
        **{f"case_{need}": [(need, setting) for setting in SETTINGS] for need in NEEDS},
        **{f"{need}_{setting}": [(need, setting)] for need in NEEDS for setting in SETTINGS},
        **{
            f"{need}_{setting}_and_match": [(need, setting), (need, "match")]
            for need in NEEDS
            for setting in CHALLENGES
        },
    }


def main() -> None:
    """The command line."""
    arguments = command_line(__doc__).parse_args()
    rows, predictions = rows_of(arguments.data, COLUMNS), predictions_of(arguments.predictions, FORM)
    show(score(rows, predictions, arguments.partial), arguments.output)


if __name__ == "__main__":
    run(main)
