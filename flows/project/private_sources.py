"""Private sources: which they are, and which rows rest on one or show text of one.

A source is marked `private: true`. A record rests on it if its provenance names it, or one of its parents rests on it.
A row is private if it rests on a private source, is made of a private row, or shows a run of words of a private text
(`private_runs.py`). Private texts are those of the source records that rest on a private source, and of such rows of
the parts that steps mix into others' rows (`Part.uses`): what a model made of a private text is private as well. The
texts of all other source records are public, and so is what Touchstone ships.

Sources are told apart by the names that provenance has for them: of two sources of one name both are private, or none.
"""

import contextlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from data.seen import Hashes, place_of, sorted_hashes
from data.sources import PART, SourceError, SourceSpec, documents, name_of
from flows.construct.settings import sources_in
from flows.project.private_records import Resting, has_parent, named, rows_of, source_records
from flows.project.private_runs import PrivateRuns
from flows.project.project import Project
from schemas.base import texts_in
from schemas.errors import WrongInput

NAMES = frozenset(("id", "key", "provenance", "source", "document", "checksum"))
"""Fields of records that name things, and hold no text of a source."""
ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ("flows/families", "flows/scoring", "data/publish")
"""What a release may have texts of: prompts, scorers, templates, facts that rules state."""
ENDINGS = frozenset((".j2", ".jsonl", ".md", ".py", ".tsv", ".txt", ".yaml"))


class PrivateSources:
    """The private sources of a finished build, as its configuration marks them now."""

    def __init__(self, project: Project) -> None:
        self._project = project
        marked = _marked(project)
        self._parts = frozenset(spec.path for spec in marked if spec.format == PART)
        self._names = frozenset(name_of(spec) for spec in marked if spec.format != PART)
        self.names: Sequence[str] = sorted(self._names | self._parts)
        """The names that provenance has for private sources, and those of parts that are private sources."""

    @classmethod
    def to_be_released(cls, project: Project) -> "PrivateSources":
        """Return those of a build that is to be released.

        Raises `WrongInput` if the build did not read just these, as they are now: what its rows rest on would not be
        known.
        """
        _check_as_read(project)
        return cls(project)

    def __bool__(self) -> bool:
        return bool(self.names)

    def has(self, spec: SourceSpec) -> bool:
        """Return whether a source is private."""
        return spec.path in self._parts if spec.format == PART else name_of(spec) in self._names

    def source_of(self, row: Mapping[str, Any]) -> str | None:
        """Return a private source that a row names or shows text of; None if there is none."""
        return self.named_by(row) or self.shown_in(_all_texts(row))

    def shown_in(self, texts: Iterable[str]) -> str | None:
        """Return the private source of which one of the texts shows a run; None if none does."""
        places = (runs.source_in(text) for text in texts for runs in self._runs)
        return next((self.names[place] for place in places if place is not None), None)

    def named_by(self, row: Mapping[str, Any]) -> str | None:
        """Return the first private source that a row names; None if it names none."""
        return named(row, self._names)

    @cached_property
    def _runs(self) -> Sequence[PrivateRuns]:
        """The runs of words that private sources alone have, and those of rows on them that no public row has either.

        A public row of a part may show private text by a fault: so it does not make the text of a source public.
        """
        if not self:
            return ()
        in_parts = chain(self._public(), (text for _, text in self._in_parts(private=False)))
        return (
            PrivateRuns(self._in_sources(private=True), self._public()),
            PrivateRuns(self._in_parts(private=True), in_parts),
        )

    @cached_property
    def rows(self) -> Hashes:
        """The keys of the build's accepted rows that are private, of all parts. Raises `Failed`."""
        keys, ids = array("Q"), sorted_hashes(())
        for family, part in self._project.build.parts() if self else ():
            private = array("Q")
            for row in rows_of(self._project, family, part):
                if (
                    place_of(row["key"], self._resting.keys) is not None
                    or has_parent(row, ids)
                    or self.shown_in(_all_texts(row)) is not None
                ):
                    keys.append(int(row["key"], 16))
                    private.append(int(row["id"], 16))
            ids = np.union1d(ids, np.asarray(private, np.uint64))
        return np.sort(np.asarray(keys, np.uint64))

    def rows_by_part(self) -> Mapping[str, int]:
        """Return, of the parts that a release has rows of, how many are private; parts without any are left out."""
        counts = Counter[str]()
        for family, part in self._project.build.parts() if self else ():
            if part.released is not None:
                keys = (row["key"] for row in rows_of(self._project, family, part, ["key"]))
                counts[f"{family.name}-{part.name}"] = sum(place_of(key, self.rows) is not None for key in keys)
        return +counts

    def hidden(self, settings: Any) -> Any:
        """Return settings as JSON values with nothing of private sources but what is read from them."""
        if isinstance(settings, list):
            return [self.hidden(value) for value in settings]
        if not isinstance(settings, dict):
            return settings
        if (spec := _source(settings)) is not None and self.has(spec):
            place = 1 + self.names.index(spec.path if spec.format == PART else name_of(spec))
            return SourceSpec(
                format=spec.format, path=f"private-{place}", language=spec.language, private=True
            ).model_dump(mode="json")
        return {name: self.hidden(value) for name, value in settings.items()}

    @cached_property
    def _resting(self) -> Resting:
        return Resting.of(self._project, self._names, self._parts)

    def _in_sources(self, *, private: bool) -> Iterator[tuple[int, str]]:
        """Yield the texts of source records that rest on private sources, or of all others, each with its source."""
        for family, part in self._project.build.parts():
            for record in source_records(self._project, family, part):
                rests = named(record, self._names) is not None or place_of(record.id, self._resting.ids) is not None
                if rests == private:
                    values = record.model_dump(mode="json")
                    yield from ((self._place(values), text) for text in _texts(values))

    def _in_parts(self, *, private: bool) -> Iterator[tuple[int, str]]:
        """Yield the texts of such rows of the parts that are mixed into others' rows, and of private parts."""
        for family, part in self._project.build.parts():
            name = f"{family.name}-{part.name}"
            is_mixed = name in self._parts or any(part.name in other.uses for other in family.parts)
            for row in rows_of(self._project, family, part) if is_mixed else ():
                if (place_of(row["key"], self._resting.keys) is not None) == private:
                    yield from ((self._place(row, name), text) for text in _texts(row))

    def _place(self, values: Mapping[str, Any], part: str = "") -> int:
        """Return the place of the source that a record or a row of a part rests on; of several, the first."""
        name = named(values, self._names) or part
        return self.names.index(name) if name in self.names else 0

    def _public(self) -> Iterator[str]:
        """Yield the texts of public sources, and those that Touchstone ships."""
        yield from (text for _, text in self._in_sources(private=False))
        for path in (path for folder in SHIPPED for path in sorted((ROOT / folder).rglob("*"))):
            if path.suffix in ENDINGS:
                yield path.read_text(encoding="utf-8")


def _texts(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a record or a row that are no names."""
    for value in (value for name, value in values.items() if name not in NAMES):
        for inner in value if isinstance(value, list) else [value]:
            yield from _texts(inner) if isinstance(inner, Mapping) else texts_in(inner)


def _all_texts(value: object) -> Iterator[str]:
    """Yield every text in a value, and every key."""
    if isinstance(value, Mapping):
        yield from map(str, value)
        value = list(value.values())
    if isinstance(value, list | tuple):
        yield from (text for inner in value for text in _all_texts(inner))
    else:
        yield from texts_in(value)


def _marked(project: Project) -> list[SourceSpec]:
    """Return the sources that the configuration marks as private, and those that read one of their files."""
    now = list(sources_in(project.settings_now))
    marked = [spec for spec in now if spec.private]
    private = {file for spec in marked for file in _files(spec)}
    return [*marked, *(spec for spec in now if not spec.private and not private.isdisjoint(_files(spec)))]


def _check_as_read(project: Project) -> None:
    """Raise `WrongInput` if the build did not read just the private sources that the configuration has now."""
    now = list(sources_in(project.settings_now))
    built = list(sources_in([family.settings for family in project.build.families.values()]))
    read_privately = {_read_as(spec) for spec in now if spec.private}
    advice = f"`touchstone run {project.config_path} --out {project.out}`, then release"
    for spec in now:
        if spec.private and _read_as(spec) not in map(_read_as, built):
            raise WrongInput(f"{project.config_path}: {spec.name}: is private, and is not in this build; {advice}")
    for spec in built:
        if spec.private and _read_as(spec) not in map(_read_as, now):
            raise WrongInput(f"{project.config_path}: {spec.name}: was private, and is not named any more; {advice}")
    for family, part in project.build.parts():
        specs = [spec for _, spec in project.build.named_sources(family, part)]
        stage = project.build.stages(family, part)[0]
        if not read_privately.isdisjoint(map(_read_as, specs)) and not project.build.is_as_read(stage):
            names = ", ".join(sorted({spec.name for spec in specs if _read_as(spec) in read_privately}))
            raise WrongInput(f"{project.config_path}: {names}: is private, and has changed since it was read; {advice}")


def _source(values: Mapping[str, Any]) -> SourceSpec | None:
    """Return the source that these JSON values are of; None if they are of none."""
    is_one = {"format", "path", "language"} <= values.keys() and isinstance(values["path"], str)
    return SourceSpec.model_validate(dict(values)) if is_one else None


def _read_as(spec: SourceSpec) -> tuple[str, str]:
    """Return what tells sources apart in a build's manifest, which names no folders."""
    return spec.format, spec.path if spec.format == PART or spec.is_remote else Path(spec.path).name


def _files(spec: SourceSpec) -> frozenset[str]:
    """Return what a source reads, as far as another can read it too."""
    if spec.format == PART or spec.is_remote:
        return frozenset((spec.path,))
    path = str(Path(spec.path).resolve())
    with contextlib.suppress(SourceError):  # a public one may be gone since it was read
        return frozenset((path, *(str(file.resolve()) for _, file in documents.files(spec))))
    return frozenset((path,))
