"""A confusing fact that the rules offer."""

from typing import NamedTuple


class CandidateFact(NamedTuple):
    """A sentence that may become a confusing fact."""

    text: str
    stated: bool  # it restates the question, or is about the very subject
    lifted: bool = False  # a document says it, in these words or nearly: it may tell too much again
