"""The words of an English text with their places, in the form that all spellings of a word share."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from flows.language.tables import lists

TOKEN = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)*[^\W\d_]*|[^\W\d_][^\W_]*(?:[\u0300-\u036f]+[^\W_]*)*")
"""A number with its thousands and decimals ("1,000.5", "1970s"), or a word without apostrophes and hyphens."""
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s*$|[\n:]\s*$|^\W*$")
_KEPT_WORDS = 65536
_NEUTRAL_IN_GAP = str.maketrans("", "", " \t\r\n\u00a0\u200b\u2009\u202f-‐‑‒–—'’‘´`\"“”")
_INITIAL = 2
"""The most letters of an initial ("Ch.")."""
_ABBREVIATED = 3
"""The most letters of a word with a full stop inside a name ("St.", "Jr.", "D.")."""


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written with spaces between them."""
    return frozenset(words.split())


def ordinal_ending(value: int) -> str:
    """ "st" of 1st, "nd" of 22nd, "th" of 13th."""
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


_LISTS = lists("en", "words")
MONTHS = _LISTS["months"]
CARDINALS = {
    word: str(value)
    for value, word in [*enumerate(_LISTS["to nineteen"]), *zip(range(20, 100, 10), _LISTS["tens"], strict=True)]
}
ORDINALS = {word: f"{value}{ordinal_ending(value)}" for value, word in enumerate(_LISTS["ordinals"], 1)}
_SPELLINGS = (
    CARDINALS
    | ORDINALS
    | {month[:3]: month for month in MONTHS if month != "may"}
    | {"sept": "september", "saint": "st", "mount": "mt"}
)


@lru_cache(_KEPT_WORDS)
def normal(word: str) -> str:
    """The form that all spellings of a word share: lower case, no accents, digits for number words.

    "Sept" equals "September", "five" equals "5", "1,000" equals "1000", "Saint" equals "St".
    """
    word = word.casefold()
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word)
        word = "".join(character for character in decomposed if not unicodedata.combining(character))
    elif word[0].isdigit():
        return word.replace(",", "")
    return _SPELLINGS.get(word, word)


class Tokens:
    """The words of a text: where each begins and ends, and its normal form."""

    __slots__ = ("ends", "normals", "starts", "text")

    def __init__(self, text: str) -> None:
        spans = [match.span() for match in TOKEN.finditer(text)]
        self.text = text
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]
        self.normals = [normal(text[start:end]) for start, end in spans]

    def __len__(self) -> int:
        return len(self.starts)

    def places(self, form: str) -> list[int]:
        """The places of the words with the normal form `form`, in order."""
        normals = self.normals
        return [place for place in range(len(normals)) if normals[place] == form] if form in normals else []

    def word(self, place: int) -> str:
        """The word at `place` as written; empty outside the text."""
        return self.text[self.starts[place] : self.ends[place]] if 0 <= place < len(self.starts) else ""

    def gap(self, place: int) -> str:
        """Return the text between the word at `place` and the next; after the last word, or (-1) before the first."""
        start = self.ends[place] if place >= 0 else 0
        end = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.text)
        return self.text[start:end]

    def capitalised(self, place: int) -> bool:
        return 0 <= place < len(self.starts) and self.text[self.starts[place]].isupper()

    def adjacent(self, place: int) -> bool:
        """True if only white space separates the word at `place` from the next."""
        return 0 <= place < len(self.starts) - 1 and self.gap(place).isspace()

    def before(self, place: int) -> str:
        """The word before the one at `place`, in lower case; empty if more than white space separates them."""
        return self.word(place - 1).lower() if self.adjacent(place - 1) else ""

    def after(self, place: int) -> str:
        """The word after the one at `place`, in lower case; empty if more than white space separates them."""
        return self.word(place + 1).lower() if self.adjacent(place) else ""

    def joins_name(self, place: int) -> bool:
        """True if a name can go on after the word: white space, a hyphen, or a full stop after an initial follows."""
        gap = self.gap(place)
        return gap.isspace() or gap == "-" or (gap.strip() == "." and self.ends[place] - self.starts[place] <= _INITIAL)

    def stretches(self, end: Callable[["Tokens", int], int | None]) -> Iterator[tuple[int, int]]:
        """Yield the first and last word of each stretch; `end` gives the last word of one from where it begins."""
        place = 0
        while place < len(self):
            last = end(self, place)
            if last is not None:
                yield place, last
            place = 1 + (place if last is None else last)

    def opens_sentence(self, place: int) -> bool:
        """True if a sentence begins with the word at `place`."""
        if place <= 0:
            return True
        gap = self.gap(place - 1)
        if gap == " " or not SENTENCE_END.search(gap):
            return False
        ended = self.ends[place - 1] - self.starts[place - 1]
        return "\n" in gap or not gap.lstrip().startswith(".") or ended > 1


@lru_cache(256)
def tokens(text: str) -> Tokens:
    """The words of `text`; the last texts are cached, since several questions in a row concern the same text."""
    return Tokens(text)


@lru_cache(_KEPT_WORDS)
def gap_fits(gap: str, wanted: str, before: str, after: str) -> bool:
    """True if `gap` joins the words `before` and `after` of a text as `wanted` joins those of a phrase.

    White space, hyphens and quotation marks do not count; a full stop counts unless it follows a
    short word; a comma may be missing, or be added beside a number. A blank line separates everything.
    """
    if gap == wanted or (gap == " " and wanted == " "):
        return True
    if gap.count("\n") > 1:
        return False
    actual, asked = gap.translate(_NEUTRAL_IN_GAP), wanted.translate(_NEUTRAL_IN_GAP)
    if "." in asked or len(before) <= _ABBREVIATED:
        actual, asked = actual.replace(".", ""), asked.replace(".", "")
    if "," in asked or before[:1].isdigit() or after[:1].isdigit():
        actual, asked = actual.replace(",", ""), asked.replace(",", "")
    return actual == asked
