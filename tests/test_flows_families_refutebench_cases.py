"""Which dialogues' attention is looked at, and what their turns are called."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from flows.construct.evaluation import DialogueContext
from flows.families.refutebench.cases import cases, turn_names
from flows.families.refutebench.settings import RefuteBenchSettings
from schemas.base import Provenance
from schemas.refutebench import TASKS, DialogueTurn, Protocol, RefutationDialogue, Refuter, SeedTask

KINDS = {"q": "query", "r": "refutation", "u": "unrelated"}


def dialogue(
    seed: str, said: str, task: SeedTask = "writing", model: str = "m", refuter: Refuter = "agent"
) -> RefutationDialogue:
    """`said`: what the user says, a letter a turn."""
    turns = [
        DialogueTurn.model_validate({"role": role, "kind": KINDS[letter], "text": f"{letter}{place}"})
        for place, letter in enumerate(said)
        for role in ("user", "assistant")
    ]
    protocol: Protocol = "transient" if "rr" in said else "persistent"
    return RefutationDialogue(
        key=f"{seed}-{said}-{model}-{refuter}", seed=seed, task=task, query="q0", protocol=protocol,
        unrelated=said.count("u"), refuter=refuter, style="plain", model=model, turns=tuple(turns),
        provenance=Provenance(seed=0),
    )  # fmt: skip


def drawn(dialogues: Sequence[RefutationDialogue], seed: int = 1) -> dict[str, list[str]]:
    def records(part: str) -> Iterator[RefutationDialogue]:
        return iter(dialogues if part == "dialogues" else ())

    found = cases(DialogueContext(RefuteBenchSettings(), seed, records, lambda part: ()))
    return {what: [one.name for one in own] for what, own in found.candidates.items()}


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("qrrr", "q a0 r0 a1 r1 a2 r2 a3"),
        ("qruuuq", "q a0 r0 a1 u1 b1 u2 b2 u3 b3 q' a2"),
    ],
)
def test_turns_are_called_as_in_the_paper(said: str, names: str) -> None:
    assert turn_names(dialogue("s", said)) == names.split()


def test_there_is_a_case_for_each_task_and_protocol_that_has_a_dialogue() -> None:
    found = drawn([dialogue("s", said, task) for task, said in product(TASKS, ("qrrr", "qruq")) if task != TASKS[1]])
    assert list(found) == [
        "transient, translation", "transient, writing", "persistent, translation", "persistent, writing",
    ]  # fmt: skip


def test_the_order_is_drawn_from_the_run_s_seed_and_is_that_of_every_model() -> None:
    seeds = [str(number) for number in range(8)]
    mine = [dialogue(seed, "qrrr", model="m") for seed in seeds]
    others = [dialogue(seed, "qrrr", model="n") for seed in seeds]

    def order(found: dict[str, list[str]], dialogues: list[RefutationDialogue]) -> list[str]:
        seed_of = {one.id: one.seed for one in dialogues}
        return [seed_of[name.split()[1]] for name in found["transient, writing"]]

    first = order(drawn(mine), mine)
    assert sorted(first) == seeds
    assert order(drawn(mine[::-1]), mine) == order(drawn(others), others) == first
    assert len({tuple(order(drawn(mine, seed), mine)) for seed in range(5)}) == 5
    # What was not finished changes nothing about the others.
    left = [one for one in mine if one.seed != first[0]]
    assert order(drawn(left), left) == first[1:]


def test_persistent_dialogues_of_the_largest_c_are_taken_of_all_refuters() -> None:
    dialogues = [dialogue("s", "qr" + "u" * count + "q", refuter=refuter) for count in (1, 2)
                 for refuter in ("agent", "template")]  # fmt: skip
    (names,) = drawn(dialogues).values()
    assert sorted(name.partition(" with ")[2] for name in names) == [
        "m, refuted by agent, C = 2", "m, refuted by template, C = 2",
    ]  # fmt: skip
