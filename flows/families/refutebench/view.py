"""RefuteBench's records laid out for the build report."""

from flows.construct.view import Line, View
from schemas.base import Record
from schemas.refutebench import ProtocolSettings, Rating, RefutationDialogue, Seed

LABELS = {"query": "query", "refutation": "refutation", "unrelated": "unrelated query"}


def view(record: Record) -> View:
    """A query, a dialogue turn by turn, or a rating with what was rated."""
    match record:
        case Seed():
            reference = [Line("reference", (record.reference,))] if record.reference else []
            return View(
                title=record.text[:200],
                tags=(record.task, record.kind, record.source),
                lines=(Line("query", (record.query,), strong=True), *reference),
            )
        case RefutationDialogue():
            return View(
                title=record.query[:200],
                tags=(record.task, record.protocol, record.model, record.refuter, f"style: {record.style}"),
                lines=tuple(
                    Line(
                        LABELS[turn.kind] + (f" ({turn.focus})" if turn.focus else "")
                        if turn.role == "user"
                        else "answer",
                        (turn.text,),
                        strong=turn.kind == "refutation" and turn.role == "user",
                    )
                    for turn in record.turns
                ),
            )
        case Rating():
            shown = {"answer before": record.previous, "refutation": record.refutation, "answer": record.response}
            return View(
                title=(record.refutation or record.query)[:200],
                tags=(record.task, record.protocol, record.model, record.evaluator, f"style: {record.style}"),
                lines=(
                    *(Line(label, (text,)) for label, text in shown.items() if text),
                    Line("explanation", (record.explanation,)),
                    Line("rating", (str(record.rating),), strong=True),
                ),
            )
        case ProtocolSettings():
            fields = record.model_dump(mode="json", exclude={"id", "key", "provenance"})
            return View(title="protocol", lines=tuple(Line(name, (str(value),)) for name, value in fields.items()))
    raise TypeError(f"RefuteBench has no {type(record).__name__}")
