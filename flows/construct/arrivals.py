"""The release with which a record came, so that what comes later changes no row that was released.

A step that draws from a pool (contexts, distractors, passages, other answers) lets a record draw from what was there
when the record came. The first release knows one pool: everything. Records that are added later come with the next
release, and draw from all that is there then. A record that is removed changes only the rows that drew it.

The store remembers what was released: it keeps the stages of every release.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from data.seen import Hashes, place_of, sorted_hashes
from data.stage_files import Stage, StageFiles
from data.store import Store
from flows.construct.records import R
from schemas.base import Record
from schemas.errors import Failed

Folders = tuple[str, ...]
"""Folders of stages in the store: `uraq/items/prescreen-e6c0ee4b57838374`."""


class History:
    """The stages of all releases of a dataset."""

    def __init__(self, store: Store, releases: Callable[[], Iterable[Mapping[str, str]]]) -> None:
        """`releases` returns stage (`uraq/items/prescreen`) -> fingerprint for each release, from the first on."""
        self.store = store
        self._load = releases
        self._present: dict[str, bool] = {}

    @cached_property
    def _releases(self) -> Sequence[Mapping[str, str]]:
        return tuple(self._load())

    def of(self, step: str, reads: Sequence[Sequence[str]]) -> tuple[Folders, ...]:
        """Return the folders of the stages that a step read in each release, and last the folder of the step itself.

        `reads` are the names of each stage, the one that counts first if a release has several. Successive releases in
        which nothing changed count once; those that lack a stage, or what it read, do not count.
        """
        history: list[Folders] = []
        for release in self._releases:
            names = [next((name for name in names if name in release), None) for names in (*reads, [step])]
            folders = tuple(f"{name}-{release[name]}" for name in names if name is not None)
            if len(folders) > len(reads) and folders not in history[-1:] and all(map(self.has, folders[:-1])):
                history.append(folders)
        return tuple(history)

    def has(self, folder: str) -> bool:
        """Return whether the store still has a stage, whole or damaged."""
        if folder not in self._present:
            self._present[folder] = self.store.fs.exists(f"{self.store.root}/{folder}")
        return self._present[folder]

    def read(self, folder: str, record: type[R]) -> Stage[R]:
        """Return a stage of a release. Raises `Failed` if it is damaged."""
        family, part, stage = folder.split("/")
        files = StageFiles(self.store, family, part, *stage.rsplit("-", 1))
        if (manifest := files.manifest()) is None:
            raise Failed(
                f"{files.folder}: not whole, and a released version was made from it; put it back from a copy, or "
                "remove it: what came with that version may then be drawn anew"
            )
        return Stage(files, manifest, record)


class Arrivals:
    """Tells with which release a record came."""

    def __init__(self, history: History, releases: Sequence[Folders]) -> None:
        self._history = history
        self._releases = releases

    @cached_property
    def _keys(self) -> list[list[Hashes]]:
        def keys_of(folder: str) -> Hashes:
            stage = self._history.read(folder, Record)
            return sorted_hashes(stage.record_keys(), len(stage))

        return [[keys_of(folder) for folder in folders[:-1]] for folders in self._releases]

    def __call__(self, record: Record) -> int:
        """Return the release's number, from 1; of a record that is new, the number of the next release."""
        for number, stages in enumerate(self._keys, start=1):
            if any(place_of(record.key, keys) is not None for keys in stages):
                return number
        return len(self._releases) + 1
