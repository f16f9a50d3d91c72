"""Checks of a rewritten evidence: it is the old evidence with another answer in place of the answer (section 3.1).

The two are compared word by word: what was replaced, what else changed, and where the answer stands.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein, Opcode, Postfix, Prefix

from flows.language import Language, Mention, language_of
from flows.language.agreement import WORD, contradiction, foreign_number, unexplained
from flows.language.quotes import holds, same, tokens_of
from flows.llm.model import Problem
from schemas.base import odd_character
from schemas.reeval import AnswerPosition, Edit

MOST_UNEXPLAINED, MOST_UNEXPLAINED_WORDS = 0.02, 6
"""Share of the evidence's words that may change without the swap explaining it, and the most such words."""

_ARTICLE = re.compile(r"\b([Aa]n?)\s+$")
_STRETCHES = re.compile(r"[㐀-鿿豈-﫿]|[^㐀-鿿豈-﫿]+")


def swap_problem(
    language_code: str, old: str, answer: str, aliases: Sequence[str], alternative: str, new: str
) -> Problem:
    """Return why `new`, as `restored` gives it, is not the evidence `old` with `alternative` in place of the answer."""
    language = language_of(language_code)
    if not holds(language, new, alternative):
        return "new answer is not in the new evidence", f"the passage must hold {alternative!r}"
    if left := _left_over(language, new, answer, aliases, alternative):
        return "old answer is left in the new evidence", f"replace {left!r} as well"
    if (odd := _new_signs(old, new)) is not None:
        return "evidence changed beyond the answer", f"leave line breaks and blanks as they were: {odd!r}"
    changed = _change_problem(language_code, old, answer, tuple(aliases), alternative, new)
    if changed is not None:
        return changed
    if (wrong := contradiction(language_code, new, answer, alternative)) is not None:
        return (
            "passage does not agree with the new answer",
            f"in {wrong.place!r}, {wrong.word!r} does not fit {alternative!r}: write {wrong.should!r}",
        )
    return _article_problem(language, new, alternative)


def _change_problem(
    language_code: str, old: str, answer: str, aliases: tuple[str, ...], alternative: str, new: str
) -> Problem:
    """Return why the differences between the two texts are not those that the new answer asks for."""
    compared = compare(language_code, old, answer, aliases, new)
    if not compared.replacements:
        return "nothing was replaced", f"replace every mention of {answer!r}"
    names = " ".join((answer, *aliases))
    edits = [*compared.replacements, *compared.agreement]
    beyond = {edit: unexplained(language_code, edit.old, edit.new, names, alternative) for edit in edits}
    if sum(beyond.values()) > min(MOST_UNEXPLAINED * compared.tokens, MOST_UNEXPLAINED_WORDS):
        shown = "; ".join(f"{edit.new!r} was {edit.old!r}" for edit in edits if beyond[edit])
        return (
            "evidence changed beyond the answer",
            f"{alternative!r} does not ask for these changes, undo them: {shown}",
        )
    if (number := foreign_number(((edit.old, edit.new) for edit in edits), names, alternative)) is not None:
        return "evidence changed beyond the answer", f"{number!r} is none of the answer's numbers: leave it as it was"
    return None


def _new_signs(old: str, new: str) -> str | None:
    """An invisible character that a rewrite added: a control or format character, a blank, a line break."""
    for sign in sorted(sign for sign in set(new) - {" "} if sign.isspace() or odd_character(sign)):
        if new.count(sign) > old.count(sign):
            return sign
    return "  " if new.count("  ") > old.count("  ") else None


def _left_over(language: Language, text: str, answer: str, aliases: Sequence[str], alternative: str) -> str | None:
    """A mention of the old answer that is not part of a mention of the new answer."""
    old = language.mentions(text, answer, aliases)
    new = language.mentions(text, alternative) if old else []
    left = (mention for mention in old if not any(now.start <= mention.start and mention.end <= now.end for now in new))
    return next((text[mention.start : mention.end] for mention in left), None)


def _article_problem(language: Language, text: str, alternative: str) -> Problem:
    """The article before a mention of the new answer, if it does not agree with it."""
    article_of: Callable[[str], str] | None = getattr(language, "article", None)
    if article_of is None:
        return None
    for mention in language.mentions(text, alternative):
        article = _ARTICLE.search(text, max(0, mention.start - 4), mention.start)
        if article and article[1].lower() != article_of(text[mention.start : mention.end]):
            return "article does not agree", f"{article[1]} {text[mention.start : mention.end]}"
    return None


# ---- two versions of an evidence ----


@dataclass(frozen=True)
class Compared:
    """Two versions of an evidence side by side."""

    replacements: tuple[Edit, ...]
    """Mentions of the old answer, with their replacements."""
    agreement: tuple[Edit, ...]
    """All other differences."""
    tokens: int
    """Words and signs of the old evidence."""


class _Difference(NamedTuple):
    """A stretch of tokens that differs between the old text and the new."""

    of_mention: bool
    start: int
    end: int
    to_start: int
    to_end: int


@lru_cache(maxsize=64)
def compare(language_code: str, old: str, answer: str, aliases: tuple[str, ...], new: str) -> Compared:
    """The differences between two versions of an evidence: at the answer's mentions, and elsewhere."""
    mentions = language_of(language_code).mentions(old, answer, aliases)
    start, end, to_end = _differing(old, new, mentions)
    before, after = list(WORD.finditer(old, start, end)), list(WORD.finditer(new, start, to_end))
    mentions = [mention for mention in mentions if start <= mention.start and mention.end <= end]
    replacements: list[Edit] = []
    agreement: list[Edit] = []
    for difference in _differences(before, after, mentions):
        edit = Edit(
            old=_stretch(old, before, difference.start, difference.end),
            new=_stretch(new, after, difference.to_start, difference.to_end),
        )
        (replacements if difference.of_mention else agreement).append(edit)
    return Compared(tuple(replacements), tuple(agreement), len(WORD.findall(old)))


def restored(old: str, new: str) -> str:
    """A rewritten evidence with the old blanks, line breaks, quotation marks and dashes where the words are the same.

    Models typeset a text anew: they straighten quotation marks, and take out the blanks of tokenised text.
    """
    before, after = tokens_of(old), tokens_of(new)
    sources: dict[int, int] = {
        code.dest_start + step: code.src_start + step
        for code in Levenshtein.opcodes(*([same(token[0]) for token in side] for side in (before, after)))
        if code.tag == "equal"
        for step in range(code.src_end - code.src_start)
    }

    def gap(tokens: Sequence[re.Match[str]], text: str, place: int) -> str:
        start = tokens[place - 1].end() if place else 0
        return text[start : tokens[place].start() if place < len(tokens) else len(text)]

    sources[-1], sources[len(after)] = -1, len(before)
    pieces = []
    for place in range(len(after) + 1):
        last, this = sources.get(place - 1), sources.get(place)
        blank = gap(after, new, place)
        if last is not None and this == last + 1:
            blank = gap(before, old, this)
        elif blank and this is not None:
            blank = gap(before, old, this) or blank
        elif blank and last is not None:
            blank = gap(before, old, last + 1) or blank
        pieces.append(blank)
        if place < len(after):
            pieces.append(after[place][0] if this is None else before[this][0])
    return "".join(pieces)


def answer_position(language_code: str, evidence: str, answer: str) -> AnswerPosition | None:
    """Third of the evidence, in characters, in which the answer starts; None unless it occurs once (table 14).

    White space beside a Chinese character means nothing: "1944 年" is found in "1944年".
    """
    folded = evidence.casefold()
    stretches = [stretch.strip() for stretch in _STRETCHES.findall(answer.casefold())]
    wanted = r"\s*".join(re.escape(stretch) for stretch in stretches if stretch)
    places = [match.start() for match in re.finditer(wanted, folded)]
    if len(places) != 1:
        return None
    share = places[0] / len(folded)
    return "first" if share < 1 / 3 else "middle" if share < 2 / 3 else "last"


def _differing(old: str, new: str, mentions: Sequence[Mention]) -> tuple[int, int, int]:
    """Where the texts begin to differ, and where in each they agree again: between words, outside mentions."""
    start = old.rfind(" ", 0, int(Prefix.similarity(old, new))) + 1
    start = min([start, *(mention.start for mention in mentions if mention.start < start < mention.end)])
    end = old.find(" ", len(old) - int(Postfix.similarity(old[start:], new[start:])))
    if end < 0:
        end = len(old)
    end = max([end, *(mention.end for mention in mentions if mention.start < end < mention.end)])
    return start, end, len(new) - (len(old) - end)


def _differences(
    before: Sequence[re.Match[str]], after: Sequence[re.Match[str]], mentions: Sequence[Mention]
) -> Sequence[_Difference]:
    """Every difference, in order. A mention in which anything differs is one difference, with all that touches it."""
    opcodes = list(Levenshtein.opcodes([token.group() for token in before], [token.group() for token in after]))
    spans = [_tokens_of(before, mention) for mention in mentions]
    differences: list[_Difference] = []
    for edit in _edits(opcodes):
        this = edit
        for first, past in spans:
            inserted_beside = edit.start == edit.end and first <= edit.start <= past
            if first < past and (inserted_beside or (edit.start < past and first < edit.end)):
                begin, finish = _aligned(opcodes, first)[0], _aligned(opcodes, past - 1)[1]
                this = _joined(_Difference(True, first, past, begin, finish), edit)
        last = differences[-1] if differences else None
        touches = last is not None and this.start <= last.end and this.to_start <= last.to_end
        if last is not None and touches and last.of_mention == this.of_mention:
            this = _joined(differences.pop(), this)
        differences.append(this)
    return differences


def _joined(left: _Difference, right: _Difference) -> _Difference:
    return _Difference(
        left.of_mention,
        min(left.start, right.start),
        max(left.end, right.end),
        min(left.to_start, right.to_start),
        max(left.to_end, right.to_end),
    )


def _edits(opcodes: Sequence[Opcode]) -> Iterator[_Difference]:
    """All that differs, token by token."""
    for code in opcodes:
        start, end, to_start, to_end = code.src_start, code.src_end, code.dest_start, code.dest_end
        if code.tag == "equal":
            continue
        shared = min(end - start, to_end - to_start)
        for step in range(shared):
            yield _Difference(False, start + step, start + step + 1, to_start + step, to_start + step + 1)
        for token in range(start + shared, end):
            yield _Difference(False, token, token + 1, to_end, to_end)
        if to_start + shared < to_end:
            yield _Difference(False, end, end, to_start + shared, to_end)


def _aligned(opcodes: Sequence[Opcode], token: int) -> tuple[int, int]:
    """Start and end, in the new text, of the counterpart of a token of the old text."""
    code = next(code for code in opcodes if code.src_start <= token < code.src_end)
    place = min(code.dest_start + token - code.src_start, code.dest_end)
    return place, min(place + 1, code.dest_end)


def _tokens_of(tokens: Sequence[re.Match[str]], mention: Mention) -> tuple[int, int]:
    """The first token of a mention and the first after it."""
    start = bisect_right(tokens, mention.start, key=lambda token: token.end())
    return start, bisect_left(tokens, mention.end, key=lambda token: token.start())


def _stretch(text: str, tokens: Sequence[re.Match[str]], start: int, end: int) -> str:
    return text[tokens[start].start() : tokens[end - 1].end()] if start < end else ""
