"""What `touchstone gc` leaves, and what it removes."""

import os
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec
import pytest

from data.stage_files import StageFiles
from data.store import Store
from flows.project import locks
from flows.project.gc import builds, look, note_build, remove, time_in
from flows.project.locks import building, no_build, one_rebuild, one_stage
from flows.project.released import MadeOf, note_release, releases
from schemas.errors import Failed
from schemas.manifest import BuildManifest, PartManifest, StageManifest
from schemas.release import ReleaseManifest

NOW = datetime.now(UTC)


def stage(fingerprint: str) -> StageManifest:
    return StageManifest(
        family="uraq", part="items", step="prescreen", version=1, fingerprint=fingerprint, record="UraqItem",
        inputs=(), planned=0, kept=0, dropped={}, shards=(),
    )  # fmt: skip


def built(*fingerprints: str) -> BuildManifest:
    stages = tuple(map(stage, fingerprints))
    part = PartManifest(family="uraq", part="items", planned=0, kept=0, dropped={}, stages=stages, files=())
    return BuildManifest(name="a", seed=1, limit=None, config={}, versions={}, models={}, prompts={}, parts=(part,))


def fp(number: int) -> str:
    return f"{number:016x}"


def write(store: Store, *numbers: int, whole: bool = True) -> None:
    """Stages of 10 bytes each, beside their manifests of 2."""
    for number in numbers:
        files = StageFiles(store, "uraq", "items", "prescreen", fp(number))
        store.write(f"{files.folder}/00000.jsonl", b"0123456789")
        if whole:
            store.write(f"{files.folder}/manifest.json", b"{}")


def numbers(folders: object) -> list[int]:
    return [int(one.name[-16:], 16) for one in folders]  # type: ignore[attr-defined]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


def test_the_last_builds_of_every_output_folder_and_all_releases_are_needed(store: Store, tmp_path: Path) -> None:
    write(store, 1, 2, 3, 4, 5, 6)
    write(store, 7, whole=False)  # of a build that was killed
    for number in (1, 2, 3):
        note_build(store, tmp_path / "one", built(fp(number)))
    note_build(store, tmp_path / "two", built(fp(4)))
    note_release(store, released(fp(1)))
    found = look(store, 1, [], NOW)
    assert (numbers(found.needed), numbers(found.unneeded)) == ([1, 3, 4], [2, 5, 6, 7])
    assert [one.bytes for one in found.unneeded] == [12, 12, 12, 10]
    assert numbers(look(store, 2, [], NOW).needed) == [1, 2, 3, 4]
    remove(store, found.unneeded)
    assert numbers(look(store, 1, [], NOW).needed) == [1, 3, 4]
    assert not look(store, 1, [], NOW).unneeded


def released(fingerprint: str) -> ReleaseManifest:
    return ReleaseManifest(
        name="a", version="1.0.0", canary="c", seed=1, configs=(), files=(), models={}, prompts={}, versions={},
        stages={"uraq/items/prescreen": fingerprint}, settings={},
    )  # fmt: skip


def test_builds_and_releases_that_noted_nothing_are_found_by_their_manifests(store: Store, tmp_path: Path) -> None:
    write(store, 1, 2, 3)
    out = tmp_path / "out"
    (out / "releases" / "1.0.0").mkdir(parents=True)
    (out / "manifest.json").write_text(built(fp(1)).model_dump_json())
    (out / "releases" / "1.0.0" / "manifest.json").write_text(released(fp(2)).model_dump_json())
    assert numbers(look(store, 3, [out], NOW).needed) == [1, 2]


def test_a_build_that_gives_what_the_last_gave_is_no_other_build(store: Store, tmp_path: Path) -> None:
    for number in (1, 2, 2, 2):
        note_build(store, tmp_path, built(fp(number)))
    stages = [f"uraq/items/prescreen-{fp(number)}" for number in (2, 1)]
    assert builds(store) == {str(tmp_path): [MadeOf(what=str(tmp_path), stages=(one,)) for one in stages]}
    note_release(store, released(fp(1)))
    note_release(store, released(fp(1)))
    assert len(releases(store)) == 1


def test_the_last_build_is_the_last_one_even_if_the_clock_was_set_back(store: Store, tmp_path: Path) -> None:
    write(store, 1, 2, 3)
    note_build(store, tmp_path / "out", built(fp(1)))
    (note,) = (tmp_path / "store" / "builds").glob("*/*.json")
    note.rename(note.with_name(f"{int(note.stem) + 10**18:020}.json"))  # 32 years ahead
    for number in (2, 2, 3):
        note_build(store, tmp_path / "out", built(fp(number)))
    assert len([*note.parent.iterdir()]) == 3
    assert numbers(look(store, 1, [], NOW).needed) == [3]


@pytest.mark.parametrize("url", ["{tmp_path}/store", "file://{tmp_path}/store", "memory://clock"])
def test_the_time_in_a_store_is_that_of_its_files(tmp_path: Path, url: str) -> None:
    store = Store(url.format(tmp_path=tmp_path))
    assert abs(time_in(store) - datetime.now(UTC)) < timedelta(minutes=1)


def test_nothing_else_in_the_store_is_touched(store: Store, tmp_path: Path) -> None:
    write(store, 1)
    for name in (
        "completions.sqlite",
        "uraq/items/notes",
        "label-studio/data/a-0123456789abcdef/x",
        "sources/a/b.jsonl",
    ):
        store.write(f"{store.root}/{name}", b"kept")
    found = look(store, 1, [], NOW)
    assert numbers(found.unneeded) == [1]
    remove(store, found.unneeded)
    assert (tmp_path / "store" / "completions.sqlite").exists()
    assert (tmp_path / "store" / "uraq" / "items" / "notes").exists()
    assert (tmp_path / "store" / "label-studio" / "data" / "a-0123456789abcdef" / "x").exists()


def test_files_that_an_output_folder_shares_free_nothing(store: Store, tmp_path: Path) -> None:
    write(store, 1)
    (tmp_path / "shared").hardlink_to(next((tmp_path / "store").rglob("00000.jsonl")))
    (one,) = look(store, 1, [], NOW).unneeded
    assert one.bytes == 2, "its manifest alone"


def test_in_a_store_that_others_share_what_was_written_lately_stays() -> None:
    fsspec.filesystem("memory").store.clear()
    store = Store("memory://shared")
    write(store, 1)
    assert numbers(look(store, 1, [], NOW).at_work) == [1]
    later = look(store, 1, [], datetime.now(UTC) + timedelta(days=2))
    assert (numbers(later.unneeded), later.at_work) == ([1], ())
    remove(store, later.unneeded)
    assert not look(store, 1, [], NOW).at_work


def test_builds_hold_off_gc_and_not_each_other(tmp_path: Path) -> None:
    work, refused = building(tmp_path), pytest.raises(Failed, match="a build is running here")
    with work, building(tmp_path), refused, no_build(tmp_path):
        pass
    with no_build(tmp_path), pytest.raises(Failed, match="gc` is running here"), building(tmp_path):
        pass


def test_of_two_that_make_one_stage_one_waits_and_knows_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LOOK_EVERY_S", 0.01)
    holders: list[str] = []

    def tired(by: str) -> None:
        holders.append(by)
        if len(holders) == 2:
            raise TimeoutError

    with one_stage(tmp_path, "a", tired), one_stage(tmp_path, "b", tired):
        assert holders == []
        with pytest.raises(TimeoutError), one_stage(tmp_path, "a", tired):
            pass
    named = f"`.*`, process {os.getpid()} on {re.escape(socket.gethostname())}"
    assert len(holders) == 2
    assert all(re.fullmatch(named, holder) for holder in holders)
    assert list((tmp_path / "locks").iterdir()) == []
    with one_stage(tmp_path, "a", tired):
        pass
    assert len(holders) == 2


def test_a_process_that_is_killed_holds_no_stage(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom flows.project.locks import one_stage\n"
        "with one_stage(Path(sys.argv[1]), 'a', print):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        waited: list[str] = []

        def kills(by: str) -> None:
            waited.append(by)
            process.kill()

        with one_stage(tmp_path, "a", kills):
            assert f", process {process.pid} on " in waited[0]
    assert list((tmp_path / "locks").iterdir()) == []


def test_rebuilds_of_one_dataset_hold_each_other_off(tmp_path: Path) -> None:
    with one_rebuild(tmp_path, "a"):
        with pytest.raises(Failed, match="another rebuild of a is running here"), one_rebuild(tmp_path, "a"):
            pass
        with one_rebuild(tmp_path, "b"):
            pass
    with one_rebuild(tmp_path, "a"):
        pass
