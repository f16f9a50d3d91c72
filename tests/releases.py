"""Small released folders, as `touchstone release` lays them out, for tests."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from data.parquet import write_parquet
from data.publish.folder import Release, claims_of, write_manifest
from data.publish.rows import BOOKKEEPING, ReleasedRows, Ruling, write_rows
from schemas.base import Provenance, Record
from schemas.release import ReleasedConfig, ReleaseManifest

CANARY = "6f0e4bd2-0000-4000-8000-000000000000"
REVIEWED = pa.field("reviewed", pa.bool_())


class Note(Record):
    """A record with each kind of type that ours have."""

    DEFINES = ("text",)

    text: str
    number: int | None = None
    parts: tuple[str, ...] = ()
    drafts: Mapping[str, str] = {}


class DatedNote(Note):
    """The same with one field more."""

    DEFINES = ("text",)

    year: int = 2024


class SourcedNote(Note):
    """The same with where it comes from."""

    DEFINES = ("text",)
    BOOKKEEPING = ("source",)

    source: str = "a.json"
    provenance: Provenance = Provenance(seed=7)


def note(key: str, text: str, **fields: Any) -> Note:
    return Note(key=key, text=text, **fields)


def card(configs: Sequence[ReleasedRows], version: str, canary: str) -> str:
    yaml = "".join(
        f"- config_name: {one.name}\n  data_files:\n  - split: {one.split}\n    path: {list(one.files)}\n"
        for one in configs
    )
    return f"---\nconfigs:\n{yaml}---\n# Toy, version {version}\n\nCanary: {canary}\n"


def release(
    folder: Path,
    configs: Mapping[str, Sequence[Record]],
    *,
    version: str = "1.0.0",
    canary: str = CANARY,
    method: Mapping[str, str] | None = None,
    licence: str = "CC0-1.0",
    split: str = "test",
    unreviewed: Collection[str] = (),
    scorer: str = "",
    asked: Mapping[str, str] | None = None,
    **manifest: Any,
) -> Release:
    """A released folder with a card; `configs` by name, each with its rows. People accepted all but `unreviewed`."""
    made: list[ReleasedRows] = []
    for name, notes in configs.items():
        model = type(notes[0]) if notes else Note
        rows = ({**one.model_dump(mode="json"), "reviewed": one.key not in unreviewed} for one in notes)
        accepted = write_parquet(folder.with_name(f"{folder.name}-accepted"), name, model, rows, [REVIEWED])
        files = [folder.parent / one.path for one in accepted]
        made += write_rows(
            files,
            folder,
            lambda row, name=name: Ruling(name, decision="accept" if row["reviewed"] else None),
            canary=canary,
            split=split,
        )
    folder.mkdir(exist_ok=True)
    (folder / "README.md").write_text(card(made, version, canary), encoding="utf-8")
    whole = ReleaseManifest(
        name="toy",
        version=version,
        canary=canary,
        seed=7,
        configs=tuple(
            ReleasedConfig(
                name=one.name, family="toy", part="notes", split=one.split, rows=one.rows, reviewed=one.reviewed,
                held_back=one.held_back, licence=licence, fields=one.fields, method=method or {"write": "1"},
                files=one.files, scorer=scorer, asked=asked or {},
                bookkeeping=tuple(sorted(BOOKKEEPING | {*type(configs[one.name][0]).BOOKKEEPING})),
            )
            for one in made
        ),
        files=(),
        **{"stages": {}, "models": {}, "prompts": {}, "versions": {}, "settings": {}, **manifest},
    )  # fmt: skip
    with (folder / "README.md").open("a", encoding="utf-8") as file:
        file.write(f"\nManifest `{claims_of(whole)}`\n")
    return Release(folder, write_manifest(folder, whole))
