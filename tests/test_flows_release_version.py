"""A version out of a build: its number, what is in it and what is not, the same bytes again, and what a kill leaves."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

import data.parquet
from data.checksum import checksum
from data.publish.folder import read_release
from data.publish.merge import OWN_BEGIN, OWN_END
from flows.rebuild.preview import preview
from flows.release.verification import prove
from flows.release.version import Prepared, newest
from schemas.errors import Failed, Stopped, WrongInput
from schemas.release import Change
from tests.saying import build, contents, decide, released, rows_of

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.usefixtures("saying")


def changes(folder: Path) -> list[Change]:
    return [Change.model_validate_json(line) for line in (folder / "changes.jsonl").read_text().splitlines()]


# ---- what is in a version ----


def test_the_first_version_holds_what_passed_the_gate_and_counts_the_rest(tmp_path: Path) -> None:
    project = build(tmp_path, ["one", "two", "three", "a typo"], ["brave", "calm"])
    decide(project, "lines", {"one": "accept", "two": "reject", "three": "not in capitals"})
    decide(project, "words", {"brave": "accept"})
    project = build(tmp_path, ["one", "two", "three", "a typo"], ["brave", "calm"])
    assert prove_all(released(project).folder) == []
    made = newest(tmp_path / "releases")
    assert made is not None
    assert made.manifest.version == "1.0.0"
    assert made.manifest.previous is None
    by_name = {one.name: one for one in made.manifest.configs}
    assert {name: (one.rows, one.reviewed, dict(one.held_back)) for name, one in by_name.items()} == {
        "saying-lines": (1, 1, {"a fault that the verifier found": 2, "rejected by people": 1}),
        "saying-shadows": (1, 0, {"made of a row that is held back": 2}),
        "saying-once": (1, 1, {"not reviewed yet": 1}),
        "saying-twice": (1, 1, {"not reviewed yet": 1}),
    }
    built = {part.part: part for part in project.built.parts} if project.built else {}
    sifted = built["lines"].kept + built["lines"].dropped["people"]["rejected by people"]
    assert by_name["saying-lines"].rows + sum(by_name["saying-lines"].held_back.values()) == sifted == 4
    (row,) = rows_of(made.folder, "saying-once")
    assert (row["text"], row["reviewed"], row["decision"], row["canary"]) == (
        "brave", True, "accept", made.manifest.canary,
    )  # fmt: skip
    card = (made.folder / "README.md").read_text()
    assert "| `saying-lines` | rejected by people | 1 |" in card
    assert "| `saying-once` | not reviewed yet | 1 |" in card


def prove_all(folder: Path) -> list[str]:
    class Nothing:
        name = "none"

    return list(prove(read_release(folder), Nothing()))  # type: ignore[arg-type]


def test_a_version_proves_itself(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave"])
    decide(project, "words", {"brave": "accept"})
    made = released(build(tmp_path, words=["brave"]))
    assert prove_all(made.folder) == []
    assert (made.folder / "proof" / "data" / "saying-words" / "test.parquet").is_file()


def test_unreviewed_rows_are_stamped_in_card_manifest_and_row(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave", "calm"])
    decide(project, "words", {"brave": "accept"})
    project = build(tmp_path, words=["brave", "calm"])
    held = released(project)
    assert not read_release(held.folder).manifest.allowed_unreviewed
    made = released(project, allow_unreviewed=True)
    assert made.version == "1.1.0"
    manifest = read_release(made.folder).manifest
    assert manifest.allowed_unreviewed
    assert manifest.comparable
    assert "**Released without full review.**" in (made.folder / "README.md").read_text()
    assert {(row["text"], row["decision"], row["reviewed"]) for row in rows_of(made.folder, "saying-twice")} == {
        ("brave", "accept", True),
        ("calm", "unreviewed_allowed", False),
    }


def test_where_nothing_needed_to_be_let_through_nothing_is_stamped(tmp_path: Path) -> None:
    made = released(build(tmp_path), allow_unreviewed=True)
    assert not read_release(made.folder).manifest.allowed_unreviewed
    assert "without full review" not in (made.folder / "README.md").read_text()


def test_where_nothing_may_leave_it_is_said_and_nothing_is_left_behind(tmp_path: Path) -> None:
    project = build(tmp_path, [], ["brave"])
    with pytest.raises(
        Failed, match=r"nothing may be released: 2 not reviewed yet; `touchstone annotate push`"
    ) as told:
        released(project)
    assert "`touchstone release --allow-unreviewed` releases them as they are" in str(told.value)
    assert [path.name for path in (tmp_path / "releases").iterdir()] == [".lock"]


def test_a_configuration_without_rows_asks_for_no_licence(tmp_path: Path) -> None:
    made = released(build(tmp_path, words=["brave"]))
    manifest = read_release(made.folder).manifest
    assert {one.name: one.licence for one in manifest.configs} == {
        "saying-lines": "CC0-1.0", "saying-once": "", "saying-shadows": "CC0-1.0", "saying-twice": "",
    }  # fmt: skip
    card = (made.folder / "README.md").read_text()
    assert "license: cc0-1.0" in card
    assert "written for it" not in card


def test_a_licence_that_does_not_follow_is_asked_for(tmp_path: Path) -> None:
    project = build(tmp_path, licence=None)
    with pytest.raises(
        WrongInput, match=r"saying-lines: its sources .*sources.jsonl \(none stated\); declare it: release:"
    ):
        released(project)
    project = build(tmp_path, licence=None, release={"licence": "CC-BY-4.0"})
    assert {one.licence for one in read_release(released(project).folder).manifest.configs} == {"CC-BY-4.0"}


def test_verdicts_newer_than_the_build_are_refused_even_where_nothing_else_is_new(tmp_path: Path) -> None:
    project = build(tmp_path)
    released(project)
    decide(project, "lines", {"one": "reject"})
    from flows.project.output_files import open_built

    with pytest.raises(WrongInput, match="new verdicts on saying-lines since it was built"):
        released(open_built(tmp_path / "out"))


# ---- versions ----


def test_a_changed_row_is_the_next_minor_version_with_its_changelog(tmp_path: Path) -> None:
    first = released(build(tmp_path))
    assert (first.version, first.is_new) == ("1.0.0", True)
    second = released(build(tmp_path, {"one": "one", "two": "twain", "three": "three"}))
    assert second.version == "1.1.0"
    line, shadow = sorted(changes(second.folder), key=lambda one: one.config)
    assert (line.config, line.change, line.fields["text"]) == ("saying-lines", "changed", ("two", "twain"))
    assert (shadow.config, shadow.fields["text"]) == ("saying-shadows", ("Shadow of two", "Shadow of twain"))
    log = (second.folder / "CHANGELOG.md").read_text()
    assert log.index("## 1.1.0") < log.index("## 1.0.0")
    assert "| `saying-lines` | 0 | 1 | 0 | 0 | 2 | 2 of 3 |" in log
    assert '`"two"` became `"twain"`' in log
    manifest = read_release(second.folder).manifest
    assert (manifest.previous, manifest.comparable) == ("1.0.0", False)
    added = released(build(tmp_path, {"one": "one", "two": "twain", "three": "three", "four": "four"}))
    assert added.version == "1.2.0"
    assert read_release(added.folder).manifest.comparable


def test_review_of_released_rows_is_a_patch_and_leaves_scores_comparable(tmp_path: Path) -> None:
    first = released(build(tmp_path))
    decide(build(tmp_path), "lines", {"one": "accept"})
    accepted = released(build(tmp_path))
    assert accepted.version == "1.0.1"
    assert [(one.config, one.change, dict(one.fields)) for one in changes(accepted.folder)] == [
        ("saying-lines", "bookkeeping", {"reviewed": (False, True), "decision": (None, "accept")})
    ]
    manifest = read_release(accepted.folder).manifest
    assert manifest.comparable
    assert {one.name: one.comparable for one in manifest.configs} == {"saying-lines": 3, "saying-shadows": 3}
    assert (manifest.configs[0].scorer, manifest.configs[0].asked) == ("", {})
    assert "A patch of `1.0.0`: scores are comparable with those on it." in (accepted.folder / "README.md").read_text()
    assert "| `saying-lines` | 0 | 0 | 0 | 1 | 3 of 3 |" in (accepted.folder / "README.md").read_text()
    assert prove_all(accepted.folder) == prove_all(first.folder) == []
    decide(build(tmp_path), "lines", {"one": "accept", "two": "reject"})
    rejected = released(build(tmp_path))
    assert rejected.version == "1.1.0"
    log = (rejected.folder / "CHANGELOG.md").read_text()
    assert "| `saying-lines` | 0 | 0 | 1 | 0 | 2 | 2 of 3 |" in log


def test_a_row_that_people_had_reviewed_waits_for_them_once_it_changed(tmp_path: Path) -> None:
    texts = {"one": "one", "two": "two", "three": "three"}
    build(tmp_path, texts)
    decide(build(tmp_path, texts), "lines", {"one": "accept", "two": "accept"})
    assert released(build(tmp_path, texts)).version == "1.0.0"
    changed = {"one": "one", "two": "twain", "three": "drei"}
    second = released(build(tmp_path, changed))
    assert {name: dict(reasons) for name, reasons in second.held_back.items()} == {
        "saying-lines": {"changed since people reviewed it": 1},
        "saying-shadows": {"made of a row that is held back": 1},
    }
    assert {row["text"] for row in rows_of(second.folder, "saying-lines")} == {"one", "drei"}, "nobody had seen three"
    log = (second.folder / "CHANGELOG.md").read_text()
    assert "1 for `changed since people reviewed it` (before: 0)" in log
    # It goes on waiting, whatever else comes, although the version before does not have it.
    third = released(build(tmp_path, {**changed, "four": "four"}))
    assert third.is_new
    assert third.held_back["saying-lines"] == {"changed since people reviewed it": 1}
    assert released(build(tmp_path, {**changed, "five": "five"}), allow_unreviewed=True).held_back["saying-lines"] == {}
    decide(build(tmp_path, changed), "lines", {"one": "accept", "twain": "accept"})
    seen = released(build(tmp_path, changed), allow_unreviewed=False)
    assert seen.held_back["saying-lines"] == {}
    assert {row["text"]: row["reviewed"] for row in rows_of(seen.folder, "saying-lines")} == {
        "one": True, "twain": True, "drei": False,
    }  # fmt: skip


def test_a_row_that_came_back_as_it_was_waits_for_nobody(tmp_path: Path) -> None:
    texts = {"one": "one", "two": "two"}
    decide(build(tmp_path, texts), "lines", {"one": "accept", "two": "accept"})
    released(build(tmp_path, texts))
    (tmp_path / "out" / "verdicts" / "saying-lines.jsonl").unlink()
    assert released(build(tmp_path, texts)).held_back["saying-lines"] == {}, "the review is gone, the row as it was"


def test_nothing_new_makes_nothing(tmp_path: Path) -> None:
    first = released(build(tmp_path))
    before = contents(first.folder)
    again = released(build(tmp_path))
    assert (again.version, again.is_new, again.folder) == ("1.0.0", False, first.folder)
    assert again.held_back == first.held_back
    assert contents(first.folder) == before
    assert sorted(path.name for path in (tmp_path / "releases").iterdir()) == [".lock", "1.0.0"]


def test_a_higher_number_can_be_asked_for_and_a_lower_one_not(tmp_path: Path) -> None:
    released(build(tmp_path))
    project = build(tmp_path, ["one", "two", "three", "four"])
    with pytest.raises(WrongInput, match=r"version 1\.0\.1: lower than 1\.1\.0, a minor change of 1\.0\.0"):
        released(project, version="1.0.1")
    assert released(project, version="2.0.0").version == "2.0.0"
    with pytest.raises(WrongInput, match=r"version 1\.5\.0: lower than 2\.0\.1"):
        released(project, version="1.5.0")


def test_a_licence_alone_is_a_patch(tmp_path: Path) -> None:
    released(build(tmp_path))
    made = released(build(tmp_path, release={"licence": "CC-BY-4.0"}))
    assert made.version == "1.0.1"
    assert made.difference is not None
    assert made.difference.comparable
    assert changes(made.folder) == []


def test_hand_written_words_survive_and_are_released(tmp_path: Path) -> None:
    first = released(build(tmp_path))
    card = first.folder / "README.md"
    ours = b"\n## Thanks\n\nTo <b>everybody</b> | who: {{ said }} ---\n"
    card.write_bytes(card.read_bytes().replace(OWN_BEGIN + b"\n\n" + OWN_END, OWN_BEGIN + ours + OWN_END))
    second = released(build(tmp_path))
    assert second.version == "1.0.1"
    assert OWN_BEGIN + ours + OWN_END in (second.folder / "README.md").read_bytes()
    assert prove_all(second.folder) == []
    third = released(build(tmp_path, ["one", "two", "three", "four"]))
    assert OWN_BEGIN + ours + OWN_END in (third.folder / "README.md").read_bytes()
    assert not released(build(tmp_path, ["one", "two", "three", "four"])).is_new


def test_what_is_called_otherwise_is_no_version(tmp_path: Path) -> None:
    first = released(build(tmp_path))
    for name in (".next", "1.0.0.old", "v9.0.0", "9.0", ".9.9.9"):
        (first.folder.parent / name).mkdir()
    found = newest(tmp_path / "releases")
    assert found is not None
    assert found.manifest.version == "1.0.0"
    assert released(build(tmp_path, ["one"])).version == "1.1.0"


def test_a_folder_with_versions_of_another_dataset_is_refused(tmp_path: Path) -> None:
    released(build(tmp_path))
    other = build(tmp_path, name="other")
    with pytest.raises(WrongInput, match="has versions of sayings, but this build is of other"):
        released(other)


@pytest.mark.parametrize("damage", ["rows", "manifest", "folder"])
def test_no_version_is_built_on_a_damaged_one(tmp_path: Path, damage: str) -> None:
    made = released(build(tmp_path)).folder
    match damage:
        case "rows":
            file = made / "data" / "saying-lines" / "test.parquet"
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        case "manifest":
            text = (made / "manifest.json").read_text(encoding="utf-8")
            (made / "manifest.json").write_text(text.replace('"seed": 7', '"seed": 8'), encoding="utf-8")
        case "folder":
            made.rename(made.with_name("1.4.0"))
    with pytest.raises(Failed, match="restore it as it was released"):
        released(build(tmp_path, ["one more line", "and another"]))


# ---- the same bytes ----


def test_two_builds_in_other_folders_and_another_order_release_the_same_bytes(tmp_path: Path) -> None:
    texts, words = [f"line {n}" for n in range(600)], ["brave", "calm"]
    for name, order in (("here", 1), ("there/below", -1)):
        project = build(tmp_path / name, texts, words, order=order)
        decide(project, "words", {"brave": "accept", "calm": "CALMER"})
        released(build(tmp_path / name, texts, words, order=order))
    here, there = (contents(tmp_path / name / "releases" / "1.0.0") for name in ("here", "there/below"))
    assert here == there
    assert len(here) > 8


# ---- trouble ----


def test_a_full_disk_is_one_line_and_makes_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = build(tmp_path)

    class Full(pq.ParquetWriter):  # type: ignore[misc]
        def write_table(self, *args: object, **options: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(data.parquet.pq, "ParquetWriter", Full)
        with pytest.raises(Failed, match=r"cannot be written .*No space left on device.*free space, then run again"):
            released(project)
    assert [path.name for path in (tmp_path / "releases").iterdir()] == [".lock"]
    assert released(project).version == "1.0.0"


def test_of_two_releases_at_once_one_declines(tmp_path: Path) -> None:
    project = build(tmp_path)
    (tmp_path / "releases").mkdir()
    with (tmp_path / "releases" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Failed, match="another release is running here; run again when it has finished"):
            released(project)
    assert released(project).version == "1.0.0"


RELEASING = """
import sys, threading
from pathlib import Path
from typing import Any
from flows.project.output_files import open_built
from tests.saying import known, released
print("begun", flush=True)
with known():
    released(open_built(Path(sys.argv[1]) / "out"))
print("done", flush=True)
"""


@pytest.mark.slow
def test_a_release_killed_at_any_moment_is_made_again_to_the_same_bytes(tmp_path: Path) -> None:
    texts = [f"line {n}" for n in range(3000)]
    build(tmp_path / "whole", texts, release={"held_out": 0.1})
    run = [sys.executable, "-c", RELEASING, str(tmp_path / "whole")]
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(run, cwd=ROOT, check=True, env=here)
    expected = contents(tmp_path / "whole" / "releases" / "1.0.0")
    build(tmp_path / "cut", texts, release={"held_out": 0.1})
    next_one = tmp_path / "cut" / "releases" / ".next"
    killed = 0
    for reached in (1, len(expected) // 3, 2 * len(expected) // 3, len(expected) - 1):
        began = time.time_ns()
        process = subprocess.Popen(
            [*run[:-1], str(tmp_path / "cut")], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True, env=here
        )
        # By what is written, not by the clock: what an earlier kill left there is older than this run.
        while process.poll() is None:
            files = [path for _, _, names in os.walk(next_one) for path in names]
            if len(files) >= reached and next_one.exists() and next_one.stat().st_mtime_ns > began:
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.005)
        process.communicate()
        there = newest(tmp_path / "cut" / "releases") if (tmp_path / "cut" / "releases").exists() else None
        assert there is None or contents(there.folder) == expected
    assert killed >= 2
    released(build(tmp_path / "cut", texts, release={"held_out": 0.1}))
    assert contents(tmp_path / "cut" / "releases" / "1.0.0") == expected
    assert sorted(path.name for path in (tmp_path / "cut" / "releases").iterdir()) == [".lock", "1.0.0", "private"]


HOSTILE = (
    "<script>alert(1)</script>",
    "---\nlicense: mit\n---\n# Gone",
    "../../etc/passwd",
    "{{ 7*7 }} {% raw %} {0} %s %(x)s ${HOME}",
    "| a | b |\n```sh\nrm -rf /\n```",
    "<!-- own words: begin --> mine <!-- own words: end -->",
    "[red]rich[/red] \x1b[31mcolour\u202eback\x07",
    "=1+1",
)


def test_hostile_rows_travel_without_effect(tmp_path: Path) -> None:
    texts = [*HOSTILE, "x" * 10_000_000]
    project = build(tmp_path, texts, name="<img src=x onerror=alert(1)> --- evil: yes")
    made = released(project)
    assert sorted(row["text"] for row in rows_of(made.folder, "saying-lines")) == sorted(texts)
    card = (made.folder / "README.md").read_text()
    front, _, page = card.removeprefix("---\n").partition("\n---\n")
    assert yaml.safe_load(front)["license"] == "cc0-1.0"
    assert "evil" not in yaml.safe_load(front)
    assert "<script>" not in page
    assert "<img src=x" not in page
    assert len(card) < 30_000
    assert prove_all(made.folder) == []
    changed = [text.replace("Gone", "Here") for text in HOSTILE]
    second = released(build(tmp_path, changed, name="<img src=x onerror=alert(1)> --- evil: yes"))
    log = (second.folder / "CHANGELOG.md").read_text()
    assert "\x1b" not in log
    assert [line for line in log.splitlines() if line.startswith(("---", "# "))] == ["# Changelog"]


def test_no_address_and_no_key_is_in_any_file_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-planted0123456789"
    monkeypatch.setenv("SAYING_KEY", secret)
    config = {
        "annotation": {"people": {"a1": "anna.secret@example.org"}},
        "models": {"other": {"provider": "endpoint", "name": "m", "api_key_env": "SAYING_KEY"}},
        "cache": f"sqlite:///{tmp_path}/c.sqlite",
    }
    project = build(tmp_path, **config)
    decide(project, "lines", {"one": "accept"})
    made = released(build(tmp_path, **config))
    for path, content in contents(made.folder).items():
        for word in (secret.encode(), b"anna.secret", b"SAYING_KEY", str(tmp_path).encode()):
            assert word not in content, path
    assert b"`a1`" in (made.folder / "README.md").read_bytes()


def test_a_name_in_place_of_a_code_is_refused_and_not_repeated(tmp_path: Path) -> None:
    project = build(tmp_path)
    decide(project, "lines", {"one": "accept"}, by="Anna Secret <anna.secret@example.org>")
    project = build(tmp_path)
    with pytest.raises(WrongInput) as raised:
        released(project)
    assert "verdicts/saying-lines.jsonl: `by` or `reviewed_by` is no code such as a1" in str(raised.value)
    assert "nna" not in str(raised.value)


def test_who_is_not_named_in_the_configuration_is_told_by_a_number(tmp_path: Path) -> None:
    project = build(tmp_path)
    decide(project, "lines", {"one": "accept"}, by="account 3")
    made = released(build(tmp_path))
    assert "By `account-3`; codes stand for people." in (made.folder / "README.md").read_text()


# ---- what a reader does with it ----

LOADING = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
folder = sys.argv[1]
print(json.dumps({name: load_dataset(folder, name, split="test", cache_dir=sys.argv[2]).num_rows
                  for name in get_dataset_config_names(folder)}))
"""


@pytest.mark.slow
def test_every_configuration_loads_in_a_fresh_process(tmp_path: Path) -> None:
    project = build(tmp_path, words=["brave", "calm"])
    decide(project, "words", {"brave": "accept"})
    made = released(build(tmp_path, words=["brave", "calm"]))
    done = subprocess.run(
        [sys.executable, "-c", LOADING, str(made.folder), str(tmp_path / "cache")], capture_output=True, text=True,
        check=True, env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
    )  # fmt: skip
    manifest = read_release(made.folder).manifest
    assert json.loads(done.stdout.splitlines()[-1]) == {one.name: one.rows for one in manifest.configs if one.rows}
    assert checksum(made.folder / "README.md") in {file.sha256 for file in manifest.files}


# ---- what the version before decided ----


def test_what_was_let_through_unreviewed_is_let_through_until_somebody_says_otherwise(
    tmp_path: Path,
) -> None:
    first = released(build(tmp_path, words=["brave"]), allow_unreviewed=True)
    assert (first.as_before, read_release(first.folder).manifest.allowed_unreviewed) == (False, True)
    same = released(build(tmp_path, words=["brave"]))
    assert (same.version, same.is_new, same.as_before) == ("1.0.0", False, True)
    more = released(build(tmp_path, words=["brave", "calm"]))
    assert (more.version, more.as_before, more.withdrawn) == ("1.1.0", True, {})
    assert {row["decision"] for row in rows_of(more.folder, "saying-once")} == {"unreviewed_allowed"}
    ended = released(build(tmp_path, words=["brave", "calm"]), allow_unreviewed=False)
    assert (ended.version, ended.as_before) == ("2.0.0", False)
    assert ended.withdrawn == {"saying-once": 2, "saying-twice": 2}
    assert released(build(tmp_path, words=["brave", "calm"])).version == "2.0.0"


def test_what_runs_by_itself_stops_before_a_configuration_is_gone(tmp_path: Path) -> None:
    released(build(tmp_path, words=["brave"]), allow_unreviewed=True)
    project = build(tmp_path)
    with pytest.raises(Stopped, match=r"saying-once \(1 row\), saying-twice \(1 row\) would disappear"):
        released(project, withdraw=False)
    assert newest(tmp_path / "releases").manifest.version == "1.0.0"  # type: ignore[union-attr]
    assert released(project).withdrawn == {"saying-once": 1, "saying-twice": 1}
    assert not released(project, withdraw=False).is_new


def test_a_preview_tells_the_version_what_is_held_back_and_what_would_be_gone(tmp_path: Path) -> None:
    to = tmp_path / "releases"

    def seen(**given: Any) -> Prepared:
        project = build(tmp_path, **given)
        before = contents(tmp_path)
        told = preview(project.config_path, project.out, to, None, refresh=False).release
        assert contents(tmp_path) == before
        assert isinstance(told, Prepared), told
        return told

    first = seen(words=["brave"])
    assert (first.version, first.held_back["saying-once"]) == ("1.0.0", {"not reviewed yet": 1})
    released(build(tmp_path, words=["brave"]), allow_unreviewed=True)
    assert not seen(words=["brave"]).is_new
    assert (seen(words=["brave", "calm"]).version, seen(words=["brave", "calm"]).as_before) == ("1.1.0", True)
    assert seen().withdrawn == {"saying-once": 1, "saying-twice": 1}


def test_a_preview_says_why_nothing_would_be_released(tmp_path: Path) -> None:
    project = build(tmp_path, licence=None)
    told = preview(project.config_path, project.out, tmp_path / "releases", None, refresh=False).release
    assert isinstance(told, str)
    assert "its sources do not determine the licence of its rows" in told


def test_a_retired_row_goes_with_its_reason_and_is_no_rejection_by_people(tmp_path: Path) -> None:
    texts = ["one", "two", "three"], ["brave", "calm"]
    project = build(tmp_path, *texts)
    decide(project, "lines", {"one": "accept"})
    decide(project, "words", {"brave": "accept", "calm": "accept"})
    released(build(tmp_path, *texts))
    decided = tmp_path / "out/verdicts/saying-lines.jsonl"
    accepted = decided.read_text()
    decide(project, "lines", {"two": "reject"}, retired="tells no model from another", by="")
    decided.write_text(accepted + decided.read_text())
    decide(project, "words", {"brave": "accept", "calm": "reject"})
    project = build(tmp_path, *texts)
    folder = released(project).folder
    gone = {
        (line["config"], line["reason"])
        for line in map(json.loads, (folder / "history.jsonl").read_text().splitlines())
        if line["retired"]
    }
    assert gone == {
        ("saying-lines", "retired: tells no model from another"),
        ("saying-shadows", "made from what was retired: tells no model from another"),
        ("saying-once", "made from what was rejected by people"),
        ("saying-twice", "made from what was rejected by people"),
    }
    card = (folder / "README.md").read_text()
    assert "Judged: 1" in card
    assert "rejected: 0 (0.0%)" in card
    assert "| `saying-lines` | retired: tells no model from another | 1 |" in card
    assert "1 for `retired: tells no model from another` (before: 0)" in (folder / "CHANGELOG.md").read_text()
