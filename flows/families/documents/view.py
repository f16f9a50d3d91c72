"""The documents family's records, laid out for a reader."""

from flows.construct.view import Line, View
from schemas.base import Record
from schemas.documents import DocumentPair, DocumentStatement
from schemas.source import Passage


def view(record: Record) -> View:
    """A question with its answer, what it rests on, and where that stands."""
    match record:
        case DocumentPair():
            return View(
                title=record.question,
                tags=(record.kind, record.language),
                lines=(
                    Line("answer", (record.answer,), strong=True),
                    *(Line("evidence", (span.text,)) for span in record.sentences),
                    *(Line(f"step {number}", (step,)) for number, step in enumerate(record.steps, 1)),
                    *(Line("from", (place.dated,)) for place in record.places),
                    Line("passage", (record.evidence,)),
                ),
            )
        case DocumentStatement():
            return View(
                title=record.text,
                tags=(record.language,),
                lines=(
                    Line("sentence", (record.sentence,)),
                    *([Line("from", (record.place.dated,))] if record.place else []),
                ),
            )
        case Passage():
            place = record.place.dated if record.place else record.title or "without a title"
            return View(title=place, lines=(Line("text", (record.text,)),))
    raise TypeError(f"the documents family has no {type(record).__name__}")
