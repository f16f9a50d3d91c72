"""Manifests of a build: one for each shard and stage, and one for the whole."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from schemas.base import Frozen
from schemas.sealed import Sealed


def is_none(value: object) -> bool:
    """Return whether there is no value; such a field is left out of what is written."""
    return value is None


class UsageOfPrompt(Frozen):
    """The usage of one prompt in one stage."""

    calls: int = Field(0, description="Asked of the model, re-asks counted")
    cached: int = Field(0, description="Answered from the cache instead")
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = Field(
        0.0, description="Paid in this stage: cached answers cost nothing; null where a model's price is not known"
    )
    cached_input_tokens: int = Field(0, description="Of the cached answers, when they were paid")
    cached_output_tokens: int = 0
    cached_cost_usd: float | None = Field(
        0.0, description="What the cached answers had cost, by this build or an earlier one; null where nobody knows"
    )
    cut_off: int = Field(0, description="Answers, paid or cached, that ended at their limit of tokens")


class ShardManifest(Sealed):
    """A finished shard of a stage: its two files, their checksums and what they hold."""

    index: int = Field(
        description="Its place among the stage's shards; of an `each` or `expand` step, the first input record of the "
        "stage, or of the first stage of a chain"
    )
    stop: int | None = Field(
        None, description="The input record after its last one; null if the stage's own input records are not counted"
    )
    mark: str = Field(
        "",
        description="In the names of its files: two workers that write one shard have two, and shards of a chain that "
        "were made together have one",
    )
    planned: int
    kept: int
    dropped: Mapping[str, int] = Field(description="Drops by reason")
    kept_sha256: str
    dropped_sha256: str
    usage: Mapping[str, UsageOfPrompt] = Field(description="By prompt name")
    seconds: float
    rows: str | None = Field(None, description="Name of the finished file that holds the kept records, as Parquet")
    notes: tuple[str, ...] = Field((), description="What the step says of it, for people")


class StageManifest(Sealed):
    """A finished stage. It exists if and only if this does; it is written last."""

    family: str
    part: str
    step: str
    version: int
    fingerprint: str
    record: str = Field(description="Name of the record type it holds")
    inputs: tuple[str, ...] = Field(description="Fingerprints of what it was made from")
    planned: int
    kept: int
    dropped: Mapping[str, int]
    shards: tuple[ShardManifest, ...]
    notes: tuple[str, ...] = Field((), description="What a reader of the result should know")
    draw: str | None = Field(
        None, exclude_if=is_none, description="Of a refreshed step: the draw that it was made for; null: the first"
    )

    @property
    def usage(self) -> dict[str, UsageOfPrompt]:
        """Usage by prompt, over all shards."""
        return sum_usage(shard.usage for shard in self.shards)

    @property
    def seconds(self) -> float:
        """Working time over all shards, which run side by side: longer than the time on the clock."""
        return sum(shard.seconds for shard in self.shards)


class FileManifest(Frozen):
    """A file of the output folder."""

    path: str = Field(description="Relative to the output folder")
    rows: int
    sha256: str


class PartManifest(Frozen):
    """A part as built: planned = kept + dropped + waiting."""

    family: str
    part: str
    planned: int
    kept: int
    dropped: Mapping[str, Mapping[str, int]] = Field(description="Step -> reason -> count")
    waiting: int = Field(0, description="Records whose people have not answered yet")
    reviewed: int = Field(0, description="Kept records with an accepting verdict")
    stages: tuple[StageManifest, ...]
    files: tuple[FileManifest, ...]

    @property
    def sifted(self) -> int:
        """Rows that passed every check, whether people have answered yet or not."""
        return self.kept + self.waiting

    @property
    def refused(self) -> int:
        """Rows that were dropped, for whatever reason."""
        return self.planned - self.sifted


class BuildManifest(Sealed):
    """A build in its output folder."""

    name: str
    seed: int
    limit: int | None
    config: Mapping[str, object] = Field(description="The configuration as read, defaults filled in")
    versions: Mapping[str, str] = Field(description="Of Python and of the libraries that decide results")
    models: Mapping[str, str] = Field(description="Role -> model")
    prompts: Mapping[str, str] = Field(description="`family/prompt` -> version and template hash")
    parts: tuple[PartManifest, ...]
    release: str | None = Field(None, description="The released version whose rows these are; null for a build")
    draw: str | None = Field(
        None, exclude_if=is_none, description="Of its swaps and replacements (`release.refresh`); null: the first"
    )

    def part(self, family: str, part: str) -> PartManifest | None:
        """Return the part's manifest, or None if it was not built."""
        return next((built for built in self.parts if (built.family, built.part) == (family, part)), None)


def sum_usage(usages: Iterable[Mapping[str, UsageOfPrompt]]) -> dict[str, UsageOfPrompt]:
    """Return the sum of usages, by prompt."""
    total: dict[str, UsageOfPrompt] = {}
    for usage in usages:
        for prompt, more in usage.items():
            so_far = total.get(prompt, UsageOfPrompt())
            total[prompt] = UsageOfPrompt(
                **{name: added(getattr(so_far, name), getattr(more, name)) for name in UsageOfPrompt.model_fields}
            )
    return total


def total_usage(usages: Iterable[UsageOfPrompt]) -> UsageOfPrompt:
    """Return the sum of usages of any prompts."""
    return sum_usage({"all": usage} for usage in usages).get("all", UsageOfPrompt())


def added(amount: float | None, other: float | None) -> float | None:
    """Return the sum of two amounts; None if either is not known."""
    return None if amount is None or other is None else amount + other
