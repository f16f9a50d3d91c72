"""RefuteBench's records laid out for the build report."""

from dataclasses import replace

from flows.construct.view import Line, View, fields_view
from schemas.base import Record
from schemas.refutebench import DialogueTurn, ProtocolSettings, Rating, RefutationDialogue, Seed

LABELS = {"query": "query", "refutation": "refutation", "unrelated": "unrelated query"}

TITLE = 200
"""Characters of a text that stand in a title."""


def view(record: Record) -> View:
    """A query, a dialogue turn by turn, or a rating with what was rated."""
    match record:
        case Seed():
            reference = [Line("reference", (record.reference,))] if record.reference else []
            return View(
                title=_title(record.text),
                tags=(record.task, record.kind, record.source),
                lines=(Line("query", (record.query,), strong=True), *reference),
            )
        case RefutationDialogue():
            unrelated = (f"C = {record.unrelated}",) if record.unrelated else ()
            return View(
                title=_title(record.query),
                tags=(record.task, record.protocol, *unrelated, record.model, record.refuter, f"style: {record.style}"),
                lines=tuple(
                    Line(_label(turn), (turn.text,), strong=turn.kind == "refutation" and turn.role == "user")
                    for turn in record.turns
                ),
            )
        case Rating():
            number = record.refutation_number
            rated = f"a{record.answer_number} by {'the query' if number is None else f'r{number}'}"
            shown = {"answer before": record.previous, "refutation": record.refutation, "answer": record.response}
            return View(
                title=_title(record.refutation or record.query),
                tags=(record.task, record.protocol, record.model, rated, record.evaluator, f"style: {record.style}"),
                lines=(
                    Line("query", (record.query,)),
                    *(Line(label, (text,)) for label, text in shown.items() if text),
                    Line("explanation", (record.explanation,)),
                    Line("rating", (str(record.rating),), strong=True),
                ),
            )
        case ProtocolSettings():
            return replace(fields_view(record), title="protocol")
    raise TypeError(f"RefuteBench has no {type(record).__name__}")


def _label(turn: DialogueTurn) -> str:
    if turn.role == "user":
        return LABELS[turn.kind] + (f" ({turn.focus})" if turn.focus else "")
    if turn.cut_off:
        return "answer (cut off at the limit of tokens)"
    return "answer (to what its window held)" if turn.prompt_cut else "answer"


def _title(text: str) -> str:
    return text if len(text) <= TITLE else text[: TITLE - 1] + "…"
