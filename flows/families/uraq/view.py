"""URAQ's records side by side: what follows from the original statement, and what from the manipulated statement."""

from flows.construct.view import Line, Listing, View
from schemas.base import Record, counted
from schemas.uraq import NEEDS, Conflict, EvaluationRow, StatementPair, UraqItem

SIDES = ("original", "manipulated")


def view(record: Record) -> View:
    """The record as two columns; an evaluation row as a column for each user need."""
    match record:
        case StatementPair():
            return View(
                tags=(record.manipulation, *([record.topic] if record.topic else ())),
                columns=SIDES,
                lines=(Line("statement", (record.original, record.manipulated)),),
            )
        case UraqItem():
            steps = (
                Line(f"{number}. {step.text} ({step.kind})", (step.original, step.manipulated))
                for number, step in enumerate(record.steps, 1)
            )
            return View(
                title=record.question,
                tags=(f"{counted(record.hops, 'hop')}", record.answer_type, record.manipulation),
                columns=SIDES,
                lines=(
                    Line("statement", (record.original, record.manipulated)),
                    *steps,
                    Line("answer", (record.answer_original, record.answer_manipulated), strong=True),
                    Line("in one hop", (f"{record.single_hop_question} {record.single_hop_answer}",)),
                ),
            )
        case Conflict():
            return View(
                title=record.question,
                tags=(record.answer_type, record.source),
                columns=SIDES,
                lines=(
                    Line("evidence", (record.original, record.manipulated)),
                    Line("answer", (record.answer_original, record.answer_manipulated), strong=True),
                ),
            )
        case EvaluationRow():
            number = f"{counted(record.n_contexts, 'context')}"
            place = record.relevant_index
            relevant = "none" if place is None else f"no. {place + 1}: {record.contexts[place]}"
            return View(
                title=record.question,
                tags=(record.setting, number),
                columns=NEEDS,
                lines=(
                    Line("expected", tuple(record.expected[need] for need in NEEDS), strong=True),
                    Line("relevant context", (relevant,)),
                ),
                listing=Listing(f"All {number}" if record.n_contexts > 1 else "The context", record.contexts, place),
            )
    raise TypeError(f"URAQ has no {type(record).__name__}")
