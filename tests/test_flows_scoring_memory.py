"""Scoring keeps rows and replies on disk: its memory does not grow with them."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from flows.families.charpeval import score as charpeval
from flows.families.documents import score as documents
from flows.families.lveval import score as lveval
from flows.families.reeval import score as reeval
from flows.families.refutebench import score as refutebench
from flows.families.refutebench.selected_ratings import select_ratings
from flows.families.uraq import score as uraq
from flows.project.evaluated import Evaluated, fingerprint_lines, fingerprints_in
from flows.scoring.intervals import DRAWN_AT_ONCE, DRAWS_AT_ONCE, Measured
from flows.scoring.scorer import Row, Scores
from flows.scoring.values import Value, Values
from tests.many_rows import many_dialogues, many_predictions, many_rows
from tests.passing import with_peak

SCORERS: Mapping[str, tuple[Callable[..., Scores], Callable[[Row], Sequence[str]]]] = {
    "uraq": (uraq.score, lambda row: uraq.NEEDS),
    "reeval": (reeval.score, lambda row: reeval.VARIANTS[reeval.category(row)]),
    "lveval": (lveval.score, lambda row: lveval.VARIANTS),
    "charpeval": (charpeval.score, lambda row: charpeval.SCORES),
    "documents": (documents.score, documents.variants_of),
}
FEW, MANY = 400, 1600
MOST_BYTES = 100
"""For a row with its replies, or for an item of a measure."""


@pytest.mark.slow
@pytest.mark.parametrize("family", SCORERS)
def test_a_row_with_its_replies_takes_few_bytes_of_memory(family: str) -> None:
    score, variants = SCORERS[family]

    def scored(number: int) -> Callable[[], int]:
        def work() -> int:
            scores = score(many_rows(family, number), many_predictions(family, number, variants))
            return len(scores.values)

        return work

    (of_few, few), (of_many, many) = with_peak(scored(FEW)), with_peak(scored(MANY))
    assert 0 < of_few < of_many
    assert many - few < MOST_BYTES * (MANY - FEW)


@pytest.mark.slow
def test_a_dialogue_with_its_ratings_takes_few_bytes_of_memory() -> None:
    def scored(number: int) -> Callable[[], int]:
        def work() -> int:
            return refutebench.tables(select_ratings(many_dialogues(number), partial=False)).tables[0].n

        return work

    few = DRAWN_AT_ONCE // DRAWS_AT_ONCE  # as many draws at once as there may be
    (of_few, least), (of_many, most) = with_peak(scored(few)), with_peak(scored(2 * few))
    assert (of_few, of_many) == (few, 2 * few)
    assert most - least < MOST_BYTES * few


def test_a_row_in_a_note_takes_few_bytes_of_memory() -> None:
    def noted(number: int) -> Callable[[], Evaluated]:
        def work() -> Evaluated:
            lines = fingerprint_lines((f"{place:016x}", f"{place + 1:016x}") for place in reversed(range(number)))
            written = Evaluated(family="uraq", model="m", predictions="", rows=lines).sealed()
            return Evaluated.model_validate_json(written)

        return work

    (_, few), (note, many) = with_peak(noted(2000)), with_peak(noted(10_000))
    assert [*fingerprints_in(note.rows)][:2] == [(f"{0:016x}", f"{1:016x}"), (f"{1:016x}", f"{2:016x}")]
    assert many - few < 2 * MOST_BYTES * 8000


def test_a_note_that_has_its_rows_as_an_object_is_read() -> None:
    note = Evaluated.model_validate({"family": "uraq", "model": "m", "predictions": "", "rows": {"b": "2", "a": "1"}})
    assert note.rows == ("a 1\nb 2\n",)


@pytest.mark.slow
def test_an_item_takes_few_bytes_while_intervals_are_drawn() -> None:
    def drawn(number: int) -> Callable[[], int]:
        values = Values(
            Value("m", "right", at, f"{item}", f"source {item}", float(item % 3 == 0))
            for at in ("first", "last")
            for item in range(number)
        )

        def work() -> int:
            change = Measured(values).change("m", "first", "last")
            assert change is not None
            return change.items

        return work

    few = DRAWN_AT_ONCE // DRAWS_AT_ONCE  # as many draws at once as there may be
    (_, of_few), (items, of_many) = with_peak(drawn(few)), with_peak(drawn(8 * few))
    assert items == 8 * few
    assert of_many - of_few < MOST_BYTES * 7 * few
