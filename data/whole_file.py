"""Text files that are there when they are whole."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file to write to that takes its name when the block ends without an error.

    Until then it has one other name, the same each time: what a killed run left half written, the next one writes over.
    Two that write one file at once need a lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
