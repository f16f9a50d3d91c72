"""URAQ's tables, each on a grid small enough to know them by hand."""

import random
from collections.abc import Callable, Iterable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.families.uraq.evaluation import EVALUATION, score
from flows.families.uraq.score import is_refusal, is_right, read_reply
from flows.scoring.scorer import Row
from flows.scoring.tables import ScoreError, ScoreTables
from schemas.base import Provenance
from schemas.prediction import Prediction
from schemas.uraq import DONT_KNOW, NEEDS, SETTINGS, EvaluationRow, Need, Setting

EXPECTED: dict[Setting, dict[Need, str]] = {
    "match": {"context-exclusive": "Sun", "context-first": "Sun", "memory-first": "Sun"},
    "conflict": {"context-exclusive": "Moon", "context-first": "Moon", "memory-first": "Sun"},
    "irrelevant": {"context-exclusive": DONT_KNOW, "context-first": "Sun", "memory-first": "Sun"},
}
Answer = Callable[[str, Setting, int, Need], str | None]
"""(item, setting, contexts, need) -> the reply, or None for the right one."""


def grid(items: Iterable[str], counts: Iterable[int], dataset: str = "uraq") -> list[Row]:
    return [
        {
            "id": f"{item}-{setting}-{count}", "item_id": item, "setting": setting, "n_contexts": count,
            "answer_type": "entity", "expected": EXPECTED[setting], "contexts": ["sun " * 10] * count,
            "dataset": dataset,
        }
        for item, setting, count in product(items, SETTINGS, counts)
    ]  # fmt: skip


def replies(rows: Iterable[Row], answer: Answer, model: str = "m") -> list[Prediction]:
    return [
        Prediction(
            id=row["id"],
            variant=need,
            model=model,
            prediction=answer(row["item_id"], row["setting"], row["n_contexts"], need)
            or f"<output>{row['expected'][need]}</output>",
        )
        for row in rows
        for need in NEEDS
    ]


def all_right(item: str, setting: Setting, count: int, need: Need) -> str | None:
    return None


def value(scored: ScoreTables, table: str, row: str, column: str) -> tuple[float | None, int]:
    (cell,) = [c for c in scored.tables if (c.table, c.row, c.column) == (table, row, column)]
    return cell.value, cell.n


def test_the_three_accuracies_of_a_model_that_is_always_right() -> None:
    rows = grid(["a", "b"], [1, 10])
    scored = score(rows, replies(rows, all_right))
    accuracies = [cell for cell in scored.tables if "accuracy" in cell.table]
    # 2 counts x (1 overall + 3 case-level + 9 plain + 6 joint)
    assert len(accuracies) == 2 * (1 + 3 + 9 + 6)
    assert {cell.value for cell in accuracies} == {1.0}
    assert {cell.n for cell in accuracies} == {2}


def test_the_three_accuracies_worked_by_hand() -> None:
    # Item a is wrong once, as context-first in conflict; item b once, as context-first in match; c never.
    def answer(item: str, setting: Setting, count: int, need: Need) -> str | None:
        wrong = {("a", "conflict", "context-first"), ("b", "match", "context-first")}
        return "<output>Mars</output>" if (item, setting, need) in wrong else None

    rows = grid("abc", [1])
    scored = score(rows, replies(rows, answer))
    assert value(scored, "overall accuracy", "m / uraq", "1") == (pytest.approx(1 / 3), 3)
    case = {need: value(scored, "case-level accuracy", f"m / uraq / {need}", "1")[0] for need in NEEDS}
    assert case == {"context-exclusive": 1, "context-first": pytest.approx(1 / 3), "memory-first": 1}
    plain = "setting-specific accuracy"
    joint = "setting-specific accuracy, also right under match"
    assert value(scored, plain, "m / uraq / context-first / conflict", "1") == (pytest.approx(2 / 3), 3)
    assert value(scored, plain, "m / uraq / context-first / irrelevant", "1") == (1, 3)
    assert value(scored, joint, "m / uraq / context-first / conflict", "1") == (pytest.approx(1 / 3), 3)
    assert value(scored, joint, "m / uraq / context-first / irrelevant", "1") == (pytest.approx(2 / 3), 3)
    assert not [cell for cell in scored.tables if cell.table == joint and cell.row.endswith("/ match")]


def test_a_curve_has_its_context_counts_in_the_order_of_numbers() -> None:
    def answer(item: str, setting: Setting, count: int, need: Need) -> str | None:
        return "<output>Mars</output>" if count == 10 and item == "a" else None

    rows = grid("ab", [25, 1, 10])
    curve = score(rows, replies(rows, answer)).frames["overall accuracy"]
    assert list(curve.columns) == [1, 10, 25]
    assert curve.loc["m / uraq"].tolist() == [1, 0.5, 1]


def test_models_and_data_sets_have_rows_of_their_own() -> None:
    rows = grid("ab", [1]) + grid("cd", [2], dataset="hotpotqa:dev.jsonl")
    predictions = replies(rows, all_right, "m") + replies(rows, lambda *_: "<output>Mars</output>", "n")
    scored = score(rows, predictions)
    assert value(scored, "overall accuracy", "m / uraq", "1") == (1, 2)
    assert value(scored, "overall accuracy", "m / hotpotqa:dev.jsonl", "2") == (1, 2)
    assert value(scored, "overall accuracy", "n / hotpotqa:dev.jsonl", "2") == (0, 2)


def test_prompting_and_shots_name_the_group() -> None:
    prediction = Prediction(id="a", variant="context-first", prediction="", model="m", prompting="cot", shots=1)
    assert prediction.group == "m, cot, 1 shot"


def test_order_does_not_matter() -> None:
    def answer(item: str, setting: Setting, count: int, need: Need) -> str | None:
        return "<output>no</output>" if (item, count) in {("a", 1), ("b", 10)} else None

    rows = grid("abc", [1, 4, 10])
    predictions = replies(rows, answer)
    shuffled_rows, shuffled = rows.copy(), predictions.copy()
    random.Random(1).shuffle(shuffled)
    random.Random(2).shuffle(shuffled_rows)
    assert score(shuffled_rows, shuffled).tables == score(rows, predictions).tables


def test_table_2_share_of_refusals_among_context_exclusive_errors() -> None:
    # Wrong as context-exclusive in match: a and b refuse, c hallucinates, d is wrong under every need and so
    # says nothing of conservatism, and with 10 contexts nothing counts. 2 of 3.
    def answer(item: str, setting: Setting, count: int, need: Need) -> str | None:
        if setting != "match" or item == "e":
            return None
        if item == "d":
            return "<output>I don't know</output>"
        if need == "context-exclusive":
            return "<output>Mars</output>" if item == "c" or count == 10 else "<output>I don’t know.</output>"
        return "<output>Mars</output>" if need == "memory-first" else None

    rows = grid("abcde", [4, 10])
    scored = score(rows, replies(rows, answer))
    table = "I don't know among context-exclusive errors"
    assert value(scored, table, "m / uraq", "share") == (pytest.approx(2 / 3), 3)


def test_table_3_share_of_single_negatives_among_what_more_contexts_mend() -> None:
    # As context-first in irrelevant, with 1 context: a says "no", b "None.", c "Mars", d is right; with 10
    # contexts all are right but b. So 2 of 12 pairs (4 items x 3 settings) recover, and 1 of the 2 said no.
    def answer(item: str, setting: Setting, count: int, need: Need) -> str | None:
        if need != "context-first" or setting != "irrelevant":
            return None
        short = {"a": "<output>no</output>", "b": "<output>None.</output>", "c": "<output>Mars</output>"}
        return short.get(item) if count == 1 or item == "b" else None

    rows = grid("abcd", [1, 4, 10])
    scored = score(rows, replies(rows, answer))
    table = "wrong with 1 context, right with the most"
    assert value(scored, table, "m / uraq / context-first", "share of single negatives") == (1 / 2, 2)
    assert value(scored, table, "m / uraq / context-first", "number") == (2, 12)
    assert value(scored, table, "m / uraq / memory-first", "share of single negatives") == (None, 0)
    assert value(scored, table, "m / uraq / memory-first", "number") == (0, 12)
    assert not [cell for cell in scored.tables if cell.table == table and "exclusive" in cell.row]


def test_a_share_of_nothing_is_none() -> None:
    rows = grid("ab", [1])
    scored = score(rows, replies(rows, all_right))
    assert value(scored, "I don't know among context-exclusive errors", "m / uraq", "share") == (None, 0)
    recovered = "wrong with 1 context, right with the most"
    assert value(scored, recovered, "m / uraq / context-first", "number") == (None, 0)


def test_replies_without_a_tag_are_wrong_and_counted() -> None:
    def answer(item: str, setting: Setting, count: int, need: Need) -> str | None:
        return "Sun" if (item, setting, need) == ("a", "match", "memory-first") else None

    rows = grid("ab", [1])
    scored = score(rows, replies(rows, answer))
    # 1 of the 6 replies as memory-first (2 items x 3 settings)
    assert value(scored, "replies without <output>", "m / uraq / memory-first", "1") == (pytest.approx(1 / 6), 6)
    assert value(scored, "replies without <output>", "m / uraq / context-first", "1") == (0, 6)
    assert value(scored, "setting-specific accuracy", "m / uraq / memory-first / match", "1") == (1 / 2, 2)


def test_tokens_are_the_contexts_characters_by_four() -> None:
    def row(setting: Setting, contexts: tuple[str, ...]) -> Row:
        full = EvaluationRow(
            key="k", item_id="a", setting=setting, n_contexts=2, contexts=contexts, relevant_index=0, question="Q?",
            answer_type="entity", expected=EXPECTED[setting], dataset="uraq", provenance=Provenance(seed=1),
        )  # fmt: skip
        scored: Row = EVALUATION.scored(full)
        return scored

    rows = [row("match", ("12345678", "1234")), row("conflict", ("1234", "1234"))]
    scored = score(rows, replies(rows, all_right))
    # 12 and 8 characters: 3 and 2 tokens
    assert value(scored, "context tokens", "uraq / mean", "2") == (5 / 2, 2)
    assert value(scored, "context tokens", "uraq / max", "2") == (3, 2)


@pytest.mark.parametrize("fault", ["missing", "double", "unknown id", "unknown variant"])
def test_predictions_that_do_not_fit_are_an_error_with_the_counts(fault: str) -> None:
    rows = grid("ab", [1])
    predictions = replies(rows, all_right)
    counts = {"missing": 0, "double": 0, "unknown": 0}
    if fault == "missing":
        predictions = predictions[2:]
    elif fault == "double":
        predictions += predictions[:2]
    else:
        change = {"id": "nowhere"} if fault == "unknown id" else {"variant": "memory-only"}
        predictions += [one.model_copy(update=change) for one in predictions[:2]]
    counts[fault.split(maxsplit=1)[0]] = 2
    with pytest.raises(ScoreError) as raised:
        score(rows, predictions)
    message = str(raised.value)
    assert "expected one for each of 18" in message
    assert all(f"{count} {name}" in message for name, count in counts.items())
    assert "\n" not in message
    assert score(rows, predictions, partial=True).tables


@settings(max_examples=30, deadline=None)
@given(st.lists(st.booleans(), min_size=54, max_size=54))
def test_a_stricter_accuracy_is_never_higher(rights: list[bool]) -> None:
    rows = grid("ab", [1, 10, 25])
    cells = [(row["id"], need) for row in rows for need in NEEDS]
    wrong = {cell for cell, right in zip(cells, rights, strict=True) if not right}
    predictions = [
        one.model_copy(update={"prediction": "<output>Mars</output>"}) if (one.id, one.variant) in wrong else one
        for one in replies(rows, all_right)
    ]
    scored = score(rows, predictions)

    def share(table: str, row: str, count: int) -> float:
        found, n = value(scored, table, row, str(count))
        assert found is not None
        assert n == 2
        return found

    plain, joint = "setting-specific accuracy", "setting-specific accuracy, also right under match"
    for count, need in product((1, 10, 25), NEEDS):
        case = share("case-level accuracy", f"m / uraq / {need}", count)
        assert share("overall accuracy", "m / uraq", count) <= case
        for setting in ("conflict", "irrelevant"):
            both = share(joint, f"m / uraq / {need} / {setting}", count)
            assert case <= both <= share(plain, f"m / uraq / {need} / {setting}", count)


def test_a_missing_reply_is_counted_for_each_model() -> None:
    rows = grid("a", [1])
    with pytest.raises(ScoreError, match=r"9 missing|8 missing") as raised:
        score(rows, replies(rows, all_right, "m")[1:] + replies(rows, all_right, "n")[:1])
    assert "9 missing" in str(raised.value)  # 1 of m's and 8 of n's


def test_partial_leaves_out_what_an_accuracy_cannot_tell() -> None:
    # b's reply as context-first in conflict is missing: overall and that need's accuracy tell of a alone.
    rows = grid("ab", [1])
    some = [p for p in replies(rows, all_right) if (p.id, p.variant) != ("b-conflict-1", "context-first")]
    scored = score(rows, some, partial=True)
    assert value(scored, "overall accuracy", "m / uraq", "1") == (1, 1)
    assert value(scored, "case-level accuracy", "m / uraq / memory-first", "1") == (1, 2)
    assert value(scored, "setting-specific accuracy", "m / uraq / context-first / conflict", "1") == (1, 1)


def test_nothing_to_score_is_an_error_even_when_partial() -> None:
    rows = grid("a", [1])
    with pytest.raises(ScoreError, match="expected JSONL rows of id, variant and prediction, found none"):
        score(rows, [], partial=True)
    with pytest.raises(ScoreError, match="found none"):
        score([], replies(rows, all_right))
    with pytest.raises(ScoreError, match="found two"):
        score(rows + rows, replies(rows, all_right))


@pytest.mark.parametrize(
    ("text", "answer", "tagged"),
    [
        ("<output>Sun</output>", "Sun", True),
        ("I think <OUTPUT>\n Moon\n</OUTPUT>, no: <output>Sun</output>.", "Sun", True),
        ("<output>Sun", "Sun", True),
        ("<output></output>", "", True),
        (" Sun ", "Sun", False),
    ],
)
def test_the_answer_is_what_the_last_tag_holds(text: str, answer: str, tagged: bool) -> None:
    assert read_reply(text) == (answer, tagged)


def test_an_answer_is_compared_by_its_type() -> None:
    assert is_right("3.0", "3", "number")
    assert is_right("Three", "3", "number")
    assert is_right("1,234", "1234", "number")
    assert not is_right("3 km", "3", "number")  # the prompt forbids units
    assert not is_right("4", "3", "number")
    assert is_right("Yes.", "yes", "boolean")
    assert is_right("FALSE", "no", "boolean")
    assert not is_right("yes and no", "yes", "boolean")
    assert is_right("the sun", "Sun", "entity")
    assert not is_right("Sun and Moon", "Sun", "entity")


def test_a_refusal_is_right_only_where_it_is_expected() -> None:
    assert is_right("I don’t know", DONT_KNOW, "number")
    assert is_right("I do not know.", DONT_KNOW, "boolean")
    assert not is_right("I don't know", "Sun", "entity")
    assert not is_right("Sun", DONT_KNOW, "entity")
    assert is_refusal("I don't know based on the provided information")
    assert not is_refusal("none")
    assert not is_refusal("Unknown Pleasures")


def test_partial_takes_the_replies_of_one_need_alone() -> None:
    rows = grid(["a"], [1, 10])
    some = [one for one in replies(rows, all_right) if one.variant == "context-exclusive"]
    scored = score(rows, some, partial=True)
    assert value(scored, "setting-specific accuracy", "m / uraq / context-exclusive / match", "1") == (1.0, 1)


def test_tokens_are_of_the_rows_that_were_answered() -> None:
    rows = grid(["a", "b"], [1, 10])
    some = [one for one in replies(rows, all_right) if one.id.endswith("-1")]
    columns = {cell.column for cell in score(rows, some, partial=True).tables if cell.table == "context tokens"}
    assert columns == {"1"}
