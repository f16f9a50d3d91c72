"""How a question is computed from a fact: a program of typed steps, run with the true and the manipulated value.

A program reads the fact's value, recalls what else it needs, and computes, compares or concludes. Both answers are
right by construction, and each step feeds a later step, so that none can be removed. A fact without a natural
question has none, and is dropped.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from flows.families.uraq.prompts import Question, ToAnswer, ToAsk, ToRead, of_wanted_type
from flows.families.uraq.rules.facts import Fact, Kind, fact_of, facts
from flows.families.uraq.rules.operations import Blocked, run
from flows.families.uraq.rules.programs import Pattern, Program, Result, Slot, programs
from flows.families.uraq.rules.slots import CANDIDATES, candidates, fill, name_of, threshold, words_of
from flows.llm.model import Invalid, Text
from schemas.base import content_hash
from schemas.uraq import DONT_KNOW, MAX_HOPS, Step

DRAWS = 60
"""Draws of the slots for a fact and a program before the program counts as not applicable."""
COMMON_HOPS = 4
"""Steps of the questions that are kept by default (appendix A.5)."""
MAX_USES = 6
"""The most uses of a pattern among the questions of `COMMON_HOPS` steps."""


@dataclass(frozen=True)
class ComputedQuestion:
    """A question on a fact: a pattern with its slots filled."""

    fact: Fact
    pattern: Pattern
    slots: Mapping[str, Slot]

    @property
    def text(self) -> str:
        return fill(self.pattern.text, self.fact, self.slots)

    def results(self, value: str, without: int | None = None) -> tuple[Result, ...]:
        """Every step's result if the fact's value is `value`; `without` leaves out a step (counted from 1)."""
        return run(self.pattern.program, self.fact, self.slots, value, without)

    def step_texts(self) -> tuple[str, ...]:
        """Every step in words, without its result."""
        return tuple(fill(step.text, self.fact, self.slots) for step in self.pattern.program.steps)


def ask(fact: Fact, pattern: Pattern, value: str) -> ComputedQuestion | None:
    """A question of `pattern` whose answers differ between the fact's value and `value`; None if there is none."""
    program = pattern.program
    if not program.suits(fact):
        return None
    if not all(candidates(source, fact) for source in program.slots.values() if source in CANDIDATES):
        return None
    rng = random.Random(f"{fact.id} {pattern.id} {value}")
    for _ in range(DRAWS if program.slots else 1):  # without slots, every draw is the same
        try:
            question = ComputedQuestion(fact, pattern, _fill_slots(fact, program, value, rng))
            original, manipulated = question.results(fact.value), question.results(value)
        except Blocked:
            continue
        answers = str(original[-1]), str(manipulated[-1])
        if (
            answers[0] != answers[1]
            and not _gives_away(question, answers, value)
            and not _goes_back(program, original, manipulated)
        ):
            return question
    return None


def _fill_slots(fact: Fact, program: Program, value: str, rng: random.Random) -> dict[str, Slot]:
    """One draw of the slots; `threshold:N` separates the results of step N under the two values."""
    slots: dict[str, Slot] = {}
    for name, source in program.slots.items():
        if source.startswith("threshold:"):
            upto = int(source.partition(":")[2])
            begun = replace(program, steps=program.steps[:upto])
            slots[name] = threshold(*sorted(int(run(begun, fact, slots, side)[-1]) for side in (fact.value, value)))
        else:
            options = candidates(source, fact)
            if not options:
                raise Blocked("nothing to choose from")
            slots[name] = rng.choice(options)
    if len({name_of(slot) for slot in slots.values()}) < len(slots):
        raise Blocked("two slots are filled alike")
    filled = [slot for slot in slots.values() if isinstance(slot, Fact) and slot.kind != "count"]
    if any(words_of(first) & words_of(second) for first in filled for second in filled if first is not second):
        raise Blocked("two slots are too close")
    return slots


def _goes_back(program: Program, original: Sequence[Result], manipulated: Sequence[Result]) -> bool:
    """Return whether a step recalls what an earlier step gave: Italy, Italian, the country that Italian comes from."""
    seen: set[tuple[Result, Result]] = set()
    for step, pair in zip(program.steps, zip(original, manipulated, strict=True), strict=True):
        if pair in seen and pair[0] != pair[1] and step.kind == "recall" and not {*pair} & {"yes", "no"}:
            return True
        seen.add(pair)
    return False


def _gives_away(question: ComputedQuestion, answers: Sequence[str], value: str) -> bool:
    """Return whether the question contains an answer or a value of the statement."""
    hidden = {question.fact.value, value}
    if question.pattern.program.answer_type == "entity":
        hidden.update(answers)
    text = question.text.casefold()
    words = (word.casefold() for word in hidden - {"yes", "no"})
    return any(word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words)


@cache
def patterns(kind: Kind, hops: int) -> tuple[Pattern, ...]:
    """Every wording of every program for facts of `kind` with `hops` steps."""
    return tuple(
        Pattern(program, wording)
        for program in programs()
        if program.kind == kind and program.hops == hops
        for wording in range(len(program.wordings))
    )


@cache
def assigned(hops: int, *, yes_no: bool) -> Mapping[str, ComputedQuestion]:
    """By fact, its question for yes or no, or its question for a number or an entity.

    Facts take turns in an order that mixes the topics. Each takes the pattern used least so far that fits it (ties by a
    hash), and of `COMMON_HOPS` steps none that was used `MAX_USES` times. So a fact's question follows from the table
    alone, whatever dedupe leaves of it, and no part of the table repeats a pattern more often.
    """
    uses: dict[str, int] = {}
    questions: dict[str, ComputedQuestion] = {}
    for fact in sorted(facts(), key=lambda fact: content_hash(fact.id)):
        rng = random.Random(fact.id)
        fitting = [
            pattern for pattern in patterns(fact.kind, hops) if (pattern.program.answer_type == "boolean") == yes_no
        ]
        for pattern in sorted(fitting, key=lambda pattern: (uses.get(pattern.id, 0), rng.random())):
            if hops == COMMON_HOPS and uses.get(pattern.id, 0) == MAX_USES:
                break
            question = ask(fact, pattern, fact.wrong)
            if question is not None:
                uses[pattern.id] = uses.get(pattern.id, 0) + 1
                questions[fact.id] = question
                break
    return questions


@cache
def questions() -> Mapping[str, ComputedQuestion]:
    """Every question of the table, by its text."""
    return {
        question.text: question
        for hops in range(1, MAX_HOPS + 1)
        for yes_no in (False, True)
        for question in assigned(hops, yes_no=yes_no).values()
    }


# ---- the answers of the rules ----


def ask_question(asked: ToAsk, rng: random.Random) -> Question:
    """The question that the table has for a pair, with its steps worked out under either statement."""
    fact = fact_of(asked.original)
    value = fact.value_in(asked.manipulated) if fact is not None else None
    if fact is None or value is None or value == fact.value:
        raise Invalid("no rule for this statement", asked.original)
    question = next((question for question in _questions_on(fact, value, asked) if question is not None), None)
    if question is None:
        raise Invalid(f"no question of {asked.hops} steps on this statement", asked.original)
    original, manipulated = question.results(fact.value), question.results(value)
    program = question.pattern.program
    steps = tuple(
        Step(kind=step.kind, text=text, original=str(first), manipulated=str(second))
        for step, text, first, second in zip(program.steps, question.step_texts(), original, manipulated, strict=True)
    )
    return Question(
        question=question.text,
        steps=steps,
        answer_type=program.answer_type,
        answer_original=str(original[-1]),
        answer_manipulated=str(manipulated[-1]),
        single_hop_question=fact.question,
        single_hop_answer=fact.value,
    )


def _questions_on(fact: Fact, value: str, asked: ToAsk) -> Iterator[ComputedQuestion | None]:
    """The fact's questions of the type asked for, the most wanted first.

    If the wrong value is not the table's, they have the same pattern or another.
    """
    yes_no_first = asked.answer_type == "boolean"
    for yes_no in (yes_no_first, not yes_no_first):
        if not of_wanted_type(asked, "boolean" if yes_no else "number"):
            continue
        question = assigned(asked.hops, yes_no=yes_no).get(fact.id)
        if question is None or value == fact.wrong:
            yield question
            continue
        yield ask(fact, question.pattern, value)
        for pattern in patterns(fact.kind, asked.hops):
            if (pattern.program.answer_type == "boolean") == yes_no:
                yield ask(fact, pattern, value)


def answer_single_hop(asked: ToAnswer, rng: random.Random) -> Text:
    """The fact's value, if the question asks for a fact of the table."""
    return Text(text=_values_by_question().get(" ".join(asked.question.split()), DONT_KNOW))


@cache
def _values_by_question() -> dict[str, str]:
    return {fact.question: fact.value for fact in facts()}


def answer_with_context(asked: ToRead, rng: random.Random) -> Text:
    """The answer to a question of the table under a user need; "I don't know" to any other.

    The reader knows the table by heart. Of the contexts it understands only the statement behind the question, in the
    original or any manipulated wording.
    """
    return Text(text=f"<output>{_read(asked)}</output>")  # the form that appendix C asks for


def _read(asked: ToRead) -> str:
    question = questions().get(" ".join(asked.question.split()))
    if question is None:
        return DONT_KNOW
    memory = question.fact.value
    read = next((value for text in asked.contexts if (value := question.fact.value_in(text)) is not None), None)
    value = {"context-exclusive": read, "context-first": read or memory, "memory-first": memory}[asked.need]
    if value is None:
        return DONT_KNOW
    try:
        return str(question.results(value)[-1])
    except Blocked:
        return DONT_KNOW
