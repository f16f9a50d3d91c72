"""Datasets whose swaps and replacements are drawn anew: built, released and rebuilt in this process."""

import datetime
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from data.publish.reading import read_released
from flows.project.build_note import note_draw
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from flows.project.released import RELEASES
from flows.project.settings import load_config
from flows.rebuild.refresh import Refresh, decide_draw
from flows.release.outcome import release_built
from flows.release.version import newest
from tests.builds import ROOT, write_config
from tests.toy import run_all

SAMPLES = ROOT / "data" / "samples"
QUESTIONS = {"format": "jsonl", "path": str(SAMPLES / "questions.jsonl"), "licence": "Apache-2.0"}
PAGES = {"format": "jsonl", "path": str(SAMPLES / "pages.jsonl"), "licence": "Apache-2.0"}
SWAPS: Mapping[str, Any] = {"seeds": "all", "entailment": "off", "parts": ["category1"], "sources": [QUESTIONS]}
CONTEXTS: Mapping[str, Any] = {
    "levels": ["1k"],
    "datasets": {"multifieldqa-en-mixup": {"pairs": 24, "sources": [QUESTIONS], "distractors": [PAGES]}},
}
FIRST, NEXT_QUARTER = "2026-11-02", "2027-01-04"


def configure(folder: Path, families: Mapping[str, Any], refresh: str, **config: Any) -> Path:
    """Write the configuration of a dataset in a folder."""
    release = {"licence": "Apache-2.0", "refresh": refresh}
    return write_config(folder, store=str(folder / "store"), families=families, release=release, **config)


@contextmanager
def on(day: str) -> Iterator[None]:
    """Have builds and releases dated on a day."""
    epoch = datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOURCE_DATE_EPOCH", str(int(epoch)))
        yield


def built(folder: Path, *, anew: bool = True, today: str = FIRST) -> Refresh:
    """Build into `folder/out` as a rebuild does, or, if not `anew`, as a run does; return the draw."""
    config, out = folder / "config.yaml", folder / "out"
    settings = load_config(config)
    with on(today):
        drawn = decide_draw(settings, out, out / RELEASES)
    if anew:
        note_draw(out, config, settings.store, drawn.draw)
    project = Project(config, out)
    project.loop.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    project.close()
    return drawn


def released(folder: Path, today: str = FIRST, **options: Any) -> str:
    """Release the build in `folder/out`; return the version."""
    with on(today):
        return release_built(str(folder / "out"), **({"allow_unreviewed": True} | options)).prepared.version


def rows(folder: Path, part: str) -> dict[str, dict[str, Any]]:
    """The rows of a part in the newest version, by key."""
    release = newest(folder / "out" / RELEASES)
    assert release is not None
    configs = [config for config in release.manifest.configs if config.part == part]
    return {row["key"]: row for config in configs for row in read_released(release.folder, config.files)}
