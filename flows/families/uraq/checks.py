"""What an answer of the builder must meet (URAQ, appendix A.1 to A.5), on top of having the right form."""

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
from flows.scoring.number_value import number_value
from flows.scoring.qa import normalise_answer
from schemas.uraq import AnswerType, Manipulation, Step

MAX_STATEMENT_WORDS = 30
"""Appendix A.1 asks for "short, simple" statements and gives no number; twice what our prompt asks for."""
MAX_ENTITY_WORDS = 6
"""Appendix A.5: "a single entity"; the longest usual names (works, institutions) have six words."""
EMPTY = "(empty)"
"""Stands for a statement without a word, which is dropped."""

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_NEGATIONS = frozenset({"not", "no", "never", "none", "neither", "nor", "nobody", "nothing", "without"})
_DIRECTIONS = frozenset({"to", "from", "into", "with"})
"""Words without a meaning of their own that turn a sentence round: to the heart, from the heart."""
_ARTICLES = frozenset({"a", "an", "the"})
_AUXILIARIES = frozenset(
    {
        "am", "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will",
        "would", "shall", "should", "may", "might", "must",
    }
)  # fmt: skip
_PRESENT = frozenset({"am", "is", "are", "be", "been", "being", "has", "have"})
_SYMMETRIC = frozenset(
    {
        "connect", "link", "join", "meet", "border", "touch", "adjoin", "neighbour", "neighbor", "marry",
        "equal", "resemble", "match", "balance", "differ", "separate", "divide", "combine", "mix", "alternate",
        "rhyme", "same", "equivalent", "identical", "opposite", "similar", "near", "next", "close", "far",
    }
)  # fmt: skip
"""Base forms of words that hold both ways: what connects A with B connects B with A."""
_ONE_ALONE = frozenset(
    {
        "only", "sole", "alone", "first", "last", "most", "least", "best", "worst", "main", "chief",
        "principal", "official", "original", "second", "third", "fourth", "fifth", "other", "unique", "nowhere",
        "nobody", "none", "inventor", "founder", "author", "composer",
    }
)  # fmt: skip
"""Words of a predicate that can hold of one thing alone."""
_IDENTITY = re.compile(
    r"\b(?:is|are|was|were|became|remains|has|have)\s+(?:the|its|their|his|her|\w+['’]s|called|named|known)\b", re.I
)
_POSSESSIVE = re.compile(r"['’]s\b")
"""Left out where a letter is the answer: "Canada's" does not give away an S."""
_ASKS_FOR_NUMBER = re.compile(r"\b(how (many|much|old|long|tall|far|deep|high|heavy|fast|wide)|(what|which) year)\b")
_WH = frozenset(["what", "which", "who", "whom", "whose", "where", "when", "why", "how"])
_PREPOSITIONS = frozenset(
    {
        "of", "in", "on", "at", "by", "for", "to", "from", "with", "under", "into", "through", "after",
        "before", "since", "until",
    }
)  # fmt: skip
_SUBORDINATE = frozenset(["when", "where"])
"""Question words that can open a clause beside the question: "When lightning strikes, does ..."."""
_CLASSES = frozenset(
    {
        "ocean", "sea", "river", "lake", "mount", "mountain", "desert", "island", "city", "town", "country", "state",
        "republic", "kingdom", "empire", "continent", "planet", "language", "family", "element", "animal",
    }
)  # fmt: skip
"""Words for what something is, with which it is named or not: the Atlantic, the Atlantic Ocean."""


def statement_refusal(text: str) -> Drop | None:
    """Why `text` is no short single statement; None where it is one."""
    if not en.words(text) or text == EMPTY:
        return Drop("empty statement")
    if len(en.sentences(text)) != 1 or text.endswith("?"):
        return Drop("not one sentence", evidence=text)
    if en.count(text) > MAX_STATEMENT_WORDS:
        return Drop(f"longer than {MAX_STATEMENT_WORDS} words", evidence=text)
    return None


def manipulation_of(original: str, manipulated: str) -> Manipulation:
    """How a statement was made false: a negating word came or went, or something else did."""
    before, after = _NEGATIONS & en.content_words(original), _NEGATIONS & en.content_words(manipulated)
    return "negation" if bool(before) != bool(after) else "substitution"


def manipulation_problem(original: str, manipulated: str) -> tuple[str, str] | None:
    """(reason, what to do) where `manipulated` is no single false version of `original`; else None.

    A.3: a key element substituted, or a negation added. The two differ in words that carry meaning, or two
    elements have changed places (`exchanges`), and they cannot both be true (`may_both_hold`).
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
    """The words that carry meaning or direction, in base form, as often as they stand."""
    return Counter([*en.content_lemmas(text), *(word for word in en.words(text) if word in _DIRECTIONS)])


def _difference(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """How many words two texts have in common at the beginning, and behind those at the end."""
    most = min(len(one), len(other))
    start = next((place for place in range(most) if one[place] != other[place]), most)
    end = next((back for back in range(most - start) if one[-1 - back] != other[-1 - back]), most - start)
    return start, end


def exchanges(original: str, manipulated: str) -> bool:
    """Whether two elements of a statement have changed places, and that turns its sense round.

    "Sound travels faster than light" does; "The Red Sea is connected with the Mediterranean" does not, nor does
    what is only said in another order.
    """
    one, other = ([en.lemma(word) for word in en.words(text)] for text in (original, manipulated))
    most, last = _difference(one, other)
    for start, end in product(range(most + 1), range(last + 1)):
        middle, turned = one[start : len(one) - end], other[start : len(other) - end]
        for first, second in combinations(range(1, len(middle)), 2):
            between = middle[first:second]
            if turned == [*middle[second:], *between, *middle[:first]] and any(w not in en.STOP_WORDS for w in between):
                return not {*one[:start], *between, *one[len(one) - end :]} & _SYMMETRIC
    return False


def may_both_hold(original: str, manipulated: str) -> bool:
    """Whether another thing is said to have a property that several can have: both statements may be true then.

    "Copper is attracted to magnets" leaves it open that iron is. Told of a change in the subject of a sentence in the
    present, unless the property is one that only one thing can have: a highest, a first, the capital. What is said of
    the same thing in place of something else is taken to exclude it ("Honey is produced by butterflies").
    """
    if manipulation_of(original, manipulated) == "negation" or exchanges(original, manipulated):
        return False
    one, other = en.words(original), en.words(manipulated)
    start, end = _difference(one, other)
    shared = [*one[:start], *one[len(one) - end :]]
    gone, come = (" ".join(words[start : len(words) - end]) for words in (one, other))
    if number_value(gone) is not None and number_value(come) is not None:
        return False
    opening = [word for word in one[:start] if word not in _ARTICLES]
    is_subject = end > 0 and not any(_can_be_verb(word) for word in opening)
    return is_subject and not _holds_of_one(original, shared, is_singular=not gone.endswith("s"))


def carries(original: str, manipulated: str) -> Literal["number", "entity"] | None:
    """What kind of detail a pair differs in; None where it is neither a number nor a thing.

    Questions for a number or an entity can rest on such a detail. On an ability that is denied, or on a property turned
    round, little but yes or no can be asked without a riddle.
    """
    if manipulation_of(original, manipulated) == "negation" or exchanges(original, manipulated):
        return None
    one, other = en.words(original), en.words(manipulated)
    start, end = _difference(one, other)
    gone, come = one[start : len(one) - end], other[start : len(other) - end]
    if all(any(number_value(word) is not None for word in words) for words in (gone, come)):
        return "number"
    names = {word.lower() for word in re.findall(r"(?<!^)\b[A-Z]\w*", original)}
    opens_noun = not _ARTICLES.isdisjoint(one[:start][-1:]) or not _PREPOSITIONS.isdisjoint(one[:start][-1:])
    told = ([word for word in words if word not in en.STOP_WORDS] for words in (gone, come))
    is_thing = (
        not start or not names.isdisjoint(gone) or all(words and _is_noun(words[-1], opens_noun) for words in told)
    )
    return "entity" if is_thing else None


def _is_noun(word: str, opens_noun: bool) -> bool:
    """Whether a word is a noun; one that may be a verb or an adjective is where what stands before opens a noun."""
    lemmas = lemminflect.getAllLemmas(word)
    if "VERB" not in lemmas and "ADJ" not in lemmas:
        return True  # what the dictionary lacks is a name
    return opens_noun and "NOUN" in lemmas


def _can_be_verb(word: str) -> bool:
    return word in _AUXILIARIES or "VERB" in lemminflect.getAllLemmas(word)


def _holds_of_one(statement: str, said: Sequence[str], *, is_singular: bool) -> bool:
    """Whether what is said can hold of one thing alone, or happened once."""
    if _IDENTITY.search(statement) or any(word in _ONE_ALONE or _is_superlative(word) for word in said):
        return True
    return any(
        _is_past(word, is_singular=is_singular) and not (place and said[place - 1] in _PRESENT)
        for place, word in enumerate(said)
    )


def _is_superlative(word: str) -> bool:
    return word.endswith("est") and any(lemma != word for lemma in lemminflect.getAllLemmas(word).get("ADJ", ()))


def _is_past(word: str, *, is_singular: bool) -> bool:
    """Whether the word is the past of a verb, and with its subject no form of the present."""
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


def type_of(answer: str) -> AnswerType:
    """The type that an answer's own form gives it."""
    return "number" if is_number(answer) else "boolean" if is_boolean(answer.lower()) else "entity"


def is_yes_no_question(question: str) -> bool:
    """Whether the last sentence asks for yes or no.

    The first clause that opens as a question tells: with an auxiliary verb, or with a question word. A clause that
    opens with when or where and goes on without an auxiliary ("When lightning strikes, does ...") is beside the
    question. Where no clause opens so, an auxiliary without any question word tells.
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


def question_problem(
    question: str, answer_type: AnswerType, answer_original: str, answer_manipulated: str
) -> tuple[str, str] | None:
    """(reason, what to do) where the answers do not fit the question; else None.

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


def steps_problem(question: str, steps: Sequence[Step], answer_type: AnswerType) -> tuple[str, str] | None:
    """(reason, what to do) where a step changes nothing (A.4: each is a reasoning step); else None.

    What can be told: a step that reads off what the question says, that says again what another step says,
    that concludes the same from both statements for no use, or that only puts a comparison's outcome as yes or no.
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
            found = not same and plain and step.kind == "recall"
            if found and (step.original, step.manipulated) == (other.original, other.manipulated):
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
    """Whether a reply to a single-hop question gives its answer, as a person would judge it.

    More lenient than scoring (`score.is_right`), whose prompt prescribes the form: here a fact is known or not.
    A yes or no counts by its first word; a number with a unit, if it is the only one; an entity in another
    spelling, in short ("Tchaikovsky"), by another name ("USSR"), without the word for what it is ("Atlantic"), or
    with something beside it.
    """
    if is_refusal(reply):
        return False
    if is_boolean(answer.casefold()):
        said = re.match(r"\W*(yes|no|true|false)\b", reply.casefold())
        return said is not None and (said[1] in ("yes", "true")) == (answer.casefold() == "yes")
    if number_value(answer) is not None or number_value(reply) is not None:
        return len(values := _numbers_in(reply)) == 1 and values == _numbers_in(answer)
    told, wanted = _telling(reply), _telling(answer)
    if told == wanted or "".join(told).removesuffix("s") == "".join(wanted).removesuffix("s"):
        return bool(told)
    return bool(en.mentions(reply, answer)) and not _NEGATIONS & set(told)


def _numbers_in(text: str) -> set[Fraction]:
    """The values of the numbers in a text, written in digits or words."""
    if (whole := number_value(text)) is not None:
        return {whole}
    return {value for word in re.findall(r"[\w.,]*\w", text) if (value := number_value(word)) is not None}


def _telling(name: str) -> list[str]:
    """The words that tell one name from another, in base form."""
    words = [word for word in en.content_lemmas(name) if word != "one"]
    return [word for word in words if word not in _CLASSES] or words
