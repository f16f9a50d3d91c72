"""URAQ's three accuracies and the two analyses of errors (paper, sections 4.3 and 5.2 to 5.3, appendix D).

Every share lies in 0..1. An item counts at a context count where all the replies that the accuracy asks
for are there; a share of nothing is None, with n = 0.

The answer is what the `<output>` tag holds. It is right as follows.

- Expected "I don't know": it is a refusal (`REFUSALS`).
- number: it has the expected value ("3.0", "three" and "3" are one). A unit makes it wrong, as the prompt
  forbids units.
- boolean: it is yes (or true), or no (or false), as expected, and nothing beside it.
- entity: it has the expected SQuAD normal form.

Departure: a reply without `<output>` is wrong, since the prompt asks for the tag; the paper's appendix D
counts one as right that a reader understands. The table "replies without <output>" tells how many there are.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from flows.scoring.qa import normalise_answer, number_value
from flows.scoring.tables import Layout, ScoreError, ScoreTables, cells, fitting, means
from schemas.base import Frozen
from schemas.prediction import Prediction
from schemas.uraq import DONT_KNOW, NEEDS, SETTINGS, AnswerType, EvaluationRow, Need, Setting

CHARACTERS_PER_TOKEN = 4  # the usual estimate for English; exact counts depend on the model
SHORT_CONTEXTS = 4  # section 5.3.1, "up to four retrieved context segments"
FEWEST_CONTEXTS = 1  # table 3, "incorrectly with 1 retrieved context"
MEMORY_NEEDS: tuple[Need, ...] = ("context-first", "memory-first")
CHALLENGES: tuple[Setting, ...] = ("conflict", "irrelevant")  # section 5.3.2
SINGLE_NEGATIVES = frozenset({"no", "none", "0"})  # section 5.2, 'responses such as "no," "none," or "0"'
REFUSALS = frozenset(
    {
        "i dont know", "i do not know", "dont know", "do not know", "idk", "unknown", "i am not sure", "im not sure",
        "not sure", "i am unsure", "unsure", "i cannot answer", "i cant answer", "cannot answer", "cant answer",
        "unanswerable", "no answer", "not enough information", "insufficient information", "cannot be determined",
        "cant be determined", "not specified", "not mentioned",
    }
)  # fmt: skip
"""Normal forms of the replies that are refusals."""
REFUSAL_STARTS = ("i dont know ", "i do not know ")
"""A refusal may go on after these: "I don't know based on the provided information"."""
TRUTH_VALUES = {"yes": True, "true": True, "no": False, "false": False}

_TAG = re.compile(r"<output>(.*?)(?:</output>|\Z)", re.IGNORECASE | re.DOTALL)


class ScoredRow(Frozen):
    """What scoring keeps of an evaluation row; its contexts, which are most of it, are not."""

    id: str
    item_id: str
    setting: Setting
    n_contexts: int
    answer_type: AnswerType
    expected: Mapping[Need, str]
    tokens: float
    dataset: str

    @classmethod
    def of(cls, row: EvaluationRow) -> "ScoredRow":
        """The part of `row` that is kept; tokens are the contexts' characters / 4."""
        return cls(
            id=row.id, item_id=row.item_id, setting=row.setting, n_contexts=row.n_contexts,
            answer_type=row.answer_type, expected=row.expected, dataset=row.dataset,
            tokens=sum(map(len, row.contexts)) / CHARACTERS_PER_TOKEN,
        )  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """A model's reply as it is read: the answer, and whether it stood in an `<output>` tag."""

    answer: str
    tagged: bool


def read_reply(text: str) -> Reply:
    """The last `<output>` of the reply, or the whole of a reply without one.

    A tag that is never closed ends with the reply: closing tags are often the stop sequence.
    """
    found = _TAG.findall(text)
    return Reply(found[-1].strip(), True) if found else Reply(text.strip(), False)


def normal_form(answer: str) -> str:
    """SQuAD's normal form, with curly quotes taken for straight ones."""
    return normalise_answer(answer.replace("’", "'").replace("“", '"').replace("”", '"'))


def is_refusal(answer: str) -> bool:
    """Whether the answer is one of `REFUSALS`, or begins with one of `REFUSAL_STARTS`."""
    normal = normal_form(answer)
    return normal in REFUSALS or normal.startswith(REFUSAL_STARTS)


def is_right(answer: str, expected: str, answer_type: AnswerType) -> bool:
    """Whether the answer is the expected one, by the rule of its type (see the module)."""
    if expected == DONT_KNOW:
        return is_refusal(answer)
    if answer_type == "number":
        value, wanted = number_value(answer), number_value(expected)
        return value == wanted if wanted is not None else normal_form(answer) == normal_form(expected)
    if answer_type == "boolean":
        truth = TRUTH_VALUES.get(normal_form(answer))
        return truth is not None and truth == TRUTH_VALUES.get(normal_form(expected))
    return normal_form(answer) == normal_form(expected)


def score(rows: Iterable[ScoredRow], predictions: Iterable[Prediction], partial: bool = False) -> ScoreTables:
    """Every table, by model and data set.

    Raises `ScoreError` where a model lacks a reply to a row under a need, has two, or has one to a row or
    need that is not there. With `partial`, such rows are left out, and of two replies the first counts.
    """
    by_id = _by_id(rows)
    replies = _graded(by_id, predictions, partial)
    right = _wide(replies, "right")
    most = {dataset: max(r.n_contexts for r in by_id.values() if r.dataset == dataset) for dataset in _datasets(by_id)}
    frames = {
        "overall accuracy": _overall(right),
        "case-level accuracy": _case_level(right),
        "setting-specific accuracy": _setting_specific(right, SETTINGS, also_match=False),
        "setting-specific accuracy, also right under match": _setting_specific(right, CHALLENGES, also_match=True),
        "I don't know among context-exclusive errors": _refusals(right, _wide(replies, "refused")),
        "wrong with 1 context, right with the most": _recovered(replies, most),
        "replies without <output>": _untagged(replies),
        "context tokens": _tokens(by_id[id_] for id_ in replies["id"].drop_duplicates()),
    }
    contexts = "contexts in a row"
    layouts = {
        "overall accuracy": Layout("model / data set", contexts),
        "case-level accuracy": Layout("model / data set / user need", contexts),
        "setting-specific accuracy": Layout("model / data set / user need / setting", contexts),
        "setting-specific accuracy, also right under match": Layout("model / data set / user need / setting", contexts),
        "I don't know among context-exclusive errors": Layout("model / data set", "share of those errors"),
        "wrong with 1 context, right with the most": Layout("model / data set / user need", "a share, and a number"),
        "replies without <output>": Layout("model / data set / user need", contexts),
        "context tokens": Layout("data set", contexts),
    }
    return ScoreTables.of(frames, units={"context tokens": "count"}, layouts=layouts)


def _by_id(rows: Iterable[ScoredRow]) -> dict[str, ScoredRow]:
    by_id: dict[str, ScoredRow] = {}
    places: set[tuple[str, Setting, int]] = set()
    for row in rows:
        place = row.item_id, row.setting, row.n_contexts
        if row.id in by_id or place in places:
            raise ScoreError(
                f"rows: expected one row for item {row.item_id}, {row.setting}, {row.n_contexts} contexts, "
                "found two; score one release at a time"
            )
        by_id[row.id] = row
        places.add(place)
    if not by_id:
        raise ScoreError("rows: expected evaluation rows, found none; check which build is scored")
    return by_id


def _datasets(by_id: Mapping[str, ScoredRow]) -> set[str]:
    return {row.dataset for row in by_id.values()}


def _graded(by_id: Mapping[str, ScoredRow], predictions: Iterable[Prediction], partial: bool) -> pd.DataFrame:
    """A line a reply: whose it is, where it belongs, and whether it is right, a refusal, a "no", tagged."""
    return pd.DataFrame(fitting(by_id, lambda row: NEEDS, predictions, partial, _line))


def _line(row: ScoredRow, prediction: Prediction) -> dict[str, str | int | float | bool]:
    need: Need = prediction.variant  # type: ignore[assignment] # one of the row's variants
    reply = read_reply(prediction.prediction)
    return {
        "id": row.id,
        "model": prediction.group,
        "dataset": row.dataset,
        "item": row.item_id,
        "setting": row.setting,
        "contexts": row.n_contexts,
        "need": need,
        "right": float(reply.tagged and is_right(reply.answer, row.expected[need], row.answer_type)),
        "refused": float(is_refusal(reply.answer)),
        "negative": float(normal_form(reply.answer) in SINGLE_NEGATIVES),
        "tagged": float(reply.tagged),
    }


def _wide(replies: pd.DataFrame, value: str) -> pd.DataFrame:
    """`value` with a line for each (model, data set, item, contexts) and a column for each (need, setting)."""
    columns = pd.MultiIndex.from_product([NEEDS, SETTINGS], names=["need", "setting"])
    wide = replies.pivot(index=["model", "dataset", "item", "contexts"], columns=["need", "setting"], values=value)
    return wide.reindex(columns=columns)


def _all_right(right: pd.DataFrame, places: Sequence[tuple[Need, Setting]]) -> "pd.Series[float]":
    """1 where every place is right, else 0; nothing where one is not there."""
    return right[list(places)].min(axis=1, skipna=False)


def _overall(right: pd.DataFrame) -> pd.DataFrame:
    """Section 4.3, 1: right under every need in every setting."""
    everything = [(need, setting) for need in NEEDS for setting in SETTINGS]
    return means(_all_right(right, everything), ["model", "dataset", "contexts"])


def _case_level(right: pd.DataFrame) -> pd.DataFrame:
    """Section 4.3, 2: right under one need in every setting."""
    by_need = {need: _all_right(right, [(need, setting) for setting in SETTINGS]) for need in NEEDS}
    return means(pd.concat(by_need, names=["need"]), ["model", "dataset", "need", "contexts"])


def _setting_specific(right: pd.DataFrame, settings: Sequence[Setting], also_match: bool) -> pd.DataFrame:
    """Section 4.3, 3: right under one need in one setting; section 5.3.2: and in match as well."""
    match: list[Setting] = ["match"] if also_match else []
    asked = {
        (need, setting): _all_right(right, [(need, one) for one in [setting, *match]])
        for need in NEEDS
        for setting in settings
    }
    values = pd.concat(asked, names=["need", "setting"])
    return means(values, ["model", "dataset", "need", "setting", "contexts"])


def _refusals(right: pd.DataFrame, refused: pd.DataFrame) -> pd.DataFrame:
    """Table 2: how many context-exclusive errors are refusals, with the answer known to be at hand.

    Taken over the match setting with up to `SHORT_CONTEXTS` contexts, where context-exclusive is wrong and
    context-first or memory-first is right. Departure: the paper samples 100 of them; we take all.
    """
    known = right[[(need, "match") for need in MEMORY_NEEDS]].max(axis=1) == 1
    few = pd.Series(right.index.get_level_values("contexts") <= SHORT_CONTEXTS, index=right.index)
    asked = ("context-exclusive", "match")
    share = refused[asked].where(known & few & (right[asked] == 0))
    return means(pd.concat({"share": share}, names=["measure"]), ["model", "dataset", "measure"])


def _recovered(replies: pd.DataFrame, most: Mapping[str, int]) -> pd.DataFrame:
    """Table 3: what was wrong with one context and right with the most, and how often a bare "no" stood first.

    Pairs are the replies to one item in one setting under one need. "share of single negatives" is that of
    the short replies in `SINGLE_NEGATIVES`; "number" counts the pairs that recovered, of n pairs.
    Departure: the paper samples 100 pairs and also asks for explicit reasoning in the long reply; we take
    all, and leave the reasoning out.
    """
    place = ["model", "dataset", "item", "setting", "need"]
    asked = replies[replies["need"].isin(MEMORY_NEEDS)]
    largest = asked["dataset"].map(most)
    if asked.empty:
        return pd.DataFrame({"row": [], "column": [], "value": [], "n": []})
    short = asked[(asked["contexts"] == FEWEST_CONTEXTS) & (largest > FEWEST_CONTEXTS)]
    long = asked[asked["contexts"] == largest]
    pairs = short.merge(long[[*place, "right"]], on=place, suffixes=("", "_long"))
    pairs["recovered"] = (pairs["right"] == 0) & (pairs["right_long"] == 1)
    pairs["negative"] = pairs["negative"].where(pairs["recovered"])
    by = ["model", "dataset", "need"]
    groups = pd.MultiIndex.from_frame(asked[by].drop_duplicates().sort_values(by))
    grouped = pairs.groupby(by)
    share = grouped["negative"].agg(["mean", "count"]).reindex(groups)
    number = grouped["recovered"].agg(["sum", "count"]).rename(columns={"sum": "mean"}).reindex(groups)
    measures = pd.concat({"share of single negatives": share, "number": number}, names=["measure"])
    measures["count"] = measures["count"].fillna(0)
    return cells(measures, [*by, "measure"])


def _untagged(replies: pd.DataFrame) -> pd.DataFrame:
    by = ["model", "dataset", "need", "contexts"]
    return means(1 - replies.set_index(by)["tagged"], by)


def _tokens(rows: Iterable[ScoredRow]) -> pd.DataFrame:
    """Table 1's tokens: mean and maximum over the rows of a context count, estimated (`ScoredRow.of`)."""
    frame = pd.DataFrame({"dataset": row.dataset, "contexts": row.n_contexts, "tokens": row.tokens} for row in rows)
    grouped = frame.groupby(["dataset", "contexts"])["tokens"]
    measured = {
        measure: pd.DataFrame({"mean": grouped.agg(measure), "count": grouped.count()}) for measure in ("mean", "max")
    }
    return cells(pd.concat(measured, names=["measure"]), ["dataset", "measure", "contexts"])
