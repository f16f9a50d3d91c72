"""Proves the private rows of a version together with the public version beside them.

They have no manifest of their own. The public one says how many rows are private, in which columns and with which
canary. With the private rows lie the rows of other parts that verifiers read, which prove both sides.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from data.publish.check import faults_of
from data.publish.folder import DATA, MANIFEST, VERIFICATION_INPUTS, Release, paths_in, read_release
from data.publish.reading import opened, read_batches
from data.publish.row_keys import keys_in
from data.publish.rows import fields_of
from flows.construct.embed import Embedder
from flows.release.private_share import DRAWN_BY, OF_PRIVATE_SOURCES
from flows.release.verification import prove_rows, unproved
from flows.release.version import PRIVATE
from schemas.base import counted
from schemas.errors import WrongInput
from schemas.release import ReleasedConfig, ReleasedFile


@dataclass(frozen=True)
class PrivateRows:
    """The private rows of a version, and the version."""

    folder: Path
    public: Release

    @property
    def configs(self) -> list[ReleasedConfig]:
        """The configurations that have private rows."""
        return [config for config in self.public.manifest.configs if config.held_out]

    def files(self, config: ReleasedConfig) -> list[str]:
        """Return the paths of the private rows of a configuration."""
        return [path for path in paths_in(self.folder) if path.startswith(f"{DATA}/{config.name}/")]

    def whole(self) -> Release:
        """Return both as one release, in the folder that holds them."""
        public, private = self.public.folder.name, f"{PRIVATE}/{self.folder.name}"
        is_provable = (self.folder / VERIFICATION_INPUTS).is_dir()
        configs = tuple(
            config.model_copy(
                update={
                    "rows": config.rows + config.held_out,
                    "held_out": 0 if is_provable else config.held_out,
                    "files": (
                        *(f"{public}/{path}" for path in config.files),
                        *(f"{private}/{path}" for path in self.files(config)),
                    ),
                }
            )
            for config in self.public.manifest.configs
        )
        files = tuple(ReleasedFile(path=f"{private}/{path}", bytes=0, sha256="") for path in paths_in(self.folder))
        manifest = self.public.manifest.model_copy(update={"configs": configs, "files": files})
        return Release(self.public.folder.parent, manifest)


def private_rows(folder: Path) -> PrivateRows | None:
    """Return the private rows in `folder`; None if it is something else. Raises `WrongInput` without their version."""
    folder = folder.resolve()
    if folder.parent.name != PRIVATE or not folder.is_dir() or (folder / MANIFEST).exists():
        return None
    public = folder.parent.parent / folder.name
    if not (public / MANIFEST).is_file():
        raise WrongInput(
            f"{folder}: nothing is proved: private rows are proved with their public version, and none is at {public}; "
            "put it there"
        )
    return PrivateRows(folder, read_release(public))


def prove_private(version: PrivateRows, embedder: Embedder) -> Iterator[str]:
    """Yield the faults of the private rows and of their public version, a line each."""
    is_faulty = False
    for fault in (*faults_of(version.public), *_faults(version)):
        is_faulty = True
        yield fault
    if not is_faulty:  # rows that do not match the manifest prove nothing
        yield from prove_rows(version.whole(), embedder)


def proved_in_words(version: PrivateRows) -> Iterator[str]:
    """Yield, for each configuration of rows without faults, what is proved about it, and what is not."""
    lacking = unproved(version.whole())
    for config in version.configs:
        rows = counted(config.held_out, "private row")
        checked = f"{rows}: number, columns, keys, canary and ids are right, none is public"
        if inputs := lacking.get(f"{config.family}-{config.part}"):
            claims = (
                f"not proved is what they claim: that takes {', '.join(inputs)}, which an earlier touchstone did not "
                f"keep here; `touchstone verify {config.family}` proves the rows of the build"
            )
        else:
            claims = f"what they claim is proved, beside {counted(config.rows, 'public row')}"
        yield f"{config.name}: {checked}; {claims}"


def _faults(version: PrivateRows) -> Iterator[str]:
    """Yield what is not as the manifest says, and what is public."""
    expected = {DRAWN_BY, OF_PRIVATE_SOURCES, *(path for config in version.configs for path in version.files(config))}
    for path in paths_in(version.folder):
        if path not in expected and not path.startswith(f"{VERIFICATION_INPUTS}/{DATA}/"):
            yield f"{path}: belongs to no configuration that has private rows"
    for config in version.configs:
        private = _read(version.folder, version.files(config))
        public = {key for keys in keys_in(version.public.folder, config.files) for key in keys if key in private.keys}
        if private.keys.total() != config.held_out:
            yield f"{config.name}: {counted(private.keys.total(), 'private row')}, expected {config.held_out:,}"
        for key, count in sorted(private.keys.items()):
            if count > 1:
                yield f"{config.name}: key {key} stands in the private rows twice"
            if key in public:
                yield f"{config.name}: key {key} is private and public"
        for canary in sorted(private.canaries - {version.public.manifest.canary}):
            yield f"{config.name}: canary {canary!r}, expected {version.public.manifest.canary}"
        if config.fields and private.columns not in ({}, config.fields):
            yield f"{config.name}: its private rows have other columns than the manifest says"


@dataclass
class _Names:
    """Keys, canaries and columns of the rows of some files."""

    keys: Counter[str] = field(default_factory=Counter)
    """Key -> number of rows that have it."""
    canaries: set[str] = field(default_factory=set)
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column -> Arrow type."""


def _read(folder: Path, files: Iterable[str]) -> _Names:
    names = _Names()
    for path in files:
        with opened(folder / path) as file:
            names.columns = fields_of(file.schema_arrow)
        for row in (row for batch in read_batches(folder / path, ["key", "canary"]) for row in batch.rows()):
            names.keys[row["key"]] += 1
            names.canaries.add(row["canary"])
    return names
