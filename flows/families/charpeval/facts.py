"""The facts and entities of a dialogue's texts: what the knowledge says, and what the response uses of it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

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


@dataclass(frozen=True)
class FactIndex:
    """Sentences of the knowledge of all dialogues, by the entity that they define and by what else they name."""

    defining: Mapping[str, Sequence[str]]
    naming: Mapping[str, Sequence[str]]

    def about(self, dialogue: Grounded) -> tuple[str, ...]:
        """Return sentences, not in the knowledge, on the main entities and on those that only the knowledge names.

        The entities take turns, each with the sentences that define it first.
        """
        sentences = {normalised(sentence) for sentence in en.sentences(dialogue.knowledge)}
        keys = dict.fromkeys(map(entity_key, (*main_entities(dialogue), *other_entities(dialogue))))
        by_entity = [[*self.defining.get(key, ()), *self.naming.get(key, ())] for key in keys]
        in_turn = (sentence for turn in zip_longest(*by_entity) for sentence in turn if sentence is not None)
        fresh = [
            sentence
            for sentence in dict.fromkeys(in_turn)
            if normalised(sentence) not in sentences and len(new_words(sentence, dialogue.knowledge)) >= LEAST_UNUSED
        ]
        return tuple(fresh[:MOST_FACTS])


def index_facts(knowledge: Iterable[str]) -> FactIndex:
    """Index the sentences that can be understood on their own, each once."""
    defining: dict[str, list[str]] = defaultdict(list)
    naming: dict[str, list[str]] = defaultdict(list)
    for sentence in sorted({sentence for text in set(knowledge) for sentence in en.sentences(text)}):
        if en.count(sentence) not in FACT_WORDS or en.dangling_subject(sentence) is not None:
            continue
        subject = defined_entity(sentence)
        for entity in en.entities(sentence):
            (defining if entity == subject else naming)[entity_key(entity)].append(sentence)
    return FactIndex(defining, naming)
