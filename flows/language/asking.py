"""Questions whose answers stand in a text, made from its sentences by rules, without a model."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from flows.language import Asked, language_of
from flows.language.en import asking as en
from flows.language.en.naming import named_question as en_named
from flows.language.pointing import question_points_outside
from flows.language.zh import asking as zh
from flows.language.zh.naming import named_question as zh_named

__all__ = ["Asked", "asked_of", "is_named_form"]
_ASKING = {"en": en.asked_of_sentence, "zh": zh.asked_of_sentence}
_NAMED = {"en": en_named, "zh": zh_named}
_FENCE = re.compile(r"^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^(?: {4,}|\t|#|\s*\||.*\|.*\||.*\t.*\t|\s*[-=*_]{3,}\s*$|\s*$)")
"""Lines of code, headings, table rows, rules and blanks."""
_ITEM = re.compile(r"^\s*(?:[-*•·–]|\(?\d{1,2}[.)、]|\(?[a-z][.)])\s+")
_ENDED = re.compile(r"[.!?:;,。！？：；，]['\"”’)）」』]*\s*$")
_MERGED = re.compile(r"(?:(?<=[ap]\.m\.)|(?<=\d g\.)|(?<=\d\d\.)|(?<=°C\.)|(?<= [kcm][gm]\.))\s+(?=[A-Z][a-z]+ [a-z])")
"""Between English sentences of which the first ends with a unit or a time."""
_SHORT_LINE = 60
"""Characters; a shorter line without punctuation at its end is a heading, if the next begins with a capital."""


def asked_of(code: str, text: str, title: str | None = None) -> Iterator[Asked]:
    """Yield the pairs of a text in order; none whose question the text answers in two ways.

    `title` names the page: a definite that it explains ("the library") may stand in a question. If it names what the
    page is about ("Rules of the City Library"), so does each question, or it is not asked.
    """
    language, asked_of_sentence = language_of(code), _ASKING[code]
    pairs = [
        asked
        for prose in _prose(text)
        for stretch in language.sentences(prose)
        for sentence in _MERGED.split(stretch)
        for bare in _one_way(asked_of_sentence(sentence, title))
        if (asked := _named(code, bare, title)) is not None and _is_sound(code, asked)
    ]
    answers = Counter(asked.question for asked in dict.fromkeys(pairs))
    for asked in dict.fromkeys(pairs):
        if answers[asked.question] == 1:
            yield asked


def _one_way(pairs: Iterable[Asked]) -> list[Asked]:
    """The pairs of a sentence; a yes-no question only if it has no other."""
    every = list(pairs)
    return [asked for asked in every if asked.kind != "yes-no"] or every


def _named(code: str, asked: Asked, title: str | None) -> Asked | None:
    question = _NAMED[code](asked.question, title) if title else asked.question
    return None if question is None else asked._replace(question=question)


_PUT_IN = re.compile(r"(?:(?:At|In|With) )?(?:the )?[A-Z]|在.+，|使用.+，|[一-鿿]{4}")
"""How a name that is put in begins."""


def is_named_form(question: str, bare: str) -> bool:
    """Return whether a question is another with a name put in: "At the City Library, how many books ...?"."""
    whole, part = question.casefold(), bare.casefold()
    more = len(whole) - len(part)
    if more <= 0:
        return whole == part
    return any(
        whole[:at] == part[:at] and whole[at + more :] == part[at:] and _PUT_IN.match(question[at : at + more])
        for at in range(len(part))
    )


def _is_sound(code: str, asked: Asked) -> bool:
    if question_points_outside(code, asked.question, asked.sentence) is not None:
        return False
    if asked.kind == "yes-no":
        return True
    return asked.answer in asked.sentence and not language_of(code).contains(asked.question, asked.answer)


def _prose(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a text, without headings, tables and code."""
    block = ""
    for line in _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text).splitlines(keepends=True):
        item = _ITEM.match(line)
        if _NO_PROSE.match(line) and not (block and line.strip() and line.startswith("  ") and "|" not in line):
            yield block
            block = ""
        elif item is not None:
            yield block
            block = line[item.end() :]
        elif block and _is_heading(block.rstrip("\n").rpartition("\n")[2], line):
            block = line
        else:
            block += line
    yield block


def _is_heading(line: str, following: str) -> bool:
    return len(line) < _SHORT_LINE and _ENDED.search(line) is None and not following.lstrip()[:1].islower()
