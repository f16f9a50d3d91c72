"""Proves of the documents family's finished rows that each is what it claims, with code of its own."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flows.construct.verification import Fault, VerifyContext
from flows.language import language_of
from schemas.documents import ComparedQuestion, DocumentConflict, DocumentPair, DocumentStatement, Span
from schemas.source import Passage

_BREAK = "\n\n"
_YES_OR_NO = {"en": {"yes", "no"}, "zh": {"是", "否"}}
_DERIVED = {"yes-no", "comparison", "two-step"}
_WORD = {"en": re.compile(r"\S+"), "zh": re.compile(r"[㐀-鿿]|[^\s㐀-鿿]+")}
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


def verify_questions(rows: Iterable[ComparedQuestion], ctx: VerifyContext) -> Iterator[Fault]:
    """Each is a pair that may have other answers, each of a passage that is there and none of its own."""
    questions = list(rows)
    yield from verify_pairs(questions, ctx)
    passages = ctx.rows_by("passages", lambda passage: passage.key)
    for row in questions:
        told = [other.passage for other in row.others]
        if any(key not in passages or key in row.passages for key in told) or len(set(told)) < len(told):
            yield Fault(id=row.id, problem="its other answers are not each of another passage")


def verify_conflicts(rows: Iterable[DocumentConflict], ctx: VerifyContext) -> Iterator[Fault]:
    """Both answers stand in their passages and differ, and no ordinary question asks the same."""
    passages = ctx.rows_by("passages", lambda passage: passage.key)
    ordinary = {" ".join(pair.question.casefold().split()) for pair in ctx.rows("pairs")}
    for row in rows:
        for problem in _conflict_problems(row, passages):
            yield Fault(id=row.id, problem=problem)
        if " ".join(row.question.casefold().split()) in ordinary:
            yield Fault(id=row.id, problem="its question is among those with one answer")


def _conflict_problems(row: DocumentConflict, passages: Mapping[str, Passage]) -> Iterator[str]:
    *first, second = row.passages
    if second in first:
        yield "its passages are the same"
    for name, keys, answer, evidence, sentences in (
        ("first", first, row.first_answer, row.first_evidence, row.first_sentences),
        ("second", [second], row.second_answer, row.second_evidence, row.second_sentences),
    ):
        for problem in (
            *_text_problems(keys, evidence, sentences, passages),
            *_answer_problems(row.kind, answer, sentences, row.language, is_derived=row.kind in _DERIVED),
        ):
            yield f"{name}: {problem}"
    if not row.question.endswith(("?", "？")):
        yield "its question is none"
    words = [set(_WORD[row.language].findall(answer.casefold())) for answer in (row.first_answer, row.second_answer)]
    if words[0] <= words[1] or words[1] <= words[0]:
        yield "one of its answers has all words of the other"


def _evidence_problems(row: DocumentPair, passages: Mapping[str, Passage]) -> Iterator[str]:
    yield from _text_problems(row.passages, row.evidence, row.sentences, passages)


def _text_problems(
    keys: Sequence[str], evidence: str, sentences: Iterable[Span], passages: Mapping[str, Passage]
) -> Iterator[str]:
    known = [passages[key].text for key in keys if key in passages]
    if len(known) < len(keys):
        yield "it names a passage that is not there"
    elif _BREAK.join(known) != evidence:
        yield "its evidence is not the text of its passages"
    for span in sentences:
        if evidence[span.start : span.end] != span.text:
            yield "a sentence does not stand in the evidence where it should"


def _question_problems(row: DocumentPair) -> Iterator[str]:
    language = language_of(row.language)
    if not row.question.endswith(("?", "？")):
        yield "its question is none"
    if row.kind not in _DERIVED and language.contains(row.question, row.answer):
        yield "its question holds the answer"
    is_derived = row.kind in _DERIVED and bool(row.steps)
    yield from _answer_problems(row.kind, row.answer, row.sentences, row.language, is_derived=is_derived)
    if row.kind == "two-step" and (len(row.passages) < 2 or len(row.steps) < 2):
        yield "its two steps lack a passage or a step"


def _answer_problems(
    kind: str, answer: str, sentences: Iterable[Span], language: str, *, is_derived: bool
) -> Iterator[str]:
    text = "\n".join(span.text for span in sentences)
    if kind == "yes-no":
        if answer not in _YES_OR_NO[language]:
            yield "its answer is not yes or no"
    elif not is_derived:
        parts = [part for part in _PARTS.split(answer) if part] if kind == "list" else [answer]
        if not all(language_of(language).contains(text, part) for part in parts):
            yield "its answer does not stand in its sentences"


def verify_statements(rows: Iterable[DocumentStatement], ctx: VerifyContext) -> Iterator[Fault]:
    """Each statement is of a sentence that a kept question rests on."""
    sentences = {span.text for pair in ctx.rows("pairs") for span in pair.sentences}
    for row in rows:
        if row.sentence not in sentences:
            yield Fault(id=row.id, problem="its sentence is none of the questions'")
        if "\n" in row.text:
            yield Fault(id=row.id, problem="it is not one line")
