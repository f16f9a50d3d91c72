"""The input and output of a part's verifier."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flows.construct.embed import Embedder
from flows.construct.rows_on_disk import RowsOnDisk
from schemas.base import Frozen
from schemas.verdict import Verdict


class Fault(Frozen):
    """A claim of a finished row that does not hold."""

    id: str
    problem: str


@dataclass(frozen=True)
class VerifyContext:
    """The data that a verifier may read in addition to the rows."""

    settings: Any
    """The family's settings, untyped because a verifier imports nothing that builds rows."""
    embedder: Embedder
    rows: Callable[[str], Iterable[Any]]
    """The accepted rows of another part of the family."""
    verdicts: Callable[[str], Mapping[str, Verdict]] | None = None
    """By key, people's verdicts on the records of a part; None if they are not known, as in a release."""

    def rows_by(self, part: str, name: Callable[[Any], str]) -> Mapping[str, Any]:
        """Return the accepted rows of another part by a name of theirs. They stay on disk."""
        return RowsOnDisk((name(row), row) for row in self.rows(part))
