"""A step of ReEval whose bytes change must change its version: the store would go on giving the old ones."""

from pathlib import Path
from random import Random

from flows.families.reeval.prompts import (
    Alternative,
    Passage,
    Reading,
    Replaced,
    Sentence,
    ToAlter,
    ToCondense,
    ToMerge,
    ToRead,
    ToReplace,
    ToResolve,
    ToSelect,
)
from flows.llm.rules import Rules
from flows.project.project import Project
from flows.project.settings import packaged
from tests.builds import hashes_of, write_config
from tests.toy import run_all

QUESTIONS = 12
GOLDEN = {
    "passages drop_duplicate_passages": (1, "99be8711f0cf5ad9"),
    "category1 filter_source": (3, "4b7af13c2429d790"),
    "category1 drop_duplicates": (1, "4b7af13c2429d790"),
    "category1 select_seed": (1, "4b7af13c2429d790"),
    "category1 swap_answer": (7, "dc2518b202ad55e4"),
    "category2 filter_source": (3, "d6ec4eb4b6a057f9"),
    "category2 drop_duplicates": (1, "d6ec4eb4b6a057f9"),
    "category2 select_seed": (1, "d6ec4eb4b6a057f9"),
    "category2 select_unknown": (1, "d6ec4eb4b6a057f9"),
    "category2 enrich": (12, "d4b8354c8594912d"),
}
"""Part and step -> its version, and the hash of what it makes. If a hash is to change, so is the version."""


def alter(asked: ToAlter, rng: Random) -> Alternative:
    return Alternative(answer="Zanzibar Moonstone")


def replace(asked: ToReplace, rng: Random) -> Replaced:
    return Replaced(evidence=asked.evidence.replace(asked.answer, asked.alternative))


def select(asked: ToSelect, rng: Random) -> Sentence:
    return Sentence(sentence=next(one for one in asked.evidence.split(". ") if asked.answer in one).rstrip(".") + ".")


def resolve(asked: ToResolve, rng: Random) -> Sentence:
    return Sentence(sentence=asked.sentence.replace(asked.leaning or "", str(asked.title) if asked.leaning else "", 1))


def condense(asked: ToCondense, rng: Random) -> Passage:
    return Passage(text=" ".join(f"{passage.split('. ')[0].rstrip('.')}." for passage in asked.passages))


def merge(asked: ToMerge, rng: Random) -> Passage:
    return Passage(text=f"{asked.sentence} {asked.condensed}")


def read(asked: ToRead, rng: Random) -> Reading:
    return Reading(objections=())


async def test_bytes_change_with_the_version_alone(tmp_path: Path) -> None:
    samples = packaged("reeval.yaml").parent
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join((samples / "questions.jsonl").read_text().splitlines(keepends=True)[:QUESTIONS]))
    settings = {
        "seeds": "all",
        "entailment": "off",
        "sources": [{"format": "jsonl", "path": str(questions)}],
        "passages": [{"format": "jsonl", "path": str(samples / name)} for name in ("pages.jsonl", "related.jsonl")],
    }
    config = write_config(tmp_path, store=str(tmp_path / "store"), families={"reeval": settings})
    project = Project(config, tmp_path / "out")
    family = project.build.families["reeval"]
    rules = Rules(
        {
            "alternative_answer": alter,
            "replace_answer": replace,
            "select_sentence": select,
            "resolve_sentence": resolve,
            "condense": condense,
            "merge": merge,
            "read_passage": read,
        },
        7,
    )
    family.models.update(dict.fromkeys(family.models, rules))  # type: ignore[attr-defined]
    await run_all(project.build)
    assert hashes_of(project, "reeval") == GOLDEN
