"""The facts on a dataset card."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.annotation import Agreement, Comparison, Means
from schemas.base import Frozen
from schemas.manifest import UsageOfPrompt
from schemas.release import Contamination, ReleaseManifest

PersonCode = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,19}$")]
"""A person's code, which is neither a name nor an address."""


class PredictionFacts(Frozen):
    """The predictions that a family's scorer file reads: a row for each id and variant."""

    example: str = Field(description="Such a row, as JSON")
    read: str = Field(description="What is made of it, in a sentence or two")
    variants: Mapping[str, tuple[str, ...]] = Field(description="Configuration -> what `variant` can be")
    prompting: tuple[str, ...] = Field((), description="What `prompting` can be, where there are several ways to ask")
    shots: tuple[int, ...] = Field((), description="What `shots` can be, where demonstrations may stand before")


class FamilyFacts(Frozen):
    """A family in the release, and how its rows are evaluated."""

    name: str
    short: str = Field(description="What its paper calls it: `LV-Eval`")
    title: str = Field(description="Of its paper")
    authors: str
    year: int
    citation: str = Field("", description="BibTeX entry of the paper")
    task: str | None = Field(None, description="The Hub's name of what it asks of a model")
    scorer: str | None = Field(None, description="Path of its scorer file in the release")
    score_command: str = Field("", description="How the scorer file is run")
    predictions: PredictionFacts | None = Field(None, description="None: it has no scorer file, or no rows for it")
    harness: str | None = Field(None, description="Folder of its lm-evaluation-harness tasks in the release")
    harness_command: str = Field("", description="How the main tasks are run")
    inspect_command: str = Field("", description="How its tasks for Inspect are run; of many, the first")
    hub_task: str | None = Field(None, description="The first of its tasks in the Hub's benchmark file")
    in_dialogues: bool = Field(False, description="A model is evaluated in dialogues that are held with it")
    headline: Mapping[str, str] = Field({}, description="Main tables of scores -> what their values and columns are")


class SourceFacts(Frozen):
    """Somebody else's data that rows were made from."""

    source: str
    licence: str | None = Field(description="As it states it")
    title: str | None = Field(None, description="What it is called")
    authors: str | None = None
    homepage: str | None = None
    licence_url: str | None = Field(None, description="The text of its licence")
    in_format_of: str | None = Field(None, description="The data set whose format it has, which it need not be")
    rows: int | None = Field(
        description="Released rows that name it; null: none does, and text of it may be mixed into any of them"
    )


class ConfigFacts(Frozen):
    """Facts about a configuration that are not in the manifest."""

    name: str
    summary: str = Field(description="What a row is, in a sentence")
    fields: Mapping[str, str] = Field(description="Column -> description; it may lack some")
    languages: tuple[str, ...] = Field(description="Codes of the languages of its rows")
    sources: tuple[SourceFacts, ...] = ()
    corrected: int = Field(0, description="Of its reviewed rows, those that stand as people corrected them")
    let_through: int = Field(0, description="Its rows that people were to judge, and no one did")
    example: str = Field("", description="One of its rows as JSON, cut")
    info: Mapping[str, Any] | None = Field(None, description="Its `dataset_info` in the metadata")
    task: str | None = Field(None, description="Its main lm-evaluation-harness task")


class PrivateFacts(Frozen):
    """The means that it takes to build a family's private rows again."""

    family: str = Field(description="What its paper calls it: `LV-Eval`")
    models: tuple[str, ...] = Field(description="Models other than the rules that its rows were made with")
    sources: tuple[str, ...] = Field(description="Its sources that are files: who else has them is not known")
    people: bool = Field(description="People may have written or corrected some of its rows")


class UsageFacts(Frozen):
    """The usage of a prompt in a step of a part."""

    family: str
    part: str
    step: str
    prompt: str
    usage: UsageOfPrompt


class ReviewFacts(Frozen):
    """How people reviewed the records behind configurations, in numbers and codes."""

    title: str = Field(description="Of the rubric")
    rubric: str
    version: int
    parts: tuple[str, ...] = Field(description="`uraq-items`: the parts whose records were shown")
    configs: tuple[str, ...] = Field((), description="Released configurations whose rows are made of these records")
    share: Literal["every", "sample"]
    records: int = Field(description="Records of these parts that passed every check")
    shown: int = Field(description="Of them, those that were to be judged")
    judged: int = Field(description="Of those, those with a verdict, or rated by as many people as were asked")
    accepted: int
    fixed: int
    rejected: int
    people: tuple[PersonCode, ...]
    agreement: tuple[Agreement, ...] = ()
    decides: bool = Field(True, description="The rubric accepts or rejects; ratings do neither, and have no verdict")
    means: tuple[Means, ...] = Field((), description="What people gave on scales, by sample")
    compared: tuple[Comparison, ...] = Field((), description="How far programs agree with people on those")


class Plot(Frozen):
    """A figure that is shipped with the release."""

    path: str = Field(description="Relative to the folder")
    config: str = Field(description="Configuration or part that it is of")
    title: str
    caption: str = ""


class ResultTable(Frozen):
    """Models' main score of a family on several versions."""

    family: str
    measure: str
    columns: tuple[str, ...] = Field(description="Of each the model, and by what its scores differ from those before")
    lines: tuple[tuple[str, tuple[str, ...]], ...] = Field(description="Version, and a score for each column")
    signatures: tuple[str, ...]


class ChangeCount(Frozen):
    """How many rows of a configuration differ from the previous version."""

    config: str
    added: int = 0
    changed: int = Field(0, description="In what a model may be shown or scored by")
    removed: int = 0
    bookkeeping: int = Field(0, description="Rows of which bookkeeping alone changed")
    comparable: int = Field(0, description="Rows on which scores are comparable")
    before: int = Field(0, description="Rows of the previous version")


class CardFacts(Frozen):
    """Everything that a card says, except for the user's own words."""

    manifest: ReleaseManifest = Field(description="Of its files, the card's own is not looked at")
    repo: str | None = Field(None, description="OWNER/NAME on the Hub; None: a folder")
    maintainer: str | None = Field(None, description="Who answers for the dataset, and is its author")
    contact: str | None = Field(None, description="Where to reach them")
    homepage: str | None = Field(None, description="Address of the dataset's own page")
    year: int | None = Field(None, description="In which others cite the dataset")
    tool_url: str | None = Field(None, description="Where Touchstone is to be had; null: at no public address")
    default: str | None = Field(None, description="The configuration that loads where none is named; None: the first")
    families: tuple[FamilyFacts, ...]
    configs: tuple[ConfigFacts, ...]
    usage: tuple[UsageFacts, ...] = ()
    reviews: tuple[ReviewFacts, ...] = ()
    private: tuple[PrivateFacts, ...] = Field((), description="Of the families with private rows")
    contamination: tuple[Contamination, ...] = ()
    plots: tuple[Plot, ...] = ()
    results: tuple[ResultTable, ...] = Field((), description="Scores over versions, by family")
    result_plots: tuple[Plot, ...] = ()
    changes: tuple[ChangeCount, ...] = ()
    summary: str = Field("", description="How the version differs from the previous one, in a sentence")
    changelog: str | None = Field(None, description="Path of the readable changelog in the release")
    limits: tuple[str, ...] = Field((), description="What else a reader should know, a sentence each")
