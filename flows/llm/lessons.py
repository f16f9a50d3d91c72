"""What a server's refusals have shown of the requests that it takes, kept for the next process that sends batches."""

from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from schemas.base import Frozen

Level = Literal["json_schema", "json_object", "text"]


class Lessons(Frozen):
    """See `Dialect`. Without them one request finds out: it is asked at once, at the full price."""

    level: Level
    level_is_known: bool
    limit_name: str
    most_answered: int | None
    refused: tuple[tuple[str, str], ...]
    """Parameters, each with its value as JSON."""
    merges_system: bool
    notes: tuple[str, ...]
    """What the user was told of them."""

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what was written; None if nothing was, or it is damaged: the next request finds out."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
