"""A step of RefuteBench whose bytes change must change its version: the store would go on giving the old ones."""

from pathlib import Path

import pytest

from tests.builds import hashes_of
from tests.test_flows_families_refutebench_method import Speaker, held

GOLDEN = {
    "seeds make_seed": (1, "afda428c0b3c3db0"),
    "seeds choose_seeds": (1, "4f3c3a9b9fe03a1a"),
    "protocol state_protocol": (1, "85a5ea91aa8c7168"),
    "dialogues open_dialogue": (5, "a514a63aafc43659"),
    "dialogues hold_dialogue": (7, "125ecf741001f70e"),
    "ratings open_rating": (1, "783d920478d04e64"),
    "ratings rate": (1, "3be50dfd38bf96e5"),
}
"""Part and step -> its version, and the hash of what it makes. If a hash is to change, so is the version."""


@pytest.mark.slow
def test_bytes_change_with_the_version_alone(tmp_path: Path) -> None:
    project = held(tmp_path, Speaker(), refuters=["agent", "template"], unrelated=[0, 2])
    assert hashes_of(project, "refutebench") == GOLDEN
