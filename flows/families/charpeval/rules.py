"""CHARPEval without a model: suggestions out of the given text alone. A floor; an author is to look at each.

A fact beside the knowledge is a sentence of another dialogue's knowledge; where there is none on the entity, there is
no draft. Expressions come from a table of this project's own. No rule writes an utterance: it can only tell whether
the source's own is one.
"""

import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from flows.families.charpeval.checks import LEAST_BEYOND
from flows.families.charpeval.facts import LEAST_UNUSED, beyond, defined, main_entities, name_of, others
from flows.families.charpeval.prompts import Distractors, ToAsk, ToDistract, Utterances
from flows.language import en
from flows.llm.model import RuleSet

EXPRESSIONS = Path(__file__).parent / "expressions.tsv"
MOST_USED = 0.6
"""Share of the response's content words in a sentence of the knowledge from which it is told apart."""
LEAST_SHARED = 2
"""Content words of the response in a fact that looks like an answer; one alone is chance."""
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
    """What it goes well after: any `question`, one of the `KINDS` of questions, a `statement`."""


@cache
def expressions() -> tuple[Expression, ...]:
    """The packaged table."""
    lines = EXPRESSIONS.read_text(encoding="utf-8").splitlines()
    return tuple(Expression(*line.split("\t")) for line in lines if line and not line.startswith("#"))


def draft_utterances(asked: ToAsk, rng: random.Random) -> Utterances:
    """The source's last utterance, where it is a question: easy if it names what is asked about, hard if it leans
    on a history that names it."""
    if not asked.history:
        return Utterances()
    last = asked.last_utterance
    asks = en.sentences(last)[-1:]
    if not asks or not asks[0].endswith("?") or asks[0].lower().startswith("did you know"):
        return Utterances()
    about = en.entities(asked.knowledge)
    if any(en.names(last, one) for one in about):
        return Utterances(easy_utterance=last)
    leans = any(en.names(turn, one) for turn in asked.history for one in about)
    return Utterances(hard_utterance=last) if leans else Utterances()


def draft_distractors(asked: ToDistract, rng: random.Random) -> Distractors:
    """The five, each empty where the text at hand gives none."""
    most = max(LEAST_WORDS, MOST_TIMES * en.count(asked.response))
    facts = [
        fact for fact in asked.facts if en.count(fact) <= most and len(beyond(fact, asked.knowledge)) >= LEAST_BEYOND
    ]
    if asked.refused:
        return Distractors()  # by rule the same again
    main, elsewhere = main_entities(asked), others(asked)
    recf = _first(fact for fact in facts if _tells_of(fact, main))
    left = [fact for fact in facts if fact != recf]
    iecf = _first(fact for fact in left if _tells_of(fact, elsewhere) and not any(en.names(fact, one) for one in main))
    said = en.content_words(asked.response)
    shared = {fact: len(en.content_words(fact) & said) for fact in left if fact != iecf}
    like = [fact for fact in shared if shared[fact] >= LEAST_SHARED and any(en.names(fact, one) for one in main)]
    kgug = _first(sorted(like, key=lambda fact: (-shared[fact], fact)))
    return Distractors(KGIR=_unused(asked, most), KGUG=kgug, RECF=recf, IECF=iecf, COEX=_expression(asked, rng))


def _first(texts: Iterable[str]) -> str:
    return next(iter(texts), "")


def _tells_of(fact: str, entities: Sequence[en.Entity]) -> bool:
    subject = defined(fact)
    return subject is not None and name_of(subject) in map(name_of, entities)


def _unused(asked: ToDistract, most: float) -> str:
    """A sentence of the knowledge that says another thing than the response; or else such a main clause of one.

    Of several the one that has least in common with the response, of no more words than `most` if there is one.
    """
    said = en.content_words(asked.response)

    def fits(text: str) -> bool:
        words = en.content_words(text)
        return len(words - said) >= LEAST_UNUSED and len(words & said) <= MOST_USED * len(said)

    def place(text: str) -> tuple[bool, int, bool]:
        return en.count(text) > most, len(en.content_words(text) & said), en.dangling_subject(text) is not None

    sentences = en.sentences(asked.knowledge)
    clauses = [_sentence(one) for whole in sentences for one in _MAIN_CLAUSES.split(whole) if _has_subject(one)]
    chosen = min(filter(fits, sentences), key=place, default="") or min(filter(fits, clauses), key=place, default="")
    return _sentence(chosen) if chosen[-1:] in tuple(";,:") else chosen


def _has_subject(clause: str) -> bool:
    """Whether a clause begins with what it speaks of."""
    first = en.entities(clause)[:1]
    return bool(first) and clause.find(first[0].text) <= len("the various ")


def _sentence(clause: str) -> str:
    text = clause.strip().rstrip(".,;:")
    return f"{text[:1].upper()}{text[1:]}."


def _expression(asked: ToDistract, rng: random.Random) -> str:
    """One that goes with the last utterance and names nothing of the knowledge; of its own kind if there is one."""
    known = en.entities(asked.knowledge)
    free = [one for one in expressions() if not any(en.names(one.text, entity) for entity in known)]
    last = en.sentences(asked.hard_utterance)[-1:]
    if not last or not last[0].rstrip().endswith("?"):
        fitting = [one.text for one in free if one.after == "statement"]
    else:
        kinds = [kind for kind, asks in KINDS.items() if asks.search(last[0])]
        fitting = [one.text for one in free if one.after in kinds[:1]] or [
            one.text for one in free if one.after == "question"
        ]
    return rng.choice(fitting) if fitting else ""


RULES: RuleSet = {"draft_utterances": draft_utterances, "draft_distractors": draft_distractors}
