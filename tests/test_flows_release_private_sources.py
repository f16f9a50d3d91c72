"""Private sources: nothing of them is in a public folder, whatever it takes to tell that it is theirs."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.checksum import checksum
from data.publish.folder import CARD, read_release
from data.publish.merge import OWN_END
from flows.project.build_report import write_report
from flows.project.output_files import open_built, remember, write_manifest, write_output_files
from flows.project.private_sources import PrivateSources
from flows.project.project import Project
from flows.rebuild.preview import preview
from flows.release.private_leaks import refuse_leaks
from flows.release.version import Prepared
from schemas.base import texts_in
from schemas.errors import Failed, WrongInput
from schemas.manifest import BuildManifest
from tests.builds import touchstone, write_config
from tests.saying import contents, released
from tests.toy import run_all

pytestmark = pytest.mark.usefixtures("saying")

PUBLIC = [
    "The lighthouse was painted red in the spring of 1901.",
    "Ferries leave at noon.",
    "Bread is sold at the pier.",
]
PRIVATE = ["The strong room opens with the number four seven one one.", "Our reserve is under the old mill.", "Falcon"]


def build(folder: Path, sources: Mapping[str, Sequence[str]], private: Sequence[str] = (), **config: Any) -> Project:
    """Build lines of several files, of which some are marked private."""
    folder.mkdir(exist_ok=True)
    for name, lines in sources.items():
        rows = [json.dumps({"text": line, "id": line[:20]}) for line in lines]
        (folder / name).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    configure(folder, list(sources), private, **config)
    return built(folder)


def built(folder: Path) -> Project:
    project = Project(folder / "config.yaml", folder / "out")
    asyncio.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    return open_built(folder / "out")


def configure(folder: Path, names: Sequence[str], private: Sequence[str], **config: Any) -> None:
    specs = [
        {"format": "jsonl", "path": name, "fields": {"text": "text", "id": "id"}, "licence": "CC0-1.0"}
        | ({"private": True} if name in private else {})
        for name in names
    ]
    families = {"saying": {"parts": ["shadows"], "sources": specs}}
    settings = {"name": "sayings", "seed": 7, "store": "store", "families": families, **config}
    (folder / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")


def texts(folder: Path, config: str = "saying-lines") -> set[str]:
    """The texts of the rows of a configuration in a folder, public or private."""
    path = folder / "data" / config / "test.parquet"
    return {row["text"] for row in pq.read_table(path).to_pylist()} if path.exists() else set()


def beside(made: Prepared) -> Path:
    return made.folder.parent / "private" / made.version


def packaged_rows(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).resolve().parent.parent / "data" / "samples" / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def published(folder: Path) -> Iterator[tuple[str, str]]:
    """Every text in a folder, with its file: also those inside tables."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            for row in pq.read_table(path).to_pylist():
                yield from ((str(path), text) for text in texts_in(row))
        elif path.is_file():
            yield str(path), path.read_text(encoding="utf-8")


def found(folder: Path, *sought: str) -> list[str]:
    return [file for file, text in published(folder) for one in sought if words(one) in words(text)]


def test_rows_of_a_private_source_lie_beside_the_private_ones(tmp_path: Path) -> None:
    made = released(build(tmp_path / "a", {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}, ["closed.jsonl"]))
    assert texts(made.folder) == set(PUBLIC)
    assert texts(beside(made)) == set(PRIVATE)
    assert texts(beside(made), "saying-shadows") == {f"Shadow of {line}" for line in PRIVATE}
    assert found(made.folder, *PRIVATE, "closed.jsonl") == []
    counts = {
        config.name: (config.rows, config.held_out, config.of_private_sources)
        for config in read_release(made.folder).manifest.configs
    }
    assert counts == {"saying-lines": (3, 3, 3), "saying-shadows": (3, 3, 3)}
    assert made.private == ["not published, but beside the private rows: 6 rows of private sources (closed.jsonl)"]
    report = write_report(Project(tmp_path / "a" / "config.yaml", tmp_path / "a" / "out")).read_text(encoding="utf-8")
    assert report.count("3 rows of private sources: no release publishes them") == 2
    alone = released(build(tmp_path / "b", {"open.jsonl": PUBLIC})).folder
    for path in ("data/saying-lines/test.parquet", "data/saying-shadows/test.parquet"):
        assert (made.folder / path).read_bytes() == (alone / path).read_bytes()


def test_a_build_that_was_made_before_needs_not_be_made_again(tmp_path: Path) -> None:
    sources = {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}
    build(tmp_path, sources)
    configure(tmp_path, list(sources), ["closed.jsonl"])
    made = released(open_built(tmp_path / "out"))
    assert texts(made.folder) == set(PUBLIC)
    assert found(made.folder, *PRIVATE, "closed.jsonl") == []
    assert build(tmp_path, sources, ["closed.jsonl"]).manifest.parts == open_built(tmp_path / "out").manifest.parts


def test_rows_that_a_version_has_published_are_not_published_again_and_that_is_told_once(tmp_path: Path) -> None:
    sources = {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}
    released(build(tmp_path, sources))
    configure(tmp_path, list(sources), ["closed.jsonl"])
    made = released(open_built(tmp_path / "out"))
    assert made.version == "1.1.0"
    assert found(made.folder, *PRIVATE, "closed.jsonl") == []
    assert made.private[1:] == ["6 rows of private sources: published already by version 1.0.0, and not again"]
    again = released(open_built(tmp_path / "out"))
    assert (again.is_new, again.private) == (False, made.private[:1])
    more = released(build(tmp_path, {**sources, "open.jsonl": [*PUBLIC, "Gulls sleep on the mole."]}, ["closed.jsonl"]))
    assert (more.version, more.private) == ("1.2.0", made.private[:1])


def test_a_source_that_is_private_no_more_is_published(tmp_path: Path) -> None:
    sources = {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}
    released(build(tmp_path, sources, ["closed.jsonl"]))
    made = released(build(tmp_path, sources))
    assert texts(made.folder) == {*PUBLIC, *PRIVATE}
    assert texts(beside(made)) == set()


def test_a_private_source_changes_nothing_in_the_draw(tmp_path: Path) -> None:
    lines = [f"Line {number} is about the weather on this coast." for number in range(60)]
    closed = [f"Code {number} opens the safe of the harbour office." for number in range(20)]
    share = {"release": {"held_out": 0.3}}
    alone = released(build(tmp_path / "a", {"open.jsonl": lines}, **share))
    both = released(build(tmp_path / "b", {"open.jsonl": lines, "closed.jsonl": closed}, ["closed.jsonl"], **share))
    assert texts(both.folder) == texts(alone.folder)
    assert texts(beside(both)) == texts(beside(alone)) | set(closed)
    config = read_release(both.folder).manifest.configs[0]
    assert (config.of_private_sources, config.held_out) == (20, 20 + len(texts(beside(alone))))
    later = released(build(tmp_path / "b", {"open.jsonl": lines, "closed.jsonl": closed}, **share))
    assert texts(alone.folder) < texts(later.folder)
    assert {line for line in texts(beside(later)) if line in lines} == texts(beside(alone))


def test_a_version_whose_rows_are_all_private_is_none(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"all that may be, 6 rows, rests on private sources or shows text of them$"):
        released(build(tmp_path, {"closed.jsonl": PRIVATE}, ["closed.jsonl"]))


def test_what_is_not_known_to_be_as_it_was_read_is_not_released(tmp_path: Path) -> None:
    sources = {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}
    build(tmp_path, sources, ["closed.jsonl"])
    closed = tmp_path / "closed.jsonl"
    for change, problem in (
        (lambda: configure(tmp_path, ["open.jsonl"], []), r"closed\.jsonl: was private, and is not named any more"),
        (lambda: configure(tmp_path, ["open.jsonl", "c.jsonl"], ["c.jsonl"]), r"c\.jsonl: is private, and is not in"),
        (lambda: closed.write_text('{"text": "Other.", "id": "o"}'), r"closed\.jsonl: is private, and has changed"),
    ):
        whole = closed.read_bytes()
        change()
        with pytest.raises(WrongInput, match=rf"{problem}.*; `touchstone run .*`, then release$") as raised:
            released(open_built(tmp_path / "out"))
        assert "\n" not in str(raised.value)
        closed.write_bytes(whole)
        configure(tmp_path, list(sources), ["closed.jsonl"])
    assert texts(released(open_built(tmp_path / "out")).folder) == set(PUBLIC)


def test_a_file_that_is_private_in_one_place_is_private_in_all(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name, lines in {"open.jsonl": [*PUBLIC, "Gull"], "notes/closed.jsonl": PRIVATE}.items():
        rows = (json.dumps({"text": line, "id": line[:20]}) for line in lines)
        (tmp_path / name).write_text("".join(f"{row}\n" for row in rows))
    configure(tmp_path, ["open.jsonl", "notes/closed.jsonl"], ["notes/closed.jsonl"])
    config = json.loads((tmp_path / "config.yaml").read_text())
    settings = config["families"]["saying"]
    settings |= {"parts": ["shadows", "echoes"], "words": [{**spec, "private": False} for spec in settings["sources"]]}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    made = released(built(tmp_path), allow_unreviewed=True)
    assert texts(made.folder, "saying-once") == {"Gull"}  # the only words in these lines
    assert texts(beside(made), "saying-once") == {"Falcon"}
    assert found(made.folder, *PRIVATE) == []


def test_a_file_in_a_private_folder_is_private_by_itself_too(tmp_path: Path) -> None:
    for name in ("manual.md", "leaflet.md"):
        (tmp_path / "handbook").mkdir(exist_ok=True)
        (tmp_path / "handbook" / name).write_text("Text.")
    folder, file = ({"format": "documents", "path": path} for path in ("handbook/**", "handbook/manual.md"))
    other = {"format": "documents", "path": "samples/*.md"}
    families = {"documents": {"sources": [{**folder, "private": True}]}, "reeval": {"passages": [file, other]}}
    config = write_config(tmp_path, families=families)
    assert PrivateSources(Project(config, tmp_path / "out")).names == ["handbook/**", "manual.md"]


# ---- the proof ----


def test_a_text_that_somebody_puts_into_the_folder_stops_the_next_version(tmp_path: Path) -> None:
    sources = {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}
    made = released(build(tmp_path, sources, ["closed.jsonl"]))
    more = build(tmp_path, {**sources, "open.jsonl": PUBLIC[1:]}, ["closed.jsonl"])
    card = made.folder / CARD
    whole = card.read_bytes()
    words = b"OUR reserve\\n is under\\u0020the *old* mill"
    card.write_bytes(whole.replace(OWN_END, words + b"\n" + OWN_END))
    with pytest.raises(
        Failed, match=r"README\.md: line \d+ shows text of the private source closed\.jsonl; "
    ) as raised:
        released(more)
    assert "\n" not in str(raised.value)
    assert "mill" not in str(raised.value)
    card.write_bytes(whole)
    (made.folder / "notes.txt").write_text("Our reserve is\nunder the old mill.")
    with pytest.raises(Failed, match=r"notes\.txt: shows text of the private source closed\.jsonl; "):
        released(more)
    assert [path.name for path in made.folder.parent.iterdir()].count("1.1.0") == 0
    (made.folder / "notes.txt").write_text("Our reserve is under the old mill.", encoding="utf-16")
    with pytest.raises(Failed, match=r"notes\.txt: is no text in UTF-8, and cannot be searched"):
        released(more)
    (made.folder / "notes.txt").unlink()
    assert released(more).version == "1.1.0"


def test_a_row_that_is_given_a_private_sentence_is_told_with_its_file_and_source(tmp_path: Path) -> None:
    project = build(tmp_path, {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}, ["closed.jsonl"])
    folder = released(project).folder
    refuse_leaks(PrivateSources(project), folder)
    path = folder / "data" / "saying-shadows" / "test.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    key = rows[1]["key"]
    rows[1]["text"] = f"{PUBLIC[0]} Besides, our reserve is under the old mill."
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    file = re.escape("data/saying-shadows/test.parquet")
    with pytest.raises(Failed, match=rf"{file}: row 2 \(key {key}\) shows text of the private source closed\.jsonl"):
        refuse_leaks(PrivateSources(project), folder)
    rows[1] |= {"text": "", "provenance": {**rows[1]["provenance"], "sources": [
        {"source": "closed.jsonl", "id": "x", "licence": None}
    ]}}  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    with pytest.raises(Failed, match=rf"{file}: row 2 \(key {key}\) rests on the private source closed\.jsonl"):
        refuse_leaks(PrivateSources(project), folder)


def test_a_public_row_that_a_fault_gave_a_private_sentence_is_not_published(tmp_path: Path) -> None:
    project = build(tmp_path, {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}, ["closed.jsonl"])
    path = tmp_path / "out" / "accepted" / "saying-lines.parquet"
    table, before = pq.read_table(path), checksum(path)
    rows = table.to_pylist()
    place = next(n for n, row in enumerate(rows) if row["text"] == PUBLIC[1])
    rows[place]["notes"] = [("we know: OUR RESERVE is under the old mill", "seen")]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    stated = project.manifest.model_dump_json().replace(before, checksum(path))  # the build itself was at fault
    write_manifest(project.out, BuildManifest.model_validate_json(stated))
    made = released(open_built(project.out))
    assert texts(made.folder) == {PUBLIC[0], PUBLIC[2]}
    assert found(made.folder, *PRIVATE) == []


def test_what_an_earlier_version_showed_is_not_shown_as_what_a_row_was(tmp_path: Path) -> None:
    lines = {"one": f"{PUBLIC[0]} {PRIVATE[0]}", "two": PUBLIC[1]}

    def released_with(lines: Mapping[str, str], private: Sequence[str]) -> Prepared:
        rows = [json.dumps({"id": name, "text": text}) for name, text in lines.items()]
        (tmp_path / "open.jsonl").write_text("".join(f"{row}\n" for row in rows))
        configure(tmp_path, ["open.jsonl", "closed.jsonl"], private)
        return released(built(tmp_path))

    (tmp_path / "closed.jsonl").write_text(json.dumps({"id": "c", "text": PRIVATE[0]}))
    before = released_with(lines, [])
    assert found(before.folder, PRIVATE[0])
    made = released_with({"one": PUBLIC[0], "two": PUBLIC[1]}, ["closed.jsonl"])
    assert texts(made.folder) == set(PUBLIC[:2])
    changes = [json.loads(line) for line in (made.folder / "changes.jsonl").read_text().splitlines()]
    assert {change["fields"]["text"][0] for change in changes if change["change"] == "changed"} == {"(not shown)"}
    assert found(made.folder, *PRIVATE) == []


def test_the_preview_of_a_rebuild_says_what_the_release_will(tmp_path: Path) -> None:
    sources = {"open.jsonl": PUBLIC, "closed.jsonl": PRIVATE}
    released(build(tmp_path, sources))
    configure(tmp_path, list(sources), ["closed.jsonl"])
    before = contents(tmp_path / "releases")
    told = preview(tmp_path / "config.yaml", tmp_path / "out", tmp_path / "releases", None, refresh=False).release
    assert isinstance(told, Prepared), told
    assert contents(tmp_path / "releases") == before
    done = released(open_built(tmp_path / "out"))
    assert (told.version, told.private) == (done.version, done.private)
    assert len(done.private) == 2


# ---- what goes to a terminal, and so to a log ----


@pytest.mark.slow
def test_an_error_in_a_private_source_shows_nothing_of_it(tmp_path: Path) -> None:
    line = json.dumps({"text": [PRIVATE[0]], "id": "a", PRIVATE[1]: 1})
    (tmp_path / "closed.jsonl").write_text(line + "\n")
    for private, shown in (([], True), (["closed.jsonl"], False)):
        configure(tmp_path, ["closed.jsonl"], private)
        for fields in ({"text": "text"}, {"text": "Our reserve is under the old mil"}):
            config = json.loads((tmp_path / "config.yaml").read_text())
            spec = {**config["families"]["saying"]["sources"][0], "fields": fields}
            families = {"uraq": {"statements": 1, "statements_from": spec}}
            (tmp_path / "mine.yaml").write_text(json.dumps({**config, "families": families}))
            done = touchstone("run", "mine.yaml", "--debug", folder=tmp_path)
            assert done.returncode == 2, done.stderr
            assert "closed.jsonl: line 1: expected" in done.stderr
            assert (PRIVATE[0][:20] in done.stderr or PRIVATE[1] in done.stderr) == shown, done.stderr


@pytest.mark.slow
def test_a_build_with_a_private_source_prints_none_of_its_items(tmp_path: Path) -> None:
    rows = packaged_rows("questions.jsonl")[:30]
    (tmp_path / "closed.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for private in (False, True):
        spec = {"format": "jsonl", "path": "closed.jsonl"} | ({"private": True} if private else {})
        reeval = {"seeds": "all", "entailment": "off", "parts": ["category1"], "sources": [spec]}
        done = touchstone("run", write_config(tmp_path, families={"reeval": reeval}), folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("one item" in done.stdout) != private
        said = words(done.stdout + done.stderr)
        assert any(words(row["question"])[:40] in said for row in rows) != private
