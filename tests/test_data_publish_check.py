"""A downloaded version proves itself: a line for each thing that is not as its manifest says."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.publish.check import damage_of, faults_of, others_in
from data.publish.folder import read_release, write_manifest
from schemas.errors import WrongInput
from schemas.release import ReleaseManifest
from tests.releases import CANARY, note, release

NOTES = [note("1", "one", drafts={"x": "y"}), note("2", "two"), note("3", "three")]
TOY = "data/toy/test.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return release(tmp_path / "made", {"toy": NOTES, "other": NOTES[:1]}).folder


def faults(folder: Path) -> list[str]:
    return list(faults_of(read_release(folder)))


def listed(folder: Path) -> None:
    """Let the manifest list what lies there: what follows was wrong before it was released."""
    write_manifest(folder, read_release(folder).manifest)


def rewrite(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(folder / TOY)), folder / TOY)
    listed(folder)


def replace(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    if name != "manifest.json":
        listed(folder)


def test_a_whole_version_has_no_fault(folder: Path) -> None:
    assert faults(folder) == []


def test_what_a_download_brings_along_is_no_fault(folder: Path, tmp_path: Path) -> None:
    (folder / ".gitattributes").write_text("*.parquet filter=lfs\n")
    (folder / ".cache" / "huggingface" / "download").mkdir(parents=True)
    (folder / ".cache" / "huggingface" / "download" / "x.metadata").write_text("")
    (folder / "scorers" / "__pycache__").mkdir(parents=True)
    (folder / "scorers" / "__pycache__" / "toy.cpython-311.pyc").write_text("")
    assert faults(folder) == []
    # The Hub's cache holds a version as links to files that lie elsewhere.
    linked = tmp_path / "snapshot"
    shutil.copytree(folder, linked, copy_function=lambda source, place: Path(place).symlink_to(source))
    assert faults(linked) == []


def test_bytes_that_are_others(folder: Path) -> None:
    content = bytearray((folder / TOY).read_bytes())
    content[len(content) // 3] ^= 1
    (folder / TOY).write_bytes(content)
    assert any(line.startswith(f"{TOY}: SHA-256 ") for line in faults(folder))
    (folder / TOY).write_bytes(content[:-100])
    assert any(line.startswith(f"{TOY}: ") and "bytes, expected" in line for line in faults(folder))
    assert any("cannot be read" in line for line in faults(folder))


def test_a_column_whose_name_is_no_text(folder: Path) -> None:
    (folder / TOY).write_bytes((folder / TOY).read_bytes().replace(b"reviewed", b"\xffeviewed"))
    assert any(line.startswith(f"{folder / TOY}: cannot be read") for line in faults(folder))


def test_a_number_that_is_too_long(folder: Path) -> None:
    replace(folder, "manifest.json", '"seed": 7', f'"seed": {10**30}')
    with pytest.raises(WrongInput, match=r"manifest\.json: damaged manifest \(Integer exceeds 64-bit range\)"):
        read_release(folder)


def test_files_that_are_missing_or_more(folder: Path) -> None:
    (folder / "data" / "other" / "test.parquet").unlink()
    (folder / "data" / "toy" / "more.parquet").write_bytes(b"")
    (folder / ".hidden").write_text("")
    (folder / "nested" / ".cache").mkdir(parents=True)
    (folder / "data" / "__pycache__").mkdir()
    (folder / "data" / "__pycache__" / "x").write_text("")
    (folder / "nested" / ".cache" / "x").write_text("")
    (folder / "elsewhere").symlink_to("/")
    (folder / "scorers").mkdir()
    (folder / "scorers" / "json.py").write_text("what a scorer would import")
    assert faults(folder) == [
        "data/__pycache__/x: not in the manifest",
        "data/toy/more.parquet: not in the manifest",
        "scorers/json.py: not in the manifest",
        "data/other/test.parquet: missing",
        "README.md: configuration other: data/other/test.parquet is not named",
    ]
    assert others_in(read_release(folder)) == [".hidden", "elsewhere", "nested/.cache/x"]


def test_rows_that_are_not_as_the_manifest_says(folder: Path) -> None:
    rewrite(folder, lambda table: table.slice(1))
    assert faults(folder) == ["toy: 2 rows, expected 3", "toy: 2 reviewed rows, expected 3"]


def test_columns_that_are_not_as_the_manifest_says(folder: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        table = table.drop_columns(["parts"]).append_column("more", pa.array(["x"] * 3))
        return table.set_column(
            table.column_names.index("number"), "number", pa.array([1.0] * 3)
        )  # fmt: skip

    rewrite(folder, change)
    assert faults(folder) == [
        f"{TOY}: column more: string, expected none",
        f"{TOY}: column number: double, expected int64",
        f"{TOY}: column parts: missing, expected list<element: string>",
    ]


def test_keys_and_canaries(folder: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        for name, values in (("key", ["1", "2", "1"]), ("canary", [CANARY, None, "another"])):
            place = table.column_names.index(name)
            table = table.set_column(place, table.schema.field(name), pa.array(values))
        return table

    rewrite(folder, change)
    assert faults(folder) == [
        f"{TOY}: row 2: canary None, expected {CANARY}",
        f"{TOY}: row 3: key '1' stands in toy twice",
        f"{TOY}: row 3: canary 'another', expected {CANARY}",
    ]


def test_a_table_without_keys_is_told_and_not_read(folder: Path) -> None:
    rewrite(folder, lambda table: table.set_column(1, "key", pa.array([["1"]] * 3)))
    assert faults(folder) == [
        f"{TOY}: column key: list<element: string>, expected string",
        f"{TOY}: expected the columns key (string), reviewed (bool), canary (string)",
    ]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (f"Canary: {CANARY}", "", f"the canary {CANARY} is not in it"),
        ("config_name: other", "config_name: another", "configuration another: not in the manifest"),
        ("config_name: other", "config_name: toy", "a configuration is in it twice"),
        ("config_name: other", "config_name: no", "configs.1.config_name: Input should be a valid string"),
        ("split: test", "split: train", "configuration toy: splits train, expected test"),
        ("'data/other/test.parquet'", "data/other/none-*", "data/other/test.parquet is not named"),
        ("'data/other/test.parquet'", "data/*/*.parquet", "data/toy/test.parquet is named, but not part of it"),
        ("'data/other/test.parquet'", "../../*", "'../../*' is no path in this folder"),
        ("'data/other/test.parquet'", "/etc/*", "'/etc/*' is no path in this folder"),
        ("'data/other/test.parquet'", "''", "cannot be read"),
        ("configs:", "configs: [", "its YAML cannot be read"),
        ("---\nconfigs:", "configs:", "expected YAML between two lines of ---"),
        ("configs:", "config:", "its YAML: configs: Field required"),
        ("configs:", "dataset_info: [{config_name: toy, splits: [{name: test, num_examples: 4}]}]\nconfigs:",
         "dataset_info of toy: {'test': 4}, which the manifest does not say"),
    ],
)  # fmt: skip
def test_a_card_that_does_not_match_the_files(folder: Path, old: str, new: str, fault: str) -> None:
    replace(folder, "README.md", old, new)
    assert any(line.startswith("README.md: ") and fault in line for line in faults(folder)), faults(folder)


def test_a_card_may_name_its_files_by_a_pattern(folder: Path) -> None:
    replace(folder, "README.md", "['data/toy/test.parquet']", "data/toy/test*.parquet")
    replace(folder, "README.md", "- config_name: toy", "- config_name: toy\n  default: true")
    info = "dataset_info: [{config_name: toy, features: [], splits: [{name: test, num_bytes: 1, num_examples: 3}]}]"
    replace(folder, "README.md", "configs:", f"{info}\nconfigs:")
    assert faults(folder) == []


def test_no_card_at_all(folder: Path) -> None:
    (folder / "README.md").unlink()
    listed(folder)
    (line,) = faults(folder)
    assert line.startswith("README.md: cannot be read")


def test_manifests_that_contradict_themselves(folder: Path) -> None:
    (folder / "data" / "stray.parquet").write_bytes(b"")
    listed(folder)
    assert faults(folder) == ["data/stray.parquet: of no configuration"]
    (folder / "data" / "stray.parquet").unlink()
    manifest = read_release(folder).manifest
    toy, other = sorted(manifest.configs, key=lambda one: one.name, reverse=True)
    stolen = other.model_copy(update={"files": toy.files})
    (folder / "manifest.json").write_text(
        ReleaseManifest.model_validate(
            {**manifest.model_dump(), "version": "1.0", "configs": [toy, stolen, stolen]}
        ).model_dump_json()
    )
    found = faults(folder)
    for line in (
        "manifest.json: version '1.0': expected MAJOR.MINOR.PATCH, three plain numbers such as 1.4.0",
        "manifest.json: configuration other is in it twice",
        f"{TOY}: of configuration other and of toy",
        f"{TOY}: expected data/other/test.parquet, or a part of it",
        "data/stray.parquet: missing",
        "data/other/test.parquet: of no configuration",
        "other: 3 rows, expected 1",
    ):
        assert line in found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": "1.0.0"', '"version": "9.0.0"'),
        ('"name": "toy",\n "version"', '"name": "evil",\n "version"'),
        ('"seed": 7', '"seed": 99'),
        ('"held_back": {}', '"held_back": {"not reviewed": 99}'),
    ],
)
def test_a_manifest_does_not_change_alone(folder: Path, old: str, new: str) -> None:
    replace(folder, "manifest.json", old, new)
    assert any(line.startswith("manifest.json: not as it was when README.md was written") for line in faults(folder))
    told = list(damage_of(read_release(folder)))
    assert "manifest.json: not as it was when README.md was written" in told


def test_damage_is_told_without_reading_rows(tmp_path: Path) -> None:
    made = release(tmp_path / "1.0.0", {"toy": NOTES})
    assert list(damage_of(made)) == []
    with (made.folder / "README.md").open("a", encoding="utf-8") as card:
        card.write("Words of its user.\n")
    assert list(damage_of(made)) == []
    (made.folder / TOY).write_bytes(b"no rows")
    assert any(line.startswith(TOY) for line in damage_of(made))
    (made.folder / "README.md").unlink()
    assert "README.md: missing" in damage_of(made)


def test_hostile_names_stay_on_their_line(folder: Path) -> None:
    (folder / "data" / "a\n\x1b[31mb").write_text("")
    assert faults(folder) == ["data/a\\n\\x1b[31mb: not in the manifest"]


@pytest.mark.parametrize("name", ["manifest.json", "README.md", "CHANGELOG.md", TOY, "data/toy/more.parquet"])
def test_pipes_and_devices_are_refused_before_anything_is_read(folder: Path, name: str) -> None:
    place = folder / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with pytest.raises(WrongInput, match=f"{place}: expected a file, found a pipe"):
        read_release(folder)
    place.unlink()
    place.symlink_to("/dev/zero")
    with pytest.raises(WrongInput, match=f"{place}: expected a file, found a device"):
        read_release(folder)


def test_a_pipe_behind_a_link_to_a_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "data" / "toy").rename(tmp_path / "toy")
    (folder / "data" / "toy").symlink_to(tmp_path / "toy")
    assert read_release(folder)
    (tmp_path / "toy" / "test.parquet").unlink()
    os.mkfifo(tmp_path / "toy" / "test.parquet")
    with pytest.raises(WrongInput, match=f"{folder / TOY}: expected a file, found a pipe"):
        read_release(folder)


@pytest.mark.parametrize("name", ["manifest.json", "README.md", "eval.yaml"])
def test_files_that_are_read_whole_have_a_limit(folder: Path, name: str) -> None:
    with (folder / name).open("wb") as file:
        file.truncate(8 * 2**30)  # takes no space
    with pytest.raises(WrongInput, match=f"{folder / name}: expected at most 64 MiB, found 8,589,934,592 bytes"):
        read_release(folder)
