"""What the texts of a dialogue say: the facts of the knowledge, and what the response takes of them."""

import re
from collections.abc import Sequence
from typing import Protocol

from flows.language import en

LEAST_UNUSED = 3
"""Content words of a clause of the knowledge that the response lacks, for the clause to be a fact of its own: with
two, "in the 1970s" would be one."""

_CLAUSE = re.compile(
    r"[;:()\n]+|\s[–—-]+\s|,?\s+(?:while|whereas|but|although|though|which|who|where|because)\s+|,\s+(?:and\s+)?",
    re.IGNORECASE,
)


class Grounded(Protocol):
    """A dialogue with knowledge and a response."""

    @property
    def easy_utterance(self) -> str: ...
    @property
    def knowledge(self) -> str: ...
    @property
    def response(self) -> str: ...


def unused_facts(knowledge: str, response: str) -> list[str]:
    """The clauses of the knowledge that say something the response does not say, in their order."""
    said = en.content_words(response)
    clauses = [clause for sentence in en.sentences(knowledge) for clause in _CLAUSE.split(sentence)]
    return [clause for clause in clauses if len(en.content_words(clause) - said) >= LEAST_UNUSED]


def lacking(knowledge: str, response: str) -> list[en.Entity]:
    """The entities of the knowledge that the response does not name."""
    return [one for one in en.entities(knowledge) if not en.names(response, one)]


def main_entities(dialogue: Grounded) -> Sequence[en.Entity]:
    """What the response is about: those of its entities that the easy utterance asks about, or else the first.

    Section 2.3.3 leaves it to the annotators to identify the one main entity.
    """
    found = en.entities(dialogue.response)
    return [one for one in found if en.names(dialogue.easy_utterance, one)] or found[:1]


def beyond(text: str, knowledge: str) -> frozenset[str]:
    """The content words of `text` that the knowledge does not have."""
    return en.content_words(text) - en.content_words(knowledge)
