"""How a stage is cut into shards, and how the records of a shard stream through it."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from data import seen, stage_files
from data.seen import Seen
from data.stage_files import StageFiles
from data.store import Store, StoreError
from flows.construct.counting import finish
from flows.construct.engine import RecordStep
from flows.construct.preparing import prepared_step
from flows.construct.running import SET_SHARD_RECORDS, SetWriter, in_order, run_shard
from flows.construct.spans import FIRST_RECORDS, LEAST_RECORDS, MOST_S, MOST_SHARDS, FilesLeft, Spans
from flows.construct.stages import StageRef
from schemas.base import key_of
from schemas.source import Statement
from tests.toy import run_all, run_stage, toy_build

SOURCE, SHORTEN, SHOUTED = (StageRef("toy", "words", name) for name in ("source", "shorten", "shout"))
Cut = list[tuple[int, int]]


def cut(
    total: int, record_s: float, *, workers: int = 1, at_once: int = 8, asks: bool = False, done: Cut | None = None
) -> Cut:
    """The shards of a stage whose workers take so long for a record, in the order of the records."""
    of_workers = cut_by_worker(total, record_s, workers=workers, at_once=at_once, asks=asks, done=done)
    return sorted(shard for shards in of_workers for shard in shards)


def cut_by_worker(
    total: int, record_s: float, *, workers: int = 2, at_once: int = 8, asks: bool = False, done: Cut | None = None,
    slower: float = 1.0,
) -> list[Cut]:  # fmt: skip
    """The shards of each worker, in the order in which they begin; the first worker is slower by a factor."""
    now, running = 0.0, []
    shards: list[Cut] = [[] for _ in range(workers)]
    spans = Spans(total, done or [], at_once=at_once, workers=workers, asks=asks, clock=lambda: now)
    free = [0.0] * workers
    while True:
        while len(running) < at_once:
            worker = min(range(workers), key=lambda worker: sum(other == worker for _, other, _ in running))
            if (span := spans.take(worker)) is None:
                break
            shards[worker].append(span)
            taken_s = record_s * (span[1] - span[0]) * (1.0 if worker else slower)
            free[worker] = max(free[worker], now) + taken_s
            running.append((free[worker], worker, span))
        if not running:
            return shards
        running.sort()
        now, _, (start, stop) = running.pop(0)
        spans.finished(stop - start)


def sizes(shards: Cut) -> list[int]:
    return [stop - start for start, stop in shards]


@pytest.mark.parametrize("total", [0, 1, 255, 256, 257, 5_000, 100_000, 10_000_000])
@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("record_s", [1e-5, 1e-2, 10.0])
def test_shards_are_few_and_hold_every_record_once(total: int, workers: int, record_s: float) -> None:
    shards = cut(total, record_s, workers=workers)
    assert [record for start, stop in shards for record in (start, stop)][1:-1:2] == [stop for _, stop in shards[:-1]]
    assert sum(sizes(shards)) == total
    assert len(shards) <= MOST_SHARDS


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_each_worker_goes_on_where_it_stopped(workers: int) -> None:
    shards = cut_by_worker(10_000, 0.01, workers=workers)
    jumps = sum(before[1] != after[0] for of_worker in shards for before, after in pairwise(of_worker))
    assert jumps <= 2 * workers
    assert sum(sum(sizes(of_worker)) for of_worker in shards) == 10_000


def test_a_worker_that_is_done_takes_half_of_what_a_slower_one_has_left() -> None:
    slow, fast = cut_by_worker(10_000, 0.01, slower=3.0)
    assert slow[0][0] == 0
    assert max(stop for _, stop in slow) < 5_000
    assert sum(sizes(fast)) == pytest.approx(7_500, rel=0.1)


def test_files_of_a_group_stay_with_a_worker_that_then_helps_others() -> None:
    left = FilesLeft(["a", "b", "a", "b", "a", "b"])
    assert [left.take(worker) for worker in (0, 1, 0, 1, 0, 0, 1)] == [5, 4, 3, 2, 1, 0, None]
    alone = FilesLeft(["a", "b", "a"])
    assert [alone.take(0) for _ in range(4)] == [2, 0, 1, None]


def test_a_process_alone_has_few_shards_and_several_share_the_work() -> None:
    assert cut(FIRST_RECORDS, 1.0) == [(0, FIRST_RECORDS)]
    shared = cut(120, 1.0, workers=2)
    assert sizes(shared)[0] == 15
    assert min(sizes(shared)) <= 3
    assert len(cut(120, 1e-3, workers=2)) < len(shared)  # later shards are not worth a task each


def test_shards_that_wait_for_a_slow_model_keep_it_busy() -> None:
    assert sizes(cut(1_000, 5.0, workers=2, asks=True)) == [256, 256, 256, 232]
    assert sizes(cut(124, 5.0, workers=2, asks=True)) == [62, 62]
    assert min(sizes(cut(2_300, 1.0))[:-1]) == LEAST_RECORDS


def test_a_shard_takes_no_longer_than_a_killed_worker_may_lose() -> None:
    assert max(sizes(cut(8_000, 0.01))[8:]) <= MOST_S / 0.01 / 8 + 1
    assert max(sizes(cut(4_000_000, 0.01))) > MOST_S / 0.01  # where the number of files counts more


def test_after_kills_only_the_gaps_are_cut() -> None:
    done: Cut = []
    for _ in range(5):
        shards = sorted([*done, *cut(10_000, 0.01, workers=2, done=done)])
        assert sum(sizes(shards)) == 10_000
        assert all(before[1] == after[0] for before, after in pairwise(shards))
        done = shards[1::2]
    assert cut(100, 1.0, done=[(0, 10), (40, 90)]) == [(10, 40), (90, 100)]


async def test_results_come_in_order_from_a_bounded_window() -> None:
    running, most, taken = 0, 0, []

    async def attempt(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002 * (number % 5))
        running -= 1
        return number

    await in_order((attempt(number) for number in range(50)), 7, taken.append)
    assert taken == list(range(50))
    assert 1 < most <= 7


async def test_the_first_failure_ends_the_others_wherever_it_is() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("waited")

    async def fails() -> None:
        await asyncio.sleep(0.01)
        raise ValueError("the last of three")

    with pytest.raises(ValueError, match="the last of three"):
        await asyncio.wait_for(in_order((work() for work in (waits, waits, fails)), 8, lambda _: None), 10)
    assert ended == ["waited", "waited"]


def statement(number: int) -> Statement:
    return Statement(key=key_of("toy", "words", str(number)), text=f"statement {number} {'x' * (number % 50)}")


def test_the_shards_of_a_set_grow(tmp_path: Path) -> None:
    files = StageFiles(Store(str(tmp_path)), "f", "p", "s", "0" * 16)
    total = 20 * SET_SHARD_RECORDS
    with SetWriter(files) as writer:
        for number in range(total):
            writer.keep(statement(number))
    shards = writer.finish({})
    counts = [shard.kept for shard in shards]
    assert sum(counts) == total
    assert counts[:-1] == sorted(counts[:-1])
    assert counts[0] == SET_SHARD_RECORDS < counts[-2]
    assert len(list(Path(files.folder).iterdir())) == 2 * len(shards)  # no file for drops: there are none


def test_hashes_seen_before_are_known_over_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MOST_RECENT", 8)
    hashes, records = Seen(), [statement(number) for number in range(500)]
    for record in records:
        assert hashes.get(record.key) is None
        hashes.add({record.key: record.id})
    assert [hashes.get(record.key) for record in records] == [record.id for record in records]
    assert hashes.get(statement(500).key) is None
    assert hashes.known([record.key for record in [*records, statement(500)]]) == {
        record.key: record.id for record in records
    }


@pytest.mark.parametrize("block", [1, 7, 64, 2**20])
def test_lines_are_read_over_the_ends_of_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(stage_files, "BLOCK_BYTES", block)
    files = StageFiles(Store(str(tmp_path)), "f", "p", "s", "0" * 16)
    with SetWriter(files) as writer:
        for number in range(30):
            writer.keep(statement(number))
    (shard,) = writer.finish({})
    path = files.kept(shard)
    lines = Path(path).read_bytes().splitlines()
    for start, stop in [(0, 30), (0, 1), (7, 20), (29, 30), (12, 12), (25, 99)]:
        assert list(files.lines(path, shard.kept_sha256, start, stop)) == lines[start:stop]
    Path(path).write_bytes(Path(path).read_bytes().replace(b"statement 29", b"statement 92"))
    with pytest.raises(StoreError, match="damaged"):
        list(files.lines(path, shard.kept_sha256, 0, 1))


async def test_shards_of_two_builds_that_cut_a_stage_in_two_ways_make_a_stage(tmp_path: Path) -> None:
    words = [chr(0x4E00 + number) for number in range(60)]
    whole = toy_build(tmp_path, words, store="whole")
    await run_all(whole)
    one, other = (toy_build(tmp_path, words, store="shared") for _ in range(2))
    for ref in (SOURCE, SHORTEN):
        await run_stage(one, ref)
    for build in (one, other):
        prepared_step(build, SHOUTED, RecordStep)
    mine = [shard for span in [(0, 20), (40, 60)] for shard in await run_shard(one, [SHOUTED], *span)]
    await run_shard(other, [SHOUTED], 0, 30)
    await run_shard(other, [SHOUTED], 30, 45)
    left = [(shard.index, shard.stop) for shard in one.files(SHOUTED).spans()]
    assert left == [(0, 30), (30, 45)]  # 40 to 60 says another thing of 40 to 45
    assert cut(60, 1.0, done=left) == [(45, 60)]
    mine.extend(await run_shard(one, [SHOUTED], 20, 40))
    finish(one, SHOUTED, sorted(mine, key=lambda shard: shard.index))
    assert list(toy_build(tmp_path, words, store="shared").read(SHOUTED)) == list(whole.read(SHOUTED))


async def test_a_half_made_stage_of_an_earlier_layout_is_made_again(tmp_path: Path) -> None:
    build = toy_build(tmp_path, [chr(0x4E00 + number) for number in range(40)])
    for ref in (SOURCE, SHORTEN):
        await run_stage(build, ref)
    (shard,) = await run_shard(build, [SHOUTED], 0, 20)
    build.files(SHOUTED).finish_shard(shard.model_copy(update={"stop": None}))
    assert build.files(SHOUTED).spans() == []


def test_a_folder_that_is_not_there_has_no_shards(tmp_path: Path) -> None:
    assert StageFiles(Store(str(tmp_path)), "f", "p", "s", "0" * 16).spans() == []
