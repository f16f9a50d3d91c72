"""Releases a build, compares versions and proves them, for a person at a terminal."""

import contextlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from data.publish.changelog import section, summary
from data.publish.check import check_undamaged, damage_of, others_in
from data.publish.diff import compare, next_version
from data.publish.folder import CARD, MANIFEST, Release, read_release, versions_in
from data.temporary_folder import temporary_folder
from flows.prefect_server.embedded import begin_prefect
from flows.project.console import LEFT, make_console
from flows.project.output_files import LAST, open_build
from flows.project.project import EMBEDDINGS
from flows.project.settings import EmbedderSettings
from flows.release.gate import CHANGED, UNREVIEWED, advice_on
from flows.release.private_share import SECRET
from flows.release.version import AS_BEFORE, PRIVATE, withdrawn_in_words
from schemas.base import counted, visible
from schemas.errors import Failed, WrongInput, first_problem
from schemas.release import ReleaseManifest

if TYPE_CHECKING:
    from flows.construct.embed import Embedder
    from flows.release.private_verification import PrivateRows

FAULTS_SHOWN = 20


def release_build(
    out: Path | None, to: Path | None, hub: str | None, version: str | None, *, allow_unreviewed: bool | None
) -> None:
    """Release, and print what was released, what was held back, and the folder."""
    console = make_console()
    project = open_build(out, console)
    begin_prefect(project.state)
    from flows.release.flow import run_release

    with console.status("releasing ..."):
        outcome = run_release(
            project.out, to=str(to) if to else None, hub=hub, version=version, allow_unreviewed=allow_unreviewed
        )
    done = outcome.prepared
    manifest = read_release(done.folder).manifest
    _print_configs(console, manifest)
    for fault in done.faults[:FAULTS_SHOWN]:
        console.print(f"[red]✗[/] {escape(fault)}", soft_wrap=True)
    if len(done.faults) > FAULTS_SHOWN:
        console.print(f"  and {len(done.faults) - FAULTS_SHOWN} more")
    for line in (*done.kept, *done.left_out, *done.private):
        console.print(f"- {escape(line)}", soft_wrap=True)
    for scores in manifest.baselines:
        kind = "private rows" if scores.private else "rows"
        asked = f"{scores.rows:,} of {scores.of:,} {kind} of {scores.family}"
        console.print(f"- the card has the scores of {escape(scores.model)} on {escape(asked)}", soft_wrap=True)
    where = escape(str(done.folder))
    if done.as_before:
        console.print(f"- {AS_BEFORE}", soft_wrap=True)
    if done.withdrawn:
        console.print(
            f"[bold red]! withdrawn: {escape(withdrawn_in_words(done.withdrawn))}: none of its rows is released now[/]",
            soft_wrap=True,
        )
    if done.is_new:
        assert done.difference is not None
        place = "the first version" if done.difference.before is None else f"after {done.difference.before}"
        console.print(f"[green]✓[/] version [bold]{escape(done.version)}[/], {escape(place)}: {where}", soft_wrap=True)
        if done.difference.before is not None:
            console.print(f"  {escape(summary(done.difference))}", highlight=False, soft_wrap=True)
    else:
        console.print(f"- nothing differs from version {escape(done.version)}: {where}", soft_wrap=True)
    if drawn := sum(config.held_out - config.of_private_sources for config in manifest.configs):
        kept = escape(str(done.folder.parent / PRIVATE / done.version))
        console.print(f"- {counted(drawn, 'private row')} in {kept}: keep this folder, and {SECRET}", soft_wrap=True)
    if outcome.url:
        what = "published" if outcome.published else "already published"
        console.print(f"[green]✓[/] {what}: {escape(outcome.url)}", soft_wrap=True)
    console.print(
        f"  [dim]touchstone verify release {where} proves it; {where}/README.md is its card[/]", soft_wrap=True
    )


def _print_configs(console: Console, manifest: ReleaseManifest) -> None:
    """Print how many rows of each configuration are released, and held back, and how those may be released."""
    table = Table("configuration", "rows", "reviewed", "held back", "licence", box=SIMPLE_HEAD, **LEFT)
    for config in manifest.configs:
        back = "\n".join(f"{count:,} {escape(reason)}" for reason, count in config.held_back.items()) or "-"
        table.add_row(
            escape(config.name), f"{config.rows:,}", f"{config.reviewed:,}", back, escape(config.licence) or "-"
        )
    console.print(table)
    held_back = {reason for config in manifest.configs for reason in config.held_back}
    if held_back & {UNREVIEWED, CHANGED}:
        console.print(f"- rows wait for people: {advice_on(held_back)}", soft_wrap=True)


def print_readiness(config: Path, out: Path) -> int:
    """Print what a release of a configuration still needs its user to set. Returns the number of problems."""
    from flows.release.ready import check_configuration

    console = make_console()
    try:
        repo = check_configuration(config, out)
    except (WrongInput, Failed) as error:
        problems = error.problems if isinstance(error, WrongInput) else [str(error)]
        for problem in problems:
            console.print(f"[red]✗[/] {escape(problem)}", soft_wrap=True)
        return len(problems)
    where = f"published at {repo}" if repo else "released to a folder"
    console.print(f"[green]✓[/] {escape(str(config))}: nothing is missing to be {escape(where)}", soft_wrap=True)
    return 0


def print_difference(before: str, now: str, output: Path | None) -> None:
    """Print how a version differs from another."""
    console = make_console()
    with _folder(before) as first, _folder(now) as second:
        older, newer = read_release(first), read_release(second)
        for release in (older, newer):
            check_undamaged(release)
        difference = compare(older, newer, output)
    console.print(section(difference, difference.now), markup=False, highlight=False, soft_wrap=True, end="")
    if version := next_version(difference):
        console.print(f"\nThe rule makes this version {version}.")


def verify_release(folder: Path) -> None:
    """Prove a version and its rows, or its private rows; of a folder of versions, the newest."""
    from flows.release.private_verification import private_rows
    from flows.release.verification import prove, unproved

    console = make_console()
    if not (folder / MANIFEST).exists() and (versions := versions_in(folder)):
        folder = versions[-1]
    if (version := private_rows(folder)) is not None:
        _verify_private(console, version)
        return
    release = read_release(folder)
    manifest = release.manifest
    rows = sum(config.rows for config in manifest.configs)
    if others := others_in(release):
        console.print(f"- not part of this version: {escape(', '.join(map(visible, others)))}", soft_wrap=True)
    _print_faults(console, folder, rows, release, lambda embedder: prove(release, embedder))
    for name, parts in unproved(release).items():
        console.print(
            f"- {escape(name)}: files and records are intact; what its rows claim cannot be proved here: "
            f"{escape(', '.join(parts))} are in the private share",
            soft_wrap=True,
        )
    counts = f"{counted(len(manifest.files), 'file')}, {counted(rows, 'row')}, 0 faults"
    console.print(f"[green]✓[/] {escape(f'{manifest.name} {manifest.version}')}: {counts}", soft_wrap=True)


def _verify_private(console: Console, version: "PrivateRows") -> None:
    from flows.release.private_verification import prove_private, proved_in_words

    manifest = version.public.manifest
    rows = sum(config.rows + config.held_out for config in manifest.configs)
    _print_faults(console, version.folder, rows, version.public, lambda embedder: prove_private(version, embedder))
    for line in proved_in_words(version):
        console.print(f"- {escape(line)}", soft_wrap=True)
    private = sum(config.held_out for config in manifest.configs)
    count = counted(private, "private row")
    console.print(f"[green]✓[/] {escape(f'{manifest.name} {manifest.version}')}: {count}, 0 faults", soft_wrap=True)


def _print_faults(
    console: Console, folder: Path, rows: int, release: Release, prove: "Callable[[Embedder], Iterator[str]]"
) -> None:
    """Print the faults that `prove` yields. Raises `Failed` if there is one."""
    from flows.construct.embed import SentenceBert
    from flows.construct.embedding_cache import CachedEmbedder

    manifest = release.manifest
    chosen = manifest.settings.get("embedder", "packaged")
    if chosen == "packaged":
        bert = SentenceBert()
    else:
        try:
            settings = EmbedderSettings.model_validate(chosen)
        except ValidationError as error:
            problem = first_problem(error, "whole")
            raise WrongInput(f"{folder / MANIFEST}: settings.embedder: {problem}; download it again") from error
        bert = SentenceBert(settings.name, languages=settings.languages)
    with temporary_folder() as temporary, console.status(f"proving {counted(rows, 'row')} ..."):
        # Many rows have the same contexts; if they were built here, their vectors are known already.
        here = LAST.parent / EMBEDDINGS
        faults = prove(CachedEmbedder(bert, here if here.is_file() else temporary / EMBEDDINGS))
        shown = list(islice(faults, FAULTS_SHOWN))
        more = sum(1 for _ in faults)
    for fault in shown:
        console.print(f"[red]✗[/] {escape(fault)}", soft_wrap=True)
    if shown:
        count = counted(len(shown) + more, "fault")
        edited = (
            "" if any(damage_of(release)) else f"; the next release takes over what you edited in {CARD} and your files"
        )
        raise Failed(f"{folder}: {count}: this is not version {manifest.version} as it was released{edited}")


@contextlib.contextmanager
def _folder(name: str) -> Iterator[Path]:
    """Yield the folder of the version with this name; a version on the Hub is fetched."""
    repo, _, version = name.partition("@")
    if not version or Path(name).exists():
        yield Path(name)
        return
    from data.publish.hub import fetch

    with temporary_folder() as temporary:
        fetch(repo, version, temporary / version)
        yield temporary / version
