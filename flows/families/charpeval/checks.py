"""Problems with the utterances (section 2.2) and distractors (2.3.1 to 2.3.5) that people wrote.

A broken rule that a program can decide sends the work back to its author; what only looks wrong is shown to the
reviewer. An entity is a name or the head of a noun phrase (`flows/language/en/nouns.py`): in the paper's figure 1,
cake and bread.
"""

from collections.abc import Iterator, Mapping, Sequence

from rapidfuzz.fuzz import ratio

from flows.construct.embed import Embedder
from flows.families.charpeval.facts import (
    Grounded,
    main_entities,
    new_words,
    normalised,
    other_entities,
    unused_facts,
)
from flows.language import en
from flows.llm.model import Problem
from schemas.annotation import Finding
from schemas.charpeval import DISTRACTOR_TYPES, Authored, DistractorType, UtterancePair

UTTERANCES = ("hard_utterance", "easy_utterance")
BOT_TURN = "bot_turn"
DECISION, USABLE, REJECT = "decision", "yes", "reject this dialogue"

ALIKE_TEXT = 85
"""Percent of characters in common (edit ratio): two sentences so alike differ in a few letters only."""
ALIKE_COSINE = 0.9
"""Cosine of sentence embeddings: paraphrases lie above it; the options of the paper's figure 1 stay below 0.7."""
LENGTH_RATIO = 3.0
"""Times longer or shorter than the response, in words. The options of the paper's figure 1 stay within 1.9."""
LEAST_FROM_KNOWLEDGE = 0.5
"""Share of KGIR's content words that the knowledge has: the rest may be turns of speech."""
LEAST_NEW_WORDS = 2
"""Content words that a fact from outside the knowledge adds: one may be another wording."""


def check(record: Authored, answers: Mapping[str, str], embedder: Embedder) -> list[Finding]:
    """Return the problems with the five distractors in `answers`; none if the dialogue is rejected."""
    if answers.get(DECISION) == REJECT:
        return []
    texts = {kind: answers.get(kind, "").strip() for kind in DISTRACTOR_TYPES}
    rejected = list(_rejections(record, texts))
    written = {kind: text for kind, text in texts.items() if normalised(text)}
    doubts = [*_likeness(record, written, embedder), *_lengths(record, written), *_rules(record, written, embedder)]
    broken = {finding.name for finding in rejected}
    return [*rejected, *(finding for finding in doubts if finding.name not in broken)]


def check_utterances(record: UtterancePair, answers: Mapping[str, str], embedder: Embedder) -> list[Finding]:
    """Return the problems with the two utterances, the knowledge and the response in `answers`."""
    if answers.get(DECISION) == REJECT:
        return []
    needed = (*UTTERANCES, "knowledge", "response")
    texts = {name: answers.get(name, getattr(record, name)).strip() for name in (*needed, BOT_TURN)}
    if (empty := next((name for name in needed if not normalised(texts[name])), None)) is not None:
        return [Finding(name=empty, problem="is empty", rejects=True)]
    problems = problems_of(record.revised(**texts))
    return [Finding(name=name, problem=problem, rejects=True) for name, problem in problems]


def problems_of(pair: UtterancePair) -> list[tuple[str, str]]:
    """Return why distractors cannot be written for the pair yet, as (field, problem); empty if they can.

    A pair needs both utterances, a turn of the bot before them, and knowledge with a fact that the response does not
    use (for KGIR) and an entity that it does not name (for IECF). For a published pair there is nothing to write.
    """
    if pair.distractors:
        return []
    problems = [
        (name, f"The {kind} last utterance is not written yet.")
        for name, kind in zip(UTTERANCES, ("hard", "easy"), strict=True)
        if not normalised(getattr(pair, name))
    ]
    if not pair.before:
        problems.insert(0, (BOT_TURN, "The source has one turn, the User's: what the Bot says to it is missing."))
    if normalised(pair.hard_utterance) and normalised(pair.hard_utterance) == normalised(pair.easy_utterance):
        problems.append(("easy_utterance", "The hard and the easy last utterance are the same."))
    if not unused_facts(pair.knowledge, pair.response):
        problems.append(("knowledge", "The knowledge has no fact that the response does not use: add one."))
    elif not other_entities(pair):
        problems.append(
            ("knowledge", "The knowledge names nothing that the response does not: add a fact on another thing.")
        )
    return problems


def unfit_pair(pair: UtterancePair) -> Problem:
    """Return why a pair that people corrected cannot be accepted; None if it can."""
    return next(((problem, name) for name, problem in problems_of(pair)), None)


def unfit_authored(record: Authored) -> Problem:
    """Return the first reason why people's distractors cannot make an item; None if there is none."""
    texts = {kind: getattr(record, kind).strip() for kind in DISTRACTOR_TYPES}
    finding = next(_rejections(record, texts), None)
    return (f"{finding.name} {finding.problem}", getattr(record, finding.name)) if finding else None


def rejected_drafts(record: Authored, drafts: Mapping[DistractorType, str]) -> Mapping[DistractorType, str]:
    """Return why drafts would be rejected, by type; missing drafts are not judged."""
    texts = {kind: text.strip() for kind, text in drafts.items() if normalised(text)}
    problems = {finding.name: finding.problem for finding in _rejections(record, texts)}
    if "IECF" in texts and (problem := _entity_problem(record, texts["IECF"])):
        problems.setdefault("IECF", problem)  # the builder can write another one, so that a doubt is enough
    return {kind: problems[kind] for kind in texts if kind in problems}


# ---- rejections ----


def _rejections(record: Authored, texts: Mapping[DistractorType, str]) -> Iterator[Finding]:
    seen = {normalised(record.response): "the response"}
    for kind, text in texts.items():
        same = seen.get(normalised(text))
        if not normalised(text):
            yield Finding(name=kind, problem="is empty", rejects=True)
        elif same is not None:
            yield Finding(name=kind, problem=f"is the same as {same}", rejects=True)
        elif kind == "IECF" and not _could_name(record, text) and (problem := _entity_problem(record, text)):
            yield Finding(name=kind, problem=problem, rejects=True)
        seen.setdefault(normalised(text), kind)


def _could_name(record: Grounded, text: str) -> bool:
    """Return whether the text has a word of the knowledge that the response lacks, be it no entity for us."""
    return bool(en.content_words(text) & new_words(record.knowledge, record.response))


def _entity_problem(record: Grounded, text: str) -> str | None:
    """Return how the text breaks the entity rule (section 2.3.4); None if it does not."""
    entities = other_entities(record)
    if any(en.names(text, entity) for entity in entities):
        return None
    return f"names nothing that the knowledge names and the response does not ({_list(entities)})"


def _list(entities: Sequence[en.Entity]) -> str:
    return ", ".join(dict.fromkeys(entity.text for entity in entities[:5])) or "there is none"


# ---- doubts, for the reviewer ----


def _likeness(record: Authored, texts: Mapping[DistractorType, str], embedder: Embedder) -> Iterator[Finding]:
    by_name: dict[str, str] = {"the response": record.response}
    by_name |= {kind: text for kind, text in texts.items() if embedder.reads(text)}
    names, words = list(by_name), [normalised(text) for text in by_name.values()]
    vectors = embedder.embed(list(by_name.values()))
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
            continue  # an expression may be short
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
    if text := texts.get("RECF"):
        subjects = [*main_entities(record), *en.entities(record.easy_utterance), *en.entities(record.response)]
        if subjects and not any(en.names(text, subject) for subject in subjects):
            yield _doubt("RECF", f"seems to name nothing of the question or the response ({_list(subjects)})")
    if (text := texts.get("IECF")) and (problem := _entity_problem(record, text)):
        yield _doubt("IECF", problem)
    expression = texts.get("COEX", "")
    if named := [entity for entity in en.entities(record.knowledge) if en.names(expression, entity)]:
        yield _doubt("COEX", f"names something of the knowledge ({_list(named)}): could it pass for an answer?")
    outside: tuple[DistractorType, ...] = ("KGUG", "RECF", "IECF")
    for kind in outside:
        if (text := texts.get(kind)) and len(new_words(text, record.knowledge)) < LEAST_NEW_WORDS:
            yield _doubt(kind, "says nothing that the knowledge does not say")


def _answers(record: Authored, text: str, embedder: Embedder) -> bool:
    """Return whether the text is closer to the response than to any unused fact of the knowledge."""
    facts = unused_facts(record.knowledge, record.response)
    if not facts or not all(map(embedder.reads, (text, record.response, *facts))):
        return False
    vectors = embedder.embed([text, record.response, *facts])
    return float(vectors[1] @ vectors[0]) > max(map(float, vectors[2:] @ vectors[0]))


def _doubt(kind: str, problem: str) -> Finding:
    return Finding(name=kind, problem=problem, rejects=False)
