"""The table of other wordings (`wordings.tsv`): what can be said in place of words of an answer, and where it fits."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import lemminflect

from flows.families.refutebench.requirements import word_bounds
from flows.families.refutebench.sentences import Language, language
from flows.language import en
from flows.language.en.numbers import NUMBER_WORDS
from flows.language.zh import text as zh_text

TABLE = Path(__file__).parent / "wordings.tsv"
_TAGS = {"v": ("VB", "VBZ", "VBG", "VBD", "VBN"), "n": ("NN", "NNS")}
_BEFORE_NOUNS = re.compile(r"\b(?:an?|the|this|that|these|those|our|their|its|his|her|my|your|of|no|and|or)\s+$", re.I)
_BEFORE_VERBS = re.compile(r"\b(?:to|we|they|i|you|he|she|it|can|could|will|would|may|might|must|should|not)\s+$", re.I)
_ARTICLE = re.compile(r"\b(an?)\s+$", re.IGNORECASE)
_OPENS = re.compile(r"(?:^|[.!?:\n])[\s\"'“‘(#*-]*$")
_BEFORE_PRESENT = re.compile(
    r"(?:\b(?:to|do|does|did|not|can|could|will|would|may|might|must|should|who|you)|n['’]t)\s+$", re.IGNORECASE
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+$", re.IGNORECASE)
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_SLOTS = {
    # A year is no number, and "one" is more often a pronoun.
    "number": rf"(?!one\b|(?:1[5-9]|20)\d\d\b)(?:{NUMBER_WORDS}|\d+(?:[.,]\d+)*(?: (?:thousand|million|billion))?)",
    "year": r"(?:1[5-9]|20)\d\d", "decade": r"(?:1[5-9]|20)\d0s", "month": _MONTH,
    # "About two friends" says what a story is about.
    "many": r"(?!(?:1[5-9]|20)\d\d\b)(?:\d[\d.,]*\d|(?:an?|[a-z-]+) (?:hundred|thousand|million|billion))",
    "season": "spring|summer|autumn|winter",
    "n": r"[一二两三四五六七八九十百千万\d]+", "a": "[\u4e00-\u9fff]", "x": "[^\\W\\d_a-zA-Z在当对像与和]{1,6}?",
}  # fmt: skip
"""Patterns of the slots in the table's phrases; nouns are those of the text."""
_SLOT = re.compile("<([a-z]+)>")
_TIED = re.compile("<(?:number|many|year|decade|month|season|n)>")
"""Slots whose words belong to one text, and seldom recur in another."""
_SMALL = "|".join(sorted(en.STOP_WORDS))
_ARTICLES = "the|an?|this|these|those|his|her|its|their|our|my|your"
_SHORT_NOUNS = "人书信车船树水花鱼鸟"
"""Nouns of one character; most other words of one character that can be nouns are more often something else."""


class Wording(NamedTuple):
    """Words that can be said in place of others."""

    old: str
    new: str
    use: str
    """v, n: a form of a verb or noun; p: a verb in the present; b: before a noun; - any other."""
    base: str
    """The old words as the table has them."""

    @property
    def recurs(self) -> bool:
        """Return whether another text can have the old words too."""
        return not _TIED.search(self.old)


@cache
def wordings(of: Language, focus: str) -> tuple[Wording, ...]:
    """The table of a language for words or phrases, with the forms of its verbs and nouns."""
    lines = (line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    rows = [line.split("\t") for line in lines]
    bases = [
        Wording(old, new, use, old) for code, usage, old, new, use in rows if code == of and f"{usage} usage" == focus
    ]
    # A word of its own ("existing") goes before a form of a verb.
    bases.sort(key=lambda wording: wording.use in _TAGS)
    by_words: dict[str, Wording] = {}
    for wording in (form for base in bases for form in _forms(base)):
        by_words.setdefault(wording.old, wording)
    return tuple(by_words.values())


def _forms(base: Wording) -> Iterator[Wording]:
    """A verb's or noun's wording in each of its forms; in a phrase the first word is inflected.

    A form with two replacements ("took" and "taken" for "looked") is left out: the text does not tell which it is.
    """
    if base.use not in _TAGS:
        yield base
        return
    forms: dict[str, set[str]] = defaultdict(set)
    for tag in _TAGS[base.use]:
        old, new = (_inflected(words, tag) for words in (base.old, base.new))
        if old and new:
            forms[old].add(new)
    for old, news in forms.items():
        if len(news) == 1 and old not in news:
            yield Wording(old, news.pop(), base.use, base.old)


def _inflected(words: str, tag: str) -> str:
    first, _, rest = words.partition(" ")
    inflected = next(iter(lemminflect.getInflection(first, tag)), "")
    return f"{inflected} {rest}".strip() if inflected else ""


def in_text(table: tuple[Wording, ...], text: str) -> set[Wording]:
    """The wordings of the table, with the text's own words in their slots."""
    nouns = "|".join(map(re.escape, _nouns(text)))
    usable = (wording for wording in table if nouns or "<noun>" not in wording.old)
    return {filled for wording in usable for filled in _filled(wording, text, nouns)}


def _filled(wording: Wording, text: str, nouns: str) -> Iterator[Wording]:
    """The wording with what the text has at its slots; `nouns` is a pattern of the text's nouns."""
    if "<" not in wording.old:
        yield wording
        return
    if wording.use == "b":
        leading = ""
    elif wording.old.isascii():
        leading = rf"(?:(?:{_ARTICLES}) )?(?:(?!(?:{_SMALL})\b)[a-z]+ )?"
    else:
        leading = "[\u4e00-\u9fff]{0,2}?"
    slots = _SLOTS | {"noun": rf"{leading}(?:{nouns}){'' if wording.old.isascii() else '+'}"}
    bounds = r"(?<![\w-]){}(?![\w-])" if wording.old.isascii() else "{}"
    parts = _SLOT.split(wording.old)
    pattern = "".join(f"({slots[part]})" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    for match in re.finditer(bounds.format(f"(?i:{pattern})"), text):
        old, new = match.group(), wording.new
        for slot, words in zip(parts[1::2], match.groups(), strict=True):
            new = new.replace(f"<{slot}>", words, 1)
        yield Wording(old[0].lower() + old[1:], new, "-", wording.base)


def _nouns(text: str) -> list[str]:
    """The nouns and names of a text."""
    if language(text) == "en":
        return [entity.text for entity in en.entities(text)]
    return [word for word, tag in zh_text.tagged(text) if tag[0] == "n" and (len(word) > 1 or word in _SHORT_NOUNS)]


def fits(wording: Wording, text: str) -> bool:
    """Return whether the new words can replace the old ones wherever these occur."""
    if wording.old.lower() not in text.lower():
        return False
    if not wording.old.isascii():
        bounds = word_bounds(text)
        places = (place for place in range(len(text)) if text.startswith(wording.old, place))
        return all({place, place + len(wording.old)} <= bounds for place in places)
    matches = list(re.finditer(rf"(?<![\w-]){re.escape(wording.old)}(?![\w-])", text, re.IGNORECASE))
    return bool(matches) and all(_fits_at(wording, text[: match.start()], match.group()) for match in matches)


def _fits_at(wording: Wording, before: str, old: str) -> bool:
    if old[0].isupper() and not _OPENS.search(before):
        return False  # a name
    refused = {
        "p": _BEFORE_PRESENT.search(before),
        "v": _BEFORE_NOUNS.search(before) or (" " in wording.old and _PASSIVE.search(before)),
        "n": _BEFORE_VERBS.search(before),
    }
    if refused.get(wording.use):
        return False
    article = _ARTICLE.search(before)
    return article is None or (len(article.group(1)) > 1) == (wording.new[0] in "aeiou")
