"""How a family's records are put to a model and scored: what a family declares of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from flows.llm.model import Prompt, Said
from flows.scoring.tables import ScoreTables
from schemas.base import Dropped
from schemas.errors import WrongInput
from schemas.prediction import Prediction


@dataclass(frozen=True)
class Chunk:
    """A stretch of a text, and what it is."""

    name: str
    text: str


@dataclass(frozen=True)
class ChunkedText:
    """A text in chunks, the last of which looks at all of them; chunks of one name count as one.

    `group` names what texts are averaged with.
    """

    group: str
    chunks: tuple[Chunk, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the chunks are, in order."""
        return tuple(dict.fromkeys(chunk.name for chunk in self.chunks))


@dataclass(frozen=True)
class ReadDialogue:
    """A finished dialogue that a model is to read."""

    name: str
    """What it is called in a note."""
    turns: tuple[Said, ...]
    names: tuple[str, ...]
    """What each turn is called; no two alike."""


@dataclass(frozen=True)
class DialogueCases:
    """The dialogues of which some are read."""

    candidates: Mapping[str, Sequence[ReadDialogue]]
    """By what they are cases of: the first that fits into the model's window is read."""
    names: str
    """What the turns' names mean, for a reader."""


@dataclass(frozen=True)
class Request:
    """A question put to an evaluated model about a record; its reply is the prediction of that `variant`."""

    variant: str
    prompt: Prompt[Any]
    inputs: BaseModel
    prompting: str | None = None
    """How it is asked, where there are several ways; like `shots` it groups the tables."""
    shots: int | None = None
    """Demonstrations that stand before it."""


@dataclass(frozen=True)
class Choice:
    """Options of which an evaluated model tells how likely each is, by itself, after the prompt.

    Its predictions are the options' scores, one prediction for each way to score (`flows/llm/likelihood.py`).
    """

    prompt: str
    options: Mapping[str, str]
    """By what they are; each with the white space that parts it from the prompt."""
    prompting: str | None = None
    """As a `Request` has it; `shots` likewise."""
    shots: int | None = None


class Version(NamedTuple):
    """A row as one of several authors made it."""

    key: str
    """Of the record that they wrote for, each by themselves."""
    by: str
    """The author's code."""
    row: Any


@dataclass(frozen=True)
class Authorship:
    """How far a model tells apart what several authors made of the same records."""

    part: str
    """Of which people write every record, some of them twice."""
    rows: Callable[[Any], Sequence[Any]]
    """Of a record as one author left it: what is put to a model."""
    compare: Callable[[Sequence[Version], Iterable[Prediction]], ScoreTables]
    """(what scoring needs of each author's rows, predictions): the authors side by side."""


@dataclass(frozen=True)
class HeldContext:
    """What the tables of an evaluation in dialogues may read: the parts that were made with the evaluated models."""

    settings: Any
    seed: int
    records: Callable[[str], Iterable[Any]]
    """The sifted records of such a part, or the records of a part that they stand on; none where they are not known."""
    dropped: Callable[[str], Iterable[Dropped]]
    """What all steps of such a part dropped."""


@dataclass(frozen=True)
class Held:
    """How a model is evaluated where that takes dialogues: parts of the build are made with it in place of others."""

    parts: tuple[str, ...]
    """In order; what they stand on is there. They are made of `each` and `expand` steps."""
    models: str
    """The setting that lists the evaluated models."""
    tables: Callable[[HeldContext], ScoreTables]
    fitting: Callable[[HeldContext, bool], HeldContext]
    """(what is known of records that were given, partial): what of it is scored. Raises `ScoreError` where some are
    missing, double or of another build; with `partial` that is left out, and a warning, `PartialScores`, counts it."""
    cases: Callable[[HeldContext], DialogueCases] | None = None
    """The dialogues whose attention is told of turn by turn, where it is (`flows/evaluate/turn_attention.py`)."""


def _asks_nothing(record: Any, settings: Any) -> Sequence[Request]:
    return ()


def _is_held(rows: Iterable[Any], predictions: Iterable[Prediction], partial: bool, settings: Any) -> ScoreTables:
    raise WrongInput("dialogues are rated when they are held; `touchstone evaluate` does both, and gives the tables")


@dataclass(frozen=True)
class Selection:
    """A setting that says which rows are built, and of those that are, which are asked about."""

    setting: str
    of: Callable[[Any], Any]
    """What a record has of it; None where the setting says nothing of that record."""


@dataclass(frozen=True)
class Evaluation:
    """How a family's accepted records are put to a model and scored."""

    parts: tuple[str, ...]
    """The parts whose records are asked about; of a build, those that it has."""
    prompts: tuple[Prompt[Any], ...] = ()
    requests: Callable[[Any, Any], Sequence[Request]] = _asks_nothing
    """(record, settings): one for each prediction that a record asks for."""
    scored: Callable[[Any], Any] = lambda record: record
    """What scoring needs of a record; what is long in it, and not needed, is left out."""
    score: Callable[[Iterable[Any], Iterable[Prediction], bool, Any], ScoreTables] = _is_held
    """`score(scored records, predictions, partial, settings)`."""
    level: str | None = None
    """The field of a row that tells its level, where what a row costs to ask goes by it."""
    ready: Callable[[Any], None] | None = None
    """Called with the settings before a model is asked: raises `WrongInput` where scoring could not be done."""
    choices: Callable[[Any, Any], Sequence[Choice]] | None = None
    """(record, settings): where it is given, options are weighed, and `requests` are not asked."""
    chunks: Callable[[Any], ChunkedText] | None = None
    """The text whose attention is told by chunks, where that is done (`flows/evaluate/attention.py`)."""
    authors: Authorship | None = None
    """Where texts that people write are compared by what a model makes of them."""
    held: Held | None = None
    """Where it is given, dialogues are held and rated in place of single questions."""
    settings: tuple[str, ...] = ()
    """How records are asked and scored: taken as the configuration says now, whatever it said when they were built."""
    selection: Selection | None = None
    """Which records are asked about, by the configuration of now too."""
