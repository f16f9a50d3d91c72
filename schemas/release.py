"""A released version of a dataset: its content, how it was made, and its difference to the previous version."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from schemas.base import Frozen
from schemas.manifest import is_none
from schemas.prediction import TableCell


class ReleasedFile(Frozen):
    """A file of the released folder."""

    path: str = Field(description="Relative to the folder, with `/`")
    bytes: int
    sha256: str
    made: str | None = Field(
        None, description="If somebody edited it: SHA-256 of what was made in its place; empty if somebody added it"
    )


class ReleasedConfig(Frozen):
    """A configuration for `load_dataset(path, name)`: the rows of a part, or one kind of a part's rows."""

    name: str = Field(description="`uraq-items`, `lveval-hotpotwikiqa_mixup-16k`, `charpeval-hcharp`")
    family: str
    part: str
    split: str
    rows: int
    reviewed: int = Field(description="Rows that people accepted as they stand")
    held_back: Mapping[str, int] = Field(description="Reason -> rows that are built and not released")
    held_out: int = Field(0, description="Rows that are kept back as private")
    of_private_sources: int = Field(
        0, description="Of those, rows that rest on a private source or show text of one; the others are drawn"
    )
    licence: str
    fields: Mapping[str, str] = Field(description="Column -> Arrow type")
    method: Mapping[str, str] = Field(description="What made it: step -> declared version; prompt -> version and hash")
    files: tuple[str, ...] = Field(description="Paths of its Parquet files")
    bookkeeping: tuple[str, ...] = Field(
        (), description="Columns that no model is shown or scored by; empty: not known"
    )
    scorer: str = Field("", description="Fingerprint of the scorer's code; empty: not known, or it has no scorer")
    asked: Mapping[str, str] = Field({}, description="Task or prompt -> fingerprint of what a model is asked")
    comparable: int | None = Field(
        None, description="Rows on which scores are comparable with those on `previous`; null: not compared"
    )


class MadeCard(Frozen):
    """A card as it was made, before it got people's edits. Empty in manifests that were written before it was noted."""

    metadata: Mapping[str, JsonValue] = {}
    text: str = Field("", description="SHA-256 of the text without the user's own words")


class Baseline(Frozen):
    """A model's main scores on released rows, or on those of the private share."""

    family: str
    model: str
    rows: int = Field(description="Released rows that it was asked about")
    of: int = Field(description="Released rows of the configurations that it can be asked about")
    scores: tuple[TableCell, ...]
    private: bool = Field(False, description="Of rows of the private share, not of released ones")


class ReleaseManifest(Frozen):
    """`manifest.json` of a released folder: it names every other file of the release, and is written last."""

    name: str
    version: str
    previous: str | None = Field(None, description="The version that `changes.jsonl` tells the difference to")
    comparable: bool = Field(True, description="Whether scores are comparable on every row of the version before")
    canary: str = Field(description="GUID that stands in the card and in every row")
    seed: int
    pilot: bool = Field(False, description="Built with `--limit`")
    held_out_rolls: bool = Field(False, description="The next version publishes what this one keeps private")
    allowed_unreviewed: bool = Field(False, description="Rows that no one reviewed were let through, and say so")
    inputs: str = Field("", description="Hash of all that it follows from: with the same, nothing is new")
    configs: tuple[ReleasedConfig, ...]
    files: tuple[ReleasedFile, ...]
    card: MadeCard = Field(MadeCard(), description="The card without people's edits, which are told by it")
    baselines: tuple[Baseline, ...] = Field((), description="Of models that were evaluated on rows of this version")
    stages: Mapping[str, str] = Field(description="`family/part/step` -> fingerprint of the stage")
    models: Mapping[str, str] = Field(description="`family.role` -> the model that played it")
    prompts: Mapping[str, str] = Field(description="`family/prompt` -> version and template hash")
    versions: Mapping[str, str] = Field(description="Of Python and of the libraries that decide results")
    date: str | None = Field(None, exclude_if=is_none, description="The day it was made on; null: not known")
    draw: str | None = Field(
        None,
        exclude_if=is_none,
        description="Of its swaps and replacements: the version that they followed, or the quarter; null: the first",
    )
    settings: Mapping[str, JsonValue] = Field(description="`families` of the configuration as built, without secrets")

    @property
    def added(self) -> frozenset[str]:
        """Paths of the files that people added."""
        return frozenset(file.path for file in self.files if file.made == "")

    @property
    def touched(self) -> frozenset[str]:
        """Paths of the files that people added or edited."""
        return frozenset(file.path for file in self.files if file.made is not None)


class Change(Frozen):
    """A row that differs from the previous version, or is scored in another way: a line of `changes.jsonl`."""

    config: str
    key: str
    change: Literal["added", "changed", "removed", "bookkeeping", "incomparable"] = Field(
        description="`changed`: in what a model is shown or scored by; `bookkeeping`: in other columns alone; "
        "`incomparable`: at most in those, but all rows of the configuration are asked or scored in another way"
    )
    fields: Mapping[str, tuple[JsonValue, JsonValue]] = Field(
        default_factory=dict,
        description="Of a row in both versions: field -> (before, now). Of a long list or mapping the first place that "
        "differs stands for it, counted from 0: `contexts[3]`, `expected.match`; null where nothing is there. Long "
        "texts are cut",
    )


class RowHistory(Frozen):
    """When a row came and went: a line of `history.jsonl`."""

    config: str
    key: str
    since: str = Field(description="The version from which on it is as a model is shown it now")
    since_date: str | None = Field(description="The day that version was made on; null: not known")
    source_date: str | None = Field(None, description="The latest date that its sources state; null: they state none")
    retired: str | None = Field(None, description="The first version without it; null: it is in this one")
    retired_date: str | None = None
    reason: str = Field("", description="Why it was retired")


class Contamination(Frozen):
    """How much of a configuration's released rows is also in another data set."""

    config: str
    dataset: str = Field(description="What it was compared with, as the release's settings name it")
    language: str = Field(description="Only rows in its language are compared")
    unit: Literal["words", "characters"]
    ngram: int = Field(description="So many units in a row, in both, are an overlap")
    shortest: int = Field(
        description="Of a text that is shorter than `ngram` all must be there; below this it says nothing"
    )
    rows: int = Field(description="Rows of the configuration in that language")
    compared: int = Field(description="Of them, those with a text long enough to tell")
    overlapping: int
    examples: tuple[str, ...] = Field((), description="Keys of some rows that overlap")
    cosine_above: float | None = Field(None, description="Above it two questions say the same; null: not compared so")
    near: int | None = Field(None, description="Rows whose nearest text there lies above it")

    @property
    def share(self) -> float:
        """Share of the compared rows that overlap; 0 if none were compared."""
        return self.overlapping / self.compared if self.compared else 0.0
