"""Milliseconds a record of an `each` step that asks nothing, at several sizes, beside orjson writing the same records.

    python tests/bench/bench_stages.py [--records 25000 100000 400000]

Each size runs in a process of its own, shard after shard as a worker does. A step that costs the same for a record at
every size is linear. The peak of memory is that of the process.
"""

import argparse
import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.construct.counting import finish
from flows.construct.engine import Context, each
from flows.construct.preparing import shard_spans
from flows.construct.running import run_shard, run_source
from flows.construct.stages import SOURCE, StageRef
from schemas.source import Statement
from tests.toy import FAMILY, Word, toy_build


async def copy(statement: Statement, ctx: Context) -> Word:
    """The cheapest step: a record with provenance."""
    return Word(key=ctx.key, text=statement.text, upper=statement.text.upper(), provenance=ctx.provenance(statement))


async def _run(folder: Path, count: int) -> tuple[float, float, int]:
    build = toy_build(folder, [f"word{number}" for number in range(count)])
    part = replace(FAMILY.part("words"), steps=(each(copy),))
    build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=(part,)))
    source, ref = StageRef("toy", "words", SOURCE), StageRef("toy", "words", "copy")
    run_source(build, source)
    started = time.perf_counter()
    shards = [await run_shard(build, ref, index, *span) for index, span in enumerate(shard_spans(build, ref))]
    finish(build, ref, shards, planned=count, notes=())
    ours_s = time.perf_counter() - started
    records = [record.model_dump() for record in build.read(ref)]
    started = time.perf_counter()
    with (folder / "reference.jsonl").open("wb") as file:
        for record in records:
            file.write(orjson.dumps(record) + b"\n")
    reference_s = time.perf_counter() - started
    return ours_s, reference_s, len(list(Path(build.files(ref).folder).iterdir()))


def measure(count: int) -> tuple[float, float, int, float]:
    """Seconds of ours and of the reference, files of the stage, and the peak of memory in GB before the reference."""
    with tempfile.TemporaryDirectory() as folder:
        ours_s, reference_s, files = asyncio.run(_run(Path(folder), count))
    return ours_s, reference_s, files, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[25_000, 100_000, 400_000])
    for count in parser.parse_args().records:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            ours_s, reference_s, files, memory_gb = pool.apply(measure, [count])
        print(
            f"{count:,} records: {1000 * ours_s / count:.3f} ms a record, orjson {1000 * reference_s / count:.3f} ms, "
            f"ratio {ours_s / reference_s:.1f}; {files:,} files; {memory_gb:.2f} GB with the reference's copy",
            flush=True,
        )


if __name__ == "__main__":
    main()
