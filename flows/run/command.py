"""`touchstone run`, `batches`, `show` and `explain`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption, ConfigArgument, OutOption


def run(
    config: ConfigArgument = None,
    out: OutOption = Path("out"),
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="A pilot: this many records for each source, drawn by the seed, or this many statements"
        ),
    ] = None,
) -> None:
    """Build every configured family, print the summary, write the report.

    Finished stages are not built again. Run it as often as you like, even after a kill.

    Example: `touchstone run my.yaml --out pilot --limit 5`
    """
    from flows.project.settings import default_config
    from flows.run.terminal import run_in_terminal

    run_in_terminal(config or default_config(), out, limit)


def batches(
    config: ConfigArgument = None,
    cancel: Annotated[
        str | None, typer.Option(metavar="ID", help="Cancel this batch at its server; `all` cancels every one")
    ] = None,
) -> None:
    """List the batches (`batch: true`) that were sent and are not collected yet, or cancel them.

    The command that sent a batch collects it when you run it again, also if it was killed. Stop it before you cancel a
    batch, or it sends the rest again at once.

    Example: `touchstone batches my.yaml`
    """
    from flows.project.settings import default_config
    from flows.run.batches import cancel_batches, list_batches

    if cancel is not None:
        cancel_batches(config or default_config(), cancel)
    else:
        list_batches(config or default_config())


def show(
    part: Annotated[str, typer.Argument(metavar="FAMILY-PART", help="`uraq-items`; `uraq` gives its main part")],
    sample: Annotated[int, typer.Option(min=1, help="How many items")] = 3,
    seed: Annotated[int, typer.Option(help="Another seed gives another sample")] = 0,
    out: BuildOption = None,
) -> None:
    """Print accepted items as a person reads them.

    Example: `touchstone show uraq-items --sample 5`
    """
    from flows.run.reading import show_sample

    show_sample(part, sample, seed, out)


def explain(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id or key of a record, kept or dropped")],
    out: BuildOption = None,
) -> None:
    """Print one row's history: sources, prompts, models, parents, what was made from it, or why it was dropped.

    Example: `touchstone explain 0a1b2c3d4e5f6071`
    """
    from flows.run.reading import explain_record

    explain_record(name, out)
