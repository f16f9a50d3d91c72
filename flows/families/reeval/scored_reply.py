"""One reply to a case of ReEval: what it is compared with, and whether it entails it.

This module needs the standard library alone, but for an entailment model: a release ships it as part of the scorer.
"""

from collections.abc import Callable, Sequence

from flows.scoring.scorer import CannotScore, Row

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
