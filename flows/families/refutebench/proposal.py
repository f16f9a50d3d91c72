"""What RefuteBench can be built from, for `touchstone new`."""

from collections.abc import Iterable, Mapping
from typing import Any

from flows.construct.proposal import Found, Lacking, Material, Proposal, other_columns, source
from flows.families.refutebench.method import LENGTHS
from flows.language import language_of
from schemas.base import counted
from schemas.source import Assignment, Passage

LEAST_TEXTS = 2
TASKS: Mapping[str, str] = {
    "ntrex": "translation", "writingbench": "writing", "ifeval": "writing", "self-instruct": "writing",
    "mt-bench": "writing",
}  # fmt: skip
"""Format -> the task that it is for; the others' texts are summarised."""
TEXTS_OF_RULES = ("translation", "summarisation")


def propose(found: Found) -> Proposal:
    """Propose the texts of each task, and documents to summarise."""
    chosen: dict[str, list[Material]] = {}
    number = 0
    for some in (*found.giving(Assignment), *(some for some in found.documents if some.spec.format == "documents")):
        task = TASKS.get(some.spec.format, "summarisation")
        given = some.records.get(Assignment) or some.records[Passage]
        texts = [text for text in given if task != "summarisation" or _suits(text)]
        if (found.by_rules and task not in TEXTS_OF_RULES) or len(texts) < LEAST_TEXTS:
            continue
        chosen.setdefault(task, []).append(some)
        number += len(texts)
    if not chosen:
        raise Lacking("wants texts of 60 words or more to summarise, or to translate")
    settings: dict[str, Any] = {}
    comments: dict[str, str] = {}
    if found.by_rules:
        settings["style"] = []
        comments["style"] = "with a model leave this line out"
    if len(chosen) < 2:
        settings["unrelated"] = []
        comments["unrelated"] = "persistent dialogues want a second task"
    settings["sources"] = {task: [source(some, Assignment) for some in sources] for task, sources in chosen.items()}
    for task, sources in chosen.items():
        comments |= other_columns(f"sources.{task}", sources)
    return Proposal(settings, f"dialogues on {counted(number, 'text')} to {_work(chosen)}", comments)


def _suits(text: Assignment | Passage) -> bool:
    return language_of(text.language).count(text.text) in LENGTHS["summarisation"]


def _work(tasks: Iterable[str]) -> str:
    verbs = {"translation": "translate", "summarisation": "summarise", "writing": "write from"}
    return ", ".join(verbs[task] for task in tasks)
