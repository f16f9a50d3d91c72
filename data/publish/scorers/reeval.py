"""Scores replies to ReEval's cases, of both categories.

    python reeval.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Yu et al., "ReEval: Automatic Hallucination Evaluation for Retrieval-Augmented Large Language Models via Transferable
Adversarial Attacks", 2024: section 4.1, tables 1 to 6, 13 and 14. Part of Touchstone; Apache License 2.0. Needs Python
3.10; with `--entailment MODEL` (in the paper cross-encoder/nli-deberta-v3-base) also torch and transformers.

A prediction's variant is closed_book, original and swapped (category 1), or closed_book, original, question_focused
and evidence_focused (category 2). `swapped` is compared with the new answer, all others with the source's own answer
and its other wordings. Every value lies in 0..1. Predictions whose prompting is "faithful" need no closed_book.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from data.publish.scorers.common import (
    CannotScore,
    Cell,
    Row,
    Tables,
    command_line,
    fitting,
    group_of,
    in_order,
    mean,
    means,
    predictions_of,
    rows_of,
    tell,
)

Judge = Callable[[Sequence[tuple[str, str]]], Sequence[bool]]
"""Tells of each (premise, hypothesis) whether the one entails the other."""

COLUMNS = ("id", "question", "answer", "aliases", "language", "source", "provenance")
ALSO = ("original_answer", "answer_position")
"""What cases of category 1 have."""
VARIANTS = {
    "category 1": ("closed_book", "original", "swapped"),
    "category 2": ("closed_book", "original", "question_focused", "evidence_focused"),
}
FORM = {"id": "THE ROW'S id", "variant": "original", "prediction": "in Paris"}
"""A row of predictions."""
EXPANSIONS = ("question_focused", "evidence_focused")
THIRDS = ("first", "middle", "last")  # table 14
ALL_SOURCES = "all sources"
MATRIX_SEEDS = 500  # table 5, "we randomly sample 500 examples"

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_HAN = "々〇㐀-䶿一-鿿豈-\ufaff\U00020000-\U0003ffff"
_CHINESE_TOKEN = re.compile(rf"[{_HAN}]|[^\s{_HAN}]+")


# ---- one reply ----


def english_words(text: str) -> list[str]:
    """The words of SQuAD's normal form: lower case, no ASCII punctuation, no articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split()


def chinese_words(text: str) -> list[str]:
    """Mixed segmentation (CMRC 2018): a Chinese character each, Latin words and numbers whole; NFKC, no punctuation."""
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(c for c in folded if c not in string.punctuation and not unicodedata.category(c).startswith("P"))
    return _CHINESE_TOKEN.findall(kept)


WORDS = {"en": english_words, "zh": chinese_words}


def exact_match(prediction: str, answers: Sequence[str], lang: str = "en") -> float:
    """1 where the prediction has the normal form of an answer, else 0."""
    words = WORDS[lang]
    return max(float(words(prediction) == words(answer)) for answer in answers)


def f1(prediction: str, answers: Sequence[str], lang: str = "en") -> float:
    """The best F1 = 2PR / (P + R) over the answers, on bags of words; 0 where no word is shared."""
    words = WORDS[lang]
    return max(_f1(words(prediction), words(answer)) for answer in answers)


def _f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    shared = sum((Counter(predicted) & Counter(gold)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def category(row: Row) -> str:
    """The category of a case: swapped ones have kept their original answer."""
    return "category 1" if row.get("original_answer") is not None else "category 2"


def answers(row: Row, variant: str) -> list[str]:
    """What is right under a variant."""
    if variant == "swapped":
        return [row["answer"]]
    original = row.get("original_answer")
    return [row["answer"] if original is None else original, *row["aliases"]]


def premise_and_hypothesis(question: str, output: str, answer: str) -> tuple[str, str]:
    """The pair ("question? output", "question? answer"), with one question mark however the question ends."""
    asked = question.strip().rstrip("?？ \t\n") + "?"
    return f"{asked} {output.strip()}".strip(), f"{asked} {answer.strip()}".strip()


def cross_encoder(name: str) -> Judge:
    """A judge: whether the largest logit of a cross-encoder, by name or path, is that of its label "entailment"."""
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise CannotScore(f"--entailment: {error.name} is missing: pip install torch transformers") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForSequenceClassification.from_pretrained(name, dtype=torch.float32).eval()
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


# ---- the tables ----

Series = Mapping[tuple[Any, ...], "float | None"]
"""Values by what they belong to."""


def score(
    rows: Iterable[Row], predictions: Iterable[Row], partial: bool = False, judge: Judge | None = None
) -> tuple[Tables, list[str]]:
    """Every table, and notes to their reader; without a judge, entailment is left out."""
    cases, notes = _cases(rows), list[str]()
    by_id = {case["id"]: case for case in reversed(cases)}
    replies = fitting(
        by_id, lambda case: VARIANTS[category(case)], predictions, partial, notes,
        lambda prompting: ("closed_book",) if prompting == "faithful" else (),
    )  # fmt: skip
    if judge is None:
        notes.append("without --entailment: Entail. and Norm. entail. are left out")
    graded = _graded(cases, by_id, replies, judge)
    measures = ("EM", "F1") if judge is None else ("EM", "F1", "Entail.")
    tables: Tables = {}
    for title in VARIANTS:
        asked = [line for line in graded if line["part"] == title]
        if not asked:
            continue
        matrix = _matrix(asked, title, measures)
        if len({line["source"] for line in asked}) > 1:
            asked += [{**line, "source": ALL_SOURCES} for line in asked]
        for named, found in _perturbed(asked, title, measures).items():
            tables[f"{title}{named}"] = _table(found)
        for variant, named in (("original", "original evidence"), ("closed_book", "closed-book")):
            own = [line for line in asked if line["variant"] == variant]
            if own:
                tables[f"{title}, {named}"] = _table(
                    {name: {(line["group"], line["source"], line["case"]): line[name] for line in own}
                     for name in measures}
                )  # fmt: skip
        placed = [line for line in asked if line["variant"] == "swapped" and line["position"]]
        if placed:
            tables[f"{title}, by third of the evidence"] = _by_position(placed, measures)
        if matrix:
            tables[f"{title}, by pivot"] = matrix
    return tables, notes


def _cases(rows: Iterable[Row]) -> list[Row]:
    """What scoring keeps of the cases; two pivots that are one model make the same case, which counts once."""
    kept: dict[str, Row] = {}
    for row in rows:
        provenance = row["provenance"]
        prompts = provenance["prompts"] or []
        asked = [one for one in prompts if one["role"] == "pivot"] or prompts
        case = {
            **row,
            "answer_position": row.get("answer_position"),
            "row": " ".join(f"{one['source']} {one['id']}" for one in (provenance["sources"] or [])[:1]),
            "pivot": asked[0]["model"] if asked else "pivot",
        }
        del case["provenance"]
        kept.setdefault(json.dumps(case, sort_keys=True), case)
    if not kept:
        raise CannotScore("rows: expected cases, found none; name the data of ReEval")
    return list(kept.values())


def _graded(
    cases: Sequence[Row], by_id: Mapping[str, Row], replies: Sequence[Row], judge: Judge | None
) -> list[dict[str, Any]]:
    """A line a reply and case: where it belongs, and its measures. One reply serves all cases of its id."""
    entailed = _entailed(by_id, replies, judge)
    places: dict[str, list[tuple[int, Row]]] = {}
    for number, case in enumerate(cases):
        places.setdefault(case["id"], []).append((number, case))
    lines = []
    for one, entails in zip(replies, entailed, strict=True):
        case, variant = by_id[one["id"]], one["variant"]
        right = answers(case, variant)
        measured = {
            "variant": variant,
            "model": one.get("model", "model"),
            "group": group_of(one),
            "EM": exact_match(one["prediction"], right, case["language"]),
            "F1": f1(one["prediction"], right, case["language"]),
            "Entail.": entails,
        }
        lines += [
            {
                **measured,
                "case": number,
                "part": category(own),
                "source": own["source"],
                "row": own["row"],
                "pivot": own["pivot"],
                "position": own["answer_position"],
            }
            for number, own in places[one["id"]]
        ]
    return lines


def _entailed(by_id: Mapping[str, Row], replies: Sequence[Row], judge: Judge | None) -> list[float | None]:
    """1 where the reply entails one of the answers, else 0: a blank one entails nothing."""
    if judge is None:
        return [None] * len(replies)
    pairs = [
        (number, premise_and_hypothesis(by_id[one["id"]]["question"], one["prediction"], answer))
        for number, one in enumerate(replies)
        if one["prediction"].strip()
        for answer in answers(by_id[one["id"]], one["variant"])
    ]
    right: list[float | None] = [0.0] * len(replies)
    for (number, _), entails in zip(pairs, judge([pair for _, pair in pairs]), strict=True):
        if entails:
            right[number] = 1.0
    return right


def _table(values: Mapping[str, Series], depth: int = 2) -> list[Cell]:
    """Means of the values, a column each, and a row for each combination of the first `depth` parts of their places."""
    found = means(((*place[:depth], name), value) for name, own in values.items() for place, value in own.items())
    return in_order(found, list(values))


def _perturbed(asked: Iterable[Row], title: str, measures: Sequence[str]) -> dict[str, dict[str, Series]]:
    """Tables 1 and 2 (category 1), 3 and 4 (category 2, both expansions) and 13 (each expansion alone).

    In category 2, EM and entailment need both expansions right; F1 is their mean. "Norm. entail." is taken over the
    cases that are right, by entailment, with the original evidence.
    """
    wide: dict[tuple[Any, ...], dict[str, Row]] = {}
    for line in asked:
        wide.setdefault((line["group"], line["source"], line["case"]), {})[line["variant"]] = line

    def of(variants: Sequence[str], name: str) -> Series:
        """By place, the measure over the variants; None where one of them is not there."""
        values = {place: [own[one][name] for one in variants if one in own] for place, own in wide.items()}
        joined = mean if name == "F1" else min
        return {place: joined(own) if len(own) == len(variants) else None for place, own in values.items()}

    parts: dict[str, Sequence[str]] = {"": ("swapped",)}
    if title == "category 2":
        parts = {"": EXPANSIONS, **{f", {one.replace('_', '-')} alone": (one,) for one in EXPANSIONS}}
    measured: dict[str, dict[str, Series]] = {
        named: {name: of(variants, name) for name in measures} for named, variants in parts.items()
    }
    if "Entail." in measures:
        known = of(("original",), "Entail.")
        for found in measured.values():
            found["Norm. entail."] = {
                place: value if known[place] == 1 else None for place, value in found["Entail."].items()
            }
    return measured


def _by_position(placed: Sequence[Row], measures: Sequence[str]) -> list[Cell]:
    """Table 14: category 1 by the third of the evidence in which the answer starts, where it occurs once."""
    return _table(
        {
            third: {
                (line["group"], line["source"], name, line["case"]): line[name] if line["position"] == third else None
                for line in placed
                for name in measures
            }
            for third in THIRDS
        },
        3,
    )


def _matrix(asked: Sequence[Row], title: str, measures: Sequence[str]) -> list[Cell]:
    """Tables 5 and 6: every model on every pivot's cases, over the same seeds; empty for one of one.

    The seeds are the source rows of which every pivot has a case, the first in a fixed random order.
    """
    of_pivot: dict[str, set[str]] = {}
    for line in asked:
        of_pivot.setdefault(line["pivot"], set()).add(line["row"])
    common = sorted(set.intersection(*of_pivot.values()), key=_place_in_order)[:MATRIX_SEEDS]
    if not common or (len(of_pivot) < 2 and len({line["model"] for line in asked}) < 2):
        return []
    chosen = [{**line, "source": line["pivot"]} for line in asked if line["row"] in common]
    measured = _perturbed(chosen, title, measures)[""]
    columns = {
        f"{pivot}: {name}": {
            place: value if place[1] == pivot else None for place, value in measured[name].items()
        }
        for pivot in sorted(of_pivot)
        for name in measures
    }  # fmt: skip
    return _table(columns, 1)


def _place_in_order(row: str) -> str:
    parts = json.dumps(["reeval matrix", row], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def each_variant(dataset: Any) -> Any:
    """`process_docs`: a document a case and variant, which it has as `variant`."""
    return dataset.map(_by_variant, batched=True, batch_size=16)


def each_with_evidence(dataset: Any) -> Any:
    """`process_docs`: the same without closed_book."""
    return dataset.map(_by_variant, batched=True, batch_size=16, fn_kwargs={"first": 1})


def _by_variant(rows: Mapping[str, list[Any]], first: int = 0) -> dict[str, list[Any]]:
    variants = VARIANTS["category 1" if "original_answer" in rows else "category 2"][first:]
    repeated = {name: [value for value in values for _ in variants] for name, values in rows.items()}
    return {**repeated, "variant": [*variants] * len(rows["id"])}


def process_results(doc: Row, results: Sequence[str]) -> dict[str, Any]:
    """What the harness averages: EM and F1 of the variant, and of both expansions by the functions below."""
    variant = doc["variant"]
    right = answers(doc, variant)
    em, best = exact_match(results[0], right, doc["language"]), f1(results[0], right, doc["language"])
    found: dict[str, Any] = {f"em_{variant}": em, f"f1_{variant}": best}
    if variant in EXPANSIONS:
        found |= {"em_both": (doc["id"], em), "f1_both": (doc["id"], best)}
    return found


def both_right(found: Iterable[tuple[str, float]]) -> float:
    """The share of cases that are right under both expansions."""
    return _of_both(found, min)


def mean_of_both(found: Iterable[tuple[str, float]]) -> float:
    """The mean over cases of the mean of both expansions."""
    return _of_both(found, mean)


def _of_both(found: Iterable[tuple[str, float]], joined: Callable[[list[float]], float | None]) -> float:
    by_case: dict[str, list[float]] = {}
    for id_, value in found:
        by_case.setdefault(id_, []).append(value)
    values = [joined(own) for own in by_case.values() if len(own) == len(EXPANSIONS)]
    return mean([value for value in values if value is not None]) or 0.0


def main() -> None:
    """The command line."""
    parser = command_line(__doc__)
    parser.add_argument("--entailment", metavar="MODEL", help="a cross-encoder by name or path; none by default")
    given = parser.parse_args()
    rows, predictions = rows_of(given.data, COLUMNS, ALSO), predictions_of(given.predictions, FORM)
    judge = cross_encoder(given.entailment) if given.entailment else None
    tell(*score(rows, predictions, given.partial, judge), given.output)


if __name__ == "__main__":
    try:
        main()
    except (CannotScore, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
