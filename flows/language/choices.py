"""Questions that offer their answers: yes and no, or one of the things that they name."""

import re

from flows.language import language_of

YES_OR_NO = frozenset(
    ["yes", "no", "是", "否", "是的", "不是", "对", "不对", "有", "没有", "能", "不能", "可以", "不可以", "会", "不会"]
)
"""Answers that occur in almost any text, so that no text can be said to lack them."""
_OR = re.compile(r"\bor\b|还是|還是|或|\bbetween\b.{1,80}?\band\b", re.IGNORECASE)
NEAREST = 3
"""The most words on either side of "or" that say what it offers."""
LEAST_OFFERED = 0.5
"""Least share of the answer's words in a question that offers it."""


def is_yes_or_no(answer: str) -> bool:
    """True if the answer is a yes or a no."""
    return answer.strip(" .,!。，！").casefold() in YES_OR_NO


def is_choice(code: str, question: str, answer: str) -> bool:
    """True if a question offers answers to choose from, the right one among them: "is it in north or south goa"."""
    words = language_of(code).content_words
    return _OR.search(question) is not None and bool(words(answer) & words(question))


def other_choice(question: str, answer: str, text: str) -> str | None:
    """Return a word of the other choice that an English question offers, if the text has it; else None."""
    words = language_of("en").content_words
    answer_words = words(answer)
    connective = _OR.search(question)
    if connective is None or len(answer_words & words(question)) < max(1, LEAST_OFFERED * len(answer_words)):
        return None
    between = connective[0][:1].casefold() == "b"
    before = _in_order(connective[0] if between else question[: connective.start()])[-NEAREST:]
    after = _in_order(question[connective.end() :])[:NEAREST]
    if before and before[-1] in answer_words:
        offered = after
    elif after and answer_words.intersection(after):
        offered = before
    else:
        return None
    spoken_of = (word for word in offered if word not in answer_words and word in words(text))
    return next(spoken_of, None)


def _in_order(text: str) -> list[str]:
    words = language_of("en").content_words
    return [next(iter(meaning)) for word in text.split() if len(meaning := words(word)) == 1]
