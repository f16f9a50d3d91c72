"""The terminal output that all commands share."""

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
"""Seconds between two progress lines of a stage in a log."""
LEFT: dict[str, Any] = {"title_justify": "left", "title_style": "bold"}


class LogInterval:
    """Says when a log is due for another progress line; a terminal shows progress all the time."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._last = clock()

    def due(self) -> bool:
        """Return True if `EVERY_S` seconds have passed since it last did."""
        now = self._clock()
        if self._console.is_terminal or now - self._last < EVERY_S:
            return False
        self._last = now
        return True


class SteadyConsole(Console):
    """A console that falls silent when its reader has gone (`| head`), so that the work is still finished."""

    def on_broken_pipe(self) -> None:
        """Print no more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_console() -> Console:
    """Return the terminal's console; for output to a file, a console wide enough for the tables."""
    console = SteadyConsole(highlight=False)
    return console if console.is_terminal else SteadyConsole(highlight=False, width=WIDTH_OF_FILES)


def money(usage: Usage | UsageOfPrompt) -> str:
    """Return what was paid: `-` for nothing, `?` if a price is not known."""
    return "?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}" if usage.cost_usd else "-"


def as_lines(text: str) -> str:
    """Return a text of several lines with the characters that would control a terminal written out."""
    return "\n".join(map(visible, text.split("\n")))
