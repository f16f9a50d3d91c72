"""`touchstone profile`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import SinceOption, SourceAfterOption


def profile(
    build: Annotated[
        Path | None,
        typer.Argument(help="Output folder of a build, by default the last one; or the folder of a released version"),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A key of `models:` in the configuration; give the option again for each further model"),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Ask about only this many rows of each part; in dialogues, this many seeds"),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="USD", help="The most to spend, in place of `budget_usd`: it then stops with what it has"
        ),
    ] = None,
    before: Annotated[
        Path | None,
        typer.Option(
            metavar="VERSION",
            help="For a released version that was refreshed: the folder of an older one; tells what models have "
            "learned of its draws",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="For a released version: the configuration with the models; ./touchstone.yaml by default"),
    ] = None,
    since: SinceOption = None,
    source_after: SourceAfterOption = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the page, OUT/profile by default; of a released version NAME-VERSION-profile"
        ),
    ] = None,
) -> None:
    """Evaluate models on every family of a build, and compare them on one page.

    Six questions answered with figures and intervals; the models side by side; what it cost. Predictions that are
    there already, of the same rows asked in the same way, are not asked for again, so an interrupted profile goes on.

    Example: `touchstone profile out --model default --limit 5`
    """
    from flows.profile.terminal import profile_models

    profile_models(build, model or ["evaluated"], limit, budget, config, to, before, since, source_after)
