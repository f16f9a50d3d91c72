"""Which dataset of LV-Eval reads which record."""

from flows.families.lveval.selection import datasets_of_document, datasets_of_question
from schemas.base import SourceRef
from schemas.source import Passage, QASource

USES = {
    ("part", "documents-pairs"): ["mine"],
    ("part", "documents-passages"): ["mine"],
    ("book", "handbook"): ["other"],
}
ORIGIN = SourceRef(source="handbook", id="a.md")
"""The source that a part's record keeps: that of the document."""


def test_a_part_s_records_go_to_the_datasets_that_name_the_part() -> None:
    question = QASource(
        key="k", question="Who?", answers=("Ann",), source=ORIGIN, format="part", part="documents-pairs"
    )
    passage = Passage(key="k", text="Ann", source=ORIGIN, part="documents-passages")
    assert datasets_of_question(question, USES) == [{"dataset": "mine"}]
    assert datasets_of_document(passage, USES) == [{"dataset": "mine"}]


def test_other_records_go_by_the_name_of_their_source() -> None:
    assert datasets_of_document(Passage(key="k", text="Ann", source=ORIGIN), USES) == [{"dataset": "other"}]
