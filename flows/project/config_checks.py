"""What is wrong with a configuration beyond its text: all of it at once, before anything is started or paid for."""

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from data.sources import PART
from data.sources.opening import is_folder, whole
from data.sources.spec import SourceError
from data.sources.touchstone import gives
from flows.construct.engine import Family
from flows.construct.part_sources import families_read, sources_read
from flows.construct.settings import FamilySettings
from flows.llm.model import Model
from flows.project.config_problems import source_problems
from flows.project.models import Models
from flows.project.settings import Config, ConfigError
from flows.project.yaml_file import MOST_BYTES
from schemas.errors import WrongInput, nearest


def check_config(config: Config, models: Models, path: Path) -> None:
    """Raise `ConfigError` with the problems of templates, rubrics, models and sources; `path` is the configuration."""
    problems = [
        *_unused_templates(config),
        *_unasked_surveys(config),
        *(f"annotation.strangers.{problem}" for problem in study_problems(config)),
    ]
    lines = [f"{path}: {problem}" for problem in problems]
    for family, settings in config.chosen():
        try:
            named = models.of(family, settings)
        except WrongInput as error:
            lines += error.problems
            named = None
        lines += (f"{path}: families.{family.name}.{problem}" for problem in _part_problems(config, family, settings))
        lines += (f"{path}: families.{family.name}.{problem}" for problem in _problems(family, settings, named))
    if lines:
        raise ConfigError(*dict.fromkeys(lines))


def _unused_templates(config: Config) -> Iterator[str]:
    """Yield a problem if the folder of templates does not exist, and for each that is no file or is for no prompt."""
    if config.prompts is None:
        return
    folder = Path(config.prompts)
    if not is_folder(folder):
        yield f"prompts: {folder}: no such folder; it holds templates such as FAMILY/PROMPT.j2"
        return
    prompt_names = {
        name
        for family, _ in config.chosen()
        for prompt in family.prompts
        for name in (f"{prompt.name}.j2", f"{family.name}/{prompt.name}.j2")
    }
    for path in sorted(path for path in _entries(folder) if path.suffix == ".j2"):
        name = path.relative_to(folder).as_posix()
        if name not in prompt_names:
            yield f"prompts: {path}: no prompt has this name; {nearest(name, sorted(prompt_names))}"
            continue
        try:
            whole(str(path), MOST_BYTES, "shorten it")
        except SourceError as error:
            yield f"prompts: {error}"


def _entries(folder: Path) -> Iterator[Path]:
    """Yield all that is in a folder; of folders that are linked to from there, only what lies in them directly."""
    # Unlike `rglob`, `walk` goes on if a folder disappears meanwhile.
    for place, folders, files in os.walk(folder):
        inside = Path(place)
        yield from (inside / name for name in (*folders, *files))
        for linked in (inside / name for name in folders if inside == folder and (inside / name).is_symlink()):
            _, *names = next(os.walk(linked), ("", [], []))
            yield from (linked / name for name in chain(*names))


def _unasked_surveys(config: Config) -> Iterator[str]:
    """Yield a problem for each questionnaire on a rubric that no part of the families asks people under."""
    asking = config.asking() if config.annotation.surveys else {}
    for name in config.annotation.surveys:
        if name not in asking:
            yield f"annotation.surveys.{name}: nobody is asked under this rubric; {nearest(name, sorted(asking))}"


def study_problems(config: Config) -> Iterator[str]:
    """Yield a problem if the study for strangers has a rubric that nobody is asked under, or whose work may go back."""
    study = config.annotation.strangers
    if study is None:
        return
    asking = config.asking()
    if study.rubric not in asking:
        yield f"rubric: nobody is asked under this rubric; {nearest(study.rubric, sorted(asking))}"
    elif asking[study.rubric][1].review is not None:
        yield "rubric: its work is reviewed, and may go back to whoever has left; name another"


def _part_problems(config: Config, family: Family, settings: FamilySettings) -> Iterator[str]:
    """Yield a problem for each source that is a part, if it does not exist, comes later, or gives no such records."""
    others = {
        f"{other.name}-{part.name}": part
        for other, its_settings in config.chosen()
        if other is not family
        for part in other.wanted(its_settings)
    }
    for part, setting, spec in sources_read(family, settings):
        assert isinstance(part.source, type)
        if spec.format != PART:
            continue
        if (source := others.get(spec.path)) is None:
            yield (
                f"{setting}: part {spec.path}: no other family of this configuration builds such a part; "
                f"{nearest(spec.path, sorted(others)) if others else 'name the family that does, under families'}"
            )
        elif not gives(source.item.model_fields, part.source):
            yield f"{setting}: part {spec.path}: gives no {part.source.__name__}; name another"
        elif family.name in _read_by(config, spec.path.partition("-")[0]):
            yield f"{setting}: part {spec.path}: is made from a part of {family.name} itself; leave one of them out"


def _read_by(config: Config, name: str) -> set[str]:
    """Return the families that a family reads, or that those read."""
    direct = {family.name: families_read(family, settings) for family, settings in config.chosen()}
    reached: set[str] = set()
    ahead = {name}
    while ahead:
        ahead = {read for reader in ahead for read in direct.get(reader, ())} - reached
        reached |= ahead
    return reached


def _problems(family: Family, settings: FamilySettings, models: dict[str, Model] | None) -> Iterator[str]:
    """Yield what keeps a family from being built, with its place in the settings; without models, what shows so far."""
    shown = list(_shown_problems(family, settings, models))
    yield from shown
    if not shown and models is not None and family.shortages is not None:
        try:
            yield from family.shortages(settings)
        except WrongInput as error:  # it names the setting
            yield str(error)


def _shown_problems(family: Family, settings: FamilySettings, models: dict[str, Model] | None) -> Iterator[str]:
    own = list(family.problems(settings, models)) if family.problems is not None and models is not None else []
    yield from own
    reading = [part for part in family.wanted(settings) if not family.makers(part)]
    if not any(sources_read(family, settings)) and not own and not any(part.planned for part in reading):
        settings_of_sources = dict.fromkeys(name for part in reading for name in part.sources)
        yield f"{' or '.join(settings_of_sources)}: no source is named; name one"
    yield from source_problems(family, settings)
