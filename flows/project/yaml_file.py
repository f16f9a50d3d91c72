"""Reads YAML that people write, the configuration and the prices: what is wrong with a file is told in one line."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from data.sources.opening import whole
from schemas.errors import WrongInput

MOST_BYTES = 2**20
"""Of a file that people write."""
MOST_VALUES = 1_000_000
MOST_LEVELS = 100
"""Both in a file, once its anchors are written out."""
TOO_DEEP = "it is nested too deeply, or an anchor contains itself; write it out"


class _Loader(yaml.SafeLoader):
    """YAML that refuses what YAML itself silently takes the last of, and raises its own errors alone."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int):
                str(value)  # it raises `ValueError` if there are too many digits to be shown to anybody
        except (ArithmeticError, AttributeError, LookupError, ValueError):
            kind = node.tag.rpartition(":")[2]
            raise _error(f"a value cannot be read as {kind}; correct it, or put it in quotes", node) from None
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | None):
                raise _error("a key is not text; put it in quotes", key_node)
            if key in seen:
                raise _error(f"the key {key!r} is there twice", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def yaml_in(path: str | Path, advice: str) -> Any:
    """Return the value in a YAML file; None if it is empty.

    Raises `WrongInput` with the file, the line and what to do; with the `advice`, if it is no such file.
    """
    try:
        value = yaml.load(whole(str(path), MOST_BYTES, advice).decode("utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
        many, levels = _size(value, {})
    except OSError as error:
        raise WrongInput(f"{path}: cannot be read ({error.strerror}); {advice}") from error
    except UnicodeDecodeError as error:
        raise WrongInput(f"{path}: cannot be read ({error}); save it as UTF-8") from error
    except RecursionError as error:
        raise WrongInput(f"{path}: {TOO_DEEP}") from error
    except yaml.MarkedYAMLError as error:  # a traceback would quote the line
        mark, said = error.problem_mark or error.context_mark, ", ".join(filter(None, (error.context, error.problem)))
        raise WrongInput(f"{path}: not valid YAML{f' in line {mark.line + 1}' if mark else ''}: {said}") from None
    except yaml.YAMLError as error:
        raise WrongInput(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if levels > MOST_LEVELS:
        raise WrongInput(f"{path}: {TOO_DEEP}")
    if many > MOST_VALUES:
        raise WrongInput(f"{path}: its anchors stand for more than {MOST_VALUES:,} values; write them out")
    return value


def _size(value: Any, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many values there are in a value, those in an anchor as often as it is named, and how many levels."""
    if not isinstance(value, dict | list | tuple):
        return 1, 0
    if id(value) not in known:
        sizes = [_size(item, known) for item in (value.values() if isinstance(value, dict) else value)]
        known[id(value)] = 1 + sum(many for many, _ in sizes), 1 + max((levels for _, levels in sizes), default=0)
    return known[id(value)]
