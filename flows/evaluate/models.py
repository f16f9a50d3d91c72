"""The family and the models that an evaluation names."""

import re
from collections.abc import Sequence
from pathlib import Path

from flows.construct.engine import Family
from flows.evaluate.predictions import EVALUATED
from flows.llm.likelihood import LikelihoodModel
from flows.llm.local import LocalModel, LocalSettings
from flows.project.evaluated import PREDICTIONS
from flows.project.project import Project
from schemas.errors import WrongInput, nearest


def weighing_model(project: Project, family: Family, model: str, option: str = "--model") -> LikelihoodModel | None:
    """Return the model that weighs the family's options; None if the family asks for replies.

    Raises `WrongInput` for an unknown name; `option` is the option of the command that named it.
    """
    known_names, weighs = _known_names(project, [family]), family.evaluation.choices is not None
    if model in known_names:
        return project.models.likelihood_model(model) if weighs else None
    if weighs and _can_be_loaded(model):
        return LocalModel(LocalSettings(name=model))
    raise _no_such(project, option, model, known_names, is_folder=weighs)


def check_models(project: Project, models: Sequence[str]) -> None:
    """Raise `WrongInput` if one of the models could be asked about no family of the build."""
    families = [configured.family for configured in project.build.families.values()]
    known_names = _known_names(project, families)
    weighs = any(family.evaluation.choices is not None for family in families)
    for model in models:
        if model not in known_names and not (weighs and _can_be_loaded(model)):
            raise _no_such(project, "--model", model, known_names, is_folder=weighs)


def _known_names(project: Project, families: Sequence[Family]) -> list[str]:
    """Return the names by which the configuration knows models: their keys, and roles of the families."""
    roles = (prompt.role for family in families for prompt in family.prompts)
    return list(dict.fromkeys(["default", EVALUATED, *roles, *project.config.models]))


def _no_such(project: Project, option: str, model: str, known_names: Sequence[str], *, is_folder: bool) -> WrongInput:
    also = ", and no such folder" if is_folder else ""
    return WrongInput(f"{option} {model}: no such model in {project.config_path}{also}; {nearest(model, known_names)}")


def reading_model(project: Project, family: Family, name: str) -> LocalModel:
    """Return the local model that is to read dialogues. Raises `WrongInput` if there are none, or it is not local."""
    held = family.evaluation.dialogues
    if held is None or held.cases is None:
        raise WrongInput(f"--attention-model: {family.name} has no dialogues for it to read; leave it out")
    if name in project.config.models:
        settings = project.config.model_for(name)
        if isinstance(settings, LocalSettings):
            return LocalModel(settings)
        raise WrongInput(f"--attention-model {name}: is of provider {settings.provider}; name one of provider local")
    if _can_be_loaded(name):
        return LocalModel(LocalSettings(name=name))
    raise WrongInput(
        f"--attention-model {name}: no such model in {project.config_path}, and no such folder"
        f"; {nearest(name, list(project.config.models))}"
    )


def _can_be_loaded(name: str) -> bool:
    """True for a model outside the configuration: a folder, or a name on the Hub."""
    return "/" in name or Path(name).exists()


def predictions_path(project: Project, family: Family, model: str) -> Path:
    """Return the path of a model's predictions on a family's rows; other files of the evaluation are named after it."""
    return project.out / PREDICTIONS / f"{family.name}-{file_name(model)}.jsonl"


def file_name(model: str) -> str:
    """Return a model's name in a form that file names may hold; of a folder, its last part."""
    name = Path(model).resolve().name if Path(model).exists() else model
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"
