"""Proves that replacement was applied throughout, and can be undone."""

import re
from collections.abc import Iterator, Sequence

from flows.families.lveval.verify.case import Case
from flows.families.lveval.verify.search import SearchableTexts
from flows.families.lveval.verify.texts import BORDER, around
from flows.language import Language, keywords
from flows.language.other_names import other_names
from schemas.lveval import Rule

_YEAR_AFTER = re.compile(r",? [12]\d{3}\b")


def rule_problems(rules: Sequence[Rule], code: str) -> Iterator[str]:
    """Check that the rules can be undone: none leads to another, and no two to the same in any case."""
    for problem in keywords.problems([(rule.old, rule.new) for rule in rules], code):
        yield f"the rule {problem}"


def _half_renamed(rules: Sequence[tuple[str, str]], text: str, language: Language, code: str) -> Iterator[str]:
    """Yield the forms and other names of a keyword that were not replaced; `text` is before replacement."""
    edits = [(edit.start, edit.end) for edit in keywords.replacer(rules, code).edits(text)]
    for old, new in rules:
        for mention in language.mentions(text, old):
            dated = mention.form == "part" and _YEAR_AFTER.match(text, mention.end)
            if not dated and not any(start < mention.end and mention.start < end for start, end in edits):
                form = text[mention.start : mention.end]
                yield f"{old!r} is replaced by {new!r}, and {form!r} is left: {around(text[mention.start :], form)}"
                break
        for begin, stop in other_names(text, old, code):
            if not any(start < stop and begin < end for start, end in edits):
                yield f"{old!r} is replaced by {new!r}, and its other name is left: {text[begin:stop]!r}"
                break


def replacement_problems(case: Case, distracting: SearchableTexts) -> Iterator[str]:
    """Check that no keyword is left, and that every substitute stands where the rules put it."""
    row, rules = case.row, case.rules
    if not rules:
        return
    if not case.dataset.replacements:
        yield f"{case.dataset.released} replaces nothing, and the row has {len(rules)} rules"
    olds = [old for old, _ in rules]
    concerned = dict.fromkeys(text for rule in rules for side in rule for text in distracting.holding(side))
    texts = {
        "the question": row.input,
        "the answers": BORDER.join(row.answers),
        "the answer keywords": row.answer_keywords,
        "the confusing facts": BORDER.join(row.confusing_facts),
        "the supporting documents": BORDER.join(case.text(position) for position, _ in case.of_kind("support")),
        "the distracting documents": BORDER.join(concerned),
    }
    together = BORDER.join(texts.values())
    if keywords.occurs(together, olds, case.code):
        for where, text in texts.items():
            for old in sorted(keywords.occurs(text, olds, case.code)):
                yield f"the keyword {old!r} is left in {where}"
    of_pair = [
        texts[where] for where in ("the question", "the answers", "the confusing facts", "the supporting documents")
    ]
    yield from _half_renamed(rules, case.undone(BORDER.join(of_pair)), case.language, case.code)
    if _put_again(case, together) != together:
        for where, text in texts.items():
            if (again := _put_again(case, text)) != text:
                differ = (sign != again_sign for sign, again_sign in zip(text, f"{again}\0", strict=False))
                at = next((place for place, different in enumerate(differ) if different), len(again))
                stretch = text[max(0, at - 20) : at + 40].replace(BORDER, " | ")
                yield f"a substitute in {where} was not put there by the rules: {stretch!r}"


def _put_again(case: Case, text: str) -> str:
    """Return the text with its replacements undone and done again."""
    return keywords.apply(case.undone(text), case.rules, case.code)
