"""The values of every family's measures, by which models are compared: what holds for all, and what each stands for."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pytest

from flows.families import family_names, load_family
from flows.families.charpeval.score import SCORES
from flows.families.documents.score import BOTH, CONFLICT_VARIANTS, VARIANTS
from flows.families.lveval.datasets import WITHOUT_RULES, ablations_of, variants_of
from flows.families.lveval.evaluation import scored as scored_row
from flows.families.lveval.scored_reply import dataset_of
from flows.families.reeval.score import VARIANTS as REEVAL_VARIANTS
from flows.families.reeval.scored_reply import answers, category
from flows.llm.likelihood import DEFAULT_SCORE
from flows.scoring.tables import ScoreTables
from flows.scoring.values import Value
from schemas.uraq import NEEDS
from tests.released import (
    charpeval_items,
    document_conflicts,
    document_pairs,
    enriched_cases,
    long_contexts,
    replies,
    swap_cases,
    uraq_rows,
    weighed,
)
from tests.test_flows_families_refutebench_score import TRANSIENT, dialogue, rated, scored, seed
from tests.test_flows_release_scorers import tables_of

MODELS = ("m", "n")


# ---- a scored sample of each family, by two models ----


def uraq() -> ScoreTables:
    rows = uraq_rows((25, 1, 10), ("uraq", "natural:conflictqa:a"))
    return tables_of("uraq", rows, often_right([
        ({"id": row.id, "variant": need}, f"<output>{row.expected[need]}</output>") for row in rows for need in NEEDS
    ]))  # fmt: skip


def reeval() -> ScoreTables:
    rows = [*swap_cases(), *enriched_cases()]
    return tables_of("reeval", rows, often_right([
        ({"id": row.id, "variant": variant}, answers(case, variant)[0])
        for row in rows
        for case in [row.model_dump()]
        for variant in REEVAL_VARIANTS[category(case)]
    ]))  # fmt: skip


def lveval() -> ScoreTables:
    """A dataset with two pairs a level, and a fact at three places of a book, also asked under every ablation."""
    recall = [row.model_copy(update={"pair_id": "fact"}) for row in long_contexts("factrecall-en", ("16k", "32k"), 3)]
    rows = [*long_contexts("hotpotwikiqa-mixup", ("32k", "16k")), *recall]
    changing = {row.id: ablations_of(dataset_of(scored_row(row)), confused=bool(row.confusing_facts)) for row in rows}
    return tables_of("lveval", rows, often_right([
        ({"id": row.id, "variant": variant, "prompting": ablation},
         (scored_row(row)["original"] if ablation in WITHOUT_RULES else scored_row(row))["answers"][0])
        for row in rows
        for ablation in (None, *changing[row.id])
        for variant in variants_of(ablation)
    ]))  # fmt: skip


def charpeval() -> ScoreTables:
    rows = charpeval_items(8)
    return tables_of("charpeval", rows, [
        one for number, model in enumerate(MODELS) for one in weighed(rows, SCORES, number, model=model)
    ])  # fmt: skip


def refutebench() -> ScoreTables:
    """Of one model, a seed of each of two tasks; of the other, one of them and a third."""
    given = {
        "m": [(seed("one"), 5, 2), (seed("two", "translation"), 4, 4)],
        "n": [(seed("one"), 3, 3), (seed("three"), 2, 1)],
    }
    ratings = [
        rating
        for model, dialogues in given.items()
        for one, first, last in dialogues
        for rating in rated(dialogue(one, model), TRANSIENT | {(0, 1): first, (0, 3): last})
    ]
    return scored(ratings, evaluated=MODELS)


def documents() -> ScoreTables:
    pairs, conflicts = document_pairs(), document_conflicts()
    asked = [({"id": row.id, "variant": variant}, row.answer) for row in pairs for variant in VARIANTS]
    asked += [
        ({"id": row.id, "variant": variant}, f"{row.first_answer}, or {row.second_answer}")
        for row in conflicts
        for variant in CONFLICT_VARIANTS
    ]
    return tables_of("documents", [*pairs, *conflicts], often_right(asked))


def often_right(asked: Sequence[tuple[dict[str, Any], str]]) -> list[dict[str, Any]]:
    """A reply of each model to whatever is asked, right two times of three."""
    drawn = random.Random(5)
    return [
        {**place, "model": model, "prediction": answer if drawn.random() < 2 / 3 else "no"}
        for model in MODELS
        for place, answer in asked
    ]


SAMPLES = {one.__name__: one for one in (charpeval, documents, lveval, reeval, refutebench, uraq)}


@cache
def sample(family: str) -> ScoreTables:
    return SAMPLES[family]()


# ---- what holds for all ----


@pytest.mark.parametrize("family", family_names())
def test_the_values_are_those_of_the_family_s_measures(family: str) -> None:
    measures = [measure.name for measure in load_family(family).evaluation.measures]
    assert len(measures) == len(set(measures)) > 0
    for model in MODELS:
        assert {value.measure for value in sample(family).values if value.group == model} == set(measures)


@pytest.mark.parametrize("family", family_names())
def test_an_item_has_one_value_under_each_condition_and_shares_the_same_under_all(family: str) -> None:
    values = sample(family).values
    assert set(Counter(value[:4] for value in values).values()) == {1}
    shared = defaultdict(set)
    for value in values:
        shared[value.measure, value.item].add(value.shared)
    assert {len(of_item) for of_item in shared.values()} == {1}


@pytest.mark.parametrize("family", family_names())
def test_models_and_conditions_are_compared_over_the_same_items(family: str) -> None:
    items: dict[str, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    for value in sample(family).values:
        items[value.measure][value.group, value.at].add(value.item)
    for of_measure in items.values():
        assert len({at for _, at in of_measure}) > 1
        assert set.intersection(*of_measure.values())


# ---- what each stands for ----


CONDITIONS = {
    "uraq": {"conflict, context-first": ["1 context", "10 contexts", "25 contexts"]},
    "reeval": {"exact match, category 1": ["original", "swapped"]},
    "lveval": {
        "score": ["16k", "32k"],
        "score, confusing facts": ["without confusing facts", "with confusing facts"],
        "score, replacement": ["without replacement", "with replacement"],
    },
    "charpeval": {"accuracy": ["easy", "hard"]},
    "refutebench": {"following the first refutation": ["turn 1", "turn 3"]},
    "documents": {"exact match": ["closed_book", "evidence"], BOTH: ["in_order", "reversed"]},
}


@pytest.mark.parametrize("family", family_names())
def test_conditions_come_in_the_order_in_which_they_are_shown(family: str) -> None:
    for measure, conditions in CONDITIONS[family].items():
        assert [*dict.fromkeys(value.at for value in sample(family).values if value.measure == measure)] == conditions


OF_BOTH = ("hotpotwikiqa-mixup / {}", "factrecall-en / {}")
SETTING = "setting-specific accuracy"
STANDS_FOR = [
    ("uraq", "conflict, context-first", "25 contexts", SETTING, ["uraq / context-first / conflict"], ["25"]),
    ("uraq", "irrelevant, context-exclusive", "1 context", SETTING, ["uraq / context-exclusive / irrelevant"], ["1"]),
    ("uraq", "accuracy, memory-first", "10 contexts", SETTING,
     [f"uraq / memory-first / {setting}" for setting in ("match", "conflict", "irrelevant")], ["10"]),
    ("reeval", "exact match, category 1", "original", "category 1, original evidence", ["all sources"], ["EM"]),
    ("reeval", "exact match, category 1", "swapped", "category 1", ["all sources"], ["EM"]),
    ("reeval", "exact match, category 2", "original", "category 2, original evidence", ["timeqa:dev"], ["EM"]),
    ("lveval", "score", "32k", "score by dataset", ["hotpotwikiqa-mixup", "factrecall-en"], ["32k"]),
    *(("lveval", "score, confusing facts", f"{at} confusing facts", "CFI and KPR", [of.format(line) for of in OF_BOTH],
       ["16k", "32k"]) for at, line in (("without", "no-cfi"), ("with", "as released"))),
    *(("lveval", "score, replacement", f"{at} replacement", "leakage",
       [of.format(f"context, {at} KPR") for of in OF_BOTH], ["all levels"]) for at in ("without", "with")),
    ("charpeval", "accuracy", "easy", "accuracy", ["eCHARP"], [DEFAULT_SCORE]),
    ("charpeval", "accuracy", "hard", "accuracy", ["hCHARP"], [DEFAULT_SCORE]),
    ("documents", "exact match", "evidence", "evidence", ["all kinds"], ["exact match"]),
    ("documents", BOTH, "reversed", "natural conflicts, reversed", ["all kinds"], ["both answers"]),
]  # fmt: skip
"""A measure's values under a condition, and the cells that have the same mean, each of n values."""


def test_expanded_evidence_counts_as_one_chance_as_the_original_does() -> None:
    for model in MODELS:
        own = [value.value for value in values_of("reeval", model, "exact match, category 2", "expanded")]
        alone = [
            cell.value or 0
            for cell in sample("reeval").tables
            if cell.table in [f"category 2, {name}-focused alone" for name in ("question", "evidence")]
            and (cell.row, cell.column) == (f"{model} / timeqa:dev", "EM")
        ]
        assert len(alone) == 2
        assert sum(own) / len(own) == pytest.approx(sum(alone) / 2)


@pytest.mark.parametrize(("family", "measure", "at", "table", "rows", "columns"), STANDS_FOR)
def test_the_mean_of_the_values_is_that_of_the_table(
    family: str, measure: str, at: str, table: str, rows: Iterable[str], columns: Iterable[str]
) -> None:
    met = set()
    for model in MODELS:
        wanted = {f"{model} / {row}" for row in rows}
        cells = [
            cell
            for cell in sample(family).tables
            if cell.table == table and cell.row in wanted and cell.column in columns
        ]
        assert len(cells) == len(wanted) * len([*columns])
        own = [value.value for value in values_of(family, model, measure, at)]
        assert len(own) == sum(cell.n for cell in cells)
        assert sum(own) == pytest.approx(sum((cell.value or 0) * cell.n for cell in cells))
        met.update(own)
    assert len(met) > 1, "a sample whose replies are all alike shows nothing"


def values_of(family: str, model: str, measure: str, at: str) -> list[Value]:
    """The values under a condition."""
    found = sample(family).values
    return [value for value in found if (value.group, value.measure, value.at) == (model, measure, at)]


def test_a_model_s_refutations_are_those_of_all_seeds_that_it_finished() -> None:
    """Tables are over the seeds of all models: of writing, one. Values are over a model's own."""
    given = {model: {at: {value.item: value.value for value in values_of("refutebench", model,
             "following the first refutation", at)} for at in ("turn 1", "turn 3")} for model in MODELS}  # fmt: skip
    assert given == {
        "m": {"turn 1": {"one": 5, "two": 4}, "turn 3": {"one": 2, "two": 4}},
        "n": {"turn 1": {"one": 3, "three": 2}, "turn 3": {"one": 3, "three": 1}},
    }
    (cell,) = [cell for cell in sample("refutebench").tables
               if (cell.table, cell.row, cell.column) == ("memory", "m / writing", "turn 3")]  # fmt: skip
    assert (cell.value, cell.n) == (2, 1)


def test_with_one_round_no_turn_is_the_last() -> None:
    found = scored(rated(dialogue(seed("one")), {(0, 1): 5, (None, 0): 4, (None, 1): 3}), rounds=1)
    assert found.tables
    assert not found.values


def test_items_share_their_source() -> None:
    """Of two documents, three questions; of fact recall, one pair at three places; of dialogues, the knowledge."""

    def clusters(family: str, measure: str, at: str) -> dict[str, set[str]]:
        by_shared: dict[str, set[str]] = defaultdict(set)
        for value in values_of(family, "m", measure, at):
            by_shared[value.shared].add(value.item)
        return by_shared

    assert sorted(map(len, clusters("documents", "exact match", "evidence").values())) == [1, 2]
    assert sorted(map(len, clusters("documents", BOTH, "in_order").values())) == [1, 2]
    assert {
        shared: len(items) for shared, items in clusters("uraq", "accuracy, context-first", "1 context").items()
    } == {f"uraq-{kind}": 3 for kind in ("number", "boolean", "entity", "number in words")}
    assert clusters("charpeval", "accuracy", "easy") == {f"The bell “made”\nbread {n}.": {f"d{n}"} for n in range(8)}
    assert {shared: len(items) for shared, items in clusters("lveval", "score", "16k").items()} == {
        "hotpotwikiqa-mixup pair 0": 1, "hotpotwikiqa-mixup pair 1": 1, "factrecall-en fact": 3,
    }  # fmt: skip


def test_without_ablations_lv_eval_has_the_score_alone() -> None:
    rows = long_contexts("hotpotwikiqa-mixup")
    found = tables_of("lveval", rows, replies([(row.id, variants_of(None)) for row in rows], 1))
    assert {value.measure for value in found.values} == {"score"}


def test_charpeval_compares_by_the_default_score() -> None:
    assert SCORES[0] == DEFAULT_SCORE
