"""A step of LV-Eval whose bytes change must change its version: the store would go on giving the old ones."""

from pathlib import Path

from tests.builds import hashes_of
from tests.test_flows_families_lveval_build import built, project_of

GOLDEN = {
    "pairs to_pair": (2, "3d5847d6b75c6d95"),
    "pairs prescreen": (2, "3d5847d6b75c6d95"),
    "pairs select_pairs": (3, "d120d048c0e4364d"),
    "documents to_document": (1, "4c2ab0e5f316a885"),
    "documents pool_documents": (1, "929decbc4065eaff"),
    "confusing-facts confuse": (7, "6bd7b0ba071967c3"),
    "confusing-facts part": (2, "da79e57766fbd3c8"),
    "replacements propose_rules": (6, "cd06f0f59a0f4987"),
    "conflicts find_conflicts": (5, "786c430689484e61"),
    "keywords mark_keywords": (3, "1436c619b864ef56"),
    "contexts mix_contexts": (7, "9321bb702ddb82f1"),
}
"""Part and step -> its version, and the hash of what it makes. If a hash is to change, so is the version."""


def test_no_step_changes_its_bytes_without_a_new_version(tmp_path: Path) -> None:
    project = built(project_of(tmp_path))
    assert hashes_of(project, "lveval") == GOLDEN
