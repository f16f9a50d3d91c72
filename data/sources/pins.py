"""Pins sources that others can change: data sets on the Hub and files on web servers.

The first build records the commit, or the ETag and checksum, of each in a lock file beside the configuration
(`my.lock.json` for `my.yaml`), where it can be kept under version control. Later builds read the same state: the Hub's
commit, or the copy of the URL made then. Only `refresh` looks at the current state.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from data.checksum import checksum
from data.sources.hub import hub_commit, located
from data.sources.spec import SourceError, SourceSpec, without_query
from data.sources.web import UNCHANGED, download
from data.whole_file import write_whole
from schemas.base import Frozen, content_hash
from schemas.errors import first_problem

LOCK = ".lock.json"
"""Replaces the ending of the configuration's name."""


class Pin(Frozen):
    """The state of a source that was read."""

    revision: str
    """The Hub's commit; a URL's ETag, or `sha256:...` if the server gives none."""
    sha256: str | None = None
    """The checksum of a URL's content."""


class Lock(Frozen):
    """The lock file."""

    sources: Mapping[str, Pin]
    """By `hub:OWNER/NAME[@REVISION]`, or the URL."""


@dataclass(frozen=True)
class Moved:
    """A pin that `refresh` moved."""

    source: str
    before: str
    now: str


class Pins:
    """The pins of one configuration."""

    def __init__(self, lock: Path, copies: Path, *, scratch: Path | None = None, refresh: bool = False) -> None:
        """`copies` is the folder for the content of URLs. With `refresh` each source is looked at anew, once.

        With `scratch`, what has to be fetched goes there, and neither the lock file nor `copies` changes.
        """
        self._path, self._copies, self._scratch = lock, copies, scratch
        self._known = dict(_read(lock).sources)
        self._stale = set(self._known) if refresh else set()
        self.moved: list[Moved] = []

    def pinned(self, spec: SourceSpec) -> SourceSpec:
        """Return the source at its pin, which is made if there is none. Raises `SourceError`."""
        if not spec.is_remote:
            return spec
        name = _name(spec)
        before = self._known.get(name)
        if before is not None and name not in self._stale:
            return self._at(spec, before)
        now = self._fetch(spec, before) if spec.is_url else Pin(revision=hub_commit(spec.path, spec.revision))
        self._stale.discard(name)
        if now != before:
            self._known[name] = now
            if before is not None:
                self.moved.append(Moved(without_query(name), before.revision, now.revision))
            if self._scratch is None:
                content = Lock(sources=dict(sorted(self._known.items()))).model_dump_json(indent=1)
                write_whole(self._path, f"{content}\n".encode())
        return self._at(spec, now)

    def at_known_pin(self, spec: SourceSpec) -> SourceSpec:
        """Return the source at its pin if that needs no network, else as it is."""
        pin = self._known.get(_name(spec)) if spec.is_remote else None
        if pin is None or (spec.is_url and self._copy(spec, pin) is None):
            return spec
        return self._at(spec, pin)

    def _at(self, spec: SourceSpec, pin: Pin) -> SourceSpec:
        if not spec.is_url:
            return spec.model_copy(update={"revision": pin.revision})
        copy = self._copy(spec, pin)
        if copy is None:
            if self._fetch(spec, None).sha256 != pin.sha256:
                raise SourceError(
                    f"{without_query(spec.path)}: has changed since it was pinned, and the copy of what it was is "
                    f"gone; `touchstone rebuild --refresh` takes what is there now (pinned in {self._path})"
                )
            copy = self._copy(spec, pin)
            assert copy is not None
        return spec.model_copy(update={"revision": pin.revision, "copied": str(copy)})

    def _copy(self, spec: SourceSpec, pin: Pin) -> Path | None:
        """Return the copy of a URL's content as pinned; None if it is gone."""
        places = (self._place(folder, spec, pin) for folder in (self._copies, self._scratch) if folder is not None)
        return next((place for place in places if place.is_file()), None)

    def _place(self, folder: Path, spec: SourceSpec, pin: Pin) -> Path:
        """Return the path of a copy: by content, under its own name, from which its rows have their keys."""
        return folder / content_hash(pin.sha256) / spec.name

    def _fetch(self, spec: SourceSpec, before: Pin | None) -> Pin:
        """Copy the current content of the URL and return its pin; if nothing changed, the pin `before`."""
        etag_before = before.revision if before is not None and self._copy(spec, before) is not None else None
        folder = self._scratch or self._copies
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetched-") as name:
            file = Path(name) / "file"
            etag = download(spec.path, file, etag_before, internal=spec.internal)
            if etag is UNCHANGED:
                assert before is not None
                return before
            sha256 = checksum(file)
            pin = Pin(revision=etag or f"sha256:{sha256}", sha256=sha256)
            place = self._place(folder, spec, pin)
            place.parent.mkdir(exist_ok=True)
            file.replace(place)
        return pin


def lock_of(config: Path) -> Path:
    """Return the path of a configuration's lock file."""
    return config.with_name(f"{config.stem}{LOCK}")


def _name(spec: SourceSpec) -> str:
    """Return the source's name in the lock file. It has no query, since that can hold a key."""
    if spec.is_url:
        shown = without_query(spec.path)
        return shown if shown == spec.path else f"{shown}?{content_hash(spec.path)}"
    repository, _, _ = located(spec.path)
    return f"hub:{repository}" + (f"@{spec.revision}" if spec.revision else "")


def _read(lock: Path) -> Lock:
    if not lock.is_file():
        return Lock(sources={})
    try:
        return Lock.model_validate_json(lock.read_bytes())
    except ValidationError as error:
        problem = first_problem(error, "the file")
        raise SourceError(f"{lock}: damaged ({problem}); put it back, or remove it to pin what is there now") from error


def with_sources(value: Any, change: Callable[[SourceSpec], SourceSpec]) -> Any:
    """Return a JSON value with `change` applied to each remote source in it."""
    if isinstance(value, list):
        return [with_sources(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    if {"format", "path", "language"} <= value.keys() and isinstance(value["path"], str):
        spec = SourceSpec.model_validate(value)
        if not spec.is_remote:
            return value
        changed = change(spec)
        return {**changed.model_dump(mode="json"), "copied": changed.copied}
    return {key: with_sources(item, change) for key, item in value.items()}
