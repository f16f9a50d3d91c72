"""Checks that a downloaded version is whole, from its own files alone.

What each row claims is proved by its family's verifier, from `data.publish.reading.read_released`.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from data.checksum import checksum
from data.publish.benchmark import BENCHMARK
from data.publish.folder import CARD, DATA, MANIFEST, Release, claims_of, is_reserved, paths_in
from data.publish.history import history_faults
from data.publish.merge import read_yaml, split_metadata
from data.publish.reading import opened, read_batches
from data.publish.row_keys import Numbers, RowKeys, keys_in, numbers_of
from data.publish.rows import fields_of
from data.publish.version_number import parsed_version
from schemas.base import counted, visible
from schemas.errors import Failed, WrongInput, first_problem
from schemas.release import ReleasedConfig

_READ = {"key": pa.string(), "reviewed": pa.bool_(), "canary": pa.string()}


def faults_of(release: Release) -> Iterator[str]:
    """Yield the faults of a version, a line each; none if it is whole.

    - Every file in the manifest exists with its bytes, and there is no other where only a release writes.
    - Every configuration has the rows, columns and types of the manifest; its keys are unique; every row has the
      canary.
    - The history has each row once, and no other that is not retired.
    - The card has the canary, and its YAML names exactly these configurations, splits and files.
    - The tasks of the Hub's benchmark file take columns of these configurations; what people made of it is theirs.

    Read `release` with `read_release`, which refuses a manifest whose paths leave the folder.
    """
    for check in (_version, _files, _names, _configs, history_faults, _card, _benchmark):
        yield from map(visible, check(release))


def damage_of(release: Release) -> Iterator[str]:
    """Yield the faults that show without reading a row: in the files, and in the manifest by the card.

    What people wrote in the card since, or did to files that they had added or edited, is not damage.
    """
    number = release.manifest.version
    if release.folder.name != number:
        yield f"{MANIFEST}: version {number}, in a folder that is called {release.folder.name}"
    yield from damage_of_copy(release)


def damage_of_copy(release: Release) -> Iterator[str]:
    """Yield the faults that `damage_of` does; a copy of a version may have any name."""
    card = release.folder / CARD
    if not card.is_file():
        yield f"{CARD}: missing"
    elif claims_of(release.manifest) not in card.read_text(encoding="utf-8", errors="replace"):
        yield f"{MANIFEST}: not as it was when {CARD} was written"
    yield from _files(release, but={CARD, *release.manifest.touched})


def check_undamaged(release: Release) -> None:
    """Raise `Failed` if a version, or a copy of it, is not as it was released."""
    if (fault := next(damage_of_copy(release), None)) is not None:
        raise Failed(f"{release.folder}: {visible(fault)}; restore it as it was released")


def others_in(release: Release) -> list[str]:
    """Return the paths of the files that are not of this version: people put them beside it, here or on the Hub."""
    listed = {file.path for file in release.manifest.files}
    return [path for path in paths_in(release.folder) if path not in listed and not is_reserved(path)]


def _version(release: Release) -> Iterator[str]:
    try:
        parsed_version(release.manifest.version)
    except WrongInput as error:
        yield f"{MANIFEST}: {error}"


def _files(release: Release, but: Collection[str] = ()) -> Iterator[str]:
    listed = {file.path: file for file in release.manifest.files}
    if len(listed) < len(release.manifest.files):
        yield f"{MANIFEST}: it lists a file twice"
    for path in paths_in(release.folder):
        if path != MANIFEST and path not in listed and is_reserved(path):
            yield f"{path}: not in the manifest"
    for path, file in sorted(listed.items()):
        place = release.folder / path
        if path in but:
            continue
        if not place.is_file():
            yield f"{path}: missing"
        elif (size := place.stat().st_size) != file.bytes:
            yield f"{path}: {size:,} bytes, expected {file.bytes:,}"
        elif (actual := checksum(place)) != file.sha256:
            yield f"{path}: SHA-256 {actual}, expected {file.sha256}"


def _names(release: Release) -> Iterator[str]:
    """Check that each Parquet file belongs to one configuration, and is in its folder under its split's name."""
    owners: dict[str, str] = {}
    listed = {file.path for file in release.manifest.files}
    names = [config.name for config in release.manifest.configs]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{MANIFEST}: configuration {name} is in it twice"
    for config in release.manifest.configs:
        for path in config.files:
            if path not in listed:
                yield f"{path}: of configuration {config.name}, and not among the manifest's files"
            if path in owners:
                yield f"{path}: of configuration {config.name} and of {owners[path]}"
            owners[path] = config.name
            stem = f"{DATA}/{config.name}/{config.split}"
            if not re.fullmatch(re.escape(stem) + r"(-[0-9]{5}-of-[0-9]{5})?\.parquet", path):
                yield f"{path}: expected {stem}.parquet, or a part of it"
    for path in sorted(listed - owners.keys()):
        if path.startswith(f"{DATA}/"):
            yield f"{path}: of no configuration"


def _configs(release: Release) -> Iterator[str]:
    for config in release.manifest.configs:
        yield from _config(release, config)


def _config(release: Release, config: ReleasedConfig) -> Iterator[str]:
    rows = reviewed = 0
    repeated = _repeated_keys(release, config)
    for path in config.files:
        place = release.folder / path
        if not place.is_file():  # reported already
            return
        try:
            with opened(place) as file:
                schema = file.schema_arrow
                yield from (f"{path}: {problem}" for problem in _columns(fields_of(schema), config.fields))
            if {field.name: field.type for field in schema if field.name in _READ} != _READ:
                yield f"{path}: expected the columns {', '.join(f'{name} ({kind})' for name, kind in _READ.items())}"
                return
            for batch in read_batches(place, list(_READ)):
                for row in batch.rows():
                    reviewed += row["reviewed"] is True
                    if rows in repeated:
                        yield f"{path}: row {rows + 1}: key {row['key']!r} stands in {config.name} twice"
                    if row["canary"] != release.manifest.canary:
                        yield f"{path}: row {rows + 1}: canary {row['canary']!r}, expected {release.manifest.canary}"
                    rows += 1
        except Failed as error:
            yield str(error)
            return
    if rows != config.rows:
        yield f"{config.name}: {counted(rows, 'row')}, expected {config.rows:,}"
    if reviewed != config.reviewed:
        yield f"{config.name}: {reviewed:,} reviewed rows, expected {config.reviewed:,}"


def _repeated_keys(release: Release, config: ReleasedConfig) -> frozenset[int]:
    """Return the places of the rows whose key an earlier row has, up to where the files cannot be read."""
    numbers: list[Numbers] = []
    with contextlib.suppress(Failed, KeyError):
        for keys in keys_in(release.folder, config.files):
            numbers.append(numbers_of(map(str, keys)))
    return frozenset(RowKeys(numbers).repeated().tolist())


def _columns(actual: Mapping[str, str], expected: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(actual.keys() | expected.keys()):
        if actual.get(name) != expected.get(name):
            yield f"column {name}: {actual.get(name, 'missing')}, expected {expected.get(name, 'none')}"


# ---- the card, against the manifest ----


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


def _card(release: Release) -> Iterator[str]:
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


# ---- the Hub's benchmark file, against the manifest ----


class _FieldSpec(BaseModel):
    input: str
    target: str
    metadata: list[str] = []


class _Task(BaseModel):
    id: str
    config: str
    split: str
    field_spec: _FieldSpec


class _Benchmark(BaseModel):
    tasks: list[_Task]


def _benchmark(release: Release) -> Iterator[str]:
    place, ours = release.folder / BENCHMARK, {file.path for file in release.manifest.files} - release.manifest.touched
    if BENCHMARK not in ours or not place.is_file():
        return
    try:
        tasks = _Benchmark.model_validate(read_yaml(place.read_bytes())).tasks
    except ValidationError as error:
        yield f"{BENCHMARK}: {first_problem(error, 'whole')}"
        return
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        yield f"{BENCHMARK}: cannot be read: {' '.join(str(error).split())}"
        return
    columns = {(config.name, config.split): config.fields for config in release.manifest.configs}
    for id_, times in Counter(task.id for task in tasks).items():
        if times > 1:
            yield f"{BENCHMARK}: task {id_} is in it twice"
    for task in tasks:
        if (fields := columns.get((task.config, task.split))) is None:
            yield f"{BENCHMARK}: task {task.id}: {task.config}, split {task.split}: not in the manifest"
            continue
        for name in (task.field_spec.input, task.field_spec.target, *task.field_spec.metadata):
            if name not in fields:
                yield f"{BENCHMARK}: task {task.id}: {task.config} has no column {name}"


def _yaml(text: str) -> Any:
    """Return the YAML between the first two lines of `---`."""
    header, _ = split_metadata(text.encode())
    if header is None:
        raise ValueError("expected YAML between two lines of --- at the top")
    return read_yaml(header)
