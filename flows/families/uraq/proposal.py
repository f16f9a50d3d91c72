"""What URAQ can be built from, for `touchstone new`."""

from collections.abc import Iterable
from typing import Any

from flows.construct.proposal import Found, Lacking, Proposal, source
from flows.families.uraq.settings import CONTEXT_COUNTS, statements_for
from schemas.base import counted
from schemas.source import QASource, Statement

LEAST_STATEMENTS = 2
UNRELATED = 0.4
"""Contexts that are unrelated to a question, for each question that documents are asked: about as many texts are there,
since a statement gives two, but some are near-duplicates; and at least four in ten are on other things."""
SMALL_COUNTS = (1, 2, 4)
"""Contexts in a row if statements are too few for the paper's."""


def propose(found: Found) -> Proposal:
    """Propose the largest file of statements, and all questions with two sides."""
    stated = sorted(found.giving(Statement, ["en"]), key=lambda some: -len(some.records[Statement]))
    stated = [some for some in stated if len(some.records[Statement]) >= LEAST_STATEMENTS]
    opposed = [some for some in found.giving(QASource, ["en"]) if any(q.sides for q in some.records[QASource])]
    parts = found.parts_giving(Statement, ["en"])
    if not stated and not opposed and not parts:
        raise Lacking("wants English statements, one a row, or questions with two sides")
    if found.by_rules and not opposed:
        raise Lacking("wants a model, see --model: the rules ask no questions on statements of yours")
    settings: dict[str, Any] = {}
    comments: dict[str, str] = {}
    built, shows = [], ""
    if stated:
        statements = len(stated[0].records[Statement])
        settings["statements_from"] = source(stated[0])
        comments["statements_from"] = _or_others(some.name for some in stated[1:])
        built.append(counted(statements, "statement"))
    elif parts:
        settings["statements_from"] = parts[0]
        built.append("statements of the documents")
        (wanted,) = (some.wanted for some in found.proposed if some.gives.get(Statement) == parts[0])
        unrelated = int(UNRELATED * wanted)
        counts = CONTEXT_COUNTS if unrelated >= CONTEXT_COUNTS[1] else SMALL_COUNTS
        settings["context_counts"] = [number for number in counts if number <= unrelated] or [1]
        comments["context_counts"] = (
            f"statements in a row: {counted(wanted, 'question')} give about {unrelated} that have nothing to do with "
            "one"
        )
    if opposed:
        settings["qa_sources"] = [source(some) for some in opposed]
        built.append("questions with two sides")
        shows = "evaluation"
    if stated and stated[0].is_whole:
        fitting = [number for number in CONTEXT_COUNTS if statements_for(number) <= statements]
        settings["context_counts"] = fitting or [1]
    comments = {place: said for place, said in comments.items() if said}
    return Proposal(settings, " and ".join(built), comments, shows)


def _or_others(names: Iterable[str]) -> str:
    others = ", ".join(names)
    return f"one file; or {others}" if others else ""
