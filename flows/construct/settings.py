"""The settings that every family has, the sources in them, and type variables for declarations generic over them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar

from data.sources import SourceSpec
from schemas.errors import Failed


class Undeclared(Failed):
    """A step reads what it does not declare: its records would not be made again if that changed."""

    @classmethod
    def by(cls, step: str, what: str, declaration: str) -> Self:
        """Return the error for a step."""
        return cls(f"{step}: reads {what}, which the step does not declare; declare it with {declaration}")


class FamilySettings(BaseModel):
    """The base of a family's block in the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    parts: tuple[str, ...] | None = Field(
        None, min_length=1, description="Parts to build, with the parts that they are made from; all by default"
    )
    _reader: str = ""

    def declared(self, names: Collection[str], reader: str) -> Self:
        """Return a copy with the settings of these names alone. Reading another raises `Undeclared` with the reader."""
        copy = self.model_copy()
        copy._reader = reader
        for name in vars(self).keys() - set(names):
            del vars(copy)[name]
        return copy

    if not TYPE_CHECKING:  # a name that is no setting stays an error for mypy

        def __getattr__(self, name: str) -> Any:
            if name in type(self).model_fields:
                raise Undeclared.by(self._reader, f"the setting {name}", f"settings=[{name!r}]")
            return super().__getattr__(name)


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


def sources_in(value: Any) -> Iterator[SourceSpec]:
    """Yield all sources in settings, however deep."""
    if isinstance(value, SourceSpec):
        yield value
    elif isinstance(value, BaseModel):
        yield from sources_in([getattr(value, name) for name in type(value).model_fields])
    elif isinstance(value, Mapping):
        yield from sources_in(list(value.values()))
    elif isinstance(value, list | tuple):
        yield from (spec for inner in value for spec in sources_in(inner))


def _numbered(name: str, specs: Iterable[SourceSpec]) -> Iterator[tuple[str, SourceSpec]]:
    return ((f"{name}[{place}]", spec) for place, spec in enumerate(specs))
