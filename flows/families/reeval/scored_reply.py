"""One reply to a case of ReEval: what it is compared with, its measures, and whether it entails the answer.

This module needs the standard library alone, but for an entailment model: a release ships it as part of the scorer.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from flows.scoring.qa import exact_match, f1
from flows.scoring.scorer import CannotScore, Row

JUDGED_AT_ONCE = 4096
"""Replies whose pairs a judge is given together."""
Judge = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]
"""Says for each (premise, hypothesis) whether the premise entails the hypothesis."""


def category(row: Row) -> str:
    """The category of a case: swapped cases keep their original answer."""
    return "category 1" if row.get("original_answer") is not None else "category 2"


def answers(row: Row, variant: str) -> list[str]:
    """The right answers under a variant."""
    if variant == "swapped":
        return [row["answer"]]
    original = row.get("original_answer")
    return [row["answer"] if original is None else original, *row["aliases"]]


def premise_and_hypothesis(question: str, output: str, answer: str) -> tuple[str, str]:
    """The pair ("question? output", "question? answer"), with one question mark however the question ends."""
    asked = question.strip().rstrip("?？ \t\n") + "?"
    return f"{asked} {output.strip()}".strip(), f"{asked} {answer.strip()}".strip()


def measures_of(case: Row, prediction: Row) -> dict[str, float]:
    """A reply's exact match and F1."""
    right = answers(case, prediction["variant"])
    return {
        "EM": exact_match(prediction["prediction"], right, case["language"]),
        "F1": f1(prediction["prediction"], right, case["language"]),
    }


def pairs_of(case: Row, prediction: Row) -> list[tuple[str, str]]:
    """A reply's pairs for a judge; a blank reply has none."""
    reply, right = prediction["prediction"], answers(case, prediction["variant"])
    return [premise_and_hypothesis(case["question"], reply, answer) for answer in right if reply.strip()]


class Reply(NamedTuple):
    """A reply to a case: where it belongs, and its measures."""

    category: str
    row: str
    """The row of the source that the case was made from."""
    id: str
    case: int
    """The place among the cases of this id."""
    group: str
    source: str
    pivot: str
    position: str | None
    """The third of the evidence in which the answer starts."""
    variant: str
    number: int
    """The place among all replies."""
    exact: float
    f1: float
    entails: float | None
    """1 or 0; None without a judge."""
    pairs: str
    """For a judge, as JSON."""

    def measured(self, measure: str) -> float:
        """Return a measure of the reply, by the name of its column."""
        return {"EM": self.exact, "F1": self.f1, "Entail.": self.entails or 0.0}[measure]


PLACE = 5
"""The first fields of a reply are those of a model's case."""
Replies = Mapping[str, Reply]
"""A model's replies to a case, by variant."""


def with_verdicts(lines: Iterable[Sequence[Any]], judge: Judge) -> Iterator[Reply]:
    """The replies, and whether each entails one of its answers."""
    replies = (Reply(*line) for line in lines)
    while some := list(islice(replies, JUDGED_AT_ONCE)):
        for reply, entails in zip(some, entailed([json.loads(reply.pairs) for reply in some], judge), strict=True):
            yield reply._replace(entails=entails)


def entailed(replies: Sequence[Iterable[Sequence[str]]], judge: Judge) -> list[float]:
    """By reply, 1 if one of its pairs entails, else 0."""
    pairs = [(number, (premise, hypothesis)) for number, pairs in enumerate(replies) for premise, hypothesis in pairs]
    right = [0.0] * len(replies)
    for (number, _), entails in zip(pairs, judge([pair for _, pair in pairs]), strict=True):
        if entails:
            right[number] = 1.0
    return right


def cross_encoder(name: str) -> Judge:
    """A judge that takes the largest logit of a cross-encoder, by name or path, with a label "entailment"."""
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise CannotScore(f"--entailment: {error.name} is missing: pip install torch transformers") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForSequenceClassification.from_pretrained(
            name, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        ).eval()
    except (OSError, ValueError, ImportError) as error:
        raise CannotScore(f"--entailment: {name} cannot be loaded ({str(error).partition(chr(10))[0]})") from error
    labels = [place for place, label in model.config.id2label.items() if str(label).casefold() == "entailment"]
    if len(labels) != 1:
        raise CannotScore(f"--entailment: {name} has no one label entailment; name a model for language inference")

    def judge(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        verdicts = {}
        for pair in sorted(set(pairs)):
            with torch.inference_mode():
                logits = model(**tokenizer(*pair, truncation=True, return_tensors="pt")).logits
            verdicts[pair] = int(logits.argmax()) == int(labels[0])
        return [verdicts[pair] for pair in pairs]

    return judge
