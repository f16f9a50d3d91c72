"""Proves a released version from its folder alone: files, rows, and what each row claims."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from data.publish.check import faults_of
from data.publish.folder import DATA, MANIFEST, VERIFICATION_INPUTS, Release
from data.publish.reading import read_batches, read_released
from flows.construct.embed import Embedder
from flows.construct.engine import Family, Part
from flows.construct.verification import Fault, VerifyContext
from flows.families import family_names, load_family
from flows.project.release_as_build import record_of
from schemas.errors import first_problem
from schemas.release import ReleasedConfig


def prove(release: Release, embedder: Embedder) -> Iterator[str]:
    """Yield the faults of a version, a line each.

    Rows are proved by their families' verifiers, which read nothing but the version. If the proof needs rows that the
    version lacks (`unproved`), only the records' ids are checked.
    """
    is_faulty = False
    for fault in faults_of(release):
        is_faulty = True
        yield fault
    if is_faulty:
        return  # rows that do not match the manifest prove nothing
    yield from prove_rows(release, embedder)


def prove_rows(release: Release, embedder: Embedder) -> Iterator[str]:
    """Yield the faults that the families' verifiers find, a line each."""
    for name in _families(release):
        if name not in family_names():
            yield f"{name}: this version of touchstone knows no such family; install the one that it was released by"
            continue
        yield from _prove_family(release, load_family(name), embedder)


def unproved(release: Release) -> Mapping[str, tuple[str, ...]]:
    """Return part whose rows cannot be proved -> the parts, kept in a private share, that its verifier would read."""
    unproved_parts = {}
    for family in (load_family(name) for name in _families(release) if name in family_names()):
        for part in family.parts:
            lacking = _lacking(release, family, part)
            if lacking and _configs(release, family, part):
                unproved_parts[f"{family.name}-{part.name}"] = lacking
    return unproved_parts


def _families(release: Release) -> list[str]:
    return list(dict.fromkeys(config.family for config in release.manifest.configs))


def _configs(release: Release, family: Family, part: Part) -> list[ReleasedConfig]:
    wanted = (family.name, part.name)
    return [config for config in release.manifest.configs if config.rows and (config.family, config.part) == wanted]


def _lacking(release: Release, family: Family, part: Part) -> tuple[str, ...]:
    if not any(config.held_out > config.of_private_sources for config in release.manifest.configs):
        return ()  # what proves the public rows is public; a drawn record may be that of another family
    proof = part.released.verification_inputs if part.released else ()
    return tuple(
        name for name in proof if not (_files(release, family, name) or _configs(release, family, family.part(name)))
    )


def _prove_family(release: Release, family: Family, embedder: Embedder) -> Iterator[str]:
    settings_of_families: Any = release.manifest.settings.get("families") or {}
    try:
        settings = family.settings.model_validate(settings_of_families.get(family.name, {}))
    except (AttributeError, ValidationError):
        yield f"{MANIFEST}: settings.families.{family.name}: are none that this version of touchstone knows"
        return
    for part in family.parts:
        if not (configs := _configs(release, family, part)):
            continue
        verify = _no_claims if _lacking(release, family, part) else part.verify
        context = VerifyContext(settings, embedder, lambda name: _rows_of(release, family, family.part(name)))
        try:
            for fault in verify(_rows(release, part, configs), context):
                yield f"{family.name}-{part.name} {fault.id}: {fault.problem}"
        except ValidationError as error:
            yield f"{family.name}-{part.name}: {first_problem(error, 'a row')}"
        for config in configs:
            yield from _ready_faults(release, part, config)


def _ready_faults(release: Release, part: Part, config: ReleasedConfig) -> Iterator[str]:
    """Yield the rows whose texts for other programs are not what their own columns give."""
    ready = [column for column in (part.released.ready if part.released else ()) if column.name in config.fields]
    names = dict.fromkeys(name for column in ready for name in (column.name, column.of))
    for path in config.files if ready else ():
        for batch in read_batches(release.folder / path, ["id", *names]):
            for row in batch.rows():
                for column in ready:
                    if row[column.name] != column.value(row[column.of]):
                        yield f"{config.name} {row['id']}: {column.name} is not what its {column.of} give"


def _no_claims(rows: Iterable[Any], context: VerifyContext) -> Iterator[Fault]:
    """Verify nothing, but read the rows as records."""
    for _ in rows:
        pass
    yield from ()


def _files(release: Release, family: Family, part: str) -> list[str]:
    place = f"/{VERIFICATION_INPUTS}/{DATA}/{family.name}-{part}/"
    return [file.path for file in release.manifest.files if place in f"/{file.path}"]


def _rows_of(release: Release, family: Family, part: Part) -> Iterator[Any]:
    """Return the rows of another part, which is released itself or came along as verification inputs."""
    configs = _configs(release, family, part)
    return _rows(release, part, configs) if configs else _records(release, part, _files(release, family, part.name))


def _rows(release: Release, part: Part, configs: Iterable[ReleasedConfig]) -> Iterator[Any]:
    return _records(release, part, [path for config in configs for path in config.files])


def _records(release: Release, part: Part, files: Iterable[str]) -> Iterator[Any]:
    for row in read_released(release.folder, files):
        yield record_of(part, row)
