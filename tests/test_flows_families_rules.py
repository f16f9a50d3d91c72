"""Rules whose answers change must change their version: the store would go on giving what the old ones answered."""

import pytest

from flows.families import family_names
from flows.project.models import rules_version
from tests.rule_answers import changed_answers, recorded


@pytest.mark.parametrize("family", family_names())
async def test_rules_answer_as_recorded_for_their_version(family: str) -> None:
    version, _ = recorded(family)
    again = f"`python -m tests.rule_answers {family}` records the answers"
    changed = await changed_answers(family)
    assert not changed or version != rules_version(family), (
        f"{family}: the rules answer {len(changed)} recorded inputs differently ({', '.join(sorted(set(changed)))}); "
        f"raise RULES_VERSION in flows/families/{family}/rules, then {again}"
    )
    assert version == rules_version(family), f"{family}: RULES_VERSION was raised; {again}"
