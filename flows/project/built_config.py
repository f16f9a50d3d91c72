"""The configuration of a build that is finished, and configurations whose sources are pinned."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from data.sources.pins import with_sources
from data.sources.spec import SourceSpec
from flows.construct.settings import FamilySettings
from flows.project.settings import Config, ConfigError, load_config, parse_config
from schemas.manifest import BuildManifest


def at_pins(config: Config, pinned: Callable[[SourceSpec], SourceSpec]) -> Config:
    """Return the configuration with each source that others can change at its pin."""
    families: dict[str, FamilySettings] = {}
    for name, settings in config.families.items():
        values = settings.model_dump(mode="json")
        changed = with_sources(values, pinned)
        families[name] = settings if changed == values else type(settings).model_validate(changed)
    compared = tuple(pinned(spec) for spec in config.release.contamination)
    release = config.release.model_copy(update={"contamination": compared})
    return config.model_copy(update={"families": families, "release": release})


def built_config(path: Path, built: BuildManifest, store: str | None) -> Config:
    """Return the configuration that a build was made with; models and prices are the file's, if it still exists."""
    config: dict[str, Any] = {**built.config, "store": store, "prompts": None, "prices": None}
    try:
        now = load_config(path)
    except ConfigError:
        return parse_config(config, str(path))
    known = {name: settings.model_dump(mode="json") for name, settings in now.families.items()}
    config["families"] = _with_paths(config["families"], known)
    made = parse_config(config, str(path))
    return now.model_copy(update={"families": made.families, "seed": made.seed, "store": made.store, "name": made.name})


def _with_paths(built: Any, now: Any) -> Any:
    """Return a manifest's values, with the configuration's full path in place of a bare file name that it ends in."""
    if isinstance(built, dict) and isinstance(now, dict):
        return {key: _with_paths(value, now.get(key)) for key, value in built.items()}
    if isinstance(built, list) and isinstance(now, list) and len(built) == len(now):
        return [_with_paths(value, other) for value, other in zip(built, now, strict=True)]
    if isinstance(built, str) and isinstance(now, str) and Path(now).is_absolute() and Path(now).name == built:
        return now
    return built
