"""What a family's paper is called."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """The paper that a family implements."""

    title: str
    short: str
    year: int
    authors: str
