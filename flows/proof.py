"""The proof of a released version from its folder alone: files, rows, and what each row claims."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from data.publish.check import faults_of
from data.publish.folder import DATA, PROOF, Release
from data.publish.rows import read_released
from flows.construct.embed import Embedder
from flows.construct.engine import Family, Part, VerifyContext
from flows.families import family_names, load_family
from schemas.errors import first_problem
from schemas.release import ReleasedConfig


def prove(release: Release, embedder: Embedder) -> Iterator[str]:
    """What is wrong with a version, a line each; nothing where all of it is what it says.

    Rows are proved by their families' verifiers, which read no more than the version has with it. Of a version with a
    private share those proofs that need other rows cannot be had: each says so.
    """
    found = False
    for fault in faults_of(release):
        found = True
        yield fault
    if found:
        return  # rows that are not those of the manifest prove nothing
    for name in dict.fromkeys(config.family for config in release.manifest.configs):
        if name not in family_names():
            yield f"{name}: this version of touchstone knows no such family; install the one that it was released by"
            continue
        yield from _prove_family(release, load_family(name), embedder)


def _prove_family(release: Release, family: Family, embedder: Embedder) -> Iterator[str]:
    given: Any = release.manifest.settings.get("families") or {}
    settings = family.settings.model_validate(given.get(family.name, {}))
    own = [one for one in release.manifest.configs if one.family == family.name and one.rows]
    for part in family.parts:
        configs = [one for one in own if one.part == part.name]
        if not configs:
            continue
        lacking = [name for name in (part.released.proof if part.released else ()) if not _has(release, family, name)]
        if lacking and any(one.held_out for one in own):
            yield f"{family.name}-{part.name}: cannot be proved: its {', '.join(lacking)} are with a private share"
            continue
        context = VerifyContext(settings, embedder, lambda name: _rows_of(release, family, family.part(name)))
        try:
            for fault in part.verify(_rows(release, part, configs), context):
                yield f"{family.name}-{part.name} {fault.id}: {fault.problem}"
        except ValidationError as error:
            yield f"{family.name}-{part.name}: {first_problem(error, 'a row')}"


def _has(release: Release, family: Family, part: str) -> bool:
    return bool(_files(release, family, part))


def _files(release: Release, family: Family, part: str) -> list[str]:
    place = f"{PROOF}/{DATA}/{family.name}-{part}/"
    return [file.path for file in release.manifest.files if file.path.startswith(place)]


def _rows_of(release: Release, family: Family, part: Part) -> Iterator[Any]:
    """The rows of another part: a released one, or those that came along."""
    own = [one for one in release.manifest.configs if (one.family, one.part) == (family.name, part.name)]
    return _rows(release, part, own) if own else _records(release, part, _files(release, family, part.name))


def _rows(release: Release, part: Part, configs: Iterable[ReleasedConfig]) -> Iterator[Any]:
    return _records(release, part, [path for one in configs for path in one.files])


def _records(release: Release, part: Part, files: Iterable[str]) -> Iterator[Any]:
    for row in read_released(release.folder, files):
        yield part.item.model_validate({name: row[name] for name in part.item.model_fields if name in row})
