"""`touchstone profile`, with output for a terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from data.publish.folder import read_release
from flows.evaluate.models import check_models
from flows.profile.asking import profile_families
from flows.profile.page import QuestionView, questions, write_profile
from flows.project.console import make_console
from flows.project.output_files import open_build
from flows.project.release_as_build import is_release, open_release
from flows.project.settings import DEFAULT, load_config
from schemas.errors import Failed, WrongInput

FOLDER = "profile"
RULES = "rules"
"""The provider of models that are none, which is their name as well."""


def profile_models(
    build: Path | None,
    models: Sequence[str],
    limit: int | None,
    budget_usd: float | None,
    config: Path | None,
    to: Path | None,
) -> None:
    """Evaluate the models on every family of a build or a release; write the page and print the five answers."""
    console = make_console()
    if twice := sorted({model for model in models if models.count(model) > 1}):
        raise WrongInput(f"--model {twice[0]}: stands twice; name each model once")
    if build is not None and is_release(build):
        release = read_release(build)
        to = to or Path(f"{release.manifest.name}-{release.manifest.version}-profile")
        config = config or Path(DEFAULT)
        load_config(config, may_lack_families=True)  # what is wrong with it is told here; a build is read without it
        project = open_release(release, config, to, console)
    elif build is not None and not build.is_dir():
        raise WrongInput(f"{build}: no such folder; name a build's, or that of a released version")
    elif config is not None:
        raise WrongInput("--config: is for a released version; a build has its own")
    else:
        project = open_build(build, console)
    check_models(project, models)
    if budget_usd is not None:
        project.spend_at_most(budget_usd)
    try:
        results, stopped = profile_families(console, project, models, limit)
    finally:
        project.close()
    if not any(result.outcomes for result in results):
        if stopped is not None:
            raise project.over_budget() from stopped
        reasons = {why for result in results for why in result.refused.values()}
        raise Failed("; ".join(sorted(reasons)) or "this build has no rows that a model can be asked about")
    asked_as = {outcome.model: outcome.signature.model for result in results for outcome in result.outcomes.values()}
    rules = [model for model in models if asked_as.get(model) == RULES]
    notes = [f"{model} is of provider rules: no language model answered" for model in rules]
    answered = questions(results, models)
    folder, name = to or project.out / FOLDER, project.config.name
    page, figures = write_profile(folder, name, models, results, answered, limit, notes)
    print_answers(console, answered, models)
    for note in notes:
        console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    console.print(f"\n{page}: the page\n{figures}: all figures", soft_wrap=True)
    if stopped is not None:
        raise project.over_budget() from stopped
    lacking = [f"{model} on {result.family.name}" for result in results for model in result.refused if result.has_rows]
    in_part = [f"{outcome.model} on {result.family.name}"
               for result in results for outcome in result.outcomes.values() if outcome.lacks]  # fmt: skip
    told = {"not evaluated": lacking, "evaluated in part": in_part}
    if lacking or in_part:
        what = "; ".join(f"{how}: {', '.join(which)}" for how, which in told.items() if which)
        raise Failed(f"{what}; {page} says why")


def print_answers(console: Console, answered: Sequence[QuestionView], models: Sequence[str]) -> None:
    """Print each question with each model's answer at a glance."""
    for question in answered:
        console.print(f"\n[bold]{question.asks}[/]", soft_wrap=True)
        for model, glances in zip(models, question.glances, strict=True):
            told = [f"{glance.figures}, {glance.says} ({glance.measure})" for glance in glances] or ["not asked"]
            for line in told:
                console.print(f"  {escape(model)}: {escape(line)}", soft_wrap=True)
