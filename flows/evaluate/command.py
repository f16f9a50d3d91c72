"""`touchstone estimate`, `evaluate`, `score` and `metric`."""

from pathlib import Path
from typing import Annotated

import typer

from flows.project.command import BuildOption, ConfigArgument, SinceOption, SourceAfterOption


def estimate(
    config: ConfigArgument = None,
    out: Annotated[Path, typer.Option("--out", help="Output folder of a pilot or build, for its yields")] = Path("out"),
    limit: Annotated[
        int | None, typer.Option(min=1, help="Estimate a pilot of this many records for each source")
    ] = None,
    evaluate: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Estimate `touchstone evaluate --model MODEL` of the build in --out"),
    ] = None,
) -> None:
    """Estimate the rows, calls, tokens and money of a build, or of an evaluation, before you spend anything.

    After a pilot with the same models (`touchstone run my.yaml --out pilot --limit 5`) it uses the pilot's yields.
    With `--evaluate` it counts the finished build's rows, by family and level; `--limit` is that of `evaluate`.
    It needs no key. Money at an unknown price is `?`.

    Example: `touchstone estimate my.yaml --out pilot`
    """
    if evaluate is not None:
        from flows.evaluate.terminal import estimate_evaluations
        from schemas.errors import WrongInput

        if config is not None:
            raise WrongInput("--evaluate: reads the build in --out; leave the configuration out")
        estimate_evaluations(evaluate, limit, out)
        return
    from flows.project.console import make_console
    from flows.project.project import Project
    from flows.project.settings import default_config
    from flows.run.estimate import estimate as estimate_build
    from flows.run.summary import print_estimate

    project = Project(config or default_config(), out, limit)
    project.models.asks = False
    console = make_console()
    try:
        with console.status("reading the sources"):
            result = estimate_build(project)
    finally:
        project.close()
    print_estimate(result, console)


def evaluate(
    family: Annotated[str, typer.Argument(help="Family, such as `uraq`")],
    model: Annotated[
        str,
        typer.Option(
            help="A key of `models:` in the configuration; for items with options, also a causal model's folder or "
            "name on the Hugging Face Hub (OWNER/NAME)"
        ),
    ] = "evaluated",
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Ask about only this many rows of each part; in dialogues, this many seeds"),
    ] = None,
    attention: Annotated[
        bool, typer.Option("--attention", help="Also show where the response's tokens look (provider local)")
    ] = False,
    attention_model: Annotated[
        str | None,
        typer.Option(
            help="Also show where the turns of dialogues look. A local model reads one of each kind: a key of "
            "`models:` (provider local), a folder, or a name on the Hugging Face Hub (OWNER/NAME)"
        ),
    ] = None,
    by_author: Annotated[
        bool,
        typer.Option(
            "--by-author",
            help="Instead of the rows, compare what several people wrote for the same records",
        ),
    ] = False,
    since: SinceOption = None,
    source_after: SourceAfterOption = None,
    out: BuildOption = None,
) -> None:
    """Ask a model about a build's rows, write its predictions, and score them.

    The current configuration decides how rows are asked, and with which context counts or levels.
    For refutebench, this holds dialogues with the model and rates them; the build's own dialogues stay.
    Answers stay in the completion cache, so a killed run resumes.

    Example: `touchstone evaluate uraq --model evaluated`
    """
    if by_author:
        from flows.evaluate.terminal import evaluate_authors

        evaluate_authors(family, model, limit, out, attention=attention or attention_model is not None)
        return
    from flows.evaluate.terminal import evaluate_family

    evaluate_family(
        family, model, limit, out, attention=attention, reader=attention_model, since=since, source_after=source_after
    )


def score(
    family: Annotated[str, typer.Argument(help="Family, such as `uraq`")],
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--input",
            help="Predictions, JSONL: id, variant, prediction or scores; for refutebench, ratings (by default the "
            "build's own)",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write all tables to this file as JSON")] = None,
    partial: Annotated[
        bool, typer.Option(help="Score the matching predictions; skip missing and unknown rows")
    ] = False,
    out: BuildOption = None,
) -> None:
    """Score predictions on a build's rows.

    For refutebench, score ratings of dialogues: those in a file, or by default the build's own.

    Example: `touchstone score uraq --input predictions.jsonl --output tables.json`
    """
    from flows.evaluate.score import score_family

    score_family(family, predictions, output, partial, out)


def metric(
    name: Annotated[str, typer.Argument(help="Metric, such as `exact_match` or `f1`")],
    rows: Annotated[Path, typer.Option("--input", help="JSONL: id, prediction, answers, keywords, lang")],
    output: Annotated[Path, typer.Option(help="File for the scores, JSONL: id, score")],
) -> None:
    """Score rows by one metric.

    Example: `touchstone metric f1 --input rows.jsonl --output scores.jsonl`
    """
    from flows.evaluate.score import score_rows

    score_rows(name, rows, output)
