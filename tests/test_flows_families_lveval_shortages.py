"""A dataset whose files cannot fill any context is told before anything is built."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.families.lveval.settings import LVEvalSettings
from flows.families.lveval.shortages import MOST_BYTES, shortages
from flows.project.project import Project
from flows.project.settings import ConfigError
from tests.builds import write_config
from tests.documents import docx
from tests.test_flows_families_lveval_build import built, project_of, rows, squad

OWN = "our-handbook"


def words(number: int) -> str:
    """A text of that many words."""
    return " ".join(f"word{at}" for at in range(number - 1)) + " end."


def handbook(folder: Path, pages: int, length: int = 100) -> dict[str, Any]:
    """Questions, each on its own page of that many words."""
    lines = [
        {"id": f"q{page}", "question": f"Where is gate {page}?", "answers": [f"hall {page}"],
         "evidence": f"Gate {page} is in hall {page}. {words(length - 6)}"}
        for page in range(pages)
    ]  # fmt: skip
    path = folder / "handbook.jsonl"
    path.write_text("".join(json.dumps({**line, "text": line["evidence"]}) + "\n" for line in lines), encoding="utf-8")
    return {"format": "jsonl", "path": str(path)}


def corpus(folder: Path, length: int) -> dict[str, Any]:
    """A book of that many words."""
    path = folder / "corpus.txt"
    path.write_text("\n\n".join(f"{at} {words(99)}" for at in range(length // 100)), encoding="utf-8")
    return {"format": "book", "path": str(path)}


def told(levels: list[str], name: str = OWN, more: dict[str, Any] | None = None, **block: Any) -> list[str]:
    own = {"task": "single-hop-qa", "pairs": 20} if name == OWN else {}
    return list(shortages(LVEvalSettings.model_validate(
        {"levels": levels, "datasets": {name: {**own, **block}}, **(more or {})}
    )))  # fmt: skip


def test_too_few_words_are_told_with_figures_setting_and_what_to_do(tmp_path: Path) -> None:
    sources, distractors = [handbook(tmp_path, 30)], [corpus(tmp_path, 3000)]
    (line,) = told(["16k", "32k"], sources=sources, distractors=distractors)
    assert line == (
        "datasets.our-handbook: its sources have 6,000 words, and the lowest level (16k) wants 16,000: name more "
        "documents under datasets.our-handbook.distractors, or lower levels"
    )
    assert told(["4k", "64k"], sources=sources, distractors=distractors) == []


def test_pairs_that_leave_nothing_to_distract_with_are_told(tmp_path: Path) -> None:
    sources = [handbook(tmp_path, 30)]
    (line,) = told(["2k"], sources=sources, pairs=29)
    assert line.startswith(
        "datasets.our-handbook.pairs: 29 pairs of 30 questions leave at most 100 of 3,000 words to distract with; the "
        "lowest level (2k) wants 2,000: lower pairs or levels, or name more documents under"
    )
    assert told(["2k"], sources=sources, pairs=5) == []
    # A model of `prescreen` may answer any of them, and none is selected.
    assert told(["2k"], sources=sources, pairs=29, more={"prescreen": ["m"]}) == []


def test_questions_of_which_none_can_be_selected_are_told(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    row = {"question": "Where is gate 1?", "answers": ["hall 9"], "evidence": words(50), "text": words(50)}
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "question": "Why?"}) + "\n", encoding="utf-8")
    (line,) = told(["800"], sources=[{"format": "jsonl", "path": str(path)}])
    assert line.startswith("datasets.our-handbook.sources: no question can be selected (2 answer is not in the doc")


def test_a_book_that_is_too_short_is_told(tmp_path: Path) -> None:
    (line,) = told(["16k"], "factrecall-en", sources=[corpus(tmp_path, 3000)])
    assert "its sources have 3,000 words, and the lowest level (16k) wants 16,000" in line
    assert told(["2k"], "factrecall-en", sources=[corpus(tmp_path, 3000)]) == []


def test_what_is_not_at_hand_or_too_long_is_not_read(tmp_path: Path) -> None:
    sources = [handbook(tmp_path, 30)]
    for other in ({"format": "hub", "path": "a/b"}, {"format": "jsonl", "path": "https://a.org/b.jsonl"}):
        assert told(["16k"], sources=sources, distractors=[other]) == []
    assert told(["16k"], sources=sources, more={"parts": ["pairs"]}) == []
    long = tmp_path / "long.txt"
    for length, looks in ((MOST_BYTES // 2, True), (MOST_BYTES, False)):
        long.write_text("a" * length, encoding="utf-8")
        assert bool(told(["16k"], sources=sources, distractors=[{"format": "book", "path": str(long)}])) is looks


def test_documents_are_counted_as_they_are(tmp_path: Path) -> None:
    sources, folder = [handbook(tmp_path, 30)], tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(f"# Gates\n\n{words(2000)}", encoding="utf-8")
    distractors = [{"format": "documents", "path": str(folder)}]
    (line,) = told(["16k"], sources=sources, distractors=distractors)
    assert "its sources have 5,002 words" in line
    (folder / "b.html").write_text(f"<p>{words(10_000)}</p>", encoding="utf-8")
    assert told(["16k"], sources=sources, distractors=distractors) == []


def test_documents_that_are_no_texts_are_read_to_be_counted(tmp_path: Path) -> None:
    sources, folder = [handbook(tmp_path, 30)], tmp_path / "docs"
    folder.mkdir()
    (folder / "a.docx").write_bytes(docx([("Gates", [words(200).replace("word", name) for name in "abc"])], "Gates"))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and nothing else")
    (line,) = told(["16k"], sources=sources, distractors=[{"format": "documents", "path": str(folder)}])
    assert "its sources have 3,6" in line


def test_it_is_told_with_the_configuration_s_mistakes(tmp_path: Path) -> None:
    block = {"task": "single-hop-qa", "pairs": 5, "sources": [handbook(tmp_path, 30)]}
    config = write_config(tmp_path, families={"lveval": {"datasets": {OWN: block}}})
    with pytest.raises(ConfigError) as caught:
        assert Project(config, tmp_path / "out").build is not None
    (line,) = caught.value.problems
    assert line.startswith(f"{config}: families.lveval.datasets.our-handbook: its sources have 3,000 words")


def test_what_it_lets_through_may_be_built_and_what_it_refuses_could_not(tmp_path: Path) -> None:
    source = {"format": "squad", "path": str(squad(tmp_path))}
    for level, can_be in (("3k", True), ("5k", False)):
        blocks = {"levels": [level], "datasets": {"multifieldqa-en-mixup": {"pairs": 6, "sources": [source]}}}
        assert (not list(shortages(LVEvalSettings.model_validate(blocks)))) is can_be
    project = project_of(tmp_path, levels=["3k", "5k"])
    assert {row.level for row in rows(built(project))} == {"3k"}
