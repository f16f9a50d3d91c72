"""What a part declares for releases: how its accepted records become configurations of a dataset."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic

from data.sources import SourceSpec
from flows.construct.records import R_co
from flows.construct.settings import S_contra


@dataclass(frozen=True)
class Released(Generic[S_contra, R_co]):
    """How a part's accepted records become configurations of a release."""

    together: str
    """The field that rows share which give each other away: the private share holds all of them, or none."""
    configs: tuple[str, ...] = ()
    """The fields whose values tell its configurations apart; without any there is one configuration."""
    verification_inputs: tuple[str, ...] = ()
    """The other parts that the verifier reads: their rows are released too, so that anyone can verify a download."""
    asked: Callable[[R_co], bool] | None = None
    """Of a part that needs people: whether a row has anything for them to accept; None where each has."""
    mixes: Callable[[S_contra, Mapping[str, object]], Iterable[SourceSpec]] | None = None
    """(settings, the values of `configs`): the sources whose text the rows of that configuration may hold. Where it is
    None, these are all sources of the part, of its makers and of the parts that those use."""
    said: tuple[str, ...] = ()
    """The fields, texts or turns of a dialogue, that tell which languages a row is in; by default its `language`."""
