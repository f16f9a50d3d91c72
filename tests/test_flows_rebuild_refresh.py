"""`release.refresh`: swaps and replacements are drawn anew for a new version, and nothing else is."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from data.store import Store
from flows.project.build_note import note_draw
from flows.project.gc import stages_of_build
from flows.project.output_files import read_manifest
from flows.project.project import Project
from flows.project.released import RELEASES, MadeOf, note_release
from flows.project.settings import load_config
from flows.rebuild.preview import preview
from flows.rebuild.refresh import decide_draw
from flows.release.gate import CHANGED
from flows.release.version import newest
from schemas.release import ReleasedConfig, ReleaseManifest
from tests.builds import write_config
from tests.chat_server import ChatServer, Messages
from tests.refreshed import (
    CONTEXTS,
    FIRST,
    NEXT_QUARTER,
    PAGES,
    QUESTIONS,
    SAMPLES,
    SWAPS,
    built,
    configure,
    on,
    released,
    rows,
)

# ---- when something is drawn anew ----


def versions(folder: Path, *draws: str | None, waiting: int = 0, dates: Sequence[str | None] = ()) -> tuple[Path, Path]:
    """A dataset with versions of these draws, in the last of which so many rows wait for people: (config, out).

    Without `dates`, theirs are not known, as of versions of earlier releases.
    """
    config = configure(folder, {"reeval": SWAPS}, "each")
    (folder / "store").mkdir(exist_ok=True)
    for number, draw in enumerate(draws):
        held_back = {CHANGED: waiting} if waiting and number == len(draws) - 1 else {}
        manifest = ReleaseManifest(
            name="test", version=f"1.{number}.0", canary="c", seed=7, files=(), stages={}, models={}, prompts={},
            versions={}, settings={}, draw=draw, date=dates[number] if dates else None,
            configs=(ReleasedConfig(name="reeval-category1", family="reeval", part="category1", split="test", rows=9,
                                    held_back=held_back, reviewed=0, licence="CC0-1.0", fields={}, method={}, files=()),
            ),
        )  # fmt: skip
        version = folder / "out" / RELEASES / manifest.version
        version.mkdir(parents=True)
        (version / "manifest.json").write_text(manifest.model_dump_json(), encoding="utf-8")
        note_release(Store(str(folder / "store")), manifest)
    return config, folder / "out"


def draw(config: Path, out: Path, when: str, today: str = FIRST) -> tuple[str | None, str | None]:
    settings = load_config(config)
    settings = settings.model_copy(update={"release": settings.release.model_copy(update={"refresh": when})})
    with on(today):
        decided = decide_draw(settings, out, out / RELEASES)
    return decided.draw, decided.told


def test_before_the_first_version_nothing_is_drawn_anew(tmp_path: Path) -> None:
    config, out = versions(tmp_path)
    assert [draw(config, out, when)[0] for when in ("each", "quarterly", "never")] == [None, None, None]


def test_each_version_or_each_quarter_is_drawn_anew_or_none_is(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None, "1.0.0", "2026-Q4")
    assert draw(config, out, "each")[0] == "1.2.0"
    assert draw(config, out, "quarterly")[0] == "2026-Q4"
    assert draw(config, out, "quarterly", NEXT_QUARTER)[0] == "2027-Q1"
    assert draw(config, out, "never", NEXT_QUARTER)[0] == "2026-Q4", "the first draw, which is out, does not come back"


def test_a_draw_stays_for_the_quarter_in_which_its_first_version_came_out(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None, None, dates=["2026-10-01", "2026-12-31"])
    assert draw(config, out, "quarterly", "2026-12-31") == (None, None), "the first version's quarter"
    assert draw(config, out, "quarterly", NEXT_QUARTER)[0] == "2027-Q1"
    assert draw(config, out, "each", "2026-12-31")[0] == "1.1.0"


def test_a_version_without_a_new_draw_does_not_put_the_next_draw_off(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None, None, dates=["2026-12-31", NEXT_QUARTER])
    assert draw(config, out, "quarterly", "2027-03-31")[0] == "2027-Q1"


def test_a_draw_of_one_quarter_that_came_out_in_the_next_stays_for_that(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None, "2026-Q4", dates=["2026-09-30", NEXT_QUARTER])
    assert draw(config, out, "quarterly", "2027-03-31")[0] == "2026-Q4"
    assert draw(config, out, "quarterly", "2027-04-01")[0] == "2027-Q2"


def test_a_clock_that_was_set_back_draws_nothing_anew(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None, dates=[NEXT_QUARTER])
    assert draw(config, out, "quarterly", "2026-12-31") == (
        None,
        "not drawn anew (refresh: quarterly): this draw came out on 2027-01-04, which is after 2026-12-31, today; "
        "check the clock",
    )  # fmt: skip
    assert draw(config, out, "quarterly", "2027-04-01")[0] == "2027-Q2"


def test_a_draw_that_no_version_has_yet_stays_whatever_day_it_is(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None)
    note_draw(out, config, str(tmp_path / "store"), "2026-Q4")
    assert draw(config, out, "quarterly", NEXT_QUARTER)[0] == "2026-Q4"
    assert Project(config, out).draw == "2026-Q4", "a run goes on with it"
    assert Project(config, tmp_path / "elsewhere").draw is None, "it is that of this folder"


def test_a_folder_of_its_own_goes_on_with_the_draw_of_the_last_version(tmp_path: Path) -> None:
    config, _ = versions(tmp_path, None, "1.0.0")
    assert Project(config, tmp_path / "elsewhere").draw == "1.0.0"
    note_draw(tmp_path / "old", config, str(tmp_path / "store"), "1.0.0")
    assert draw(config, tmp_path / "old", "each")[0] == "1.1.0"


def test_while_rows_of_the_newest_version_wait_for_people_nothing_is_drawn_anew(tmp_path: Path) -> None:
    config, out = versions(tmp_path, None, "1.0.0", waiting=3)
    assert draw(config, out, "each") == (
        "1.0.0", "not drawn anew (refresh: each): people have still to see 3 rows of version 1.1.0"
    )  # fmt: skip
    assert draw(config, out, "never") == ("1.0.0", None)


def test_a_dataset_without_such_steps_is_not_drawn_anew(tmp_path: Path) -> None:
    _, out = versions(tmp_path, None)
    config = write_config(tmp_path, store=str(tmp_path / "store"), families={"uraq": {"statements": 4}})
    assert draw(config, out, "each") == (None, None)


def test_notes_without_a_draw_are_as_they_were() -> None:
    assert json.loads(MadeOf(what="x 1.0.0", stages=()).model_dump_json()) == {"what": "x 1.0.0", "stages": []}


# ---- what is drawn anew ----


@pytest.mark.slow
def test_swaps_and_replacements_are_drawn_anew_and_nothing_else_is(tmp_path: Path) -> None:
    configure(tmp_path, {"reeval": SWAPS, "lveval": CONTEXTS}, "each")
    built(tmp_path)
    assert released(tmp_path) == "1.0.0"
    first, contexts = rows(tmp_path, "category1"), rows(tmp_path, "contexts")
    before = stages_of_build(read_manifest(tmp_path / "out"))
    assert built(tmp_path, anew=False).draw == "1.0.0", "a rebuild would"
    assert stages_of_build(read_manifest(tmp_path / "out")) == before, "a run does not"

    shutil.copytree(tmp_path, tmp_path.with_name("again"), symlinks=True)
    outlook = preview(tmp_path / "config.yaml", tmp_path / "out", None, None, refresh=False)
    assert outlook.drawn.told == "swaps and replacements are drawn anew (refresh: each), after version 1.0.0"
    assert {str(ref) for ref in outlook.stages} == {
        "reeval category1 · swap answer", "lveval replacements · propose rules", "lveval conflicts · find conflicts",
        "lveval contexts · mix contexts",
    }  # fmt: skip
    assert {(reason.part, reason.reason) for reason in outlook.reasons or ()} == {
        (part, "they are drawn anew (refresh: each)")
        for part in ("reeval-category1", "lveval-replacements", "lveval-conflicts", "lveval-contexts")
    }

    assert built(tmp_path).draw == "1.0.0"
    assert released(tmp_path) == "1.1.0"
    second = rows(tmp_path, "category1")
    assert second.keys() == first.keys()
    fixed = ("question", "original_answer", "original_evidence", "source")
    assert all(second[key][name] == first[key][name] for key in first for name in fixed)
    changed = [key for key in first if second[key]["answer"] != first[key]["answer"]]
    assert len(changed) > 0.9 * len(first)
    unchanged = first.keys() - set(changed)
    assert all(second[key]["id"] == first[key]["id"] for key in unchanged), "without another answer they stay"
    anew = rows(tmp_path, "contexts")
    replaced = [key for key, row in anew.items() if row["replacements"]]
    assert len(replaced) > 5
    for key, row in anew.items():
        was, is_now = ({(rule["old"], rule["new"]) for rule in one["replacements"]} for one in (contexts[key], row))
        assert not was & is_now
        assert was or is_now or row["context"] == contexts[key]["context"]

    again = tmp_path.with_name("again")
    configure(again, {"reeval": SWAPS, "lveval": CONTEXTS}, "each")
    built(again)
    assert stages_of_build(read_manifest(again / "out")) == stages_of_build(read_manifest(tmp_path / "out"))
    for path in sorted((tmp_path / "out" / "accepted").glob("*.parquet")):
        assert (again / "out" / "accepted" / path.name).read_bytes() == path.read_bytes()

    assert built(tmp_path).draw == "1.1.0"
    released(tmp_path)
    third = rows(tmp_path, "category1")
    for key in first:
        had = [version[key]["answer"] for version in (first, second)]
        assert third[key]["answer"] not in had or third[key]["id"] == second[key]["id"]
    release = newest(tmp_path / "out" / RELEASES)
    assert release is not None
    assert release.manifest.draw == "1.1.0"
    assert "is of the draw `1.1.0`: it was drawn anew" in (release.folder / "README.md").read_text()


@pytest.mark.slow
def test_rows_that_are_added_while_a_draw_stays_change_no_row(tmp_path: Path) -> None:
    lines = (SAMPLES / "questions.jsonl").read_text().splitlines(keepends=True)
    questions = {**QUESTIONS, "path": str(tmp_path / "some.jsonl")}
    pairs = {"pairs": 24, "sources": [questions], "distractors": [PAGES]}
    families = {
        "reeval": {**SWAPS, "sources": [questions]},
        "lveval": {**CONTEXTS, "datasets": {"multifieldqa-en-mixup": pairs}},
    }
    drawn: dict[str, dict[str, Any]] = {}
    days = ("2026-09-30", FIRST, FIRST, FIRST)
    for number, (refresh, count) in enumerate((("quarterly", 8), ("quarterly", 8), ("quarterly", 11), ("never", 14))):
        (tmp_path / "some.jsonl").write_text("".join(lines[:count]), encoding="utf-8")
        configure(tmp_path, families, refresh)
        assert built(tmp_path, today=days[number]).draw == (None if number == 0 else "2026-Q4")
        assert released(tmp_path, days[number]) == f"1.{number}.0"
        for part in ("category1", "contexts"):
            before, now = drawn.get(part, {}), rows(tmp_path, part)
            kept = {key: row["id"] for key, row in now.items() if key in before}
            if number == 1:
                assert kept != {key: row["id"] for key, row in before.items()}, "drawn anew"
            else:
                assert kept == {key: row["id"] for key, row in before.items()}
                assert len(now) > len(before)
            drawn[part] = now


@pytest.mark.slow
def test_what_people_had_reviewed_waits_for_them_once_it_is_drawn_anew(tmp_path: Path) -> None:
    configure(tmp_path, {"reeval": SWAPS}, "each")
    built(tmp_path)
    seen = list(verdicts(tmp_path).values())[:3]
    accept(tmp_path, seen)
    built(tmp_path, anew=False)
    assert released(tmp_path, allow_unreviewed=False) == "1.0.0"
    assert sum(row["reviewed"] for row in rows(tmp_path, "category1").values()) == 3
    assert built(tmp_path).draw == "1.0.0"
    assert released(tmp_path, allow_unreviewed=False) == "1.1.0"
    release = newest(tmp_path / "out" / RELEASES)
    assert release is not None
    assert [config.held_back for config in release.manifest.configs] == [{CHANGED: 3}]
    assert built(tmp_path).draw == "1.0.0", "the next draw waits until they have seen this one"
    now = verdicts(tmp_path)
    accept(tmp_path, [now[line["key"]] for line in seen])
    built(tmp_path)
    assert released(tmp_path, allow_unreviewed=False) == "1.2.0"
    assert sum(row["reviewed"] for row in rows(tmp_path, "category1").values()) == 3
    assert built(tmp_path).draw == "1.2.0"


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    """A verdict that accepts each swap of a build, by key."""
    import pyarrow.parquet as pq

    sifted = pq.read_table(folder / "out" / "sifted" / "reeval-category1.parquet", columns=["key", "view_hash"])
    return {
        row["key"]: {
            "key": row["key"],
            "view_hash": row["view_hash"],
            "decision": "accept",
            "by": "a1",
            "rubric": "reeval-support",
        }
        for row in sifted.to_pylist()
    }


def accept(folder: Path, lines: list[dict[str, Any]]) -> None:
    (folder / "out" / "verdicts").mkdir(exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "out" / "verdicts" / "reeval-category1.jsonl").write_text(text, encoding="utf-8")


NAMES = ("Alban Lorrimer", "Caspar Fairleigh", "Cormac Ambrey", "Edmund Aldermoor")


def pivot(stubborn: str) -> Any:
    """A pivot with a favourite answer, which gives another one if it is told to; but not to the one question."""

    def answer(messages: Messages) -> str:
        asked = messages[1]["content"]
        if "New span:" in asked:
            parts = re.split(r"\n\n(?:Text span|Other wordings of it|New span):\n", asked.removeprefix("Passage:\n"))
            return json.dumps({"evidence": parts[0].replace(parts[1], parts[-1])})
        told = messages[-1]["content"] if len(messages) > 2 else ""
        free = [name for name in NAMES if name not in told] or [NAMES[0]]
        return json.dumps({"answer": NAMES[0] if stubborn in asked else free[0]})

    return answer


def test_a_model_is_asked_anew_for_an_answer_that_no_version_had(tmp_path: Path) -> None:
    persons = {"Otto Hahn", "Joseph John Thomson", "Edvard Munch"}
    lines = [json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text().splitlines()]
    chosen = [line for line in lines if persons & {*line["answers"]}]
    assert len(chosen) > 1
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(line) + "\n" for line in chosen), encoding="utf-8")
    swaps = {**SWAPS, "sources": [{**QUESTIONS, "path": str(tmp_path / "some.jsonl")}]}
    with ChatServer(pivot(chosen[0]["question"])) as server:
        model = {"provider": "endpoint", "name": server.model, "base_url": server.url}
        configure(tmp_path, {"reeval": swaps}, "each", model=model)
        given, calls = [], []
        for number in range(3):
            built(tmp_path)
            released(tmp_path)
            given.append({row["question"]: row["answer"] for row in rows(tmp_path, "category1").values()})
            calls.append(len(server.requests))
            assert built(tmp_path, anew=False).draw == f"1.{number}.0"
            assert len(server.requests) == calls[-1], "a run asks nothing anew"
            outlook = preview(tmp_path / "config.yaml", tmp_path / "out", None, None, refresh=False)
            assert outlook.drawn.draw == f"1.{number}.0"
            total = outlook.estimate.lines[-1]
            assert (total.calls > 0, total.cached) == (True, 0), "all is asked for anew"
    assert [set(one.values()) for one in given] == [{NAMES[0]}, {NAMES[0], NAMES[1]}, {NAMES[0], NAMES[2]}]
    assert all(one[chosen[0]["question"]] == NAMES[0] for one in given), "where there is no other, the row stays"
    assert calls[2] > calls[1] > calls[0]
