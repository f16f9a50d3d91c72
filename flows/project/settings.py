"""The configuration: one YAML file, typed; unknown keys are refused, paths are relative to the file."""

import importlib.resources
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from annotation.label_studio.strangers import DOMAIN
from data.sources.spec import SourceSpec
from flows.construct.engine import Family
from flows.construct.settings import FamilySettings
from flows.families import family_names, load_family
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.local import LocalSettings
from flows.llm.rules import RulesSettings
from flows.project.config_paths import with_absolute_paths
from flows.project.config_problems import NO_NUMBER, boolean_as_number, first_config_problem
from schemas.base import Frozen, odd_character
from schemas.errors import WrongInput, nearest
from schemas.rubric import Survey

SAMPLE = "sample.yaml"
PRINTABLE = r"^[^\x00-\x1f]+$"
"""The characters of a path or an address."""
MODEL_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$"
"""Files of predictions have this name."""
PERSON = r"^[a-z0-9][a-z0-9_-]{0,19}$"
"""A person's code: our files and the titles of projects have it in place of a name."""
STRANGER = r"p[0-9]+"
"""The code of somebody who joins a study."""
STUDY = r"^[A-Za-z0-9]{1,64}$"
LONGEST_EMAIL = 254
EMAIL = r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$"
WEB = r"^https?://[^\s<>\x00-\x1f]+$"
LOCAL = "local"
REPOSITORY = r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"
CRON_FIELDS = 5


class ConfigError(WrongInput):
    """The configuration is wrong: one line that names the file, the key and what to do."""


ModelSettings = Annotated[RulesSettings | EndpointSettings | LocalSettings, Field(discriminator="provider")]


class _UniqueKeys(yaml.SafeLoader):
    """YAML that refuses repeated keys: YAML itself silently takes the last of them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there twice", key_node.start_mark
                )
            if isinstance(key, str):
                seen.add(key)
        return super().construct_mapping(node, deep)


class EmbedderSettings(Frozen):
    """A sentence-transformers model, by name or path, with the languages that it reads."""

    name: str
    languages: tuple[str, ...] = ("en",)


class StrangersSettings(Frozen):
    """A study at a platform such as Prolific, whose people join by a link."""

    study: str = Field(pattern=STUDY, description="The study's id at the platform, as its link has it")
    rubric: str = Field(description="The form whose tasks they do; named people no longer do these")
    consent: str = Field(
        pattern=PRINTABLE, description="A file in Markdown: what they agree to before anything is kept of them"
    )
    most_people: int = Field(ge=0, strict=True, description="So many may take part; 0 closes the study to new people")
    most_tasks: int = Field(
        ge=2, strict=True, description="A person gets at most so many tasks, beside practice; one has a known answer"
    )
    languages: tuple[Literal["en", "zh"], ...] = Field(
        ("en",), min_length=1, description="The languages of the items they get, first the one they practise in"
    )


class AnnotationSettings(Frozen):
    """Who annotates, and on which Label Studio."""

    url: str = Field(
        LOCAL, description="`local`, or the address of your own Label Studio, with its key in LABEL_STUDIO_API_KEY"
    )
    people: Mapping[Annotated[str, Field(pattern=PERSON)], str] = Field(
        default_factory=dict, description="Each person's code -> the e-mail address they log in with"
    )
    languages: Mapping[str, Annotated[tuple[Literal["en", "zh"], ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="Person's code -> the languages of the items they get, first the one they "
        "practise in; who is not named here gets all"
    )  # fmt: skip
    strangers: StrangersSettings | None = Field(
        None, description="A study whose people join by a link; null: nobody joins"
    )
    lead: str | None = Field(
        None, description="Code of who decides where people differ, and does nothing else; null: a third person"
    )
    overlap_first: int = Field(100, ge=0, strict=True, description="This many items of each rubric go to two people")
    gold_share: float = Field(0.1, ge=0, lt=1, description="Share of a person's tasks whose answers are known")
    certainty: float | None = Field(
        None, gt=0.5, lt=1, description="Items that people only judge go to one person, and to more as long as the "
        "decision is less probable than this; null: to as many as the form asks for"
    )  # fmt: skip
    surveys: Mapping[str, Survey] = Field(
        default_factory=dict, description="By rubric, the questionnaire for people who have done all their tasks"
    )

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if value == LOCAL:
            return value
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected `local`, or an address such as https://labels.example.org")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("an address ends with its path; the key goes into the environment, LABEL_STUDIO_API_KEY")
        return value.rstrip("/")

    @field_validator("people")
    @classmethod
    def _are_different(cls, people: Mapping[str, str]) -> Mapping[str, str]:
        seen: dict[str, str] = {}
        for code, email in people.items():
            if not re.fullmatch(EMAIL, email) or len(email) > LONGEST_EMAIL:
                raise ValueError(f"{code}: {email[:LONGEST_EMAIL]!r} is not an e-mail address such as anna@example.org")
            if (other := seen.setdefault(email.lower(), code)) != code:
                raise ValueError(
                    f"{other} and {code} have the same e-mail address; each person needs an account of their own"
                )
        return people

    @field_validator("strangers")
    @classmethod
    def _can_join(cls, strangers: StrangersSettings | None, others: ValidationInfo) -> StrangersSettings | None:
        if strangers is None or not {"url", "people"} <= others.data.keys():
            return strangers
        if others.data["url"] != LOCAL:
            raise ValueError("people join on the `local` server alone: another one has no page for it")
        if not others.data["people"]:
            raise ValueError("name the `people` too: they decide where strangers differ")
        for code, email in others.data["people"].items():
            if re.fullmatch(STRANGER, code) or email.lower().endswith(f"@{DOMAIN}"):
                raise ValueError(f"people.{code}: strangers have codes such as p1, at {DOMAIN}; choose another")
        return strangers

    @field_validator("lead")
    @classmethod
    def _is_named(cls, lead: str | None, others: ValidationInfo) -> str | None:
        people = others.data.get("people", {lead: ""})
        if lead is not None and lead not in people:
            raise ValueError(f"expected the code of one of `people`{': ' if people else ''}{', '.join(people)}")
        if lead is not None and len(people) == 1 and "people" in others.data and not others.data.get("strangers"):
            raise ValueError("name somebody else among the `people` too: the lead only decides where others differ")
        return lead

    @field_validator("certainty")
    @classmethod
    def _has_people(cls, certainty: float | None, others: ValidationInfo) -> float | None:
        if certainty is not None and not others.data.get("people", {"": ""}):
            raise ValueError("name the `people` too: each item goes to one of them after another")
        return certainty

    @field_validator("surveys")
    @classmethod
    def _have_people(cls, surveys: Mapping[str, Survey], others: ValidationInfo) -> Mapping[str, Survey]:
        if surveys and not others.data.get("people", {"": ""}):
            raise ValueError("name the `people` too: each of them is asked once all their tasks are done")
        return surveys

    @field_validator("languages")
    @classmethod
    def _are_of_people(cls, languages: Mapping[str, Any], others: ValidationInfo) -> Mapping[str, Any]:
        people = others.data.get("people", languages)
        if unknown := sorted(set(languages).difference(people)):
            raise ValueError(
                f"{unknown[0]}: expected the code of one of `people`{': ' if people else ''}{', '.join(people)}"
            )
        return languages

    def can_read(self, code: str, language: str) -> bool:
        """Return whether a person reads a language."""
        own = self.strangers.languages if self.strangers and re.fullmatch(STRANGER, code) else self.languages.get(code)
        return own is None or language in own

    @property
    def annotators(self) -> tuple[str, ...]:
        """The codes of all people but the lead."""
        return tuple(code for code in self.people if code != self.lead)


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
    def _has_fields(cls, value: str | None) -> str | None:
        if value is not None and len(value.split()) != CRON_FIELDS:
            raise ValueError('expected five fields, such as "0 3 * * 1": minute, hour, day, month, day of the week')
        return value


class Config(BaseModel):
    """A configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, description="Name of the benchmark")
    seed: int = Field(0, strict=True, description="The run seed, from which every random choice follows")
    model: ModelSettings | None = Field(None, description="Shorthand for `models.default`")
    models: Mapping[Annotated[str, Field(pattern=MODEL_NAME)], ModelSettings] = Field(
        default_factory=dict, description="By role (builder, evaluated, ...) or name; other roles use `default`"
    )
    budget_usd: float | None = Field(None, gt=0, description="The most that one command may spend; null for no limit")
    prices: str | None = Field(None, description="A YAML file of prices that overrides the price library")
    prompts: str | None = Field(None, description="A folder of prompt templates that replace the packaged ones")
    embedder: Literal["packaged"] | EmbedderSettings = "packaged"
    runner: Literal["threads", "dask"] = "threads"
    store: str = Field(".touchstone", pattern=PRINTABLE, description="Folder or fsspec URL for the stage files")
    cache: str | None = Field(
        None, pattern=PRINTABLE, description="Database URL of the completion cache; SQLite in the store by default"
    )
    annotation: AnnotationSettings = AnnotationSettings()
    release: ReleaseSettings = ReleaseSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    families: Mapping[str, Any] = Field(description="Family name -> settings")

    @field_validator("store")
    @classmethod
    def _holds_no_password(cls, value: str) -> str:
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

    def model_for(self, role: str) -> RulesSettings | EndpointSettings | LocalSettings:
        """Return the settings of the model with this role or name."""
        default = self.model or self.models.get("default") or RulesSettings()
        return self.models.get(role, default)

    @property
    def state(self) -> Path:
        """The local folder for databases: the store itself, if it is a folder."""
        return Path(".touchstone") if "://" in self.store else Path(self.store)

    def chosen(self) -> list[tuple[Family, FamilySettings]]:
        """Return the configured families with their settings."""
        return [(load_family(name), settings) for name, settings in self.families.items()]


def sample_path() -> Path:
    """Return the path of the packaged sample configuration."""
    return packaged(SAMPLE)


def packaged(name: str) -> Path:
    """Return the path of a packaged configuration."""
    return Path(str(importlib.resources.files("data.samples") / name))


def load_config(path: Path) -> Config:
    """Read a configuration. Raises `ConfigError`."""
    try:
        raw = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_UniqueKeys)  # noqa: S506 - a SafeLoader
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such file; `touchstone run` without a file builds the packaged sample"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: an anchor contains itself; write it out") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    except (ValueError, KeyError, AttributeError) as error:  # an invalid date, number or tag
        raise ConfigError(f"{path}: YAML cannot read a value ({error}); put it in quotes") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: expected `key: value` lines at the top, found {type(raw).__name__}")
    try:
        json.dumps(raw, default=str)
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{path}: it is nested too deeply, or an anchor contains itself; write it out") from error
    except TypeError as error:
        raise ConfigError(f"{path}: a key is not text ({error}); put it in quotes") from error
    folder = path.parent.resolve()
    # A packaged configuration writes to the current folder, not to the one where Python keeps its packages.
    writes_to = Path.cwd() if folder == sample_path().parent.resolve() else folder
    return parse_config(with_absolute_paths(raw, folder, writes_to), str(path))


def parse_config(raw: dict[str, Any], name: str) -> Config:
    """Return the configuration in parsed YAML; `name` is the file's, for messages. Raises `ConfigError`."""
    families = raw.get("families")
    if not isinstance(families, dict) or not families:
        raise ConfigError(f"{name}: families: expected at least one family (there are: {', '.join(family_names())})")
    typed: dict[str, FamilySettings] = {}
    for family, settings in families.items():
        if family not in family_names():
            raise ConfigError(f"{name}: families.{family}: unknown family; {nearest(str(family), family_names())}")
        kind = load_family(family).settings
        try:
            typed[family] = kind.model_validate({} if settings is None else settings)
        except ValidationError as error:
            raise ConfigError(f"{name}: {first_config_problem(error, kind, ('families', family))}") from error
        part_names = [part.name for part in load_family(family).parts]
        for part in typed[family].parts or ():
            if part not in part_names:
                raise ConfigError(
                    f"{name}: families.{family}.parts: unknown part {part!r}; {nearest(part, part_names)}"
                )
    try:
        config = Config.model_validate({**raw, "families": typed})
    except ValidationError as error:
        raise ConfigError(f"{name}: {first_config_problem(error, Config)}") from error
    if (place := boolean_as_number(raw, config)) is not None:
        raise ConfigError(f"{name}: {'.'.join(place)}: {NO_NUMBER}")
    _check_limits(config, name)
    return config


def _check_limits(config: Config, name: str) -> None:
    """Refuse a token limit for a prompt that no configured family has."""
    prompt_names = {
        prompt.name for family, _ in config.chosen() for prompt in (*family.prompts, *family.evaluation.prompts)
    }
    models = {"model": config.model, **{f"models.{role}": model for role, model in config.models.items()}}
    for place, settings in models.items():
        for prompt in settings.max_tokens if isinstance(settings, EndpointSettings) else ():
            if prompt not in prompt_names:
                raise ConfigError(
                    f"{name}: {place}.max_tokens: no prompt {prompt!r}; {nearest(prompt, sorted(prompt_names))}"
                )
