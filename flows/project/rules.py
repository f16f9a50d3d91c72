"""The only importer of the families' `rules.py`: without them every family still runs against an endpoint."""

import importlib
import importlib.util

from flows.construct.engine import Family
from flows.llm.model import RuleSet
from flows.llm.rules import Rules
from schemas.base import content_hash


def rules_model(family: Family, seed: int) -> Rules:
    """Return the model that answers a family's prompts by its rules.

    It is identified by a hash of the family's code and tables: rules cost nothing to ask again, so after any change
    there they are asked again.
    """
    files = sorted(path for path in family.folder.rglob("*") if path.suffix in (".py", ".tsv", ".yaml"))
    code = [[str(path.relative_to(family.folder)), path.read_text(encoding="utf-8")] for path in files]
    return Rules(rules_of(family.name), seed, content_hash(code))


def rules_of(family: str) -> RuleSet:
    """Return a family's rules; none if it has no `rules.py`."""
    name = f"flows.families.{family}.rules"
    if importlib.util.find_spec(name) is None:
        return {}
    rules: RuleSet = importlib.import_module(name).RULES
    return rules
