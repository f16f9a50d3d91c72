"""Which dataset of LV-Eval reads which record, what can be a pair, and on which sentence a pair rests."""

import pytest

from data.sources import SourceSpec, read_source
from flows.construct.engine import Drop
from flows.families.lveval.inputs import supporting_sentence
from flows.families.lveval.selection import datasets_of_document, datasets_of_question, pair_texts
from flows.families.lveval.settings import LVEvalSettings
from schemas.base import Provenance, SourceRef
from schemas.documents import DocumentPair, Span
from schemas.lveval import Pair
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


TABLE = "Space differs per language.\n\nTask | Size (MB)\nXfce | 2509\nLXDE | 2539"


def documents_pair(question: str, answer: str, *sentences: str) -> DocumentPair:
    spans = [Span(text=text, start=TABLE.index(text), end=TABLE.index(text) + len(text)) for text in sentences]
    return DocumentPair(
        key="k", question=question, answer=answer, kind="fact", evidence=TABLE, sentences=tuple(spans), passages=("p",),
        language="en", provenance=Provenance(seed=7, sources=(ORIGIN,)),
    )  # fmt: skip


def as_question(pair: DocumentPair) -> QASource:
    spec = SourceSpec(format="part", path="documents-pairs", records=lambda: [pair])
    (question,) = read_source(spec, QASource, lambda dropped: None)
    return question


@pytest.mark.parametrize(
    ("task", "is_one"), [("single-hop-cqa", False), ("single-hop-qa", False), ("multi-hop-qa", True)]
)
def test_a_yes_or_no_is_no_pair_of_a_single_hop_dataset(task: str, is_one: bool) -> None:
    settings = LVEvalSettings.model_validate({"datasets": {"mine": {"task": task, "pairs": 1}}})
    question = as_question(documents_pair("Is Xfce smaller than LXDE?", "yes", "Xfce | 2509", "LXDE | 2539"))
    if is_one:
        assert pair_texts(question, settings.known["mine"], settings)[0] == ("yes",)
        return
    with pytest.raises(Drop, match="answered by yes or no"):
        pair_texts(question, settings.known["mine"], settings)


def test_the_original_fact_is_one_of_the_sentences_that_the_source_says_the_answer_rests_on() -> None:
    question = as_question(documents_pair("How much space does Xfce take?", "2509", "Task | Size (MB)", "Xfce | 2509"))
    assert question.sentences == ("Task | Size (MB)", "Xfce | 2509")
    settings = LVEvalSettings.model_validate({"datasets": {"mine": {"task": "single-hop-cqa", "pairs": 1}}})
    _, documents = pair_texts(question, settings.known["mine"], settings)
    pair = Pair(
        key="k", dataset="mine", question="Which space does a desktop take per language?", answers=("2509",),
        documents=documents, sentences=question.sentences, language="en", source="part:d", row="r",
        provenance=Provenance(seed=7, sources=(ORIGIN,)),
    )  # fmt: skip
    assert supporting_sentence(pair) == ("Xfce | 2509", "Space differs per language.")
    other = pair.model_copy(update={"answers": ("yes",), "sentences": ("LXDE | 2539",)})
    assert supporting_sentence(other)[0] == "LXDE | 2539", "however much more of the question another sentence says"
    assert supporting_sentence(other.model_copy(update={"sentences": ()}))[0] == "Space differs per language."
