"""A released configuration's files: read by anyone, equal for equal rows, written whole, whatever the rows hold."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import Field

from data import parquet
from data.parquet import GROUP_BYTES, LongTextWriter, write_parquet
from data.publish import rows as published
from data.publish.reading import read_released
from data.publish.rows import UNREVIEWED_ALLOWED, Ruling, write_rows
from schemas.base import Record
from schemas.errors import Failed, WrongInput

CANARY = "6f0e4bd2-0000-4000-8000-000000000000"
HOSTILE = (
    "<script>alert(1)</script>", "---\nlicense: none\n---", "../../etc/passwd", "{0.__class__} %s %n", "a\0b",
    "\u202ex", "`code` | cell", "\U0001f41d" * 3, "", " ",
)  # fmt: skip


class Note(Record):
    """A record with each kind of type that ours have."""

    DEFINES = ("text",)

    text: str = Field(description="What it says")
    subset: str = "one"
    parts: tuple[str, ...] = ()
    place: int | None = None
    drafts: Mapping[str, str] = {}
    steps: tuple[Mapping[str, int], ...] = ()


REVIEWED = pa.field("reviewed", pa.bool_())


def note(key: str, text: str, **fields: Any) -> Note:
    return Note(key=key, text=text, **fields)


def accepted(folder: Path, notes: list[Note], name: str = "toy-notes", *, reviewed: bool = True) -> list[Path]:
    rows = ({**one.model_dump(mode="json"), "reviewed": reviewed} for one in notes)
    return [folder / one.path for one in write_parquet(folder / "accepted", name, Note, rows, [REVIEWED])]


def one_config(row: Mapping[str, Any]) -> Ruling:
    return Ruling("toy-notes")


def test_the_rows_come_back_as_records(tmp_path: Path) -> None:
    notes = [
        note("1", "a", drafts={"x": "y"}, steps=({"n": 1}, {}), parts=("p",)),
        note("2", "b", place=3),
    ]
    (made,) = write_rows(accepted(tmp_path, notes), tmp_path / "out", one_config, canary=CANARY)
    assert (made.name, made.split, made.rows, made.reviewed) == ("toy-notes", "test", 2, 2)
    assert made.files == ("data/toy-notes/test.parquet",)
    read = list(read_released(tmp_path / "out", made.files))
    assert [Note(**{name: row[name] for name in Note.model_fields}) for row in read] == notes
    assert [(row["reviewed"], row["decision"], row["canary"]) for row in read] == [(True, None, CANARY)] * 2


def test_columns_keep_their_types_and_descriptions_and_maps_become_lists(tmp_path: Path) -> None:
    (made,) = write_rows(accepted(tmp_path, [note("1", "a")]), tmp_path / "out", one_config, canary=CANARY)
    schema = pq.read_schema(tmp_path / "out" / made.files[0])
    assert made.fields == {field.name: str(field.type) for field in schema}
    assert made.fields["drafts"] == "list<element: struct<key: string, value: string>>"
    assert made.fields["steps"] == "list<element: list<element: struct<key: string, value: int64>>>"
    assert made.fields["place"] == "int64"
    assert list(made.fields)[-3:] == ["reviewed", "decision", "canary"]
    assert schema.field("text").metadata == {b"description": b"What it says"}
    assert b"description" in schema.field("canary").metadata


def test_rows_go_where_the_rule_says_and_what_is_held_back_is_counted(tmp_path: Path) -> None:
    notes = [note(str(number), f"text {number}", subset="ab"[number % 2]) for number in range(10)]
    seen = []

    def rule(row: Mapping[str, Any]) -> Ruling:
        seen.append(dict(row))
        number = int(row["key"])
        return Ruling(
            f"toy-{row['subset']}",
            held_back="rejected by people" if number in {0, 1, 2} else None,
            held_out=number == 9,
            decision=UNREVIEWED_ALLOWED if number == 3 else "accept",
        )

    files = accepted(tmp_path, notes, reviewed=False)
    a, b = write_rows(
        files, tmp_path / "out", rule, canary=CANARY, columns=["subset"], private=tmp_path / "private", split="train"
    )
    assert seen[0] == {"key": "0", "id": notes[0].id, "reviewed": False, "subset": "a"}
    assert (a.name, a.rows, a.held_back, a.held_out) == ("toy-a", 3, {"rejected by people": 2}, 0)
    assert (b.name, b.rows, b.held_back, b.held_out) == ("toy-b", 3, {"rejected by people": 1}, 1)
    assert (a.reviewed, a.files) == (0, ("data/toy-a/train.parquet",))
    by_key = {row["key"]: row["decision"] for row in read_released(tmp_path / "out", (*a.files, *b.files))}
    assert by_key == {
        "4": "accept",
        "6": "accept",
        "8": "accept",
        "3": UNREVIEWED_ALLOWED,
        "5": "accept",
        "7": "accept",
    }
    assert [row["key"] for row in read_released(tmp_path / "private", b.private_files)] == ["9"]
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_a_configuration_whose_rows_are_all_held_back_has_no_files(tmp_path: Path) -> None:
    files = accepted(tmp_path, [note("1", "a")])
    (made,) = write_rows(files, tmp_path / "out", lambda row: Ruling("c", held_back="no verdict"), canary=CANARY)
    assert (made.rows, made.files, made.fields, made.held_back) == (0, (), {}, {"no verdict": 1})


def test_rows_without_a_review_of_their_own_are_unreviewed(tmp_path: Path) -> None:
    files = [
        tmp_path / one.path
        for one in write_parquet(tmp_path / "accepted", "toy", Note, [note("1", "a").model_dump(mode="json")])
    ]
    (made,) = write_rows(files, tmp_path / "out", one_config, canary=CANARY)
    assert [row["reviewed"] for row in read_released(tmp_path / "out", made.files)] == [False]


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    notes = [note(str(number), f"text {number}", drafts={"d": "x" * number}) for number in range(100)]
    written = []
    for number in range(2):
        files = accepted(tmp_path / f"build{number}", notes)
        (made,) = write_rows(files, tmp_path / f"out{number}", one_config, canary=CANARY)
        written.append((tmp_path / f"out{number}" / made.files[0]).read_bytes())
    assert written[0] == written[1]


def test_hostile_content_passes_unchanged(tmp_path: Path) -> None:
    notes = [note(str(number), text, drafts={text: text}, parts=(text,)) for number, text in enumerate(HOSTILE)]
    notes.append(note("long", "<b>\0" + "\u4e2d" * (10 * 2**20 // 3)))
    (made,) = write_rows(accepted(tmp_path, notes), tmp_path / "out", one_config, canary=CANARY)
    read = list(read_released(tmp_path / "out", made.files))
    assert [Note(**{name: row[name] for name in Note.model_fields}) for row in read] == notes


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a b", "x" * 97, "a:b", "-", "a\n"])
def test_a_configuration_has_a_name_that_is_safe_in_a_path(tmp_path: Path, name: str) -> None:
    files = accepted(tmp_path, [note("1", "a")])
    with pytest.raises(WrongInput, match="rename the dataset"):
        write_rows(files, tmp_path / "out", lambda row: Ruling(name), canary=CANARY)
    with pytest.raises(WrongInput, match="another name"):
        write_rows(files, tmp_path / "out", one_config, canary=CANARY, split="a-b")
    assert not (tmp_path / "out").exists()


def test_row_groups_and_files_are_cut_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "GROUP_BYTES", 10_000)
    monkeypatch.setattr(parquet, "FILE_BYTES", 30_000)
    notes = [note(str(number), str(number % 10) * 1000) for number in range(100)]
    (made,) = write_rows(accepted(tmp_path, notes), tmp_path / "out", one_config, canary=CANARY)
    # 100 rows of about 1.2 kB, halved until they fit, are groups of 6 or 7; a file is closed at 30 kB.
    assert made.files[0] == "data/toy-notes/test-00000-of-00004.parquet"
    assert len(made.files) == 4
    described = [pq.ParquetFile(tmp_path / "out" / name).metadata for name in made.files]
    assert [one.num_row_groups for one in described] == [5, 5, 5, 1]
    assert {one.row_group(group).num_rows for one in described for group in range(one.num_row_groups)} == {6, 7}
    assert [row["key"] for row in read_released(tmp_path / "out", made.files)] == [one.key for one in notes]
    # Another version has fewer files, and those before are gone.
    (made,) = write_rows(accepted(tmp_path, notes[:5]), tmp_path / "out", one_config, canary=CANARY)
    assert [one.name for one in (tmp_path / "out" / "data" / "toy-notes").iterdir()] == ["test.parquet"]


def test_what_waits_is_bounded_over_all_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "_WAITING_BYTES", 20_000)
    notes = [note(str(number), str(number % 10) * 1000, subset=str(number % 7)) for number in range(140)]
    files = [one for start in range(0, 140, 7) for one in accepted(tmp_path, notes[start : start + 7], f"n{start}")]
    made = write_rows(files, tmp_path / "out", lambda row: Ruling(row["subset"]), canary=CANARY, columns=["subset"])
    assert [one.rows for one in made] == [20] * 7
    groups = [pq.ParquetFile(tmp_path / "out" / one.files[0]).num_row_groups for one in made]
    assert max(groups) > 1  # though no configuration has a row group's worth of bytes
    assert sum(len(list(read_released(tmp_path / "out", one.files))) for one in made) == 140


def test_accepted_files_of_different_builds_do_not_mix(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"key": ["1"], "id": ["1"]}), other)
    with pytest.raises(Failed, match="different columns; run the build again"):
        write_rows([*accepted(tmp_path, [note("1", "a")]), other], tmp_path / "out", one_config, canary=CANARY)
    assert not list((tmp_path / "out").rglob("*.*"))


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    (path,) = accepted(tmp_path, [note("1", "a")])
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(Failed, match="cannot be read"):
        write_rows([path], tmp_path / "out", one_config, canary=CANARY)
    with pytest.raises(Failed, match="cannot be read"):
        write_rows([tmp_path / "none.parquet"], tmp_path / "out", one_config, canary=CANARY)


def test_a_full_disk_is_one_line_and_leaves_the_files_before(tmp_path: Path) -> None:
    """Files of this process may grow to 200 kB; the system refuses the rest as a full disk does."""
    import random

    text = random.Random(1).randbytes(400_000).hex()
    files = accepted(tmp_path, [note("1", text)])
    old = tmp_path / "out" / "data" / "toy-notes" / "test.parquet"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"the version before")
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from data.publish.rows import Ruling, write_rows\n"
        "from schemas.errors import Failed\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        f"    write_rows([Path({str(files[0])!r})], Path({str(tmp_path / 'out')!r}), "
        "lambda row: Ruling('toy-notes'), canary='c')\n"
        "except Failed as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "free space, then run again" in done.stdout, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert [one.name for one in old.parent.iterdir()] == ["test.parquet"]
    assert old.read_bytes() == b"the version before"


@pytest.mark.slow
def test_datasets_loads_two_configurations_in_a_fresh_process(tmp_path: Path) -> None:
    notes = [
        note(str(number), text, subset="ab"[number % 2], drafts={text: text}, steps=({"n": 1},), parts=(text,))
        for number, text in enumerate(HOSTILE)
    ]
    out = tmp_path / "release"
    a, b = write_rows(
        accepted(tmp_path, notes), out, lambda row: Ruling(f"toy-{row['subset']}"), canary=CANARY, columns=["subset"]
    )
    configs = "".join(
        f"- config_name: {one.name}\n  data_files:\n  - split: test\n    path: {one.files[0]}\n" for one in (a, b)
    )
    (out / "README.md").write_text(f"---\nconfigs:\n{configs}---\n# Toy\n", encoding="utf-8")
    code = (
        "import json, sys, datasets\n"
        "folder = sys.argv[1]\n"
        "print(json.dumps({name: [datasets.load_dataset(folder, name)['test'].to_list(), "
        "str(datasets.load_dataset(folder, name)['test'].features)] "
        "for name in datasets.get_dataset_config_names(folder)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)], capture_output=True, text=True, check=True,
        env={"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    loaded = json.loads(done.stdout)
    assert list(loaded) == ["toy-a", "toy-b"]
    for one, place in ((a, 0), (b, 1)):
        rows, features = loaded[one.name]
        assert [row["text"] for row in rows] == list(HOSTILE[place::2])
        assert rows[0]["drafts"] == [{"key": HOSTILE[place], "value": HOSTILE[place]}]
        assert rows[0]["steps"] == [[{"key": "n", "value": 1}]]
        assert {row["canary"] for row in rows} == {CANARY}
        assert "'decision': Value('string')" in features
        assert "'drafts': List({'key': Value('string'), 'value': Value('string')})" in features


MEMORY = r"""
import re, sys
from pathlib import Path
from data.publish.reading import read_released
from data.publish.rows import Ruling, write_rows
def peak():
    # Of this program alone: what getrusage tells begins with the memory of the process that started it.
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
before = peak()
made = write_rows(sorted(Path(sys.argv[1]).glob("*.parquet")), Path(sys.argv[2]),
                  lambda row: Ruling(row["subset"]), canary="c", columns=["subset"])
written = peak()
length = sum(len(row["text"]) for one in made for row in read_released(Path(sys.argv[2]), one.files))
print(before, written, peak(), length)
"""


@pytest.mark.slow
def test_memory_is_bounded_however_long_the_part(tmp_path: Path) -> None:
    """420 MB of contexts of 1.5 MB, for five configurations."""
    long = "A line that is there again and again.\n" * 42_000
    (tmp_path / "accepted").mkdir()
    with (tmp_path / "accepted" / "toy.parquet").open("wb") as file:
        writer = LongTextWriter(file, Note, "text")
        for number in range(270):
            row = note(str(number), "", subset=f"toy-{number % 5}").model_dump(mode="json")
            writer.write(row, f"{number} {long[number:]}".encode())
        writer.close()
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "accepted"), str(tmp_path / "out")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, written, read, length = map(float, done.stdout.split())
    assert length > 400_000_000
    # What waits goes out above 4 row groups of 32 MB; copies of one or two are made on the way.
    assert written - before < 350, done.stdout
    assert read - before < 350, done.stdout
    files = list((tmp_path / "out").rglob("*.parquet"))
    assert len(files) == 5
    for path in files:
        described = pq.ParquetFile(path).metadata
        sizes = [described.row_group(one).total_byte_size for one in range(described.num_row_groups)]
        assert max(sizes) <= GROUP_BYTES
