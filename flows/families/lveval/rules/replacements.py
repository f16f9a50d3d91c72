"""Replacement rules without a model: a floor for people to start from (section 3.2.3)."""

import random

from flows.families.lveval.inputs import RuleList, ToRename
from flows.families.lveval.replacement_checks import rules_problem
from flows.families.lveval.rules.replacements_en import in_english
from flows.families.lveval.rules.replacements_zh import in_chinese
from flows.llm.model import Invalid
from schemas.lveval import Rule

THINGS = 3  # the most names replaced for a pair
TRIED = 6  # substitutes tried for a name


def replacement_rules(asked: ToRename, rng: random.Random) -> RuleList:
    """Replace names of the question, then of the answers, each in all its forms in the documents.

    The choices are seeded by the pair alone: the names of other pairs make no difference to them.
    """
    rng = random.Random(asked.seed)
    rules: list[Rule] = []
    texts = "\n".join((asked.question, *asked.answers, *asked.texts))
    renamed = 0
    for make in (in_chinese if asked.language == "zh" else in_english)(asked, texts):
        for _ in range(TRIED):
            made = make(rng)
            fresh = [rule for rule in made if rule.old not in {earlier.old for earlier in rules}]
            if fresh and rules_problem(asked, [*rules, *fresh]) is None:
                rules.extend(fresh)
                renamed += 1
                break
        if renamed == THINGS:
            break
    if not rules:
        raise Invalid("no name to be replaced", asked.question)
    return RuleList(rules=tuple(rules))
