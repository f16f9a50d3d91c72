"""LV-Eval without a model: facts, rules and keywords made from the dataset's own texts. A floor to start from.

There is no rule for `answer_unaided`: the rules answer no questions. They refuse what they cannot do soundly.
"""

from flows.families.lveval.rules.answer_keywords import answer_keywords
from flows.families.lveval.rules.confusing_facts import confusing_facts
from flows.families.lveval.rules.replacements import replacement_rules
from flows.llm.model import RuleSet

RULES_VERSION = 2
"""Raised when an answer changes for the same inputs: what the rules answered before is then made again."""
RULES: RuleSet = {
    "confusing_facts": confusing_facts,
    "replacement_rules": replacement_rules,
    "answer_keywords": answer_keywords,
}
