"""The settings that every family has, the sources in them, and type variables for declarations generic over them."""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar

from data.sources import SourceSpec


class FamilySettings(BaseModel):
    """The base of a family's block in the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: tuple[str, ...] | None = Field(
        None, min_length=1, description="Parts to build, with the parts that they are made from; all by default"
    )


S = TypeVar("S", bound=FamilySettings)
S_co = TypeVar("S_co", bound=FamilySettings, covariant=True, default=FamilySettings)


def sources_of(settings: FamilySettings, names: Iterable[str]) -> Iterator[tuple[str, SourceSpec]]:
    """Yield the sources in the settings of these names, each with its place.

    A setting holds one source, a list of them, a mapping of names to lists, or a mapping of such places to sources.
    """
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, SourceSpec):
            yield name, value
        elif isinstance(value, Mapping):
            for key, specs in value.items():
                yield from [(key, specs)] if isinstance(specs, SourceSpec) else _numbered(f"{name}.{key}", specs)
        else:
            yield from _numbered(name, value or ())


def _numbered(name: str, specs: Iterable[SourceSpec]) -> Iterator[tuple[str, SourceSpec]]:
    return ((f"{name}[{place}]", spec) for place, spec in enumerate(specs))
