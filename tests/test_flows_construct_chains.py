"""Consecutive `each` and `expand` steps run as a chain: every record goes on at once, and each stage stays as it is."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flows.construct.engine import Context, Slot, StepContext, expand
from flows.construct.estimates import Expected
from flows.construct.preparing import UnfinishedInputs
from flows.construct.running import finished_shard, run_shard
from flows.construct.stages import Build, StageRef
from flows.llm.model import Prompt, Usage
from schemas.manifest import StageManifest
from schemas.source import Statement
from schemas.verdict import Verdict
from tests.toy import FAMILY, Echo, Word, echo, run_all, run_by_runner, run_stage, slots, toy_build

SOURCE, SHORTEN, SHOUTED = (StageRef("toy", "words", name) for name in ("source", "shorten", "shout"))
ECHOED = StageRef("toy", "echoes", "echo")
CHAIN = [SHOUTED, ECHOED]
WORDS = [*(chr(0x4E00 + number) for number in range(700)), "two words", "mute", "zebra", "?!"]


def content(build: Build) -> list[tuple[StageRef, StageManifest, list[Any], list[Any]]]:
    """Each stage without its shards: counts, notes, and every record kept or dropped in its order."""
    return [
        (
            ref,
            build.read(ref).manifest.model_copy(update={"shards": ()}),
            [*build.read(ref)],
            [*build.read(ref).dropped()],
        )
        for ref in (SOURCE, SHORTEN, SHOUTED, ECHOED)
    ]


def marks(build: Build, ref: StageRef) -> list[str]:
    return [shard.mark for shard in build.read(ref).manifest.shards]


def is_chain(build: Build) -> bool:
    """Return whether the last two stages were made together."""
    return marks(build, SHOUTED) == marks(build, ECHOED)


def with_echo(build: Build, step: Any) -> Build:
    """The build with another last step."""
    parts = (FAMILY.parts[0], replace(FAMILY.parts[1], steps=(step,)))
    build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=parts))
    return build


@pytest.fixture(scope="module")
def by_stage(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The build, stage after stage."""
    build = toy_build(tmp_path_factory.mktemp("stages"), WORDS, times=(1, 2, 3))
    asyncio.run(run_all(build))
    return build


def test_a_chain_makes_the_stages_that_its_steps_would_make_alone(tmp_path: Path, by_stage: Build) -> None:
    build = toy_build(tmp_path, WORDS, times=(1, 2, 3))
    run_by_runner(build)
    assert is_chain(build)
    assert len(marks(build, SHOUTED)) == 3
    assert content(build) == content(by_stage)


async def shout_all(statement: Statement, slot: Slot, ctx: Context) -> Statement:
    return statement


def test_a_chain_of_nothing_makes_empty_stages(tmp_path: Path) -> None:
    build = toy_build(tmp_path, ["two words"])
    run_by_runner(build)
    assert [build.read(ref).manifest.planned for ref in CHAIN] == [1, 0]
    nothing = expand(shout_all, slots=lambda statement, prepared: [], expected=Expected(slots=lambda settings: 0))
    build = toy_build(tmp_path, WORDS[:3], store="empty")
    parts = (replace(FAMILY.parts[0], steps=(nothing, *FAMILY.parts[0].steps[1:])), FAMILY.parts[1])
    build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=parts))
    run_by_runner(build)
    assert [build.read(ref).manifest.planned for ref in CHAIN] == [0, 0]


class Slow:
    """A model that answers `zebra` only after an event."""

    name = "slow"

    def __init__(self, waits_for: asyncio.Event | None = None) -> None:
        self.asked: list[str] = []
        self.waits_for = waits_for

    async def complete(self, prompt: Prompt[Any], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Any:
        text = str(inputs.model_dump()["text"])
        self.asked.append(text)
        if text == "zebra" and self.waits_for is not None:
            await asyncio.wait_for(self.waits_for.wait(), 10)
        return prompt.output.model_validate({"text": text.upper()})

    def identity(self) -> dict[str, object]:
        return {"model": "slow"}


def test_a_record_goes_on_while_another_waits_for_its_model(tmp_path: Path) -> None:
    echoed = asyncio.Event()

    async def tell(word: Word, slot: Slot, ctx: Context) -> Echo:
        echoed.set()
        return await echo(word, slot, ctx)

    tell.__annotations__["return"] = Echo
    step = expand(tell, slots=lambda word, prepared: [{"times": 1}], expected=Expected(slots=lambda settings: 1))
    build = with_echo(toy_build(tmp_path, ["zebra", "ant"], model=Slow(echoed)), step)
    run_by_runner(build)
    assert [word.text for word in build.read(StageRef("toy", "echoes", "tell"))] == ["ZEBRA", "ANT"]


def prepared_of_inputs(step: StepContext[Any, Word]) -> Sequence[int]:
    return [1, 2, len([*step.inputs])]


async def test_a_step_that_prepares_with_all_its_inputs_waits_for_them(tmp_path: Path) -> None:
    step = expand(echo, slots=slots, expected=Expected(slots=lambda settings: 3), prepare=prepared_of_inputs)
    alone, together = (with_echo(toy_build(tmp_path, WORDS[:5], store=name), step) for name in ("one", "two"))
    await run_all(alone)
    run_by_runner(together)
    assert not is_chain(together)
    assert content(together) == content(alone)


def test_a_step_that_reads_all_inputs_while_it_runs_is_told_so(tmp_path: Path) -> None:
    async def greedy(word: Word, slot: Slot, ctx: Context) -> Echo:
        assert len(ctx.step.inputs)
        raise AssertionError("it has read what is not finished")

    step = expand(greedy, slots=lambda word, prepared: [{}], expected=Expected(slots=lambda settings: 1))
    build = with_echo(toy_build(tmp_path, WORDS[:5]), step)
    with pytest.raises(UnfinishedInputs, match="toy echoes · greedy: only `prepare` may read all inputs"):
        run_by_runner(build)


def test_people_and_pilots_stand_between(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS[:5])
    run_by_runner(build)
    word = next(iter(build.read(SHOUTED)))
    verdict = Verdict(key=word.key, view_hash=word.view_hash, rubric="toy-words", decision="accept", by="a")
    asked = toy_build(tmp_path, WORDS[:5], store="asked", verdicts={word.key: verdict})
    run_by_runner(asked)
    assert not is_chain(asked)
    assert [*asked.read(ECHOED)] == [*build.read(ECHOED)]


async def test_a_finished_stage_is_no_part_of_a_chain(tmp_path: Path, by_stage: Build) -> None:
    build = toy_build(tmp_path, WORDS, times=(1, 2, 3))
    for ref in (SOURCE, SHORTEN, SHOUTED):
        await run_stage(build, ref)
    before = marks(build, SHOUTED)
    await asyncio.to_thread(run_by_runner, build)
    assert marks(build, SHOUTED) == before
    assert content(build) == content(by_stage)


async def test_a_chain_goes_on_from_the_shards_that_it_finished(tmp_path: Path) -> None:
    model = Slow()
    killed = toy_build(tmp_path, WORDS, model=model)
    for ref in (SOURCE, SHORTEN):
        await run_stage(killed, ref)
    for span in [(0, 100), (300, 500)]:
        await run_shard(killed, CHAIN, *span)
    finished = set(model.asked)
    model.asked.clear()
    build = toy_build(tmp_path, WORDS, model=model)
    await asyncio.to_thread(run_by_runner, build)
    assert len(finished) == 300
    assert finished.isdisjoint(model.asked)
    whole = toy_build(tmp_path, WORDS, model=Slow(), store="whole")
    await run_all(whole)
    assert content(build) == content(whole)


async def test_shards_count_for_the_chain_that_made_them(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS[:60])
    for ref in (SOURCE, SHORTEN):
        await run_stage(build, ref)
    first = await run_shard(build, CHAIN, 0, 20)
    assert finished_shard(build, CHAIN, 0) == first
    assert await run_shard(build, CHAIN, 0, 20) == first  # it was done
    assert build.files(ECHOED).spans() == []  # its own input records are others
    (alone,) = await run_shard(build, [SHOUTED], 20, 40)
    assert finished_shard(build, [SHOUTED], 20) == [alone]
    assert finished_shard(build, CHAIN, 20) is None
    again = await run_shard(build, CHAIN, 0, 30)  # another cut takes the place of the first
    assert finished_shard(build, CHAIN, 0) == again
    build.files(SHOUTED).finish_shard(first[0])  # by a builder on another machine
    assert finished_shard(build, CHAIN, 0) is None


@pytest.mark.slow
def test_a_kill_between_the_stages_of_a_chain_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Slow()
    killed = toy_build(tmp_path, WORDS, model=model)
    files = type(killed.files(SHOUTED))
    finish = files.finish

    finished: list[str] = []

    def finish_first(self: Any, manifest: StageManifest) -> None:
        if manifest.step in ("shout", "echo"):
            finished.append(manifest.step)
        if len(finished) == 2:
            raise KeyboardInterrupt
        finish(self, manifest)

    monkeypatch.setattr(files, "finish", finish_first)
    with pytest.raises(KeyboardInterrupt):
        run_by_runner(killed)
    monkeypatch.undo()
    asked = len(model.asked)
    build = toy_build(tmp_path, WORDS, model=model)
    run_by_runner(build)
    assert len(model.asked) == asked
    assert is_chain(build)
    whole = toy_build(tmp_path, WORDS, model=model, store="whole")
    run_by_runner(whole)
    assert content(build) == content(whole)
