"""The sentences of an English or Chinese answer: finding them, shortening the answer, splitting long ones."""

import re
from itertools import pairwise
from typing import Literal

from flows.language import en, zh

Language = Literal["en", "zh"]
_CLOSERS = "\"'“”’」』)）\\]"
_BOUNDARY = re.compile(
    # A full stop after a lone letter or a title ends no sentence ("U.S. leaders", "Mr. Adams").
    rf"(?:(?<!\b[A-Za-z])(?<!\b(?:Mr|Ms|Dr|St|No|vs|al))(?<!\bMrs)\.|(?<=[.!?])\.|[!?…])[{_CLOSERS}]*[ \t]+(?=[^\s–—])"
    rf"|[。！？]+[{_CLOSERS}]*[ \t]*(?=[^\s。！？–—{_CLOSERS}])"
)
_LINE_BREAKS = re.compile(r"\n+")
_JOINT = {
    "en": re.compile(
        r";\s+(?P<open>[\"“]?)(?P<next>\w)|,\s+(?P<join>but|and|so|yet)\s+"
        r"(?=(?:it|he|she|they|we|I|you|there|this|that|nobody|somebody|everybody|not)\b"
        r"|(?<=but )(?:the|a|an|its|their|now)\b)",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"[；;]\s*|，(?=但是|但|不过|然而|所以|因此|于是)|，(?P<because>因为)"),
}
_OPENING = re.compile("(?<!，)(?:虽然|尽管|即使|因为|由于|既然|如果)")
"""Words that open a sentence whose second half cannot stand alone."""


def language(text: str) -> Language:
    """Return the language: Chinese if a text has at least half as many Chinese characters as Latin letters."""
    han = len(re.findall(r"[\u4e00-\u9fff]", text))
    latin = len(re.findall(r"[A-Za-z]", text))
    return "zh" if han and 2 * han >= latin else "en"


def pieces(text: str) -> list[str]:
    """Return the sentences of a text, each with what separates it from the next."""
    ends = {match.end() for pattern in (_BOUNDARY, _LINE_BREAKS) for match in pattern.finditer(text)}
    return [text[start:end] for start, end in pairwise([0, *sorted(ends), len(text)]) if start < end]


def sentence_end(text: str) -> int:
    """Return where the first sentence of `text` ends."""
    match = _BOUNDARY.search(text)
    return match.end() if match else len(text)


def count(text: str, unit: str) -> int:
    """Return the length of a text in words (English), or in characters (Chinese)."""
    return en.count(text) if unit.endswith("words") else zh.count(text)


def cut(text: str, number: int, unit: str) -> str:
    """Return the longest beginning of `text` below `number` that ends with a sentence, or else with a word."""
    if count(text, unit) < number:
        return text
    ends = [len(match.group().rstrip()) + match.start() for match in _BOUNDARY.finditer(text)]
    ends += [match.start() for match in _LINE_BREAKS.finditer(text)]
    for end in sorted(ends, reverse=True):
        if count(text[:end], unit) < number and text[:end].strip():
            return text[:end]
    words = list(re.finditer(r"\S+" if unit == "words" else r"\S", text))
    fitting = (word.end() for word in reversed(words) if count(text[: word.end()], unit) < number)
    return text[: next(fitting, 0)]


def split_at_joints(sentence: str) -> str:
    """Return the sentence split at its joints; unchanged if it has none."""
    of = language(sentence)
    if of == "zh" and _OPENING.search(sentence):
        return sentence
    between = "\n- " if sentence.startswith("- ") else " " if of == "en" else ""

    def split(match: re.Match[str]) -> str:
        if of == "zh":
            return f"。{between}{'这是因为' if match['because'] else ''}"
        if match["join"]:
            return f".{between}{match['join'].capitalize()} "
        return f".{between}{match['open']}{match['next'].upper()}"

    return _JOINT[of].sub(split, sentence)
