"""Checks a downloaded version's card against its manifest."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from data.publish.folder import CARD, MANIFEST, Release, claims_of
from schemas.errors import first_problem
from schemas.release import ReleasedConfig

_FENCE = "---"


class _DataFiles(BaseModel):
    model_config = ConfigDict(extra="forbid")
    split: str
    path: str | list[str]


class _CardConfig(BaseModel):
    """A configuration as the Hub reads it from a card; its other settings do not matter here."""

    config_name: str
    data_files: list[_DataFiles]
    default: bool = False


class _CardSplit(BaseModel):
    name: str
    num_examples: int


class _CardInfo(BaseModel):
    config_name: str
    splits: list[_CardSplit] = []


class _Metadata(BaseModel):
    """The part of the card's YAML that has to match the files."""

    configs: list[_CardConfig]
    dataset_info: list[_CardInfo] | _CardInfo = []


def card_faults(release: Release) -> Iterator[str]:
    """Yield what is wrong with the card, a line each."""
    try:
        text = (release.folder / CARD).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        yield f"{CARD}: cannot be read ({error})"
        return
    if claims_of(release.manifest) not in text:
        yield f"{MANIFEST}: not as it was when {CARD} was written: its version, names, licences or counts were changed"
    if release.manifest.canary not in text:
        yield f"{CARD}: the canary {release.manifest.canary} is not in it"
    try:
        metadata = _Metadata.model_validate(_yaml(text))
    except ValidationError as error:
        yield f"{CARD}: its YAML: {first_problem(error, 'whole')}"
        return
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        yield f"{CARD}: its YAML cannot be read: {' '.join(str(error).split())}"
        return
    expected = {config.name: config for config in release.manifest.configs if config.files}
    yield from _config_faults(release.folder, metadata.configs, expected)
    infos = metadata.dataset_info
    yield from _info_faults(infos if isinstance(infos, list) else [infos], expected)


def _config_faults(folder: Path, configs: list[_CardConfig], expected: Mapping[str, ReleasedConfig]) -> Iterator[str]:
    names = Counter(config.config_name for config in configs)
    for name in sorted(names.keys() ^ expected.keys()):
        yield f"{CARD}: configuration {name}: " + ("missing" if name in expected else "not in the manifest")
    if names.total() > len(names):
        yield f"{CARD}: a configuration is in it twice"
    if sum(config.default for config in configs) > 1:
        yield f"{CARD}: two configurations are the default"
    for config in configs:
        if config.config_name in expected:
            yield from _file_faults(folder, config, expected[config.config_name])


def _info_faults(infos: list[_CardInfo], expected: Mapping[str, ReleasedConfig]) -> Iterator[str]:
    for info in infos:
        config = expected.get(info.config_name)
        counts = {split.name: split.num_examples for split in info.splits}
        if config is None or (counts and counts != {config.split: config.rows}):
            yield f"{CARD}: dataset_info of {info.config_name}: {counts}, which the manifest does not say"


def _file_faults(folder: Path, card: _CardConfig, config: ReleasedConfig) -> Iterator[str]:
    where = f"{CARD}: configuration {config.name}"
    splits = [files.split for files in card.data_files]
    if splits != [config.split]:
        yield f"{where}: splits {', '.join(splits)}, expected {config.split}"
        return
    (files,) = card.data_files
    patterns = [files.path] if isinstance(files.path, str) else files.path
    paths = map(PurePosixPath, patterns)
    if bad := next((path for path in paths if path.is_absolute() or ".." in path.parts), None):
        yield f"{where}: {str(bad)!r} is no path in this folder"
        return
    try:
        named = {path.relative_to(folder).as_posix() for pattern in patterns for path in folder.glob(pattern)}
    except (ValueError, NotImplementedError) as error:
        yield f"{where}: {patterns} cannot be read ({error})"
        return
    for path in sorted(named ^ set(config.files)):
        yield f"{where}: {path} is " + ("not named" if path in config.files else "named, but not part of it")


def _yaml(text: str) -> Any:
    """Return the YAML between the first two lines of `---`."""
    first, *lines = (line.removesuffix("\r") for line in text.split("\n"))
    if first != _FENCE or _FENCE not in lines:
        raise ValueError("expected YAML between two lines of --- at the top")
    return yaml.safe_load("\n".join(lines[: lines.index(_FENCE)]))
