"""LV-Eval without a model: facts, rules and keywords out of what a dataset's other pairs say. A floor to start from.

Nothing here answers a question: `answer_unaided` has no rule. What cannot be done soundly is refused.
"""

import random

from flows.families.lveval.prompts import ConfusingFacts, ToConfuse
from flows.families.lveval.renaming import answer_keywords, replacement_rules
from flows.llm.model import Invalid, RuleSet


def confusing_facts(asked: ToConfuse, rng: random.Random) -> ConfusingFacts:
    """Section 3.2.2, by sentences of other documents as they stand there: they have no template, and make sense.

    Departure: both are facts of other documents that resemble the original, which is not changed itself.
    """
    if not asked.like:
        raise Invalid("no other subject fits", "no document says the like of another subject")
    subject = asked.like[0]
    other = next((one for one in asked.of_subject if one != subject), None)
    if other is None:
        raise Invalid("no other object fits", "no document says anything else of the subject")
    return ConfusingFacts(subject=subject, object=other)


RULES: RuleSet = {
    "confusing_facts": confusing_facts,
    "replacement_rules": replacement_rules,
    "answer_keywords": answer_keywords,
}
