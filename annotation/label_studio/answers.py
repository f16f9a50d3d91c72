"""An annotation, as Label Studio exports it, as the answers to a rubric's form."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from annotation.label_studio.config import FOR_ALL, QUESTION, deciding_question, hidden_boxes
from annotation.label_studio.task_data import SUGGESTED
from annotation.wording import in_all_languages
from schemas.base import Frozen
from schemas.rubric import Marked, Rubric

LONGEST_TEXT = 200_000
"""The most characters that a person may write into a box; the longest knowledge has about 60,000."""
EVIDENCE = 300


class Answers(Frozen):
    """One person's answers on one form."""

    answers: Mapping[str, str] = Field(description="By name, the option of a question or the text of a box")
    marks: Mapping[str, tuple[str, ...]] = Field(description="By name of what is marked, the spans in their order")
    untouched: tuple[str, ...] = Field((), description="Suggestions that were submitted unchanged")
    question: str = Field("", description="The person's question to the engineer")


class Unusable(ValueError):  # noqa: N818 - a finding about what somebody submitted
    """Raised if an annotation does not answer its form. `reason` is a phrase from a small set, `evidence` shows it."""

    def __init__(self, reason: str, evidence: str) -> None:
        super().__init__(f"{reason}: {evidence}")
        self.reason = reason
        self.evidence = evidence


def answers_of(rubric: Rubric, annotation: Mapping[str, Any], data: Mapping[str, Any]) -> Answers:
    """Return the answers in an exported annotation; `data` is that of its task.

    The server does not enforce the form, so everything is checked here. What is chosen for all questions is the answer
    to those without one. Texts are stripped; those in hidden boxes do not count. Marked spans that correct a field of
    the record are its text as well. A suggestion is untouched if it comes back unchanged. A required text may be
    missing, since Label Studio's own page takes an emptied box for a full one: it goes back to its author
    (`annotation/settle.py`).

    Raises `Unusable`.
    """
    answers, spans = _read(rubric, annotation, data)
    question = answers.pop(QUESTION, "")
    if for_all := answers.pop(FOR_ALL, ""):
        answers = {ask.name: for_all for ask in rubric.asks} | answers
    hidden = hidden_boxes(rubric, answers)
    answers = {name: text for name, text in answers.items() if text and name not in hidden}
    marks = {name: tuple(text for _, _, text in sorted(places)) for name, places in spans.items()}
    answers |= {mark.name: " ".join(marks[mark.name]) for mark in rubric.marks if mark.corrects and mark.name in marks}
    missing = [ask.question for ask in rubric.asks if ask.name not in answers]
    for part in rubric.parts:
        decider = deciding_question(rubric, part.name)
        needed = decider is not None and answers.get(decider.name) in decider.fixes
        if needed and part.name not in {*hidden, *answers, *marks}:
            missing.append(part.title)
    if missing:
        raise Unusable("incomplete", "; ".join(missing))
    drafts = {
        write.name: str(data.get(f"draft_{write.name}", "")).strip()
        for write in rubric.writes
        if data.get(f"note_{write.name}") in in_all_languages(SUGGESTED)
    }
    return Answers(
        answers=answers,
        marks=marks,
        untouched=tuple(name for name, draft in drafts.items() if draft and answers.get(name) == draft),
        question=question,
    )


def unchecked_answers(annotation: Mapping[str, Any]) -> Answers:
    """Return the answers to another version of the form, which may be lost: nothing is checked."""
    answers: dict[str, str] = {}
    marks: dict[str, tuple[str, ...]] = {}
    for result in annotation.get("result") or ():
        name, value = str(result.get("from_name")), result.get("value")
        if isinstance(value, Mapping) and result.get("type") == "labels":
            marks[name] = (*marks.get(name, ()), str(value.get("text", "")))
        elif isinstance(value, Mapping):
            texts = value.get("choices", value.get("text"))
            texts = [texts] if isinstance(texts, str) else texts
            answers[name] = "\n".join(map(str, texts)) if isinstance(texts, list) else json.dumps(dict(value))
    question = answers.pop(QUESTION, "")
    return Answers(answers=answers, marks=marks, question=question)


def _read(
    rubric: Rubric, annotation: Mapping[str, Any], data: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, list[tuple[int, int, str]]]]:
    """Return the options and texts by name, and the marked spans by name."""
    options = {ask.name: ask.options for ask in rubric.asks}
    if rubric.for_all:
        options[FOR_ALL] = (rubric.for_all,)
    writes = {write.name for write in rubric.writes} | {QUESTION}
    marks = {mark.name: mark for mark in rubric.marks}
    answers: dict[str, str] = {}
    spans: dict[str, list[tuple[int, int, str]]] = {}
    for result in annotation.get("result") or ():
        name, kind, value = str(result.get("from_name")), result.get("type"), result.get("value")
        if not isinstance(value, Mapping):
            raise Unusable("unknown answer", f"{name}: {kind} without a value"[:EVIDENCE])
        if name in answers:
            raise Unusable("answered twice", name)
        if name in options and kind == "choices":
            answers[name] = _only(name, value.get("choices"))
            if answers[name] not in options[name]:
                raise Unusable("unknown option", f"{name}: {answers[name]}")
        elif name in writes and kind == "textarea":
            answers[name] = _typed(name, _only(name, value.get("text")).strip())
        elif name in marks and kind == "labels":
            spans.setdefault(name, []).append(_span(marks[name], value, data))
        else:
            raise Unusable("unknown answer", f"{name}: {kind}")
    return answers, spans


def _only(name: str, values: object) -> str:
    """Return the only value of a list."""
    if not isinstance(values, list) or len(values) != 1 or not isinstance(values[0], str):
        twice = isinstance(values, list) and len(values) > 1
        raise Unusable("answered twice" if twice else "unknown answer", f"{name}: {values}"[:EVIDENCE])
    return values[0]


def _typed(name: str, text: str) -> str:
    """Return the text if a person can have written it."""
    if len(text) > LONGEST_TEXT:
        raise Unusable("too long", f"{name}: {len(text):,} characters; the most is {LONGEST_TEXT:,}")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\r\t":
            raise Unusable("control character", f"{name}: U+{ord(character):04X}")
    return text


def _span(mark: Marked, value: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[int, int, str]:
    """Return a marked span: its start and end in the shown text, in characters, and its text."""
    start, end = value.get("start"), value.get("end")
    text = str(data.get(f"shown_{mark.of}", ""))
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end <= len(text):
        raise Unusable("unknown stretch", f"{mark.name}: {start} to {end}")
    return start, end, text[start:end].strip()
