"""LV-Eval's block of the configuration."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from data.sources import SourceSpec
from flows.construct.settings import FamilySettings
from flows.families.lveval.datasets import (
    BY_NAME,
    BY_RELEASED,
    DATASETS,
    LEVELS,
    Ablation,
    Dataset,
    OwnMetric,
    Task,
    metrics_for,
    own_dataset,
    words_of,
)
from flows.llm.model import Model
from flows.llm.rules import Rules
from schemas.base import Frozen, odd_character
from schemas.errors import nearest
from schemas.lveval import FactRecord

MOST_RULES = 8
"""Rules proposed for a pair. The paper has 2 to 5 (table 2: 232 rules for 124 pairs, 476 for 101); a name has a
rule for each of its forms."""

Level = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),  # YAML reads 800 as a number
]
Name = Annotated[str, Field(min_length=1)]
_OWN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")  # it is in the names of files and released configurations


def _of_own(description: str) -> Any:
    """Return a field of a dataset of one's own. A dataset of the paper's is written down as if there were none."""
    return Field(None, exclude_if=lambda value: value is None, description=description)


class DatasetSettings(Frozen):
    """A dataset of the paper's, by its name, or one of one's own, which has a `task`."""

    task: Task | None = _of_own("For a dataset of your own: its type; a CQA has confusing facts (figure 4)")
    language: Literal["en", "zh"] | None = _of_own("For a dataset of your own: its language; en by default")
    metric: OwnMetric | None = _of_own(
        "For a dataset of your own: keyword-recall-f1 by default, for fact-recall f1; rouge-l is for zh alone"
    )
    replacements: bool | None = _of_own("For a dataset of your own: whether names are replaced; false by default")
    pairs: int | None = Field(
        None, ge=1, le=1_000_000,
        description="Pairs to select; the paper's number by default; a dataset of your own needs it",
    )  # fmt: skip
    sources: tuple[SourceSpec, ...] = Field((), description="Questions with their documents; for fact recall, a book")
    distractors: tuple[SourceSpec, ...] = Field(
        (), description="More documents, if a level needs more text than the sources have; a departure"
    )
    several_answers: bool = Field(False, description="Select only questions that have several answers")
    fact: FactRecord | None = Field(None, description="For fact recall, the fact; a packaged one by default")

    @model_validator(mode="after")
    def _fits_its_task(self) -> Self:
        if self.task is None:
            if named := [name for name in ("language", "metric", "replacements") if getattr(self, name) is not None]:
                raise ValueError(
                    f"`{named[0]}` is for a dataset of your own: write its `task` ({', '.join(get_args(Task))}); "
                    "for one of the paper's leave it out"
                )
            return self
        language, allowed = self.language or "en", metrics_for(self.task, self.language or "en")
        if self.metric is not None and self.metric not in allowed:
            raise ValueError(
                f"`metric: {self.metric}` is not for {self.task} in {language}; write {' or '.join(allowed)}"
            )
        if self.task != "fact-recall" and self.pairs is None:
            raise ValueError("`pairs` is missing: write how many questions to select; the others' documents distract")
        if self.task != "fact-recall" and self.fact is not None:
            raise ValueError(f"`fact` is for fact-recall, and the task is {self.task}; leave it out")
        return self

    def own(self, name: str) -> Dataset:
        """Return the dataset of one's own with these settings."""
        assert self.task is not None
        language = self.language or "en"
        metrics = metrics_for(self.task, language)
        metric = next(iter(metrics)) if self.metric is None else self.metric
        return own_dataset(
            name,
            language,
            task=self.task,
            metric=metrics[metric],
            replacements=bool(self.replacements),
            pairs=self.pairs or 1,
        )


class LVEvalSettings(FamilySettings):
    """Settings of LV-Eval."""

    levels: tuple[Level, ...] = Field(LEVELS, min_length=1, description="Words in a context; characters in Chinese")
    datasets: Mapping[str, DatasetSettings] = Field(default_factory=dict, description="By the dataset's name")
    header: str = Field(
        "### Passage {number}\n", description="Text before each document; `{number}` is its place, from 1"
    )
    prescreen: tuple[Name, ...] = Field(
        (), description="Models asked without the context; questions that one of them answers are left out (appendix A)"
    )
    metrics: Literal["released", "paper"] = Field("released", description="Which variant of the metrics to use")
    blacklists: Mapping[Literal["en", "zh"], Annotated[str, Field(min_length=1)]] = Field(
        default_factory=dict,
        description="Language -> a file of uninformative words, one per line, in place of the released list",
    )
    ablations: tuple[Ablation, ...] = Field(
        (), description="Ablations that `touchstone evaluate` asks beside the finished contexts (tables 3, A4 to A7)"
    )
    context_windows: Mapping[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, description="Model -> words that fit its window, for the ceiling in table A3"
    )

    @field_validator("levels")
    @classmethod
    def _rising(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        sizes = [words_of(level) for level in value]
        if len(set(sizes)) < len(sizes):
            raise ValueError("each level stands once")
        return tuple(sorted(value, key=words_of))

    @field_validator("datasets")
    @classmethod
    def _known(cls, value: Mapping[str, DatasetSettings]) -> Mapping[str, DatasetSettings]:
        taken = {name.lower(): name for dataset in DATASETS for name in (dataset.name, dataset.released)}
        if unknown := [name for name, block in value.items() if name not in BY_NAME and block.task is None]:
            advice = "; ".join(dict.fromkeys(nearest(name, BY_NAME) for name in unknown))
            raise ValueError(
                f"no dataset is called {' or '.join(map(repr, unknown))} in the paper; if it is your own write its "
                f"`task` ({', '.join(get_args(Task))}) and `language`; {advice}"
            )
        for name, block in value.items():
            if name in BY_NAME:
                if block.task is not None:
                    raise ValueError(f"{name!r}: the paper says its task; leave `task` out, or give yours another name")
            elif not _OWN_NAME.fullmatch(name):
                raise ValueError(f"{name!r}: expected a name of letters, digits, `_` and `-`, at most 64; rename it")
            elif (other := taken.setdefault(name.lower(), name)) != name or name in BY_RELEASED:
                raise ValueError(f"another dataset is called {other!r}; rename {name!r}")
            recalls_fact = BY_NAME[name].recalls_fact if name in BY_NAME else block.task == "fact-recall"
            if recalls_fact and block.pairs not in (None, 1):
                raise ValueError(f"{name!r}: has one pair, its fact; leave `pairs` out")
        return value

    @field_validator("header")
    @classmethod
    def _numbered(cls, value: str) -> str:
        before, number, after = value.partition("{number}")
        if not number or set("{}") & {*before, *after} or not after.endswith("\n"):
            raise ValueError("it holds {number} once, no other braces, and ends with a line break")
        if odd := odd_character((before + after).replace("\n", "")):
            raise ValueError(f"it holds the character U+{ord(odd):04X}; write plain text")
        return value

    @property
    def known(self) -> Mapping[str, Dataset]:
        """The datasets by their names in the configuration: the paper's, and those of one's own."""
        return {**BY_NAME, **{name: block.own(name) for name, block in self.datasets.items() if block.task}}

    @property
    def longest(self) -> int:
        """Words of the longest level."""
        return words_of(self.levels[-1])

    @property
    def pair_sources(self) -> Mapping[str, SourceSpec]:
        """The sources of questions by their place in the settings, each once."""
        return dict(_each_once(self._placed("sources", recalls_fact=False)).values())

    @property
    def document_sources(self) -> Mapping[str, SourceSpec]:
        """The sources of documents by their place in the settings, each once."""
        return dict(_each_once(self._all_placed()).values())

    def read_in_two_ways(self) -> Iterator[str]:
        """Yield a problem for each source whose file is read in another way elsewhere."""
        first = _each_once(self._all_placed())
        for place, spec in self._all_placed():
            first_place, first_spec = first[spec.format, spec.path]
            if spec != first_spec:
                yield (
                    f"{place}: {spec.name} is read here in another way than under {first_place} (language, fields, "
                    "limit, licence or private); let all datasets read a file alike"
                )

    def _all_placed(self) -> list[tuple[str, SourceSpec]]:
        return [*self._placed("sources"), *self._placed("distractors")]

    def _placed(self, field: str, *, recalls_fact: bool | None = None) -> list[tuple[str, SourceSpec]]:
        return [
            (f"datasets.{name}.{field}[{place}]", spec)
            for name, dataset in self.datasets.items()
            for place, spec in enumerate(getattr(dataset, field))
            if recalls_fact is None or self.known[name].recalls_fact == recalls_fact
        ]


def mixed_sources(settings: LVEvalSettings, kind: Mapping[str, str]) -> Iterable[SourceSpec]:
    """Return the sources of a dataset's questions and documents, by the value of a context's `dataset`."""
    released = kind["dataset"].rpartition("_")[0]
    return [
        spec
        for name, block in settings.datasets.items()
        if settings.known[name].released == released
        for spec in (*block.sources, *block.distractors)
    ]


def problems(settings: LVEvalSettings, models: Mapping[str, Model]) -> Iterator[str]:
    """Yield a problem for each dataset without sources, source that does not fit, and model that cannot prescreen."""
    if not settings.datasets:
        yield f"datasets: is empty; name datasets with their sources (there are {', '.join(BY_NAME)})"
    for name, block in settings.datasets.items():
        place, dataset = f"datasets.{name}", settings.known[name]
        if not block.sources:
            questions = f"questions with their documents{'' if dataset.own else f', like {dataset.original}'}"
            yield f"{place}.sources: is empty; name {'a book' if dataset.recalls_fact else questions}"
        for spec in (*block.sources, *block.distractors):
            if spec.language != dataset.language:
                mistaken = "language of the source or of the dataset" if dataset.own else "source's language"
                yield (
                    f"{place}: {spec.name}: language {spec.language}, where the dataset is in {dataset.language}; "
                    f"correct the {mistaken}, or name another source"
                )
    for model in settings.prescreen:
        if isinstance(models[model], Rules):
            yield (
                "prescreen: the rules model does not answer questions; leave it empty, or name an endpoint under "
                f"models.{model}"
            )
    yield from settings.read_in_two_ways()


def _each_once(placed: Iterable[tuple[str, SourceSpec]]) -> dict[tuple[str, str], tuple[str, SourceSpec]]:
    """Return the first source of each file, with its place, by the file's format and path."""
    first: dict[tuple[str, str], tuple[str, SourceSpec]] = {}
    for place, spec in placed:
        first.setdefault((spec.format, spec.path), (place, spec))
    return first
