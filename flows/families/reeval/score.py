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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from itertools import chain, count, product
from statistics import fmean

from flows.families.reeval.scored_reply import (
    PLACE,
    Judge,
    Replies,
    Reply,
    category,
    cross_encoder,
    entailed,
    measures_of,
    pairs_of,
    with_verdicts,
)
from flows.scoring.hashing import drawn_hash
from flows.scoring.on_disk import Lines, Rows
from flows.scoring.scorer import (
    Account,
    CannotScore,
    Cell,
    Means,
    Row,
    Scores,
    Tables,
    command_line,
    group_of,
    in_order,
    matched,
    mean,
    model_of,
    predictions_of,
    rows_of,
    run,
    show,
)
from flows.scoring.values import Value, Values

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
PARTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "category 1": {"": PERTURBED["category 1"]},
    "category 2": {"": EXPANSIONS, **{f", {name.replace('_', '-')} alone": (name,) for name in EXPANSIONS}},
}
"""The tables of a category on perturbed evidence, with their variants."""
NORMALISED = "Norm. entail."
THIRDS = ("first", "middle", "last")  # table 14
ALL_SOURCES = "all sources"
PIVOT = "pivot"
MATRIX_SEEDS = 500  # table 5, "we randomly sample 500 examples"


# ---- the tables ----

UNPERTURBED = {"original": "original evidence", "closed_book": "closed-book"}
BY_THIRD, BY_PIVOT = ", by third of the evidence", ", by pivot"


class Asked:
    """What was asked about in a category."""

    def __init__(self) -> None:
        self.sources: set[str] = set()
        self.pivots: set[str] = set()
        self.models: set[str] = set()


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
    (cases, others), account, values, notes = _cases(rows), Account(), Values(), list[str]()
    if judge is None:
        notes.append("entailment is off: Entail. and Norm. entail. are left out")
    elif english_only and others:
        notes.append(f"{others} cases are not English, which {english_only} does not read: go by their EM and F1")
    asked: defaultdict[str, Asked] = defaultdict(Asked)
    lines = Lines(len(Reply._fields), _graded(cases, predictions, partial, judge is not None, account, asked))
    if judge is not None:
        lines = Lines(len(Reply._fields), with_verdicts(lines, judge))
    measures = ("EM", "F1") if judge is None else ("EM", "F1", "Entail.")
    means: defaultdict[str, Means] = defaultdict(Means)
    for replies in _by_case(lines):
        first = next(iter(replies.values()))
        together = (ALL_SOURCES,) if len(asked[first.category].sources) > 1 else ()
        for table, key, value in _of_case(replies, measures):
            for source in (first.source, *together):
                means[table].add((first.group, source, *key), value)
        values.add(_values(replies))
    tables: Tables = {}
    for title in VARIANTS:
        names = [f"{title}{name}" for name in (*PARTS[title], *(f", {name}" for name in UNPERTURBED.values()))]
        tables |= {name: in_order(means[name].cells(), (*measures, NORMALISED)) for name in names if name in means}
        if (name := f"{title}{BY_THIRD}") in means:
            tables[name] = in_order(means[name].cells(), THIRDS)
        if matrix := _matrix(lines, title, asked[title], measures, matrix_seeds):
            tables[f"{title}{BY_PIVOT}"] = matrix
    return Scores(tables, notes, account, values)


def _cases(rows: Iterable[Row]) -> tuple[Rows, int]:
    """The cases of each id as scoring needs them, and how many are not English.

    Two pivots that are the same model make the same case, which counts once.
    """
    cases, others = Rows(), 0
    for row in rows:
        provenance = row["provenance"]
        case = {
            **row,
            "answer_position": row.get("answer_position"),
            "row": " ".join(f"{source['source']} {source['id']}" for source in (provenance["sources"] or [])[:1]),
            "pivot": _pivot(provenance["prompts"] or []),
        }
        del case["provenance"]
        of_id = cases.get(row["id"]) or []
        if not any(json.dumps(case, sort_keys=True) == json.dumps(other, sort_keys=True) for other in of_id):
            cases.add(row["id"], [*of_id, case])
            others += case["language"] != "en"
    if not len(cases):
        raise CannotScore("rows: expected cases, found none; check which build or release is scored")
    return cases, others


def _pivot(prompts: Sequence[Row]) -> str:
    """Name of the model that played the pivot; of several named models, that which was asked first."""
    asked = [prompt for prompt in prompts if prompt["role"] == PIVOT] or prompts
    return str(asked[0]["model"]) if asked else PIVOT


def _graded(
    cases: Rows,
    predictions: Iterable[Row],
    partial: bool,
    judged: bool,
    account: Account,
    asked: defaultdict[str, Asked],
) -> Iterator[Reply]:
    """A line for each reply and case. A reply serves all cases of its id."""
    numbers = count()

    def lines(of_id: Sequence[Row], prediction: Row) -> Iterator[Reply]:
        variant, group, measures = prediction["variant"], group_of(prediction), measures_of(of_id[0], prediction)
        pairs = json.dumps(pairs_of(of_id[0], prediction)) if judged else ""
        for place, case in enumerate(of_id):
            title, source, pivot = category(case), case["source"], case["pivot"]
            asked[title].sources.add(source)
            asked[title].pivots.add(pivot)
            asked[title].models.add(model_of(prediction))
            belongs = title, case["row"], case["id"], place, group, source, pivot, case["answer_position"], variant
            yield Reply(*belongs, next(numbers), measures["EM"], measures["F1"], None, pairs)

    return chain.from_iterable(
        matched(
            cases,
            lambda of_id: VARIANTS[category(of_id[0])],
            predictions,
            partial,
            lines,
            account,
            lambda prompting: ("closed_book",) if prompting == "faithful" else (),
        )
    )


def _by_case(lines: Lines) -> Iterator[Replies]:
    """Each model's replies to each case."""
    for place, of_place in lines.groups(PLACE):
        replies = (Reply(*place, *line) for line in of_place)
        yield {reply.variant: reply for reply in replies}


def _of_case(replies: Replies, measures: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...], float | None]]:
    """What a model's replies to a case add to the tables: (table, line and column, value).

    Tables 1 and 2 (category 1), 3 and 4 (category 2, both expansions) and 13 (each expansion alone); the original
    evidence and closed-book; and table 14: category 1 by the third of the evidence in which the answer starts, where it
    occurs once.
    """
    title, position = next((reply.category, reply.position) for reply in replies.values())
    for name, variants in PARTS[title].items():
        for measure, value in _perturbed(replies, variants, measures).items():
            yield f"{title}{name}", (measure,), value
    for variant, name in UNPERTURBED.items():
        if variant in replies:
            for measure in measures:
                yield f"{title}, {name}", (measure,), replies[variant].measured(measure)
    if "swapped" in replies and position:
        for measure, third in product(measures, THIRDS):
            value = replies["swapped"].measured(measure) if position == third else None
            yield f"{title}{BY_THIRD}", (measure, third), value


def _perturbed(replies: Replies, variants: Sequence[str], measures: Sequence[str]) -> dict[str, float | None]:
    """By measure, what a case has with perturbed evidence; None if any of the variants is missing.

    In category 2, EM and entailment need both expansions right; F1 is their mean. "Norm. entail." is the
    entailment accuracy over the cases that the model answers rightly, by entailment, with the original evidence.
    """
    wanted = [replies[variant] for variant in variants if variant in replies]
    values: dict[str, float | None] = {}
    for measure in measures:
        joined: Callable[[Sequence[float]], float | None] = mean if measure == "F1" else min
        values[measure] = (
            joined([reply.measured(measure) for reply in wanted]) if len(wanted) == len(variants) else None
        )
    if "Entail." in measures:
        is_known = "original" in replies and replies["original"].measured("Entail.") == 1
        values[NORMALISED] = values["Entail."] if is_known else None
    return values


def _values(replies: Replies) -> Iterator[tuple[float, int, Value]]:
    """Exact match with the original evidence, and with the perturbed: swapped, or the mean of both expansions.

    Departure: the paper's EM of category 2 (its tables here, too) wants both expansions right. Beside one reply to the
    original evidence, a model would then seem misled that the expansions do not touch.
    """
    reply = next(iter(replies.values()))
    title, perturbed = reply.category, "swapped" if reply.category == "category 1" else "expanded"
    for rank, (at, variants) in enumerate((("original", ("original",)), (perturbed, PERTURBED[title]))):
        wanted = [replies[variant] for variant in variants if variant in replies]
        if len(wanted) == len(variants):
            exact = fmean(reply.exact for reply in wanted)
            value = Value(reply.group, f"exact match, {title}", at, reply.id, reply.row, exact)
            yield rank + len(VARIANTS) * list(VARIANTS).index(title), min(reply.number for reply in wanted), value


def _matrix(lines: Lines, title: str, asked: Asked, measures: Sequence[str], seeds: int) -> list[Cell]:
    """Tables 5 and 6: every model on every pivot's cases, over the same seeds; empty for one model and one pivot.

    The seeds are the source rows of which every pivot has a case, the first `seeds` in a fixed random order
    ("we randomly sample 500 examples"), of all sources together; without any there is no table.
    """
    if len(asked.pivots) < 2 and len(asked.models) < 2:
        return []
    common = (
        row
        for (of_title, row), of_row in lines.groups(2)
        if of_title == title and {Reply(title, row, *line).pivot for line in of_row} == asked.pivots
    )
    chosen = set(nsmallest(seeds, common, key=_random_place))
    cells = Means()
    for replies in _by_case(lines):
        first = next(iter(replies.values()))
        if first.category == title and first.row in chosen:
            for measure, value in _perturbed(replies, PERTURBED[title], measures).items():
                for pivot in asked.pivots if measure in measures else ():
                    cells.add((first.group, f"{pivot}: {measure}"), value if first.pivot == pivot else None)
    columns = [f"{pivot}: {measure}" for pivot in sorted(asked.pivots) for measure in measures]
    return in_order(cells.cells(), columns)


def _random_place(row: str) -> str:
    return drawn_hash("reeval matrix", row)


# ---- for Inspect (`inspect_tasks.py` beside this file) ----


def grade(row: Row, variant: str, reply: str) -> float:
    """Return whether a reply to a case under a variant is an exact match."""
    return measures_of(row, {"variant": variant, "prediction": reply})["EM"]


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
    replies = [{"variant": variant, "prediction": reply} for variant, reply in zip(variants, results, strict=True)]
    measures = [measures_of(doc, reply) for reply in replies]
    if judge:
        verdicts = entailed([pairs_of(doc, reply) for reply in replies], judge)
        measures = [{**own, "Entail.": entails} for own, entails in zip(measures, verdicts, strict=True)]
    by_variant = dict(zip(variants, measures, strict=True))
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
