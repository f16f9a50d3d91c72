"""What a part's verifier is given and finds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from flows.construct.embed import Embedder
from flows.construct.settings import S_co
from schemas.base import Frozen
from schemas.verdict import Verdict


class Fault(Frozen):
    """Something a finished row claims that does not hold."""

    id: str
    problem: str


@dataclass(frozen=True)
class VerifyContext(Generic[S_co]):
    """What a verifier may read beside the rows."""

    settings: S_co
    embedder: Embedder
    rows: Callable[[str], Iterable[Any]]
    """The accepted rows of another part of the family, which knows their type."""
    verdicts: Callable[[str], Mapping[str, Verdict]] | None = None
    """By key, what people decided on the records of a part; None where that is not known, as in a release."""
