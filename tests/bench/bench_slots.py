"""Seconds that a step with one slot a record takes, beside its model's calls alone.

    python tests/bench/bench_slots.py [--records 2048]

The model sleeps 50 ms and lets 64 in at once, as an endpoint does. The reference sends the same calls by
`asyncio.gather` and nothing else; ours runs the stage, shard by shard: keys, provenance, counts and files.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.construct.counting import finish
from flows.construct.engine import Context, Slot, expand
from flows.construct.estimates import Expected
from flows.construct.running import run_shard, run_source
from flows.construct.stages import SOURCE, Build, StageRef
from flows.llm.model import Out, Prompt, Usage
from schemas.manifest import ShardManifest
from schemas.source import Statement
from tests.toy import FAMILY, SHOUT, ToShout, Word, shout, spans, toy_build

SLEEP_S = 0.05
CONCURRENCY = 64
SHARDS = 8
REQUIRED = 0.5


class Sleeper:
    """A model that takes its time."""

    name = "sleeper"

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(CONCURRENCY)

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        async with self.places:
            await asyncio.sleep(SLEEP_S)
        usage.add(Usage(calls=1))
        assert isinstance(inputs, ToShout)
        return prompt.output.model_validate({"text": inputs.text.upper()})

    def identity(self) -> dict[str, object]:
        return {"model": self.name}


async def shout_at(statement: Statement, slot: Slot, ctx: Context) -> Word:
    """The toy's step, with a slot."""
    return await shout(statement, ctx)


def build_of(folder: Path, count: int) -> Build:
    """A build of so many words, made by one step with one slot a record."""
    step = expand(
        shout_at, slots=lambda record, prepared: [{}], expected=Expected(slots=lambda settings: 1), prompts=[SHOUT]
    )
    build = toy_build(folder, [f"word{number}" for number in range(count)], model=Sleeper())
    part = replace(FAMILY.part("words"), steps=(step,))
    build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=(part,)))
    return build


async def bare(count: int) -> float:
    """Seconds of the calls alone."""
    model, usage = Sleeper(), Usage()
    started = time.perf_counter()
    await asyncio.gather(*(model.complete(SHOUT, ToShout(text=str(n)), usage=usage) for n in range(count)))
    return time.perf_counter() - started


async def ours(build: Build) -> float:
    """Seconds of the stage, some shards at once."""
    ref = StageRef("toy", "words", "shout_at")
    run_source(build, StageRef("toy", "words", SOURCE))
    started = time.perf_counter()
    room = asyncio.Semaphore(SHARDS)

    async def shard(span: tuple[int, int]) -> ShardManifest:
        async with room:
            return (await run_shard(build, [ref], *span))[0]

    shards = await asyncio.gather(*(shard(span) for span in spans(build, ref)))
    finish(build, ref, shards)
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=2048)
    count = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        alone, stage = asyncio.run(bare(count)), asyncio.run(ours(build_of(Path(folder), count)))
    one_by_one = count * SLEEP_S
    print(f"{count} records, {CONCURRENCY} calls of {SLEEP_S * 1000:.0f} ms at once: calls alone {alone:.2f} s")
    print(f"the stage {stage:.2f} s; one record after the other {one_by_one:.0f} s and more")
    print(f"ratio {alone / stage:.2f}, required {REQUIRED}")
    return 0 if alone / stage >= REQUIRED else 1


if __name__ == "__main__":
    sys.exit(main())
