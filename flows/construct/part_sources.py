"""Sources that are parts of the same configuration, `{part: documents-pairs}`: built first, and read as they are."""

from collections.abc import Iterator

from data.sources import PART, SourceSpec
from flows.construct.engine import Family, Part
from flows.construct.settings import FamilySettings, sources_of
from flows.construct.stages import Build


def sources_read(family: Family, settings: FamilySettings) -> Iterator[tuple[Part, str, SourceSpec]]:
    """Yield the sources of the parts to build, each with its part and its place in the settings."""
    for part in family.wanted(settings):
        for place, spec in sources_of(settings, part.sources) if not family.makers(part) else ():
            yield part, place, spec


def families_read(family: Family, settings: FamilySettings) -> set[str]:
    """Return the names of the families whose parts are sources of this one."""
    return {spec.path.partition("-")[0] for *_, spec in sources_read(family, settings) if spec.format == PART}


def opened(build: Build, spec: SourceSpec) -> SourceSpec:
    """Return a source that can be read: a part's has its finished records."""
    if spec.format != PART:
        return spec
    family, part = build.part_of(spec)
    return spec.model_copy(update={"records": lambda: build.accepted(family.name, part.name)})


def original_sources(build: Build, family: Family, part: Part) -> Iterator[SourceSpec]:
    """Yield the sources of a part, each traced to its origin."""
    return (origin for _, spec in build.named_sources(family, part) for origin in build.origins(spec))
