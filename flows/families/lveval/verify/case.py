"""A row with the values that several checks need, and how the verifier reads texts."""

import hashlib
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from flows.families.lveval.datasets import Dataset
from flows.language import Language, keywords
from schemas.lveval import LongContext, Position

YES_OR_NO = frozenset(
    ("yes", "no", "是", "否", "是的", "不是", "对", "不对", "有", "没有", "能", "不能", "可以", "不可以", "会", "不会")
)
_NO_LETTERS = re.compile(r"[\W_]+")
_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ]")
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
LONGEST_SENTENCE = {"en": 60, "zh": 120}  # words (characters) by which a short context may miss its level
CLOSING = r"[\"'”’」』）)》〉\]*_]*"  # quotation marks and brackets after the end of a sentence
BORDER = "\n\0\n"  # between texts that are searched together: no phrase crosses it


def count(text: str, code: str) -> int:
    """Return the number of words; in Chinese, of characters, without white space."""
    words = text.split()
    return sum(map(len, words)) if code == "zh" else len(words)


def plain(text: str) -> str:
    """Return the text in a form that ignores case and white space."""
    return " ".join(text.split()).casefold()


def says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def yes_or_no(answer: str) -> bool:
    return plain(answer).strip(" .,!。，！") in YES_OR_NO


def short(text: str) -> str:
    return repr(textwrap.shorten(text, 60, placeholder=" ...") if " " in text[:60] else text[:60])


def around(text: str, phrase: str) -> str:
    """Return the surroundings of the phrase, or of its first word."""
    at = text.casefold().find(phrase.split(maxsplit=1)[0].casefold())
    return repr(" ".join(text[max(0, at - 30) : at + len(phrase) + 30].split()))


def listed(numbers: Iterable[int | None]) -> str:
    names = [str(number) for number in sorted(number for number in numbers if number is not None)]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def units(text: str, code: str) -> Sequence[str]:
    """Return the words of a text in lower case, or its characters: the units of shingles."""
    if code == "zh":
        return "".join(text.split())
    return text.replace("İ", "I").replace("ſ", "s").replace("’", "'").lower().replace("ς", "σ").split()


def folded(units: Sequence[str], code: str) -> str:
    """Return the form that all spellings share: no case or width, equal white space (in Chinese, no punctuation)."""
    if code == "zh":
        letters = _NO_LETTERS.sub("", str(units))
        return (letters.translate(_NARROW) if _WIDE.search(letters) else letters).lower()
    return " ".join(units)


class Span(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True)
class Case:
    """A row with the values that its checks need repeatedly."""

    row: LongContext
    dataset: Dataset
    language: Language
    spans: Sequence[Span]
    """The documents' places, each from the end of its header to the next header; a book is a single document."""
    within: Sequence[int | None]
    """For each of the row's positions, the number of the document that contains it."""

    @property
    def code(self) -> str:
        return self.dataset.language

    @cached_property
    def rules(self) -> list[tuple[str, str]]:
        """The rules that can be searched for; the others are a fault of the row."""
        sides = ((rule.old, rule.new) for rule in self.row.replacements)
        return [(old, new) for old, new in sides if says_something(old) and says_something(new)]

    def text(self, position: Position) -> str:
        return self.row.context[position.start : position.end]

    def undone(self, text: str) -> str:
        """Return the text as it was before replacement."""
        return keywords.undo(text, self.rules, self.code) if self.rules else text

    def of_kind(self, kind: str) -> list[tuple[Position, int | None]]:
        """Return the positions of a kind, each with the number of its document."""
        places = zip(self.row.positions, self.within, strict=True)
        return [(position, number) for position, number in places if position.kind == kind]
