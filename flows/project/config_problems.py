"""The problems of a configuration, each in one line and in YAML's terms."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from data.sources import check_source
from data.sources.opening import check_is_file
from data.sources.spec import PART, SourceError
from flows.construct.engine import Family
from flows.construct.part_sources import sources_read
from flows.construct.settings import FamilySettings
from schemas.errors import WrongInput, alike, in_short, nearest
from schemas.secrets import is_secret

SECRETIVE = frozenset({"model", "models", "base_url", "api_key_env", "cache", "store", "annotation"})
"""Keys whose value, or a mistake for it, can hold a password or a pasted key. It is never repeated."""
EXPECTED = {
    **dict.fromkeys(("tuple_type", "list_type"), "expected a list, as in [one, two]"),
    **dict.fromkeys(
        ("mapping_type", "dict_type", "model_type", "model_attributes_type"), "expected `key: value` lines"
    ),
    "union_tag_not_found": "names no provider; write `provider: rules`, `endpoint` or `local`",
}
"""Pydantic's problem -> what was expected, without the names of Python's types."""
NO_NUMBER = "expected a number, found true or false, as YAML reads yes, no, on and off"
LARGEST = 2**63 - 1
TOO_LARGE = f"expected a whole number from {-LARGEST - 1} to {LARGEST}"
KEYS_ELSEWHERE = (
    "keys and passwords go into the environment, not into this file: into the variable that a model's api_key_env "
    "names, HF_TOKEN, LABEL_STUDIO_API_KEY and the like"
)
NUMBERS = frozenset(("int_type", "float_type", "greater_than", "greater_than_equal", "less_than", "less_than_equal"))
"""Pydantic's problems with numbers."""


def config_problems(
    error: ValidationError, raw: Any, model: type[BaseModel], prefix: tuple[str, ...] = ()
) -> Sequence[str]:
    """Return each problem of the `raw` values as "key: problem"; for an unknown key, with the nearest known one.

    A key is not told to be missing if an unknown one beside it is probably meant for it.
    """
    placed = [(_place(problem, raw), problem) for problem in error.errors()]
    known = {place: sorted(_keys_at(model, place[:-1])) for place, problem in placed if _is_unknown(problem)}
    meant = {(*place[:-1], match) for place, keys in known.items() for match in alike(str(place[-1]), keys)}
    told: dict[tuple[Any, ...], str] = {}
    for place, problem in placed:
        if problem["type"] != "missing" or place not in meant:
            told.setdefault(place, _worded(problem, (*prefix, *place), known.get(place, ())))
    # Of a value that may have several shapes, what is wrong inside it tells more than that it has another shape.
    return [line for place, line in told.items() if not any(_is_inside(other, place) for other in told)]


def _place(problem: Any, raw: Any) -> tuple[Any, ...]:
    """Return the keys that lead to a problem, without the names that pydantic gives to the shapes of a value."""
    place = []
    for part in problem["loc"]:
        if part in raw if isinstance(raw, dict) else isinstance(raw, list) and part in range(len(raw)):
            raw = raw[part]
            place.append(part)
    return (*place, problem["loc"][-1]) if problem["type"] == "missing" else tuple(place)


def _is_unknown(problem: Any) -> bool:
    return bool(problem["type"] == "extra_forbidden")


def _is_inside(place: tuple[Any, ...], outer: tuple[Any, ...]) -> bool:
    return len(place) > len(outer) and place[: len(outer)] == outer


def _worded(problem: Any, place: tuple[Any, ...], known: Sequence[str]) -> str:
    path = ".".join(map(str, place))
    if _is_unknown(problem):
        return f"{path}: unknown key; {nearest(str(place[-1]), known)}"
    if problem["type"] == "missing":
        return f"{path}: is missing; it is required"
    if problem["type"] == "union_tag_invalid":  # pydantic's words repeat the value
        tag, tags = problem["ctx"]["discriminator"].strip("'"), problem["ctx"]["expected_tags"]
        return f"{path}.{tag}: expected one of {tags}"
    value = problem.get("input")
    if isinstance(value, bool) and problem["type"] in NUMBERS:
        return f"{path}: {NO_NUMBER}"
    is_shown = isinstance(value, int | float) or (
        isinstance(value, str) and not SECRETIVE.intersection(map(str, place))
    )
    shown = f" (found {value!r})" if is_shown else ""
    message = EXPECTED.get(problem["type"]) or in_short(problem["msg"])
    return f"{path or 'configuration'}: {message[:1].lower()}{message[1:]}{shown}"


def secrets_in(raw: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield each place where a text holds a key or an address with a password; a database's address may have one."""
    if isinstance(raw, str) and is_secret(raw) and place != ("cache",):
        yield place
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            if is_secret(str(key)):
                yield (*place, str(key))
            yield from secrets_in(value, (*place, str(key)))
    elif isinstance(raw, list):
        for number, value in enumerate(raw):
            yield from secrets_in(value, (*place, str(number)))


def numbers_too_large(raw: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield each place of a whole number of more than 64 bits, which no file of a build can hold."""
    if isinstance(raw, int) and not -LARGEST - 1 <= raw <= LARGEST:
        yield place
    inner = raw.items() if isinstance(raw, Mapping) else enumerate(raw) if isinstance(raw, list) else ()
    for key, value in inner:
        yield from numbers_too_large(value, (*place, str(key)))


def booleans_as_numbers(raw: Any, typed: Any) -> Iterator[tuple[str, ...]]:
    """Yield each place where YAML has true or false and the settings a number: nobody means 1 by `yes`."""
    if isinstance(raw, bool):
        if isinstance(typed, int | float) and not isinstance(typed, bool):
            yield ()
        return
    triples: list[tuple[str, Any, Any]] = []
    if isinstance(raw, dict):
        fields = dict(typed) if isinstance(typed, Mapping | BaseModel) else {}
        triples = [(str(key), value, fields.get(key)) for key, value in raw.items()]
    elif isinstance(raw, list) and isinstance(typed, list | tuple) and len(raw) == len(typed):
        triples = [(str(place), *pair) for place, pair in enumerate(zip(raw, typed, strict=True))]
    for key, value, known_value in triples:
        yield from ((key, *place) for place in booleans_as_numbers(value, known_value))


def missing_files(raw: Any, place: str) -> Iterator[str]:
    """Yield "key: problem" for each source below `raw` whose file does not exist."""
    if isinstance(raw, Mapping):
        path, format_ = raw.get("path"), raw.get("format", "hub")
        if (
            isinstance(path, str)
            and format_ not in ("hub", "touchstone", "documents", PART)  # folders, too
            and "://" not in path
        ):
            try:
                check_is_file(path)
            except SourceError as error:
                yield f"{place}: {error}"
        inner = [(f".{key}", value) for key, value in raw.items()]
    else:
        inner = [(f"[{number}]", value) for number, value in enumerate(raw)] if isinstance(raw, list) else []
    for key, value in inner:
        yield from missing_files(value, f"{place}{key}")


def source_problems(family: Family, settings: FamilySettings) -> Iterator[str]:
    """Yield "setting: problem" for each source that cannot be read, as far as its first row tells."""
    for part, setting, spec in sources_read(family, settings):
        if spec.is_url and spec.copied is None:
            continue  # a build fetches it, once the text is right
        try:
            check_source(spec, part.source)  # type: ignore[arg-type]
        except WrongInput as error:
            yield f"{setting}: {error}"


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
