"""The private share: what it takes to tell a private row, and what stays where from version to version."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.publish.folder import read_release
from flows.families.refutebench.method import FORMS, text_of
from flows.rebuild.preview import preview
from flows.release.private_share import SECRET, fingerprint, is_drawn
from flows.release.ready import check_release
from flows.release.version import Prepared
from schemas.base import content_hash, texts_in
from schemas.errors import Failed, WrongInput
from tests.builds import touchstone, write_config
from tests.saying import OURS, build, contents, decide, known, released, rows_of
from tests.test_flows_release_version import prove_all

SAMPLES = Path(__file__).resolve().parent.parent / "data" / "samples"
KEYS = [content_hash(number) for number in range(4000)]
OTHER = "fedcba9876543210" * 2
HELD = ["95bce61a71a78185", "2dbe74fef49e2e83"]
"""Of the first forty keys, with our secret."""
SIXTY = [f"line number {n}" for n in range(60)]
GONE = min(text for text in SIXTY if is_drawn(OURS, text, 0.3))

pytestmark = pytest.mark.usefixtures("saying")


def private_rows(made: Path, config: str = "saying-lines") -> list[dict[str, Any]]:
    path = made.parent / "private" / made.name / "data" / config / "test.parquet"
    return pq.read_table(path).to_pylist() if path.exists() else []


def sides(tmp_path: Path, lines: Any, share: float, **config: Any) -> tuple[set[str], set[str]]:
    """The private lines and the public ones of the next version."""
    made = released(build(tmp_path, lines, release={"held_out": share}, **config)).folder
    return {row["text"] for row in private_rows(made)}, {row["text"] for row in rows_of(made, "saying-lines")}


# ---- the draw ----


def test_about_the_share_is_drawn() -> None:
    # 4,000 draws at 0.1: mean 400, standard deviation 19; five of them are 95
    assert abs(sum(is_drawn(OURS, key, 0.1) for key in KEYS) - 400) < 95


def test_none_and_all() -> None:
    assert not any(is_drawn(OURS, key, 0.0) for key in KEYS)
    assert all(is_drawn(OURS, key, 1.0) for key in KEYS)


@given(st.text(), st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_keeps_what_a_smaller_one_did(secret: str, record: str, one: float, other: float) -> None:
    if is_drawn(secret, record, min(one, other)):
        assert is_drawn(secret, record, max(one, other))


def test_a_known_record_stays_on_its_side() -> None:
    # written down once: a change of the draw would move records between the public and the private side
    assert [key for key in KEYS[:40] if is_drawn(OURS, key, 0.1)] == HELD


def test_another_secret_draws_as_if_by_chance() -> None:
    # 4,000 records, 0.3 drawn by either: 360 by both, standard deviation 18; five of them are 90
    ours, others = ({key for key in KEYS if is_drawn(secret, key, 0.3)} for secret in (OURS, OTHER))
    assert abs(len(ours & others) - 360) < 90


# ---- the secret ----


@pytest.mark.parametrize(("secret", "problem"), [("", "is not set"), ("a" * 31, "has fewer than 32 characters")])
def test_without_a_secret_that_nobody_guesses_nothing_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: str, problem: str
) -> None:
    project = build(tmp_path, release={"held_out": 0.3})
    monkeypatch.setenv(SECRET, secret)
    with pytest.raises(WrongInput, match=rf'^{SECRET}: {problem}; .* with `python -c "import secrets; ') as raised:
        released(project)
    assert "\n" not in str(raised.value)
    assert not secret or secret not in str(raised.value)
    assert [path.name for path in (tmp_path / "releases").iterdir()] == [".lock"]
    monkeypatch.setenv(SECRET, OURS)
    assert released(project).version == "1.0.0"


def test_without_a_private_share_no_secret_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET)
    released(build(tmp_path))
    assert not (tmp_path / "releases" / "private").exists()


def test_a_version_without_a_public_row_is_none(tmp_path: Path) -> None:
    project = build(tmp_path, ["one", "two"], release={"held_out": 0.999})
    with pytest.raises(
        Failed, match="nothing may be released: all that may be, 4 rows, is in the private share; lower"
    ):
        released(project)


def test_the_secret_is_in_no_file(tmp_path: Path) -> None:
    lines = [f"line number {n}" for n in range(40)]
    made = released(build(tmp_path, lines, release={"held_out": 0.3})).folder
    assert private_rows(made)
    for path, content in contents(tmp_path).items():
        assert OURS.encode() not in content, path
    for path, content in contents(made).items():
        assert fingerprint(OURS).encode() not in content, path


def test_another_secret_than_before_is_refused_and_a_lost_one_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line number {n}" for n in range(60)]
    private, public = sides(tmp_path, lines, 0.3)
    monkeypatch.setenv(SECRET, OTHER)
    more = [*lines, *(f"line number {n}" for n in range(60, 120))]
    with pytest.raises(WrongInput, match=r"another secret drew the private share of version 1\.0\.0; set that one"):
        sides(tmp_path, more, 0.3)
    drawn_by = tmp_path / "releases" / "private" / "1.0.0" / "secret.fingerprint"
    drawn_by.write_bytes(b"\xff damaged")
    with pytest.raises(WrongInput, match=r"another secret drew the private share of version 1\.0\.0; set that one"):
        sides(tmp_path, more, 0.3)
    drawn_by.unlink()
    now_private, now_public = sides(tmp_path, more, 0.3)
    assert (private < now_private, public < now_public) == (True, True)
    assert {text for text in more[60:] if is_drawn(OTHER, text, 0.3)} == now_private - private
    monkeypatch.setenv(SECRET, OURS)
    with pytest.raises(WrongInput, match=r"another secret drew the private share of version 1\.1\.0"):
        sides(tmp_path, lines, 0.3)


# ---- what is private ----


def test_the_private_share_is_nowhere_in_the_public_folder(tmp_path: Path) -> None:
    lines = [f"line number {n}" for n in range(40)]
    words = [f"word{n}" for n in range(20)]
    project = build(tmp_path, lines, words, release={"held_out": 0.3})
    decide(project, "words", dict.fromkeys(words, "accept"))
    made = released(build(tmp_path, lines, words, release={"held_out": 0.3}))
    manifest = read_release(made.folder).manifest
    hidden: set[str] = set()
    for one in manifest.configs:
        rows = private_rows(made.folder, one.name)
        assert len(rows) == one.held_out > 0
        assert one.held_out + one.rows == (40 if one.name in ("saying-lines", "saying-shadows") else 20)
        hidden |= {row["text"].removeprefix("Shadow of ") for row in rows}
    public = {
        row["text"].removeprefix("Shadow of ") for one in manifest.configs for row in rows_of(made.folder, one.name)
    }
    assert hidden | public == {*lines, *words}
    assert not hidden & public
    assert not (made.folder / "proof").exists()
    files = "\n".join(readable(made.folder).values())
    for text in hidden:
        assert re.search(rf"\b{text}\b", files) is None, text
    assert prove_all(made.folder) == []


def test_rows_of_all_parts_on_one_text_are_on_one_side(tmp_path: Path) -> None:
    texts = [f"Say it {n} times" for n in range(30)]
    words = [text.upper().replace(" ", "-") + "!" for text in texts]
    project = build(tmp_path, texts, words, release={"held_out": 0.4})
    decide(project, "words", dict.fromkeys(words, "accept"))
    made = released(build(tmp_path, texts, words, release={"held_out": 0.4})).folder
    hidden = {normal(row["text"]) for row in private_rows(made)}
    assert 0 < len(hidden) < 30
    assert {normal(row["text"]) for row in private_rows(made, "saying-once")} == hidden


def test_a_row_that_shows_a_private_text_is_private_too(tmp_path: Path) -> None:
    numbers = [n for n in range(99) if is_drawn(OURS, f"who wrote book {n}", 0.2)]
    drawn = f"who wrote book {numbers[0]}"
    shows, longer = f"He asked: “Who  wrote -- book {numbers[0]}?”", f"who wrote book {numbers[0]}000"
    assert not any(is_drawn(OURS, normal(text), 0.2) for text in (shows, longer))
    private, public = sides(tmp_path, [drawn, shows, longer], 0.2)
    assert private == {drawn, shows}
    assert public == {longer}


def test_what_stands_in_the_published_settings_is_not_private(tmp_path: Path) -> None:
    drawn = next(text for n in range(99) if is_drawn(OURS, text := f"a licence called {n}", 0.3))
    private, public = sides(tmp_path, [drawn, *(f"line number {n}" for n in range(20))], 0.3, licence=drawn)
    assert private
    assert drawn in public


def test_the_card_says_what_it_takes_to_build_private_rows_again(tmp_path: Path) -> None:
    made = released(build(tmp_path, [f"line number {n}" for n in range(40)], release={"held_out": 0.3})).folder
    card = (made / "README.md").read_text(encoding="utf-8")
    assert "Whoever builds the dataset again has the private rows as well: those that are not here." in card
    assert (
        "- **Saying**: the settings and the seed in `manifest.json`; the sources `sources.jsonl`; no language" in card
    )
    made = released(build(tmp_path / "all", ["one", "two"])).folder
    assert "private rows" not in (made / "README.md").read_text(encoding="utf-8")


def test_a_dialogue_of_refutebench_rests_on_the_text_of_its_query() -> None:
    for form in FORMS.values():
        text = "A text.\n\nOf two parts."
        assert text_of(form.query.replace("{text}", text)) == text


# ---- what stays where ----


def test_what_was_public_stays_public_and_what_is_private_stays_so_whatever_the_seed(tmp_path: Path) -> None:
    lines = [f"line number {n}" for n in range(60)]
    private, public = sides(tmp_path, lines, 0.3)
    assert len(private) + len(public) == 60
    assert sides(tmp_path, lines, 0.8) == (private, public)
    assert sides(tmp_path, lines, 0.05) == (private, public)
    assert sides(tmp_path, lines, 0.3, seed=8) == (private, public)
    assert sides(tmp_path, lines[:50], 0.0) == (private & set(lines[:50]), public & set(lines[:50]))
    assert sides(tmp_path, lines, 0.05) == (private, public)


def test_a_share_that_rolls_is_public_in_the_next_version_and_new_rows_are_private(tmp_path: Path) -> None:
    rolls = {"held_out": 0.3, "held_out_rolls": True}

    def version(lines: list[str]) -> tuple[set[str], set[str], Path]:
        made = released(build(tmp_path, lines, release=rolls)).folder
        public = {row["text"] for row in rows_of(made, "saying-lines")}
        return {row["text"] for row in private_rows(made)}, public, made

    first = [f"line number {n}" for n in range(60)]
    private, public, _ = version(first)
    assert private == {text for text in first if is_drawn(OURS, text, 0.3)}
    assert public == set(first) - private

    more = [*first, *(f"another line {n}" for n in range(40))]
    rolled, public, made = version(more)
    assert rolled == {text for text in more[60:] if is_drawn(OURS, text, 0.3)}
    assert 5 < len(rolled) < 20
    assert public == set(more) - rolled
    lines_of = (made / "CHANGELOG.md").read_text(encoding="utf-8").partition("### `saying-lines`")[2].splitlines()
    assert f"- Of the added rows, {len(private)} were private in the version before." in lines_of
    assert read_release(made).manifest.held_out_rolls
    card = (made / "README.md").read_text(encoding="utf-8")
    held_out = sum(config.held_out for config in read_release(made).manifest.configs)
    assert f"there is a private share, {held_out} rows beside" in card
    assert "which the next version with new source records publishes, keeping rows on these private in" in card
    assert not [path for path, text in readable(made).items() for line in rolled if re.search(rf"{line}\b", text)]

    # Without new rows to keep, none is published either.
    fewer = more[5:]
    *both, made = version(fewer)
    assert both == [rolled & set(fewer), set(fewer) - rolled]
    assert (
        "private in the version before"
        not in (made / "CHANGELOG.md").read_text(encoding="utf-8").partition("## 1.1.0")[0]
    )

    # And a version later, all of them are public.
    last = [*fewer, *(f"a last line {n}" for n in range(40))]
    assert version(last)[0] == {text for text in last[95:] if is_drawn(OURS, text, 0.3)}


def test_a_corrected_row_stays_on_its_side(tmp_path: Path) -> None:
    lines = {str(n): f"line number {n}" for n in range(60)}
    private, public = sides(tmp_path, lines, 0.3)
    corrected = {name: f"{text} of many" for name, text in lines.items()}
    now = sides(tmp_path, corrected, 0.3)
    assert now == ({f"{text} of many" for text in private}, {f"{text} of many" for text in public})


def test_a_row_that_is_private_for_what_it_shows_makes_no_other_row_private(tmp_path: Path) -> None:
    drawn = next(text for n in range(99) if is_drawn(OURS, text := f"who wrote book {n}", 0.2))
    said, more = "so-brave-it-is", "so brave it is they say"
    assert not any(is_drawn(OURS, text, 0.2) for text in (normal(said), more))

    def echoes(lines: list[str], words: Mapping[str, str]) -> tuple[int, int]:
        project = build(tmp_path, lines, words, release={"held_out": 0.2})
        decide(project, "words", dict.fromkeys(words.values(), "accept"))
        made = released(build(tmp_path, lines, words, release={"held_out": 0.2})).folder
        assert {drawn} == {row["text"] for row in private_rows(made)}
        assert {*lines[1:]} == {row["text"] for row in rows_of(made, "saying-lines")}
        return len(private_rows(made, "saying-once")), len(rows_of(made, "saying-once"))

    # The word's id, which its provenance has, is the private text; a public line says the same as the word.
    assert echoes([drawn, said], {drawn: said}) == (1, 0)
    assert echoes([drawn, said, more], {drawn: said, "another": said.title()}) == (1, 1)


def test_a_new_row_on_a_corrected_text_is_on_the_side_of_the_corrected_row(tmp_path: Path) -> None:
    lines = {str(n): f"line number {n}" for n in range(60)}
    private, public = sides(tmp_path, lines, 0.3)
    corrected = {name: f"{text} of many" for name, text in lines.items()}
    twice = {f"{name} again": text for name, text in corrected.items()}
    assert sides(tmp_path, {**corrected, **twice}, 0.3) == (
        {f"{text} of many" for text in private}, {f"{text} of many" for text in public},
    )  # fmt: skip


def test_without_the_folder_of_the_private_rows_nothing_is_released(tmp_path: Path) -> None:
    lines = [f"line number {n}" for n in range(60)]
    private, _ = sides(tmp_path, lines, 0.3)
    kept = tmp_path / "releases" / "private"
    kept.rename(tmp_path / "elsewhere")
    with pytest.raises(
        WrongInput,
        match=rf"1\.0\.0/data/saying-lines: holds 0 rows, but version 1\.0\.0 kept {len(private)} private there",
    ):
        sides(tmp_path, [*lines, "one more line"], 0.3)
    shutil.rmtree(tmp_path / "elsewhere")
    assert sides(tmp_path, lines, 0.0) == (set(), set(lines))


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two versions: the second lacks a line that the first kept private."""
    folder = tmp_path_factory.mktemp("two")
    with known():
        assert GONE in sides(folder, SIXTY, 0.3)[0]
        sides(folder, ["a new line", *(line for line in SIXTY if line != GONE)], 0.3)
    return folder


@pytest.mark.parametrize("share", [0.3, 0.001, 0.0])
@pytest.mark.parametrize("lost", ["1.0.0", "1.0.0/data/saying-lines", "1.1.0/data/saying-lines/test.parquet"])
def test_without_some_of_the_private_rows_nothing_is_released(
    tmp_path: Path, two_versions: Path, lost: str, share: float
) -> None:
    shutil.copytree(two_versions, tmp_path, dirs_exist_ok=True)
    kept = tmp_path / "releases" / "private" / lost
    kept.rename(tmp_path / "elsewhere")
    with pytest.raises(WrongInput, match=r"/saying-lines: holds 0 rows, but version 1\.[01]\.0 kept \d+ private there"):
        sides(tmp_path, SIXTY, share)
    (tmp_path / "elsewhere").rename(kept)
    assert GONE in sides(tmp_path, SIXTY, share)[0]


def test_what_an_earlier_version_kept_private_stays_so_where_its_public_folder_is_gone(
    tmp_path: Path, two_versions: Path
) -> None:
    shutil.copytree(two_versions, tmp_path, dirs_exist_ok=True)
    private = {text for text in SIXTY if is_drawn(OURS, text, 0.3)}
    shutil.rmtree(tmp_path / "releases" / "1.0.0")
    assert sides(tmp_path, SIXTY, 0.001)[0] == private


@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("share", [0.3, 0.0])
def test_without_the_public_folder_of_the_newest_version_nothing_is_released(
    tmp_path: Path, rolls: bool, share: float
) -> None:
    lines = [f"line number {n}" for n in range(60)]
    release = {"held_out": share, "held_out_rolls": rolls}
    sides(tmp_path, lines[:40], 0.3)
    sides(tmp_path, lines[:50], 0.3)
    releases = tmp_path / "releases"
    kept = contents(releases / "private")
    for moved in ("1.1.0", "1.0.0"):
        (releases / moved).rename(tmp_path / moved)
        expected = rf"^\S+/releases/{moved}: missing, but \S+/private/{moved} has its private rows; bring that version"
        with pytest.raises(WrongInput, match=expected):
            released(build(tmp_path, lines, release=release))
        assert contents(releases / "private") == kept


def test_a_secret_may_have_bytes_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, OURS + "\udcff")
    lines = [f"line number {n}" for n in range(60)]
    private, _ = sides(tmp_path, lines, 0.3)
    assert private == {text for text in lines if is_drawn(OURS + "\udcff", text, 0.3)}


def test_a_preview_knows_what_was_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line number {n}" for n in range(60)]
    sides(tmp_path, lines, 0.3)
    project = build(tmp_path, [*lines, *(f"another line {n}" for n in range(9))], release={"held_out": 0.3})
    before = contents(tmp_path)
    told = preview(project.config_path, project.out, tmp_path / "releases", None, refresh=False).release
    assert isinstance(told, Prepared), told
    assert told.version == "1.1.0"
    assert contents(tmp_path) == before
    monkeypatch.delenv(SECRET)
    told = preview(project.config_path, project.out, tmp_path / "releases", None, refresh=False).release
    assert isinstance(told, str)
    assert told.startswith(SECRET)


def test_a_release_that_was_killed_before_its_last_step_gets_it_from_the_next_one(tmp_path: Path) -> None:
    lines = [f"line {n}" for n in range(20)]
    made = released(build(tmp_path, lines, release={"held_out": 0.5})).folder
    private = made.parent / "private" / made.name
    kept = contents(private)
    private.rename(private.with_name(".next"))
    project = build(tmp_path, lines, release={"held_out": 0.5})
    check_release(project, None, made.parent, allow_unreviewed=True)
    assert released(project).folder == made
    assert contents(private) == kept


def test_a_release_that_was_killed_before_leaves_nothing(tmp_path: Path) -> None:
    releases = tmp_path / "releases"
    for left in (releases / ".next" / "data", releases / "private" / ".next" / "data"):
        left.mkdir(parents=True)
        (left / "stale").write_text("of a version that never was")
    made = released(build(tmp_path, [f"line {n}" for n in range(20)], release={"held_out": 0.5}))
    assert made.version == "1.0.0"
    assert not list(releases.rglob("stale"))


# ---- an attack with everything that is public ----


def normal(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def readable(folder: Path) -> dict[str, str]:
    """Every file below a folder as text, of tables all texts in all columns."""
    return {
        path.relative_to(folder).as_posix(): "\n".join(
            text for row in pq.read_table(path).to_pylist() for text in texts_in(row)
        )
        if path.suffix == ".parquet"
        else path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def configured(folder: Path) -> Path:
    def source(name: str, **fields: Any) -> dict[str, Any]:
        return {"format": "jsonl", "path": str(SAMPLES / f"{name}.jsonl"), "licence": "Apache-2.0", **fields}

    mixup = {"pairs": 20, "sources": [source("questions")], "distractors": [source("pages")]}
    families = {
        "uraq": {"statements": 40, "context_counts": [1, 3]},
        "reeval": {"seeds": "all", "entailment": False, "sources": [source("questions")],
                   "passages": [source("pages"), source("related")]},
        "lveval": {"levels": ["1k", "2k"], "datasets": {"multifieldqa-en-mixup": mixup}},
        "refutebench": {
            "style": [], "evaluated": ["attentive"], "seeds_per_task": 6, "unrelated": [2],
            "sources": {"translation": [source("sentences")], "summarisation": [source("articles")],
                        "writing": [source("requests", fields={"request": "request"})]},
        },
    }  # fmt: skip
    return write_config(
        folder, store=str(folder / "store"), families=families, release={"licence": "Apache-2.0", "held_out": 0.25},
        models={"attentive": {"provider": "rules"}},
    )  # fmt: skip


def run(*arguments: str | Path, folder: Path, **environment: str) -> str:
    done = touchstone(*arguments, folder=folder, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert OURS not in done.stdout + done.stderr
    return done.stdout


def with_paths(settings: Any) -> Any:
    """Settings of a manifest, with the files of its sources where whoever has them keeps them."""
    if isinstance(settings, Mapping):
        return {name: str(SAMPLES / value) if name == "path" else with_paths(value) for name, value in settings.items()}
    return [with_paths(value) for value in settings] if isinstance(settings, list) else settings


ASKING = ("uraq-items", "reeval-category1", "reeval-category2")


@pytest.mark.slow
def test_who_has_all_that_is_public_finds_private_rows_only_where_the_card_says_so(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    run("run", configured(ours), "--out", "out", folder=ours)
    secret = {SECRET: OURS}
    run("release", "--allow-unreviewed", folder=ours, **secret)
    made = ours / "out" / "releases" / "1.0.0"
    manifest = read_release(made).manifest
    run("verify", "release", made, folder=ours)

    # What the attacker has: the version, the sources, and so the whole build, since only rules were asked.
    theirs = tmp_path / "theirs"
    config = {"families": with_paths(manifest.settings["families"]), "seed": manifest.seed}
    again = write_config(theirs, store=str(theirs / "store"), models={"attentive": {"provider": "rules"}}, **config)
    run("run", again, "--out", "out", folder=theirs)
    rebuilt = {
        row["key"]: row
        for path in sorted((theirs / "out" / "accepted").glob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    }
    private = {one.name: private_rows(made, one.name) for one in manifest.configs}
    assert sum(one.held_out for one in manifest.configs) == sum(map(len, private.values()))
    assert {one.family for one in manifest.configs if private[one.name]} == {"uraq", "reeval", "lveval", "refutebench"}

    # The rows can be rebuilt, and the card says so.
    assert all(rebuilt[row["key"]]["id"] == row["id"] for rows in private.values() for row in rows)
    card = (made / "README.md").read_text(encoding="utf-8")
    assert "Whoever builds the dataset again has the private rows as well: those that are not here." in card
    assert card.count("`manifest.json`; public sources alone; no language model") == 4

    # Nothing public tells which they are.
    for one in manifest.configs:
        rows = [*rows_of(made, one.name), *private[one.name]]
        hidden = {row["key"] for row in private[one.name]}
        for column in set(rows[0]) if 0 < len(hidden) < len(rows) else ():
            for known_value in (manifest.canary, manifest.seed, manifest.name):
                guessed = {
                    row["key"] for row in rows
                    if int(content_hash(known_value, "held out", str(row[column])), 16) < 0.25 * 16**16
                }  # fmt: skip
                assert guessed != hidden, (one.name, column)

    # No private question or text is in anything public.
    pairs = {row["id"]: row for row in rebuilt.values()}
    asked = {normal(row["question"]) for name, rows in private.items() if name in ASKING for row in rows}
    asked |= {normal(row["text"]) for row in private["refutebench-seeds"]}
    asked |= {normal(pairs[row["pair_id"]]["question"]) for row in private["lveval-multifieldqa_en_mixup_1k"]}
    assert len(asked) > 20
    for path, text in readable(made).items():
        said = f" {normal(text)} "
        assert [question for question in asked if f" {question} " in said] == [], path
