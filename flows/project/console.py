"""The terminal that every command prints to."""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console

from flows.llm.model import Usage
from schemas.base import visible
from schemas.manifest import UsageOfPrompt

WIDTH_OF_FILES = 120
EVERY_S = 30.0
"""Between two lines of a log on how far a stage is, in seconds."""
LEFT: dict[str, Any] = {"title_justify": "left", "title_style": "bold"}


class LogInterval:
    """Tells when a log is due another line on how far work is; a terminal shows it all the time."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._told = clock()

    def due(self) -> bool:
        """Whether `EVERY_S` seconds have passed since the last time that this was so."""
        now = self._clock()
        if self._console.is_terminal or now - self._told < EVERY_S:
            return False
        self._told = now
        return True


class SteadyConsole(Console):
    """A console that falls silent where nobody reads on (`| head`): what is being made is made."""

    def on_broken_pipe(self) -> None:
        """Print no more, and go on."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_console() -> Console:
    """The terminal; where the output goes to a file, wide enough for the tables."""
    console = SteadyConsole(highlight=False)
    return console if console.is_terminal else SteadyConsole(highlight=False, width=WIDTH_OF_FILES)


def money(usage: Usage | UsageOfPrompt) -> str:
    """What was paid: `-` where nothing was, `?` where a price is not known."""
    return "?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}" if usage.cost_usd else "-"


def as_lines(text: str) -> str:
    """A text of several lines as a terminal may have it: what would steer it is written out."""
    return "\n".join(map(visible, text.split("\n")))
