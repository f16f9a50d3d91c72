"""What the texts of a dialogue say: the facts of the knowledge, and what the response takes of them."""

import re
from collections.abc import Sequence
from typing import Protocol

from flows.language import en

LEAST_UNUSED = 3
"""Content words of a clause of the knowledge that the response lacks, for the clause to be a fact of its own: with
two, "in the 1970s" would be one."""

LEAST_UNUSED_SHARE = 0.5
"""Of the clause's content words: with fewer it is the response in other words."""
LEAST_CLAUSE = 4
"""Words of a clause: with three it is a name."""
OPENING = 3
"""Words of a response within which its subject stands: "Well, they live"."""
_CLAUSE = re.compile(
    r"[;:()\n]+|\s[–—-]+\s|,?\s+(?:while|whereas|but|although|though|which|who|where|because)\s+|,\s+(?:and\s+)?",
    re.IGNORECASE,
)

_POINTING = frozenset(("it", "they", "he", "she"))
_TELLS = re.compile(r"(?:\s*\([^)]*\))?(?:,[^,]{1,60},)?\s+(?:is|are|was|were|has|have|refers to)\s")


class Grounded(Protocol):
    """A dialogue with knowledge and a response."""

    @property
    def easy_utterance(self) -> str: ...
    @property
    def knowledge(self) -> str: ...
    @property
    def response(self) -> str: ...


def unused_facts(knowledge: str, response: str) -> list[str]:
    """The clauses of the knowledge that say something the response does not say, in their order.

    A sentence of which no clause does so by itself, but the whole, is one.
    """
    said = en.content_words(response)

    def is_unused(text: str) -> bool:
        words = en.content_words(text)
        least = max(LEAST_UNUSED, LEAST_UNUSED_SHARE * len(words))
        return en.count(text) >= LEAST_CLAUSE and len(words - said) >= least

    found: list[str] = []
    for sentence in en.sentences(knowledge):
        clauses = [clause.strip() for clause in _CLAUSE.split(sentence) if is_unused(clause)]
        found += clauses or ([sentence] if is_unused(sentence) else [])
    return found


def lacking(knowledge: str, response: str) -> list[en.Entity]:
    """The entities of the knowledge that the response does not name."""
    return [one for one in en.entities(knowledge) if not en.names(response, one)]


def main_entities(dialogue: Grounded) -> Sequence[en.Entity]:
    """What the response is about: those of its entities that the easy utterance asks about, or else the first.

    A response that opens with a pronoun ("They live on nectar") is about what the easy utterance and the knowledge
    name. Section 2.3.3 leaves it to the annotators to identify the one main entity.
    """
    found = en.entities(dialogue.response)
    if asked := [one for one in found if en.names(dialogue.easy_utterance, one)]:
        return asked
    if _POINTING.intersection(en.words(dialogue.response)[:OPENING]):
        pointed = [one for one in en.entities(dialogue.knowledge) if en.names(dialogue.easy_utterance, one)]
        return pointed or found[:1]
    return found[:1]


def others(dialogue: Grounded) -> list[en.Entity]:
    """What the knowledge names and the response does not, in a word or by a pronoun (section 2.3.4)."""
    main = set(map(name_of, main_entities(dialogue)))
    return [one for one in lacking(dialogue.knowledge, dialogue.response) if name_of(one) not in main]


def defined(sentence: str) -> en.Entity | None:
    """What a sentence tells what it is, as an encyclopedia begins: "Bread is ...", "The cello (...) has ..."."""
    first = next(iter(en.entities(sentence)), None)
    if first is None or (start := sentence.find(first.text)) > len("The "):
        return None
    return first if _TELLS.match(sentence, start + len(first.text)) else None


def name_of(entity: en.Entity) -> str:
    """What two entities that are the same have in common."""
    return entity.text.casefold() if entity.is_name else " ".join([*entity.text.casefold().split()[:-1], entity.head])


def beyond(text: str, knowledge: str) -> frozenset[str]:
    """The content words of `text` that the knowledge does not have."""
    return en.content_words(text) - en.content_words(knowledge)
