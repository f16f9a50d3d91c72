"""LV-Eval's records as a person reads them: in Markdown, and laid out for the build report."""

from collections.abc import Iterable

from flows.construct.view import Line, View
from schemas import lveval
from schemas.base import Record

AROUND = 160  # characters of a context shown before and after a position
AROUND_IN_REPORT = 200
LONGEST = 700  # characters shown of a document
LONGEST_IN_REPORT = 2000

# ---- Markdown ----


def show(record: Record) -> str:  # noqa: PLR0911 - one for each kind of record
    """Return the record in Markdown."""
    match record:
        case lveval.Pair():
            return f"{_asked(record)} ({record.dataset}){_quotes(_cut(document.text) for document in record.documents)}"
        case lveval.PoolDocument():
            source = record.source
            return f"({record.dataset}; {source.source}, {source.id}){_quotes([_cut(record.text)])}"
        case lveval.ConfusingFact():
            return (
                f"{_asked(record)}\n\nOriginal: {record.original_fact}\n\n"
                f"Confusing ({record.changes} changed): {record.fact}"
            )
        case lveval.Replacements():
            lost = "".join(f"\n\n- lost: {conflict}" for conflict in record.lost)
            return f"{_asked(record)}\n\n{_rules(record.rules)}{lost}{_quotes(record.excerpts)}"
        case lveval.RuleConflicts():
            conflicts = "".join(f"\n\n- {conflict}" for conflict in record.conflicts)
            return f"{_asked(record)}\n\n{_rules(record.rules)}{conflicts}"
        case lveval.AnswerKeywords():
            return f"**{record.question}**\n\nAnswer: {record.answer}\n\nKeywords: **{record.keywords}**"
        case lveval.LongContext():
            return _context(record)
    raise TypeError(f"LV-Eval has no {type(record).__name__}")


def _context(row: lveval.LongContext) -> str:
    depth = "" if row.depth is None else f", depth {row.depth}"
    unit = "characters" if row.language == "zh" else "words"
    keywords = f" (keywords: {row.answer_keywords})" if row.answer_keywords else ""
    placed = "".join(f"\n\n{_placed(position, row.context)}" for position in row.positions)
    replaced = f"\n\n{_rules(row.replacements)}" if row.replacements else ""
    return (
        f"**{row.input}**\n\n{_answers(row.answers)}{keywords}\n\n"
        f"{row.dataset}: {row.length:,} {unit}{depth}; answers told by: {row.answer_test}{replaced}{placed}"
    )


def _placed(position: lveval.Position, context: str) -> str:
    before = context[max(0, position.start - AROUND) : position.start]
    after = context[position.end : position.end + AROUND]
    does = "supports" if position.kind == "support" else "confuses"
    held = f"**{_quoted(_cut(context[position.start : position.end]))}**"
    return f"At {_share(position, context)}, {does}:\n\n> {_quoted(before)} {held} {_quoted(after)}"


def _asked(record: lveval.Pair | lveval.ConfusingFact | lveval.Replacements | lveval.RuleConflicts) -> str:
    return f"**{record.question}**\n\n{_answers(record.answers)}"


def _answers(answers: Iterable[str]) -> str:
    return f"Answer: **{' / '.join(answers)}**"


def _rules(rules: Iterable[lveval.Rule]) -> str:
    return "Replaced: " + ("; ".join(f"{rule.old} → {rule.new}" for rule in rules) or "nothing")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def _quotes(texts: Iterable[str]) -> str:
    return "".join(f"\n\n> {_quoted(text)}" for text in texts)


def _quoted(text: str) -> str:
    return text.strip().replace("\n", "\n> ")


def _share(position: lveval.Position, context: str) -> str:
    return f"{100 * position.start / max(1, len(context)):.0f} %"


# ---- the build report ----


def view(record: Record) -> View:
    """Lay out a record for a reader; of a context, the surroundings of what was put into it."""
    match record:
        case lveval.ConfusingFact():
            return View(
                title=record.question,
                tags=(record.language, record.dataset, f"{record.changes} changed"),
                columns=("original fact", "confusing fact"),
                lines=(_answer_line(record.answers), Line("fact", (record.original_fact, record.fact))),
            )
        case lveval.Replacements() | lveval.RuleConflicts():
            lost = record.conflicts if isinstance(record, lveval.RuleConflicts) else record.lost
            rules = (Line(rule.old, (rule.new,)) for rule in record.rules)
            conflicts = (Line(f"conflict of {loss.old}", (f"{loss.kind}: {loss.excerpt}",)) for loss in lost)
            lines = (_answer_line(record.answers), *rules, *conflicts)
            return View(title=record.question, tags=(record.language, record.dataset), lines=lines)
        case lveval.AnswerKeywords():
            lines = (Line("answer", (record.answer,)), Line("keywords", (record.keywords,), strong=True))
            return View(title=record.question, tags=(record.language, record.dataset), lines=lines)
        case lveval.Pair():
            documents = (Line(document.id, (document.text[:LONGEST_IN_REPORT],)) for document in record.documents)
            lines = (_answer_line(record.answers), *documents)
            return View(title=record.question, tags=(record.language, record.dataset, record.source), lines=lines)
        case lveval.PoolDocument():
            text = Line("text", (record.text[:LONGEST_IN_REPORT],))
            return View(title=record.source.id, tags=(record.dataset,), lines=(text,))
        case lveval.LongContext():
            return _context_view(record)
    raise TypeError(f"LV-Eval has no {type(record).__name__}")


def _context_view(row: lveval.LongContext) -> View:
    depth = (f"depth {row.depth}",) if row.depth is not None else ()
    rules = (Line(f"replaced: {rule.old}", (rule.new,)) for rule in row.replacements)
    around = (Line(f"{place.kind} at {_share(place, row.context)}", (_around(place, row),)) for place in row.positions)
    return View(
        title=row.input,
        tags=(row.language, row.dataset, f"{row.length:,} words", row.answer_test, *depth),
        lines=(_answer_line(row.answers), *rules, *around),
    )


def _answer_line(answers: Iterable[str]) -> Line:
    return Line("answer", (" / ".join(answers),), strong=True)


def _around(position: lveval.Position, row: lveval.LongContext) -> str:
    return row.context[max(0, position.start - AROUND_IN_REPORT) : position.end + AROUND_IN_REPORT]
