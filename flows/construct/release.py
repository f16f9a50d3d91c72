"""What a part declares for releases: how its accepted records become configurations of a dataset."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from data.sources import SourceSpec


@dataclass(frozen=True)
class Released:
    """How a part's accepted records become configurations of a release."""

    together: str
    """The field that rows share which give each other away: the private share holds all of them, or none."""
    configs: tuple[str, ...] = ()
    """The fields whose values tell its configurations apart; without any there is one configuration."""
    verification_inputs: tuple[str, ...] = ()
    """The other parts that the verifier reads: their rows are released too, so that anyone can verify a download."""
    asked: Callable[..., bool] | None = None
    """`asked(row)`, of a part that needs people: whether a row has anything for them to accept; None where each has."""
    mixes: Callable[..., Iterable[SourceSpec]] | None = None
    """`mixes(settings, the values of configs)`: the sources whose text rows of that configuration may hold. Where it is
    None, these are all sources of the part, of its makers and of the parts that those use."""
    said: tuple[str, ...] = ()
    """The fields, texts or turns of a dialogue, that tell which languages a row is in; by default its `language`."""
