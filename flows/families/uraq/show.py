"""URAQ's records as a person reads them, in Markdown."""

from schemas.base import Record
from schemas.uraq import Conflict, EvaluationRow, StatementPair, UraqItem

SHOWN_CONTEXTS = 12
"""Contexts of a row that are printed; the rest is counted."""


def show(record: Record) -> str:
    """The record in Markdown."""
    match record:
        case UraqItem():
            steps = "\n".join(
                f"{number}. {step.text} *({step.kind}: {step.original} | {step.manipulated})*"
                for number, step in enumerate(record.steps, 1)
            )
            return (
                f"**{record.question}**\n\n"
                f"- original: {record.original}\n"
                f"- manipulated ({record.manipulation}): {record.manipulated}\n\n"
                f"{steps}\n\n"
                f"Answer ({record.answer_type}): **{record.answer_original}** from the original, "
                f"**{record.answer_manipulated}** from the manipulated. "
                f"In one hop: {record.single_hop_question} ({record.single_hop_answer})"
            )
        case StatementPair():
            return f"- original: {record.original}\n- manipulated ({record.manipulation}): {record.manipulated}"
        case Conflict():
            return (
                f"**{record.question}**\n\n"
                f"- original (answer: **{record.answer_original}**): {record.original}\n\n"
                f"- manipulated (answer: **{record.answer_manipulated}**): {record.manipulated}"
            )
        case EvaluationRow():
            lines = [
                f"{number}. {'**' + text + '** ← relevant' if number - 1 == record.relevant_index else text}"
                for number, text in enumerate(record.contexts, 1)
                if number <= SHOWN_CONTEXTS or number - 1 == record.relevant_index
            ]
            hidden = len(record.contexts) - len(lines)
            more = f"\n\n({hidden} more contexts)" if hidden else ""
            expected = "\n".join(f"- {need}: **{answer}**" for need, answer in record.expected.items())
            contexts = "\n".join(lines)
            return (
                f"**{record.question}** — {record.setting}, {record.n_contexts} contexts\n\n"
                f"{contexts}{more}\n\nExpected answer:\n{expected}"
            )
    raise TypeError(f"URAQ has no {type(record).__name__}")
