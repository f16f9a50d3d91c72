"""The documents family's records, laid out for a reader."""

from flows.construct.view import Line, View
from schemas.base import Record
from schemas.documents import ComparedQuestion, DocumentConflict, DocumentPair, DocumentStatement
from schemas.source import Passage


def view(record: Record) -> View:
    """A question with its answer, or two of them, what it rests on, and where that stands."""
    match record:
        case DocumentPair():
            return View(
                title=record.question,
                tags=(record.kind, record.language),
                lines=(
                    Line("answer", (record.answer,), strong=True),
                    *(
                        Line("another passage answers", (f"{other.answer} ({other.weighed or other.why})",))
                        for other in (record.others if isinstance(record, ComparedQuestion) else ())
                    ),
                    *(Line("evidence", (span.text,)) for span in record.sentences),
                    *(Line(f"step {number}", (step,)) for number, step in enumerate(record.steps, 1)),
                    *(Line("from", (place.dated,)) for place in record.places),
                    Line("passage", (record.evidence,)),
                ),
            )
        case DocumentConflict():
            first, second = record.places[:-1], record.places[-1:]
            return View(
                title=record.question,
                tags=(record.kind, record.language),
                lines=(
                    Line("first answer", (record.first_answer,), strong=True),
                    *(Line("evidence", (span.text,)) for span in record.first_sentences),
                    *(Line("from", (place.dated,)) for place in first),
                    Line("second answer", (record.second_answer,), strong=True),
                    *(Line("evidence", (span.text,)) for span in record.second_sentences),
                    *(Line("from", (place.dated,)) for place in second),
                    Line("first passage", (record.first_evidence,)),
                    Line("second passage", (record.second_evidence,)),
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
