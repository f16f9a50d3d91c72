"""The configuration: one YAML file, typed; unknown keys are refused, paths are relative to the file."""

import importlib.resources
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from data.sources.spec import SourceSpec
from flows.construct.engine import Family
from flows.construct.part_sources import families_read
from flows.construct.people import People
from flows.construct.settings import FamilySettings
from flows.families import family_names, load_family
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.local import LocalSettings
from flows.llm.rules import RulesSettings
from flows.prefect_server.cron import next_time
from flows.project.annotation_settings import PRINTABLE, AnnotationSettings
from flows.project.config_paths import folder_problem, local_path, with_absolute_paths
from flows.project.config_problems import (
    KEYS_ELSEWHERE,
    NO_NUMBER,
    TOO_LARGE,
    booleans_as_numbers,
    config_problems,
    missing_files,
    numbers_too_large,
    secrets_in,
    source_problems,
)
from flows.project.yaml_file import yaml_in
from schemas.base import Frozen, odd_character
from schemas.errors import WrongInput, WrongInputs, alike, nearest
from schemas.secrets import without_tokens

SAMPLE = "sample.yaml"
DEFAULT = "touchstone.yaml"
"""The configuration of commands that are given none, if it is in the current folder."""
STORE = ".touchstone"
"""The folder of the stage files beside the configuration, where it names no other store."""
MODEL_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$"
"""Files of predictions have this name."""
WEB = r"^https?://[^\s<>\x00-\x1f]+$"
REPOSITORY = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"


class ConfigError(WrongInputs):
    """The configuration is wrong: for each problem, a line that names the file, the key and what to do.

    A key that was pasted where a name belongs is not repeated.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*map(without_tokens, problems))


ModelSettings = Annotated[RulesSettings | EndpointSettings | LocalSettings, Field(discriminator="provider")]


class EmbedderSettings(Frozen):
    """A sentence-transformers model, by name or path, with the languages that it reads."""

    name: str
    languages: tuple[str, ...] = ("en",)


class ReleaseSettings(Frozen):
    """How a build is released."""

    repo: str | None = Field(
        None, pattern=REPOSITORY, description="OWNER/NAME on the Hub; null: releases go to a folder only"
    )
    licence: str | Mapping[str, str] | None = Field(
        None, description="The licence of all rows, or configuration -> licence; null: the one that the sources state"
    )
    held_out: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Share of the source records whose rows are kept private; "
        "the secret in TOUCHSTONE_HELD_OUT_SECRET draws them",
    )
    held_out_rolls: bool = Field(
        False,
        strict=True,
        description="Whether a version publishes what the version before kept private, and keeps new rows private "
        "in their place",
    )
    refresh: Literal["each", "quarterly", "never"] = Field(
        "never",
        description="When a rebuild draws ReEval's swaps and LV-Eval's replacements anew: `each`: after each version; "
        "`quarterly`: once a quarter of the year",
    )
    maintainer: str | None = Field(None, description="Whom the card names as the author and maintainer of the dataset")
    contact: str | None = Field(None, description="Where to reach them: an address of the web or of e-mail")
    homepage: str | None = Field(None, pattern=WEB, description="Address of the dataset's own page, for the card")
    year: int | None = Field(
        None, ge=1900, le=9999, strict=True, description="The year in the entry by which others cite the dataset"
    )
    baselines: bool = Field(
        True, description="Whether the card has the scores of models that were evaluated on the released rows"
    )
    contamination: tuple[SourceSpec, ...] = Field(
        (), description="Data sets and files to compare the released rows with, for the card"
    )

    @field_validator("licence", mode="before")
    @classmethod
    def _is_named(cls, value: Any) -> Any:
        licences = value.values() if isinstance(value, Mapping) else () if value is None else (value,)
        for licence in licences:
            if not isinstance(licence, str) or not licence.strip() or odd_character(licence) is not None:
                raise ValueError("expected a licence such as CC-BY-SA-4.0, or `configuration: licence` lines")
        return value


class ScheduleSettings(Frozen):
    """When a build is repeated automatically, and how much of it may change before somebody has to look."""

    cron: str | None = Field(None, description="Five cron fields: `0 3 * * 1`; null: no schedule")
    max_changed_items: int | None = Field(
        None,
        ge=0,
        strict=True,
        description="If more items changed, a rebuild stops before people get any; null: no limit",
    )

    @field_validator("cron")
    @classmethod
    def _comes(cls, value: str | None) -> str | None:
        if value is not None and next_time(value) is None:
            raise ValueError("never comes, since no such month has such a day; correct the day or the month")
        return value


class Config(BaseModel):
    """A configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=100, description="Name of the benchmark")
    seed: int = Field(0, strict=True, description="The run seed, from which every random choice follows")
    model: ModelSettings | None = Field(None, description="Shorthand for `models.default`")
    models: Mapping[Annotated[str, Field(pattern=MODEL_NAME)], ModelSettings] = Field(
        default_factory=dict, description="By role (builder, evaluated, ...) or name; other roles use `default`"
    )
    budget_usd: float | None = Field(None, gt=0, description="The most that one command may spend; null for no limit")
    prices: str | None = Field(
        None, pattern=PRINTABLE, description="A YAML file of prices that overrides the price library"
    )
    prompts: str | None = Field(
        None, pattern=PRINTABLE, description="A folder of prompt templates that replace the packaged ones"
    )
    embedder: Literal["packaged"] | EmbedderSettings = "packaged"
    runner: Literal["threads", "dask"] = "threads"
    store: str = Field(STORE, pattern=PRINTABLE, description="Folder or fsspec URL for the stage files")
    cache: str | None = Field(
        None, pattern=PRINTABLE, description="Database URL of the completion cache; SQLite in the store by default"
    )
    annotation: AnnotationSettings = AnnotationSettings()
    release: ReleaseSettings = ReleaseSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    families: Mapping[str, Any] = Field(description="Family name -> settings")

    @field_validator("name")
    @classmethod
    def _is_a_line(cls, value: str) -> str:
        if (odd := odd_character(value)) is not None:
            raise ValueError(f"it holds the character U+{ord(odd):04X}; write a name in plain text")
        if not value.strip():
            raise ValueError("is blank; write a name")
        return value

    @field_validator("store")
    @classmethod
    def _holds_files_and_no_password(cls, value: str) -> str:
        if (path := local_path(value)) is not None and (problem := folder_problem(path)) is not None:
            raise ValueError(problem)
        scheme, _, place = value.partition("://")
        user = place.partition("/")[0].rpartition("@")[0]
        if place and (":" in user or (user and scheme.startswith("s3"))):
            raise ValueError("keys and passwords go into the environment, AWS_ACCESS_KEY_ID or FSSPEC_S3_KEY and such")
        return value

    @model_validator(mode="after")
    def _one_default(self) -> "Config":
        if self.model is not None and "default" in self.models:
            raise ValueError("`model` is shorthand for `models.default`: give one of them")
        return self

    @model_validator(mode="after")
    def _batches_in_one_process(self) -> "Config":
        models = (self.model, *self.models.values())
        if self.runner == "dask" and any(isinstance(model, EndpointSettings) and model.batch for model in models):
            raise ValueError("workers of `runner: dask` would each wait for batches of their own: leave batch out")
        return self

    def model_for(self, role: str) -> RulesSettings | EndpointSettings | LocalSettings:
        """Return the settings of the model with this role or name."""
        default = self.model or self.models.get("default") or RulesSettings()
        return self.models.get(role, default)

    @property
    def state(self) -> Path:
        """The local folder for databases: the store itself, if it is a folder."""
        return Path(STORE) if "://" in self.store else Path(self.store)

    def chosen(self) -> list[tuple[Family, FamilySettings]]:
        """Return the configured families with their settings, in the order of building: each after those it reads."""
        left = {name: (_by_settings(load_family(name), settings), settings) for name, settings in self.families.items()}
        chosen = []
        while left:
            reads = {name: families_read(*family) & left.keys() - {name} for name, family in left.items()}
            # Of families that read each other, the first comes first; the configuration's check refuses them.
            first = next((name for name in left if not reads[name]), next(iter(left)))
            chosen.append(left.pop(first))
        return chosen

    def asking(self) -> dict[str, tuple[Family, People]]:
        """Return, by the rubric's name, each family and part's people whom the configuration asks."""
        return {
            part.people.rubric.name: (family, part.people)
            for family, settings in self.chosen()
            for part in family.wanted(settings)
            if part.people is not None
        }


def _by_settings(family: Family, settings: FamilySettings) -> Family:
    return family if family.by_settings is None else family.by_settings(family, settings)


def default_config() -> Path:
    """Return the configuration of a command that is given none: the current folder's, otherwise the sample."""
    path = Path(DEFAULT)
    return path if os.path.lexists(path) else sample_path()


def sample_path() -> Path:
    """Return the path of the packaged sample configuration."""
    return packaged(SAMPLE)


def packaged(name: str) -> Path:
    """Return the path of a packaged configuration."""
    return Path(str(importlib.resources.files("data.samples") / name))


def load_config(path: Path, *, may_lack_families: bool = False) -> Config:
    """Read a configuration; one that only names models for what is built already has no families.

    Raises `ConfigError`.
    """
    try:
        raw = yaml_in(path, "name a configuration")
    except WrongInput as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise ConfigError(f"{path}: no such file; `touchstone new FOLDER` writes one for your data") from error
        raise ConfigError(str(error)) from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected `key: value` lines at the top, found {type(raw).__name__}")
    folder = path.parent.resolve()
    # A packaged configuration writes to the current folder, not to the one where Python keeps its packages.
    writes_to = Path.cwd() if folder == sample_path().parent.resolve() else folder
    lacking: dict[str, Any] = {"families": {}} if may_lack_families and raw.get("families") is None else {}
    raw = with_absolute_paths({"store": STORE, **raw, **lacking}, folder, writes_to)
    return parse_config(raw, str(path), may_lack_families=may_lack_families)


def parse_config(raw: dict[str, Any], name: str, *, may_lack_families: bool = False) -> Config:
    """Return the configuration in parsed YAML; `name` is the file's, for messages.

    Raises `ConfigError` with all problems.
    """
    problems: list[str] = []
    families = raw.get("families")
    if not isinstance(families, dict) or not (families or may_lack_families):
        if not any(alike(str(key), ["families"]) for key in raw.keys() - Config.model_fields.keys()):
            problems.append(f"families: expected at least one family (there are: {', '.join(family_names())})")
        families = {}
    typed: dict[str, FamilySettings] = {}
    for family, settings in families.items():
        try:
            typed[family] = _family_settings(str(family), settings)
        except ConfigError as error:
            problems += error.problems
    try:
        config = Config.model_validate({**raw, "families": typed})
    except ValidationError as error:
        problems += config_problems(error, raw, Config)
    else:
        problems += _limits_of_no_prompt(config)
        problems += [f"{'.'.join(place)}: {NO_NUMBER}" for place in booleans_as_numbers(raw, config)]
    problems += [f"{'.'.join(place)}: {TOO_LARGE}" for place in numbers_too_large(raw)]
    for place in map(".".join, secrets_in(raw)):
        if not any(problem.startswith(f"{place}:") for problem in problems):
            problems.append(f"{place}: {KEYS_ELSEWHERE}")
    if problems:
        problems += missing_files(families, "families")
        for family, valid in typed.items():
            problems += (f"families.{family}.{problem}" for problem in source_problems(load_family(family), valid))
        raise ConfigError(*(f"{name}: {problem}" for problem in dict.fromkeys(problems)))
    return config


def _family_settings(name: str, raw: Any) -> FamilySettings:
    """Return the typed settings of a family. Raises `ConfigError` with all problems, which name no file."""
    if name not in family_names():
        raise ConfigError(f"families.{name}: unknown family; {nearest(name, family_names())}")
    family = load_family(name)
    try:
        settings: FamilySettings = family.settings.model_validate({} if raw is None else raw)
    except ValidationError as error:
        raise ConfigError(*config_problems(error, raw, family.settings, ("families", name))) from error
    parts = [part.name for part in family.parts]
    unknown = [part for part in settings.parts or () if part not in parts]
    if unknown:
        place = f"families.{name}.parts"
        raise ConfigError(*(f"{place}: unknown part {part!r}; {nearest(part, parts)}" for part in unknown))
    return settings


def _limits_of_no_prompt(config: Config) -> Iterator[str]:
    """Yield a problem for each token limit for a prompt that no configured family has."""
    if not config.families:  # those of what is built already are not read here
        return
    prompt_names = {
        prompt.name for family, _ in config.chosen() for prompt in (*family.prompts, *family.evaluation.prompts)
    }
    models = {"model": config.model, **{f"models.{role}": model for role, model in config.models.items()}}
    for place, settings in models.items():
        for prompt in settings.max_tokens if isinstance(settings, EndpointSettings) else ():
            if prompt not in prompt_names:
                yield f"{place}.max_tokens: no prompt {prompt!r}; {nearest(prompt, sorted(prompt_names))}"
