"""ReEval without a model: span replacement and extraction by rules. A floor to measure models against.

Every rule works on the given text alone, and its output passes the same checks as a model's answer.
None answers a question: as a pivot, the rules know nothing.
"""

from flows.families.reeval.rules.enriching import condense, merge, read_passage, resolve_sentence, select_sentence
from flows.families.reeval.rules.swapping import alternative_answer, replace_answer
from flows.llm.model import RuleSet

RULES_VERSION = 2
"""Raised when an answer changes for the same inputs: what the rules answered before is then made again."""
RULES: RuleSet = {
    "alternative_answer": alternative_answer,
    "replace_answer": replace_answer,
    "select_sentence": select_sentence,
    "resolve_sentence": resolve_sentence,
    "condense": condense,
    "merge": merge,
    "read_passage": read_passage,
}
