"""No text leaves under a licence that its source does not allow: what rows hold beside their own record counts too."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from data.publish.folder import read_release
from data.publish.reading import read_released
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project
from schemas.errors import WrongInput
from tests.builds import write_config
from tests.saying import released
from tests.test_flows_families_lveval_build import Scripted, squad
from tests.test_flows_families_reeval_method import PAGES, QUESTIONS, RELATED
from tests.toy import run_all

BOOK = {"format": "jsonl", "path": PAGES["path"]}


def built(folder: Path, family: str, block: dict[str, Any], **config: Any) -> Project:
    path = write_config(folder, store=str(folder / "store"), families={family: block}, **config)
    project = Project(path, folder / "out")
    if family == "lveval":
        scripted = Scripted()
        for one in project.build.families.values():
            one.models.update(dict.fromkeys(one.models, scripted))  # type: ignore[attr-defined]
    asyncio.run(run_all(project.build))
    write_output_files(project)
    remember(project)
    return open_built(folder / "out")


@pytest.mark.slow
def test_passages_count_those_that_rows_name_and_those_that_they_may_hold(tmp_path: Path) -> None:
    (tmp_path / "strange.jsonl").write_text('{"title": "A heading", "text": "No passage."}\n', encoding="utf-8")
    strange = {"format": "jsonl", "path": str(tmp_path / "strange.jsonl"), "licence": "GPL-3.0"}
    questions = {**QUESTIONS, "licence": "CC-BY-4.0", "limit": 6}
    related = {**RELATED, "licence": "CC-BY-SA-4.0"}
    block = {"seeds": "all", "entailment": "off", "sources": [questions], "passages": [related, strange]}
    with pytest.raises(WrongInput) as asked:
        released(built(tmp_path, "reeval", block))
    assert str(asked.value).startswith(
        "reeval-category2: its sources do not determine the licence of its rows: "
        "questions.jsonl (CC-BY-4.0), related.jsonl (CC-BY-SA-4.0), strange.jsonl (GPL-3.0); declare it"
    )
    said = {"licence": {"reeval-category2": "GPL-3.0"}}
    made = read_release(released(built(tmp_path, "reeval", block, release=said)).folder)
    assert {one.name: one.licence for one in made.manifest.configs} == {
        "reeval-category1": "CC-BY-4.0", "reeval-category2": "GPL-3.0",
    }  # fmt: skip
    files = next(one.files for one in made.manifest.configs if one.name == "reeval-category2")
    for row in read_released(made.folder, files):
        named = {source["id"] for source in row["provenance"]["sources"] if source["source"] == "related.jsonl"}
        drawn = {one["id"] for name in ("question", "evidence") for one in row[f"passages_{name}_focused"]}
        assert len(named) == len(drawn) > 0
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "| `reeval-category2` | GPL-3.0 | strange.jsonl | GPL-3.0 | mixed in |" in card
    assert "| `reeval-category1` | CC-BY-4.0 | strange.jsonl" not in card


@pytest.mark.slow
def test_what_is_mixed_into_contexts_counts_by_dataset(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    bridges = {"format": "squad", "path": str(squad(tmp_path)), "licence": "CC-BY-4.0"}
    more = squad(tmp_path / "other", seed=2).rename(tmp_path / "more.json")
    others = {"format": "squad", "path": str(more), "licence": "CC-BY-SA-4.0"}
    datasets = {
        "multifieldqa-en-mixup": {"pairs": 6, "sources": [bridges]},
        "loogle-SD-mixup": {"pairs": 6, "sources": [others], "distractors": [{**BOOK, "licence": None}]},
        "factrecall-en": {"sources": [others]},
    }
    block: dict[str, Any] = {"levels": ["800"], "datasets": datasets}
    with pytest.raises(WrongInput, match=r"lveval-factrecall_en_800: .*\(Apache-2.0\), more.json \(CC-BY-SA-4.0\)"):
        released(built(tmp_path, "lveval", block), allow_unreviewed=True)
    said = {"lveval-factrecall_en_800": "CC-BY-SA-4.0"}
    with pytest.raises(WrongInput, match=r"loogle_sd_mixup_800: .*more.json \(CC-BY-SA-4.0\), pages.jsonl \(none st"):
        released(built(tmp_path, "lveval", block, release={"licence": said}), allow_unreviewed=True)
    said["lveval-loogle_sd_mixup_800"] = "CC-BY-SA-4.0"
    made = released(built(tmp_path, "lveval", block, release={"licence": said}), allow_unreviewed=True)
    assert {one.name: one.licence for one in read_release(made.folder).manifest.configs} == {
        **said, "lveval-multifieldqa_en_mixup_800": "CC-BY-4.0",
    }  # fmt: skip
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    told = [line for line in card.splitlines() if line.startswith("| `lveval-") and line.count("|") == 6]
    mixed = {tuple(line.split(" | ")[2:4]) for line in told if line.endswith("| mixed in |")}
    assert mixed == {("pages.jsonl", "not stated"), ("more.json", "CC-BY-SA-4.0")}
    assert any("facts packaged with Touchstone | Apache-2.0" in line for line in told)


@pytest.mark.slow
def test_of_dialogues_the_card_names_what_they_hold_and_the_languages_they_are_in(tmp_path: Path) -> None:
    translated = {"text": "The old mill by the river burned down.", "reference": "河边的老磨坊被烧毁了。"}
    request = {"request": "Write a letter to a friend who moved to another town last year."}
    left = {"request": "Write a speech for the opening of a library in a small town."}
    sources = {}
    for name, row in (("sentences", translated), ("requests", request), ("left", left)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
        spec = {"format": "jsonl", "path": str(tmp_path / f"{name}.jsonl"), "licence": "MIT"}
        sources[name] = spec if name == "sentences" else {**spec, "fields": {"request": "request"}}
    given = {"translation": [sources["sentences"]], "writing": [sources["requests"], sources["left"]]}
    block = {"style": [], "unrelated": [], "rounds": 1, "seeds_per_task": 1, "sources": given}
    said = {"licence": {"refutebench-protocol": "MIT"}}  # the others' follows from what their rows name
    made = released(built(tmp_path, "refutebench", block, release=said), allow_unreviewed=True)
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    sources_told = card.partition("## Sources and licences")[2].partition("\n## ")[0]
    named = [source for source in ("requests.jsonl", "left.jsonl") if source in sources_told]
    assert len(named) == 1  # of two writing seeds one is wanted: no row holds text of the other's source
    assert "mixed in" not in card
    for part in ("seeds", "dialogues", "ratings"):
        assert f"| `refutebench-{part}` | MIT | sentences.jsonl | MIT |" in card
        (line,) = re.findall(rf"\| `refutebench-{part}`.* `test` .*", card)
        assert "| en, zh |" in line
