"""Scores replies to ReEval's cases, of both categories.

    python reeval.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Yu et al., "ReEval: Automatic Hallucination Evaluation for Retrieval-Augmented Large Language Models via Transferable
Adversarial Attacks", 2024: section 4.1, tables 1 to 6, 13 and 14. Part of Touchstone; Apache License 2.0. Needs Python
3.10; with `--entailment MODEL` (in the paper cross-encoder/nli-deberta-v3-base) also torch and transformers.

A prediction's variant is closed_book, original and swapped (category 1), or closed_book, original, question_focused
and evidence_focused (category 2). Those whose prompting is "faithful" need no closed_book. A reply is compared with:

- swapped: the new answer.
- original and closed_book: the source's own answer, or another wording of it that the source gives. So
  closed-book tells what the model knows of the world, in category 1 too.
- question_focused, evidence_focused: the source's own answer, likewise; the evidence was enriched, not changed.

It is right by entailment if "question + reply" entails "question + answer"; a blank reply is wrong. Every value
lies in 0..1; n is the number of cases that it is taken over, and a share of nothing is None. A model's rows are told
apart by prompting and shots, and by source; where there are several sources, rows of all of them together stand beside.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean

from flows.families.reeval.scored_reply import Judge, answers, category, cross_encoder, premise_and_hypothesis
from flows.scoring.hashing import drawn_hash
from flows.scoring.qa import exact_match, f1
from flows.scoring.scorer import (
    Account,
    CannotScore,
    Cell,
    Row,
    Scores,
    Tables,
    Value,
    command_line,
    group_of,
    in_order,
    matched,
    mean,
    means,
    model_of,
    predictions_of,
    rows_of,
    run,
    show,
)

COLUMNS = ("id", "question", "answer", "aliases", "language", "source", "provenance")
SWAP_COLUMNS = ("original_answer", "answer_position")
"""Those that cases of category 1 have too."""
VARIANTS = {
    "category 1": ("closed_book", "original", "swapped"),
    "category 2": ("closed_book", "original", "question_focused", "evidence_focused"),
}
FORM = {"id": "THE ROW'S id", "variant": "original", "prediction": "in Paris"}
"""A row of predictions."""
EXPANSIONS = ("question_focused", "evidence_focused")
PERTURBED = {"category 1": ("swapped",), "category 2": EXPANSIONS}
THIRDS = ("first", "middle", "last")  # table 14
ALL_SOURCES = "all sources"
PIVOT = "pivot"
MATRIX_SEEDS = 500  # table 5, "we randomly sample 500 examples"


# ---- the tables ----

Place = tuple[str, str, int]
"""Model, source, number of the case."""
Series = Mapping[Place, "float | None"]


def score(
    rows: Iterable[Row],
    predictions: Iterable[Row],
    partial: bool = False,
    judge: Judge | None = None,
    matrix_seeds: int = MATRIX_SEEDS,
    english_only: str | None = None,
) -> Scores:
    """Return every table; without a judge, entailment is left out. `english_only` names a judge that reads no other
    language.

    Raises `CannotScore` where a group (model, prompting, shots) lacks a reply to a case under a variant, has two, or
    has one to a case or variant that does not exist; a faithful group needs none to closed_book. With `partial`, such
    replies are left out, and of two the first counts.
    """
    cases, account, notes = _cases(rows), Account(), list[str]()
    if judge is None:
        notes.append("entailment is off: Entail. and Norm. entail. are left out")
    elif english_only and (others := sum(case["language"] != "en" for case in cases)):
        notes.append(f"{others} cases are not English, which {english_only} does not read: go by their EM and F1")
    graded = _graded(cases, predictions, partial, judge, account)
    measures = ("EM", "F1") if judge is None else ("EM", "F1", "Entail.")
    tables: Tables = {}
    for title in VARIANTS:
        if asked := [line for line in graded if line["category"] == title]:
            tables |= _category_tables(asked, title, measures, matrix_seeds)
    return Scores(tables, notes, account, list(_values(graded)))


def _category_tables(asked: Sequence[Row], title: str, measures: Sequence[str], matrix_seeds: int) -> Tables:
    matrix = _matrix(asked, title, measures, matrix_seeds)
    lines = list(asked)
    if len({line["source"] for line in asked}) > 1:
        lines += [{**line, "source": ALL_SOURCES} for line in asked]
    tables = {f"{title}{name}": _table(values) for name, values in _perturbed(lines, title, measures).items()}
    for variant, name in (("original", "original evidence"), ("closed_book", "closed-book")):
        if unperturbed := [line for line in lines if line["variant"] == variant]:
            tables[f"{title}, {name}"] = _table(
                {measure: {_place(line): line[measure] for line in unperturbed} for measure in measures}
            )
    if placed := [line for line in lines if line["variant"] == "swapped" and line["position"]]:
        tables[f"{title}, by third of the evidence"] = _by_position(placed, measures)
    if matrix:
        tables[f"{title}, by pivot"] = matrix
    return tables


def _cases(rows: Iterable[Row]) -> list[Row]:
    """The cases as scoring needs them; two pivots that are the same model make the same case, which counts once."""
    kept: dict[str, Row] = {}
    for row in rows:
        provenance = row["provenance"]
        case = {
            **row,
            "answer_position": row.get("answer_position"),
            "row": " ".join(f"{source['source']} {source['id']}" for source in (provenance["sources"] or [])[:1]),
            "pivot": _pivot(provenance["prompts"] or []),
        }
        del case["provenance"]
        kept.setdefault(json.dumps(case, sort_keys=True), case)
    if not kept:
        raise CannotScore("rows: expected cases, found none; check which build or release is scored")
    return list(kept.values())


def _pivot(prompts: Sequence[Row]) -> str:
    """Name of the model that played the pivot; of several named models, that which was asked first."""
    asked = [prompt for prompt in prompts if prompt["role"] == PIVOT] or prompts
    return str(asked[0]["model"]) if asked else PIVOT


def _graded(
    cases: Sequence[Row], predictions: Iterable[Row], partial: bool, judge: Judge | None, account: Account
) -> list[Row]:
    """A line for each reply and case: where it belongs, and its measures. A reply serves all cases of its id."""
    by_id = {case["id"]: case for case in reversed(cases)}
    replies = list(
        matched(
            by_id,
            lambda case: VARIANTS[category(case)],
            predictions,
            partial,
            lambda case, prediction: _measured(case, prediction, judged=judge is not None),
            account,
            lambda prompting: ("closed_book",) if prompting == "faithful" else (),
        )
    )
    places: dict[str, list[Row]] = {}
    for number, case in enumerate(cases):
        place = {
            "case": number,
            "category": category(case),
            "source": case["source"],
            "row": case["row"],
            "pivot": case["pivot"],
            "position": case["answer_position"],
        }
        places.setdefault(case["id"], []).append(place)
    return [
        {**reply, "Entail.": entails, **place}
        for reply, entails in zip(replies, _entailed(replies, judge), strict=True)
        for place in places[reply["id"]]
    ]


def _measured(case: Row, prediction: Row, *, judged: bool) -> Row:
    """A reply's exact match and F1, and the pairs for a judge; a blank reply has none."""
    reply, variant = prediction["prediction"], prediction["variant"]
    right = answers(case, variant)
    return {
        "id": case["id"],
        "variant": variant,
        "model": model_of(prediction),
        "group": group_of(prediction),
        "EM": exact_match(reply, right, case["language"]),
        "F1": f1(reply, right, case["language"]),
        "pairs": [
            premise_and_hypothesis(case["question"], reply, answer) for answer in right if judged and reply.strip()
        ],
    }


def _entailed(replies: Sequence[Row], judge: Judge | None) -> list[float | None]:
    """1 if the reply entails one of the answers, else 0; None without a judge."""
    if judge is None:
        return [None] * len(replies)
    pairs = [(number, pair) for number, reply in enumerate(replies) for pair in reply["pairs"]]
    right: list[float | None] = [0.0] * len(replies)
    for (number, _), entails in zip(pairs, judge([pair for _, pair in pairs]), strict=True):
        if entails:
            right[number] = 1.0
    return right


def _place(line: Row) -> Place:
    return line["group"], line["source"], line["case"]


def _table(values: Mapping[str, Series]) -> list[Cell]:
    """Means of the values over the cases: a column for each name, a row for each model and source."""
    cells = means(
        ((group, source, name), value)
        for name, series in values.items()
        for (group, source, _), value in series.items()
    )
    return in_order(cells, list(values))


def _perturbed(lines: Iterable[Row], title: str, measures: Sequence[str]) -> dict[str, dict[str, Series]]:
    """Tables 1 and 2 (category 1), 3 and 4 (category 2, both expansions) and 13 (each expansion alone).

    In category 2, EM and entailment need both expansions right; F1 is their mean. "Norm. entail." is the
    entailment accuracy over the cases that the model answers rightly, by entailment, with the original evidence.
    """
    by_place: dict[Place, dict[str, Row]] = {}
    for line in lines:
        by_place.setdefault(_place(line), {})[line["variant"]] = line

    def over(variants: Sequence[str], measure: str) -> Series:
        """By place, the measure over the variants; None if any of them is missing."""
        joined = mean if measure == "F1" else min
        series: dict[Place, float | None] = {}
        for place, values_by_variant in by_place.items():
            values = [values_by_variant[variant][measure] for variant in variants if variant in values_by_variant]
            series[place] = joined(values) if len(values) == len(variants) else None
        return series

    parts: dict[str, Sequence[str]] = {"": PERTURBED[title]}
    if title == "category 2":
        parts |= {f", {name.replace('_', '-')} alone": (name,) for name in EXPANSIONS}
    measured = {name: {measure: over(variants, measure) for measure in measures} for name, variants in parts.items()}
    if "Entail." in measures:
        original_values = over(("original",), "Entail.")
        for series in measured.values():
            series["Norm. entail."] = {
                place: value if original_values[place] == 1 else None for place, value in series["Entail."].items()
            }
    return measured


def _values(graded: Sequence[Row]) -> Iterator[Value]:
    """Exact match with the original evidence, and with the perturbed: swapped, or the mean of both expansions.

    Departure: the paper's EM of category 2 (its tables here, too) wants both expansions right. Beside one reply to the
    original evidence, a model would then seem misled that the expansions do not touch.
    """
    for title, perturbed in (("category 1", "swapped"), ("category 2", "expanded")):
        lines = [line for line in graded if line["category"] == title]
        cases = {line["case"]: line for line in lines}
        for at, variants in (("original", ("original",)), (perturbed, PERTURBED[title])):
            for (group, _, case), value in _mean_exact_match(lines, variants).items():
                yield Value(group, f"exact match, {title}", at, cases[case]["id"], cases[case]["row"], value)


def _mean_exact_match(lines: Iterable[Row], variants: Sequence[str]) -> Mapping[Place, float]:
    """By place, the mean exact match of the replies under these variants, where all are there."""
    matches: dict[Place, list[float]] = {}
    for line in lines:
        if line["variant"] in variants:
            matches.setdefault(_place(line), []).append(line["EM"])
    return {place: fmean(values) for place, values in matches.items() if len(values) == len(variants)}


def _by_position(placed: Sequence[Row], measures: Sequence[str]) -> list[Cell]:
    """Table 14: category 1 by the third of the evidence in which the answer starts, where it occurs once."""
    cells = means(
        ((line["group"], line["source"], measure, third), line[measure] if line["position"] == third else None)
        for line in placed
        for measure in measures
        for third in THIRDS
    )
    return in_order(cells, THIRDS)


def _matrix(asked: Sequence[Row], title: str, measures: Sequence[str], seeds: int) -> list[Cell]:
    """Tables 5 and 6: every model on every pivot's cases, over the same seeds; empty for one model and one pivot.

    The seeds are the source rows of which every pivot has a case, the first `seeds` in a fixed random order
    ("we randomly sample 500 examples"), of all sources together; without any there is no table.
    """
    of_pivot: dict[str, set[str]] = {}
    for line in asked:
        of_pivot.setdefault(line["pivot"], set()).add(line["row"])
    common = set(sorted(set.intersection(*of_pivot.values()), key=_random_place)[:seeds])
    if not common or (len(of_pivot) < 2 and len({line["model"] for line in asked}) < 2):
        return []
    chosen = [{**line, "source": line["pivot"]} for line in asked if line["row"] in common]
    measured = _perturbed(chosen, title, measures)[""]
    columns = [f"{pivot}: {measure}" for pivot in sorted(of_pivot) for measure in measures]
    cells = means(
        ((group, f"{pivot}: {measure}"), value if source == pivot else None)
        for measure in measures
        for (group, source, _), value in measured[measure].items()
        for pivot in of_pivot
    )
    return in_order(cells, columns)


def _random_place(row: str) -> str:
    return drawn_hash("reeval matrix", row)


# ---- for Inspect (`inspect_tasks.py` beside this file) ----


def grade(row: Row, variant: str, reply: str) -> float:
    """Return whether a reply to a case under a variant is an exact match."""
    return float(_measured(row, {"variant": variant, "prediction": reply}, judged=False)["EM"])


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def process_results(doc: Row, results: Sequence[str], entailment: str | None = None) -> dict[str, float]:
    """The values of a case: the measures of each variant that was asked (a faithful prompt has no closed_book).

    Without a variant behind their name, they are those of perturbed evidence: of swapped, or of both expansions. With
    a cross-encoder for `entailment` there are `entail` and, for a case that is right with the original evidence,
    `norm_entail`.
    """
    judge = _judge(entailment) if entailment else None
    names = {"em": "EM", "f1": "F1", **({"entail": "Entail."} if judge else {})}
    variants = VARIANTS[category(doc)][-len(results) :]
    replies = [
        _measured(doc, {"variant": variant, "prediction": reply}, judged=judge is not None)
        for variant, reply in zip(variants, results, strict=True)
    ]
    by_variant = {
        reply["variant"]: {**reply, "Entail.": entails}
        for reply, entails in zip(replies, _entailed(replies, judge), strict=True)
    }
    perturbed = [by_variant[variant] for variant in ("swapped", *EXPANSIONS) if variant in by_variant]
    joined: dict[str, Callable[..., float]] = {"em": min, "f1": fmean, "entail": min}
    values = {name: float(joined[name]([reply[measure] for reply in perturbed])) for name, measure in names.items()}
    if judge and by_variant["original"]["Entail."] == 1:
        values["norm_entail"] = values["entail"]
    alone = [variant for variant in variants if variant != "swapped"]
    return values | {
        f"{name}_{variant}": by_variant[variant][measure] for variant in alone for name, measure in names.items()
    }


@cache
def _judge(name: str) -> Judge:
    return cross_encoder(name)


def main() -> None:
    """The command line."""
    parser = command_line(__doc__)
    parser.add_argument("--entailment", metavar="MODEL", help="a cross-encoder by name or path; none by default")
    arguments = parser.parse_args()
    rows = rows_of(arguments.data, COLUMNS, SWAP_COLUMNS)
    judge = cross_encoder(arguments.entailment) if arguments.entailment else None
    show(score(rows, predictions_of(arguments.predictions, FORM), arguments.partial, judge), arguments.output)


if __name__ == "__main__":
    run(main)
