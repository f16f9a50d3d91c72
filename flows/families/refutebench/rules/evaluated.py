"""The evaluated model by rules.

It answers with the source's reference or, for a document, with sentences of it, applies the requirements that it
understands, and forgets at a planted chance.
"""

import random
from collections import Counter

from flows.families.refutebench.prompts import ToAnswer
from flows.families.refutebench.requirements import Requirement, apply_all, is_standing, parse
from flows.families.refutebench.sentences import language
from flows.language import en, zh
from flows.llm.model import Invalid, Text

LONG_DOCUMENT = 6
"""Sentences of a document from which on its summary has three sentences instead of two."""


def respond(asked: ToAnswer, rng: random.Random) -> Text:
    """The answer, with the requirements that are remembered."""
    return Text(text=apply_all(_plain_answer(asked), _remembered(asked, rng)))


def _remembered(asked: ToAnswer, rng: random.Random) -> list[Requirement]:
    """The requirements that hold for this answer, without the forgotten ones.

    A refutation is about the query before it. The latest is not forgotten, but it can be ignored. When a query is
    repeated, the standing refutations of it hold.
    """
    by_query: dict[str, list[tuple[Requirement, bool]]] = {}
    query = ""
    for message in (turn.text for turn in asked.dialogue if turn.role == "user"):
        requirement = parse(message)
        if requirement is None:
            query = message
            by_query[query] = [kept for kept in by_query.get(query, []) if kept[1]]
        else:
            by_query.setdefault(query, []).append((requirement, is_standing(message)))
    latest = parse(asked.said)
    if latest is None:
        before = [requirement for requirement, standing in by_query.get(asked.said, []) if standing]
    else:
        before = [requirement for requirement, _ in by_query.get(query, [])]
    remembered = [requirement for requirement in before if rng.random() >= asked.forgetting]
    if latest is None or rng.random() < asked.ignoring:
        return remembered
    return [*remembered, latest]


def _plain_answer(asked: ToAnswer) -> str:
    """The answer to the query without any requirement: always the same."""
    if asked.task == "summarisation":
        return _summary(asked.text)
    if not asked.reference:
        raise Invalid(
            "no reference",
            "the rules translate and write by the source's reference alone: give its rows a reference, or have a "
            "model evaluated",
        )
    return asked.reference


def _summary(document: str) -> str:
    """The first sentence of the document, and the one or two others whose words recur most often in it."""
    tongue = en if language(document) == "en" else zh
    sentences = list(dict.fromkeys(tongue.sentences(document)))
    words = [tongue.content_words(sentence) for sentence in sentences]
    frequency = Counter(word for content in words for word in content)
    weights = [sum(frequency[word] for word in content) / (len(content) or 1) for content in words]
    most = 2 if len(sentences) >= LONG_DOCUMENT else 1
    others = sorted(range(1, len(sentences)), key=lambda place: (-weights[place], place))[:most]
    chosen = [sentences[place] for place in (0, *sorted(others))] if sentences else [document]
    return (" " if tongue is en else "").join(chosen)
