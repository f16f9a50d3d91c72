"""Makes the paths in a configuration absolute, so that a build finds the same files wherever it is started."""

import os
from pathlib import Path
from typing import Any

from data.sources import PART
from data.sources.opening import is_folder

SQLITE = "sqlite:///"
LONGEST_NAME = 255
"""Bytes of the name of a file or folder."""


def with_absolute_paths(raw: dict[str, Any], reads_from: Path, writes_to: Path) -> dict[str, Any]:
    """Return the raw configuration with absolute paths: store and cache below `writes_to`, the rest `reads_from`."""
    absolute = {
        "prices": _joined(raw.get("prices"), reads_from),
        "prompts": _joined(raw.get("prompts"), reads_from),
        "store": _joined(raw.get("store"), writes_to),
        "cache": _database(raw.get("cache"), writes_to),
        "families": _each(_with_source_paths(raw.get("families"), reads_from), "entailment", reads_from),
        "release": _with_source_paths(raw.get("release"), reads_from),
        "model": _model(raw.get("model"), reads_from),
        "models": _each(raw.get("models"), None, reads_from),
        "annotation": _with_consent(raw.get("annotation"), reads_from),
        "embedder": _if_it_exists(raw.get("embedder"), "name", reads_from),
    }
    return {key: absolute.get(key, value) for key, value in raw.items()}


def local_path(store: str) -> str | None:
    """Return the path of a store on this machine; None for one that is elsewhere."""
    scheme, separator, path = store.partition("://")
    return store if not separator else path if scheme in ("file", "local") else None


def folder_problem(path: str) -> str | None:
    """Return why there can be no folder at a path, if it is there or if it is made; None if there can."""
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(path).parts):
        return f"a name in it is longer than {LONGEST_NAME} bytes; name another folder"
    for place in (Path(path), *Path(path).parents):
        try:
            place.stat()
        except (FileNotFoundError, NotADirectoryError):
            if place.is_symlink():
                return "a link to nothing is in its place; remove that, or name a folder"
        except OSError as error:  # a circle of links, a folder that is closed to us
            return f"cannot be opened ({error.strerror}); correct the path"
        else:
            return None if is_folder(place) else "a file is in its place; remove that, or name a folder"
    return None


def _joined(path: Any, folder: Path) -> Any:
    return str(folder / path) if isinstance(path, str) and "://" not in path else path


def _database(url: Any, folder: Path) -> Any:
    """Return a database URL; SQLite's with an absolute path."""
    if not isinstance(url, str) or not url.startswith(SQLITE) or url in (SQLITE, f"{SQLITE}:memory:"):
        return url
    return f"{SQLITE}{folder / url.removeprefix(SQLITE)}"


def _if_it_exists(settings: Any, key: str, folder: Path) -> Any:
    """Return settings whose `key` is a name or a path, made absolute if `folder` holds such a path."""
    name = settings.get(key) if isinstance(settings, dict) else None
    if not isinstance(name, str) or not name or not os.path.exists(folder / name):  # noqa: PTH110 - `Path` raises errors for some
        return settings
    return {**settings, key: str(folder / name)}


def _with_consent(settings: Any, folder: Path) -> Any:
    """Return the annotation settings with the absolute path of the text that strangers agree to."""
    strangers = settings.get("strangers") if isinstance(settings, dict) else None
    if not isinstance(strangers, dict) or "consent" not in strangers:
        return settings
    return {**settings, "strangers": {**strangers, "consent": _joined(strangers["consent"], folder)}}


def _model(settings: Any, folder: Path) -> Any:
    is_local = isinstance(settings, dict) and settings.get("provider") == "local"
    return _if_it_exists(settings, "name" if is_local else "tokenizer", folder)


def _each(blocks: Any, key: str | None, folder: Path) -> Any:
    """Return blocks of settings, each with the path under `key` made absolute; without a key, as models."""
    if not isinstance(blocks, dict):
        return blocks
    return {
        name: _model(block, folder) if key is None else _if_it_exists(block, key, folder)
        for name, block in blocks.items()
    }


def _with_source_paths(value: Any, folder: Path) -> Any:
    """Return `value` with the path of every source (`{format, path, ...}`) and blacklist in it made absolute."""
    if isinstance(value, list):
        return [_with_source_paths(element, folder) for element in value]
    if not isinstance(value, dict):
        return value
    placed = {key: _with_source_paths(inner, folder) for key, inner in value.items()}
    if "path" in value and value.get("format", "hub") not in ("hub", PART):
        placed["path"] = _joined(value["path"], folder)
    if isinstance(blacklists := value.get("blacklists"), dict):
        placed["blacklists"] = {language: _joined(path, folder) for language, path in blacklists.items()}
    return placed
