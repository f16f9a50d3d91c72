"""The problems of a configuration, each in one line and in YAML's terms."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from schemas.errors import in_short, nearest

SECRETIVE = frozenset({"model", "models", "base_url", "api_key_env", "cache", "store", "annotation"})
"""Keys whose value, or a mistake for it, can hold a password or a pasted key. It is never repeated."""
EXPECTED = {
    **dict.fromkeys(("tuple_type", "list_type"), "expected a list, as in [one, two]"),
    **dict.fromkeys(
        ("mapping_type", "dict_type", "model_type", "model_attributes_type"), "expected `key: value` lines"
    ),
}
"""Pydantic's problem -> what was expected, without the names of Python's types."""
NO_NUMBER = "expected a number, found true or false, as YAML reads yes, no, on and off"
NUMBERS = frozenset(("int_type", "float_type", "greater_than", "greater_than_equal", "less_than", "less_than_equal"))
"""Pydantic's problems with numbers."""


def first_config_problem(error: ValidationError, model: type[BaseModel], prefix: tuple[str, ...] = ()) -> str:
    """Return the first problem as "key: problem"; for an unknown key, with the nearest known one."""
    problem = error.errors()[0]
    where = [part for part in problem["loc"] if part not in ("rules", "endpoint", "local")]
    path = ".".join(str(part) for part in (*prefix, *where))
    if problem["type"] == "extra_forbidden":
        return f"{path}: unknown key; {nearest(str(where[-1]), sorted(_keys_at(model, where[:-1])))}"
    if problem["type"] == "missing":
        return f"{path}: is missing; it is required"
    value = problem.get("input")
    if isinstance(value, bool) and problem["type"] in NUMBERS:
        return f"{path}: {NO_NUMBER}"
    is_shown = isinstance(value, int | float) or (
        isinstance(value, str) and not SECRETIVE.intersection(map(str, where))
    )
    shown = f" (found {value!r})" if is_shown else ""
    message = EXPECTED.get(problem["type"]) or in_short(problem["msg"])
    return f"{path or 'configuration'}: {message[:1].lower()}{message[1:]}{shown}"


def boolean_as_number(raw: Any, typed: Any) -> tuple[str, ...] | None:
    """Return the first place where YAML has true or false and the settings a number: nobody means 1 by `yes`."""
    if isinstance(raw, bool):
        return () if isinstance(typed, int | float) and not isinstance(typed, bool) else None
    triples: list[tuple[str, Any, Any]] = []
    if isinstance(raw, dict):
        fields = dict(typed) if isinstance(typed, Mapping | BaseModel) else {}
        triples = [(str(key), value, fields.get(key)) for key, value in raw.items()]
    elif isinstance(raw, list) and isinstance(typed, list | tuple) and len(raw) == len(typed):
        triples = [(str(place), *pair) for place, pair in enumerate(zip(raw, typed, strict=True))]
    for key, value, known_value in triples:
        if (place := boolean_as_number(value, known_value)) is not None:
            return (key, *place)
    return None


def _keys_at(model: type[BaseModel], where: Sequence[Any]) -> set[str]:
    """Return the known keys at a place in a configuration."""
    kinds: list[Any] = [model]
    for part in where:
        following: list[Any] = []
        for kind in kinds:
            if _is_model(kind):
                following += _flat(kind.model_fields[part].annotation) if part in kind.model_fields else []
            else:
                following += _flat(kind)[1:]
        kinds = following
    return {key for kind in kinds if _is_model(kind) for key in kind.model_fields}


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _flat(annotation: Any) -> list[Any]:
    """Return the annotation and all its arguments, at any depth."""
    return [annotation, *(part for inner in get_args(annotation) for part in _flat(inner))]
