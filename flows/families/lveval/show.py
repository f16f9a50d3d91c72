"""LV-Eval's records as a person reads them, in Markdown."""

from collections.abc import Iterable

from schemas import lveval
from schemas.base import Record

AROUND = 160  # characters of a context shown before and after a position
LONGEST = 700  # characters shown of a document


def show(record: Record) -> str:  # noqa: PLR0911 - one for each kind of record
    """Return the record in Markdown."""
    match record:
        case lveval.Pair():
            documents = "".join(f"\n\n> {_quoted(_cut(document.text))}" for document in record.documents)
            return f"**{record.question}**\n\n{_answers(record.answers)} ({record.dataset}){documents}"
        case lveval.PoolDocument():
            return f"({record.dataset}; {record.source.source}, {record.source.id})\n\n> {_quoted(_cut(record.text))}"
        case lveval.ConfusingFact():
            return (
                f"**{record.question}**\n\n{_answers(record.answers)}\n\nOriginal: {record.original_fact}\n\n"
                f"Confusing ({record.changes} changed): {record.fact}"
            )
        case lveval.Replacements():
            excerpts = "".join(f"\n\n> {_quoted(excerpt)}" for excerpt in record.excerpts)
            lost = "".join(f"\n\n- lost: {conflict}" for conflict in record.lost)
            return f"**{record.question}**\n\n{_answers(record.answers)}\n\n{_rules(record.rules)}{lost}{excerpts}"
        case lveval.RuleConflicts():
            conflicts = "".join(
                f"\n\n- {conflict.old}: {conflict.kind}: {conflict.excerpt}" for conflict in record.conflicts
            )
            return f"**{record.question}**\n\n{_answers(record.answers)}\n\n{_rules(record.rules)}{conflicts}"
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
    before, after = (
        context[max(0, position.start - AROUND) : position.start],
        context[position.end : position.end + AROUND],
    )
    does = "supports" if position.kind == "support" else "confuses"
    held = f"**{_quoted(_cut(context[position.start : position.end]))}**"
    return f"{_percent(position.start, context)}, {does}:\n\n> {_quoted(before)} {held} {_quoted(after)}"


def _answers(answers: Iterable[str]) -> str:
    return f"Answer: **{' / '.join(answers)}**"


def _rules(rules: Iterable[lveval.Rule]) -> str:
    return "Replaced: " + ("; ".join(f"{rule.old} → {rule.new}" for rule in rules) or "nothing")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def _quoted(text: str) -> str:
    return text.strip().replace("\n", "\n> ")


def _percent(start: int, context: str) -> str:
    return f"At {100 * start / max(1, len(context)):.0f} %"
