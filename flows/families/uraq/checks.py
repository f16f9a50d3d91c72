"""Checks of the builder's answers beyond their form (URAQ, appendix A.1 to A.5)."""

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Literal

import lemminflect

from flows.construct.engine import Drop
from flows.families.uraq.score import is_refusal
from flows.language import en
from flows.language.en.tokens import word_set
from flows.llm.model import Problem
from flows.scoring.number_value import number_value
from flows.scoring.qa import normalise_answer
from schemas.uraq import AnswerType, Manipulation, Step

MAX_STATEMENT_WORDS = 30
"""Appendix A.1 asks for "short, simple" statements and gives no number; twice what our prompt asks for."""
MAX_ENTITY_WORDS = 6
"""Appendix A.5: "a single entity"; the longest usual names (works, institutions) have six words."""
EMPTY = "(empty)"
"""The text of a statement without a word, which is dropped."""

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_NEGATIONS = word_set("not no never none neither nor nobody nothing without")
_DIRECTIONS = word_set("to from into with")
"""Words without a meaning of their own that change the sense: to the heart, from the heart."""
_ARTICLES = word_set("a an the")
_AUXILIARIES = word_set("am is are was were do does did has have had can could will would shall should may might must")
_PRESENT = word_set("am is are be been being has have")
_SYMMETRIC = word_set(
    "connect link join meet border touch adjoin neighbour neighbor marry equal resemble match balance differ separate "
    "divide combine mix alternate rhyme same equivalent identical opposite similar near next close far"
)
"""Base forms of symmetric words: what connects A with B connects B with A."""
_ONE_ALONE = word_set(
    "only sole alone first last most least best worst main chief principal official original second third fourth "
    "fifth other unique nowhere nobody none inventor founder author composer"
)
"""Words of a predicate that can be true of only one thing."""
_IDENTITY = re.compile(
    r"\b(?:is|are|was|were|became|remains|has|have)\s+(?:the|its|their|his|her|\w+['’]s|called|named|known)\b", re.I
)
_POSSESSIVE = re.compile(r"['’]s\b")
"""Ignored if a letter is the answer: "Canada's" does not give away an S."""
_ASKS_FOR_NUMBER = re.compile(r"\b(how (many|much|old|long|tall|far|deep|high|heavy|fast|wide)|(what|which) year)\b")
_WH = word_set("what which who whom whose where when why how")
_PREPOSITIONS = word_set("of in on at by for to from with under into through after before since until")
_SUBORDINATE = word_set("when where")
"""Question words that can begin a clause before the question: "When lightning strikes, does ..."."""
_CLASSES = word_set(
    "ocean sea river lake mount mountain desert island city town country state republic kingdom empire continent "
    "planet language family element animal"
)
"""Class words that a name may have or lack: the Atlantic, the Atlantic Ocean."""


def statement_refusal(text: str) -> Drop | None:
    """Return why `text` is not a short single statement; None if it is."""
    if not en.words(text) or text == EMPTY:
        return Drop("empty statement")
    if len(en.sentences(text)) != 1 or text.endswith("?"):
        return Drop("not one sentence", evidence=text)
    if en.count(text) > MAX_STATEMENT_WORDS:
        return Drop(f"longer than {MAX_STATEMENT_WORDS} words", evidence=text)
    return None


def manipulation_of(original: str, manipulated: str) -> Manipulation:
    """How a statement was made false: by adding or removing a negating word, or by a substitution."""
    before, after = _NEGATIONS & en.content_words(original), _NEGATIONS & en.content_words(manipulated)
    return "negation" if bool(before) != bool(after) else "substitution"


def manipulation_problem(original: str, manipulated: str) -> Problem:
    """(reason, what to do) if `manipulated` is not a single false version of `original`; else None.

    A.3: a key element substituted, or a negation added. The two statements differ in content words, or two elements
    have changed places (`exchanges`), and they cannot both be true (`may_both_hold`).
    """
    if not manipulated.strip() or len(en.sentences(manipulated)) != 1:
        return "manipulated statement is not one sentence", "write exactly one sentence"
    before, after = _meaning(original), _meaning(manipulated)
    if before == after and not exchanges(original, manipulated):
        return "manipulated statement is a paraphrase", "it says the same; change a word that carries meaning"
    if not before & after or len(before.keys() - after.keys()) > max(3, len(before) // 2):
        return "manipulated statement changes too much", "change one key element and keep every other word"
    if may_both_hold(original, manipulated):
        return (
            "both statements can be true",
            "what is said can hold of several things, so the original may be true as well; keep the subject and change "
            "what is said of it, or negate the statement",
        )
    return None


def _meaning(text: str) -> Counter[str]:
    """The words that carry meaning or direction, in base form, with their counts."""
    return Counter([*en.content_lemmas(text), *(word for word in en.words(text) if word in _DIRECTIONS)])


def _difference(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """How many words two texts share at the beginning, and how many of the others at the end."""
    most = min(len(first), len(second))
    start = next((place for place in range(most) if first[place] != second[place]), most)
    end = next((back for back in range(most - start) if first[-1 - back] != second[-1 - back]), most - start)
    return start, end


def exchanges(original: str, manipulated: str) -> bool:
    """Return whether two elements of a statement have changed places, which reverses its sense.

    "Sound travels faster than light" does; "The Red Sea is connected with the Mediterranean" does not, nor does a mere
    change of the word order.
    """
    before, after = ([en.lemma(word) for word in en.words(text)] for text in (original, manipulated))
    most, last = _difference(before, after)
    for start, end in product(range(most + 1), range(last + 1)):
        middle, turned = before[start : len(before) - end], after[start : len(after) - end]
        for first, second in combinations(range(1, len(middle)), 2):
            between = middle[first:second]
            if turned == [*middle[second:], *between, *middle[:first]] and not en.STOP_WORDS.issuperset(between):
                return _SYMMETRIC.isdisjoint([*before[:start], *between, *before[len(before) - end :]])
    return False


def may_both_hold(original: str, manipulated: str) -> bool:
    """Return whether both statements may be true: the second gives another thing a property that several can have.

    "Copper is attracted to magnets" leaves iron open. This holds if the subject of a sentence in the present
    has changed, unless only one thing can have the property: a highest, a first, the capital. Another property of the
    same thing is taken to exclude the first ("Honey is produced by butterflies").
    """
    if manipulation_of(original, manipulated) == "negation" or exchanges(original, manipulated):
        return False
    before, after = en.words(original), en.words(manipulated)
    start, end = _difference(before, after)
    shared = [*before[:start], *before[len(before) - end :]]
    removed, added = (" ".join(words[start : len(words) - end]) for words in (before, after))
    if number_value(removed) is not None and number_value(added) is not None:
        return False
    opening = [word for word in before[:start] if word not in _ARTICLES]
    is_subject = end > 0 and not any(_can_be_verb(word) for word in opening)
    return is_subject and not _holds_of_one(original, shared, is_singular=not removed.endswith("s"))


def carries(original: str, manipulated: str) -> Literal["number", "entity"] | None:
    """The kind of detail that a pair differs in; None if it is neither a number nor a thing.

    Questions for a number or an entity can rest on such a detail. On a denied ability or a reversed property, a natural
    question asks for hardly anything but yes or no.
    """
    if manipulation_of(original, manipulated) == "negation" or exchanges(original, manipulated):
        return None
    before, after = en.words(original), en.words(manipulated)
    start, end = _difference(before, after)
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    if all(any(number_value(word) is not None for word in words) for words in (removed, added)):
        return "number"
    names = {word.lower() for word in re.findall(r"(?<!^)\b[A-Z]\w*", original)}
    if not start or not names.isdisjoint(removed):
        return "entity"
    opens_noun = before[start - 1] in _ARTICLES | _PREPOSITIONS
    content = ([word for word in words if word not in en.STOP_WORDS] for words in (removed, added))
    return "entity" if all(words and _is_noun(words[-1], opens_noun) for words in content) else None


def _is_noun(word: str, opens_noun: bool) -> bool:
    """Return whether a word is a noun; if it may be something else, whether the word before it begins a noun phrase."""
    lemmas = lemminflect.getAllLemmas(word)
    if "VERB" not in lemmas and "ADJ" not in lemmas:
        return True  # a word that the dictionary lacks is a name
    return opens_noun and "NOUN" in lemmas


def _can_be_verb(word: str) -> bool:
    return word in _AUXILIARIES or "VERB" in lemminflect.getAllLemmas(word)


def _holds_of_one(statement: str, predicate: Sequence[str], *, is_singular: bool) -> bool:
    """Return whether a predicate can be true of only one thing, or happened once."""
    if _IDENTITY.search(statement) or any(word in _ONE_ALONE or _is_superlative(word) for word in predicate):
        return True
    return any(
        _is_past(word, is_singular=is_singular) and not (place and predicate[place - 1] in _PRESENT)
        for place, word in enumerate(predicate)
    )


def _is_superlative(word: str) -> bool:
    return word.endswith("est") and any(lemma != word for lemma in lemminflect.getAllLemmas(word).get("ADJ", ()))


def _is_past(word: str, *, is_singular: bool) -> bool:
    """Return whether the word is the past of a verb and, with its subject, cannot be the present."""
    return any(
        word in (forms := lemminflect.getAllInflections(lemma, upos="VERB")).get("VBD", ())
        and (is_singular or word not in forms.get("VB", ()))
        for lemma in lemminflect.getAllLemmas(word).get("VERB", ())
    )


def is_number(answer: str) -> bool:
    """A plain number without a unit (A.5)."""
    return _NUMBER.fullmatch(answer) is not None


def is_boolean(answer: str) -> bool:
    """ "yes" or "no" (A.5)."""
    return answer in ("yes", "no")


def is_entity(answer: str) -> bool:
    """A single entity: a short phrase that is neither a number nor a boolean (A.5)."""
    words = answer.split()
    return 0 < len(words) <= MAX_ENTITY_WORDS and not is_number(answer) and answer.lower() not in ("yes", "no")


def is_yes_no_question(question: str) -> bool:
    """Return whether the last sentence asks for yes or no.

    The first clause that begins like a question (auxiliary or question word) decides. A clause that begins with
    when or where and continues without an auxiliary ("When lightning strikes, does ...") is not the question. If no
    clause begins so, it asks for yes or no if it has an auxiliary and no question word.
    """
    last = (en.sentences(question) or [""])[-1]
    for clause in re.split(r"[,;:—–]", last):
        words = en.words(clause)
        if not words:
            continue
        if words[0] in _SUBORDINATE and words[1:2] and words[1] not in _AUXILIARIES:
            continue
        if words[0] in _AUXILIARIES:
            return True
        if words[0] in _WH or (words[0] in _PREPOSITIONS and words[1:2] and words[1] in _WH):
            return False
    asked = [word for word in en.words(last) if word not in _SUBORDINATE]
    return not _WH & set(asked) and any(word in _AUXILIARIES for word in asked)


def question_problem(question: str, answer_type: AnswerType, answer_original: str, answer_manipulated: str) -> Problem:
    """(reason, what to do) if the answers do not fit the question; else None.

    The paper shows such an item itself (appendix D: a question for one of two processes, answered "no").
    """
    answers = (answer_original, answer_manipulated)
    fits = {"number": is_number, "boolean": is_boolean, "entity": is_entity}[answer_type]
    for answer in answers:
        if not fits(answer):
            return f"answer is not of type {answer_type}", f"{answer!r} is no {answer_type}; numbers carry no unit"
    if normalise_answer(answers[0]) == normalise_answer(answers[1]) or (
        answer_type == "number" and number_value(answers[0]) == number_value(answers[1])
    ):
        return "answers are the same", "the two statements must lead to different answers"
    if (answer_type == "boolean") != is_yes_no_question(question):
        return "answers do not fit the question", f"the question does not ask for a {answer_type}"
    if answer_type == "entity" and _ASKS_FOR_NUMBER.search(question.lower()):
        return "answers do not fit the question", "the question asks for a number"
    if answer_type == "entity":
        for answer in answers:
            if en.contains(_POSSESSIVE.sub("", question), answer):
                return "question contains an answer", f"the question must not contain {answer!r}"
    return None


def steps_problem(question: str, steps: Sequence[Step], answer_type: AnswerType) -> Problem:
    """(reason, what to do) if a step changes nothing (A.4: each is a reasoning step); else None.

    A program can see that a step recalls what the question says, repeats another step, needlessly concludes the same
    from both statements, or only puts the outcome of a comparison as yes or no.
    """
    for number, step in enumerate(steps, 1):
        same = step.original.strip().casefold() == step.manipulated.strip().casefold()
        plain = not is_number(step.original) and not is_boolean(step.original.strip().casefold())
        if same and plain and step.kind == "recall" and en.contains(question, step.original.strip()):
            return _idle(number, f"the question says {step.original!r} already")
        if same and plain and step.kind == "logic" and step.original == step.original.casefold():
            return _idle(number, f"it gives {step.original!r} from both statements, which nothing depends on")
        for earlier, other in enumerate(steps[: number - 1], 1):
            if step.text.strip().casefold() == other.text.strip().casefold():
                return _idle(number, f"it is step {earlier} again")
            recalls = not same and plain and step.kind == "recall"
            if recalls and (step.original, step.manipulated) == (other.original, other.manipulated):
                return _idle(number, f"it gives what step {earlier} gave")
    if answer_type == "boolean" and len(steps) > 1 and (steps[-2].kind, steps[-1].kind) == ("comparison", "logic"):
        return _idle(len(steps), "the comparison before it decides the answer; let that step give yes or no")
    return None


def _idle(number: int, why: str) -> tuple[str, str]:
    return (
        "a step changes nothing",
        f"step {number} is no inference: {why}; write the question so that it needs another",
    )


# ---- section 4.1: is a fact known? ----


def knows(reply: str, answer: str, question: str) -> bool:
    """Return whether a reply to a single-hop question gives its answer, as a person would judge it.

    More lenient than scoring (`score.is_right`), whose prompt prescribes the form. A yes or no counts by its first
    word; a number may have a unit, if it is the only number; an entity may have another spelling, a short form
    ("Tchaikovsky"), another name ("USSR"), no class word ("Atlantic"), or words around it.
    """
    if is_refusal(reply):
        return False
    if is_boolean(answer.casefold()):
        match = re.match(r"\W*(yes|no|true|false)\b", reply.casefold())
        return match is not None and (match[1] in ("yes", "true")) == (answer.casefold() == "yes")
    if number_value(answer) is not None or number_value(reply) is not None:
        return len(values := _numbers_in(reply)) == 1 and values == _numbers_in(answer)
    replied, wanted = _distinctive(reply), _distinctive(answer)
    if replied == wanted or "".join(replied).removesuffix("s") == "".join(wanted).removesuffix("s"):
        return bool(replied)
    return bool(en.mentions(reply, answer)) and _NEGATIONS.isdisjoint(replied)


def _numbers_in(text: str) -> set[Fraction]:
    """The values of the numbers in a text, written in digits or words."""
    if (whole := number_value(text)) is not None:
        return {whole}
    return {value for word in re.findall(r"[\w.,]*\w", text) if (value := number_value(word)) is not None}


def _distinctive(name: str) -> list[str]:
    """The words that distinguish a name from others, in base form."""
    words = [word for word in en.content_lemmas(name) if word != "one"]
    return [word for word in words if word not in _CLASSES] or words
