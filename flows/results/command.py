"""`touchstone results`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption


def results(
    to: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files")],
    hub: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME", help="Repository of the dataset on the Hub; by default `release.repo` of the build"
        ),
    ] = None,
    out: BuildOption = None,
) -> None:
    """Write the scores of a build, or of a profile of a released version, for others to read.

    For each model, `.eval_results` for its repository on the Hugging Face Hub: a file for each task of the dataset's
    `eval.yaml`. For each evaluation, a JSON of Every Eval Ever. The same scores give the same bytes.

    Example: `touchstone results --to results`
    """
    from flows.results.terminal import write_results

    write_results(out, to, hub)
