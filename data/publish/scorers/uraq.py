"""Scores replies to URAQ's evaluation rows.

    python uraq.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Anonymous, "Do Retrieval-Augmented Language Models Adapt to Varying User Needs?": three accuracies (section 4.3) and
two analyses of errors (sections 5.2 and 5.3, appendix D). Part of Touchstone; Apache License 2.0. Needs Python 3.10.

A prediction's variant is the user need; every share lies in 0..1. The answer is what the last `<output>` tag holds;
a reply without the tag is wrong, and a table tells how many there are. It is right as follows.

- Expected "I don't know": it is a refusal.
- number: it has the expected value ("3.0", "three" and "3" are one), without a unit.
- boolean: it is yes (or true), or no (or false), as expected, and nothing beside it.
- entity: it has the expected SQuAD normal form.
"""

from __future__ import annotations

import math
import re
import string
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from data.publish.scorers.common import (
    CannotScore,
    Cell,
    Row,
    Tables,
    command_line,
    fitting,
    group_of,
    mean,
    means,
    predictions_of,
    rows_of,
    tell,
)

COLUMNS = ("id", "item_id", "setting", "n_contexts", "contexts", "answer_type", "expected", "dataset")
FORM = {"id": "THE ROW'S id", "variant": "context-first", "prediction": "So it is <output>3</output>"}
"""A row of predictions."""
NEEDS = ("context-exclusive", "context-first", "memory-first")
MEMORY_NEEDS = ("context-first", "memory-first")
SETTINGS = ("match", "conflict", "irrelevant")
CHALLENGES = ("conflict", "irrelevant")  # section 5.3.2
SHORT_CONTEXTS = 4  # section 5.3.1, "up to four retrieved context segments"
CHARACTERS_PER_TOKEN = 4
DONT_KNOW = "I don't know"
SINGLE_NEGATIVES = {"no", "none", "0"}  # section 5.2
REFUSALS = {
    "i dont know", "i do not know", "dont know", "do not know", "idk", "unknown", "i am not sure", "im not sure",
    "not sure", "i am unsure", "unsure", "i cannot answer", "i cant answer", "cannot answer", "cant answer",
    "unanswerable", "no answer", "not enough information", "insufficient information", "cannot be determined",
    "cant be determined", "not specified", "not mentioned",
}  # fmt: skip
"""Normal forms of the replies that are refusals."""
REFUSAL_STARTS = ("i dont know ", "i do not know ")
TRUTH_VALUES = {"yes": True, "true": True, "no": False, "false": False}

_TAG = re.compile(r"<output>(.*?)(?:</output>|\Z)", re.IGNORECASE | re.DOTALL)
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


# ---- one reply ----


def read_reply(text: str) -> tuple[str, bool]:
    """The last `<output>` of the reply (or the whole of a reply without one), and whether there is one."""
    found = _TAG.findall(text)
    return (found[-1].strip(), True) if found else (text.strip(), False)


def normal_form(answer: str) -> str:
    """SQuAD's: lower case, no ASCII punctuation, no articles, single spaces; curly quotes are straight ones."""
    straight = answer.replace("’", "'").replace("“", '"').replace("”", '"')
    return " ".join(_ARTICLES.sub(" ", straight.lower().translate(_ASCII_PUNCTUATION)).split())


def is_refusal(answer: str) -> bool:
    """Whether the answer is one of `REFUSALS`, or begins with one of `REFUSAL_STARTS`."""
    normal = normal_form(answer)
    return normal in REFUSALS or normal.startswith(REFUSAL_STARTS)


def is_right(answer: str, expected: str, answer_type: str) -> bool:
    """Whether the answer is the expected one, by the rule of its type (see above)."""
    if expected == DONT_KNOW:
        return is_refusal(answer)
    if answer_type == "number" and (wanted := number_value(expected)) is not None:
        return number_value(answer) == wanted
    if answer_type == "boolean":
        truth = TRUTH_VALUES.get(normal_form(answer))
        return truth is not None and truth == TRUTH_VALUES.get(normal_form(expected))
    return normal_form(answer) == normal_form(expected)


LONGEST_NUMBER = 200
_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_VALUES = {
    **{word: value for value, word in enumerate(f"{_ONES} {_TEENS}".split(), 1)},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
}
_SCALES = {"thousand": 10**3, "million": 10**6}
_ONE, _TEEN, _TEN = (f"(?:{words.replace(' ', '|')})" for words in (_ONES, _TEENS, _TENS))
_BELOW_100 = f"(?:{_TEN}(?: {_ONE})?|{_TEEN}|{_ONE})"
_BELOW_1000 = f"(?:{_ONE} hundred(?: (?:and )?{_BELOW_100})?|{_BELOW_100})"
_WORDS = re.compile(
    rf"(?:{_BELOW_1000} million)?(?:(?:^| ){_BELOW_1000} thousand)?(?:(?:^| )(?:(?<!^)and )?{_BELOW_1000})?"
)
_DIGITS = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)")


def number_value(text: str) -> Fraction | None:
    """The value of a text that is a number and nothing else: digits, a ratio, or English words; else None."""
    stripped = text.strip().replace("−", "-").removesuffix(".")
    if len(stripped) > LONGEST_NUMBER:
        return None
    if (ratio := _RATIO.fullmatch(stripped)) and int(ratio[2]):
        return Fraction(int(ratio[1]), int(ratio[2]))
    if re.search("[0-9]", stripped):
        return Fraction(stripped.replace(",", "")) if _DIGITS.fullmatch(stripped) else None
    return _value_of_words(" ".join(stripped.lower().replace("-", " ").split()))


def _value_of_words(text: str) -> Fraction | None:
    if text == "zero":
        return Fraction(0)
    if text.startswith("minus "):
        positive = _value_of_words(text.removeprefix("minus "))
        return None if positive is None else -positive
    if not text or not _WORDS.fullmatch(text):
        return None
    total = group = 0
    for word in text.split():
        if word in _SCALES:
            total, group = total + group * _SCALES[word], 0
        elif word == "hundred":
            group *= 100
        elif word != "and":
            group += _VALUES[word]
    return Fraction(total + group)


# ---- the tables ----


class Reply(NamedTuple):
    """A reply as it counts."""

    right: bool
    refused: bool
    negative: bool
    tagged: bool


Place = tuple[str, str, str, int]
"""Model, data set, item, number of contexts."""
Replies = Mapping[Place, Mapping[tuple[str, str], Reply]]
"""By place and (need, setting)."""


def graded(row: Row, need: str, text: str) -> Reply:
    """A reply to a row under a user need."""
    answer, tagged = read_reply(text)
    right = tagged and is_right(answer, row["expected"][need], row["answer_type"])
    return Reply(right, is_refusal(answer), normal_form(answer) in SINGLE_NEGATIVES, tagged)


def score(rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False) -> tuple[Tables, list[str]]:
    """Every table, by model and data set, and notes to their reader."""
    by_id, notes = _by_id(rows), list[str]()
    replies: dict[Place, dict[tuple[str, str], Reply]] = {}
    asked = set()
    for one in fitting(by_id, lambda row: NEEDS, predictions, partial, notes):
        row, need = by_id[one["id"]], one["variant"]
        asked.add(row["id"])
        place = group_of(one), row["dataset"], row["item_id"], row["n_contexts"]
        replies.setdefault(place, {})[need, row["setting"]] = graded(row, need, one["prediction"])
    most: dict[str, int] = {}
    for row in by_id.values():
        most[row["dataset"]] = max(row["n_contexts"], most.get(row["dataset"], 0))
    untagged = (
        ((model, dataset, need, contexts), float(not reply.tagged))
        for (model, dataset, _, contexts), found in replies.items()
        for (need, _), reply in found.items()
    )
    tables = {
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
        "I don't know among context-exclusive errors": _refusals(replies),
        "wrong with 1 context, right with the most": _recovered(replies, most),
        "replies without <output>": means(untagged),
        "context tokens": _tokens([by_id[id_] for id_ in asked]),
    }
    return tables, notes


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    by_id: dict[str, Row] = {}
    places = set()
    for row in rows:
        place = row["item_id"], row["setting"], row["n_contexts"]
        if row["id"] in by_id or place in places:
            raise CannotScore(
                f"rows: expected one row for item {row['item_id']}, {row['setting']}, {row['n_contexts']} contexts, "
                "found two; score one release at a time"
            )
        places.add(place)
        tokens = sum(map(len, row["contexts"])) / CHARACTERS_PER_TOKEN
        by_id[row["id"]] = {**row, "contexts": None, "tokens": tokens}
    if not by_id:
        raise CannotScore("rows: expected evaluation rows, found none; name the data of URAQ's evaluation")
    return by_id


def _all_right(found: Mapping[tuple[str, str], Reply], wanted: Iterable[tuple[str, str]]) -> float | None:
    """1 where every wanted reply is right, else 0; None where one is not there."""
    replies = [found.get(one) for one in wanted]
    return None if None in replies else float(all(reply.right for reply in replies if reply is not None))


def _accuracy(replies: Replies, asked: Mapping[tuple[str, ...], list[tuple[str, str]]]) -> list[Cell]:
    """Section 4.3: shares of (item, contexts) that are right in all that is asked, by the name of what is asked."""
    return means(
        ((model, dataset, *name, contexts), _all_right(found, wanted))
        for (model, dataset, _, contexts), found in replies.items()
        for name, wanted in asked.items()
    )


def _refusals(replies: Replies) -> list[Cell]:
    """Table 2: how many context-exclusive errors are refusals, where the contexts gave the answer to another need."""

    def share(contexts: int, found: Mapping[tuple[str, str], Reply]) -> float | None:
        known = any(found[need, "match"].right for need in MEMORY_NEEDS if (need, "match") in found)
        reply = found.get(("context-exclusive", "match"))
        if reply is None or reply.right or not known or contexts > SHORT_CONTEXTS:
            return None
        return float(reply.refused)

    return means(((place[0], place[1], "share"), share(place[3], found)) for place, found in replies.items())


def _recovered(replies: Replies, most: Mapping[str, int]) -> list[Cell]:
    """Table 3: what was wrong with one context and right with the most, and how often a bare "no" stood first."""
    pairs: dict[tuple[str, str, str], list[tuple[Reply, Reply]]] = {}
    for (model, dataset, item, contexts), found in replies.items():
        long = replies.get((model, dataset, item, most[dataset]), {})
        for (need, setting), reply in found.items():
            if need in MEMORY_NEEDS:
                own = pairs.setdefault((model, dataset, need), [])
                if contexts == 1 < most[dataset] and (need, setting) in long:
                    own.append((reply, long[need, setting]))
    negatives, numbers = [], []
    for key, own in sorted(pairs.items()):
        recovered = [short for short, long_ in own if long_.right and not short.right]
        row = " / ".join(key)
        share = mean([float(short.negative) for short in recovered])
        negatives.append((row, "share of single negatives", share, len(recovered)))
        numbers.append((row, "number", float(len(recovered)) if own else None, len(own)))
    return [*negatives, *numbers]


def _tokens(rows: Sequence[Row]) -> list[Cell]:
    """Table 1's tokens: mean and maximum over the rows of a context count, by their characters / 4."""
    by: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        by.setdefault((row["dataset"], row["n_contexts"]), []).append(row["tokens"])
    counts = sorted(by.items())
    return [
        *((f"{dataset} / mean", str(contexts), mean(own), len(own)) for (dataset, contexts), own in counts),
        *((f"{dataset} / max", str(contexts), max(own), len(own)) for (dataset, contexts), own in counts),
    ]


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def each_need(dataset: Any) -> Any:
    """`process_docs`: a document a row and user need, which it has as `variant`."""
    return dataset.map(_by_need, batched=True, batch_size=16)


def _by_need(rows: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    repeated = {name: [value for value in values for _ in NEEDS] for name, values in rows.items()}
    return {**repeated, "variant": [*NEEDS] * len(rows["id"])}


def process_results(doc: Row, results: Sequence[str]) -> dict[str, Any]:
    """What the harness averages: `overall` and `case_NEED` by the functions below, the others as they are."""
    need, setting = doc["variant"], doc["setting"]
    reply = graded(doc, need, results[0])
    place = doc["dataset"], doc["item_id"], doc["n_contexts"]
    return {
        "overall": (place, reply.right),
        f"case_{need}": (place, reply.right),
        f"{need}_{setting}": float(reply.right),
        "untagged": float(not reply.tagged),
    }


def overall(found: Iterable[tuple[Any, bool]]) -> float:
    """Overall accuracy: the share of (item, contexts) that are right under every need in every setting."""
    return _complete(found, len(NEEDS) * len(SETTINGS))


def case_level(found: Iterable[tuple[Any, bool]]) -> float:
    """Case-level accuracy: the share of (item, contexts) that are right under one need in every setting."""
    return _complete(found, len(SETTINGS))


def _complete(found: Iterable[tuple[Any, bool]], size: int) -> float:
    by_place: dict[Any, list[bool]] = {}
    for place, right in found:
        by_place.setdefault(tuple(place), []).append(right)
    share = mean([float(all(own)) for own in by_place.values() if len(own) == size])
    return math.nan if share is None else share


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
