"""LV-Eval's records laid out for the build report."""

from flows.construct.view import Line, View
from schemas.base import Record
from schemas.lveval import AnswerKeywords, ConfusingFact, LongContext, Pair, PoolDocument, Replacements, RuleConflicts

AROUND = 200  # characters of a context shown around a position


def view(record: Record) -> View:
    """Lay out a record for a reader; of a context, the surroundings of what was put into it."""
    match record:
        case ConfusingFact():
            return View(
                title=record.question,
                tags=(record.language, record.dataset, f"{record.changes} changed"),
                columns=("original fact", "confusing fact"),
                lines=(
                    Line("answer", (" / ".join(record.answers),), strong=True),
                    Line("fact", (record.original_fact, record.fact)),
                ),
            )
        case Replacements() | RuleConflicts():
            conflicts = record.conflicts if isinstance(record, RuleConflicts) else record.lost
            excerpts = record.excerpts if isinstance(record, Replacements) else ()
            return View(
                title=record.question,
                tags=(record.language, record.dataset),
                lines=(
                    Line("answer", (" / ".join(record.answers),), strong=True),
                    *(Line(rule.old, (rule.new,)) for rule in record.rules),
                    *(
                        Line(f"conflict of {conflict.old}", (f"{conflict.kind}: {conflict.excerpt}",))
                        for conflict in conflicts
                    ),
                    *(Line("excerpt", (excerpt,)) for excerpt in excerpts),
                ),
            )
        case AnswerKeywords():
            return View(
                title=record.question,
                tags=(record.language, record.dataset),
                lines=(Line("answer", (record.answer,)), Line("keywords", (record.keywords,), strong=True)),
            )
        case Pair():
            return View(
                title=record.question,
                tags=(record.language, record.dataset, record.source),
                lines=(
                    Line("answer", (" / ".join(record.answers),), strong=True),
                    *(Line(document.id, (document.text[:2000],)) for document in record.documents),
                ),
            )
        case PoolDocument():
            return View(title=record.source.id, tags=(record.dataset,), lines=(Line("text", (record.text[:2000],)),))
        case LongContext():
            return _context(record)
    raise TypeError(f"LV-Eval has no {type(record).__name__}")


def _context(row: LongContext) -> View:
    unit = "characters" if row.language == "zh" else "words"
    depth = (f"depth {row.depth}",) if row.depth is not None else ()
    around = tuple(
        Line(
            f"{position.kind} at {100 * position.start / max(1, len(row.context)):.0f} %",
            (row.context[max(0, position.start - AROUND) : position.end + AROUND],),
        )
        for position in row.positions
    )
    keywords = (Line("keywords", (row.answer_keywords,)),) if row.answer_keywords else ()
    rules = tuple(Line(f"replaced: {rule.old}", (rule.new,)) for rule in row.replacements)
    return View(
        title=row.input,
        tags=(row.language, row.dataset, f"{row.length:,} {unit}", row.answer_test, *depth),
        lines=(Line("answer", (" / ".join(row.answers),), strong=True), *keywords, *rules, *around),
    )
