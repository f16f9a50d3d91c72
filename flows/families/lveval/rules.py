"""LV-Eval without a model: facts, rules and keywords out of what a dataset's other pairs say. A floor to start from.

Nothing here answers a question: `answer_unaided` has no rule. What cannot be done soundly is refused.
"""

import random
import re
from collections.abc import Iterator

from flows.families.lveval.confusing import fact_problem
from flows.families.lveval.pool import names
from flows.families.lveval.prompts import ConfusingFacts, ToConfuse
from flows.families.lveval.renaming import answer_keywords, replacement_rules
from flows.language import CannotReplace, language_of
from flows.llm.model import Invalid, RuleSet
from schemas.lveval import Changed

_STATED = {
    "en": re.compile(
        r"\b(is|was|are|were) (a|an|the|one|born|also|not|located|situated|known|named|called|founded|established)\b"
        r"|\b(born|died|death|birth|population|capital|first|last|only|largest|smallest|highest|oldest|youngest|most|sole)\b"
    ),
    "zh": re.compile(r"(是|为|即|又称|又名|位于|出生|生于|逝世|卒于|成立|创办|建于|人口|面积|首都|第一|最|唯一)"),
}
"""What can be said of a subject in one way only, so that saying it otherwise contradicts."""


def confusing_facts(asked: ToConfuse, rng: random.Random) -> ConfusingFacts:
    """Section 3.2.2, by sentences of other pairs' documents, which have no template.

    The first is the supporting sentence with another subject and another answer, or what is said most like
    it of something else. The second is what is said of somebody else, now of the question's subject.
    """
    subject = _first(asked, "subject", _other_subjects(asked))
    return ConfusingFacts(subject=subject, object=_first(asked, "object", _other_objects(asked), subject))


def _first(asked: ToConfuse, changes: Changed, proposals: Iterator[str], taken: str = "") -> str:
    refusal = "nothing was proposed"
    for fact in proposals:
        problem = fact_problem(asked, changes, fact)
        if problem is None and fact != taken:
            return fact
        refusal = problem[0] if problem else refusal
    raise Invalid(f"no other {changes} fits", refusal)


def _other_subjects(asked: ToConfuse) -> Iterator[str]:
    """The supporting sentence of another subject; then the sentences that are most like the question."""
    own = {one.name: one.others for one in asked.candidates}
    for name, _ in names(asked.language, asked.question):
        for other in own.get(name, ())[:6]:
            changed = _swapped(asked, asked.fact, name, other)
            if changed and (without := _without_answers(asked, changed, own)):
                yield without
    yield from asked.like


def _without_answers(asked: ToConfuse, text: str, own: dict[str, tuple[str, ...]]) -> str | None:
    """The text with another answer of its kind for each that stands in it."""
    language = language_of(asked.language)
    for answer in asked.answers:
        if language.contains(text, answer):
            others = own.get(answer, ())
            made = next((one for other in others[:6] if (one := _swapped(asked, text, answer, other))), None)
            if made is None:
                return None
            text = made
    return text


def _other_objects(asked: ToConfuse) -> Iterator[str]:
    """What other sentences say of the one that they begin with, said of the question's subject."""
    for one in asked.of_others:
        teller, sentence = one.others
        if not _STATED[asked.language].search(sentence):
            changed = _swapped(asked, sentence, teller, one.name)
            if changed:
                yield changed
    if not names(asked.language, asked.question):
        yield from reversed(asked.like)


def _swapped(asked: ToConfuse, text: str, old: str, new: str) -> str | None:
    try:
        replaced = language_of(asked.language).replace(text, old, new).text
    except CannotReplace:
        return None
    return None if replaced == text else replaced


RULES: RuleSet = {
    "confusing_facts": confusing_facts,
    "replacement_rules": replacement_rules,
    "answer_keywords": answer_keywords,
}
