"""`touchstone profile`, with output for a terminal."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from data.publish.check import check_undamaged
from data.publish.folder import Release, read_release
from data.publish.version_number import parsed_version
from flows.evaluate.models import check_models
from flows.profile.asking import profile_families
from flows.profile.learned import LEARNED, Before, compare_with, version_of
from flows.profile.page import QuestionView, questions, read_figures, write_profile
from flows.profile.results import FamilyResult
from flows.project.console import make_console
from flows.project.output_files import open_build
from flows.project.project import Project
from flows.project.release_as_build import is_release, open_release
from flows.project.row_choice import only_rows
from flows.project.settings import DEFAULT, load_config
from schemas.base import counted
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
    before: Path | None,
    since: str | None = None,
    source_after: str | None = None,
) -> None:
    """Evaluate the models on every family of a build or a release; write the page and print the answers.

    With `before`, an older version, also what they have learned of its draws.
    """
    console = make_console()
    if twice := sorted({model for model in models if models.count(model) > 1}):
        raise WrongInput(f"--model {twice[0]}: stands twice; name each model once")
    releases = None if before is None else _releases(build, before)
    project = _opened(console, build, config, to)
    check_models(project, models)
    notes = only_rows(project, since, source_after)
    if budget_usd is not None:
        project.spend_at_most(budget_usd)
    try:
        results, stopped = profile_families(console, project, models, limit)
    finally:
        project.close()
    if not any(result.outcomes for result in results):
        if stopped is not None:
            raise project.over_budget() from stopped
        reasons = list(dict.fromkeys(why for result in results for why in result.refused.values()))
        more = f"; the lines above have {counted(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
        raise Failed(f"{reasons[0]}{more}" if reasons else "this build has no rows that a model can be asked about")
    learned = None
    if releases is not None and stopped is not None:
        learned = Before(version_of(releases[0]), note="the budget was spent before these were asked about")
    elif releases is not None:
        learned = compare_with(console, *releases, project, results, models)
        stopped = learned.stopped
    asked_as = {outcome.model: outcome.signature.model for result in results for outcome in result.outcomes.values()}
    rules = [model for model in models if asked_as.get(model) == RULES]
    notes += [f"{model} is of provider rules: no language model answered" for model in rules]
    answered = questions(results, models)
    folder = project.out if project.manifest.release else to or project.out / FOLDER
    replaced = list(_replaced(folder, models))
    page, figures = write_profile(folder, project.config.name, models, results, answered, limit, notes, learned)
    print_answers(console, answered, models)
    if learned is not None:
        print_learned(console, learned)
    for note in (*notes, *replaced):
        console.print(f"[yellow]{escape(note)}[/]", soft_wrap=True)
    console.print(f"\n{page}: the page\n{figures}: all figures", soft_wrap=True, markup=False)
    if stopped is not None:
        raise project.over_budget() from stopped
    if lacking := "; ".join(_lacking(results, learned)):
        raise Failed(f"{lacking}; {page} says why")


def _replaced(folder: Path, models: Sequence[str]) -> Iterator[str]:
    """Yield a line if the page in a folder, which is about to be replaced, has other models."""
    if others := [model for model in read_figures(folder).get("models", ()) if model not in models]:
        yield f"the page takes the place of one that also had {', '.join(others)}; name all models to have them all"


def _lacking(results: Sequence[FamilyResult], learned: Before | None) -> Iterator[str]:
    """Yield which models were not evaluated on what, and which in part."""
    lacking = [f"{model} on {result.family.name}" for result in results for model in result.refused if result.has_rows]
    in_part = [f"{outcome.model} on {result.family.name}"
               for result in results for outcome in result.outcomes.values() if outcome.lacks]  # fmt: skip
    for old in learned.learned if learned is not None else ():
        lacking += [f"{model} on the old draws of {old.family}" for model in old.refused]
        in_part += [f"{one.model} on the old draws of {old.family}" for one in old.outcomes.values() if one.lacks]
    told = {"not evaluated": lacking, "evaluated in part": in_part}
    yield from (f"{how}: {', '.join(which)}" for how, which in told.items() if which)


def _opened(console: Console, build: Path | None, config: Path | None, to: Path | None) -> Project:
    """Return the build, or the released version as a build in `to`. Raises `WrongInput`."""
    if build is not None and is_release(build):
        release = read_release(build)
        if config is None and not Path(DEFAULT).is_file():
            raise WrongInput(f"{DEFAULT}: no such file; name the configuration with the models by `--config`")
        config = config or Path(DEFAULT)
        load_config(config, may_lack_families=True)  # what is wrong with it is told here; a build is read without it
        to = to or Path(f"{release.manifest.name}-{release.manifest.version}-profile")
        return open_release(release, config, to, console)
    if build is not None and not build.is_dir():
        raise WrongInput(f"{build}: no such folder; name a build's, or that of a released version")
    if config is not None:
        raise WrongInput("--config: is for a released version; a build has its own")
    return open_build(build, console)


def _releases(build: Path | None, before: Path) -> tuple[Release, Release]:
    """Return the older version that a profile compares with, and its own.

    Raises `WrongInput`, and `Failed` if one of them is not as it was released.
    """
    if build is None or not is_release(build):
        raise WrongInput("--before: is for a released version; name its folder, such as out/releases/1.1.0")
    if not is_release(before):
        raise WrongInput(f"--before {before}: is no released version; name the folder of an older one")
    older, newer = read_release(before), read_release(build)
    if older.manifest.name != newer.manifest.name:
        raise WrongInput(f"--before {before}: is of {older.manifest.name}; name a version of {newer.manifest.name}")
    if parsed_version(older.manifest.version) >= parsed_version(newer.manifest.version):
        raise WrongInput(
            f"--before {before}: is version {older.manifest.version}; name one before {newer.manifest.version}"
        )
    for release in (older, newer):
        check_undamaged(release)
    return older, newer


def print_learned(console: Console, before: Before) -> None:
    """Print what the models have learned of an older version."""
    console.print(f"\n[bold]{LEARNED.format(escape(before.version))}[/]", soft_wrap=True)
    told = [f"{learned.family}: {sentence}" for learned in before.learned for sentence in learned.sentences()]
    for line in [*told, *([before.note] if before.note else [])]:
        console.print(f"  {escape(line)}", soft_wrap=True)


def print_answers(console: Console, answered: Sequence[QuestionView], models: Sequence[str]) -> None:
    """Print each question with each model's answer at a glance."""
    for question in answered:
        console.print(f"\n[bold]{question.asks}[/]", soft_wrap=True)
        for model, glances in zip(models, question.glances, strict=True):
            told = [f"{glance.figures}, {glance.says} ({glance.measure})" for glance in glances] or ["not asked"]
            for line in told:
                console.print(f"  {escape(model)}: {escape(line)}", soft_wrap=True)
