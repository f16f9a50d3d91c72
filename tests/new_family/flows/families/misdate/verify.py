"""Proves Misdate's finished rows from themselves."""

from collections.abc import Iterable, Iterator

from flows.construct.verification import Fault, VerifyContext
from schemas.misdate import MisdatedItem


def verify_items(rows: Iterable[MisdatedItem], ctx: VerifyContext) -> Iterator[Fault]:
    """The context has the answer and not the original year; the question has neither."""
    for row in rows:
        if row.answer not in row.context or row.answer_original in row.context:
            yield Fault(id=row.id, problem="the context does not have the answer alone")
        if row.answer in row.question or row.answer_original in row.question:
            yield Fault(id=row.id, problem="the question gives a year away")
