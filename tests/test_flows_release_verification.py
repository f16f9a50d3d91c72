"""A downloaded version proves itself: what was changed in it is found, whatever the manifest was made to say."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.checksum import checksum
from data.publish.folder import Release, claims_of, read_release, write_manifest
from flows.release.verification import prove, unproved
from schemas.base import content_hash
from schemas.release import ReleaseManifest
from tests.saying import build, decide, released


class Nothing:
    """No embedder is needed here."""

    name = "none"

    def reads(self, text: str) -> bool:
        return False

    def embed(self, texts: Any) -> Any:
        raise AssertionError("nothing is embedded")


pytestmark = pytest.mark.usefixtures("saying")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A version of four configurations."""
    project = build(tmp_path, words=["brave", "calm"])
    decide(project, "words", {"brave": "accept", "calm": "accept"})
    return released(build(tmp_path, words=["brave", "calm"])).folder


def faults(folder: Path) -> list[str]:
    return list(prove(read_release(folder), Nothing()))


def rewritten(folder: Path, config: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change the rows of a configuration, and have the manifest say that this is right."""
    path = folder / "data" / config / "test.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), path)
    release = read_release(folder)
    configs = [
        one.model_copy(update={"rows": pq.read_metadata(folder / one.files[0]).num_rows})
        for one in release.manifest.configs
    ]
    told_by_card(folder, release.manifest.model_copy(update={"configs": tuple(configs)}))


def told_by_card(folder: Path, manifest: ReleaseManifest) -> Release:
    """The version with another manifest, which its card and its list of files know."""
    card = folder / "README.md"
    old, new = claims_of(read_release(folder).manifest), claims_of(manifest)
    card.write_text(card.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return Release(folder, write_manifest(folder, manifest))


def test_a_version_as_it_was_released_has_no_fault(made: Path) -> None:
    assert faults(made) == []
    assert unproved(read_release(made)) == {}


def test_a_changed_text_is_found_by_the_checksum(made: Path) -> None:
    path = made / "data" / "saying-lines" / "test.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    assert [fault.split(":")[0] for fault in faults(made)] == ["data/saying-lines/test.parquet", "saying-lines"]


def test_a_changed_text_is_found_by_its_id_where_the_manifest_was_made_to_fit(made: Path) -> None:
    rewritten(made, "saying-lines", lambda rows: [{**rows[0], "text": "uno", "upper": "UNO"}, *rows[1:]])
    first, *others = faults(made)
    assert first.startswith("saying-lines: a row: id ")
    assert "does not match the content" in first
    assert [fault.partition(":")[0] for fault in others] == ["saying-shadows"]  # whose proof reads the lines


def test_a_changed_row_with_an_id_to_fit_is_found_by_the_verifier(made: Path) -> None:
    def changed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        new = content_hash("Line", {"text": rows[0]["text"], "upper": "WRONG"})
        return [{**rows[0], "upper": "WRONG", "id": new}, *rows[1:]]

    rewritten(made, "saying-lines", changed)
    assert sorted(fault.partition(" ")[2].partition(": ")[2] for fault in faults(made)) == [
        "its line is not there", "the capitals are not those of the text",
    ]  # fmt: skip


def test_a_removed_row_is_found_by_what_is_made_of_it(made: Path) -> None:
    rewritten(made, "saying-lines", lambda rows: rows[1:])
    of_history, of_card = faults(made)
    assert of_history.startswith("history.jsonl: ")
    assert " rows of saying-lines, expected " in of_history
    assert of_card.startswith("README.md: dataset_info of saying-lines: ")
    card = made / "README.md"
    front, lines, rest = card.read_text(encoding="utf-8").partition("- config_name: saying-lines\n")
    told = re.sub(r"num_examples: \d+", lambda count: f"num_examples: {int(count[0].split()[1]) - 1}", rest, count=1)
    card.write_text(front + lines + told, encoding="utf-8")
    history = (made / "history.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, line in enumerate(history) if '"saying-lines"' in line)
    (made / "history.jsonl").write_text("".join(history[:place] + history[place + 1 :]), encoding="utf-8")
    told_by_card(made, read_release(made).manifest)
    assert [fault.rpartition(": ")[2] for fault in faults(made)] == ["its line is not there"]


def test_a_missing_and_an_added_data_file_are_found_and_files_beside_the_release_are_no_fault(made: Path) -> None:
    (made / "extra.txt").write_text("more")
    (made / "CHANGELOG.md").unlink()
    (made / "data" / "saying-lines" / "more.parquet").write_bytes(b"PAR1")
    found = faults(made)
    assert not any("extra.txt" in fault for fault in found)
    assert "data/saying-lines/more.parquet: not in the manifest" in found
    assert "CHANGELOG.md: missing" in found


def test_rows_of_the_proof_are_held_to_their_ids_too(made: Path) -> None:
    path = made / "proof" / "data" / "saying-words" / "test.parquet"
    table = pq.read_table(path)
    rows = [{**row, "upper": "OTHER"} for row in table.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    write_manifest(made, read_release(made).manifest)
    (fault,) = faults(made)
    assert fault.startswith("saying-echoes: a row: id ")


def test_what_a_private_share_keeps_is_said_and_the_records_are_still_proved(tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(20)]
    build(tmp_path, [], words)
    project = build(tmp_path, [], words, release={"held_out": 0.4})
    decide(project, "words", dict.fromkeys(words, "accept"))
    folder = released(build(tmp_path, [], words, release={"held_out": 0.4})).folder
    assert faults(folder) == []
    assert unproved(read_release(folder)) == {"saying-echoes": ("words",)}
    rewritten(folder, "saying-once", lambda rows: [{**rows[0], "echo": "ELSE"}, *rows[1:]])
    assert "does not match the content" in faults(folder)[0]


def test_a_family_that_is_not_installed_is_named(made: Path) -> None:
    release = read_release(made)
    one = release.manifest.configs[0].model_copy(update={"family": "unknown"})
    manifest = release.manifest.model_copy(update={"configs": (one, *release.manifest.configs[1:])})
    found = list(prove(told_by_card(made, manifest), Nothing()))
    assert "unknown: this version of touchstone knows no such family; install the one that it was released by" in found


def test_settings_that_are_none_are_one_line(made: Path) -> None:
    release = read_release(made)
    manifest = release.manifest.model_copy(update={"settings": {"families": {"saying": {"sorces": 1}}}})
    (fault,) = prove(told_by_card(made, manifest), Nothing())
    assert fault.startswith("manifest.json: settings.families.saying: are none that this version")
    assert checksum(made / "README.md")
