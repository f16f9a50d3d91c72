"""A build of several families from the packaged samples, and servers whose models are right so often."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.evaluate.rows import evaluated_rows
from flows.families.lveval.evaluation import scored as scored_row
from flows.families.reeval.scored_reply import answers, category
from flows.project.evaluated import settings_now
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from tests.builds import ROOT, write_config
from tests.chat_server import Answer, ChatServer, Messages, message_hash
from tests.toy import run_all

SAMPLES = ROOT / "data" / "samples"
QUESTIONS = {"format": "jsonl", "path": str(SAMPLES / "questions.jsonl"), "licence": "Apache-2.0", "limit": 60}
PAGES = {"format": "jsonl", "path": str(SAMPLES / "pages.jsonl"), "licence": "Apache-2.0"}
PAIRS = {"part": "documents-pairs"}
OWN_TASK = {"task": "single-hop-qa", "pairs": 6, "sources": [PAIRS], "distractors": [PAGES]}
FAMILIES: Mapping[str, Any] = {
    "uraq": {"statements": 40, "context_counts": [1, 5]},
    "reeval": {"seeds": "all", "entailment": "off", "parts": ["category1"], "sources": [QUESTIONS, PAIRS]},
    "documents": {"pairs": 8, "sources": [{"format": "documents", "path": f"{SAMPLES}/documents/*.md"}]},
    "lveval": {"levels": ["1k", "2k"], "datasets": {"ours": OWN_TASK}},
    "charpeval": {"sources": [{"format": "jsonl", "path": str(SAMPLES / "dialogues.jsonl"), "limit": 5}]},
}
"""LV-Eval and ReEval read the questions on documents, of which the rules swap few answers; CHARPEval has no rows until
people have written."""


def build(folder: Path, families: Mapping[str, Any] = FAMILIES) -> Path:
    """Build the families by the rules in `folder/out`; return that folder."""
    config = write_config(folder, store=str(folder / "store"), families=families)
    project = Project(config, folder / "out")
    project.loop.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    project.close()
    return folder / "out"


def work_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of a build the current one, without predictions from before."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    for file in (folder / "out" / "predictions").glob("*"):
        file.unlink()
    return folder


def right_answers(out: Path, *names: str) -> dict[str, tuple[str, str]]:
    """By what a model is asked about the rows of a build: the place of the question, and its right answer."""
    project = open_built(out)
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        family, settings = project.family(name), settings_now(project, project.family(name))
        prompts = project.build.families[name].prompts
        for row in evaluated_rows(project, family, None):
            for request in family.evaluation.requests(row, settings):
                asked = prompts[request.prompt.name].messages(request.inputs)
                place = f"{row.id} {request.variant}"
                found[message_hash([dict(message) for message in asked])] = place, _right(name, row, request.variant)  # type: ignore[misc]
    project.close()
    return found


def _right(family: str, row: Any, variant: str) -> str:
    if family == "uraq":
        return f"<output>{row.expected[variant]}</output>"
    if family == "reeval":
        case = row.model_dump()
        assert variant in answers_of(case), variant
        return answers(case, variant)[0]
    if family == "lveval":
        return str(scored_row(row)["answers"][0])
    return str(row.answer)


def answers_of(case: Mapping[str, Any]) -> Iterator[str]:
    """The variants of a case."""
    from flows.families.reeval.score import VARIANTS

    yield from VARIANTS[category(case)]


def able(right: Mapping[str, tuple[str, str]], share: float, name: str = "") -> Answer:
    """A model that is right on this share of the questions. An abler one of the same name is right wherever it is."""

    def answer(messages: Messages) -> str:
        place, text = right[message_hash(messages)]
        drawn = int(hashlib.sha256(f"{name} {place}".encode()).hexdigest()[:8], 16) / 16**8
        return text if drawn < share else "no such thing"

    return answer


def model(server: ChatServer, **settings: Any) -> dict[str, Any]:
    """A model of a configuration."""
    return {"provider": "endpoint", "name": server.model, "base_url": server.url, **settings}
