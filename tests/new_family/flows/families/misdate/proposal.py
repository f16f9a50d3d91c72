"""What Misdate can be built from, for `touchstone new`."""

from flows.construct.proposal import Found, Lacking, Proposal, other_columns, source
from schemas.source import Statement


def propose(found: Found) -> Proposal:
    """Propose all English statements, those of other families' parts included."""
    stated = found.giving(Statement, ["en"])
    sources = [*(source(some) for some in stated), *found.parts_giving(Statement, ["en"])]
    if not sources:
        raise Lacking("wants English statements, one a row")
    return Proposal({"sources": sources}, "statements with another year", other_columns("sources", stated))
