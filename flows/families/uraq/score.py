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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flows.scoring.number_value import number_value
from flows.scoring.qa import normalise_answer
from flows.scoring.scorer import (
    Account,
    CannotScore,
    Cell,
    Row,
    Scores,
    Value,
    Values,
    command_line,
    group_of,
    matched,
    mean,
    means,
    predictions_of,
    rows_of,
    run,
    show,
)

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


Asked = tuple[str, str]
"""User need and setting."""
Place = tuple[str, str, str, int]
"""Model, data set, item, number of contexts."""
Replies = Mapping[Place, Mapping[Asked, Reply]]
Ids = dict[tuple[str, int], dict[str, str]]
"""The rows' ids: by item and number of contexts, and then by setting."""


def graded(row: Row, need: str, text: str) -> Reply:
    """A reply to a row under a user need."""
    answer, tagged = read_reply(text)
    right = tagged and is_right(answer, row["expected"][need], row["answer_type"])
    return Reply(right, is_refusal(answer), normal_form(answer) in SINGLE_NEGATIVES, tagged)


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> Scores:
    """Return every table, by model and data set.

    Raises `CannotScore` if a model lacks a reply to a row under a need, has two, or has one to a row or need that
    does not exist. With `partial`, such rows are left out, and of two replies the first counts.
    """
    (by_id, ids), account = _read(rows), Account()
    replies: dict[Place, dict[Asked, Reply]] = {}
    answered = set()
    same: dict[Any, Any] = {}
    """Equal replies are one object, and so is what was asked: there may be millions, of a few kinds."""

    def grade(row: Row, prediction: Row) -> tuple[Place, Asked, Reply]:
        answered.add(row["id"])
        place = group_of(prediction), row["dataset"], row["item_id"], row["n_contexts"]
        asked = prediction["variant"], row["setting"]
        reply = graded(row, prediction["variant"], prediction["prediction"])
        return place, same.setdefault(asked, asked), same.setdefault(reply, reply)

    for place, asked, reply in matched(by_id, lambda row: NEEDS, predictions, partial, grade, account):
        replies.setdefault(place, {})[asked] = reply
    most: dict[str, int] = {}
    for row in by_id.values():
        most[row["dataset"]] = max(row["n_contexts"], most.get(row["dataset"], 0))
    tables = {
        **_accuracies(replies),
        "I don't know among context-exclusive errors": _refusals(replies),
        "wrong with 1 context, right with the most": _recovered(replies, most),
        "replies without <output>": _untagged(replies),
        "context tokens": _tokens([by_id[id_] for id_ in answered]),
    }
    return Scores(tables, [], account, Values(_values(replies, ids)))


def _read(rows: Iterable[Row]) -> tuple[dict[str, Row], Ids]:
    """The rows by id, with the number of tokens in place of the contexts, which are most of a row; and their ids.

    Equal texts are one object: an item is in many rows, and there may be a million.
    """
    by_id: dict[str, Row] = {}
    ids: Ids = {}
    same: dict[str, str] = {}
    for row in rows:
        of_item = ids.setdefault((same.setdefault(row["item_id"], row["item_id"]), row["n_contexts"]), {})
        if row["id"] in by_id or row["setting"] in of_item:
            raise CannotScore(
                f"rows: expected one row for item {row['item_id']}, {row['setting']}, {row['n_contexts']} contexts, "
                "found two; score one release at a time"
            )
        expected = {
            same.setdefault(need, need): same.setdefault(answer, answer) for need, answer in row["expected"].items()
        }
        shared = {
            name: same.setdefault(row[name], row[name]) for name in ("item_id", "setting", "answer_type", "dataset")
        }
        of_item[shared["setting"]] = row["id"]
        by_id[row["id"]] = {
            **shared,
            "id": row["id"],
            "n_contexts": row["n_contexts"],
            "expected": expected,
            "tokens": sum(map(len, row["contexts"])) / CHARACTERS_PER_TOKEN,
        }
    if not by_id:
        raise CannotScore("rows: expected evaluation rows, found none; check which build or release is scored")
    return by_id, ids


def _accuracies(replies: Replies) -> dict[str, list[Cell]]:
    """Section 4.3, and section 5.3.2's accuracy in a setting and in match as well."""
    return {
        "overall accuracy": _accuracy(replies, {(): [(need, setting) for need in NEEDS for setting in SETTINGS]}),
        "case-level accuracy": _accuracy(
            replies, {(need,): [(need, setting) for setting in SETTINGS] for need in NEEDS}
        ),
        "setting-specific accuracy": _accuracy(
            replies, {(need, setting): [(need, setting)] for need in NEEDS for setting in SETTINGS}
        ),
        "setting-specific accuracy, also right under match": _accuracy(
            replies,
            {(need, setting): [(need, setting), (need, "match")] for need in NEEDS for setting in CHALLENGES},
        ),
    }


def _accuracy(replies: Replies, asked: Mapping[tuple[str, ...], Sequence[Asked]]) -> list[Cell]:
    """By name, the shares of (item, contexts) that are right in all that the name asks for."""
    return means(
        ((model, dataset, *name, contexts), _all_right(replies_of_item, wanted))
        for (model, dataset, _, contexts), replies_of_item in replies.items()
        for name, wanted in asked.items()
    )


def _all_right(replies: Mapping[Asked, Reply], wanted: Iterable[Asked]) -> float | None:
    """1 if every wanted reply is right, else 0; None if any is missing."""
    chosen = [replies.get(asked) for asked in wanted]
    return None if None in chosen else float(all(reply.right for reply in chosen if reply is not None))


def _values(replies: Replies, ids: Ids) -> Iterator[Value]:
    """The accuracy under each need, over all settings and data sets, and that of each of `AGAINST_MEMORY`.

    Natural conflicts have measures of their own.
    """
    for (model, dataset, item, contexts), replies_of_item in sorted(replies.items(), key=lambda one: one[0][-1]):
        at, natural = f"{contexts} context{'s' * (contexts != 1)}", is_natural(dataset)
        names: dict[str, str] = {}  # one text each, whatever the needs
        for (need, setting), reply in replies_of_item.items():
            right, accuracy = float(reply.right), measure_of(f"accuracy, {need}", natural=natural)
            row = ids[item, contexts][setting]
            name = names.setdefault(setting, f"{item} {setting}")
            yield Value(model, accuracy, at, name, item, right, row, need)
            if (need, setting) in AGAINST_MEMORY:
                against = measure_of(f"{setting}, {need}", natural=natural)
                yield Value(model, against, at, item, item, right, row, need)


def _refusals(replies: Replies) -> list[Cell]:
    """Table 2: how many context-exclusive errors are refusals although the contexts gave the answer to another need.

    Taken over the match setting with up to `SHORT_CONTEXTS` contexts if context-exclusive is wrong and
    context-first or memory-first is right. Departure: the paper samples 100 of them; we take all.
    """

    def share(contexts: int, replies_of_item: Mapping[Asked, Reply]) -> float | None:
        knows_answer = any(
            replies_of_item[need, "match"].right for need in MEMORY_NEEDS if (need, "match") in replies_of_item
        )
        reply = replies_of_item.get(("context-exclusive", "match"))
        if reply is None or reply.right or not knows_answer or contexts > SHORT_CONTEXTS:
            return None
        return float(reply.refused)

    return means(
        ((model, dataset, "share"), share(contexts, replies_of_item))
        for (model, dataset, _, contexts), replies_of_item in replies.items()
    )


def _recovered(replies: Replies, most: Mapping[str, int]) -> list[Cell]:
    """Table 3: replies wrong with one context and right with the most, and how many of the wrong were a bare "no".

    Pairs are the replies to an item in a setting under a need. "share of single negatives" is that of
    the short replies in `SINGLE_NEGATIVES`; "number" counts the pairs that recovered, of n pairs.
    Departure: the paper samples 100 pairs and also asks for explicit reasoning in the long reply; we take
    all, and leave the reasoning out.
    """
    pairs: dict[tuple[str, str, str], list[tuple[Reply, Reply]]] = {}
    for (model, dataset, item, contexts), replies_of_item in replies.items():
        longest = replies.get((model, dataset, item, most[dataset]), {})
        for (need, setting), reply in replies_of_item.items():
            if need in MEMORY_NEEDS:
                of_need = pairs.setdefault((model, dataset, need), [])
                if contexts == 1 < most[dataset] and (need, setting) in longest:
                    of_need.append((reply, longest[need, setting]))
    negatives, numbers = [], []
    for key, of_need in sorted(pairs.items()):
        recovered = [short for short, long in of_need if long.right and not short.right]
        row = " / ".join(key)
        share = mean([float(short.negative) for short in recovered])
        negatives.append((row, "share of single negatives", share, len(recovered)))
        numbers.append((row, "number", float(len(recovered)) if of_need else None, len(of_need)))
    return [*negatives, *numbers]


def _untagged(replies: Replies) -> list[Cell]:
    return means(
        ((model, dataset, need, contexts), float(not reply.tagged))
        for (model, dataset, _, contexts), replies_of_item in replies.items()
        for (need, _), reply in replies_of_item.items()
    )


def _tokens(rows: Sequence[Row]) -> list[Cell]:
    """Table 1's tokens: mean and maximum over the rows of a context count, by their characters / 4."""
    by_count: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        by_count.setdefault((row["dataset"], row["n_contexts"]), []).append(row["tokens"])
    counts = sorted(by_count.items())
    return [
        *((f"{dataset} / mean", contexts, mean(tokens), len(tokens)) for (dataset, contexts), tokens in counts),
        *((f"{dataset} / max", contexts, max(tokens), len(tokens)) for (dataset, contexts), tokens in counts),
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
