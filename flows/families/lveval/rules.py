"""LV-Eval without a model: facts, rules and keywords out of what a dataset's other pairs say. A floor to start from.

Nothing here answers a question: `answer_unaided` has no rule. What cannot be done soundly is refused.
"""

import random

from flows.families.lveval.prompts import ConfusingFacts, ToConfuse
from flows.families.lveval.renaming import answer_keywords, replacement_rules
from flows.llm.model import Invalid, RuleSet


def confusing_facts(asked: ToConfuse, rng: random.Random) -> ConfusingFacts:
    """Section 3.2.2, by `parallels.py`; an empty text where one is not to be had."""
    if not asked.subject_facts and not asked.object_facts:
        raise Invalid("nothing parallel to be said", asked.fact)
    return ConfusingFacts(
        subject=next(iter(asked.subject_facts), ""),
        object=next((fact for fact in asked.object_facts if fact not in asked.subject_facts[:1]), ""),
    )


RULES: RuleSet = {
    "confusing_facts": confusing_facts,
    "replacement_rules": replacement_rules,
    "answer_keywords": answer_keywords,
}
