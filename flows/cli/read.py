"""`touchstone show`, `explain` and `verify`: commands that read a build."""

from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import WrongInput

BuildOption = Annotated[Path | None, typer.Option("--out", help="Output folder of the build; the last one by default")]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(show)
    app.command()(explain)
    app.command()(verify)


def show(
    part: Annotated[str, typer.Argument(metavar="FAMILY-PART", help="`uraq-items`; `uraq` gives its main part")],
    sample: Annotated[int, typer.Option(min=1, help="How many items")] = 3,
    seed: Annotated[int, typer.Option(help="Another seed gives another sample")] = 0,
    out: BuildOption = None,
) -> None:
    """Print accepted items as a person reads them.

    Example: `touchstone show uraq-items --sample 5`
    """
    from flows.cli.reading import show_sample

    show_sample(part, sample, seed, out)


def explain(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id or key of a record, kept or dropped")],
    out: BuildOption = None,
) -> None:
    """Tell one row's whole history: sources, prompts, models, parents, what was made of it, or why it was dropped.

    Example: `touchstone explain 0a1b2c3d4e5f6071`
    """
    from flows.cli.reading import explain_record

    explain_record(name, out)


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
        from flows.cli.releasing import verify_release

        if folder is None:
            raise WrongInput("verify release: name the folder of a version: `touchstone verify release releases/1.0.0`")
        verify_release(folder)
        return
    from flows.cli.reading import verify_family

    verify_family(family, out, sources)
