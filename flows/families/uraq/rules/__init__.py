"""The model without a model for URAQ: statements, questions and answers computed from packaged facts.

Texts outside the table of facts are handled by surface rules if these suffice (`manipulate`, `contradict`), and
otherwise refused.
"""

from flows.families.uraq.rules.questions import answer_single_hop, answer_with_context, ask_question
from flows.families.uraq.rules.statements import contradict, manipulate, write_statements
from flows.llm.model import RuleSet

RULES_VERSION = 1
"""Raised when an answer changes for the same inputs: what the rules answered before is then made again."""
RULES: RuleSet = {
    "write_statements": write_statements,
    "manipulate": manipulate,
    "ask_question": ask_question,
    "answer_single_hop": answer_single_hop,
    "contradict": contradict,
    "answer_with_context": answer_with_context,
}
