"""RefuteBench's records for a person: in Markdown, and laid out for the build report."""

from flows.construct.view import Line, View
from flows.families.refutebench.rubric import SPEAKERS
from schemas.base import Record
from schemas.refutebench import DialogueTurn, ProtocolSettings, Rating, RefutationDialogue, Seed

LABELS = {"query": "query", "refutation": "refutation", "unrelated": "unrelated query"}


def show(record: Record) -> str:
    """Return the record in Markdown."""
    match record:
        case Seed():
            reference = f"\n\nReference: {_quoted(record.reference)}" if record.reference else ""
            return f"{record.task} · {record.kind}\n\n**User:** {_lines(record.query)}{reference}"
        case RefutationDialogue():
            after = f", C = {record.unrelated}" if record.unrelated else ""
            head = f"{record.task} · {record.protocol}{after} · {record.model}, refuted by {record.refuter}"
            turns = [f"**{SPEAKERS[turn.role]}{_mark(turn)}:** {_lines(turn.text)}" for turn in record.turns]
            return "\n\n".join([f"{head} (style: {record.style})", *turns])
        case Rating():
            of = f"r{record.refutation_number}" if record.refutation_number is not None else "the query"
            head = f"{record.task} · {record.protocol} · {record.model} · a{record.answer_number} by {of}"
            shown = {"Before": record.previous, "Refutation": record.refutation, "After": record.response}
            texts = [f"**{name}:** {_lines(text)}" for name, text in shown.items() if text]
            rating = f"**{record.evaluator}: {record.rating}**\n\n{_quoted(record.explanation)}"
            return "\n\n".join([head, f"**Query:** {_lines(record.query)}", *texts, rating])
        case ProtocolSettings():
            return "\n".join(f"- {name}: {value}" for name, value in _settings(record).items())
    raise TypeError(f"RefuteBench has no record {type(record).__name__}")


def view(record: Record) -> View:
    """Return the record as lines: a query, a dialogue turn by turn, or a rating with what was rated."""
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
                lines=tuple(_turn(turn) for turn in record.turns),
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
            lines = tuple(Line(name, (str(value),)) for name, value in _settings(record).items())
            return View(title="protocol", lines=lines)
    raise TypeError(f"RefuteBench has no record {type(record).__name__}")


def _turn(turn: DialogueTurn) -> Line:
    if turn.role == "assistant":
        return Line("answer", (turn.text,))
    label = LABELS[turn.kind] + (f" ({turn.focus})" if turn.focus else "")
    return Line(label, (turn.text,), strong=turn.kind == "refutation")


def _mark(turn: DialogueTurn) -> str:
    if turn.cut_off:
        return " (cut off at the limit of tokens)"
    if turn.prompt_cut:
        return " (shown what came before cut to its window)"
    if turn.role == "assistant" or turn.kind == "query":
        return ""
    return f" (refutes, {turn.focus})" if turn.kind == "refutation" else " (unrelated)"


def _settings(record: ProtocolSettings) -> dict[str, object]:
    return record.model_dump(mode="json", exclude={"id", "key", "provenance"})


def _lines(text: str) -> str:
    """Return the text with its line breaks, which a requirement can be about."""
    return text.replace("\n", "  \n")


def _quoted(text: str) -> str:
    return "> " + "\n> ".join(text.splitlines())
