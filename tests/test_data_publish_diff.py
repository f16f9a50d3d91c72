"""What differs between two versions, which number that asks for, and what people read of it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from data.publish.changelog import changelog, code, section, summary
from data.publish.diff import Difference, compare, next_version
from data.publish.folder import Release, claims_of, read_release, write_manifest
from data.publish.reading import read_released
from data.publish.version_number import bumped, parsed_version
from schemas.base import Provenance, Record, content_hash, visible
from schemas.errors import Failed, WrongInput
from schemas.release import Change
from tests.releases import DatedNote, Note, SourcedNote, note, release

A = [note("1", "one"), note("2", "two", number=2, drafts={"x": "y"}), note("3", "three", parts=("p", "q"))]


def changes_of(before: Release | None, now: Release, tmp_path: Path) -> tuple[Difference, list[Change]]:
    difference = compare(before, now, tmp_path / "changes.jsonl")
    with (tmp_path / "changes.jsonl").open("rb") as lines:
        return difference, [Change.model_validate_json(line) for line in lines]


def test_rows_added_changed_and_removed(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A})
    changed = note("2", "zwei", number=None, drafts={"x": "z"})
    now = release(tmp_path / "b", {"toy": [note("4", "four"), changed, A[0]]}, version="2.0.0")
    difference, changes = changes_of(before, now, tmp_path)
    (toy,) = difference.configs
    assert (toy.added, toy.changed, toy.removed, toy.unchanged) == (1, 1, 1, 1)
    assert toy.fields == {"drafts": 1, "number": 1, "text": 1}
    assert (toy.comparable, toy.before) == (1, 3)
    fields = {
        "id": (A[1].id, changed.id),
        "text": ("two", "zwei"),
        "number": (2, None),
        "drafts": ({"x": "y"}, {"x": "z"}),
    }
    assert [one for one in changes if one.change == "changed"] == [
        Change(config="toy", key="2", change="changed", fields=fields)
    ]
    assert {(one.key, one.change) for one in changes} == {("4", "added"), ("2", "changed"), ("3", "removed")}
    assert (difference.bump, difference.comparable) == ("minor", False)
    assert next_version(difference) == "1.1.0"


def test_more_rows_alone_leave_results_comparable(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A})
    now = release(tmp_path / "b", {"toy": [*A, note("4", "four")], "toy-more": A[:1]})
    difference, changes = changes_of(before, now, tmp_path)
    assert (difference.bump, difference.comparable) == ("minor", True)
    assert [(one.name, one.is_new, one.added) for one in difference.configs] == [
        ("toy", False, 1), ("toy-more", True, 1),
    ]  # fmt: skip
    assert {(one.config, one.key, one.change) for one in changes} == {("toy", "4", "added"), ("toy-more", "1", "added")}


def test_the_canary_the_order_and_the_cut_of_the_files_are_no_difference(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A})
    again = release(tmp_path / "b", {"toy": A[::-1]})
    difference, changes = changes_of(before, again, tmp_path)
    assert (difference.bump, difference.comparable, changes) == (None, True, [])
    assert next_version(difference) is None
    stamped = release(tmp_path / "c", {"toy": A}, canary="00000000-0000-4000-8000-000000000000")
    difference = compare(before, stamped)
    # Every file has other bytes, and no row is another: the card says so much, and no more.
    assert (difference.bump, difference.metadata) == ("patch", ("manifest.json: canary",))


def test_equal_bytes_are_not_read(tmp_path: Path) -> None:
    before, now = release(tmp_path / "a", {"toy": A}), release(tmp_path / "b", {"toy": A}, version="1.2.3")
    for one in (before, now):
        (one.folder / "data" / "toy" / "test.parquet").unlink()
    assert compare(before, now).bump is None


@pytest.mark.parametrize(
    ("change", "bump"),
    [
        ({"configs": {"toy": [DatedNote(key="1", text="one")], "other": A}}, "minor"),
        ({"method": {"write": "2"}}, "patch"),
        ({"method": {"write": "2"}, "configs": {"toy": A[:2], "other": A}}, "minor"),
        ({"split": "train"}, "major"),
        ({"scorer": "other"}, "major"),
        ({"asked": {"toy-task": "other"}}, "major"),
        ({"asked": {"toy-task": "asked", "another-task": "new"}}, None),
        ({"unreviewed": ("1",)}, "patch"),
        ({"configs": {"toy": A}}, "major"),
        ({"configs": {"toy": A, "other": A, "third": A}}, "minor"),
        ({"configs": {"toy": A[:2], "other": A}}, "minor"),
        ({"licence": "MIT"}, "patch"),
        ({"models": {"toy.builder": "another"}}, "patch"),
        ({"versions": {"python": "3.13.0"}, "stages": {"toy/notes/write": "0"}}, None),
        ({"version": "1.0.1"}, None),
        ({}, None),
    ],
)
def test_the_rule_of_versions(tmp_path: Path, change: dict[str, Any], bump: str | None) -> None:
    scored: dict[str, Any] = {"scorer": "scorer", "asked": {"toy-task": "asked"}}
    before = release(tmp_path / "a", {"toy": A, "other": A}, **scored)
    now = release(tmp_path / "b", **{"configs": {"toy": A, "other": A}, **scored, **change})
    difference = compare(before, now)
    assert difference.bump == bump
    expected = {"major": "2.0.0", "minor": "1.1.0", "patch": "1.0.1", None: None}[bump]
    assert next_version(difference) == expected


def test_a_card_differs_where_more_than_its_version_does(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A})
    now = release(tmp_path / "b", {"toy": A}, version="1.0.1")
    assert compare(before, now).metadata == ()
    with (now.folder / "README.md").open("a") as file:
        file.write("Made in 11.0.1.\n")
    from data.publish.folder import write_manifest

    now = Release(now.folder, write_manifest(now.folder, now.manifest))
    assert compare(before, now).metadata == ("README.md",)
    (now.folder / "scorer.py").write_text("")
    now = Release(now.folder, write_manifest(now.folder, now.manifest))
    assert compare(before, now).metadata == ("README.md", "scorer.py")


def test_a_column_more_is_told_once_and_the_rows_are_compared_in_the_others(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": [DatedNote(key="1", text="one"), DatedNote(key="2", text="two")]})
    now = release(tmp_path / "b", {"toy": [note("1", "one"), note("2", "zwei")]})
    difference, changes = changes_of(before, now, tmp_path)
    (toy,) = difference.configs
    assert toy.columns == {"year": ("int64", None)}
    # A record's name goes into its id, so that all ids differ here.
    assert {(one.key, one.change, *sorted(one.fields)) for one in changes} == {
        ("1", "incomparable", "id"), ("2", "changed", "id", "text"),
    }  # fmt: skip
    assert (difference.bump, toy.comparable) == ("major", 0)  # a model may have been shown the year
    added = compare(now, before)
    assert (added.bump, added.configs[0].comparable) == ("minor", 1)


# ---- on which rows scores are comparable ----

SOURCED = [SourcedNote(key=key, text=text) for key, text in (("1", "one"), ("2", "two"), ("3", "three"))]


def test_review_is_bookkeeping_and_breaks_nothing(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A}, unreviewed=("1", "2"))
    now = release(tmp_path / "b", {"toy": A}, unreviewed=("2",))
    difference, changes = changes_of(before, now, tmp_path)
    (toy,) = difference.configs
    assert (toy.changed, toy.bookkeeping, toy.unchanged, toy.comparable) == (0, 1, 2, 3)
    assert (difference.bump, difference.comparable, next_version(difference)) == ("patch", True, "1.0.1")
    assert changes == [
        Change(
            config="toy",
            key="1",
            change="bookkeeping",
            fields={"reviewed": (False, True), "decision": (None, "accept")},
        )
    ]
    assert (
        section(difference, "1.0.1")
        == """\
## 1.0.1

A patch of `1.0.0`: scores are comparable with those on it.

| configuration | rows added | changed | removed | bookkeeping | unchanged | comparable |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| `toy` | 0 | 0 | 0 | 1 | 2 | 3 of 3 |

### `toy`

- Bookkeeping alone changed, and in how many rows: `decision` in 1, `reviewed` in 1.
"""
    )


def test_provenance_and_what_a_record_type_names_are_bookkeeping(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": SOURCED})
    moved = [row.model_copy(update={"source": "b.json", "provenance": Provenance(seed=8)}) for row in SOURCED]
    difference = compare(before, release(tmp_path / "b", {"toy": moved}))
    (toy,) = difference.configs
    assert (toy.bookkeeping, toy.bookkeeping_fields) == (3, {"provenance": 3, "source": 3})
    assert (difference.bump, difference.comparable) == ("patch", True)


def test_a_corrected_text_leaves_the_other_rows_comparable(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": SOURCED}, unreviewed=("1", "2", "3"))
    corrected = [SOURCED[0].revised(text="uno"), *SOURCED[1:]]
    difference, changes = changes_of(before, release(tmp_path / "b", {"toy": corrected}, unreviewed="3"), tmp_path)
    (toy,) = difference.configs
    assert (toy.changed, toy.bookkeeping, toy.unchanged, toy.comparable) == (1, 1, 1, 2)
    assert (difference.bump, difference.comparable) == ("minor", False)
    assert {(one.key, one.change) for one in changes} == {("1", "changed"), ("2", "bookkeeping")}
    told = section(difference, "1.1.0")
    assert "A minor change of `1.0.0`. How far scores are comparable with those on it: `toy` on 2 of 3 rows.\n" in told
    assert "| `toy` | 0 | 1 | 0 | 1 | 1 | 2 of 3 |" in told
    assert "The comparable rows are those that `changes.jsonl` does not list, or lists as `bookkeeping`." in told
    assert '`text`: `"one"` became `"uno"`' in told
    assert "`id`" not in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scorer": "new"}, "- The scorer changed: no score is comparable."),
        (
            {"asked": {"toy-task": "new"}},
            "- A model is asked in another way: no score is comparable. See `toy-task`.",
        ),
    ],
)
def test_another_scorer_or_question_leaves_no_row_comparable(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    scored: dict[str, Any] = {"scorer": "old", "asked": {"toy-task": "old"}}
    before = release(tmp_path / "a", {"toy": A}, **scored)
    difference, changes = changes_of(before, release(tmp_path / "b", {"toy": A}, **{**scored, **change}), tmp_path)
    (toy,) = difference.configs
    assert [(row.key, row.change) for row in changes] == [(row.key, "incomparable") for row in A]
    assert (toy.unchanged, toy.comparable, difference.bump, difference.comparable) == (3, 0, "major", False)
    text = section(difference, "2.0.0")
    assert "A major change of `1.0.0`: no score is comparable with those on it." in text
    assert told in text
    assert "The comparable rows are" not in text
    rows = [note("1", "uno"), A[1], note("4", "four")]
    now = release(tmp_path / "c", {"toy": rows}, unreviewed="2", **{**scored, **change})
    difference, changes = changes_of(before, now, tmp_path)
    assert {row.key: row.change for row in changes} == {
        "1": "changed", "2": "incomparable", "3": "removed", "4": "added"
    }  # fmt: skip
    (toy,) = difference.configs
    assert (toy.bookkeeping, toy.comparable) == (1, 0)


def test_what_an_old_manifest_does_not_state_is_not_compared(tmp_path: Path) -> None:
    made = release(tmp_path / "a", {"toy": SOURCED}, unreviewed=("1",))
    path = made.folder / "manifest.json"
    content = json.loads(path.read_bytes())
    for config in content["configs"]:
        for name in ("bookkeeping", "scorer", "asked"):
            del config[name]
    path.write_text(json.dumps(content))
    old = read_release(made.folder)
    # The card of an old version has the digest of these claims, and of no others.
    assert claims_of(old.manifest) == content_hash({name: value for name, value in content.items() if name != "files"})
    now = release(tmp_path / "b", {"toy": SOURCED}, scorer="new", asked={"toy-task": "new"})
    for one, other in ((old, now), (now, old), (old, old)):
        assert compare(one, other).comparable
    assert compare(old, now).bump == "patch"


@pytest.mark.slow
def test_the_documented_program_keeps_the_comparable_rows(tmp_path: Path) -> None:
    """That of docs/release.md."""
    page = Path(__file__).parent.parent / "docs" / "release.md"
    (program,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    config = "uraq-evaluation"
    before = release(tmp_path / "releases" / "1.0.0", {config: SOURCED}, unreviewed="2")
    rows = [SOURCED[0].revised(text="uno"), SOURCED[1], SourcedNote(key="4", text="four")]
    now = release(tmp_path / "releases" / "1.1.0", {config: rows, "other": SOURCED}, version="1.1.0")
    difference, _ = changes_of(before, now, tmp_path)
    (compared, _) = sorted(difference.configs, key=lambda one: one.is_new)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, capture_output=True)
    for version in ("1.0.0", "1.1.0"):
        lines = (tmp_path / f"comparable-{version}.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["key"] for line in lines] == ["2"]
        assert len(lines) == compared.comparable


def test_a_summary_names_a_few_configurations(tmp_path: Path) -> None:
    names = [f"toy-{number}" for number in range(5)]
    counts = [(f"at-{number}", [note(str(row), "x") for row in range(number)]) for number in range(4, 11)]
    before = release(tmp_path / "a", {**dict.fromkeys([*names, "same"], A), **dict(counts)})
    shorter = {name: rows[1:] for name, rows in counts}
    now = release(tmp_path / "b", {**dict.fromkeys(names, A[1:]), "same": A, **shorter})
    assert summary(compare(before, now)) == (
        "A minor change of `1.0.0`. How far scores are comparable with those on it: `toy-0`, `toy-1`, `toy-2` and 2 "
        "more on 2 of 3 rows; `at-4` on 3 of 4 rows; `at-5` on 4 of 5 rows; `at-6` on 5 of 6 rows; `at-7` on 6 of 7 "
        "rows; `at-8`, `at-9`, `at-10` on some rows; `same` wholly."
    )


def test_a_summary_says_of_each_configuration_how_far_scores_are_comparable(tmp_path: Path) -> None:
    asked = {"toy-task": "old"}
    before = release(tmp_path / "a", dict.fromkeys(["same", "grown", "part", "gone", "asked"], A), asked=asked)
    rows = {"same": A, "grown": [*A, note("4", "four")], "part": A[1:], "new": A, "asked": A}
    now = release(tmp_path / "b", rows, asked=asked)
    configs = tuple(
        config.model_copy(update={"asked": {"toy-task": "new"}}) if config.name == "asked" else config
        for config in now.manifest.configs
    )
    now = Release(now.folder, now.manifest.model_copy(update={"configs": configs}))
    assert summary(compare(before, now)) == (
        "A major change of `1.0.0`. How far scores are comparable with those on it: `asked` not at all; `gone` gone; "
        "`part` on 2 of 3 rows; `grown` on all earlier rows, having only grown; `new` new; `same` wholly."
    )


def test_the_manifest_states_on_which_rows_scores_are_comparable(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A, "other": A})
    now = release(tmp_path / "b", {"toy": A[1:], "other": A, "new": A})
    stated = compare(before, now).stated_in(now.manifest)
    assert (stated.previous, stated.comparable) == ("1.0.0", False)
    assert {config.name: config.comparable for config in stated.configs} == {"toy": 2, "other": 3, "new": None}
    first = compare(None, before).stated_in(before.manifest)
    assert (first.previous, {config.comparable for config in first.configs}) == (None, {None})


def test_a_configuration_that_lost_all_its_rows_is_gone(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A, "other": A})
    now = release(tmp_path / "b", {"toy": A, "other": []})
    assert [one.name for one in now.manifest.configs] == ["toy"]
    difference = compare(before, now)
    other = next(one for one in difference.configs if one.name == "other")
    assert (other.is_gone, other.removed, difference.bump) == (True, 3, "major")
    assert compare(now, before).bump == "minor"


def test_the_first_version(tmp_path: Path) -> None:
    now = release(tmp_path / "a", {"toy": A})
    difference, changes = changes_of(None, now, tmp_path)
    assert {one.change for one in changes} == {"added"}
    assert next_version(difference) == "1.0.0"
    assert next_version(difference, "2.0.0") == "2.0.0"
    with pytest.raises(WrongInput, match=r"version 0\.1\.0: lower than 1\.0\.0, the first version"):
        next_version(difference, "0.1.0")
    assert section(difference, "1.0.0").startswith("## 1.0.0\n\nThe first version.\n\n| configuration |")


def test_an_override_goes_only_upward(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A}, version="1.4.9")
    difference = compare(before, release(tmp_path / "b", {"toy": A[:1]}))
    assert next_version(difference, "1.5.0") == "1.5.0"
    assert next_version(difference, "2.0.0") == "2.0.0"
    for low in ("1.4.9", "1.4.10", "1.4.99", "0.9.0"):
        with pytest.raises(WrongInput, match=r"lower than 1\.5\.0, a minor change of 1\.4\.9"):
            next_version(difference, low)
    same = compare(before, before)
    assert next_version(same, "1.4.10") == "1.4.10"
    with pytest.raises(WrongInput, match=r"lower than 1\.4\.10, the one after 1\.4\.9"):
        next_version(same, "1.4.9")


def test_versions_are_three_plain_numbers() -> None:
    assert parsed_version("10.0.3") == (10, 0, 3)
    for wrong in ("1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0-rc1", "1.0.0\n", " 1.0.0", "1.-1.0", "١.0.0", "",
                  "1.0." + "9" * 5000):  # fmt: skip
        with pytest.raises(WrongInput, match=r"MAJOR\.MINOR\.PATCH"):
            parsed_version(wrong)
    assert [bumped("1.2.3", one) for one in ("major", "minor", "patch")] == ["2.0.0", "1.3.0", "1.2.4"]  # type: ignore[arg-type]


def test_long_texts_are_cut_around_the_first_difference(tmp_path: Path) -> None:
    common = "a" * 100_000
    before = release(
        tmp_path / "a", {"toy": [note("1", f"{common}old{common}", parts=(common, "x"), drafts={"a": "b"})]}
    )
    now = release(tmp_path / "b", {"toy": [note("1", f"{common}new{common}", parts=(), drafts={"a": common})]})
    _, (change,) = changes_of(before, now, tmp_path)
    old, new = change.fields["text"]
    assert old == "…" + "a" * 60 + "old" + "a" * 137 + "…"
    assert new == "…" + "a" * 60 + "new" + "a" * 137 + "…"
    # Of long lists and mappings the part that differs stands for the whole; null: nothing is there.
    assert change.fields["parts[0]"] == ("a" * 200 + "…", None)
    assert change.fields["drafts.a"] == ("b", "a" * 200 + "…")


def test_of_a_long_list_the_first_element_that_differs_is_shown(tmp_path: Path) -> None:
    many = tuple(f"Context {n} says: " + "so it is, " * 10 for n in range(10))
    other = (*many[:7], many[7].replace("so", "how", 1), "gone", *many[9:])
    before = release(tmp_path / "a", {"toy": [note("1", "t", parts=many), note("2", "t", parts=many)]})
    now = release(tmp_path / "b", {"toy": [note("1", "t", parts=other), note("2", "t", parts=(*many, "one more"))]})
    difference, (first, second) = changes_of(before, now, tmp_path)
    assert first.fields == {"parts[7]": (many[7], other[7])}
    assert second.fields == {"parts[10]": (None, "one more")}
    (toy,) = difference.configs
    assert toy.fields == {"parts": 2}
    told = section(difference, "1.1.0")
    assert "Fields that changed, and in how many rows: `parts` in 2." in told
    assert f'`parts[7]`: `"{many[7]}"` became `"{other[7]}"`' in told
    assert "\\" not in told  # no JSON within a string


def test_a_value_that_comes_or_goes_in_a_mapping_is_shown_by_its_name(tmp_path: Path) -> None:
    long = "x" * 300
    before = release(tmp_path / "a", {"toy": [note("1", "t", drafts={"KGIR": long, "RECF": "r"})]})
    now = release(tmp_path / "b", {"toy": [note("1", "t", drafts={"KGIR": long})]})
    _, (change,) = changes_of(before, now, tmp_path)
    assert change.fields == {"drafts.RECF": ("r", None)}


VALUES = st.one_of(st.none(), st.integers(-3, 3))
NOTES = st.dictionaries(
    st.text("abcd", min_size=1, max_size=2),
    st.builds(
        dict,
        text=st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        number=VALUES,
        parts=st.lists(st.sampled_from(["", "p", "\0"]), max_size=2),
        drafts=st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["", "1"])),
    ),
    min_size=1,
    max_size=8,
)


def as_notes(rows: dict[str, dict[str, Any]]) -> list[Record]:
    return [Note(key=key, **fields) for key, fields in rows.items()]


def rows_of(made: Release) -> dict[str, dict[str, Any]]:
    (config,) = made.manifest.configs
    return {row["key"]: row for row in read_released(made.folder, config.files)}


@given(old=NOTES, new=NOTES, order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_changes_applied_to_the_old_rows_give_the_new(
    tmp_path_factory: pytest.TempPathFactory, old: dict[str, Any], new: dict[str, Any], order: Any
) -> None:
    folder = tmp_path_factory.mktemp("diff")
    before, now = release(folder / "a", {"toy": as_notes(old)}), release(folder / "b", {"toy": as_notes(new)})
    difference, changes = changes_of(before, now, folder)
    rows, wanted = rows_of(before), rows_of(now)
    for change in changes:
        if change.change == "removed":
            del rows[change.key]
        elif change.change == "added":
            assert change.key not in rows
            rows[change.key] = wanted[change.key]
        else:
            assert all(rows[change.key][name] == value for name, (value, _) in change.fields.items())
            rows[change.key].update({name: value for name, (_, value) in change.fields.items()})
    assert rows == wanted
    (toy,) = difference.configs
    assert toy.unchanged + toy.changed + toy.removed == len(old)
    assert toy.unchanged + toy.changed + toy.added == len(new)
    assert (difference.bump is None) == (
        sorted(map(str, rows_of(before).values())) == sorted(map(str, wanted.values()))
    )

    shuffled = list(as_notes(new))
    order.shuffle(shuffled)
    other, same = changes_of(before, release(folder / "c", {"toy": shuffled}), folder)
    assert sorted(map(str, same)) == sorted(map(str, changes))
    assert (other.bump, other.comparable) == (difference.bump, difference.comparable)


def test_rows_are_fetched_from_many_groups_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from data import parquet
    from data.publish import row_diff, rows

    monkeypatch.setattr(rows, "GROUP_BYTES", 5_000)
    monkeypatch.setattr(parquet, "FILE_BYTES", 20_000)
    monkeypatch.setattr(row_diff, "_FETCHED_BYTES", 3_000)
    before = release(tmp_path / "a", {"toy": [note(str(one), f"{one} " + "x" * 300) for one in range(200)]})
    now = release(
        tmp_path / "b",
        {"toy": [note(str(one), f"{one} " + "x" * (300 + one % 2)) for one in sorted(range(100, 300), key=str)]},
    )
    assert len(before.manifest.configs[0].files) > 2
    difference, changes = changes_of(before, now, tmp_path)
    (toy,) = difference.configs
    assert (toy.added, toy.changed, toy.removed, toy.unchanged) == (100, 50, 100, 50)
    changed = {one.key: one.fields["text"] for one in changes if one.change == "changed"}
    assert set(changed) == {str(one) for one in range(101, 200, 2)}
    assert all(str(old).startswith("…x") and new == f"{old}x" for old, new in changed.values())


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    once, twice = release(tmp_path / "a", {"toy": A}), release(tmp_path / "b", {"toy": [*A, note("1", "other")]})
    for before, now in ((once, twice), (twice, once)):
        with pytest.raises(Failed, match="configuration toy has key '1' twice"):
            compare(before, now, tmp_path / "changes.jsonl")
    assert not [one for one in tmp_path.iterdir() if "changes" in one.name]


def test_a_manifest_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    made = release(tmp_path / "a", {"toy": A})
    text = (made.folder / "manifest.json").read_text()
    for path in ("../secret", "/etc/passwd", "data//x", "a\\\\..\\\\b", "./README.md", "a\\nb"):
        (made.folder / "manifest.json").write_text(text.replace("data/toy/test.parquet", path))
        with pytest.raises(WrongInput, match="do not trust this release"):
            read_release(made.folder)
    (made.folder / "manifest.json").write_text("{}")
    with pytest.raises(WrongInput, match=r"damaged manifest \(name: Field required\)"):
        read_release(made.folder)
    with pytest.raises(WrongInput, match=r"has no manifest\.json"):
        read_release(tmp_path)


# ---- what people read ----


def test_the_section_of_a_version(tmp_path: Path) -> None:
    before = release(tmp_path / "a", {"toy": A, "old": A, "same": A})
    now = release(
        tmp_path / "b", {"toy": [*A[:2], note("3", "drei", parts=("p",))], "new": A[:1], "same": A}, licence="MIT"
    )
    assert (
        section(compare(before, now), "2.0.0")
        == """\
## 2.0.0

A major change of `1.0.0`. How far scores are comparable with those on it: `old` gone; `toy` on 2 of 3 rows; `new` \
new; `same` wholly.

| configuration | rows added | changed | removed | bookkeeping | unchanged | comparable |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| `new` | 1 | 0 | 0 | 0 | 0 | – |
| `old` | 0 | 0 | 3 | 0 | 0 | 0 of 3 |
| `toy` | 0 | 1 | 0 | 0 | 2 | 2 of 3 |

1 configuration without a difference.

The comparable rows are those that `changes.jsonl` does not list, or lists as `bookkeeping`.

### `new`

- New.

### `old`

- Removed.

### `toy`

- Fields that changed, and in how many rows: `parts` in 1, `text` in 1.
- For example, row `3`:
  - `text`: `"three"` became `"drei"`
  - `parts`: `["p", "q"]` became `["p"]`

### Beside the rows

- Licence of `same`: `MIT` in place of `CC0-1.0`.
- Licence of `toy`: `MIT` in place of `CC0-1.0`.
"""
    )


def test_beside_the_rows_is_told_what_a_reader_acts_on(tmp_path: Path) -> None:
    def made(name: str, card: str, scorer: str, proof: str, held_back: dict[str, int], **manifest: Any) -> Release:
        one = release(tmp_path / name, {"toy": A}, **manifest)
        for path, text in (("plots/toy-1.svg", card), ("scorers/toy.py", scorer), ("proof/data/x.parquet", proof)):
            (one.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (one.folder / path).write_text(text)
        (one.folder / "README.md").write_text(card)
        configs = tuple(config.model_copy(update={"held_back": held_back}) for config in one.manifest.configs)
        return Release(one.folder, write_manifest(one.folder, one.manifest.model_copy(update={"configs": configs})))

    before = made("a", "card", "scorer", "proof", {"rejected by people": 1200, "not reviewed yet": 3})
    now = made("b", "another", "faster", "other", {"rejected by people": 7}, models={"toy.builder": "m"})
    assert (
        section(compare(before, now), "1.0.1")
        == """\
## 1.0.1

A patch of `1.0.0`: scores are comparable with those on it.

1 configuration without a difference.

### Beside the rows

- Rows of `toy` that are held back: 0 for `not reviewed yet` (before: 3), 7 for `rejected by people` (before: 1,200).
- Changed: models; compare `manifest.json` of both versions.
- Files: `scorers/toy.py`.
"""
    )
    # Where nothing but the card differs, it is named: a patch is never of nothing.
    words = made("c", "card, with words", "scorer", "proof", {"rejected by people": 1200, "not reviewed yet": 3})
    assert section(compare(before, words), "1.0.1").endswith("- Files: `README.md`, `plots/toy-1.svg`.\n")


def test_sections_of_versions_before_stay_below(tmp_path: Path) -> None:
    first = release(tmp_path / "a", {"toy": A})
    second = release(tmp_path / "b", {"toy": A[:2]})
    one = changelog(compare(None, first), "1.0.0")
    two = changelog(compare(first, second), "1.1.0", one)
    assert two.startswith("# Changelog\n\n## 1.1.0\n")
    assert two.endswith(one.removeprefix("# Changelog\n"))
    assert two.count("# Changelog") == 1
    assert changelog(compare(None, first), "1.0.0") == one


HOSTILE = (
    "<script>alert(1)</script>", "`</code><script>`` x", "a\n\n# heading\n- item", "[x](javascript:alert(1))", "``",
    "![i](http://x/y.png)", "a | b", "\u202egnp.exe", "\x1b[31mred", "---\nlicense: none\n---", "", " ", "`", "\\`",
    "&lt;", "{{ x }} %s {0}", "null", "\u2028", "<!--", "$$x$$",
)  # fmt: skip


@given(text=st.one_of(st.sampled_from(HOSTILE), st.text(st.sampled_from("`\\ \n<>|*_[]()!&a\0\u2028"), max_size=12)))
def test_any_text_is_one_code_span(text: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).parse(f"x {code(text)} y")
    assert [one.type for one in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    before, span, after = tokens[1].children or []
    assert (before.content, span.type, after.content) == ("x ", "code_inline", " y")
    if text.strip():
        assert span.content == visible(text)


def test_hostile_rows_do_nothing_in_the_changelog(tmp_path: Path) -> None:
    plain = [note(str(number), "plain") for number in range(3)]
    for start in range(0, len(HOSTILE) - 3, 3):
        chosen = HOSTILE[start : start + 3]
        before = release(tmp_path / f"a{start}", {"toy": plain}, method={"write": "1"})
        now = release(
            tmp_path / f"b{start}",
            {"toy": [note(str(number), text, drafts={text: text}) for number, text in enumerate(chosen)]},
            method={chosen[0]: chosen[1]},
        )
        text = section(compare(before, now), "2.0.0")
        page = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)
        for tag in ("<script", "<a ", "<img", "<h1", "<hr", "<!--"):
            assert tag not in page
        assert page.count("<table>") == 1
        assert page.count("<h2>") == 1
        assert not {"\x1b", "\u202e", "\u2028"} & set(text)


MEMORY = r"""
import re, sys
from pathlib import Path
from data.publish.diff import compare
from data.publish.folder import read_release
def peak():
    # Of this program alone: what getrusage tells begins with the memory of the process that started it.
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
before = peak()
difference = compare(read_release(Path(sys.argv[1])), read_release(Path(sys.argv[2])), Path(sys.argv[3]))
(toy,) = difference.configs
print(peak() - before, toy.added, toy.changed, toy.removed, toy.unchanged)
"""


@pytest.mark.slow
def test_memory_is_bounded_however_long_the_rows(tmp_path: Path) -> None:
    """Two versions of 300 MB, every row of 1.5 MB changed, in another order."""
    long = "A line that is there again and again.\n" * 42_000
    keys = [str(number) for number in range(200)]

    class Rows(list[Note]):
        """Notes that are made as they are asked for."""

        def __init__(self, order: list[str], word: str) -> None:
            super().__init__([note(order[0], "")])
            self.order, self.word = order, word

        def __iter__(self) -> Any:
            return (note(key, f"{long[int(key) :]} {self.word}") for key in self.order)

    release(tmp_path / "a", {"toy": Rows(keys, "before")})
    release(tmp_path / "b", {"toy": Rows(keys[::-1], "now")})
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *(str(tmp_path / one) for one in ("a", "b", "changes.jsonl"))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, *counts = map(float, done.stdout.split())
    assert counts == [0, 200, 0, 0]
    assert peak < 400, done.stdout  # of 630 MB
    assert (tmp_path / "changes.jsonl").stat().st_size < 1_000_000
