"""The sources that a family's settings name for a part."""

from collections.abc import Iterable, Iterator, Mapping

from data.sources import SourceSpec
from flows.construct.engine import Part
from flows.construct.settings import FamilySettings


def sources_of(settings: FamilySettings, part: Part) -> Iterator[tuple[str, SourceSpec]]:
    """Yield the sources that the settings name for a part, each with its place in the settings.

    A setting holds one source, a list of them, a mapping of names to lists, or a mapping of such places to sources.
    """
    for name in part.sources:
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
