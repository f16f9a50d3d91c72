"""RefuteBench without a model: evaluated model, refuter and evaluator that know plain requirements and nothing else."""

from flows.families.refutebench.rules.evaluated import respond
from flows.families.refutebench.rules.evaluator import rate_refutation, rate_task
from flows.families.refutebench.rules.refuter import check_refutation, refute
from flows.llm.model import RuleSet

RULES_VERSION = 1
"""Raised when an answer changes for the same inputs: what the rules answered before is then made again."""
RULES: RuleSet = {
    "respond": respond,
    "refute": refute,
    "check_refutation": check_refutation,
    "rate_refutation": rate_refutation,
    "rate_task": rate_task,
}
