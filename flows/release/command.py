"""`touchstone release`, `diff`, `verify` and `doctor`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption, OutOption
from schemas.errors import WrongInput


def release(
    out: BuildOption = None,
    to: Annotated[Path | None, typer.Option(help="Folder of the versions; OUT/releases by default")] = None,
    hub: Annotated[
        str | None, typer.Option(metavar="OWNER/NAME", help="Publish to this repository; `release.repo` by default")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="A higher version than the proposed one: MAJOR.MINOR.PATCH")
    ] = None,
    allow_unreviewed: Annotated[
        bool | None,
        typer.Option(
            "--allow-unreviewed/--no-allow-unreviewed",
            help="Release rows that nobody has reviewed; card and rows say so. Default: as in the previous version",
        ),
    ] = None,
) -> None:
    """Release the build's rows as a version of a dataset, in a folder or on the Hugging Face Hub.

    Releases only rows that are verified and, if people have to accept them, accepted. The version number follows from
    the difference to the previous version. If nothing differs, nothing happens.

    Example: `touchstone release --to releases`
    """
    from flows.release.terminal import release_build

    release_build(out, to, hub, version, allow_unreviewed=allow_unreviewed)


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Folder of a version, or OWNER/NAME@1.0.0 on the Hub")],
    now: Annotated[str, typer.Argument(metavar="B", help="The version to compare with it")],
    output: Annotated[
        Path | None, typer.Option(help="Write each row that differs to this file, JSONL: config, key, change, fields")
    ] = None,
) -> None:
    """Print the difference between two released versions, and the version number that it calls for.

    Example: `touchstone diff releases/1.0.0 releases/1.1.0`
    """
    from flows.release.terminal import print_difference

    print_difference(before, now, output)


def verify(
    family: Annotated[
        str | None, typer.Argument(help="Family, such as `uraq`, by default all of the build; or `release`")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="With `release`: folder of a version, or of versions, of which it takes the newest"
        ),
    ] = None,
    out: BuildOption = None,
    sources: Annotated[
        Path | None,
        typer.Option(help="A configuration whose sources to read again, to prove the rows against them too"),
    ] = None,
) -> None:
    """Prove from the finished rows alone that each is what it claims: those of a build, or of a release.

    `release releases/private/1.0.0` proves the private rows of a version, with the public version beside them.

    Example: `touchstone verify uraq`
    """
    if family == "release":
        from flows.release.terminal import verify_release

        if folder is None:
            raise WrongInput("verify release: name the folder of a version: `touchstone verify release releases/1.0.0`")
        verify_release(folder)
        return
    from flows.run.reading import verify_build

    verify_build(family, out, sources)


def doctor(
    config: Annotated[
        Path | None, typer.Argument(help="Also check what a release of this configuration needs you to set")
    ] = None,
    out: OutOption = Path("out"),
) -> None:
    """Check the installation, and whether the model servers answer: those of the configuration, and on this machine.

    Without a configuration, ./touchstone.yaml says which servers. Of one that is named, also check licences, the secret
    of a private share, and, if it names a repository on the Hub, the token and its right to write there.

    Example: `touchstone doctor my.yaml`
    """
    from flows.project.installation import run_doctor
    from flows.project.settings import DEFAULT
    from flows.release.terminal import print_readiness

    problems = 0 if config is None else print_readiness(config, out)
    if config is None and Path(DEFAULT).is_file():
        config = Path(DEFAULT)
    run_doctor(problems, config)
