"""The part of a family's declaration that says how a model is evaluated on its records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from data.publish.benchmark import HubTask
from data.publish.harness import OptionScoring, ReplyScoring
from flows.llm.model import Prompt, Said
from flows.scoring.scorer import Row, Scores
from flows.scoring.tables import SHARES, ScoreTables, Unit
from schemas.base import Dropped
from schemas.errors import WrongInput
from schemas.prediction import Prediction


@dataclass(frozen=True)
class Chunk:
    """A named stretch of a text."""

    name: str
    text: str


@dataclass(frozen=True)
class ChunkedText:
    """A text in chunks; the last chunk's attention to each is measured. Chunks with the same name count as one."""

    group: str
    """Texts of one group are averaged."""
    chunks: tuple[Chunk, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the chunks, in order."""
        return tuple(dict.fromkeys(chunk.name for chunk in self.chunks))


@dataclass(frozen=True)
class ReadDialogue:
    """A finished dialogue that a model is to read."""

    name: str
    """Its name in notes."""
    turns: tuple[Said, ...]
    names: tuple[str, ...]
    """A distinct name for each turn."""


@dataclass(frozen=True)
class DialogueCases:
    """Candidates for the dialogues that a model reads."""

    candidates: Mapping[str, Sequence[ReadDialogue]]
    """By the case that they illustrate: the first that fits into the model's window is read."""
    names: str
    """The meaning of the turns' names, for a reader."""


@dataclass(frozen=True)
class Request:
    """A question put to an evaluated model about a record; its reply is the prediction of that `variant`."""

    variant: str
    prompt: Prompt[Any]
    inputs: BaseModel
    prompting: str | None = None
    """The way of asking, if there are several; like `shots` it groups the tables."""
    shots: int | None = None
    """The number of demonstrations before the question."""


@dataclass(frozen=True)
class Choice:
    """A prompt and options: the evaluated model's log-probabilities tell how likely each option is after the prompt.

    It gives one prediction for each way to score an option (`flows/llm/likelihood.py`).
    """

    prompt: str
    options: Mapping[str, str]
    """By kind; each begins with the white space that separates it from the prompt."""
    prompting: str | None = None
    """As in a `Request`; so is `shots`."""
    shots: int | None = None


class Version(NamedTuple):
    """A row as one of several authors made it."""

    key: str
    """The key of the record that each author wrote for independently."""
    by: str
    """The author's code."""
    row: Any


@dataclass(frozen=True)
class Authorship:
    """How a model's choices are compared between authors who wrote for the same records."""

    part: str
    """The part all of whose records people write, some of them twice."""
    rows: Callable[[Any], Sequence[Any]]
    """Returns the rows for the model, from a record as one author left it."""
    compare: Callable[[Sequence[Version], Iterable[Prediction]], ScoreTables]
    """(the scored rows of each author, predictions) -> the authors side by side."""


@dataclass(frozen=True)
class DialogueContext:
    """The records from which the tables of a dialogue evaluation are made."""

    settings: Any
    seed: int
    records: Callable[[str], Iterable[Any]]
    """The sifted records of a part built with the evaluated models, or of one it builds on; empty if not known."""
    dropped: Callable[[str], Iterable[Dropped]]
    """The records that the steps of a part built with the evaluated models dropped."""


@dataclass(frozen=True)
class HeldElsewhere:
    """What a release ships so that Inspect holds and rates the dialogues (`data/publish/inspect_package.py`)."""

    protocol: Path
    """A file that imports only the standard library and modules that do the same."""
    kinds: Callable[[Any], Sequence[tuple[str, int]]]
    """settings -> (protocol, number of unrelated pairs) of the dialogues about a seed; none if they cannot be held."""
    settings: Callable[[Any], Mapping[str, Any]]
    """settings -> those that the protocol takes, as JSON."""
    prompts: tuple[Prompt[Any], ...]


@dataclass(frozen=True)
class DialogueEvaluation:
    """How a model is evaluated in dialogues: parts of the build are made again, with that model."""

    parts: tuple[str, ...]
    """In order, made by `each` and `expand` steps. The parts that they build on exist already."""
    models: str
    """The setting that lists the evaluated models."""
    tables: Callable[[DialogueContext], ScoreTables]
    select: Callable[[DialogueContext, bool], DialogueContext]
    """(the records of a file, partial) -> the records that can be scored.

    Raises `ScoreError` if some are missing, repeated or from another build. With `partial` these are left out, and a
    `PartialScores` warning counts them.
    """
    cases: Callable[[DialogueContext], DialogueCases] | None = None
    """The dialogues whose attention is reported turn by turn (`flows/evaluate/attention.py`)."""
    elsewhere: HeldElsewhere | None = None


@dataclass(frozen=True)
class Selection:
    """A setting that selects the rows to build, and the built rows to ask about."""

    setting: str
    of: Callable[[Any], Any]
    """Returns a record's value of that setting; None if the setting does not concern the record."""


def _asks_nothing(record: Any, settings: Any) -> Sequence[Request]:
    return ()


def _rated_in_dialogues(
    rows: Iterable[Any], predictions: Iterable[Prediction], partial: bool, settings: Any
) -> ScoreTables:
    raise WrongInput(
        "dialogues are rated as they are held; `touchstone evaluate` holds them, rates them and gives the tables"
    )


@dataclass(frozen=True)
class Scorer:
    """The family's `score.py`, which a release ships as one file beside its rows (`flows/release/scorers.py`).

    It imports only the standard library and modules that do the same. lm-evaluation-harness calls its
    `process_results`, and for options that are weighed its `prompt` and `texts`; Inspect calls its `grade`.
    """

    form: Row
    """A row of predictions, as an example."""
    reading: str
    """For users of the release: how a prediction is read."""
    score: Callable[[Iterable[Row], Iterable[Row], bool], Scores]
    """The file's `score(rows, predictions, partial)`, by the defaults of its command line."""
    replies: Callable[[Row, str | None, Sequence[str]], Sequence[ReplyScoring]] | None = None
    """(any row of a config, a prompting, the variants that are asked under it) -> the harness's tasks for replies."""
    options: Callable[[], OptionScoring] | None = None
    """Returns the harness's task for options that are weighed."""
    needs: str = ""
    """For users of the release: what else has to be installed, a sentence."""
    packages: tuple[str, ...] = ()
    """What `needs` names, as a package of Python's states it."""


Question = Literal["use", "evidence", "absence", "length", "near facts", "instruction"]
"""What a measure tells of a model: whether it uses evidence at all, goes by it against its memory, notices that there
is none, holds over length, is not misled by near facts, and does as it is told and remembers it."""


@dataclass(frozen=True)
class Measure:
    """A measure by which models are compared: a mean over items, under one condition after another."""

    name: str
    """As the values of the family's scorer name it."""
    asks: Question
    tells: str
    """What its value is the share of, or the mean of: "replies that are the right answer"."""
    condition: str
    """What tells its conditions apart, such as "contexts" or "level": the name of an axis."""
    unit: Unit = "share"
    by_change: bool = True
    """Whether the change from the first condition to the last answers what it asks, and not the figure itself."""

    @property
    def is_share(self) -> bool:
        """Whether its values are shares, which are shown in per cent."""
        return self.unit in SHARES


@dataclass(frozen=True)
class Redrawn:
    """What a refresh draws anew (`release.refresh`), and where a model shows that it has learned the old draws."""

    part: str
    measure: str
    at: str | None
    """The condition under which a model is given what was drawn; None: every one."""
    case: tuple[str, ...]
    """The fields that two draws of one case have in common."""
    drawn: str
    """The field that holds what was drawn: it differs between two draws."""
    what: str
    """What is drawn, in the plural."""


def columns(*names: str) -> Callable[[BaseModel], Row]:
    """Return a function that gives those fields of a record that are among `names`, as JSON."""
    chosen = set(names)
    return lambda record: record.model_dump(mode="json", include=chosen)


@dataclass(frozen=True)
class Evaluation:
    """How a model is asked about a family's accepted records, and how its predictions are scored."""

    parts: tuple[str, ...]
    """The parts whose records the model is asked about, if a build has them."""
    prompts: tuple[Prompt[Any], ...] = ()
    requests: Callable[[Any, Any], Sequence[Request]] = _asks_nothing
    """(record, settings) -> one request for each prediction on the record."""
    scored: Callable[[Any], Any] = lambda record: record
    """Returns a record without the long texts that scoring does not need."""
    score: Callable[[Iterable[Any], Iterable[Prediction], bool, Any], ScoreTables] = _rated_in_dialogues
    """`score(scored records, predictions, partial, settings)`."""
    scorer: Scorer | None = None
    """The scorer that a release ships."""
    hub_tasks: Callable[[Any], Sequence[HubTask]] | None = None
    """(any record of a configuration) -> its tasks in the Hub's benchmark file; None if that cannot ask for them."""
    headline: Mapping[str, str] = field(default_factory=dict)
    """The main tables of scores -> a description of their values and columns, for a dataset card; by default all."""
    measures: tuple[Measure, ...] = ()
    """By which models are compared, the first of all first."""
    redrawn: Redrawn | None = None
    limits: tuple[str, ...] = ()
    """What else a user of rows and scores should know, a sentence each, for a dataset card."""
    level: str | None = None
    """The field that holds a row's level, if the cost of asking about a row depends on it."""
    ready: Callable[[Any], object] | None = None
    """Called with the settings before a model is asked; raises `WrongInput` if scoring would not be possible."""
    choices: Callable[[Any, Any], Sequence[Choice]] | None = None
    """(record, settings) -> the options to weigh; `requests` are then not asked."""
    chunks: Callable[[Any], ChunkedText] | None = None
    """The text whose attention is reported by chunks (`flows/evaluate/attention.py`)."""
    authors: Authorship | None = None
    """How the texts of several authors are compared on one model."""
    dialogues: DialogueEvaluation | None = None
    """Set if dialogues are held and rated, instead of single questions asked."""
    settings: tuple[str, ...] = ()
    """The settings of asking and scoring, taken from the present configuration, not from that of the build."""
    selection: Selection | None = None
    """Which records are asked about, also by the present configuration."""

    def shown(self, tables: Iterable[str]) -> list[str]:
        """Return the tables that a dataset card shows: those of the headline, or all if it names none of them."""
        names = list(dict.fromkeys(tables))
        return [name for name in self.headline if name in names] or names

    @property
    def held(self) -> DialogueEvaluation:
        """How dialogues are held and rated, for a family that does so."""
        assert self.dialogues is not None
        return self.dialogues
