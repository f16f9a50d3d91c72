"""`touchstone schema`, and arguments of many commands."""

from pathlib import Path
from typing import Annotated

import typer

ConfigArgument = Annotated[
    Path | None, typer.Argument(help="Configuration file; by default ./touchstone.yaml, or else the packaged sample")
]
OutOption = Annotated[Path, typer.Option("--out", help="Output folder")]
SinceOption = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION|DATE", help="Of a released version, only rows that came with this version or day, or later"
    ),
]
SourceAfterOption = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Of a released version, only rows whose sources state a later date"),
]
BuildOption = Annotated[Path | None, typer.Option("--out", help="Output folder of the build; the last one by default")]


def schema(
    name: Annotated[str, typer.Argument(help="A record, such as `uraq-items`; `list` prints all names")],
) -> None:
    """Print the JSON Schema of a public record.

    Example: `touchstone schema uraq-items`
    """
    from flows.project.installation import print_schema

    print_schema(name)
