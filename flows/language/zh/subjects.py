"""Chinese sentences that need the text before them: a pronoun, a bare demonstrative or no subject at all."""

import re

from flows.language.tables import patterns, word_list
from flows.language.zh.text import tagged

_PRONOUN = re.compile(r"(?:他们|她们|它们|他|她|它|两人|二人|双方|前者|后者)")
_POINTING = patterns("zh")["points at the subject"]
_POINTING_TIME = re.compile(r"(?:此后|其后|此前|此外|之后|随后|后来|同年|当时|其间|期间|其中|翌年|次年|同时|此时)")
_OPENING = patterns("zh")["opens a sentence"]
_INTRODUCTION = patterns("zh")["introduces a sentence"]
_TIME = re.compile(r"(?:公元前?)?\d{1,4}年代?(?:\d{1,2}月)?(?:\d{1,2}日)?[，,]?|\d{1,2}月(?:\d{1,2}日)?[，,]?")
_WHOLE_POINTING = frozenset(["该", "其", "这", "那", "此", "本"])
_DIRECTION = re.compile(r"[东西南北東]{1,2}(?:面|边|侧|部|方)?(?:起|至|临|臨|接|靠|连|連|邻|鄰|到|抵|与|與|距|濒|瀕)")
"""The extent of a road or place that is not named: "西起大莱龙铁路…"."""
_PROPERTIES = word_list("zh", "properties")
"""Words for a part of a thing; a subject that is only the part leaves open whose it is: "体长可达46.5公分"."""
_CLASSES = word_list("zh", "classes")
"""Nouns that point back if nothing identifies the thing: "球队升入俄罗斯足球超级联赛"."""
_SUBJECTLESS = word_list("zh", "subjectless")


def dangling_subject(sentence: str) -> str | None:
    """The pronoun or bare definite at the subject of `sentence` that needs the text before it; else None.

    If a sentence leaves its subject out, its first word.
    """
    text = sentence.strip()
    opening = _OPENING.match(text)
    start = opening.end() if opening else 0
    if start and (pointing := _POINTING_TIME.match(text[:start].lstrip("“「『\"'（("))):
        pronoun = _PRONOUN.match(text, start)
        return pronoun.group() if pronoun else pointing.group()
    while (match := _TIME.match(text, start) or _INTRODUCTION.match(text, start)) and match.end() < len(text):
        start = match.end()
    if start and text[start:].startswith("有"):
        return "有"
    return _at_subject(text[start:])


def _at_subject(text: str) -> str | None:
    if (bare := _PRONOUN.match(text) or _DIRECTION.match(text)) is not None:
        return bare.group()
    words = tagged(text[:24])
    if not words:
        return None
    first, tag = words[0]
    if (
        first[0] in _WHOLE_POINTING
        and _POINTING.match(text)
        and (tag[0] == "r" or first in _WHOLE_POINTING or first[0] in "该此")
    ):
        return first + words[1][0] if len(words) > 1 and len(first) < 2 and words[1][1][0] in "nq" else first
    return first if _drops_subject(words) else None


def _drops_subject(words: tuple[tuple[str, str], ...]) -> bool:
    """True if a verb comes before any noun ("毕业于…", "曾任…", "并加入…"), or a noun that leans on another."""
    first, tag = words[0]
    follows = words[1][1] if len(words) > 1 else ""
    if first in _SUBJECTLESS or (first in _PROPERTIES and follows[:1] not in ("n", "u")):
        return True
    if first in _CLASSES and follows[:1] in ("v", "d", "p", "t", "m", "a"):
        return True
    if tag[0] == "v" and tag != "vn" and first not in ("有", "是"):
        return True
    if len(words) > 1 and words[1] == ("于", "p") and not tag.startswith("nr"):
        return True
    if tag in ("d", "ad", "zg", "c") and len(words) > 1:
        return words[1][1] in ("v", "p", "d") and words[1][0] not in ("有",)
    return False
