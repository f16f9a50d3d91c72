"""Several machines and one store: an S3 server on loopback, and Dask workers that share nothing else."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.project.settings import packaged
from tests.builds import begun, bytes_of, touchstone, wait_for, write_config
from tests.clusters import Cluster
from tests.s3 import BUCKET, SECRET, Faults, S3Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_spec("s3fs") is None, reason="the s3 extra is not installed"),
    pytest.mark.skipif(find_spec("distributed") is None, reason="the dask extra is not installed"),
    pytest.mark.skipif(find_spec("moto") is None, reason="the dev extra is not installed"),
]

SAMPLES = ("sample.yaml", "reeval.yaml", "lveval.yaml", "charpeval.yaml")
REMOTE = {"store": f"s3://{BUCKET}/builds/test", "runner": "dask"}


def files_below(folder: Path) -> Iterator[Path]:
    """Every file of a folder."""
    return (path for path in folder.rglob("*") if path.is_file())


def families_of_all_samples() -> dict[str, Any]:
    """What the packaged samples build, with the paths of their sources made absolute."""

    def placed(value: Any) -> Any:
        if isinstance(value, list):
            return [placed(one) for one in value]
        if isinstance(value, dict):
            return {key: str(packaged(one)) if key == "path" else placed(one) for key, one in value.items()}
        return value

    families: dict[str, Any] = {}
    for name in SAMPLES:
        families |= placed(yaml.safe_load(packaged(name).read_text())["families"])
    return families


def test_two_workers_and_a_bucket_make_the_bytes_of_one_process(tmp_path: Path) -> None:
    families = families_of_all_samples()
    run = ("run", "--out", "out", "--limit", "8")
    here = write_config(tmp_path / "here", families=families)
    done = touchstone(*run, here, folder=here.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = bytes_of(here.parent / "out")
    assert {name.split("/")[1].split("-")[0] for name in expected} == set(families)
    vectors = here.parent / ".touchstone" / "embeddings.sqlite"
    with S3Server() as server:
        shared = server.environment
        with Cluster(tmp_path / "cluster", shared, vectors=vectors) as cluster:
            there = write_config(tmp_path / "there", families=families, **REMOTE)
            cluster_of = {**shared, "DASK_SCHEDULER_ADDRESS": cluster.address}
            done = touchstone(*run, there, folder=there.parent, **cluster_of)
            assert done.returncode == 0, done.stdout + done.stderr
            assert bytes_of(there.parent / "out") == expected
            assert all("distributed.touchstone" in cluster.log(number) for number in (0, 1))
            # Nothing changed: the stages are found in the bucket, and no worker is asked.
            puts = server.asked["PUT"]
            again = touchstone(*run, there, folder=there.parent, **cluster_of)
            assert again.returncode == 0, again.stdout + again.stderr
            assert server.asked["PUT"] <= puts + 1, "more than the look whether the store can be written to"
        said = done.stdout + done.stderr + cluster.log(0) + cluster.log(1)
    assert SECRET not in said
    assert not [path for path in files_below(tmp_path) if SECRET.encode() in path.read_bytes()]


def test_a_killed_worker_and_a_store_that_falters_change_no_byte(tmp_path: Path) -> None:
    families = {"uraq": {"statements": 40, "context_counts": list(range(1, 31))}}
    here = write_config(tmp_path / "here", families=families)
    done = touchstone("run", here, "--out", "out", folder=here.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    faults = Faults(seed=5, unavailable=0.06, dropped=0.03, answer_lost=0.03, answer_cut=0.03)
    vectors = here.parent / ".touchstone" / "embeddings.sqlite"
    with S3Server(faults) as server:
        shared = server.environment
        with Cluster(tmp_path / "cluster", shared, vectors=vectors) as cluster:
            there = write_config(tmp_path / "there", families=families, **REMOTE)
            printed = [tmp_path / name for name in ("stdout", "stderr")]
            process = begun(
                "run", there, "--out", "out", folder=there.parent, out=printed[0], err=printed[1],
                **shared, DASK_SCHEDULER_ADDRESS=cluster.address,
            )  # fmt: skip

            def first_upload_of_the_last_stage() -> bool:
                """One worker is between a shard's records and its manifest by then, the other in the middle of one."""
                return process.poll() is not None or any("arrange_contexts" in path for path in server.puts())

            wait_for(first_upload_of_the_last_stage, 300)
            assert process.poll() is None
            cluster.kill(0)
            status = process.wait(300)
            said = "".join(path.read_text() for path in printed)
            assert status == 0, said
            assert bytes_of(there.parent / "out") == bytes_of(here.parent / "out")
            assert all(server.done[fault] for fault in ("unavailable", "dropped", "answer_lost", "answer_cut"))
        assert "arrange contexts" in cluster.log(1), "the other worker went on"
        assert SECRET not in said + cluster.log(0) + cluster.log(1)


def test_a_store_that_is_not_to_be_had_is_one_line_before_anything_is_built(tmp_path: Path) -> None:
    config = write_config(tmp_path, store=f"s3://{BUCKET}/x", families={"uraq": {"statements": 15}})
    with S3Server() as server:
        environment = {**server.environment, "AWS_ACCESS_KEY_ID": "AKIAOTHER"}
        done = touchstone("run", config, "--out", "out", folder=tmp_path, **environment)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "the store refuses" in line
    assert "AWS_ACCESS_KEY_ID" in line
    assert SECRET not in done.stdout + done.stderr
    assert not list(files_below(tmp_path / "out")), "nothing was built"
