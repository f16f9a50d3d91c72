"""A family of a few lines whose rows are released: one part that people sample, one whose makers they all accept."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from data.sources import SourceSpec
from flows.construct.engine import Context, Drop, Family, Part, Slot, each, expand
from flows.construct.estimates import Expected
from flows.construct.evaluation import Evaluation
from flows.construct.paper import Paper
from flows.construct.people import every, sample
from flows.construct.release import Released
from flows.construct.settings import FamilySettings
from flows.construct.verification import Fault, VerifyContext
from flows.scoring.tables import ScoreTables
from schemas.base import Provenance, Record
from schemas.rubric import Choice, Rubric, Shown, Written
from schemas.source import Statement

WRONG = "typo"
"""What the verifier finds fault with: a stand-in for whatever a builder may get wrong."""


class Line(Record):
    """A line and itself in capitals."""

    DEFINES: ClassVar[tuple[str, ...]] = ("text", "upper")
    TEXTS: ClassVar[tuple[str, ...]] = ("text",)
    text: str = Field(description="As the source has it")
    upper: str = Field(description="In capitals")
    notes: Mapping[str, str] = Field(default_factory=dict, description="Whatever")
    provenance: Provenance


class Word(Line):
    """A word that people accept one by one."""


class Echo(Record):
    """A word said several times."""

    DEFINES: ClassVar[tuple[str, ...]] = ("text", "echo", "times")
    TEXTS: ClassVar[tuple[str, ...]] = ("echo",)
    text: str
    echo: str
    times: str = Field(description="`once` or `twice`")
    provenance: Provenance


class Shadow(Record):
    """What is made of a line."""

    DEFINES: ClassVar[tuple[str, ...]] = ("line_id", "text")
    TEXTS: ClassVar[tuple[str, ...]] = ("text",)
    line_id: str
    text: str
    provenance: Provenance


class SayingSettings(FamilySettings):
    sources: tuple[SourceSpec, ...] = ()
    words: tuple[SourceSpec, ...] = ()


def _provenance(statement: Statement, ctx: Context) -> Provenance:
    return ctx.provenance(statement, sources=[statement.source] if statement.source else [])


async def shout(statement: Statement, ctx: Context) -> Line:
    if statement.text.startswith("mute"):
        raise Drop("cannot be shouted")
    return Line(
        key=ctx.key,
        text=statement.text,
        upper=statement.text.upper(),
        notes={"length": str(len(statement.text))},
        provenance=_provenance(statement, ctx),
    )


async def capitals(statement: Statement, ctx: Context) -> Word:
    return Word(key=ctx.key, text=statement.text, upper=statement.text.upper(), provenance=_provenance(statement, ctx))


def slots(word: Word, prepared: Any) -> list[Slot]:
    return [{"times": "once"}, {"times": "twice"}]


async def echo(word: Word, slot: Slot, ctx: Context) -> Echo:
    times = str(slot["times"])
    said = " ".join([word.upper] * (2 if times == "twice" else 1))
    return Echo(key=ctx.key, text=word.text, echo=said, times=times, provenance=ctx.provenance(word))


async def shade(line: Line, ctx: Context) -> Shadow:
    return Shadow(key=ctx.key, line_id=line.id, text=f"Shadow of {line.text}", provenance=ctx.provenance(line))


def shaded(text: str) -> str:
    return text.removeprefix("Shadow of ")


def verify_lines(rows: Iterable[Line], ctx: VerifyContext) -> Iterator[Fault]:
    for row in rows:
        if row.upper != row.text.upper() or WRONG in row.text:
            yield Fault(id=row.id, problem="the capitals are not those of the text")


def verify_echoes(rows: Iterable[Echo], ctx: VerifyContext) -> Iterator[Fault]:
    known = {(word.text, word.upper) for word in ctx.rows("words")}
    for row in rows:
        if (row.text, row.echo.split(" ")[0]) not in known:
            yield Fault(id=row.id, problem="it echoes no word")


def verify_shadows(rows: Iterable[Shadow], ctx: VerifyContext) -> Iterator[Fault]:
    lines = {line.id for line in ctx.rows("lines")}
    for row in rows:
        if row.line_id not in lines:
            yield Fault(id=row.id, problem="its line is not there")


def _rubric(name: str) -> Rubric:
    return Rubric(
        name=name,
        version=1,
        title="Is it a line?",
        guideline="guideline.md",
        shows=(Shown(name="text"),),
        asks=(Choice(name="decision", question="Is it good?", options=("yes", "no"), accepts=("yes",)),),
        writes=(Written(name="upper", title="In capitals", corrects=True),),
    )


LINES, WORDS = _rubric("saying-lines"), _rubric("saying-words")
FAMILY = Family(
    name="saying",
    paper=Paper(title="On Saying", short="Saying", year=2026, authors="nobody"),
    settings=SayingSettings,
    prompts=(),
    parts=(
        Part(
            "lines",
            source=Statement,
            item=Line,
            steps=(each(shout),),
            people=sample(LINES),
            verify=verify_lines,
            released=Released("id", ("text",)),
        ),
        Part(
            "shadows",
            source=Line,
            item=Shadow,
            steps=(each(shade),),
            verify=verify_shadows,
            released=Released(
                "line_id",
                ("text",),
                rests_on=shaded,
                verification_inputs=("lines",),
            ),
        ),
        Part(
            "words",
            source=Statement,
            sources=("words",),
            item=Word,
            steps=(each(capitals),),
            people=every(WORDS),
            verify=verify_lines,
        ),
        Part(
            "echoes",
            source=Word,
            item=Echo,
            steps=(expand(echo, slots=slots, expected=Expected(slots=lambda settings: 2)),),
            verify=verify_echoes,
            released=Released("text", ("text",), configs=("times",), verification_inputs=("words",)),
        ),
    ),
    evaluation=Evaluation(("lines",), (), lambda row, settings: [], lambda row: row, lambda *a: ScoreTables.of({})),
    reads="lines",
    folder=Path(__file__).parent,
)
