"""CHARPEval without a model: suggestions out of the given text alone. A floor; an author has to look at each.

A fact beside the knowledge is a sentence of another dialogue's knowledge; if none is about the entity, there is no
draft. Expressions come from a packaged table. No rule writes an utterance: it can only decide whether the source's own
will do.
"""

import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from flows.families.charpeval.checks import LEAST_NEW_WORDS
from flows.families.charpeval.facts import (
    LEAST_UNUSED,
    defined_entity,
    entity_key,
    main_entities,
    new_words,
    other_entities,
)  # fmt: skip
from flows.families.charpeval.prompts import Distractors, ToAsk, ToDistract, Utterances
from flows.language import en
from flows.llm.model import RuleSet

EXPRESSIONS = Path(__file__).parent / "expressions.tsv"
MOST_USED = 0.6
"""Largest share of the response's content words in a sentence of the knowledge that says another thing."""
LEAST_SHARED = 2
"""Content words of the response in a fact that looks like an answer; a single one is chance."""
MOST_TIMES = 2.0
"""Times the response's words that a fact may have: longer ones stand out among the options."""
LEAST_WORDS = 10
"""Words that a fact may have however short the response is."""
KINDS = {
    "how long": re.compile(r"\b(?:how (?:long|soon)|when) (?!he\b|she\b|it\b|they\b|i\b|you\b|we\b)", re.IGNORECASE),
    "how to": re.compile(r"\bhow (?:do|can|should|would|could) (?:i|you|we|one|people)\b", re.IGNORECASE),
    "choice": re.compile(r"\b(?:favou?rite|prefer|do you like|best|better)\b", re.IGNORECASE),
    "yes or no": re.compile(
        r"(?:^|[,.!] )(?:and |but |so )?(?:is|are|was|were|do|does|did|can|could|will|would|has|have|had|should) ",
        re.IGNORECASE,
    ),
}
"""Kinds of questions, by their words."""
_MAIN_CLAUSES = re.compile(r"\s*;\s*|,?\s+(?:while|whereas|but|although)\s+", re.IGNORECASE)


class Expression(NamedTuple):
    """An idiom or stock phrase, as a turn of a conversation."""

    text: str
    after: str
    """The kind of utterance that it follows well: any `question`, one of the `KINDS` of questions, or a `statement`."""


@cache
def expressions() -> tuple[Expression, ...]:
    """Return the packaged table."""
    lines = EXPRESSIONS.read_text(encoding="utf-8").splitlines()
    return tuple(Expression(*line.split("\t")) for line in lines if line and not line.startswith("#"))


def draft_utterances(asked: ToAsk, rng: random.Random) -> Utterances:
    """Return the source's last utterance, if a question: easy if it names its subject, hard if the history does."""
    if not asked.history:
        return Utterances()
    last = asked.last_utterance
    final = en.sentences(last)[-1:]
    if not final or not final[0].endswith("?") or final[0].lower().startswith("did you know"):
        return Utterances()
    entities = en.entities(asked.knowledge)
    if any(en.names(last, entity) for entity in entities):
        return Utterances(easy_utterance=last)
    named_before = any(en.names(turn, entity) for turn in asked.history for entity in entities)
    return Utterances(hard_utterance=last) if named_before else Utterances()


def draft_distractors(asked: ToDistract, rng: random.Random) -> Distractors:
    """Return the five, each empty if the given text offers none."""
    if asked.refused:
        return Distractors()  # the rules would give the same again
    most = max(LEAST_WORDS, MOST_TIMES * en.count(asked.response))
    facts = [
        fact
        for fact in asked.facts
        if en.count(fact) <= most and len(new_words(fact, asked.knowledge)) >= LEAST_NEW_WORDS
    ]
    main, elsewhere = main_entities(asked), other_entities(asked)

    def names_main(fact: str) -> bool:
        return any(en.names(fact, entity) for entity in main)

    recf = _first(fact for fact in facts if _defines_one(fact, main))
    left = [fact for fact in facts if fact != recf]
    iecf = _first(fact for fact in left if _defines_one(fact, elsewhere) and not names_main(fact))
    response = en.content_words(asked.response)
    shared = {fact: len(en.content_words(fact) & response) for fact in left if fact != iecf}
    like = [fact for fact in shared if shared[fact] >= LEAST_SHARED and names_main(fact)]
    kgug = _first(sorted(like, key=lambda fact: (-shared[fact], fact)))
    return Distractors(KGIR=_unused(asked, most), KGUG=kgug, RECF=recf, IECF=iecf, COEX=_expression(asked, rng))


def _first(texts: Iterable[str]) -> str:
    return next(iter(texts), "")


def _defines_one(fact: str, entities: Sequence[en.Entity]) -> bool:
    subject = defined_entity(fact)
    return subject is not None and entity_key(subject) in map(entity_key, entities)


def _unused(asked: ToDistract, most: float) -> str:
    """Return a sentence of the knowledge that says something else than the response, or else such a main clause.

    Of several, it is the one that shares least with the response, with no more than `most` words if possible.
    """
    response = en.content_words(asked.response)

    def fits(text: str) -> bool:
        words = en.content_words(text)
        return len(words - response) >= LEAST_UNUSED and len(words & response) <= MOST_USED * len(response)

    def order(text: str) -> tuple[bool, int, bool]:
        return en.count(text) > most, len(en.content_words(text) & response), en.dangling_subject(text) is not None

    sentences = en.sentences(asked.knowledge)
    clauses = [
        _sentence(clause)
        for sentence in sentences
        for clause in _MAIN_CLAUSES.split(sentence)
        if _opens_with_subject(clause)
    ]
    chosen = min(filter(fits, sentences), key=order, default="") or min(filter(fits, clauses), key=order, default="")
    return _sentence(chosen) if chosen[-1:] in tuple(";,:") else chosen


def _opens_with_subject(clause: str) -> bool:
    first = en.entities(clause)[:1]
    return bool(first) and clause.find(first[0].text) <= len("the various ")


def _sentence(clause: str) -> str:
    text = clause.strip().rstrip(".,;:")
    return f"{text[:1].upper()}{text[1:]}."


def _expression(asked: ToDistract, rng: random.Random) -> str:
    """Return an expression that follows the last utterance well and names nothing of the knowledge."""
    entities = en.entities(asked.knowledge)
    free = [
        expression for expression in expressions() if not any(en.names(expression.text, entity) for entity in entities)
    ]
    last = en.sentences(asked.hard_utterance)[-1:]
    kinds = ["statement"]
    if last and last[0].rstrip().endswith("?"):
        kinds = [*[kind for kind, pattern in KINDS.items() if pattern.search(last[0])][:1], "question"]
    fitting = [[expression.text for expression in free if expression.after == kind] for kind in kinds]
    return next((rng.choice(texts) for texts in fitting if texts), "")


RULES_VERSION = 1
"""Raised when an answer changes for the same inputs: what the rules answered before is then made again."""
RULES: RuleSet = {"draft_utterances": draft_utterances, "draft_distractors": draft_distractors}
