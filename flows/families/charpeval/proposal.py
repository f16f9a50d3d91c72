"""What CHARPEval can be built from, for `touchstone new`."""

from flows.construct.proposal import Found, Lacking, Proposal, other_columns, source
from schemas.base import counted
from schemas.source import Dialogue


def propose(found: Found) -> Proposal:
    """Propose all English dialogues."""
    talked = found.giving(Dialogue, ["en"])
    if not talked:
        raise Lacking("wants English dialogues in JSONL, with history, knowledge and response")
    dialogues = sum(len(some.records[Dialogue]) for some in talked)
    return Proposal(
        {"sources": [source(some) for some in talked]},
        f"{counted(dialogues, 'dialogue')}; people write the wrong responses",
        other_columns("sources", talked),
        "utterances",
    )
