"""The terminal output that all commands share."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from flows.llm.model import Usage
from schemas.base import as_lines
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
    """The one way of text to the terminal, where no character of it has an effect.

    What would control the terminal, or hide or turn what follows, is written out as in Python: `\\x1b`, `\\u202e`. Our
    markup is text as well: `escape` what others wrote. The console falls silent when its reader has gone (`| head`), so
    that the work is still finished.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Lay out a text: what is written out takes its room."""
        return super().render_str(as_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Lay out anything else, such as a Markdown text."""
        for segment in super().render(renderable, options):
            is_plain = segment.control or segment.text.isprintable() or segment.text == "\n"
            yield segment if is_plain else Segment(as_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Print no more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_console(at_most: int | None = None) -> Console:
    """Return the terminal's console; for output to a file, a console wide enough for the tables.

    `at_most`: its width in characters.
    """
    console = SteadyConsole(highlight=False, emoji=False)
    width = console.width if console.is_terminal else WIDTH_OF_FILES
    if console.is_terminal and at_most is None:
        return console
    return SteadyConsole(highlight=False, emoji=False, width=width if at_most is None else min(width, at_most))


def money(usage: Usage | UsageOfPrompt) -> str:
    """Return what was paid: `-` for nothing, `?` if a price is not known."""
    return "?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}" if usage.cost_usd else "-"
