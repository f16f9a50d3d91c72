"""What an answer of the builder must meet (URAQ, appendix A.1 to A.5), on top of having the right form."""

import re

from flows.construct.engine import Drop
from flows.language import en
from schemas.uraq import AnswerType

MAX_STATEMENT_WORDS = 30
"""Appendix A.1 asks for "short, simple" statements and gives no number; twice what our prompt asks for."""
MAX_ENTITY_WORDS = 6
"""Appendix A.5: "a single entity"; the longest usual names (works, institutions) have six words."""
EMPTY = "(empty)"
"""Stands for a statement without a word, which is dropped."""

_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_NEGATIONS = frozenset({"not", "no", "never", "none", "neither", "nor", "nobody", "nothing", "without"})
_AUXILIARIES = frozenset(
    [
        "am",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
        "shall",
        "should",
        "may",
        "might",
        "must",
    ]
)
_ASKS_FOR_NUMBER = re.compile(r"\b(how (many|much|old|long|tall|far|deep|high|heavy|fast|wide)|(what|which) year)\b")
_WH = frozenset(["what", "which", "who", "whom", "whose", "where", "when", "why", "how"])


def statement_refusal(text: str) -> Drop | None:
    """Why `text` is no short single statement; None where it is one."""
    if not en.words(text) or text == EMPTY:
        return Drop("empty statement")
    if len(en.sentences(text)) != 1 or text.endswith("?"):
        return Drop("not one sentence", evidence=text)
    if en.count(text) > MAX_STATEMENT_WORDS:
        return Drop(f"longer than {MAX_STATEMENT_WORDS} words", evidence=text)
    return None


def manipulation_problem(original: str, manipulated: str, manipulation: str) -> tuple[str, str] | None:
    """(reason, what to do) where `manipulated` is no single false version of `original`; else None.

    A.3: a key element substituted, or a negation added. The two differ in words that carry meaning: in
    negation a negating word comes or goes; in substitution words go and others come in their place, and
    no negation changes. Words in another order, or another form of the same words, are a paraphrase.
    """
    if not manipulated.strip() or len(en.sentences(manipulated)) != 1:
        return "manipulated statement is not one sentence", "write exactly one sentence"
    before, after = en.content_words(original), en.content_words(manipulated)
    if before == after:
        return "manipulated statement is a paraphrase", "change a word that carries meaning"
    negated = bool(before & _NEGATIONS) != bool(after & _NEGATIONS)
    if manipulation == "negation" and not negated:
        return "manipulation is not a negation", "no negating word was added or taken away"
    if manipulation == "substitution" and (negated or not before - after or not after - before):
        return "manipulation is not a substitution", "replace one element by another, and negate nothing"
    if len(before - after) > max(3, len(before) // 2):
        return "manipulated statement changes too much", "change one key element and keep every other word"
    return None


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
    """Whether a clause of the last sentence opens with an auxiliary verb and none with a question word."""
    last = (en.sentences(question) or [""])[-1]
    openings = [clause.split()[0].lower() for clause in re.split(r"[,;:]", last) if clause.split()]
    return any(word in _AUXILIARIES for word in openings) and not any(word in _WH for word in openings)


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
    if answers[0].casefold() == answers[1].casefold() or (
        answer_type == "number" and float(answers[0].replace(",", "")) == float(answers[1].replace(",", ""))
    ):
        return "answers are the same", "the two statements must lead to different answers"
    if (answer_type == "boolean") != is_yes_no_question(question):
        return "answers do not fit the question", f"the question does not ask for a {answer_type}"
    if answer_type == "entity" and _ASKS_FOR_NUMBER.search(question.lower()):
        return "answers do not fit the question", "the question asks for a number"
    if answer_type == "entity":
        for answer in answers:
            if en.contains(question, answer):
                return "question contains an answer", f"the question must not contain {answer!r}"
    return None
