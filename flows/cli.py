"""The command line. Each room's `command.py` imports its modules when a command runs, so that `--help` is quick."""

import contextlib
import errno
import importlib.metadata
import io
import logging
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated

import typer

from flows.annotate.command import annotate, label_studio
from flows.evaluate.command import estimate, evaluate, metric, score
from flows.new.command import new
from flows.profile.command import profile
from flows.project.command import schema
from flows.rebuild.command import gc, rebuild
from flows.release.command import diff, doctor, release, verify
from flows.results.command import results
from flows.run.command import batches, explain, run, show
from flows.serve.command import serve
from schemas.base import as_lines, shortened, visible
from schemas.errors import Conflicts, Failed, WrongInput
from schemas.secrets import hide_in_logs, without_secrets

INTERRUPTED = 130
NO_MEMORY = "not enough memory; free some, or give this command more, then run it again: finished work is kept"
TOO_MANY_FILES = "too many open files; allow more (`ulimit -n 4096`), then run again: finished work is kept"
MOST_FILES = 65_536
STOPPED = "stopped; run the same command again to go on from here"

app = typer.Typer(
    name="touchstone",
    help="Builds benchmarks that show whether a language model uses the context it is given.\n\n"
    "Errors are one line. With --debug, before or after the command, you also get the traceback.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
COMMANDS = (
    new, run, batches, estimate, show, explain, verify, evaluate, profile, results, score, metric, release, diff,
    rebuild, gc, serve, schema, doctor,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
app.add_typer(label_studio, name="label-studio")
app.add_typer(annotate, name="annotate")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"touchstone {importlib.metadata.version('touchstone')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    """Take the options that belong to no command."""


def main() -> None:
    """Run the command; exit 0 done, 1 failed, 2 wrong input."""
    hide_in_logs()
    _show_logs()
    _replace_output()
    _allow_files()
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] or ["--help"]
    # Schedulers and containers stop a process with SIGTERM; it is handled like Ctrl-C.
    signals: list[int] = []

    def stop(number: int, frame: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    caught: BaseException | None = None
    try:
        # On Ctrl-C the library returns a status instead of raising.
        if app(args=arguments, prog_name="touchstone", standalone_mode=False) != INTERRUPTED:
            with contextlib.suppress(BrokenPipeError):
                typer.echo(nl=False)  # what was printed goes out now
            return
        message, status = STOPPED, INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        message, status = STOPPED, INTERRUPTED
    except WrongInput as error:
        message, status, caught = str(error), 2, error
    except Failed as error:
        message, status, caught = str(error), 1, error
    except (OSError, MemoryError) as error:
        message, status, caught = _of_system(error), 1, error
    except Exception as error:  # noqa: BLE001 - at the very end a person gets a line, not a traceback
        caught = error
        if hasattr(error, "format_message"):  # the command line's own errors
            command = getattr(getattr(error, "ctx", None), "command_path", "touchstone")
            message, status = f"{error.format_message().rstrip('.')}; `{command} --help` shows what it takes", 2
        else:
            message, status = f"unexpected {type(error).__name__}: {error}; run again with --debug and report it", 1
    if signals:  # whatever a library turned them, or a server stopped with this process, into
        message, status = STOPPED, INTERRUPTED
    if debug and caught is not None:
        typer.echo(as_lines(without_secrets("".join(traceback.format_exception(caught)))), err=True, nl=False)
    _print_error(message, caught)
    if status == INTERRUPTED and not debug:
        # Nobody needs what libraries print while a stopped process shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(status)


class _Output(io.TextIOWrapper):
    """Standard output, where what its encoding lacks is written as in Python (`\\u2713`)."""

    def write(self, text: str) -> int:
        with self._failing():
            return super().write(text)

    def flush(self) -> None:
        with self._failing():
            super().flush()

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # or the end of the process would try it again
            if isinstance(error, BrokenPipeError):  # its reader has gone (`| head`)
                raise
            raise Failed(
                f"the output cannot be written ({error.strerror}); send it elsewhere, then run again: finished work "
                "is kept"
            ) from error


def _replace_output() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _Output(
            sys.stdout.buffer, sys.stdout.encoding, errors="backslashreplace", line_buffering=sys.stdout.line_buffering
        )


def _allow_files() -> None:
    """Allow as many open files as a program may ask for: a model that is asked 256 questions at once takes as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):  # some systems have another limit besides
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _of_system(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return TOO_MANY_FILES
    if error.errno is None and str(error):  # one of ours, which says it all
        return f"{error}; finished work is not lost"
    return f"{error.filename or 'a file'}: {error.strerror or error}; finished work is not lost"


class _LogLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return as_lines(super().format(record))


def _show_logs() -> None:
    """Have what is logged, and no handler takes, printed like any other text of others."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_LogLines())


def _print_error(message: str, error: BaseException | None) -> None:
    """Print a line, or a line for each of several problems."""
    lines = error.problems if isinstance(error, WrongInput | Conflicts) and message == str(error) else (message,)
    for line in lines:
        typer.echo(f"touchstone: {shortened(visible(without_secrets(' '.join(line.split()))))}", err=True)
