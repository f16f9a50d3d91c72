"""Builds of the family `saying` (tests/families), to be released: in a process that has learnt of it."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import flows.families
from data.publish.reading import read_released
from flows.construct.stages import StageRef
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from flows.release.private_share import SECRET
from flows.release.version import Prepared, newest, prepare
from tests.toy import run_all

FAMILIES = Path(__file__).parent / "families"
WORD = "brave"
OURS = "0123456789abcdef" * 2
"""The secret that draws private shares here."""


@contextmanager
def known() -> Iterator[None]:
    """The family is one of those that are installed, and a secret for its private share is set."""
    flows.families.__path__.append(str(FAMILIES))
    flows.families.family_names.cache_clear()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(SECRET, OURS)
            yield
    finally:
        flows.families.__path__.remove(str(FAMILIES))
        flows.families.family_names.cache_clear()


def build(
    folder: Path,
    lines: Iterable[str] | Mapping[str, str] = ("one", "two", "three"),
    words: Iterable[str] = (),
    *,
    order: int = 1,
    licence: str | None = "CC0-1.0",
    **config: Any,
) -> Project:
    """Build `lines` and `words`, as texts or by id, in `folder/out`, with the verdicts there; the finished build."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {
        setting: texts if isinstance(texts, Mapping) else {text[:40]: text for text in texts}
        for setting, texts in (("sources", lines), ("words", words))
        if texts
    }
    specs: dict[str, Any] = {"parts": [*(["shadows"] if "sources" in given else []), *(["echoes"] if words else [])]}
    for setting, texts in given.items():
        path = folder / f"{setting}.jsonl"
        rows = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        spec = {"format": "jsonl", "path": path.name, "fields": {"text": "text", "id": "id"}}
        specs[setting] = [{**spec, "licence": licence} if licence else spec]
    path = folder / "config.yaml"
    path.write_text(
        json.dumps({"name": "sayings", "seed": 7, "store": "store", "families": {"saying": specs}, **config}),
        encoding="utf-8",
    )
    project = Project(path, folder / "out")
    asyncio.run(run_all(project.build, order))
    write_output_files(project)
    remember(project)
    return open_built(folder / "out")


def decide(project: Project, part: str, decisions: Mapping[str, str], **more: Any) -> None:
    """Write a verdict on each of the part's records, by its text: accept, reject, or what its capitals are to be."""
    sifted = project.build.read(
        StageRef("saying", part, project.build.families["saying"].family.part(part).steps[-1].name)
    )
    lines = []
    for record in sifted:
        if (decision := decisions.get(record.text)) is not None:
            fix = decision not in ("accept", "reject")
            verdict = {
                "key": record.key,
                "view_hash": record.view_hash,
                "rubric": f"saying-{part}",
                "decision": "fix" if fix else decision,
                "changes": {"upper": decision} if fix else {},
                "by": "a1",
                **more,
            }
            lines.append(json.dumps(verdict))
    folder = project.out / "verdicts"
    folder.mkdir(exist_ok=True)
    (folder / f"saying-{part}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def released(project: Project, to: Path | None = None, **options: Any) -> Prepared:
    """Release into `to`, beside the output folder where it is not named."""
    return prepare(project, to or project.out.parent / "releases", **options)


def rows_of(folder: Path, config: str) -> list[dict[str, Any]]:
    """The released rows of a configuration."""
    found = newest(folder.parent)
    assert found is not None
    assert found.folder == folder
    return list(read_released(folder, next(one.files for one in found.manifest.configs if one.name == config)))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
