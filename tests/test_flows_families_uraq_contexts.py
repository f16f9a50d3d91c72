"""No context but the relevant one bears on what a question rests on: none is drawn, and the verifier finds any."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.construct.embed import Embedder
from flows.construct.engine import Context, Drop
from flows.construct.verification import VerifyContext
from flows.families.uraq import FAMILY, contexts
from flows.families.uraq.contexts import Basis, ContextCandidates, DrawnContexts
from flows.families.uraq.method import arrange_contexts, context_slots, expected_answers
from flows.families.uraq.settings import UraqSettings
from flows.project.project import Project
from schemas.base import Provenance
from schemas.uraq import SETTINGS, Conflict, EvaluationRow, Setting, StatementPair, Step, UraqItem
from tests.builds import write_config
from tests.passing import ByHash, Passing, with_peak

MADE = Provenance(seed=7)


def pair(original: str, manipulated: str) -> StatementPair:
    return StatementPair(
        key=original, original=original, manipulated=manipulated, manipulation="substitution", provenance=MADE
    )


def item(question: str, steps: Sequence[Step], **changes: Any) -> UraqItem:
    values = {
        "key": question, "original": OWN.original, "manipulated": OWN.manipulated, "manipulation": "substitution",
        "question": question, "hops": len(steps), "steps": steps, "answer_type": "boolean", "answer_original": "yes",
        "answer_manipulated": "no", "single_hop_question": "In which year did the colonies declare independence?",
        "single_hop_answer": "1776", "provenance": MADE, **changes,
    }  # fmt: skip
    return UraqItem.model_validate(values)


OWN = pair("The American colonies broke with Britain in 1776.", "The American colonies broke with Britain in 1799.")
BASTILLE = pair("Parisian crowds stormed the Bastille in 1789.", "Parisian crowds stormed the Bastille in 1816.")
FAR = (
    pair("Cats purr when they are content.", "Cats do not purr when they are content."),
    pair("A piano has 88 keys.", "A piano has 64 keys."),
    pair("Iron rusts in damp air.", "Iron melts in damp air."),
    pair("Bread is baked from dough.", "Bread is baked from sand."),
)
COMPARED = Step(kind="comparison", text="Whether the first year is earlier", original="yes", manipulated="no")
FIRST = Step(kind="recall", text="The year of the declaration", original="1776", manipulated="1799")
NEEDS_BASTILLE = item(
    "Did the American colonies declare independence before the storming of the Bastille?",
    [
        FIRST,
        Step(kind="recall", text="The year of the storming of the Bastille", original="1789", manipulated="1789"),
        COMPARED,
    ],
)
SAYS_IT_OTHERWISE = item(
    "Had the American colonies declared independence when a royal prison in France fell?",
    [FIRST, Step(kind="recall", text="When that gaol was taken", original="1789", manipulated="1789"), COMPARED],
)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return Project(write_config(tmp_path_factory.mktemp("any"), families={"uraq": {}}), Path("out")).embedder


def left(of: UraqItem | Conflict, pairs: Sequence[StatementPair | Conflict], embedder: Embedder) -> set[str]:
    """The texts of a pool that have nothing to do with a question."""
    candidates = ContextCandidates(pairs, embedder, 0.5, lambda pair: 1)
    [(_, places)] = candidates.unrelated_to([of], embedder)
    return {candidates.texts[place] for place in places.tolist()}


@pytest.mark.parametrize("asked", [NEEDS_BASTILLE, SAYS_IT_OTHERWISE])
def test_a_false_version_of_a_fact_that_a_step_uses_is_not_drawn(asked: UraqItem, embedder: Embedder) -> None:
    # Told by likeness in the first question; in the other by the year alone, which the false version does not hold.
    assert left(asked, [OWN, BASTILLE, *FAR], embedder) == {
        text for one in FAR for text in (one.original, one.manipulated)
    }


def test_a_question_that_does_not_need_it_may_stand_beside_it(embedder: Embedder) -> None:
    asked = item("Did the American colonies declare independence before 1780?", [FIRST, COMPARED])
    assert BASTILLE.manipulated in left(asked, [OWN, BASTILLE, *FAR], embedder)


MANUAL = [
    pair(f"{what[0]} Orlo {what[1]}.", f"{what[0]} Orlo never {what[1]}.")
    for what in (
        ("The drill made by", "turns at four speeds"), ("Children under six ride free on the ferry that", "runs"),
        ("Every autumn the choir of", "sings in the old church"), ("Tea from the gardens of", "is sold in tins"),
        ("The chess club that meets at", "plays on Mondays"), ("Snow on the roofs around", "melts in March"),
        ("Invoices are sent by post if", "owes money"), ("The painter who portrayed", "lived in Antwerp"),
        ("Goats on the hill behind", "eat thistles"), ("A lawyer from the firm of", "signs contracts"),
    )
]  # fmt: skip
HAS_SPEEDS = item(
    "Does the drill of Orlo turn at more speeds than a bicycle has wheels?",
    [Step(kind="recall", text="The speeds of the drill by Orlo", original="4", manipulated="0"), COMPARED],
    original=MANUAL[0].original, manipulated=MANUAL[0].manipulated,
)  # fmt: skip


def test_the_name_that_all_of_a_manual_has_makes_no_context_related(embedder: Embedder) -> None:
    orlo = [text for one in FAR for text in (one.original, one.manipulated)]
    few = [*MANUAL[:2], *FAR]
    assert left(HAS_SPEEDS, few, embedder) == set(orlo), "of a few statements, each that has the name may be meant"
    texts = left(HAS_SPEEDS, [*MANUAL, *FAR], embedder)
    assert len(texts - set(orlo)) >= 4
    assert not {MANUAL[0].original, MANUAL[0].manipulated} & texts


def test_the_verifier_agrees_on_names_that_all_have(embedder: Embedder) -> None:
    pool = [*MANUAL, *FAR]
    texts = sorted(left(HAS_SPEEDS, pool, embedder))
    held: dict[str, list[Any]] = {"statements": pool, "items": [HAS_SPEEDS], "conflicts": []}
    context = VerifyContext(UraqSettings(), embedder, lambda part: held[part])
    verify = FAMILY.part("evaluation").verify
    assert list(verify(rows(HAS_SPEEDS, texts), context)) == []
    held["statements"] = [*MANUAL[:2], *FAR]
    assert [fault for fault in verify(rows(HAS_SPEEDS, [MANUAL[1].original]), context) if "bear on" in fault.problem]


def test_what_a_question_rests_on_is_told_by_its_steps() -> None:
    basis = Basis.of(NEEDS_BASTILLE)
    assert "The year of the storming of the Bastille: 1789" in basis.texts
    assert {"bastille", "1789", "1776", "1799"} <= basis.names


def test_documents_are_told_by_likeness_and_by_the_names_in_question_and_answers(embedder: Embedder) -> None:
    def conflict(question: str, old: str, new: str, text: str) -> Conflict:
        return Conflict(
            key=question, question=question, original=text.format(old), manipulated=text.format(new),
            answer_original=old, answer_manipulated=new, answer_type="entity", source="jsonl:x", provenance=MADE,
        )  # fmt: skip

    asked = conflict("Who built the harbour clock of Alder?", "Odessa Marlowe", "Pieter Vance", "The clock is by {}.")
    same_name = conflict("Which fish is it?", "cod", "pike", "Odessa Marlowe ate {} every Friday with her cousins.")
    other = conflict("What do cats do?", "purr", "bark", "Cats that are content usually {} for a while.")
    assert left(asked, [asked, same_name, other], embedder) == {other.original, other.manipulated}


def rows(of: UraqItem, texts: Sequence[str]) -> list[EvaluationRow]:
    """The three rows of a question, with `texts` beside the relevant one."""
    relevant: dict[Setting, str | None] = {"match": of.original, "conflict": of.manipulated, "irrelevant": None}
    return [
        EvaluationRow(
            key=f"{of.key} {setting}", item_id=of.id, setting=setting, n_contexts=len(texts),
            contexts=tuple(texts) if own is None else (own, *texts[1:]),
            relevant_index=None if own is None else 0, question=of.question, answer_type=of.answer_type,
            dataset="uraq", expected=expected_answers(of, setting), provenance=MADE,
        )
        for setting, own in relevant.items()
    ]  # fmt: skip


def problems(of: UraqItem, texts: Sequence[str], embedder: Embedder) -> list[str]:
    held: dict[str, list[Any]] = {"statements": [OWN, BASTILLE, *FAR], "items": [of], "conflicts": []}
    context = VerifyContext(UraqSettings(), embedder, lambda part: held[part])
    return [fault.problem for fault in FAMILY.part("evaluation").verify(rows(of, texts), context)]


@pytest.mark.parametrize("asked", [NEEDS_BASTILLE, SAYS_IT_OTHERWISE])
@pytest.mark.parametrize("second", [BASTILLE.manipulated, BASTILLE.original, OWN.manipulated])
def test_the_verifier_refuses_a_planted_second_bearing_context(
    asked: UraqItem, second: str, embedder: Embedder
) -> None:
    sound = [one.original for one in FAR]
    assert problems(asked, sound, embedder) == []
    found = problems(asked, [*sound[:-1], second], embedder)
    assert [problem for problem in found if "bear on the question" in problem and second in problem]
    assert len([problem for problem in found if "bear on the question" in problem]) == len(SETTINGS)


def test_a_row_that_the_pool_cannot_fill_is_a_drop_with_its_reason() -> None:
    import numpy as np

    drawn = {NEEDS_BASTILLE.id: np.array([2, 0], np.int32)}
    pools = DrawnContexts({"uraq": ("a", "b", "c")}, {"uraq": (1, 3)}, {"uraq": drawn}, ())
    context: Any = Context(None, "arrange_contexts", "key", pools, {})  # type: ignore[arg-type] # a drop needs no more
    assert len(context_slots(NEEDS_BASTILLE, pools)) == 2 * len(SETTINGS)
    with pytest.raises(Drop) as dropped:
        asyncio.run(arrange_contexts(NEEDS_BASTILLE, {"setting": "irrelevant", "n_contexts": 3}, context))
    assert (dropped.value.reason, dropped.value.evidence) == ("too few unrelated contexts", "2 of 3")


def many_pairs(number: int) -> StatementPair:
    return pair(f"The town {number} has a mill {'x' * 3000}.", f"The town {number} has no mill {'x' * 3000}.")


@pytest.mark.slow
def test_neither_questions_nor_statements_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "EMBEDDED_AT_ONCE", 4)
    items = Passing(lambda number: item(f"Does the town {number} have a mill?", [FIRST], key=f"{number}"), 40)
    pairs = Passing(many_pairs, 300)
    step: Any = SimpleNamespace(
        settings=UraqSettings(context_counts=(1, 10)), seed=7, inputs=items, used=lambda part, kind: pairs,
        embedder=ByHash(), arrival=lambda record: 1,
    )  # fmt: skip
    contexts.draw_contexts(step)  # loads what is loaded once
    drawn, peak = with_peak(lambda: contexts.draw_contexts(step))
    assert items.most <= 9, "those that are embedded together, before they go and after the next came, and one more"
    assert pairs.most <= 2
    assert peak < 300 * 2 * 3000 / 4
    assert (len(drawn.texts["uraq"]), drawn.counts["uraq"]) == (600, (1, 10))
    for asked in items:
        assert len(set(drawn.drawn["uraq"][asked.id].tolist())) == 10


def test_the_verifier_holds_neither_statements_nor_questions() -> None:
    statements = Passing(many_pairs, 100)
    items = Passing(
        lambda number: item(f"Does the town {number} have a mill as the town 1 has?", [FIRST], key=f"{number}"), 20
    )
    contexts_of = [
        side for number in range(4) for side in (many_pairs(number).original, many_pairs(number).manipulated)
    ]
    parts: dict[str, Any] = {"statements": statements, "items": items, "conflicts": ()}
    context = VerifyContext(UraqSettings(related_above=0.99), ByHash(), parts.__getitem__)
    asked = (
        row
        for number in range(20)
        for row in rows(item(f"Does the town {number} have a mill as the town 1 has?", [FIRST]), contexts_of)
    )
    faults = sum("bear on the question" in fault.problem for fault in FAMILY.part("evaluation").verify(asked, context))
    assert faults == 3 * 20, "a word of a context is one of the question's"
    assert statements.most <= 2, "the next is made while the last is still at hand"
    assert items.most <= 2
