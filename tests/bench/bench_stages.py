"""Processor time a record of stages that ask nothing, at several sizes, beside orjson writing the same records.

    python tests/bench/bench_stages.py [--records 100000 400000 1000000]

Each size runs in a process of its own, by the runner of stages: a source that is read, an `each`, an `expand` with two
slots, and an `all_` step that passes everything on. A stage that costs the same for a record at every size is linear.
The peak of memory is that of the process.
"""

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.construct.engine import Context, SetContext, Slot, all_, each, expand
from flows.construct.estimates import Expected
from flows.construct.records import Records
from flows.construct.stages import SOURCE, Build, StageRef
from schemas.source import Statement
from tests.toy import FAMILY, Word, run_by_runner, toy_build

STAGES = [StageRef("toy", "words", step) for step in (SOURCE, "copy", "double", "pass_on")]


async def copy(statement: Statement, ctx: Context) -> Word:
    """The cheapest `each`: a record with provenance."""
    return Word(key=ctx.key, text=statement.text, upper=statement.text.upper(), provenance=ctx.provenance(statement))


async def double(word: Word, slot: Slot, ctx: Context) -> Word:
    """The cheapest `expand`."""
    return word.revised(key=ctx.key, text=f"{word.text} {slot['time']}")


async def pass_on(words: Records[Word], ctx: SetContext) -> AsyncIterator[Word]:
    """The cheapest `all_`."""
    for word in words:
        yield word


STEPS = (each(copy), expand(double, slots=lambda word, prepared: [{"time": 1}, {"time": 2}],
                            expected=Expected(slots=lambda settings: 2)), all_(pass_on))  # fmt: skip


def _reference_s(build: Build, ref: StageRef, folder: Path) -> float:
    """Processor seconds of orjson for the records of a stage."""
    seconds = 0.0
    with (folder / "reference.jsonl").open("wb") as file:
        records = iter(build.read(ref))
        while values := [record.model_dump() for record in islice(records, 10_000)]:
            started = time.process_time()
            for record in values:
                file.write(orjson.dumps(record) + b"\n")
            seconds += time.process_time() - started
    return seconds


def measure(count: int) -> list[str]:
    """Build and describe each stage."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = toy_build(folder, (f"word{number}" for number in range(count)))
        part = replace(FAMILY.part("words"), steps=STEPS)
        build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=(part,)))
        for ref in STAGES:
            started = time.process_time()
            run_by_runner(build, [ref])
            seconds = time.process_time() - started
            records = len(build.read(ref))
            files = len(list(Path(build.files(ref).folder).iterdir()))
            memory_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            ratio = seconds / _reference_s(build, ref, folder)
            lines.append(f"{ref.step:<8} {records:>10,} records {1000 * seconds / records:.4f} ms a record, "
                         f"{ratio:4.1f} times orjson, {files:>3} files, {memory_gb:.2f} GB so far")  # fmt: skip
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 400_000, 1_000_000])
    for count in parser.parse_args().records:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(*pool.apply(measure, [count]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
