"""Whether a rewritten evidence is the old one with another answer in the answer's place (section 3.1)."""

import re
from collections.abc import Callable, Sequence

from flows.families.reeval.checks.edits import compare
from flows.language import Language, language_of
from flows.language.agreement import contradiction, foreign_number, unexplained
from flows.language.quotes import holds
from flows.llm.model import Problem
from schemas.base import odd_character

MOST_UNEXPLAINED, MOST_UNEXPLAINED_WORDS = 0.02, 6
"""Share of the evidence's words that may change though the swap does not explain it, and how many at the most."""

_ARTICLE = re.compile(r"\b([Aa]n?)\s+$")


def swap_problem(
    language_code: str, old: str, answer: str, aliases: Sequence[str], alternative: str, new: str
) -> Problem:
    """Why `new`, as `edits.restored` gives it, is not the evidence `old` with `alternative` in the answer's place."""
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
    """Why the differences between the two texts are not those that the new answer asks for."""
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
    """An invisible sign that came with a rewrite: a control or format character, a blank, a line break."""
    for sign in sorted(sign for sign in set(new) - {" "} if sign.isspace() or odd_character(sign)):
        if new.count(sign) > old.count(sign):
            return sign
    return "  " if new.count("  ") > old.count("  ") else None


def _left_over(language: Language, text: str, answer: str, aliases: Sequence[str], alternative: str) -> str | None:
    """A mention of the old answer that is no part of a mention of the new one."""
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
