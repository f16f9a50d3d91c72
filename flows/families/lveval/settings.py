"""LV-Eval's block of the configuration."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from data.sources import SourceSpec
from flows.construct.settings import FamilySettings
from flows.families.lveval.datasets import BY_NAME, BY_RELEASED, LEVELS, Ablation, words_of
from flows.llm.model import Model
from flows.llm.rules import Rules
from schemas.base import Frozen, odd_character
from schemas.lveval import FactRecord

MOST_RULES = 8
"""Rules proposed for a pair. The paper has 2 to 5 (table 2: 232 rules for 124 pairs, 476 for 101); a name has a
rule for each of its forms."""

Level = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),  # YAML reads 800 as a number
]
Name = Annotated[str, Field(min_length=1)]


class DatasetSettings(Frozen):
    """The sources of a dataset."""

    pairs: int | None = Field(None, ge=1, le=1_000_000, description="Pairs to select; the paper's number by default")
    sources: tuple[SourceSpec, ...] = Field((), description="Questions with their documents; for fact recall, a book")
    distractors: tuple[SourceSpec, ...] = Field(
        (), description="More documents, if a level needs more text than the sources have; a departure"
    )
    several_answers: bool = Field(False, description="Select only questions that have several answers")
    fact: FactRecord | None = Field(None, description="For fact recall, the fact; a packaged one by default")


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
        for name in value:
            if name not in BY_NAME:
                raise ValueError(f"no dataset is called {name!r}; there are {', '.join(BY_NAME)}")
            if BY_NAME[name].recalls_fact and value[name].pairs not in (None, 1):
                raise ValueError(f"{name}: has one pair, its fact; leave `pairs` out")
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
                    "limit or licence); let all datasets read a file alike"
                )

    def _all_placed(self) -> list[tuple[str, SourceSpec]]:
        return [*self._placed("sources"), *self._placed("distractors")]

    def _placed(self, field: str, *, recalls_fact: bool | None = None) -> list[tuple[str, SourceSpec]]:
        return [
            (f"datasets.{name}.{field}[{place}]", spec)
            for name, dataset in self.datasets.items()
            for place, spec in enumerate(getattr(dataset, field))
            if recalls_fact is None or BY_NAME[name].recalls_fact == recalls_fact
        ]


def mixed_sources(settings: LVEvalSettings, kind: Mapping[str, str]) -> Iterable[SourceSpec]:
    """Return the sources of a dataset's questions and documents, by the value of a context's `dataset`."""
    block = settings.datasets[BY_RELEASED[kind["dataset"].rpartition("_")[0]].name]
    return (*block.sources, *block.distractors)


def problems(settings: LVEvalSettings, models: Mapping[str, Model]) -> Iterator[str]:
    """Yield a problem for each dataset without sources, source that does not fit, and model that cannot prescreen."""
    if not settings.datasets:
        yield f"datasets: is empty; name datasets with their sources (there are {', '.join(BY_NAME)})"
    for name, block in settings.datasets.items():
        place, dataset = f"datasets.{name}", BY_NAME[name]
        if not block.sources:
            questions = f"questions with their documents, like {dataset.original}"
            yield f"{place}.sources: is empty; name {'a book' if dataset.recalls_fact else questions}"
        for spec in (*block.sources, *block.distractors):
            if spec.language != dataset.language:
                yield (
                    f"{place}: {spec.name}: language {spec.language}, where the dataset is in {dataset.language}; "
                    "correct the source's language, or name another source"
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
