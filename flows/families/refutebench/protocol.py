"""RefuteBench 2.0's protocol, as `touchstone evaluate` holds and rates dialogues, for programs of your own.

Yan, Luo and Zhang, "RefuteBench 2.0 – Agentic Benchmark for Dynamic Evaluation of LLM Responses to Refutation
Instruction", 2025: sections 3 (the two protocols), 4.2 (the refuter) and 4.3 (the evaluator). Part of Touchstone;
Apache License 2.0. Needs Python 3.10 and nothing else: `hold` and `rate` are given the models as functions.

The refuter is a model. What is drawn (the focus of a refutation, the strong style rule, the unrelated queries) is drawn
from the query alone, so that every evaluated model meets the same. Departure: `touchstone evaluate` also refuses a
refutation whose embedding is close to that of an earlier one; here the checking model alone tells such repetitions.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, NamedTuple, Protocol, TypeVar

from flows.scoring.hashing import drawn_hash

MOST_TRIES = 3
"""Refutations that are asked for before a dialogue is dropped; the paper gives no number."""
FOLLOWING = "following the first refutation"
_BRACKETS = re.compile(r"\[\[([^\[\]]*)\]\]")

Row = Mapping[str, Any]
Focus = TypeVar("Focus", bound=str)
Place = tuple[int | None, int]
"""(i, j): R(a_j, r_i), how an answer follows a refutation; (None, j): R(q, a_j), how it does what the query asks."""
Say = Callable[[str], Awaitable[str]]
"""(what the user says) -> the evaluated model's answer, after all that was said before."""
Ask = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""(name of a prompt, its variables) -> the reply of the refuter or the evaluator."""


class DialogueDropped(Exception):  # noqa: N818 - names what happened
    """A dialogue, or its ratings, came to no end: one line says why."""


# ---- what is drawn ----


def focus_of(query: str, number: int, focuses: Sequence[Focus]) -> Focus:
    """Return the focus of a query's refutation of this number (figure 3: "randomly chosen"), one for every model."""
    return Random(drawn_hash("focus", query, number)).choice(focuses)


def strong_of(query: str, style: Sequence[str]) -> str:
    """Return the style rule that is strong throughout a query's dialogues, the same for every model.

    Departure: in figure 3 each refutation is highly ambiguous, highly abstract and highly emotional at once, which no
    person is. We draw one of them from the query; the others apply to a lesser degree.
    """
    return Random(drawn_hash("strong", query)).choice(style) if style else ""


def place_between(query: str, other: str) -> str:
    """Return the place of another seed's query among those that may stand before `query` is put again.

    The paper leaves open what is asked in between: C seeds of other tasks, drawn by their queries alone. Those of a
    smaller C are the first of a larger one's.
    """
    return drawn_hash("unrelated", query, other)


def places_rated(protocol: str, answers: int, refutations: int) -> list[Place]:
    """Return what is rated of a dialogue.

    How each refutation is followed by the answer to it, R(a_{i+1}, r_i), as in section 5.1.1; how the first is followed
    by every later answer, R(a_j, r_0), of which table 5 takes the last and figure 6 the course; and of a transient
    dialogue how every answer does what the query asks, R(q, a_j), of which table 6 takes the first and the last.
    """
    followed: list[Place] = [(i, j) for i in range(refutations) for j in range(i + 1, answers) if i == 0 or j == i + 1]
    return followed + [(None, j) for j in range(answers) if protocol == "transient"]


# ---- what is read from replies ----


def letters_and_digits(text: str) -> str:
    """Return the letters and digits, in lower case."""
    return "".join(character for character in text.lower() if character.isalnum())


def same_words(text: str, earlier: Sequence[str]) -> str | None:
    """Return the earlier refutation that has the same letters and digits; None if there is none."""
    bare = letters_and_digits(text)
    return next((other for other in earlier if letters_and_digits(other) == bare), None)


class Check(Protocol):
    """What a model tells of a refutation. Earlier ones are named by number, from 1; 0 is none."""

    @property
    def met(self) -> bool: ...
    @property
    def off_focus(self) -> bool: ...
    @property
    def aspects(self) -> int: ...
    @property
    def repeats(self) -> int: ...
    @property
    def contradicts(self) -> int: ...


def fault_of(checked: Check, focus: str, earlier: Sequence[str]) -> tuple[str, str] | None:
    """Return why a checked refutation is refused, with advice to the refuter; None if it is not."""
    if checked.met:
        return "met already", "the answer does that already"
    if checked.off_focus:
        return "off its focus", f"it asks for something else than a change in {focus}"
    if checked.aspects != 1:
        return "of several aspects", f"it asks for {checked.aspects} things; ask for one"
    if 0 < checked.repeats <= len(earlier):
        return "repeated", f"it says again: {earlier[checked.repeats - 1]}"
    if 0 < checked.contradicts <= len(earlier):
        return "contradicted", f"it goes against: {earlier[checked.contradicts - 1]}"
    return None


class _Checked(NamedTuple):
    met: bool
    off_focus: bool
    aspects: int
    repeats: int
    contradicts: int


def rating_in(reply: str, ratings: Iterable[int]) -> int | None:
    """Return the rating that a reply ends with: in the last closed double brackets; None for anything else."""
    matches = _BRACKETS.findall(reply)
    last = matches[-1].strip() if matches else ""
    return next((rating for rating in ratings if last == str(rating)), None)


def _object_in(reply: str) -> Row:
    """Return the JSON object in a reply; empty if there is none."""
    try:
        value = json.loads(reply[reply.find("{") : reply.rfind("}") + 1])
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


# ---- a dialogue (section 3) ----


class Held(NamedTuple):
    """A finished dialogue about a query."""

    query: str
    answers: Sequence[str]
    """a0, a1, ..., without those to unrelated queries."""
    refutations: Sequence[str]


async def hold(
    seed: Row, between: Sequence[str], protocol: str, settings: Mapping[str, Any], say: Say, ask: Ask
) -> Held:
    """Hold a dialogue: transient, or persistent with the unrelated queries `between`. Raises `DialogueDropped`.

    Transient: (q, a0, r0, a1, r1, ...), each answer refuted in turn. Persistent: (q, a0, r0, a0', C unrelated pairs, q,
    a), a refutation that is to hold when the query is repeated. `settings` are those of the release: rounds, style,
    focuses.
    """
    query, refutations = seed["query"], list[str]()
    answers = [(await say(query)).strip()]
    for _ in range(settings["rounds"] if protocol == "transient" else 1):
        standing = protocol == "persistent"
        refutations.append(await _refutation(seed, answers[-1], refutations, settings, ask, standing))
        answers.append((await say(refutations[-1])).strip())
    for other in between:
        await say(other)
    if between:
        answers.append((await say(query)).strip())
    return Held(query, answers, refutations)


async def _refutation(
    seed: Row, answer: str, earlier: Sequence[str], settings: Mapping[str, Any], ask: Ask, standing: bool
) -> str:
    """Figure 3, with a check: not met yet, on focus, one aspect, no repetition, no contradiction."""
    query, style = seed["query"], settings["style"]
    focus = focus_of(query, len(earlier), settings["focuses"])
    refused: list[tuple[str, str]] = []
    reason = ""
    for _ in range(MOST_TRIES):
        asked = {
            "task": seed["task"], "query": query, "response": answer, "earlier": earlier, "focus": focus,
            "style": style, "strong": strong_of(query, style), "standing": standing, "refused": refused,
        }  # fmt: skip
        text = " ".join(str(_object_in(await ask("refute", asked)).get("refutation", "")).split())
        problem = await _problem(text, query, answer, earlier, focus, ask)
        if problem is None:
            return text
        reason = problem[0]
        refused.append((text, problem[1]))
    raise DialogueDropped(f"refutation {reason}: {'; '.join(text for text, _ in refused)}")


async def _problem(
    text: str, query: str, answer: str, earlier: Sequence[str], focus: str, ask: Ask
) -> tuple[str, str] | None:
    if not letters_and_digits(text):
        return "without words", "it says nothing"
    if (same := same_words(text, earlier)) is not None:
        return "repeated", f"it says again: {same}"
    asked = {"query": query, "response": answer, "refutation": text, "focus": focus, "earlier": earlier}
    for _ in range(MOST_TRIES):
        told = {"off_focus": False, **_object_in(await ask("check_refutation", asked))}
        checked = _Checked._make(told.get(name) for name in _Checked._fields)
        if all(isinstance(value, int) for value in checked):
            return fault_of(checked, focus, earlier)
    raise DialogueDropped("check of the refutation: its reply has no JSON object as the prompt asks for")


# ---- its ratings (section 4.3) ----


async def rate(held: Held, protocol: str, settings: Mapping[str, Any], ask: Ask) -> dict[Place, int]:
    """Return the ratings of a dialogue, 1 to 5. Raises `DialogueDropped` where the evaluator gives none.

    Figure 4. The answer that is shown before a later one is always the one that was refuted.
    """
    given: dict[Place, int] = {}
    for refuted, answer in places_rated(protocol, len(held.answers), len(held.refutations)):
        asked = {"query": held.query, "response": held.answers[answer]}
        name = "rate_task"
        if refuted is not None:
            name = "rate_refutation"
            asked |= {"previous": held.answers[refuted], "refutation": held.refutations[refuted]}
        for _ in range(MOST_TRIES):
            rating = rating_in(await ask(name, asked), settings["ratings"])
            if rating is not None:
                break
        else:
            raise DialogueDropped(f"{name}: the evaluator gives no rating")
        given[refuted, answer] = rating
    return given


class Rated(NamedTuple):
    """A dialogue's ratings."""

    query: str
    protocol: str
    unrelated: int
    ratings: Mapping[Place, int]


def values_of(dialogue: Rated, rounds: int) -> Iterator[tuple[str, str, float]]:
    """Yield (measure, condition, value) of tables 4 to 7; `touchstone evaluate` compares models by the first."""
    ratings = dialogue.ratings
    if dialogue.protocol == "transient":
        if rounds > 1:
            yield FOLLOWING, "turn 1", ratings[0, 1]
            yield FOLLOWING, f"turn {rounds}", ratings[0, rounds]
        yield "overall", "mean", fmean(ratings[i, i + 1] for i in range(rounds))
        yield "task consistency", "initial", ratings[None, 0]
        yield "task consistency", "final", ratings[None, rounds]
    else:
        yield "persistent", "at once", ratings[0, 1]
        if dialogue.unrelated:
            yield "persistent", f"C = {dialogue.unrelated}", ratings[0, 2]
