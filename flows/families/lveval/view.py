"""LV-Eval's records laid out for a reader."""

from collections.abc import Iterable

from flows.construct.view import Line, View
from schemas.base import Record
from schemas.lveval import AnswerKeywords, ConfusingFact, LongContext, Pair, PoolDocument, Replacements, RuleConflicts

AROUND = 200  # characters of a context shown around a position
LONGEST = 2000  # characters shown of a document


def view(record: Record) -> View:
    """Lay out a record for a reader; of a context, the surroundings of what was put into it."""
    match record:
        case ConfusingFact():
            return View(
                title=record.question,
                tags=(record.language, record.dataset, f"{record.changes} changed"),
                columns=("original fact", "confusing fact"),
                lines=(_answer(record.answers), Line("fact", (record.original_fact, record.fact))),
            )
        case Replacements() | RuleConflicts():
            lost = record.conflicts if isinstance(record, RuleConflicts) else record.lost
            sentences = record.excerpts if isinstance(record, Replacements) else ()
            rules = (Line(rule.old, (rule.new,)) for rule in record.rules)
            conflicts = (Line(f"conflict of {loss.old}", (f"{loss.kind}: {loss.excerpt}",)) for loss in lost)
            excerpts = (Line("excerpt", (sentence,)) for sentence in sentences)
            lines = (_answer(record.answers), *rules, *conflicts, *excerpts)
            return View(title=record.question, tags=(record.language, record.dataset), lines=lines)
        case AnswerKeywords():
            lines = (Line("answer", (record.answer,)), Line("keywords", (record.keywords,), strong=True))
            return View(title=record.question, tags=(record.language, record.dataset), lines=lines)
        case Pair():
            documents = (Line(document.id, (document.text[:LONGEST],)) for document in record.documents)
            lines = (_answer(record.answers), *documents)
            return View(title=record.question, tags=(record.language, record.dataset, record.source), lines=lines)
        case PoolDocument():
            text = Line("text", (record.text[:LONGEST],))
            return View(title=record.source.id, tags=(record.dataset,), lines=(text,))
        case LongContext():
            return _context(record)
    raise TypeError(f"LV-Eval has no {type(record).__name__}")


def _answer(answers: Iterable[str]) -> Line:
    return Line("answer", (" / ".join(answers),), strong=True)


def _context(row: LongContext) -> View:
    unit = "characters" if row.language == "zh" else "words"
    depth = (f"depth {row.depth}",) if row.depth is not None else ()
    keywords = (Line("keywords", (row.answer_keywords,)),) if row.answer_keywords else ()
    rules = (Line(f"replaced: {rule.old}", (rule.new,)) for rule in row.replacements)
    around = (
        Line(
            f"{position.kind} at {100 * position.start / max(1, len(row.context)):.0f} %",
            (row.context[max(0, position.start - AROUND) : position.end + AROUND],),
        )
        for position in row.positions
    )
    return View(
        title=row.input,
        tags=(row.language, row.dataset, f"{row.length:,} {unit}", row.answer_test, *depth),
        lines=(_answer(row.answers), *keywords, *rules, *around),
    )
