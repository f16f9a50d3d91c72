"""`touchstone release`, `diff` and `verify`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption
from schemas.errors import WrongInput


def release(
    out: BuildOption = None,
    to: Annotated[Path | None, typer.Option(help="Folder of the versions; OUT/releases by default")] = None,
    hub: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Publish to this repository; `release.repo` by default")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="A higher version than the rule proposes: MAJOR.MINOR.PATCH")
    ] = None,
    allow_unreviewed: Annotated[
        bool | None,
        typer.Option(
            "--allow-unreviewed/--no-allow-unreviewed",
            help="Let through what people have not seen; card and rows say so. As in the version before by default",
        ),
    ] = None,
) -> None:
    """Release the build's rows as a version of a dataset, to a folder, or to the Hugging Face Hub.

    Only verified rows leave, and of what people have to accept the accepted ones. What differs from the version before
    gives the number; where nothing does, nothing happens.

    Example: `touchstone release --to releases`
    """
    from flows.release.terminal import release_build

    release_build(out, to, hub, version, allow_unreviewed=allow_unreviewed)


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Folder of a version, or OWNER/NAME@1.0.0 on the Hub")],
    now: Annotated[str, typer.Argument(metavar="B", help="The version that is compared with it")],
    output: Annotated[
        Path | None, typer.Option(help="Write every row that differs here, JSONL: config, key, change, fields")
    ] = None,
) -> None:
    """Print how a released version differs from another, and which version number that asks for.

    Example: `touchstone diff releases/1.0.0 releases/1.1.0`
    """
    from flows.release.terminal import print_difference

    print_difference(before, now, output)


def verify(
    family: Annotated[str, typer.Argument(help="Family, such as `uraq`; or `release`")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="With `release`: folder of the version")
    ] = None,
    out: BuildOption = None,
    sources: Annotated[
        Path | None, typer.Option(help="A configuration whose sources are read again, to prove the rows from them too")
    ] = None,
) -> None:
    """Prove from the finished rows alone that each is what it claims: a family's of a build, or all of a release.

    Example: `touchstone verify uraq`
    """
    if family == "release":
        from flows.release.terminal import verify_release

        if folder is None:
            raise WrongInput("verify release: name the folder of a version: `touchstone verify release releases/1.0.0`")
        verify_release(folder)
        return
    from flows.run.reading import verify_family

    verify_family(family, out, sources)
