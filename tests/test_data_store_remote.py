"""Stage files in an object store: what two writers leave, and what faults on the way leave."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import fsspec
import pytest

from data.stage_files import ShardWriter, StageFiles
from data.store import Store, StoreError
from schemas.source import Statement
from tests.s3 import BUCKET, SECRET, Faults, S3Server

pytestmark = [
    pytest.mark.skipif(find_spec("s3fs") is None, reason="the s3 extra is not installed"),
    pytest.mark.skipif(find_spec("moto") is None, reason="the dev extra is not installed"),
]
URL = f"s3://{BUCKET}/test"


def statement(number: int) -> Statement:
    return Statement(key=str(number), text=f"Statement {number}.")


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    fsspec.filesystem("s3").clear_instance_cache()
    with S3Server(getattr(request, "param", None)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server
    fsspec.filesystem("s3").clear_instance_cache()


def test_a_file_that_is_broken_off_leaves_nothing_and_needs_no_other_name(server: S3Server) -> None:
    store = Store(URL)

    def half() -> None:
        with store.writing(f"{store.root}/a") as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert server.puts() == []
    store.write(f"{store.root}/a", b"whole")
    assert (store.read(f"{store.root}/a"), store.read(f"{store.root}/b")) == (b"whole", None)
    assert server.puts() == [f"/{BUCKET}/test/a"]


@pytest.mark.slow
def test_a_file_of_many_parts_comes_back_as_it_was(server: S3Server) -> None:
    store, content = Store(URL), bytes(range(256)) * (110 * 2**12)
    store.write(f"{store.root}/long", content)
    assert len(server.puts()) > 1
    assert store.read(f"{store.root}/long") == content


def test_what_one_worker_writes_another_sees_at_once(server: S3Server) -> None:
    one, other = (StageFiles(Store(URL), "f", "p", "s", "0" * 16) for _ in range(2))
    assert one.shard(0) is None
    with ShardWriter(other, 0) as writer:
        writer.keep(statement(1))
    made = writer.finish(1, {})
    assert one.shard(0) == made


@pytest.mark.parametrize("url", [URL, "memory://two-writers", "local"])
def test_two_writers_of_one_shard_leave_one_whole_shard(
    server: S3Server, tmp_path_factory: pytest.TempPathFactory, url: str
) -> None:
    """A worker that was taken for dead writes on beside the one in its place, and their models answered differently."""
    store = Store(str(tmp_path_factory.mktemp("store")) if url == "local" else url)
    files = StageFiles(store, "f", "p", "s", "0" * 16)
    with ShardWriter(files, 0) as taken_for_dead, ShardWriter(files, 0) as in_its_place:
        taken_for_dead.keep(statement(1))
        in_its_place.keep(statement(2))
    first = in_its_place.finish(1, {})
    assert [*files.lines(files.kept(first), first.kept_sha256)]
    last = taken_for_dead.finish(1, {})
    assert files.shard(0) == last
    for shard in (first, last):  # a stage that was finished on the first manifest stays true, too
        (line,) = files.lines(files.kept(shard), shard.kept_sha256)
        assert Statement.model_validate_json(line) == statement(2 if shard is first else 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "server",
    [
        Faults(
            seed=1,
            unavailable=0.06,
            broken=0.06,
            upload_cut=0.06,
            dropped=0.05,
            answer_lost=0.05,
            answer_cut=0.05,
            slow_s=0.5,
        )
    ],
    indirect=True,
)
def test_faults_on_the_way_lose_nothing(server: S3Server) -> None:
    files = StageFiles(Store(URL), "f", "p", "s", "0" * 16)
    for index in range(12):
        with ShardWriter(files, index) as writer:
            for number in range(20):
                writer.keep(statement(100 * index + number))
        writer.finish(20, {})
    for index in range(12):
        shard = files.shard(index)
        assert shard is not None
        lines = files.lines(files.kept(shard), shard.kept_sha256)
        assert [Statement.model_validate_json(line) for line in lines] == [
            statement(100 * index + number) for number in range(20)
        ]
    for fault in ("unavailable", "broken", "upload_cut", "dropped", "answer_lost", "answer_cut"):
        assert server.done[fault], fault


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["unavailable", "broken", "upload_cut", "dropped"])
def test_a_store_that_breaks_down_in_the_middle_is_one_line_and_what_was_whole_is_kept(
    server: S3Server, fault: str
) -> None:
    files = StageFiles(Store(URL), "f", "p", "s", "0" * 16)

    def write(start: int) -> None:
        with ShardWriter(files, start, start + 1) as writer:
            writer.keep(statement(start))
        writer.finish(1, {})

    write(0)
    server.faults = replace(server.faults, **{fault: 1.0})
    with pytest.raises(StoreError, match=r"the store refuses .* run again: finished work is kept") as caught:
        write(1)
    assert "\n" not in str(caught.value)
    server.faults = Faults()
    assert [shard.index for shard in files.spans()] == [0], "half a shard is none"
    write(1)
    for shard in files.spans():
        (line,) = files.lines(files.kept(shard), shard.kept_sha256)
        assert Statement.model_validate_json(line) == statement(shard.index)


def test_what_a_store_refuses_is_one_line_without_a_secret(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for url, environment in (
        ("s3://nowhere/x", {}),
        (URL, {"AWS_ACCESS_KEY_ID": "AKIAOTHER"}),
        (URL, {"AWS_ENDPOINT_URL": f"http://me:{SECRET}@127.0.0.1:9"}),
    ):
        fsspec.filesystem("s3").clear_instance_cache()
        with monkeypatch.context() as changed:
            for name, value in environment.items():
                changed.setenv(name, value)
            with pytest.raises(StoreError) as caught:
                Store(url).probe()
        said.append(str(caught.value))
    assert "'nowhere' does not exist" in said[0]
    assert "correct the key" in said[1]
    assert "check that it is up" in said[2]
    assert not any(SECRET in one or "\n" in one for one in said)
