"""The facts and entities of a dialogue's texts: what the knowledge says, and what the response uses of it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from flows.construct.rows_on_disk import RowsOnDisk
from flows.families.charpeval.prompts import ToDistract
from flows.language import en
from schemas.charpeval import Authored, UtterancePair

LEAST_UNUSED = 3
"""Content words of a clause of the knowledge that the response lacks, for the clause to be a fact of its own: with
two, "in the 1970s" would be one."""
LEAST_UNUSED_SHARE = 0.5
"""Least share of the clause's content words that the response lacks: with fewer it is the response in other words."""
LEAST_CLAUSE = 4
"""Words of a clause: with three it is a name."""
OPENING = 3
"""Words of a response within which its subject occurs: "Well, they live"."""
MOST_FACTS = 12
"""Sentences of other dialogues that a builder is shown: for three of the five drafts, some to choose from."""
FACT_WORDS = range(4, 41)
"""Words of such a sentence: a response has no more."""
_CLAUSE = re.compile(
    r"[;:()\n]+|\s[–—-]+\s|,?\s+(?:while|whereas|but|although|though|which|who|where|because)\s+|,\s+(?:and\s+)?",
    re.IGNORECASE,
)
_POINTING = frozenset(("it", "they", "he", "she"))
_DEFINES = re.compile(r"(?:\s*\([^)]*\))?(?:,[^,]{1,60},)?\s+(?:is|are|was|were|has|have|refers to)\s")

_DEFINED, _NAMED = "defined", "named"
"""The roles of an entity in a sentence."""

Grounded = UtterancePair | Authored | ToDistract
"""A dialogue with knowledge and a response."""


def normalised(text: str) -> str:
    """Return the text's words in lower case, without punctuation, so that two spellings are equal."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def unused_facts(knowledge: str, response: str) -> list[str]:
    """Return the clauses of the knowledge that say something the response does not say, in their order.

    If none of a sentence's clauses does so by itself, but the sentence does, it is returned whole.
    """
    used = en.content_words(response)

    def is_unused(text: str) -> bool:
        words = en.content_words(text)
        least = max(LEAST_UNUSED, LEAST_UNUSED_SHARE * len(words))
        return en.count(text) >= LEAST_CLAUSE and len(words - used) >= least

    facts: list[str] = []
    for sentence in en.sentences(knowledge):
        clauses = [clause.strip() for clause in _CLAUSE.split(sentence) if is_unused(clause)]
        facts += clauses or ([sentence] if is_unused(sentence) else [])
    return facts


def new_words(text: str, knowledge: str) -> frozenset[str]:
    """Return the content words of `text` that the knowledge does not have."""
    return en.content_words(text) - en.content_words(knowledge)


# ---- entities ----


def unnamed_entities(knowledge: str, response: str) -> list[en.Entity]:
    """Return the entities of the knowledge that the response does not name."""
    return [entity for entity in en.entities(knowledge) if not en.names(response, entity)]


def main_entities(dialogue: Grounded) -> Sequence[en.Entity]:
    """Return the entities that the response is about: those that the easy utterance asks about, or else the first.

    A response that opens with a pronoun ("They live on nectar") is about what the easy utterance and the knowledge
    name. Section 2.3.3 leaves it to the annotators to identify the one main entity.
    """
    entities = en.entities(dialogue.response)
    if asked := [entity for entity in entities if en.names(dialogue.easy_utterance, entity)]:
        return asked
    if _POINTING.intersection(en.words(dialogue.response)[:OPENING]):
        meant = [entity for entity in en.entities(dialogue.knowledge) if en.names(dialogue.easy_utterance, entity)]
        return meant or entities[:1]
    return entities[:1]


def other_entities(dialogue: Grounded) -> list[en.Entity]:
    """Return the entities that the knowledge names and the response does not, even by a pronoun (section 2.3.4)."""
    main = set(map(entity_key, main_entities(dialogue)))
    return [
        entity for entity in unnamed_entities(dialogue.knowledge, dialogue.response) if entity_key(entity) not in main
    ]


def defined_entity(sentence: str) -> en.Entity | None:
    """Return the entity that a sentence defines like an encyclopedia: "Bread is ...", "The cello (...) has ..."."""
    first = next(iter(en.entities(sentence)), None)
    if first is None or (start := sentence.find(first.text)) > len("The "):
        return None
    return first if _DEFINES.match(sentence, start + len(first.text)) else None


def entity_key(entity: en.Entity) -> str:
    """Return a key that is equal for two mentions of the same entity."""
    return entity.text.casefold() if entity.is_name else " ".join([*entity.text.casefold().split()[:-1], entity.head])


# ---- facts of other dialogues ----


class FactIndex:
    """Sentences of the knowledge of all dialogues, by the entities that they name. They are on disk."""

    def __init__(self, knowledge: Iterable[str]) -> None:
        """Index the sentences that can be understood on their own, each once."""
        texts = RowsOnDisk((text, None) for text in knowledge)
        sentences = RowsOnDisk((part, None) for text in texts.sorted_names() for part in en.sentences(text))
        self._by_entity = RowsOnDisk(
            (f"{role} {entity}", sentence)
            for sentence in sentences.sorted_names()
            for role, entity in _roles_of_entities(sentence)
        )

    def about(self, dialogue: Grounded) -> tuple[str, ...]:
        """Return sentences, not in the knowledge, on the main entities and on those that only the knowledge names.

        The entities take turns, each with the sentences that define it first.
        """
        sentences = {normalised(sentence) for sentence in en.sentences(dialogue.knowledge)}
        words = en.content_words(dialogue.knowledge)
        keys = dict.fromkeys(map(entity_key, (*main_entities(dialogue), *other_entities(dialogue))))
        seen: set[str | None] = {None}
        facts: list[str] = []
        for sentence in chain.from_iterable(zip_longest(*map(self._on, keys))):
            if sentence in seen:
                continue
            seen.add(sentence)
            if normalised(sentence) not in sentences and len(en.content_words(sentence) - words) >= LEAST_UNUSED:
                facts.append(sentence)
                if len(facts) == MOST_FACTS:
                    break
        return tuple(facts)

    def _on(self, entity: str) -> Iterator[str]:
        for role in (_DEFINED, _NAMED):
            yield from self._by_entity.named(f"{role} {entity}")


def _roles_of_entities(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield the entities of a sentence that can be understood on its own, each with its role in it."""
    if en.count(sentence) in FACT_WORDS and en.dangling_subject(sentence) is None:
        subject = defined_entity(sentence)
        for entity in en.entities(sentence):
            yield (_DEFINED if entity == subject else _NAMED), entity_key(entity)
