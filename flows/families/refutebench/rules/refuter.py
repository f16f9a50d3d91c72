"""The refuter by rules: it asks for other words out of a table (`wordings.py`), or for a manner that can be checked."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from flows.families.refutebench.prompts import Checked, Refutation, ToCheck, ToRefute
from flows.families.refutebench.requirements import (
    Requirement,
    conflicts,
    goes_with,
    of_style,
    parse,
    parse_all,
    same,
)
from flows.families.refutebench.rules.wordings import Wording, fits, in_text, wordings
from flows.families.refutebench.sentences import language, sentence_end
from flows.language import en, zh
from flows.llm.model import Invalid
from schemas.refutebench import TASKS

SHORT_PHRASE = 4
"""Most words (characters, in Chinese) of a phrase that another text is likely to have too."""


def refute(asked: ToRefute, rng: random.Random) -> Refutation:
    """A plain requirement that the response does not meet."""
    if asked.style:
        raise Invalid("the rules refute plainly", f"not {', '.join(asked.style)}; ask for no style rules")
    earlier = parse_all(asked.earlier)
    refused = [parse(refutation) for refutation, _ in asked.refused]
    for requirements in _candidates(asked):
        free = [
            requirement
            for requirement in requirements
            if requirement not in refused and _is_free(requirement, asked.response, earlier)
        ]
        if free:
            return Refutation(refutation=rng.choice(free).in_words(asked.standing))
    raise Invalid("no refutation found", f"nothing plain can be asked of its {asked.focus}")


def _candidates(asked: ToRefute) -> Iterator[list[Requirement]]:
    """The requirements that could be asked for, the better ones first.

    Better are words of the first sentence, which a shorter answer keeps; in a standing requirement, words that can
    recur in another text.
    """
    text = asked.response
    if asked.focus == "style":
        yield of_style(text, next(task for task in TASKS if task == asked.task))
        return
    kind: Literal["word", "phrase"] = "word" if asked.focus == "word usage" else "phrase"
    table = wordings(language(text), asked.focus)
    if asked.standing:
        table = tuple(wording for wording in table if wording.recurs)
    unmet = {wording for wording in in_text(table, text) if Requirement(kind, wording.new, wording.old).met(text) == 0}
    # No form of a word is exchanged where another form would stay.
    forms = Counter(wording.base for wording in unmet if kind == "word")
    fitting = sorted(wording for wording in unmet if forms[wording.base] <= 1 and fits(wording, text))
    first = text[: sentence_end(text)].lower()
    tongue = en if language(text) == "en" else zh

    def is_better(wording: Wording) -> bool:
        if asked.standing:
            return tongue.count(wording.old) <= SHORT_PHRASE and wording in table
        return wording.old.lower() in first

    for better in (True, False):
        yield [Requirement(kind, wording.new, wording.old) for wording in fitting if is_better(wording) is better]


def _is_free(requirement: Requirement, response: str, earlier: Sequence[Requirement]) -> bool:
    """Return whether a requirement is not met (words: nowhere), can be met, and goes with the earlier ones.

    A manner is applied before words are exchanged, so it must not remove words that are to be exchanged.
    """
    if not goes_with(requirement, earlier) or any(_takes_away(requirement, other) for other in earlier):
        return False
    after, before = requirement.apply(response), requirement.met(response)
    unmet = before < 1 if requirement.focus == "style" else before == 0
    return unmet and requirement.met(after) == 1 and all(other.met(after) >= other.met(response) for other in earlier)


def _takes_away(requirement: Requirement, earlier: Requirement) -> bool:
    left = requirement.apply(earlier.old)
    return earlier.old not in left and earlier.new not in left


def check_refutation(asked: ToCheck, rng: random.Random) -> Checked:
    """The check of a refutation that is a plain requirement; no other is understood."""
    requirement = parse(asked.refutation)
    if requirement is None:
        raise Invalid("refutation not understood", asked.refutation)
    earlier = [(number, other) for number, other in enumerate(map(parse, asked.earlier), 1) if other is not None]
    return Checked(
        met=requirement.met(asked.response) == 1,
        off_focus=requirement.focus != asked.focus,
        aspects=1,
        repeats=next((number for number, other in earlier if same(requirement, other)), 0),
        contradicts=next((number for number, other in earlier if conflicts(requirement, other)), 0),
    )
