"""Which changes of a scorer and of a task make another fingerprint, and which do not."""

import re
from typing import Any

import pytest
import yaml

from flows.families import family_names, load_family
from flows.project.evaluated import dialogue_fingerprints
from flows.release.fingerprints import task_fingerprint
from flows.scoring.shipped import scorer_fingerprint, shipped_scorer

SCORER = '''
"""Scores."""
import json

MOST = 3
"""Tries."""


def score(text: str) -> float:
    """A share."""
    return float(len(text) < MOST)  # of all
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# of all", "# of everything"),
        ('"""Scores."""', '"""Scores replies."""'),
        ('"""Tries."""', ""),
        ("A share.", "From 0 to 1."),
        ("float(len(text) < MOST)", "(float(\n        len(text) < MOST))"),
        ("MOST = 3", "MOST=3"),
    ],
)
def test_comments_docstrings_and_layout_are_no_other_scorer(old: str, new: str) -> None:
    changed = SCORER.replace(old, new)
    assert changed != SCORER
    assert scorer_fingerprint(changed) == scorer_fingerprint(SCORER)


@pytest.mark.parametrize(
    ("old", "new"), [("MOST = 3", "MOST = 4"), ("MOST = 3", "MOST = 3.0"), ("<", "<="), ("float(", "int(")]
)
def test_other_code_is_another_scorer(old: str, new: str) -> None:
    assert scorer_fingerprint(SCORER.replace(old, new, 1)) != scorer_fingerprint(SCORER)


def test_scorers_of_families_differ_and_comments_in_them_do_not_count() -> None:
    families = [load_family(name) for name in family_names()]
    texts = {family.name: shipped_scorer(family.folder) for family in families if family.evaluation.scorer}
    prints = {name: scorer_fingerprint(text) for name, text in texts.items()}
    assert len(set(prints.values())) == len(prints) >= 4
    for name, text in texts.items():
        assert scorer_fingerprint(re.sub(r"^def ", "# A function.\ndef ", text, flags=re.MULTILINE)) == prints[name]


TASK: dict[str, Any] = {
    "task": "touchstone-toy",
    "metadata": {"version": "1.0.0"},
    "dataset_path": "acme/toy",
    "dataset_kwargs": {"revision": "1.0.0"},
    "description": "Answer.",
    "doc_to_text": "{{ question }}",
    "generation_kwargs": {"max_gen_toks": 64, "until": []},
    "metric_list": [{"metric": "accuracy"}],
}


def fingerprint(**changes: Any) -> str:
    text = yaml.safe_dump({**TASK, **changes}) + "process_results: !function toy.process_results\n"
    name, made = task_fingerprint(text)
    assert name == "touchstone-toy"
    return made


def test_a_task_is_told_by_what_a_model_is_asked_not_by_where_its_rows_lie() -> None:
    assert fingerprint() == fingerprint(
        metadata={"version": "1.1.0"}, dataset_path="other/toy", dataset_kwargs={"revision": "1.1.0"}, metric_list=[]
    )
    for change in (
        {"description": "Answer briefly."},
        {"doc_to_text": "{{ question }}?"},
        {"generation_kwargs": {"max_gen_toks": 65, "until": []}},
    ):
        assert fingerprint(**change) != fingerprint()


def test_dialogues_are_told_by_the_steps_and_prompts_that_hold_them() -> None:
    family = load_family("refutebench")
    prompts = {prompt.name: prompt for prompt in family.prompts}
    told = dialogue_fingerprints(family, prompts)
    assert "ratings/rate" in told
    assert "rate_refutation" in told
    uraq = load_family("uraq")
    assert dialogue_fingerprints(uraq, {prompt.name: prompt for prompt in uraq.prompts}) == {}
