"""The only importer of the families' `rules`: without them every family still runs against an endpoint."""

import importlib
import importlib.util
from types import ModuleType

from flows.construct.engine import Family
from flows.llm.model import RuleSet
from flows.llm.rules import Rules


def rules_model(family: Family, seed: int) -> Rules:
    """Return the model that answers a family's prompts by its rules, identified by their declared version."""
    return Rules(rules_of(family.name), seed, str(rules_version(family.name)))


def rules_of(family: str) -> RuleSet:
    """Return a family's rules; none if it has no `rules`."""
    module = _module_of(family)
    rules: RuleSet = module.RULES if module is not None else {}
    return rules


def rules_version(family: str) -> int:
    """Return the version of a family's rules, raised when an answer changes for the same inputs; 0 if it has none."""
    module = _module_of(family)
    version: int = module.RULES_VERSION if module is not None else 0
    return version


def _module_of(family: str) -> ModuleType | None:
    name = f"flows.families.{family}.rules"
    return importlib.import_module(name) if importlib.util.find_spec(name) is not None else None
