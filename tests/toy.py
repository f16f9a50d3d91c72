"""A family of a few lines, to show what the engine does without any paper's method."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from data.sources import SourceSpec
from data.store import Store
from flows.construct.counting import finish
from flows.construct.embed import FloatMatrix
from flows.construct.engine import (
    Context,
    Drop,
    Family,
    Paper,
    Part,
    RecordStep,
    SetContext,
    SetStep,
    Slot,
    StepContext,
    all_,
    each,
    expand,
)
from flows.construct.estimates import Expected
from flows.construct.evaluation import Evaluation
from flows.construct.files_step import FilesStep
from flows.construct.people import every
from flows.construct.preparing import prepared_step, row_files
from flows.construct.records import Records
from flows.construct.runner import Runner
from flows.construct.running import run_file, run_people, run_set, run_shard, run_source
from flows.construct.settings import FamilySettings
from flows.construct.stages import SOURCE, Build, FamilyBuild, StageRef
from flows.construct.verification import Fault, VerifyContext
from flows.llm.model import Invalid, Model, Prompt, Text
from flows.llm.rules import Rules
from flows.scoring.tables import ScoreTables
from schemas.base import Frozen, Provenance, Record
from schemas.manifest import ShardManifest
from schemas.rubric import Choice, Rubric, Shown, Written
from schemas.source import Statement
from schemas.verdict import Verdict


class Word(Record):
    DEFINES: ClassVar[tuple[str, ...]] = ("text", "upper")
    text: str
    upper: str
    provenance: Provenance


class Echo(Record):
    DEFINES: ClassVar[tuple[str, ...]] = ("text", "times", "neighbours")
    text: str
    times: int
    neighbours: int
    provenance: Provenance


class ToShout(Frozen):
    text: str


class ToySettings(FamilySettings):
    sources: tuple[SourceSpec, ...] = ()
    more_sources: tuple[SourceSpec, ...] = ()
    times: tuple[int, ...] = Field((1, 2), description="How often")
    unrelated: int = 0

    @property
    def longest(self) -> int:
        return max(self.times)


HERE = Path(__file__).parent
SHOUT = Prompt("toy_shout", 1, Text, HERE / "templates", inputs=ToShout)


async def shorten(records: Records[Statement], ctx: SetContext) -> AsyncIterator[Statement]:
    seen: dict[str, str] = {}
    for record in records:
        first = record.text[0]
        if first in seen:
            ctx.drop(record, Drop("same first letter", related_id=seen[first], value=1.0))
        else:
            seen[first] = record.id
            yield record


async def shout(statement: Statement, ctx: Context) -> Word:
    if " " in statement.text:
        raise Drop("more than one word", evidence=statement.text)
    answer = await ctx.ask(SHOUT, ToShout(text=statement.text))
    sources = [statement.source] if statement.source else []
    return Word(
        key=ctx.key, text=statement.text, upper=answer.text, provenance=ctx.provenance(statement, sources=sources)
    )


def slots(word: Word, prepared: Any) -> list[Slot]:
    return [{"times": times} for times in prepared]


async def echo(word: Word, slot: Slot, ctx: Context) -> Echo:
    times = int(slot["times"])
    if times > 2 and word.text.startswith("z"):
        raise Drop("z is said twice at most")
    return Echo(
        key=ctx.key,
        text=word.upper * times,
        times=times,
        neighbours=ctx.random(word.key).randrange(1000),
        provenance=ctx.provenance(word),
    )


def prepare(step: StepContext) -> tuple[int, ...]:
    times: tuple[int, ...] = step.settings.times
    return times


def verify_nothing(rows: Iterable[Any], ctx: VerifyContext) -> Iterator[Fault]:
    yield from ()


WORDS = Rubric(
    name="toy-words",
    version=1,
    guideline="guideline.md",
    shows=(Shown(name="text"),),
    asks=(Choice(name="decision", question="Is it a word?", options=("yes", "no"), accepts=("yes",)),),
    writes=(Written(name="upper", title="In capitals", corrects=True),),
)
FAMILY = Family(
    name="toy",
    paper=Paper(title="Toy", short="toy", year=2026, authors="nobody"),
    settings=ToySettings,
    prompts=(SHOUT,),
    parts=(
        Part(
            "words",
            source=Statement,
            item=Word,
            steps=(all_(shorten), each(shout, prompts=[SHOUT])),
            people=every(WORDS),
            verify=verify_nothing,
        ),
        Part(
            "echoes",
            source=Word,
            item=Echo,
            steps=(
                expand(
                    echo,
                    slots=slots,
                    expected=Expected(slots=lambda settings: len(settings.times)),
                    prepare=prepare,
                    settings=["times"],
                ),
            ),
            verify=verify_nothing,
        ),
    ),
    evaluation=Evaluation(
        ("words", "echoes"), (), lambda row, settings: [], lambda row: row, lambda *args: ScoreTables.of({})
    ),
    reads="words",
    folder=HERE,
)


class NoEmbedder:
    name = "none"

    def embed(self, texts: Any) -> FloatMatrix:
        raise AssertionError("the toy family embeds nothing")


def shout_by_rule(inputs: ToShout, rng: Any) -> Text:
    if inputs.text == "mute":
        raise Invalid("cannot be shouted", inputs.text)
    return Text(text=inputs.text.upper())


def toy_build(
    folder: Path,
    words: Iterable[str],
    *,
    store: str = "store",
    seed: int = 1,
    limit: int | None = None,
    verdicts: Mapping[str, Verdict] | None = None,
    model: Model | None = None,
    **settings: Any,
) -> Build:
    """A build of the toy family over `words`, whose store is `folder/store`."""
    source = folder / "words.jsonl"
    with source.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"text": "{word}"}}\n' for word in words)
    spec = SourceSpec(format="jsonl", path=str(source), fields={"text": "text"})
    chosen = ToySettings(sources=(spec,), **settings)
    rules = model or Rules({"toy_shout": shout_by_rule}, seed)
    return Build(
        [FamilyBuild(FAMILY, chosen, {SHOUT.name: SHOUT}, {"builder": rules})],
        store=Store(str(folder / store)),
        seed=seed,
        limit=limit,
        embedder=NoEmbedder(),
        verdicts=lambda family, part: (verdicts or {}) if part == "words" else {},
    )


async def run_stage(build: Build, ref: StageRef, order: int = 1) -> None:
    """Run one stage; `order` -1 runs its shards backwards."""
    step = build.step(ref)
    if build.manifest(ref) is not None:
        return
    if step is None:
        run_source(build, ref) if ref.step == SOURCE else run_people(build, ref)
    elif isinstance(step, SetStep):
        await run_set(build, ref, lambda done, total: None)
    else:
        if isinstance(step, FilesStep):
            files = list(enumerate(row_files(build, ref)))
            shards = [run_file(build, ref, index, file) for index, file in files[::order]]
        else:
            shards = [shard for span in spans(build, ref)[::order] for shard in await run_shard(build, [ref], *span)]
        finish(build, ref, sorted(shards, key=lambda shard: shard.index))


def spans(build: Build, ref: StageRef, records: int = 256) -> list[tuple[int, int]]:
    """(start, stop) of shards of equal size."""
    prepared_step(build, ref, RecordStep)
    total = len(build.inputs(ref))
    return [(start, min(start + records, total)) for start in range(0, total, records)]


async def run_all(build: Build, order: int = 1) -> None:
    """Run every stage of a build, without Prefect."""
    for family, part in build.parts():
        for ref in build.stages(family, part):
            await run_stage(build, ref, order)


class InThisProcess:
    """An executor without models: shards run on an event loop, as they do in a worker."""

    at_once, workers, stopped = 8, 1, False

    def __init__(self, build: Build) -> None:
        self._build = build
        self._loop = asyncio.new_event_loop()
        self._work: list[Future[list[ShardManifest]]] = []
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def load(self, ref: StageRef) -> None: ...

    def stop(self) -> None:
        for future in self._work:
            future.cancel()

    def submit(self, piece: Any) -> "Future[list[ShardManifest]]":
        work = run_shard(self._build, piece.chain, piece.start, piece.stop)
        self._work.append(asyncio.run_coroutine_threadsafe(work, self._loop))
        return self._work[-1]

    def run_whole(self, ref: StageRef, progress: Callable[[int, int], None]) -> None:
        if self._build.step(ref) is None:
            run_source(self._build, ref) if ref.step == SOURCE else run_people(self._build, ref)
        else:
            asyncio.run(run_set(self._build, ref, progress))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


def run_by_runner(build: Build, refs: Iterable[StageRef] | None = None) -> None:
    """Run stages of a build, or all, as a build does: stages that can run as chains do."""
    executor = InThisProcess(build)
    refs = [ref for family, part in build.parts() for ref in build.stages(family, part)] if refs is None else refs
    try:
        Runner(build, executor, lambda name, waits: nullcontext()).run(refs)
    finally:
        executor.close()
