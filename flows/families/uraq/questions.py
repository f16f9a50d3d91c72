"""How a question is computed from a fact: small programs of typed steps, and their wordings.

A program reads the fact's value, recalls what else it needs, and computes, compares or concludes. It is run
twice, once with the true value and once with the manipulated one, so that both answers are right by
construction; each of its steps feeds a later one, so that none can be taken away.

A fact that gives no natural question has none: that is a drop, counted as such.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from flows.families.uraq.facts import (
    Fact,
    Kind,
    facts,
)
from flows.families.uraq.operations import (
    Blocked,
    run,
)
from flows.families.uraq.program import Pattern, Program, Result, Slot
from flows.families.uraq.programs import PROGRAMS
from flows.families.uraq.slots import (
    CANDIDATES,
    candidates,
    fill,
    name_of,
    threshold,
    words_of,
)
from schemas.base import content_hash
from schemas.uraq import MAX_HOPS

DRAWS = 60
"""How often slots are drawn anew for one fact and program before the program counts as not applicable."""
MAX_USES = 6
"""No pattern stands more often than this among the four-hop questions of the whole table."""


@dataclass(frozen=True)
class Asked:
    """A question on a fact: a pattern with its slots filled."""

    fact: Fact
    pattern: Pattern
    slots: Mapping[str, Slot]

    @property
    def text(self) -> str:
        """The question."""
        return fill(self.pattern.text, self.fact, self.slots)

    def results(self, value: str, without: int | None = None) -> tuple[Result, ...]:
        """Every step's result where the fact's value is `value`; `without` leaves a step out (from 1)."""
        return run(self.pattern.program, self.fact, self.slots, value, without)

    def step_texts(self) -> tuple[str, ...]:
        """Every step in words, without its result."""
        return tuple(fill(step.text, self.fact, self.slots) for step in self.pattern.program.steps)


def choose(slots: Sequence[Slot], rng: random.Random) -> Slot:
    """One of `slots`; raises `Blocked` where there is none."""
    if not slots:
        raise Blocked("nothing to choose from")
    return rng.choice(slots)


def fill_slots(fact: Fact, program: Program, value: str, rng: random.Random) -> dict[str, Slot]:
    """One draw of the slots; a slot filled by `threshold:N` parts the results of step N under either value."""
    slots: dict[str, Slot] = {}
    for name, source in program.slots.items():
        if source.startswith("threshold:"):
            upto = int(source.partition(":")[2])
            begun = replace(program, steps=program.steps[:upto])
            ends = [run(begun, fact, slots, one)[-1] for one in (fact.value, value)]
            slots[name] = threshold(*sorted(int(end) for end in ends))
        else:
            slots[name] = choose(candidates(source, fact), rng)
    if len({name_of(slot) for slot in slots.values()}) < len(slots):
        raise Blocked("two slots are filled alike")
    filled = [slot for slot in slots.values() if isinstance(slot, Fact) and slot.kind != "count"]
    if any(words_of(one) & words_of(other) for one in filled for other in filled if one is not other):
        raise Blocked("two slots are too close")
    return slots


def ask(fact: Fact, pattern: Pattern, value: str) -> Asked | None:
    """A question of `pattern` whose answers differ between the fact's value and `value`; none if there is none."""
    program = pattern.program
    if not program.suits(fact):
        return None
    if not all(candidates(source, fact) for source in program.slots.values() if source in CANDIDATES):
        return None
    rng = random.Random(f"{fact.id} {pattern.id} {value}")
    for _ in range(DRAWS):
        try:
            asked = Asked(fact, pattern, fill_slots(fact, program, value, rng))
            original, manipulated = (asked.results(one) for one in (fact.value, value))
        except Blocked:
            continue
        answers = [str(original[-1]), str(manipulated[-1])]
        if (
            answers[0] != answers[1]
            and not given_away(asked, answers, value)
            and not goes_back(program, original, manipulated)
        ):
            return asked
    return None


def goes_back(program: Program, original: Sequence[Result], manipulated: Sequence[Result]) -> bool:
    """Whether a step finds what an earlier one gave: Italy, Italian, the country that Italian comes from."""
    told: set[tuple[Result, Result]] = set()
    for step, one, other in zip(program.steps, original, manipulated, strict=True):
        if (one, other) in told and one != other and step.kind == "recall" and not {one, other} & {"yes", "no"}:
            return True
        told.add((one, other))
    return False


def given_away(asked: Asked, answers: Sequence[str], value: str) -> bool:
    """Whether the question holds an answer or a value of the statement."""
    hidden = {*answers, asked.fact.value, value} if asked.pattern.program.answer_type == "entity" else {
        asked.fact.value, value,
    }  # fmt: skip
    hidden -= {"yes", "no"}
    text = asked.text.casefold()
    return any(re.search(rf"(?<!\w){re.escape(one.casefold())}(?!\w)", text) for one in hidden)


@cache
def patterns(kind: Kind, hops: int) -> tuple[Pattern, ...]:
    """Every wording of every program for facts of `kind` with `hops` steps."""

    return tuple(
        Pattern(program, wording)
        for program in PROGRAMS
        if program.kind == kind and program.hops == hops
        for wording in range(len(program.wordings))
    )


@cache
def assigned(hops: int, *, yes_no: bool) -> Mapping[str, Asked]:
    """By fact, the question for yes or no, or the one for a number or an entity; a fact may have both, one or none.

    Facts take turns in an order that mixes the topics; each takes the pattern least used so far that fits it
    (ties by a hash), and with four hops none that stands `MAX_USES` times already. So a fact's question follows from
    the table alone, whatever is left of it after dedupe, and no part of the table repeats a pattern more often.
    """
    uses: dict[str, int] = {}
    questions: dict[str, Asked] = {}
    for fact in sorted(facts(), key=lambda fact: content_hash(fact.id)):
        rng = random.Random(fact.id)
        own = [one for one in patterns(fact.kind, hops) if (one.program.answer_type == "boolean") == yes_no]
        for pattern in sorted(own, key=lambda pattern: (uses.get(pattern.id, 0), rng.random())):
            if hops == 4 and uses.get(pattern.id, 0) == MAX_USES:
                break
            asked = ask(fact, pattern, fact.wrong)
            if asked is not None:
                uses[pattern.id] = uses.get(pattern.id, 0) + 1
                questions[fact.id] = asked
                break
    return questions


@cache
def questions() -> Mapping[str, Asked]:
    """Every question of the table, by its text."""
    return {
        asked.text: asked
        for hops in range(1, MAX_HOPS + 1)
        for yes_no in (False, True)
        for asked in assigned(hops, yes_no=yes_no).values()
    }


def pattern_of(question: str) -> str:
    """The name of the pattern of a question of the table; raises `KeyError` for any other."""
    return questions()[question].pattern.id
