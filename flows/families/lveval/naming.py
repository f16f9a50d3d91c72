"""What replacement rules and answer keywords must meet before people see them (sections 3.2.3 and 3.3)."""

import re
from collections.abc import Sequence
from typing import Protocol

from flows.language import language_of
from flows.language.keywords import occurs, problems
from flows.llm.model import Problem
from schemas.lveval import Rule

_SENTENCE_ENDS = re.compile(r"[?!;。？！；]")


class Renamed(Protocol):
    """The texts of a pair in which names are replaced."""

    @property
    def question(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def sentences(self) -> tuple[str, ...]: ...
    @property
    def language(self) -> str: ...
    @property
    def most(self) -> int: ...


def rules_problem(asked: Renamed, rules: Sequence[Rule]) -> Problem:
    """Why these are no rules for the pair: there are none or too many, or one of them cannot be applied."""
    if not rules:
        return "no replacement rule", "write one at least"
    if len(rules) > asked.most:
        return "too many replacement rules", f"{len(rules)}, where {asked.most} are wanted at most"
    sides = [(rule.old, rule.new) for rule in rules]
    if found := problems(sides, asked.language):
        return "rules in conflict with each other", str(found[0])
    texts = "\n".join((asked.question, *asked.answers, *asked.sentences))
    there = occurs(texts, [side for rule in sides for side in rule], asked.language)
    for rule in rules:
        if problem := _rule_problem(asked, rule, there):
            return problem
    return None


def _rule_problem(asked: Renamed, rule: Rule, there: frozenset[str]) -> Problem:  # noqa: PLR0911 - one for each
    language = language_of(asked.language)
    if rule.old not in there:
        return "the keyword stands nowhere", f"{rule.old!r} must stand in question, answers or sentences"
    if rule.new in there:
        return "the substitute stands there already", f"write another for {rule.old!r} than {rule.new!r}"
    if shared := language.content_words(rule.old) & language.content_words(rule.new):
        return "keyword and substitute share a word", f"{rule.old!r} -> {rule.new!r}: {', '.join(sorted(shared))}"
    kinds = {language.answer_type(side) for side in (rule.old, rule.new)}
    if kinds & {"number", "date"}:
        return "a number or a date is replaced", f"{rule.old!r} -> {rule.new!r}"
    if 2 * len(rule.old) > len(asked.question):
        return "the keyword is most of the question", rule.old
    if _SENTENCE_ENDS.search(rule.new):
        return "the substitute ends a sentence", rule.new
    if asked.language == "en" and rule.old[:1].isupper() != rule.new[:1].isupper():
        return "keyword and substitute differ in form", f"{rule.old!r} -> {rule.new!r}: capitals"
    return None


def keywords_problem(language: str, answer: str, keywords: str) -> Problem:
    """Why these are no keywords of the answer: each is a word of it, in its order."""
    if not keywords.strip():
        return "no keyword", "mark one word of the answer at least"
    place, folded = 0, answer.casefold()
    for keyword in keywords.casefold().split():
        place = folded.find(keyword, place)
        if place < 0 or not language_of(language).contains(answer, keyword):
            return "keyword is no word of the answer", f"{keyword!r} must stand in {answer!r}, in its order"
        place += len(keyword)
    return None
