"""The model without a model for URAQ: statements, questions and answers computed from the packaged facts.

What is asked about text that is not in the table is answered by surface rules where they suffice
(`manipulate`, `contradict`), and refused where they do not.
"""

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

from flows.families.uraq.facts import Fact, column, facts, people, topics
from flows.families.uraq.operations import SERIES, Blocked
from flows.families.uraq.prompts import (
    Contradiction,
    Manipulated,
    Question,
    Statements,
    StatementsWanted,
    ToAnswer,
    ToAsk,
    ToContradict,
    ToManipulate,
    ToRead,
    of_wanted_type,
)
from flows.families.uraq.questions import Asked, ask, assigned, patterns, questions
from flows.language import CannotReplace, en
from flows.llm.model import Invalid, RuleSet, Text
from schemas.base import content_hash
from schemas.uraq import DONT_KNOW, Step

COMMON_HOPS = 4
"""Steps of the questions that are kept if nothing else is said (appendix A.5)."""
TOPICS = topics()
"""The topics of the packaged table."""
SWAPS: tuple[tuple[str, ...], ...] = (
    SERIES["month"],
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("north", "east", "south", "west"),
    ("northern", "eastern", "southern", "western"),
    ("largest", "smallest"),
    ("longest", "shortest"),
    ("highest", "lowest"),
    ("oldest", "youngest"),
    ("fastest", "slowest"),
    ("before", "after"),
    ("above", "below"),
    ("summer", "winter"),
)
"""Words of which a generic substitution takes the next one of the row, coming round at its end."""
AUXILIARIES = re.compile(r"\b(is|are|was|were|can|could|will|would|must|should|has|have|had)\b")
BOUND = re.compile(
    r"\b(?:more than|less than|fewer than|at least|at most|over|under|above|below|up to|nearly)\s+$", re.IGNORECASE
)
"""What stands before a number that bounds another one: of two such statements both can be true."""
FULL_VERBS = {"has": "does not have", "have": "do not have", "had": "did not have"}
"""How `has` is negated where it is no auxiliary of the perfect."""
PARTICIPLE = re.compile(r"\s+(been|\w+ed|\w+en|become|begun|come|done|found|gone|had|led|lost|made|met|run|set|won)\b")
SEVERAL_CLAUSES = re.compile(
    r"[,;:]|\b(when|while|if|although|though|because|since|until|unless|after|before|that|who|which|where|but|only)\b",
    re.IGNORECASE,
)
MAX_SUBJECT_WORDS = 6
"""Words before the auxiliary: a longer subject mostly hides a clause."""
NEGATED = re.compile(r"\b(not|never|no|cannot|none|neither|nor|without|nothing|nobody)\b|n't\b", re.IGNORECASE)


# ---- appendix A.1 to A.3: statements and their manipulated variants ----


def write_statements(wanted: StatementsWanted, rng: random.Random) -> Statements:
    """The next `count` statements of a topic that are not known yet; none when the topic is exhausted.

    Where nothing is said to be known, earlier rounds are taken to have had the slices before.
    """
    known = {" ".join(statement.split()) for statement in wanted.known}
    rest = [statement for statement in statements_of(wanted.topic) if statement not in known]
    start = 0 if known else wanted.round * wanted.count
    return Statements(statements=tuple(rest[start : start + wanted.count]))


@cache
def statements_of(topic: str) -> tuple[str, ...]:
    """The statements of a topic, those that a question can be asked on first, the kinds of fact mixed."""
    found = [fact for fact in facts() if fact.topic == topic]
    asked = {*assigned(COMMON_HOPS, yes_no=False), *assigned(COMMON_HOPS, yes_no=True)}
    found.sort(key=lambda fact: (fact.id not in asked, content_hash(fact.id)))
    return tuple(fact.statement for fact in found)


def manipulate(asked: ToManipulate, rng: random.Random) -> Manipulated:
    """The wrong variant of a fact of the table; of any other statement, what the surface rules give."""
    fact = facts_by_statement().get(plain(asked.statement))
    if fact is not None:
        return Manipulated(
            manipulated=fact.said(fact.wrong),
            manipulation="negation" if fact.kind == "yesno" else "substitution",
        )
    if (substituted := with_other_number(asked.statement) or with_other_word(asked.statement)) is not None:
        return Manipulated(manipulated=substituted, manipulation="substitution")
    if (negated := with_negation(asked.statement)) is not None:
        return Manipulated(manipulated=negated, manipulation="negation")
    raise Invalid("no rule for this statement", asked.statement)


def plain(sentence: str) -> str:
    """A sentence without the white space and the full stop that make no difference."""
    return " ".join(sentence.split()).rstrip(".")


@cache
def facts_by_statement() -> dict[str, Fact]:
    """The facts, by their true statement."""
    return {plain(fact.statement): fact for fact in facts()}


def with_other_number(statement: str) -> str | None:
    """The statement with its one number changed, keeping its look; None where it has none, or several."""
    found = re.search(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.,]*\w)", statement)
    if len(re.findall(r"\d+(?:[.,]\d+)*", statement)) > 1:
        return None  # a range, or figures that hang together
    if found and (found[0] == "1" or BOUND.search(statement[: found.start()])):
        return None  # the noun would have to agree, or a larger number could be right as well
    return statement[: found.start()] + other_number(found[0]) + statement[found.end() :] if found else None


def other_number(text: str) -> str:
    """Another number of the same look: a year some years off, anything else about half as much again."""
    value = float(text.replace(",", ""))
    if re.fullmatch(r"1\d{3}|20\d\d", text):
        return str(int(value) + (17 if value < 2000 else -17))
    decimals = len(text.partition(".")[2])
    changed = value * 1.5 + (0 if decimals else 1)
    return f"{changed:,.{decimals}f}" if "," in text else f"{changed if decimals else int(changed):.{decimals}f}"


def with_other_word(statement: str) -> str | None:
    """The statement with its first word of `SWAPS` swapped; None where there is none."""
    following = {row[place]: row[(place + 1) % len(row)] for row in SWAPS for place in range(len(row))}
    for found in re.finditer(r"\w+", statement):
        # "May" at the start of a sentence, or a lower-case "may", is seldom the month.
        if found[0] in following and not (found[0] == "May" and found.start() == 0):
            return statement[: found.start()] + following[found[0]] + statement[found.end() :]
    return None


def with_negation(statement: str) -> str | None:
    """The statement with its auxiliary negated.

    None where there is none, a negation already, or more than one clause: which of them to negate, surface
    rules cannot tell.
    """
    found = AUXILIARIES.search(statement)
    if found is None or NEGATED.search(statement) or SEVERAL_CLAUSES.search(statement):
        return None
    if AUXILIARIES.search(statement, found.end()) or len(statement[: found.start()].split()) > MAX_SUBJECT_WORDS:
        return None
    word = found[1]
    perfect = PARTICIPLE.match(statement, found.end())
    negated = "cannot" if word == "can" else FULL_VERBS.get(word, "") if not perfect else ""
    return statement[: found.start()] + (negated or f"{word} not") + statement[found.end() :]


# ---- appendix A.4 to A.6: questions and their answers ----


def ask_question(asked: ToAsk, rng: random.Random) -> Question:
    """The question that the table has for a pair, with its steps worked out under either statement."""
    fact = facts_by_statement().get(plain(asked.original))
    value = fact.value_in(asked.manipulated) if fact is not None else None
    if fact is None or value is None or value == fact.value:
        raise Invalid("no rule for this statement", asked.original)
    question = next((one for one in questions_on(fact, value, asked) if one is not None), None)
    if question is None:
        raise Invalid(f"no question of {asked.hops} steps on this statement", asked.original)
    original, manipulated = question.results(fact.value), question.results(value)
    program = question.pattern.program
    steps = tuple(
        Step(kind=step.kind, text=text, original=str(one), manipulated=str(other))
        for step, text, one, other in zip(program.steps, question.step_texts(), original, manipulated, strict=True)
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


def questions_on(fact: Fact, value: str, asked: ToAsk) -> Iterator[Asked | None]:
    """The fact's questions of the type asked for, the one most wanted first.

    Where the wrong value is not the table's, they are of the same pattern, or of another one.
    """
    yes_no_first = asked.answer_type == "boolean"
    for yes_no in (yes_no_first, not yes_no_first):
        if not of_wanted_type(asked, "boolean" if yes_no else "number"):
            continue
        question = assigned(asked.hops, yes_no=yes_no).get(fact.id)
        if question is None or value == fact.wrong:
            yield question
            continue
        rest = (one for one in patterns(fact.kind, asked.hops) if (one.program.answer_type == "boolean") == yes_no)
        yield ask(fact, question.pattern, value)
        yield from (ask(fact, pattern, value) for pattern in rest)


def answer_single_hop(asked: ToAnswer, rng: random.Random) -> Text:
    """The fact's value, if the question is the one that asks for a fact of the table."""
    return Text(text=values_by_question().get(" ".join(asked.question.split()), DONT_KNOW))


@cache
def values_by_question() -> dict[str, str]:
    """The facts' values, by the questions that ask for them alone."""
    return {fact.question: fact.value for fact in facts()}


# ---- section 4.1: conflicting evidence for other data ----


def contradict(asked: ToContradict, rng: random.Random) -> Contradiction:
    """Another answer of the same kind, put wherever the old one stands in the evidence."""
    if asked.answer.lower() in ("yes", "no"):
        raise Invalid("no rule for a yes/no answer", asked.answer)
    if not en.contains(asked.evidence, asked.answer):
        raise Invalid("answer is not in the evidence", asked.answer)
    other = other_answer(asked, rng)
    try:
        return Contradiction(answer=other, evidence=en.replace(asked.evidence, asked.answer, other).text)
    except CannotReplace as error:
        raise Invalid("answer cannot be replaced", str(error)) from error


def other_answer(asked: ToContradict, rng: random.Random) -> str:
    """A different answer of the same type that the evidence does not hold; raises `Invalid`."""
    answer = asked.answer
    if re.fullmatch(r"\d+(?:,\d{3})*(?:\.\d+)?", answer):
        candidates: Sequence[str] = [other_number(answer), other_number(other_number(answer))]
    elif any(answer in row for row in SWAPS):
        candidates = next(row for row in SWAPS if answer in row)
    elif re.search(r"\d", answer):
        candidates = [re.sub(r"\d+(?:,\d{3})*", lambda found: other_number(found[0]), answer)]
    else:
        candidates = names_like(asked)
    words = set(re.findall(r"\w{3,}", f"{asked.evidence} {asked.question} {answer}".lower()))
    free = [name for name in candidates if not set(re.findall(r"\w{3,}", name.lower())) & words]
    if not free:
        raise Invalid("no other answer of the same kind", answer)
    return rng.choice(free)


def names_like(asked: ToContradict) -> Sequence[str]:
    """Packaged names of the kind that the question asks for, a place or a person; none of any other kind."""
    answer, question = asked.answer, asked.question.lower()
    countries = tuple(column("known_countries", "name", "name"))
    states = tuple(column("known_states", "name", "name"))
    capitals = tuple(dict.fromkeys(column("known_countries", "name", "capital").values()))
    size = len(answer.split())
    if not answer[0].isupper():
        return ()
    if answer in countries or answer in states:
        return countries if answer in countries else states
    if (place := re.search(r"\b(?:what|which) (city|town|capital|country)\b", question)) or answer in capitals:
        return countries if place and place[1] == "country" else capitals
    if en.answer_type(answer, asked.question) != "person" or en.gender(answer) is None:
        return ()
    return tuple(name for name in people() if len(name.split()) == size and en.gender(name) == en.gender(answer))


# ---- section 3: a reader that does what the user needs ----


def answer_with_context(asked: ToRead, rng: random.Random) -> Text:
    """The answer to a question of the table under a user need; anything else is not known.

    The reader knows the table by heart. Of the contexts it understands the statement that the question is
    on, in the original or any manipulated wording.
    """
    question = questions().get(" ".join(asked.question.split()))
    if question is None:
        return output(DONT_KNOW)
    read = next((value for text in asked.contexts if (value := question.fact.value_in(text)) is not None), None)
    match asked.need:
        case "context-exclusive":
            value = read
        case "context-first":
            value = read if read is not None else question.fact.value
        case "memory-first":
            value = question.fact.value
    if value is None:
        return output(DONT_KNOW)
    try:
        return output(str(question.results(value)[-1]))
    except Blocked:
        return output(DONT_KNOW)


def output(answer: str) -> Text:
    """An answer in the form that appendix C asks for."""
    return Text(text=f"<output>{answer}</output>")


RULES: RuleSet = {
    "write_statements": write_statements,
    "manipulate": manipulate,
    "ask_question": ask_question,
    "answer_single_hop": answer_single_hop,
    "contradict": contradict,
    "answer_with_context": answer_with_context,
}
