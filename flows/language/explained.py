"""Answers that nothing can replace: the text explains their name, or has them only inside other names."""

import re
from collections.abc import Iterable, Sequence

from flows.language import Mention, language_of
from flows.language.en.names import classes
from flows.language.tables import patterns, word_list

_TONGUES = (
    r"(?:(?:Old|Ancient|Middle|Medieval|Late|Classical|Modern|Proto)[ -])?(?:Latin|Greek|Sanskrit|Arabic|Hebrew|"
    r"Aramaic|Persian|Turkish|French|German|English|Dutch|Spanish|Portuguese|Italian|Catalan|Norse|Danish|Swedish|Norwegian|"
    r"Finnish|Russian|Polish|Czech|Hungarian|Gaelic|Irish|Welsh|Celtic|Hindi|Urdu|Tamil|Chinese|Japanese|Korean|"
    r"Mongolian|Malay|Hawaiian|Quechua|Nahuatl|Swahili|Zulu|Mandarin|Cantonese|Germanic|Slavic)"
)
_FOREIGN = (
    r"pronunciation|pronounced|transliterat|romani[sz]ed|[ˈˌːəɪʃʒθðŋɔɛ]|"
    r"[\u0370-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""Signs of speech or of another script: "Philippe Petit (French pronunciation: ...)"."""
_NAMING = (
    r"(?<!by )(?<!of )(?<!no )means\b(?! of\b)|(?<!the )meaning\b(?! (?:that|of|he|she|it|they)\b)|literally\b|"
    r"(?:so |thus |also )?named (?:so |thus )?(?:after|for its|for their|for the|because|in hono)|"
    r"so[- ](?:called|named)\b(?= (?:because|after|for|due|since|from)|[,;.)])|short for\b|abbreviat\w+|"
    r"stands for (?=[\"“‘A-Z])|an? (?:acronym|contraction|portmanteau|abbreviation|corruption|anagram)\b|"
    r"(?:deriv(?:es|ed|ing)|comes|came|taken|borrowed|coined|originat(?:es|ed|ing)) from (?:an? |the )?"
    rf"(?:{_TONGUES}\b(?! [A-Z])|(?:word|name|term|verb|noun|root|phrase)\b)|from (?:an? )?{_TONGUES}\b(?! [A-Z])|"
    rf"from the {_TONGUES} (?:word|name|term|verb|noun|root|phrase|for|[\"“‘'])|"
    r"translat(?:es|ed|able|ing) (?:as|to|literally|roughly)\b|etymolog\w+|"
    r"(?:got|gets|took|takes|owes?|derive[sd]|received?s?) (?:its|their) name|whose name (?:means|comes|derives|is)|"
    r"(?:gave|gives|lent|lends) (?:its|his|her|their) name|after whom\b|pronounced\b|(?:also )?spell?ed\b"
)
"""Words that begin to say why something has its name."""
_LINK = (
    r"(?:which|that|who|whose|this|it|is|was|are|were|be|has|had|been|being|a|an|the|word|name|term|title|phrase|itself|"
    r"also|in|and|or|often|sometimes|usually|commonly|most|more|probably|likely|possibly|perhaps|roughly|loosely|simply|"
    rf"originally|thus|so|itself|meaning|{_TONGUES})"
)
"""Words that may stand between a name and its explanation; any other begins another statement."""
_FORWARD = re.compile(rf"[\"”’'»)]{{0,2}}\s*[,(–—]?\s*(?:{_LINK},?\s+){{0,6}}?[\"“]?(?:{_NAMING})")
_BRACKET = re.compile(
    rf"[\"”’'»]?\s*[(\[][^()\[\]]*?(?:{_FOREIGN}|(?<=[(\[;, ])(?:{_TONGUES}):|\blit(?:\.|erally)|\bmeaning\b(?! that)|"
    r"\bshort for\b|\babbreviat|\bstands for\b|\bnamed (?:for|after)\b|\bfrom the \w+ (?:word|for)\b)[^()\[\]]*[)\]]?"
)
_BACKWARD = re.compile(
    r"(?:stands? for|short for|(?:abbreviation|acronym|initials|contraction|portmanteau|anagram) (?:of|for))\s+"
    r"(?:the\s+)?[\"“‘']?$"
)
_NAMESAKE = re.compile(r"\b(?:named|called)\s+(?:so\s+)?(?:after|for|in hono\w+ of)\s+(?:[a-z]+\s+|[\"“‘']){0,5}$")
_STEM = 4
"""The first letters that a name shares with the name it comes from: "Tasmania", "Tasman"."""
_ZH_FORWARD = patterns("zh")["name and then its explanation"]
_ZH_BRACKET = patterns("zh")["name in another script"]
"""The name in another script or language, right after it."""
_ZH_BACKWARD = re.compile(r"(?:简称|缩写|全称)(?:为|是|作)?[：:]?[“「『《\"]?$")
_SHOWN = 40


def explanation(code: str, text: str, answer: str, aliases: Sequence[str] = ()) -> str | None:
    """Return the words next to a mention of the answer that explain its name or give another; else None.

    Its meaning, what it is short for or named after, its pronunciation, its name in another language: of
    another answer none of this is true. Looked for in the sentence of the mention, right before or after it.
    """
    forward, bracket, backward = (
        (_ZH_FORWARD, _ZH_BRACKET, _ZH_BACKWARD) if code == "zh" else (_FORWARD, _BRACKET, _BACKWARD)
    )
    for mention in _named(code, text, answer, aliases):
        match = bracket.match(text, mention.end) or forward.match(text, mention.end)
        if match is not None:
            return text[mention.start : match.end()]
        lead = text[max(0, mention.start - _SHOWN) : mention.start]
        if (before := backward.search(lead)) is not None or (code == "en" and _is_namesake(text, mention)):
            return lead[before.start() if before else 0 :] + text[mention.start : mention.end]
    return None


def _named(code: str, text: str, answer: str, aliases: Sequence[str]) -> Iterable[Mention]:
    if language_of(code).answer_type(answer) in ("number", "date"):
        return ()
    return (
        mention for mention in language_of(code).mentions(text, answer, aliases) if mention.form in ("full", "alias")
    )


def _is_namesake(text: str, mention: Mention) -> bool:
    """True if something is named after the answer, in the same sentence, by a word that begins like it."""
    if _NAMESAKE.search(text[max(0, mention.start - _SHOWN) : mention.start]) is None:
        return False
    start = max(text.rfind(". ", 0, mention.start), 0)
    answer_words = [word.casefold() for word in re.findall(r"[^\W\d_]+", text[mention.start : mention.end])]
    named = re.findall(r"[A-ZÀ-Þ][^\W\d_]+", text[start : mention.start])
    return any(
        len(word) >= _STEM
        and any(word.casefold()[:_STEM] == part[:_STEM] for part in answer_words if len(part) >= _STEM)
        for word in named
    )


_SAME_THING = word_list("en", "same thing")
"""Heads that do not change what a name means: the Amazon River is the Amazon."""


def only_within_names(code: str, question: str, text: str, answer: str, aliases: Sequence[str] = ()) -> str | None:
    """Return a longer name or compound with the answer in it, if the text has the answer nowhere else; else None.

    "Animation" of "Walt Disney Animation Studios", "computer" of "computer-puppeteered": the text does not say that of
    the answer. If the question asks for a thing of the longer name's kind, the longer name is the answer's own.
    """
    shown = None
    for mention in _named(code, text, answer, aliases):
        longer = _title_around(text, mention) if code == "zh" else _name_around(question, text, mention)
        if longer is None:
            return None
        shown = shown or longer
    return shown


_GOES_ON = re.compile(r" ([A-Z][a-z]+)\b")
_COMPOUND = re.compile(r"[-‐‑][a-z]+")


def _name_around(question: str, text: str, mention: Mention) -> str | None:
    name = text[mention.start : mention.end]
    if name.islower() and (joined := _COMPOUND.match(text, mention.end)) is not None:
        return f"{name}{joined[0]}"
    match = _GOES_ON.match(text, mention.end)
    if match is None or not name[:1].isupper():
        return None
    head = match[1].casefold()
    heads = classes("head")
    if head not in heads and head.removesuffix("s") not in heads:
        return None
    asked = question.casefold()
    if head in _SAME_THING or head in asked or head.removesuffix("s") in asked:
        return None
    return f"{name}{match[0]}"


def _title_around(text: str, mention: Mention) -> str | None:
    """The longer title in 《》 that a mention is a part of."""
    start, end = text.rfind("《", 0, mention.start), text.find("》", mention.end)
    if start < 0 or end < 0 or "》" in text[start : mention.start] or "《" in text[mention.end : end]:
        return None
    return None if (start + 1, end) == (mention.start, mention.end) else text[start : end + 1]
