"""The release as a Prefect flow: a version out of a finished build, and on the Hub where it is to go there."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from data.publish.card import own_words
from data.publish.changelog import section
from data.publish.check import damage_of
from data.publish.folder import CARD, CHANGELOG, MANIFEST, read_release
from flows.prefect_server.flow_runs import engine
from flows.project.output_files import open_built
from flows.project.settings import load_config
from flows.project.stages_in_use import note_release
from flows.release.version import RELEASES, Prepared, prepare
from schemas.base import visible
from schemas.errors import Failed


@dataclass(frozen=True)
class Outcome:
    """What a release came to."""

    prepared: Prepared
    url: str | None
    """Of the version on the Hub; None where it is in a folder alone."""
    published: bool
    """Whether it was not on the Hub before."""


@flow(name="release", validate_parameters=False)
def release(
    out: str,
    to: str | None = None,
    hub: str | None = None,
    version: str | None = None,
    allow_unreviewed: bool | None = None,
    withdraw: bool = True,
) -> Outcome:
    """Release the build in `out`: nothing happens where nothing differs from the version before.

    Without `allow_unreviewed` it is as in the version before. Unless it may `withdraw`, it stops (`Stopped`) before a
    version that lacks a whole configuration of the one before.
    """
    project = open_built(Path(out))
    load_config(project.config_path)  # what of it is to stay private stands there: without it all would go out
    repo = hub or project.config.release.repo
    folder = Path(to) if to else project.out / RELEASES
    there = _versions(repo)
    card = _bring_newest(repo, folder, there[-1]) if repo is not None and there else None
    prepared = prepare(
        project,
        folder,
        repo=repo,
        version=version,
        allow_unreviewed=allow_unreviewed,
        withdraw=withdraw,
        card=card,
    )
    note_release(project.store, read_release(prepared.folder).manifest)
    outcome = _publish(prepared, repo, there)
    held: list[dict[str, Any]] = [
        {"configuration": name, "held back": reason, "rows": count}
        for name, reasons in prepared.held_back.items()
        for reason, count in reasons.items()
    ]
    create_table_artifact(table=held, key="held-back", description="Rows that are built and not released")
    if prepared.difference is not None:
        text = section(prepared.difference, prepared.version)
        create_markdown_artifact(markdown=text, key="changelog", description=f"{CHANGELOG} of {prepared.version}")
    return outcome


def _versions(repo: str | None) -> list[str]:
    """What the Hub has."""
    if repo is None:
        return []
    from data.publish.hub import versions

    return versions(repo)


def _bring_newest(repo: str, folder: Path, version: str) -> bytes | None:
    """Have the Hub's newest version here, to compare with: another machine may have released it.

    Gives its card where somebody wrote in it on the Hub since.
    """
    from data.publish.hub import fetch, served

    latest = folder / version
    if not latest.exists():
        fetch(repo, version, latest)
    elif served(repo, MANIFEST, version) != (latest / MANIFEST).read_bytes():
        raise Failed(
            f"{latest}: {repo} has another version {version}, which was published first; move this folder away, then "
            "release again: what differs will be the next version"
        )
    released = {file.path: file.sha256 for file in read_release(latest).manifest.files}
    card = served(repo, CARD)
    if card is None or sha256(card).hexdigest() == released.get(CARD) or own_words(card) is None:
        return None
    return card


def _publish(prepared: Prepared, repo: str | None, there: Sequence[str]) -> Outcome:
    if repo is None:
        return Outcome(prepared, None, published=False)
    from data.publish.hub import publish

    if prepared.version not in there and (fault := next(damage_of(read_release(prepared.folder)), None)):
        raise Failed(
            f"{prepared.folder}: {visible(fault)}; nothing was published: remove this folder, and release again"
        )
    done = publish(prepared.folder, repo, prepared.version, message=f"Version {prepared.version}")
    return Outcome(prepared, done.url, published=done.new)


def run_release(out: Path, **options: Any) -> Outcome:
    """Run `release` here and now."""
    with engine():
        outcome: Outcome = release(str(out), **options)
        return outcome
