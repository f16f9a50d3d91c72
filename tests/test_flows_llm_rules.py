"""The rules as a model: the same question gets the same answer, and a bad one is not asked again."""

import random
from pathlib import Path

import pytest

from flows.llm.model import Invalid, InvalidAnswer, Model, Prompt, Text, Usage
from flows.llm.rules import MissingRule, Rules
from schemas.base import Frozen


class Range(Frozen):
    low: int
    high: int


class Number(Frozen):
    number: int


def is_inside(asked: Range, answer: Number) -> None:
    if not asked.low <= answer.number < asked.high:
        raise Invalid("outside", "stay inside")


PICK = Prompt("pick", 1, Number, Path(), checks=(is_inside,))


def pick(asked: Range, rng: random.Random) -> Number:
    if asked.low == asked.high:
        raise Invalid("empty range", f"{asked.low} to {asked.high}")
    return Number(number=rng.randrange(asked.low, asked.high))


async def picked(rules: Model, low: int, high: int, draw: int = 0) -> int:
    return (await rules.complete(PICK, Range(low=low, high=high), draw=draw, usage=Usage())).number


async def test_an_answer_depends_on_seed_inputs_and_draw_alone() -> None:
    rules = Rules({"pick": pick}, seed=7)
    first = await picked(rules, 0, 10**9)
    await picked(rules, 1, 10**9)
    assert await picked(rules, 0, 10**9) == first
    assert await picked(Rules({"pick": pick}, seed=7), 0, 10**9) == first
    others = [
        await picked(rules, 0, 10**9, draw=1),
        await picked(Rules({"pick": pick}, seed=8), 0, 10**9),
        await picked(rules, 1, 10**9),
    ]
    assert first not in others


async def test_calls_are_counted_and_cost_nothing() -> None:
    usage = Usage()
    await Rules({"pick": pick}, 7).complete(PICK, Range(low=0, high=2), usage=usage)
    assert usage == Usage(calls=1)


async def test_an_answer_past_the_checks_or_none_is_invalid_at_once() -> None:
    with pytest.raises(InvalidAnswer) as outside:
        await picked(Rules({"pick": lambda asked, rng: Number(number=-1)}, 7), 0, 2)
    assert (outside.value.reason, outside.value.answer) == ("outside", '{"number":-1}')
    with pytest.raises(InvalidAnswer) as empty:
        await picked(Rules({"pick": pick}, 7), 2, 2)
    assert (empty.value.reason, empty.value.answer) == ("empty range", "2 to 2")


async def test_a_prompt_without_a_rule_says_what_to_set() -> None:
    with pytest.raises(MissingRule, match=r"do not answer the prompt 'pick'.*models\.builder"):
        await picked(Rules({}, 7), 0, 2)


async def test_a_rule_that_gives_another_type_is_a_fault_of_the_rule() -> None:
    with pytest.raises(TypeError, match="rule of 'pick' gave a Text"):
        await picked(Rules({"pick": lambda asked, rng: Text(text="1")}, 7), 0, 2)
