"""Chinese: characters, sentences and words; what answers name, where texts name it, and the exchange of it."""

import re

from flows.language.zh.mentions import mentions
from flows.language.zh.replace import replace
from flows.language.zh.subjects import dangling_subject
from flows.language.zh.text import normal, occurrences, tagged
from flows.language.zh.types import answer_type, gender, kind, shape, spans_of_type

__all__ = [
    "STOP_WORDS", "answer_type", "contains", "content_words", "count", "dangling_subject", "gender", "kind", "mentions",
    "replace", "sentences", "shape", "spans_of_type",
]  # fmt: skip
_STOP_WORDS = """
的 了 着 过 地 得 之 是 在 于 与 和 及 或 而 但 也 都 就 还 又 则 并 且 以 为 被 把 将 对 从 由 向 到 等
其 该 这 那 此 他 她 它 他们 她们 它们 我 我们 你 你们 您 自己 有 一个 一种 个 位 名 会 能 可以 所 者 来 去
上 下 中 里 内 后 前 时 当 因 因为 所以 如果 虽然 以及 并且 而且 但是 然而 吗 呢 吧 啊
什么 谁 哪 哪里 哪个 哪些 如何 怎么 多少 几
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that carry no meaning of their own; negations (不, 没有, 无) are not among them."""
_SENTENCE = re.compile(
    r"[^。！？；…!?;\n．]*(?:(?:．(?=[\d０-９])[^。！？；…!?;\n．]*)*)[。！？；…!?;\n．]*[”’」』）)》\"]*"
)


def count(text: str) -> int:
    """Characters of `text` that are not white space."""
    return sum(not character.isspace() for character in text)


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, each a verbatim stretch of it without its outer white space."""
    stretches = (match.group().strip() for match in _SENTENCE.finditer(text))
    return [stretch for stretch in stretches if stretch]


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, Latin ones in lower case; negations are among them."""
    words = (word.strip() for word, _ in tagged(normal(text).text))
    return frozenset(word for word in words if word not in STOP_WORDS and any(sign.isalnum() for sign in word))


def contains(text: str, phrase: str) -> bool:
    """Whether `phrase` stands in `text`; its numbers and Latin words whole, whatever the case and width."""
    return bool(occurrences(normal(text).text, normal(phrase.strip()).text))
