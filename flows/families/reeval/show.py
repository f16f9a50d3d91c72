"""ReEval's records as a person reads them, in Markdown."""

from collections.abc import Sequence

from schemas.base import Record
from schemas.reeval import Case, EnrichedCase, PassageRef, SwapCase
from schemas.source import Passage


def show(record: Record) -> str:
    """The record in Markdown."""
    match record:
        case SwapCase():
            agreement = "".join(f"\n- agrees: {edit.old} → {edit.new}" for edit in record.agreement)
            return (
                f"**{record.question}**\n\n"
                f"Answer: **{record.answer}** instead of {record.original_answer} "
                f"({_times(len(record.replacements))}{_position(record)})\n\n"
                f"> {_quoted(record.evidence)}{agreement}\n\nBefore:\n\n> {_quoted(record.original_evidence)}"
            )
        case EnrichedCase():
            return (
                f"**{record.question}**\n\nAnswer: **{record.answer}**\n\n"
                f"Supported by: {record.supporting_sentence_resolved}\n\n"
                f"Question-focused ({_titles(record.passages_question_focused)}):\n\n"
                f"> {_quoted(record.evidence_question_focused)}\n\n"
                f"Evidence-focused ({_titles(record.passages_evidence_focused)}):\n\n"
                f"> {_quoted(record.evidence_evidence_focused)}\n\n"
                f"Before:\n\n> {_quoted(record.original_evidence)}"
            )
        case Case():
            return f"**{record.question}**\n\nAnswer: **{record.answer}**\n\n> {_quoted(record.evidence)}"
        case Passage():
            return f"**{record.title or 'without a title'}**\n\n{record.text}"
        case _:
            raise TypeError(f"ReEval has no record {type(record).__name__}")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _position(record: SwapCase) -> str:
    return f", in the {record.answer_position} third" if record.answer_position else ""


def _titles(passages: Sequence[PassageRef]) -> str:
    return "; ".join(passage.title or "without a title" for passage in passages)


def _quoted(text: str) -> str:
    return "\n> ".join(text.splitlines())
