"""Proves of LV-Eval's finished rows that each is what it claims.

The verifier shares nothing with the builder but the schemas, the language, the scorer's words and the list of
datasets. It computes everything again with its own code. It reads rows one at a time and forgets a context before
the next: to compare the levels of a pair, it keeps checksums.
"""

from flows.families.lveval.verify.contexts import verify_contexts
from flows.families.lveval.verify.facts import verify_facts
from flows.families.lveval.verify.origins import verify_against_sources, verify_sources
from flows.families.lveval.verify.parts import (
    verify_conflicts,
    verify_documents,
    verify_keywords,
    verify_pairs,
    verify_replacements,
)

__all__ = [
    "verify_against_sources",
    "verify_conflicts",
    "verify_contexts",
    "verify_documents",
    "verify_facts",
    "verify_keywords",
    "verify_pairs",
    "verify_replacements",
    "verify_sources",
]
