"""The passages that ReEval ranks: those that were there when a case came, in files while many cases are ranked."""

import numpy as np
import pytest

from flows.families.reeval import passages as passages_module
from flows.families.reeval.passages import EXPANSIONS, collect
from flows.families.reeval.view import view
from schemas.base import Provenance, Record, SourceRef, content_hash
from schemas.reeval import Case
from schemas.source import Passage, Place
from tests.passing import ByHash, Passing, with_peak

LONG = "A tide mill stands by the harbour and grinds the grain of the whole coast. " * 60


def case(number: int, language: str = "en") -> Case:
    return Case(
        key=content_hash("case", number), question=f"Who built the mill {number}?", answer="Vance",
        evidence=f"{number}: {LONG}", language=language, pivot="pivot", source="squad:x", provenance=Provenance(seed=1),
    )  # fmt: skip


def passage(number: int, language: str = "en") -> Passage:
    return Passage(
        key=content_hash("passage", number), title=None if number % 2 else f"Mill_{number}", text=f"{number} {LONG}",
        source=SourceRef(source="pages", id=f"line {number}"), language=language,
    )  # fmt: skip


def test_cases_are_ranked_with_the_passages_that_were_there_when_they_came() -> None:
    cases, passages = [case(number) for number in range(6)], [passage(number) for number in range(4)]
    came: dict[str, int] = {record.key: 1 + number % 3 for number, record in enumerate([*cases, *passages])}

    def arrival(record: Record) -> int:
        return came[record.key]

    collection = collect([*cases, case(9, "zh")], passages, ByHash(), lambda record: came.get(record.key, 1))
    for asked in cases:
        there = [known for known in passages if arrival(known) <= arrival(asked)]
        ranks = collection.ranks[asked.key]
        index = collection.indexes[ranks.number]
        assert [index.passage(place).text for place in range(len(index.texts))] == [known.text for known in there]
        assert [index.others[place].source for place in range(len(there))] == [known.source for known in there]
        assert list(index.titles) == [known.title and known.title.replace("_", " ") for known in there]
        for expansion, text in zip(EXPANSIONS, (asked.question, asked.evidence), strict=True):
            cosines = ByHash().embed([known.text for known in there]) @ ByHash().embed([text])[0]
            places = ranks.places[expansion]
            assert places[: len(there)].tolist() == np.argsort(-cosines).tolist()
            assert set(places[len(there) :].tolist()) == {-1}
    assert collection.draw(case(9, "zh"), "", "question").passages == ()
    assert collection.notes == (
        "en: 2 passages, ranked by cosine of by hash",
        "there are no passages in the language zh: nothing can be enriched",
        "en: 3 passages, ranked by cosine of by hash",
        "en: 4 passages, ranked by cosine of by hash",
    )


@pytest.mark.slow
def test_neither_cases_nor_passages_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passages_module, "RANKED_AT_ONCE", 16)

    def ranked(count: int) -> None:
        cases, passages = Passing(case, count), Passing(passage, count)
        collection = collect(cases, passages, ByHash(), lambda record: 1)
        assert cases.most <= 2, "the next is made while the last is still at hand"
        assert passages.most <= 2
        assert len(collection.ranks[case(0).key].places["question"]) == 100

    ranked(10)  # loads what is loaded once
    _, peak = with_peak(lambda: ranked(600))
    assert peak < 600 * len(LONG) / 3


def test_a_passage_of_a_document_shows_its_place() -> None:
    place = Place(
        document="handbook.pdf", headings=("Travel", "Reimbursement"), page=12, start=0, end=9, checksum="0" * 64
    )
    assert view(passage(1).revised(place=place)).tags == ('handbook.pdf, page 12, "Travel / Reimbursement"',)
    assert view(passage(1)).tags == ()
