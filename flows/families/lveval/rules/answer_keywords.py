"""The keywords of an answer without a model (section 3.3)."""

import random
import re

from flows.families.lveval.inputs import Keywords, ToMark
from flows.language import language_of, zh
from flows.llm.model import Invalid

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_NUMBER = re.compile(r"[0-9０-９]+(?:[.,．，][0-9０-９]+)*")


def answer_keywords(asked: ToMark, rng: random.Random) -> Keywords:
    """Return the meaningful words of the answer that are not in the question; of a quantity, the number alone."""
    language = language_of(asked.language)
    if asked.language == "zh":
        return Keywords(keywords=_chinese_keywords(asked))
    words = _WORD.findall(asked.answer)
    counted = [word for word in words if any(sign.isdigit() for sign in word)]
    if counted and language.answer_type(asked.answer, asked.question) == "number":
        return Keywords(keywords=" ".join(counted))
    asked_words = language.content_words(asked.question)
    telling = [word for word in words if language.content_words(word)]
    new = [word for word in telling if not language.content_words(word) <= asked_words]
    if telling and telling[-1] not in new:
        new = telling  # the question names the choices
    if not (chosen := new or telling or words):
        raise Invalid("no keyword", asked.answer)
    return Keywords(keywords=" ".join(chosen))


def _chinese_keywords(asked: ToMark) -> str:
    from flows.language.zh import STOP_WORDS
    from flows.language.zh.text import tagged

    numbers = _NUMBER.findall(asked.answer)
    if numbers and zh.answer_type(asked.answer, asked.question) in ("number", "date"):
        return " ".join(numbers)
    words = [word.strip() for word, _ in tagged(asked.answer)]
    words = [word for word in words if word and any(sign.isalnum() for sign in word)]
    telling = [word for word in words if word not in STOP_WORDS]
    new = [word for word in telling if word not in asked.question]
    if not (chosen := new or telling or words):
        raise Invalid("no keyword", asked.answer)
    return " ".join(chosen)
