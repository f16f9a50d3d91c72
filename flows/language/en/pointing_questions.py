"""Words of an English question that point at something outside it: "his manuscript", "the following"."""

import re

from flows.language import en
from flows.language.en.pointing import this, unnamed
from flows.language.en.tokens import tokens

_BARE_THIS = re.compile(
    r"\b(?:of|in|to|by|for|with|from|about|after|before|during|under|at|on)\s+(?:this|these)(?=\s*(?:[?,.;]|$)|"
    r"\s+(?:appear|happen|occur|take|took|come|came|begin|began|start|end|become|became)\w*)",
    re.IGNORECASE,
)
_AUX = r"(?:did|does|do|was|is|were|are|has|had|have|can|could|would|will|should)"
_INVERTED = re.compile(
    rf"^(?:(?:in|on|at|to|from|for|with|by|during|under|of)\s+)?(?:who|whom|whose|what|when|where|why|how|which)\b"
    rf"(?:\s+[\w'’-]+){{0,4}}?\s+{_AUX}(?:n['’]t)?\s+(he|she|his|her|that(?=\s+\w+\s+\w))\b(?!['’])",
    re.IGNORECASE,
)
""" "When did he die?", "What was her name?"; a name before the pronoun may be whom it means."""
_ASKED_OF_THIS = re.compile(
    rf"^(?:in |on |at )?(?:who|whom|what|when|where|why|how|which)\b(?:\s+[\w'’-]+){{0,2}}?\s+{_AUX}\s+th(?:is|ese)\b"
)
"""For questions without capitals, which tell no titles: "when did this case ..."; not "i go down with this ship"."""
_THINGS = re.compile(
    rf"^(?:in |on |at |from |for )?(?:who|whom|what|when|where|why|how|which)\b(?:\s+[\w'’-]+){{0,3}}?\s+{_AUX}\s+"
    r"(it|its|they|their)\b(?!.*\b(?:to|that|if|when|for|takes?|mean|cost|rain|snow|called|like)\b)",
    re.IGNORECASE,
)
""" "When was it built?"; not "how long does it take to ..."."""
_LISTED = re.compile(
    r"\b(?:which|what|one|any|all|none) of the following\b|\b(?:in|to|by|from) the (?:passage|text|article|paragraph)\b"
    r"(?=\s*[?,.]|$)|\bthe (?:former|latter|above)(?=\s*[?,.]|$)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    rf"^(?:(?:He|She|It|They|This|These|His|Her|Their|Its)\b|The [a-z]\w*(?= {_AUX.replace('(?:', '(?:may|might|')}\b))"
)
_ASKS = re.compile(r"\b(?:who|whom|whose|what|when|where|why|how|which)\b", re.IGNORECASE)


def en_question_points_outside(question: str, evidence: str) -> str | None:
    """See `flows.language.pointing.question_points_outside`."""
    capitals = any(sign.isupper() for sign in question)
    if not capitals and not _ASKS.search(question):
        return None  # a riddle: "this type of decay turns a proton into a neutron"
    pointing = _match(_LISTED, question, 0) or _match(_INVERTED, question, 1)
    if pointing is None and (capitals or _ASKED_OF_THIS.match(question)):
        pointing = _match(_BARE_THIS, question, 0) or this(question)
    if capitals and pointing is None:
        pointing = _in_sentence_case(question)
    return None if pointing is None or _is_title(question, pointing, evidence) else pointing


def _in_sentence_case(question: str) -> str | None:
    """Return the words that point outside in a question with capitals for names."""
    named = any(sign.isupper() for sign in question[1:])
    pointing = unnamed(tokens(question)) if named else _match(_THINGS, question, 1)
    if pointing is None and en.dangling_subject(question) is not None:
        return _match(_SUBJECT, question, 0)
    return pointing


def _match(pattern: re.Pattern[str], text: str, group: int) -> str | None:
    match = pattern.search(text.strip())
    return match[group] if match else None


def _is_title(question: str, pointing: str, evidence: str) -> bool:
    """True if the evidence writes the words from `pointing` on with capitals, as a title."""
    place = question.find(pointing)
    following = question[place:].split()[:3]
    titled = r"\W+".join(re.escape(word.strip("?.,")[:1].upper() + word.strip("?.,")[1:]) for word in following[:2])
    return len(following) > 1 and re.search(rf"[\w,'\"“]\s+['\"“(]*{titled}|['\"“]\s*{titled}", evidence) is not None
