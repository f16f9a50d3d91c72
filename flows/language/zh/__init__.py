"""Chinese: characters, sentences and words; the types of answers, their mentions, and their replacement."""

import re

from flows.language.tables import word_list
from flows.language.zh.mentions import mentions
from flows.language.zh.replace import replace
from flows.language.zh.subjects import dangling_subject
from flows.language.zh.text import normal, occurrences, tagged
from flows.language.zh.types import answer_type, gender, kind, shape, spans_of_type

__all__ = [
    "STOP_WORDS", "answer_type", "contains", "content_words", "count", "dangling_subject", "gender", "kind", "mentions",
    "replace", "sentences", "shape", "spans_of_type",
]  # fmt: skip
STOP_WORDS = word_list("zh", "stop words")
"""Words that carry no meaning of their own; negations (不, 没有, 无) are not among them."""
_SENTENCE = re.compile(
    r"[^。！？；…!?;\n．]*(?:(?:．(?=[\d０-９])[^。！？；…!?;\n．]*)*)[。！？；…!?;\n．]*[”’」』）)》\"]*"
)


def count(text: str) -> int:
    """Characters of `text` that are not white space."""
    return sum(not character.isspace() for character in text)


def sentences(text: str) -> list[str]:
    stretches = (match.group().strip() for match in _SENTENCE.finditer(text))
    return [stretch for stretch in stretches if stretch]


def content_words(text: str) -> frozenset[str]:
    words = (word.strip() for word, _ in tagged(normal(text).text))
    return frozenset(word for word in words if word not in STOP_WORDS and any(sign.isalnum() for sign in word))


def contains(text: str, phrase: str) -> bool:
    """True if `phrase` occurs in `text`, with its numbers and Latin words whole, in any case and width."""
    return bool(occurrences(normal(text).text, normal(phrase.strip()).text))
