"""A stage that is damaged is made again by the next build, which ends as if nothing had happened."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from data.store import DamageError
from flows.construct.progress import ProgressListener
from flows.project.project import Project
from flows.run.damage import healing, remove_damaged, stages_of
from flows.run.finished import write_build
from flows.run.in_process import runner_here
from tests.faults.left import told
from tests.rebuilds import dataset


def run(project: Project) -> None:
    runner_here(project, project.build).run(stages_of(project.build))
    write_build(project, ProgressListener())


def build(folder: Path, work: Callable[[Project], None] = run) -> list[str]:
    """Build, and return what was said."""
    lines: list[str] = []
    healing(lambda: Project(folder / "config.yaml", folder / "out"), work, lines.append)
    return lines


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, str]]:
    """A build, and what it left."""
    folder = tmp_path_factory.mktemp("whole")
    dataset(folder, store="store")
    assert build(folder) == []
    return folder, told(folder)


@pytest.fixture
def place(whole: tuple[Path, Mapping[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the build, which is as it was before each test."""
    folder, _ = whole
    shutil.copytree(folder, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "copy"


def flip(path: Path, place: float = 0.5) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def alike(folder: Path, whole: Mapping[str, str]) -> bool:
    """Whether the stages and output files of a copy are those of the build; notes name the folder that they are in."""

    def made(files: Mapping[str, str]) -> Mapping[str, str]:
        return {
            name: found
            for name, found in files.items()
            if name.startswith(("store/uraq/", "out/")) and name != "out/.build.json"
        }

    return made(told(folder)) == made(whole)


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink])
@pytest.mark.parametrize("file", ["manifest.json", "00000-*.jsonl"])
def test_a_damaged_stage_is_made_again(
    place: Path, whole: tuple[Path, Mapping[str, str]], file: str, damage: Callable[[Path], None]
) -> None:
    (path,) = (place / "store/uraq/statements").glob(f"manipulate-*/{file}")
    damage(path)
    said = build(place)
    is_gone = file == "manifest.json" and damage is Path.unlink
    assert said == ([] if is_gone else [f"uraq statements · manipulate: damaged ({path}); made again"])
    assert alike(place, whole[1])
    assert build(place) == []


def test_a_damaged_shard_of_an_unfinished_stage_is_made_again(
    place: Path, whole: tuple[Path, Mapping[str, str]]
) -> None:
    (stage,) = (place / "store/uraq/statements").glob("manipulate-*")
    (stage / "manifest.json").unlink()
    (records,) = stage.glob("00000-*.jsonl")
    flip(records)
    assert build(place) == [f"uraq statements · manipulate: damaged ({records}); made again"]
    assert alike(place, whole[1])


def test_damage_that_a_later_stage_finds_is_mended_too(place: Path, whole: tuple[Path, Mapping[str, str]]) -> None:
    (records,) = (place / "store/uraq/statements").glob("manipulate-*/00000-*.jsonl")
    (later,) = (place / "store/uraq/items").glob("ask_question-*")
    shutil.rmtree(later)
    attempts = 0

    def damaging(project: Project) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            flip(records)
        run(project)

    assert build(place, damaging) == [f"uraq statements · manipulate: damaged ({records}); made again"]
    assert attempts == 2
    assert alike(place, whole[1])


def test_a_reader_names_the_file_and_what_to_do(place: Path) -> None:
    project = Project(place / "config.yaml", place / "out")
    ref = next(ref for ref in stages_of(project.build) if ref.step == "manipulate")
    flip(Path(project.build.files(ref).folder) / "manifest.json")
    with pytest.raises(DamageError, match=r"manifest\.json: damaged or missing stage file; run the build again"):
        project.build.manifest(ref)


def test_whole_stages_stay(place: Path) -> None:
    project = Project(place / "config.yaml", place / "out")
    before = told(place)
    remove_damaged(project.build, project.state, stages_of(project.build), pytest.fail)
    assert told(place) == before
