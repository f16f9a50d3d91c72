"""The command line. Each room's `command.py` imports its modules when a command runs, so that `--help` is quick."""

import os
import signal
import sys
import traceback

import typer

from flows.annotate.command import annotate, label_studio
from flows.evaluate.command import estimate, evaluate, metric, score
from flows.project.command import doctor, schema
from flows.rebuild.command import gc, rebuild
from flows.release.command import diff, release, verify
from flows.run.command import explain, run, show
from flows.serve.command import serve
from schemas.errors import Failed, WrongInput

INTERRUPTED = 130
STOPPED = "stopped; run the same command again to go on from here"

app = typer.Typer(
    name="touchstone",
    help="Builds benchmarks that show whether a language model uses the context it is given.\n\n"
    "Errors are one line; with --debug, before or after the command, they come with their traceback.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
COMMANDS = (
    run, estimate, show, explain, verify, evaluate, score, metric, release, diff, rebuild, gc, serve, schema, doctor,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
app.add_typer(label_studio, name="label-studio")
app.add_typer(annotate, name="annotate")


def main() -> None:
    """Run the command; exit 0 done, 1 failed, 2 wrong input."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    # Schedulers and containers stop a process so; what is begun is to be left as by Ctrl-C.
    told: list[int] = []

    def stop(number: int, frame: object) -> None:
        told.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    caught: BaseException | None = None
    try:
        # On Ctrl-C the library gives a status in place of raising.
        if app(args=arguments, prog_name="touchstone", standalone_mode=False) != INTERRUPTED:
            return
        said, status = STOPPED, INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        said, status = STOPPED, INTERRUPTED
    except WrongInput as error:
        said, status, caught = str(error), 2, error
    except Failed as error:
        said, status, caught = str(error), 1, error
    except OSError as error:
        caught = error
        said, status = f"{error.filename or 'a file'}: {error.strerror or error}; nothing that was finished is lost", 1
    except Exception as error:  # noqa: BLE001 - the last place: a person gets a line, not a traceback
        caught = error
        if hasattr(error, "format_message"):  # how the command line itself refuses its arguments
            command = getattr(getattr(error, "ctx", None), "command_path", "touchstone")
            said, status = f"{error.format_message()}; `{command} --help` tells what it takes", 2
        else:
            said, status = f"unexpected {type(error).__name__}: {error}; run again with --debug and report it", 1
    if told:  # whatever a library made of it, or of a server that was stopped along with this process
        said, status = STOPPED, INTERRUPTED
    if debug and caught is not None:
        traceback.print_exception(caught)
    _say(said)
    if status == INTERRUPTED and not debug:
        # What libraries say while a process that was stopped takes itself down is of no use to anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(status)


def _say(line: str) -> None:
    """One line on the error stream."""
    typer.echo(f"touchstone: {' '.join(line.split())}", err=True)
