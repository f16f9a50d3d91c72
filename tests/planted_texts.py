"""Every place of a configuration where somebody may write a text, as configurations with a planted one.

The places follow from the types of the settings, so that a new setting is among them by itself. Settings that several
others hold, as those of a source, are planted in once.
"""

from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from flows.families import family_names, load_family
from flows.project.settings import Config

BESIDE = ("api_key", "headers", "password")
"""Settings that there are not, under which somebody may write a key."""
LEAST = {"name": "planted", "families": {"uraq": {}}}


def configurations(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, configuration), for each place that a text can have in a configuration."""
    seen: set[type] = set()
    for place, raw in _planted(Config, text, seen):
        if place:
            yield place, {**raw, "families": raw["families"] or LEAST["families"]}
    for name in family_names():
        for place, settings in _planted(load_family(name).settings, text, seen):
            yield f".families.{name}{place}", {**LEAST, "families": {name: settings}}
    yield ".families.{}", {**LEAST, "families": {text: {}}}


def _planted(kind: Any, text: str, seen: set[type]) -> Iterator[tuple[str, Any]]:
    """(place, value): the text in place of a value of this type, and at each place inside one."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from _planted(arguments[0], text, seen)
    elif origin in (Union, UnionType):
        for one in arguments:
            yield from _planted(one, text, seen)
    elif origin is Callable or kind in (NoneType, Callable):
        return
    elif _is_model(kind):
        yield "", text
        if kind in seen:
            return
        seen.add(kind)
        for name, field in kind.model_fields.items():
            for place, value in _planted(field.annotation, text, seen):
                yield f".{name}{place}", {**_least(kind), name: value}
        for name in (text, *BESIDE):
            yield f".{'{}' if name == text else name}", {**_least(kind), name: text}
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield "", text
        yield ".{}", {text: _least(arguments[1])}
        yield from ((f".one{place}", {"one": value}) for place, value in _planted(arguments[1], text, seen))
    elif origin in (tuple, list):
        yield "", text
        yield from ((f"[0]{place}", [value]) for place, value in _planted(arguments[0], text, seen))
    else:  # a text, or what a text may stand for: a number, a word out of a few
        yield "", text
        if kind is Any:
            yield ".headers", {"headers": {"Authorization": f"Bearer {text}"}}
            yield ".{}", {text: 1}


def _least(kind: Any) -> Any:
    """A value of this type with nothing that can be left out."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, UnionType):
        return _least(arguments[0])
    if _is_model(kind):
        needed = {name: field for name, field in kind.model_fields.items() if field.is_required() or name == "provider"}
        return {name: _least(field.annotation) for name, field in needed.items()}
    if origin is Literal:
        return arguments[0]
    return {int: 2, float: 0.5, bool: True, str: "m"}.get(kind, [] if origin in (tuple, list) else {})


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
