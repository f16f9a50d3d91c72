"""What is wrong with what people wrote: utterances (section 2.2) and distractors (2.3.1 to 2.3.5).

What breaks a rule that can be decided sends the work back to its author; what only looks wrong is told to the
reviewer. An entity is a name or the head of a noun phrase (`flows/language/en/nouns.py`): in the paper's figure 1,
cake and bread.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from rapidfuzz.fuzz import ratio

from flows.construct.embed import Embedder
from flows.families.charpeval.facts import Grounded, beyond, main_entities, others, unused_facts
from flows.language import en
from flows.llm.model import Problem
from schemas.annotation import Finding
from schemas.charpeval import DISTRACTOR_TYPES, Authored, DistractorType, UtterancePair

UTTERANCES = ("hard_utterance", "easy_utterance")
BOT_TURN = "bot_turn"
DECISION, USABLE, REJECT = "decision", "yes", "reject this dialogue"

ALIKE_TEXT = 85
"""Percent of characters in common (edit ratio): of two sentences so alike only a few letters differ."""
ALIKE_COSINE = 0.9
"""Of sentence embeddings: paraphrases lie above it; the options of the paper's figure 1 stay below 0.7."""
LENGTH_RATIO = 3.0
"""Times longer or shorter than the response, in words. The options of the paper's figure 1 stay within 1.9."""
LEAST_FROM_KNOWLEDGE = 0.5
"""Share of KGIR's content words that the knowledge has: the rest may be turns of speech."""
LEAST_BEYOND = 2
"""Content words that a fact from outside the knowledge brings: one may be another wording."""


def check(record: Authored, answers: Mapping[str, str], embedder: Embedder) -> list[Finding]:
    """What is wrong with the five distractors in `answers`; nothing where the dialogue is rejected."""
    if answers.get(DECISION) == REJECT:
        return []
    texts = {kind: answers.get(kind, "").strip() for kind in DISTRACTOR_TYPES}
    rejected = list(_rejections(record, texts))
    written = {kind: text for kind, text in texts.items() if said(text)}
    doubts = [*_likeness(record, written, embedder), *_lengths(record, written), *_rules(record, written, embedder)]
    broken = {finding.name for finding in rejected}
    return [*rejected, *(finding for finding in doubts if finding.name not in broken)]


def check_utterances(record: UtterancePair, answers: Mapping[str, str], embedder: Embedder) -> list[Finding]:
    """What is wrong with the two utterances, the knowledge and the response in `answers`."""
    if answers.get(DECISION) == REJECT:
        return []
    needed = (*UTTERANCES, "knowledge", "response")
    texts = {name: answers.get(name, getattr(record, name)).strip() for name in (*needed, BOT_TURN)}
    if (empty := next((name for name in needed if not said(texts[name])), None)) is not None:
        return [Finding(name=empty, problem="is empty", rejects=True)]
    return [Finding(name=name, problem=said, rejects=True) for name, said in problems_of(record.revised(**texts))]


def said(text: str) -> str:
    """The text's words in lower case, without punctuation: what two spellings of one text have in common."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def problems_of(pair: UtterancePair) -> list[tuple[str, str]]:
    """(field, why distractors cannot be written for the pair yet), each; none where they can.

    A candidate has both utterances, a turn of the bot before them, and knowledge with a fact that the response does
    not use (for KGIR) and an entity that it does not name (for IECF). To what is published nothing is to be written.
    """
    if pair.distractors:
        return []
    found = (
        [] if pair.before else [(BOT_TURN, "The source has one turn, the User's: what the Bot says to it is missing.")]
    )
    found += [
        (name, f"The {kind} last utterance is not written yet.")
        for name, kind in zip(UTTERANCES, ("hard", "easy"), strict=True)
        if not said(getattr(pair, name))
    ]
    if said(pair.hard_utterance) and said(pair.hard_utterance) == said(pair.easy_utterance):
        found.append(("easy_utterance", "The hard and the easy last utterance are the same."))
    if not unused_facts(pair.knowledge, pair.response):
        found.append(("knowledge", "The knowledge has no fact that the response does not use: add one."))
    elif not others(pair):
        found.append(
            ("knowledge", "The knowledge names nothing that the response does not: add a fact on another thing.")
        )
    return found


def unfit_pair(pair: UtterancePair) -> Problem:
    """Why a pair that people mended is none."""
    return next(((problem, name) for name, problem in problems_of(pair)), None)


def unfit_authored(record: Authored) -> Problem:
    """Why what people wrote cannot be an item: the first rejection."""
    found = next(_rejections(record, {kind: getattr(record, kind).strip() for kind in DISTRACTOR_TYPES}), None)
    return (f"{found.name} {found.problem}", getattr(record, found.name)) if found else None


def rejected_drafts(record: Authored, drafts: Mapping[DistractorType, str]) -> Mapping[DistractorType, str]:
    """Why drafts would be rejected, by type; those that are not there are not judged."""
    texts = {kind: text.strip() for kind, text in drafts.items() if said(text)}
    problems = {finding.name: finding.problem for finding in _rejections(record, texts)}
    return {kind: problems[kind] for kind in texts if kind in problems}


# ---- what sends it back ----


def _rejections(record: Authored, texts: Mapping[DistractorType, str]) -> Iterator[Finding]:
    seen = {said(record.response): "the response"}
    for kind, text in texts.items():
        same = seen.get(said(text))
        if not said(text):
            yield Finding(name=kind, problem="is empty", rejects=True)
        elif same is not None:
            yield Finding(name=kind, problem=f"is the same as {same}", rejects=True)
        elif (broken := _broken(record, kind, text)) is not None:
            yield Finding(name=kind, problem=broken, rejects=True)
        seen.setdefault(said(text), kind)


def _broken(record: Grounded, kind: DistractorType, text: str) -> str | None:
    """The entity rule (section 2.3.4)."""
    if kind == "IECF":
        found = others(record)
        if not any(en.names(text, one) for one in found):
            return f"names nothing that the knowledge names and the response does not ({_list(found)})"
    return None


def _list(entities: Sequence[en.Entity]) -> str:
    return ", ".join(one.text for one in entities[:5]) or "there is none"


# ---- what a reviewer is told ----


def _likeness(record: Authored, texts: Mapping[DistractorType, str], embedder: Embedder) -> Iterator[Finding]:
    named: dict[str, str] = {"the response": record.response}
    named |= {kind: text for kind, text in texts.items() if embedder.reads(text)}
    names, words = list(named), [said(text) for text in named.values()]
    vectors = embedder.embed(list(named.values()))
    for place, kind in enumerate(names[1:], start=1):
        for other in range(place):
            shared, cosine = ratio(words[place], words[other]), float(vectors[place] @ vectors[other])
            if words[place] != words[other] and (shared >= ALIKE_TEXT or cosine >= ALIKE_COSINE):
                how = f"{shared:.0f} % of the characters" if shared >= ALIKE_TEXT else f"cosine {cosine:.2f}"
                yield _doubt(kind, f"is much like {names[other]} ({how})")
                break


def _lengths(record: Authored, texts: Mapping[DistractorType, str]) -> Iterator[Finding]:
    wanted = en.count(record.response)
    for kind, text in texts.items():
        length = en.count(text)
        if kind == "COEX" and length < wanted:
            continue  # an expression is as short as it is
        if max(length, wanted) > LENGTH_RATIO * min(length, wanted):
            yield _doubt(kind, f"has {length} words, where the response has {wanted}")


def _rules(record: Authored, texts: Mapping[DistractorType, str], embedder: Embedder) -> Iterator[Finding]:
    knowledge, response = en.content_words(record.knowledge), en.content_words(record.response)
    if text := texts.get("KGIR"):
        words = en.content_words(text)
        if len(words & knowledge) < LEAST_FROM_KNOWLEDGE * len(words):
            yield _doubt("KGIR", "hardly draws on the knowledge")
        elif not (words & knowledge) - response or _answers(record, text, embedder):
            yield _doubt("KGIR", "seems to answer: it says what the response says, not another fact of the knowledge")
    if (text := texts.get("KGUG")) and not en.content_words(text) & response:
        yield _doubt("KGUG", "shares no word with the response")
    if (text := texts.get("RECF")) and not any(en.names(text, one) for one in main_entities(record)):
        yield _doubt("RECF", f"does not name what the response is about ({_list(main_entities(record))})")
    coex = texts.get("COEX", "")
    if named := [one for one in en.entities(record.knowledge) if en.names(coex, one)]:
        yield _doubt("COEX", f"names something of the knowledge ({_list(named)}): could it pass for an answer?")
    outside: tuple[DistractorType, ...] = ("KGUG", "RECF", "IECF")
    for kind in outside:
        if (text := texts.get(kind)) and len(beyond(text, record.knowledge)) < LEAST_BEYOND:
            yield _doubt(kind, "says nothing that the knowledge does not say")


def _answers(record: Authored, text: str, embedder: Embedder) -> bool:
    """Whether the text is nearer to the response than to any fact of the knowledge that the response leaves."""
    facts = unused_facts(record.knowledge, record.response)
    if not facts or not all(map(embedder.reads, (text, record.response, *facts))):
        return False
    vectors = embedder.embed([text, record.response, *facts])
    return float(vectors[1] @ vectors[0]) > max(map(float, vectors[2:] @ vectors[0]))


def _doubt(kind: str, problem: str) -> Finding:
    return Finding(name=kind, problem=problem, rejects=False)
