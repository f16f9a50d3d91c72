"""What questions can be asked of, for `touchstone new`."""

from typing import Any

from flows.construct.proposal import Found, Lacking, Proposal, other_columns, source
from schemas.base import counted
from schemas.source import Passage, QASource, Statement

MOST_QUESTIONS, FEWEST_QUESTIONS = 100, 10


def propose(found: Found) -> Proposal:
    """Propose a question for each passage, up to a number that is enough to begin with."""
    texts = found.documents
    if not texts:
        raise Lacking("wants documents, or a table with a column of texts")
    passages = sum(round(len(some.records[Passage]) * some.more) for some in texts)
    pairs = max(FEWEST_QUESTIONS, min(MOST_QUESTIONS, passages))
    language = {} if texts[0].language == "en" else {"language": texts[0].language}
    settings: dict[str, Any] = {"pairs": pairs}
    comments = {"pairs": "questions wanted", **other_columns("sources", texts)}
    if not found.by_rules:
        settings["prescreen"] = ["checker"]
        comments["prescreen"] = "drops what the model knows without the documents: public ones mostly; [] keeps it"
    settings["sources"] = [source(some) for some in texts]
    return Proposal(
        settings,
        f"questions on about {counted(passages, 'passage')}",
        comments,
        gives={
            Passage: {"part": "documents-passages", **language},
            QASource: {"part": "documents-pairs", **language},
            Statement: {"part": "documents-statements", **language},
        },
        wanted=pairs,
    )
