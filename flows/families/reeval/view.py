"""ReEval's records laid out side by side: the evidence before and after."""

from flows.construct.view import Line, Listing, View
from schemas.base import Record
from schemas.reeval import EnrichedCase, SwapCase
from schemas.source import Passage


def view(record: Record) -> View:
    """A swapped case against its original; an enriched one with both expansions."""
    match record:
        case SwapCase():
            number = len(record.replacements)
            times = "replaced once" if number == 1 else f"replaced {number} times"
            position = (f"answer in the {record.answer_position} third",) if record.answer_position else ()
            agreement = "; ".join(f"{edit.old} → {edit.new}" for edit in record.agreement)
            return View(
                title=record.question,
                tags=(record.language, record.source, times, *position),
                columns=("original", "swapped"),
                lines=(
                    Line("answer", (record.original_answer, record.answer), strong=True),
                    Line("evidence", (record.original_evidence, record.evidence)),
                    *([Line("agreement", (agreement,))] if agreement else []),
                ),
            )
        case EnrichedCase():
            passages = {
                f"{passage.title or 'without a title'}: {passage.text}": None
                for passage in (*record.passages_question_focused, *record.passages_evidence_focused)
            }
            return View(
                title=record.question,
                tags=(record.language, record.source),
                columns=("question-focused", "evidence-focused"),
                lines=(
                    Line("answer", (record.answer,), strong=True),
                    Line("supporting sentence", (record.supporting_sentence_resolved,)),
                    Line("evidence", (record.evidence_question_focused, record.evidence_evidence_focused)),
                    Line("original evidence", (record.original_evidence,)),
                ),
                listing=Listing("The passages", tuple(passages)),
            )
        case Passage():
            place = (str(record.place),) if record.place is not None else ()
            return View(title=record.title or "without a title", tags=place, lines=(Line("text", (record.text,)),))
    raise TypeError(f"ReEval has no {type(record).__name__}")
