"""The command line. Modules are imported when their command runs, so that `--help` is quick."""

import sys
import traceback

import typer

from flows.cli import build, meta, read, score
from schemas.errors import Failed, WrongInput

app = typer.Typer(
    name="touchstone",
    help="Builds benchmarks that show whether a language model uses the context it is given.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
build.add_to(app)
read.add_to(app)
score.add_to(app)
meta.add_to(app)


def main() -> None:
    """Run the command; exit 0 done, 1 failed, 2 wrong input."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(args=arguments, prog_name="touchstone")
    except (WrongInput, Failed) as error:
        if debug:
            traceback.print_exc()
        typer.echo(f"touchstone: {' '.join(str(error).split())}", err=True)
        sys.exit(2 if isinstance(error, WrongInput) else 1)
    except KeyboardInterrupt:
        typer.echo("touchstone: stopped; run the same command again to go on from here", err=True)
        sys.exit(130)
