"""RefuteBench's records as a person reads them, in Markdown."""

from flows.families.refutebench.rubric import SPEAKERS
from schemas.base import Record
from schemas.refutebench import DialogueTurn, ProtocolSettings, Rating, RefutationDialogue, Seed


def show(record: Record) -> str:
    """The record in Markdown."""
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
            chosen = record.model_dump(mode="json", exclude={"id", "key", "provenance"})
            return "\n".join(f"- {name}: {value}" for name, value in chosen.items())
        case _:
            raise TypeError(f"RefuteBench has no record {type(record).__name__}")


def _mark(turn: DialogueTurn) -> str:
    if turn.cut_off:
        return " (cut off at the limit of tokens)"
    if turn.prompt_cut:
        return " (shown what came before cut to its window)"
    if turn.role == "assistant" or turn.kind == "query":
        return ""
    return f" (refutes, {turn.focus})" if turn.kind == "refutation" else " (unrelated)"


def _lines(text: str) -> str:
    """The text with its line breaks, which a requirement can be about."""
    return text.replace("\n", "  \n")


def _quoted(text: str) -> str:
    return "> " + "\n> ".join(text.splitlines())
