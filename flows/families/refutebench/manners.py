"""Manners of an answer, such as no exclamation marks or contractions written out.

A manner is kept or not: each has a check, and a change that makes a text keep it. Both go by the words alone, in
English and Chinese.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from flows.families.refutebench.sentences import pieces
from flows.language.en.numbers import NUMBER_WORDS, value_of

Manner = Literal[
    "exclamation marks", "questions", "contractions", "stiffness", "familiar you", "brackets", "semicolons",
    "figures", "formal", "casual", "concise", "bullets",
]  # fmt: skip
"""In the order in which they are applied: the sentences of a list are final when they are put in it."""

FIGURES_ABOVE = 10
REGISTERS = Path(__file__).parent / "registers.tsv"
_EXPANDED = {
    "can't": "cannot", "won't": "will not", "shan't": "shall not", "let's": "let us", "it's": "it is",
    "that's": "that is", "there's": "there is", "here's": "here is", "what's": "what is", "who's": "who is",
    "he's": "he is", "she's": "she is", "where's": "where is", "how's": "how is",
}  # fmt: skip
_ENDINGS = {"n't": " not", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "'m": " am"}
_CONTRACTION = re.compile(
    rf"(?<![\w'’])(?:{'|'.join(_EXPANDED)}|[A-Za-z]+?(?:{'|'.join(_ENDINGS)}))(?!\w)".replace("'", "['’]"),
    re.IGNORECASE,
)
_CONTRACTED = re.compile(
    r"\b(?:(do|does|did|is|are|was|were|has|have|had|would|could|should) not|(can)not|(will) not"
    r"|(I am|(?:we|you|they) are|(?:I|we|you|they|he|she|it) will(?! not))(?= \w))\b(?! only)",
    re.IGNORECASE,
)
_QUOTED = re.compile('“[^”]*”|"[^"]*"')
_ASKING_MARKS = re.compile("[?？][!！?？]*")
_ASKING = re.compile(rf"{_ASKING_MARKS.pattern}\s*$")
_QUOTES = re.compile('["“”「」『』]')
_NUMBER = re.compile(NUMBER_WORDS, re.IGNORECASE)


class MannerRule(NamedTuple):
    """The check of a manner, and the change that makes a text keep it."""

    kept: Callable[[str], bool]
    put_on: Callable[[str], str]


def in_case_of(original: str, replacement: str) -> str:
    """Return the replacement with the capitals of the original."""
    if original[:1].isupper():
        all_capitals = len(original) > 1 and original.isupper()
        return replacement.upper() if all_capitals else replacement[:1].upper() + replacement[1:]
    return replacement


def contracts_itself(text: str) -> bool:
    """Return whether a text has contractions outside quotations: a writer is not asked to change what others say."""
    return _CONTRACTION.search(_QUOTED.sub("", text)) is not None


def _ban(forbidden: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> MannerRule:
    return MannerRule(lambda text: forbidden.search(text) is None, lambda text: forbidden.sub(replace, text))


def _write_out(match: re.Match[str]) -> str:
    word = match.group()
    plain = word.lower().replace("’", "'")
    if plain in _EXPANDED:
        return in_case_of(word, _EXPANDED[plain])
    ending = next(ending for ending in _ENDINGS if plain.endswith(ending))
    return word[: -len(ending)] + _ENDINGS[ending]


def _contract(match: re.Match[str]) -> str:
    verb, can, will, pronoun = match.groups()
    if verb:
        return f"{verb}n't"
    if can:
        return f"{can}'t"
    if will:
        return f"{will[0]}on't"
    first, _, second = pronoun.partition(" ")
    return first + {"am": "'m", "are": "'re", "will": "'ll"}[second.lower()]


def _calm(match: re.Match[str]) -> str:
    """Return a full stop for a run of exclamation marks; nothing beside another mark that ends the sentence."""
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    if before in tuple(".。…!！?？") or after in tuple(".。…!！?？"):
        return ""
    return "." if match.group()[0].isascii() else "。"


def _dash(match: re.Match[str]) -> str:
    """Return a dash for a bracket; nothing for a closing bracket before a mark, which ends the aside as well."""
    bracket = match.group().strip()
    if bracket in "(（" and match.string[: match.start()].rpartition("\n")[2] in ("", "-", "- "):
        return " " if match.string[: match.start()].endswith("-") else ""
    if bracket in ")）" and match.string[match.end() :][:1] in tuple(".,;:!?。，；：！？"):
        return ""
    return {"(": " – ", "（": "——", ")": " –", "）": "——"}[bracket]


def _stop(match: re.Match[str]) -> str:
    """Return a full stop for a semicolon; in a list, where a line has one sentence, a comma."""
    begins = (match[1] or "") + (match[2] or "")
    if match.string[: match.start()].rpartition("\n")[2].startswith("- "):
        return ("," if match.group()[0] == ";" else "，") + begins
    return ("." if match.group()[0] == ";" else "。") + begins.upper()


def _in_figures(match: re.Match[str]) -> str:
    value = value_of(tuple(match.group().replace("-", " ").split()))
    return f"{value:,.0f}" if value is not None and value > FIGURES_ABOVE else match.group()


def _has_figures(text: str) -> bool:
    return all(_in_figures(match) == match.group() for match in _NUMBER.finditer(text))


def _asks(sentence: str) -> bool:
    """Return whether a sentence is a question of the writer's own."""
    return _ASKING.search(sentence) is not None and _QUOTES.search(sentence) is None


def _without_questions(text: str) -> str:
    while any(map(_asks, pieces(text))):
        rest = "".join(sentence for sentence in pieces(text) if not _asks(sentence)).rstrip()
        text = rest if any(map(str.isalnum, rest)) else _ASKING_MARKS.sub(".", text)
    return text


def _is_list(text: str) -> bool:
    return all(sentence.startswith("- ") for sentence in pieces(text) if sentence.strip())


def _listed(text: str) -> str:
    return "\n".join(f"- {sentence.strip().removeprefix('- ')}" for sentence in pieces(text) if sentence.strip())


@cache
def register(manner: str) -> Mapping[str, str]:
    """Return the replacements that make a Chinese text formal, casual or concise, the longer ones first."""
    lines = (line for line in REGISTERS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    rows = sorted((line.split("\t") for line in lines), key=lambda row: -len(row[1]))
    return {old: new for wanted, old, new in rows if wanted == manner}


def _in_register(manner: str) -> MannerRule:
    table = register(manner)
    return _ban(re.compile("|".join(map(re.escape, table))), lambda match: table[match.group()])


MANNERS: Mapping[str, MannerRule] = {
    "exclamation marks": _ban(re.compile("[!！]+"), _calm),
    "questions": MannerRule(lambda text: not any(map(_asks, pieces(text))), _without_questions),
    "contractions": _ban(_CONTRACTION, _write_out),
    "stiffness": _ban(_CONTRACTED, _contract),
    "familiar you": _ban(re.compile("你们?"), lambda match: "您" if match.group() == "你" else "各位"),
    "brackets": _ban(re.compile(r" ?[(（]|[)）]"), _dash),
    "semicolons": _ban(re.compile(r"[;；](?:(\s*[\"“]?)([a-z]))?"), _stop),
    "figures": MannerRule(_has_figures, lambda text: _NUMBER.sub(_in_figures, text)),
    "formal": _in_register("formal"),
    "casual": _in_register("casual"),
    "concise": _in_register("concise"),
    "bullets": MannerRule(_is_list, _listed),
}
