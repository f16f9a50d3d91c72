"""Proves of the documents family's finished rows that each is what it claims, with code of its own."""

import re
from collections.abc import Iterable, Iterator, Mapping

from flows.construct.verification import Fault, VerifyContext
from flows.language import language_of
from schemas.documents import DocumentPair, DocumentStatement
from schemas.source import Passage

_BREAK = "\n\n"
_YES_OR_NO = {"en": {"yes", "no"}, "zh": {"是", "否"}}
_DERIVED = {"yes-no", "comparison", "two-step"}
_PARTS = re.compile(r"\s*(?:[,;、，；和及与]|\band\b|\bor\b)\s*")


def verify_passages(rows: Iterable[Passage], ctx: VerifyContext) -> Iterator[Fault]:
    """No passage occurs twice, and none is empty."""
    seen: set[str] = set()
    for row in rows:
        if row.key in seen:
            yield Fault(id=row.id, problem="its key occurs twice")
        seen.add(row.key)
        if not row.text.strip():
            yield Fault(id=row.id, problem="it is empty")


def verify_pairs(rows: Iterable[DocumentPair], ctx: VerifyContext) -> Iterator[Fault]:
    """The evidence is its passages' text, the sentences stand in it, and the answer in them or in derived steps."""
    passages = ctx.rows_by("passages", lambda passage: passage.key)
    questions: set[str] = set()
    for row in rows:
        for problem in (*_evidence_problems(row, passages), *_question_problems(row)):
            yield Fault(id=row.id, problem=problem)
        asked = " ".join(row.question.casefold().split())
        if asked in questions:
            yield Fault(id=row.id, problem="its question is asked twice")
        questions.add(asked)


def _evidence_problems(row: DocumentPair, passages: Mapping[str, Passage]) -> Iterator[str]:
    known = [passages[key].text for key in row.passages if key in passages]
    if len(known) < len(row.passages):
        yield "it names a passage that is not there"
    elif _BREAK.join(known) != row.evidence:
        yield "its evidence is not the text of its passages"
    for span in row.sentences:
        if row.evidence[span.start : span.end] != span.text:
            yield "a sentence does not stand in the evidence where it should"


def _question_problems(row: DocumentPair) -> Iterator[str]:
    language = language_of(row.language)
    if not row.question.endswith(("?", "？")):
        yield "its question is none"
    if row.kind not in _DERIVED and language.contains(row.question, row.answer):
        yield "its question holds the answer"
    sentences = "\n".join(span.text for span in row.sentences)
    if row.kind == "yes-no":
        if row.answer not in _YES_OR_NO[row.language]:
            yield "its answer is not yes or no"
    elif row.kind not in _DERIVED or not row.steps:
        parts = [part for part in _PARTS.split(row.answer) if part] if row.kind == "list" else [row.answer]
        if not all(language.contains(sentences, part) for part in parts):
            yield "its answer does not stand in its sentences"
    if row.kind == "two-step" and (len(row.passages) < 2 or len(row.steps) < 2):
        yield "its two steps lack a passage or a step"


def verify_statements(rows: Iterable[DocumentStatement], ctx: VerifyContext) -> Iterator[Fault]:
    """Each statement is of a sentence that a kept question rests on."""
    sentences = {span.text for pair in ctx.rows("pairs") for span in pair.sentences}
    for row in rows:
        if row.sentence not in sentences:
            yield Fault(id=row.id, problem="its sentence is none of the questions'")
        if "\n" in row.text:
            yield Fault(id=row.id, problem="it is not one line")
