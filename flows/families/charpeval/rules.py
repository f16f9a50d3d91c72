"""CHARPEval without a model: suggestions out of the given text alone. A floor; an author is to look at each.

A fact beside the knowledge is a sentence of another dialogue's knowledge; where there is none on the entity, there is
no draft. Expressions come from a table of this project's own. No rule writes an utterance: it can only tell whether
the source's own is one.
"""

import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from flows.families.charpeval.checks import LEAST_BEYOND
from flows.families.charpeval.facts import LEAST_UNUSED, beyond, lacking, main_entities, unused_facts
from flows.families.charpeval.prompts import Distractors, ToAsk, ToDistract, Utterances
from flows.language import en
from flows.llm.model import RuleSet

EXPRESSIONS = Path(__file__).parent / "expressions.tsv"
MOST_USED = 0.5
"""Share of the response's content words in a sentence of the knowledge from which it is told apart."""


class Expression(NamedTuple):
    """An idiom or stock phrase, as a turn of a conversation."""

    text: str
    after: str
    """What it may follow: a `question`, a `statement`, or `any`."""


@cache
def expressions() -> tuple[Expression, ...]:
    """The packaged table."""
    lines = EXPRESSIONS.read_text(encoding="utf-8").splitlines()
    return tuple(Expression(*line.split("\t")) for line in lines if line and not line.startswith("#"))


def draft_utterances(asked: ToAsk, rng: random.Random) -> Utterances:
    """The source's last utterance, where it is a question: easy if it names what is asked about, hard if it leans
    on a history that names it."""
    last = asked.last_utterance
    if "?" not in last:
        return Utterances()
    about = en.entities(asked.knowledge)
    if any(en.names(last, one) for one in about):
        return Utterances(easy_utterance=last)
    leans = any(en.names(turn, one) for turn in asked.history for one in about)
    return Utterances(hard_utterance=last) if leans else Utterances()


def draft_distractors(asked: ToDistract, rng: random.Random) -> Distractors:
    """The five, each empty where the text at hand gives none."""
    facts = [fact for fact in asked.facts if len(beyond(fact, asked.knowledge)) >= LEAST_BEYOND]
    main, others = main_entities(asked), lacking(asked.knowledge, asked.response)
    recf = _first(fact for fact in facts if _begins_with(fact, main))
    left = [fact for fact in facts if fact != recf]
    iecf = _first(fact for fact in left if _begins_with(fact, others) and not any(en.names(fact, one) for one in main))
    said = en.content_words(asked.response)
    kgug = _first(
        sorted((fact for fact in left if fact != iecf and en.content_words(fact) & said),
               key=lambda fact: (-len(en.content_words(fact) & said), fact))
    )  # fmt: skip
    return Distractors(KGIR=_unused(asked), KGUG=kgug, RECF=recf, IECF=iecf, COEX=_expression(asked, rng))


def _first(texts: Iterable[str]) -> str:
    return next(iter(texts), "")


def _begins_with(fact: str, entities: Sequence[en.Entity]) -> bool:
    first = en.entities(fact)[:1]
    return bool(first) and any(one.is_name == first[0].is_name and en.names(first[0].text, one) for one in entities)


def _unused(asked: ToDistract) -> str:
    """A sentence of the knowledge that says another thing than the response; or else a clause that is one."""
    said = en.content_words(asked.response)
    for sentence in sorted(en.sentences(asked.knowledge), key=lambda one: en.dangling_subject(one) is not None):
        words = en.content_words(sentence)
        if len(words - said) >= LEAST_UNUSED and len(words & said) <= MOST_USED * len(said):
            return sentence
    return next(
        (_sentence(clause) for clause in unused_facts(asked.knowledge, asked.response) if _is_whole(clause)), ""
    )


def _is_whole(clause: str) -> bool:
    """Whether a clause can stand as a sentence: something, and a verb that says something of it."""
    words = clause.lower().split()
    verbs = [place for place, word in enumerate(words) if word in ("is", "are", "was", "were", "has", "have", "had")]
    subject = en.entities(" ".join(clause.split()[: verbs[0]])) if verbs else ()
    return bool(subject) and verbs[0] < len(words) - 1 and words[0] not in ("and", "or", "that", "in", "of", "as")


def _sentence(clause: str) -> str:
    text = clause.strip().rstrip(".,")
    return f"{text[:1].upper()}{text[1:]}."


def _expression(asked: ToDistract, rng: random.Random) -> str:
    known = en.entities(asked.knowledge)
    wanted = ("any", "question" if asked.easy_utterance.rstrip().endswith("?") else "statement")
    fitting = [
        one.text
        for one in expressions()
        if one.after in wanted and not any(en.names(one.text, entity) for entity in known)
    ]
    return rng.choice(fitting) if fitting else ""


RULES: RuleSet = {"draft_utterances": draft_utterances, "draft_distractors": draft_distractors}
