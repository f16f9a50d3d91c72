"""`touchstone new`."""

from pathlib import Path
from typing import Annotated

import typer


def new(
    data: Annotated[list[Path], typer.Argument(metavar="FOLDER_OR_FILES", help="Documents, tables, or both")],
    model: Annotated[str | None, typer.Option(help="A model's name at its server; the rules by default")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The server's address, such as http://localhost:8000/v1; OpenAI's by default")
    ] = None,
) -> None:
    """Look at your data, say what can be built from it, and write `touchstone.yaml`, ready to run.

    It looks at the beginning of each file. It asks nothing and overwrites nothing. A wrong guess is one line to change.

    Example: `touchstone new data/samples/questions.jsonl`
    """
    from flows.new.terminal import new_in_terminal

    new_in_terminal(data, model, base_url)
