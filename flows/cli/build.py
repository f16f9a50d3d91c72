"""`touchstone run` and `touchstone estimate`."""

from pathlib import Path
from typing import Annotated

import typer

ConfigArgument = Annotated[Path | None, typer.Argument(help="Configuration file; the packaged sample by default")]
OutOption = Annotated[Path, typer.Option("--out", help="Output folder")]


def add_to(app: typer.Typer) -> None:
    """Add this group's commands."""
    app.command()(run)
    app.command()(estimate)


def run(
    config: ConfigArgument = None,
    out: OutOption = Path("out"),
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="A pilot: so many records for each source, drawn by the seed, or so many statements"),
    ] = None,
) -> None:
    """Build every configured family, print the summary, write the report.

    What is finished is not built again: run it as often as you like, after a kill too.

    Example: `touchstone run my.yaml --out pilot --limit 5`
    """
    from flows.cli.terminal import run_in_terminal
    from flows.settings import sample_path

    run_in_terminal(config or sample_path(), out, limit)


def estimate(
    config: ConfigArgument = None,
    out: Annotated[Path, typer.Option("--out", help="Output folder of a pilot, whose yields are used")] = Path("out"),
    limit: Annotated[
        int | None, typer.Option(min=1, help="Estimate a pilot of so many records for each source")
    ] = None,
    evaluate: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Estimate `touchstone evaluate --model MODEL` of the build in --out"),
    ] = None,
) -> None:
    """Rows, calls, tokens and money of a build, or of evaluating a model on one, before anything is spent.

    After a pilot of the same models (`touchstone run my.yaml --out pilot --limit 5`) its yields and lengths are used.
    With `--evaluate` the rows of the finished build are counted, by family and level; `--limit` is that of the command.
    No key is needed; money at a price that is not known is `?`.

    Example: `touchstone estimate my.yaml --out pilot`
    """
    if evaluate is not None:
        from flows.cli.scoring import estimate_evaluations
        from schemas.errors import WrongInput

        if config is not None:
            raise WrongInput("--evaluate: reads the build in --out; leave the configuration out")
        estimate_evaluations(evaluate, limit, out)
        return
    from flows.cli.terminal import make_console, print_estimate
    from flows.compose import Project
    from flows.estimate import estimate as estimate_build
    from flows.settings import sample_path

    project = Project(config or sample_path(), out, limit)
    project.asks = False
    console = make_console()
    try:
        with console.status("reading the sources"):
            told = estimate_build(project)
    finally:
        project.close()
    print_estimate(told, console)
