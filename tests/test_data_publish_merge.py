"""Three-way merges of cards and files: what one side alone changed stands, and what both changed is a conflict."""

from typing import Any

import pytest

from data.publish.merge import (
    BOTH_BY_HAND,
    OWN_BEGIN,
    OWN_END,
    WITH_VERSION,
    Changes,
    Conflict,
    changes,
    keeps_card,
    merge,
    merge_metadata,
    merge_words,
    read_card,
    refuse_edited_text,
)
from schemas.errors import WrongInput
from schemas.release import ReleasedFile, ReleaseManifest


def card(metadata: str = "license: mit\n", text: str = "# Ours\n", words: str = "\n\n") -> bytes:
    return f"---\n{metadata}---\n\n{text}\n{OWN_BEGIN.decode()}{words}{OWN_END.decode()}\n".encode()


@pytest.mark.parametrize(
    ("last", "theirs", "new", "merged"),
    [
        ("a", "a", "a", "a"), ("a", "b", "a", "b"), ("a", "a", "b", "b"), ("a", "b", "b", "b"),
        ("a", None, "a", None), ("a", "a", None, None), (None, "b", None, "b"), (None, None, "b", "b"),
        ("a", None, None, None), (None, "b", "b", "b"),
    ],
)  # fmt: skip
def test_what_one_side_changed_stands(last: Any, theirs: Any, new: Any, merged: Any) -> None:
    assert merge(last, theirs, new) == merged


@pytest.mark.parametrize(
    ("last", "theirs", "new"), [("a", "b", "c"), ("a", None, "c"), ("a", "b", None), (None, "b", "c")]
)
def test_what_both_sides_changed_is_a_conflict(last: Any, theirs: Any, new: Any) -> None:
    with pytest.raises(Conflict):
        merge(last, theirs, new)


def test_metadata_is_merged_key_by_key_in_the_order_of_the_new_version() -> None:
    last = {"pretty_name": "sample", "size_categories": ["n<1K"], "license": "mit", "tags": ["benchmark"]}
    theirs = {"extra_gated_prompt": "Please.", **last, "pretty_name": "A sample", "license": None}
    new = {**last, "size_categories": ["1K<n<10K"], "task_categories": ["question-answering"]}
    merged, conflicts = merge_metadata(last, theirs, new, WITH_VERSION)
    assert not conflicts
    assert merged == {
        "pretty_name": "A sample", "size_categories": ["1K<n<10K"], "tags": ["benchmark"],
        "task_categories": ["question-answering"], "extra_gated_prompt": "Please.",
    }  # fmt: skip
    assert list(merged) == ["pretty_name", "size_categories", "tags", "task_categories", "extra_gated_prompt"]


@pytest.mark.parametrize(
    ("last", "theirs", "new", "merged"),
    [
        (["a"], ["legal", "a"], ["a", "reeval"], ["a", "reeval", "legal"]),
        (["a", "lveval"], ["a", "lveval", "legal"], ["a"], ["a", "legal"]),  # a release withdraws a family
        (["a", "b"], ["a"], ["a", "b", "reeval"], ["a", "reeval"]),
        (["a", "b", "c"], ["a", "b"], ["b", "c"], ["b"]),
        (["a"], ["b"], ["a", "c"], ["c", "b"]),
        (["a", "b"], ["c"], ["a"], ["c"]),
        (None, ["legal"], ["reeval"], ["reeval", "legal"]),
    ],
)  # fmt: skip
def test_lists_are_merged_by_their_items(last: Any, theirs: Any, new: Any, merged: list[str]) -> None:
    assert merge_metadata({"tags": last}, {"tags": theirs}, {"tags": new}, WITH_VERSION) == ({"tags": merged}, {})


def test_items_that_both_sides_replaced_are_a_conflict() -> None:
    merged, conflicts = merge_metadata({"tags": ["a"]}, {"tags": ["b"]}, {"tags": ["c"]}, BOTH_BY_HAND)
    assert merged == {"tags": ["b"]}, "what people wrote stands"
    assert conflicts["tags"] == (
        'README.md: `tags` was ["a"], is now ["b"] on the Hub and ["c"] in the folder of the last version; write '
        "the same value in both"
    )


def test_a_conflict_names_the_key_and_shows_no_more_than_a_line() -> None:
    _, conflicts = merge_metadata({}, {"license\n": "x" * 1000}, {"license\n": "mit"}, WITH_VERSION)
    assert conflicts["license\n"] == (
        f'README.md: `license\\n` was none, is now "{"x" * 59}… here and "mit" in the new version; '
        "put it back here as it was, and the new value comes"
    )


def test_own_words_of_either_side_stand() -> None:
    assert merge_words(b"\n\n", b"\nMine.\n", b"\n\n") == b"\nMine.\n"
    assert merge_words(b"\n\n", None, b"\nHere.\n") == b"\nHere.\n"
    assert merge_words(b"\nMine.\n", None, b"\nMine.\n") == b"\n\n"
    with pytest.raises(Conflict, match="your own words were changed on the Hub, and otherwise in the folder"):
        merge_words(b"\n\n", b"\nMine.\n", b"\nOthers.\n")


def test_a_card_is_read_in_its_parts_whatever_its_line_ends() -> None:
    parts = read_card(card(words="\nMine: --- \xff\n"))
    assert (parts.metadata, parts.words) == ({"license": "mit"}, "\nMine: --- \xff\n".encode())
    other = read_card(card(words="\nOthers.\n").replace(b"\n", b"\r\n"))
    assert other.metadata == parts.metadata
    assert other.text == parts.text
    assert read_card(b"").metadata == {}
    assert read_card(b"# No metadata\n---\nlicense: mit\n---\n").metadata == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (card("license: [\n"), "its YAML cannot be read"),
        (card("- license\n"), "its YAML is no mapping"),
        (card("1: license\n"), "its YAML is no mapping"),
        (card().replace(OWN_END, b""), "one of the two comments around your own words is missing"),
    ],
)
def test_a_broken_card_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(WrongInput, match=said) as raised:
        read_card(content)
    assert "\n" not in str(raised.value)


def test_an_edit_of_the_text_that_a_release_writes_is_a_conflict() -> None:
    with pytest.raises(Conflict, match="put your text between `<!-- own words: begin -->` and"):
        refuse_edited_text(read_card(card()).text, read_card(card(text="# Mine\n")))


def test_whether_a_new_card_keeps_what_was_changed() -> None:
    made = {"license": "mit", "pretty_name": "sample"}
    last = read_card(card("license: mit\npretty_name: A sample\n"))
    new = read_card(card("license: mit\npretty_name: A sample\n", text="# New\n", words="\nMine.\n"))

    def keeps(metadata: str, words: str = "\n\n") -> bool:
        return keeps_card(last, made, read_card(card(metadata, words=words)), new)

    assert keeps("license: mit\npretty_name: A sample\n")
    assert keeps("license: mit\npretty_name: A sample\n", "\nMine.\n")
    assert not keeps("license: mit\npretty_name: A sample\ngated: true\n")
    assert not keeps("license: apache-2.0\npretty_name: A sample\n")
    with pytest.raises(Conflict, match="your own words"):
        keeps("license: mit\npretty_name: A sample\n", "\nOthers.\n")
    # The edit that the last version kept is taken back: the new version writes its own value.
    rewritten = read_card(card("license: mit\npretty_name: new sample\n"))
    assert keeps_card(last, made, read_card(card("license: mit\npretty_name: sample\n")), rewritten)


def test_files_of_the_last_version_are_told_from_others() -> None:
    version = ReleaseManifest(
        name="n", version="1.0.0", canary="c", seed=1, configs=(), stages={}, models={}, prompts={}, versions={},
        settings={}, files=tuple(ReleasedFile(path=path, bytes=1, sha256=path) for path in ("a", "b", "c")),
    )  # fmt: skip
    last = {"manifest.json": "m", "a": "a", "b": "b", "c": "c", "beside": "x"}
    now = {"manifest.json": "m", "a": "other", "b": "b", "beside": "y", "new": "n"}
    assert changes(version, last, now) == Changes(edited=["a"], deleted=["c"], added=["beside", "new"])
    assert changes(None, {}, {"README.md": "r"}) == Changes(edited=[], deleted=[], added=["README.md"])
