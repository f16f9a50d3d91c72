"""Proves that only the supporting documents answer the question, and that keywords were replaced throughout."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from flows.families.lveval.datasets import Dataset
from flows.families.lveval.verify.case import BORDER, Case, around, plain, says_something, short, yes_or_no
from flows.families.lveval.verify.search import SearchableTexts
from flows.language import Language, keywords, language_of
from flows.language.boundaries import boundaries
from flows.language.other_names import other_names
from flows.scoring.words import WORDS, released_blacklist
from schemas.lveval import Rule

_YEAR_AFTER = re.compile(r",? [12]\d{3}\b")


def answer_problems(case: Case, distracting: SearchableTexts) -> Iterator[str]:
    """Check that the supporting documents answer the question, and that nothing else does."""
    row = case.row
    if not any(map(says_something, row.answers)):
        yield "it has no answer"
    elif row.answer_test == "none":
        if not all(map(yes_or_no, row.answers)):
            yield f"nothing was made sure of its answer, though {row.answers[0]!r} is no yes or no"
    else:
        supports = [case.text(position) for position, _ in case.of_kind("support")]
        if not any(case.language.contains(text, answer) for text in supports for answer in row.answers):
            yield f"no supporting document holds the answer {row.answers[0]!r}"
        asked = _asked(case) if row.answer_test == "with-question-word" else None
        for answer in dict.fromkeys(row.answers):
            if not yes_or_no(answer):
                yield from _answered_elsewhere(answer, asked, case, distracting)


def _answered_elsewhere(
    answer: str, asked: frozenset[str] | None, case: Case, distracting: SearchableTexts
) -> Iterator[str]:
    """Yield the confusing facts that contain the answer, and the first distracting document that answers."""
    for fact in case.row.confusing_facts:
        if case.language.contains(fact, answer):
            yield f"the confusing fact {short(fact)} holds the answer {answer!r}"
    for text in distracting.holding(answer):
        if not _answer_stands(text, answer, case):
            continue
        if asked is None:
            yield f"the answer {answer!r} stands in a distracting document: {around(text, answer)}"
            return
        if (sentence := _answering(text, answer, asked, case)) is not None:
            yield f"the answer {answer!r} stands in a distracting document with a word asked for: {sentence!r}"
            return


def _asked(case: Case) -> frozenset[str]:
    """Return the content words of the question, before replacement, that are in no answer."""
    answers = (case.language.content_words(case.undone(answer)) for answer in case.row.answers)
    return case.language.content_words(case.undone(case.row.input)).difference(*answers)


def _answering(text: str, answer: str, asked: frozenset[str], case: Case) -> str | None:
    """Return the first sentence, before replacement, that contains the answer and a word asked for."""
    text, answer, language = case.undone(text), case.undone(answer), case.language
    for start, end in pairwise((0, *boundaries(text, case.code), len(text))):
        if _answer_stands(text[start:end], answer, case) and asked & language.content_words(text[start:end]):
            return " ".join(text[start:end].split())
    return None


def _answer_stands(text: str, answer: str, case: Case) -> bool:
    """Return whether the answer occurs in a distracting text as whole words: "Neal" does not in "O'Neal"."""
    if case.code == "zh":
        return case.language.contains(text, answer)
    return bool(keywords.occurs(text, [answer], case.code))


def keyword_problems(marked: str, answer: str, dataset: Dataset) -> Iterator[str]:
    """Check that each keyword is a word of the answer."""
    if marked and not dataset.keywords:
        yield f"{dataset.released} has no answer keywords, and here they are {marked!r}"
    language = language_of(dataset.language)
    for keyword in marked.split():
        if not (language.contains(answer, keyword) if dataset.language == "en" else plain(keyword) in plain(answer)):
            yield f"the keyword {keyword!r} is no word of the answer {answer!r}"
    telling = set(WORDS[dataset.language](marked)) - released_blacklist(dataset.language)
    if marked.strip() and not telling:
        yield f"the keywords {marked!r} count for nothing: they are on the blacklist"


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
    """Check that no keyword is left, and that every substitute is where the rules put it."""
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
