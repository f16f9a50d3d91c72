"""What a part's verifier is given and finds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flows.construct.embed import Embedder
from schemas.base import Frozen
from schemas.verdict import Verdict


class Fault(Frozen):
    """Something a finished row claims that does not hold."""

    id: str
    problem: str


@dataclass(frozen=True)
class VerifyContext:
    """What a verifier may read beside the rows."""

    settings: Any
    """The family's: of no declared type, for a verifier imports nothing that builds rows."""
    embedder: Embedder
    rows: Callable[[str], Iterable[Any]]
    """The accepted rows of another part of the family."""
    verdicts: Callable[[str], Mapping[str, Verdict]] | None = None
    """By key, what people decided on the records of a part; None where that is not known, as in a release."""
