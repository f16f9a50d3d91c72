"""Questions on the facts and their answers (appendix A.4 to A.6), and a reader with a user need (section 3)."""

import random
from collections.abc import Iterator
from functools import cache

from flows.families.uraq.prompts import Question, ToAnswer, ToAsk, ToRead, of_wanted_type
from flows.families.uraq.rules.facts import Fact, facts
from flows.families.uraq.rules.operations import Blocked
from flows.families.uraq.rules.questions import ComputedQuestion, ask, assigned, patterns, questions
from flows.families.uraq.rules.statements import fact_of
from flows.llm.model import Invalid, Text
from schemas.uraq import DONT_KNOW, Step


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

    Where the wrong value is not the table's, they have the same pattern, or another one.
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

    The reader knows the table by heart. Of the contexts it understands the statement that the question is on, in the
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
