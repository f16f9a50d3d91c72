"""ReEval's tables by hand: cases small enough to know them all."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.families.reeval.evaluation import EVALUATION, score, score_by
from flows.families.reeval.inference import Variant
from flows.families.reeval.score import VARIANTS, _cases
from flows.families.reeval.scored_reply import Judge, answers, category
from flows.scoring.scorer import Row
from flows.scoring.tables import ScoreError, ScoreTables
from schemas.base import PromptRef, Provenance, SourceRef
from schemas.errors import WrongInput
from schemas.prediction import Prediction
from schemas.reeval import EnrichedCase, PassageRef, SwapCase

Answer = Callable[[Row, str], str | None]
"""(case, variant) -> the reply, or None for the right one."""


@dataclass(frozen=True)
class Settings:
    entailment: str = "by-words"
    matrix_seeds: int = 500


def by_words(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """Entails where the hypothesis' answer stands in the premise's: a judge that can be worked out by hand."""
    return [after.partition("? ")[2] in before.partition("? ")[2] for before, after in pairs]


def swap(name: str, row: str = "", pivot: str = "p", **changes: Any) -> Row:
    made = {"sources": [{"source": "dev", "id": row or name}], "prompts": [{"role": "pivot", "model": pivot}]}
    known = {
        "id": name, "question": "Who?", "answer": f"new {name}", "original_answer": f"old {name}",
        "aliases": [f"aged {name}"], "answer_position": None, "language": "en", "source": "squad:dev",
        "provenance": made,
    }  # fmt: skip
    return known | changes


def enriched(name: str, **changes: Any) -> Row:
    case = swap(name, **{"answer": f"old {name}"} | changes)
    return {column: value for column, value in case.items() if column not in ("original_answer", "answer_position")}


def replies(
    cases: Iterable[Row], answer: Answer = lambda case, variant: None, model: str = "m", **group: Any
) -> list[Prediction]:
    return [
        Prediction(id=case["id"], variant=variant, prediction=said, model=model, **group)
        for case in cases
        for variant in VARIANTS[category(case)]
        if not (group.get("prompting") == "faithful" and variant == "closed_book")
        if (said := answer(case, variant)) is not None or (said := answers(case, variant)[0])
    ]


def says(**said: str) -> Answer:
    """`x_swapped="..."` is the reply to case x as swapped; the rest is right."""
    return lambda case, variant: said.get(f"{case['id']}_{variant}")


def scored(
    cases: list[Row],
    predictions: list[Prediction],
    partial: bool = False,
    judge: Judge | None = by_words,
    seeds: int = 500,
) -> ScoreTables:
    return score_by(judge, cases, predictions, partial, Settings(matrix_seeds=seeds))


def value(found: ScoreTables, table: str, row: str, column: str) -> tuple[float | None, int]:
    (cell,) = [c for c in found.tables if (c.table, c.row, c.column) == (table, row, column)]
    return cell.value, cell.n


def line(found: ScoreTables, table: str, row: str = "m / squad:dev") -> dict[str, float]:
    frame = found.frames[table]
    return {str(column): frame.loc[row, column] for column in frame.columns}


XYZ = [swap("x"), swap("y"), swap("z")]
MIXED = says(
    x_original="aged x",
    y_swapped="it is new y",
    y_original="nobody knows",
    z_swapped="old z",
    z_closed_book="no idea",
)


def test_tables_1_and_2_worked_by_hand() -> None:
    # x: right. y: "it is new y" has 2 of 4 words right and both of the answer's: F1 = 2/3; entailed. z: 1 of 2 and
    # 1 of 2: F1 = 1/2; wrong. With the original evidence x and z are right: of those, one stays right.
    found = scored(XYZ, replies(XYZ, MIXED))
    assert line(found, "category 1") == pytest.approx(
        {"EM": 1 / 3, "F1": (1 + 2 / 3 + 1 / 2) / 3, "Entail.": 2 / 3, "Norm. entail.": 1 / 2}
    )
    assert value(found, "category 1", "m / squad:dev", "Norm. entail.") == (1 / 2, 2)
    assert value(found, "category 1", "m / squad:dev", "Entail.") == (pytest.approx(2 / 3), 3)


def test_accuracy_before_perturbation_and_closed_book_go_by_the_source_s_answers() -> None:
    found = scored(XYZ, replies(XYZ, MIXED))
    # x's reply is another wording of the source's answer; y's is wrong
    assert line(found, "category 1, original evidence") == pytest.approx({"EM": 2 / 3, "F1": 2 / 3, "Entail.": 2 / 3})
    assert line(found, "category 1, closed-book") == pytest.approx({"EM": 2 / 3, "F1": 2 / 3, "Entail.": 2 / 3})


def test_the_old_answer_is_wrong_where_it_was_swapped_and_the_new_one_elsewhere() -> None:
    cases = [swap("x")]
    wrong = says(x_swapped="old x", x_original="new x", x_closed_book="new x")
    found = scored(cases, replies(cases, wrong))
    for table in ("category 1", "category 1, original evidence", "category 1, closed-book"):
        assert line(found, table)["EM"] == 0
    assert value(found, "category 1", "m / squad:dev", "Norm. entail.") == (None, 0)


def test_tables_3_4_and_13_worked_by_hand() -> None:
    # x: both right. y: right in one, "old y it is" in the other: EM 0, F1 = (1 + 2/3)/2, both entailed.
    # z: "no" in the one (0, 0, wrong), right in the other: EM 0, F1 = 1/2, wrong; z is wrong before, too.
    cases = [enriched("x"), enriched("y"), enriched("z")]
    answer = says(y_evidence_focused="old y it is", z_question_focused="no", z_original="no")
    found = scored(cases, replies(cases, answer))
    assert line(found, "category 2") == pytest.approx(
        {"EM": 1 / 3, "F1": (1 + 5 / 6 + 1 / 2) / 3, "Entail.": 2 / 3, "Norm. entail.": 1}
    )
    assert value(found, "category 2", "m / squad:dev", "Norm. entail.") == (1, 2)
    assert line(found, "category 2, question-focused alone") == pytest.approx(
        {"EM": 2 / 3, "F1": 2 / 3, "Entail.": 2 / 3, "Norm. entail.": 1}
    )
    assert line(found, "category 2, evidence-focused alone") == pytest.approx(
        {"EM": 2 / 3, "F1": (1 + 2 / 3 + 1) / 3, "Entail.": 1, "Norm. entail.": 1}
    )
    assert line(found, "category 2, original evidence")["EM"] == pytest.approx(2 / 3)
    assert line(found, "category 2, closed-book")["EM"] == 1


def test_table_14_by_the_third_in_which_the_answer_starts() -> None:
    places = {"x": "first", "y": "first", "z": "last", "w": None}
    cases = [swap(name, answer_position=place) for name, place in places.items()]
    found = scored(cases, replies(cases, says(y_swapped="no", w_swapped="no")))
    table, row = "category 1, by third of the evidence", "m / squad:dev / Entail."
    assert list(found.frames[table].columns) == ["first", "middle", "last"]
    assert value(found, table, row, "first") == (1 / 2, 2)
    assert value(found, table, row, "middle") == (None, 0)
    assert value(found, table, row, "last") == (1, 1)
    assert value(found, table, "m / squad:dev / EM", "first") == (1 / 2, 2)


def test_tables_5_and_6_every_model_on_every_pivot_s_cases_of_the_same_seeds() -> None:
    # Both pivots have a case of rows x and y; only p has one of z, so z is in no cell.
    cases = [swap(f"{pivot}{row}", row=row, pivot=pivot) for pivot, rows in (("p", "xyz"), ("q", "xy")) for row in rows]
    cases += [enriched(f"e{pivot}", row="x", pivot=pivot) for pivot in "pq"]
    good = replies(cases, model="m", prompting="open-book", shots=5)
    weak = replies(cases, says(px_swapped="no", pz_swapped="no", eq_evidence_focused="no"), model="n", shots=0)
    found = scored(cases, good + weak)
    table = "category 1, by pivot"
    assert list(found.frames[table].columns) == ["p: EM", "p: F1", "p: Entail.", "q: EM", "q: F1", "q: Entail."]
    assert value(found, table, "m, open-book, 5 shots", "p: EM") == (1, 2)
    assert value(found, table, "n, 0 shots", "p: EM") == (1 / 2, 2)
    assert value(found, table, "n, 0 shots", "q: Entail.") == (1, 2)
    assert value(found, "category 2, by pivot", "n, 0 shots", "q: EM") == (0, 1)
    assert value(found, "category 2, by pivot", "n, 0 shots", "q: F1") == (1 / 2, 1)
    assert value(found, "category 2, by pivot", "n, 0 shots", "p: EM") == (1, 1)
    one = scored(cases, good + weak, seeds=1)
    assert {cell.n for cell in one.tables if cell.table == table} == {1}


def test_one_pivot_and_one_model_make_no_matrix_and_no_common_seed_makes_none() -> None:
    assert not [name for name in scored(XYZ, replies(XYZ)).frames if "pivot" in name]
    two_models = scored(XYZ, replies(XYZ, model="m") + replies(XYZ, model="n"))
    assert value(two_models, "category 1, by pivot", "n", "p: EM") == (1, 3)
    apart = [swap("x", pivot="p"), swap("y", pivot="q")]
    assert not [name for name in scored(apart, replies(apart)).frames if "pivot" in name]


def test_a_case_that_two_pivots_made_alike_needs_one_reply_and_counts_for_both() -> None:
    cases = [swap("x", row="x", pivot="p"), swap("x", row="x", pivot="q"), swap("y", row="y"), swap("y", row="y")]
    found = scored(cases, replies([cases[0], cases[2]], says(y_swapped="no")))
    assert value(found, "category 1", "m / squad:dev", "EM") == (pytest.approx(2 / 3), 3)
    assert value(found, "category 1, by pivot", "m", "p: EM") == (1, 1)
    assert value(found, "category 1, by pivot", "m", "q: EM") == (1, 1)


def test_sources_stand_apart_and_together() -> None:
    cases = [swap("x"), swap("y", source="nq:dev"), swap("z", source="nq:dev"), enriched("w")]
    found = scored(cases, replies(cases, says(y_swapped="no")))
    assert value(found, "category 1", "m / squad:dev", "EM") == (1, 1)
    assert value(found, "category 1", "m / nq:dev", "EM") == (1 / 2, 2)
    assert value(found, "category 1", "m / all sources", "EM") == (pytest.approx(2 / 3), 3)
    assert list(found.frames["category 2"].index) == ["m / squad:dev"]


def test_prompting_and_shots_stand_apart_and_a_faithful_group_needs_no_closed_book() -> None:
    open_book = replies(XYZ, prompting="open-book", shots=0)
    faithful = replies(XYZ, MIXED, prompting="faithful", shots=5)
    found = scored(XYZ, open_book + faithful)
    assert line(found, "category 1", "m, open-book, 0 shots / squad:dev")["EM"] == 1
    assert line(found, "category 1", "m, faithful, 5 shots / squad:dev")["EM"] == pytest.approx(1 / 3)
    assert list(found.frames["category 1, closed-book"].index) == ["m, open-book, 0 shots / squad:dev"]
    with_closed_book = [*faithful, faithful[0].model_copy(update={"variant": "closed_book"})]
    assert scored(XYZ, with_closed_book, partial=True).tables
    assert "category 1" in scored(XYZ, faithful).frames


def test_without_entailment_its_columns_are_left_out_and_a_note_says_so() -> None:
    found = scored(XYZ, replies(XYZ, MIXED), judge=None)
    assert list(line(found, "category 1")) == ["EM", "F1"]
    assert not [cell for cell in found.tables if "ntail" in cell.column + cell.row]
    assert "entailment is off" in found.notes[0]
    off = score(XYZ, replies(XYZ, MIXED), False, Settings(entailment="off"))
    assert off.tables == found.tables


@pytest.mark.slow
def test_a_missing_entailment_model_is_said_before_the_predictions_are_read(tmp_path: Path) -> None:
    def unread() -> Iterable[Prediction]:
        raise AssertionError("read")
        yield

    with pytest.raises(WrongInput, match=r"families\.reeval\.entailment: .*`entailment: off`") as raised:
        score(XYZ, unread(), False, Settings(entailment=str(tmp_path / "none")))
    assert "\n" not in str(raised.value)


def test_a_blank_reply_entails_nothing() -> None:
    cases = [swap("x")]
    found = scored(cases, replies(cases, says(x_swapped=" ")), judge=lambda pairs: [True] * len(pairs))
    assert line(found, "category 1")["Entail."] == 0


def test_chinese_answers_are_compared_by_characters() -> None:
    # 在 上 海 市 / 上 海: P = 2/4, R = 1, F1 = 2/3
    cases = [swap("x", language="zh", question="哪里？", answer="上海", original_answer="北京", aliases=[])]
    found = scored(cases, replies(cases, says(x_swapped="在上海市", x_original="北京。")))
    assert line(found, "category 1") == pytest.approx({"EM": 0, "F1": 2 / 3, "Entail.": 1, "Norm. entail.": 1})
    assert line(found, "category 1, original evidence")["EM"] == 1


def test_order_does_not_matter() -> None:
    cases = [*XYZ, enriched("v"), enriched("w", source="nq:dev")]
    predictions = replies(cases, MIXED) + replies(cases, model="n")
    shuffled_cases, shuffled = cases.copy(), predictions.copy()
    random.Random(1).shuffle(shuffled)
    random.Random(2).shuffle(shuffled_cases)
    again, before = scored(shuffled_cases, shuffled).tables, scored(cases, predictions).tables
    assert [(one.table, one.row, one.column, one.n) for one in again] == [
        (one.table, one.row, one.column, one.n) for one in before
    ]
    assert [one.value for one in again] == pytest.approx([one.value for one in before])


@pytest.mark.parametrize("fault", ["missing", "double", "unknown id", "unknown variant"])
def test_predictions_that_do_not_fit_are_an_error_with_the_counts(fault: str) -> None:
    cases = [swap("x"), enriched("y")]
    predictions = replies(cases)
    counts = {"missing": 0, "double": 0, "unknown": 0}
    if fault == "missing":
        predictions = predictions[2:]
    elif fault == "double":
        predictions += predictions[:2]
    else:
        change = {"id": "nowhere"} if fault == "unknown id" else {"variant": "question_focused"}
        predictions += [one.model_copy(update=change) for one in predictions[:2]]
    counts[fault.split(maxsplit=1)[0]] = 2
    with pytest.raises(ScoreError) as raised:
        scored(cases, predictions)
    message = str(raised.value)
    assert "expected one for each of 7" in message
    assert all(f"{count} {name}" in message for name, count in counts.items())
    assert "\n" not in message
    assert scored(cases, predictions, partial=True).tables


def test_partial_leaves_out_what_a_measure_cannot_tell() -> None:
    cases = [enriched("x"), enriched("y")]
    some = [one for one in replies(cases) if (one.id, one.variant) != ("x", "question_focused")]
    some = [one for one in some if (one.id, one.variant) != ("y", "original")]
    found = scored(cases, some, partial=True)
    assert value(found, "category 2", "m / squad:dev", "EM") == (1, 1)
    assert value(found, "category 2", "m / squad:dev", "Norm. entail.") == (None, 0)
    assert value(found, "category 2, question-focused alone", "m / squad:dev", "F1") == (1, 1)
    assert value(found, "category 2, evidence-focused alone", "m / squad:dev", "F1") == (1, 2)
    assert value(found, "category 2, original evidence", "m / squad:dev", "EM") == (1, 1)


def test_nothing_to_score_is_an_error_even_when_partial() -> None:
    with pytest.raises(ScoreError, match="expected JSONL rows of id, variant and prediction, found none"):
        scored(XYZ, [], partial=True)
    with pytest.raises(ScoreError, match="found none"):
        scored([], replies(XYZ))


def test_what_scoring_keeps_of_a_case() -> None:
    asked = (
        PromptRef(name="answer_chat", version="1-0", role="gpt", model="gpt-4o"),
        PromptRef(name="replace_answer", version="1-0", role="pivot", model="small"),
    )
    provenance = Provenance(
        sources=(SourceRef(source="dev.json", id="q1"),), prompts=asked, seed=1
    )  # fmt: skip
    common = {"key": "k", "question": "Who?", "aliases": ("Ann Lee",), "source": "squad:dev.json"}
    case = SwapCase(
        pivot="pivot",
        **common, answer="Bo", original_answer="Ann", evidence="Bo did.", original_evidence="Ann did.",
        replacements=(), answer_position="first", provenance=provenance,
    )  # fmt: skip
    swapped = EVALUATION.scored(case)
    assert "evidence" not in swapped
    assert answers(swapped, "swapped") == ["Bo"]
    assert answers(swapped, "original") == answers(swapped, "closed_book") == ["Ann", "Ann Lee"]
    passages = tuple(PassageRef(id=str(number), title=None, text="t") for number in range(3))
    other = EnrichedCase(
        pivot="pivot",
        **common, answer="Ann", original_evidence="Ann did.", supporting_sentence="Ann did.",
        supporting_sentence_resolved="Ann did.", evidence_question_focused="Ann did it.",
        evidence_evidence_focused="It was Ann.", passages_question_focused=passages,
        passages_evidence_focused=passages, provenance=provenance.model_copy(update={"prompts": asked[:1]}),
    )  # fmt: skip
    kept = EVALUATION.scored(other)
    assert answers(kept, "question_focused") == ["Ann", "Ann Lee"]
    cases, others = _cases([swapped, kept, kept])
    (_, [first]), (_, [second]) = cases  # the same case twice is one
    assert others == 0
    assert (category(first), first["row"], first["pivot"], first["answer_position"]) == (
        "category 1", "dev.json q1", "small", "first",
    )  # fmt: skip
    assert (category(second), second["pivot"], second["answer_position"]) == ("category 2", "gpt-4o", None)


def test_the_variants_are_those_of_the_design() -> None:
    category1: tuple[Variant, ...] = ("closed_book", "original", "swapped")
    category2: tuple[Variant, ...] = ("closed_book", "original", "question_focused", "evidence_focused")
    assert {"category 1": category1, "category 2": category2} == VARIANTS
