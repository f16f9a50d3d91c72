"""What `touchstone explain` and `verify` say of a build that people have judged."""

from pathlib import Path

import pytest

from flows.run.reading import explain_record, verify_build
from tests.saying import build, decide

pytestmark = pytest.mark.usefixtures("saying")


def test_explain_says_what_was_made_of_which_record_and_who_rejected_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["brave", "calm"]
    project = build(tmp_path, words=words)
    family = project.build.families["saying"].family
    sifted = {word.text: word for word in project.build.sifted(family, family.part("words"))}
    decide(project, "words", {"brave": "reject", "calm": "CALM!"}, by="a1", reviewed_by="r1", posterior=0.934)
    project = build(tmp_path, words=words)
    fixed = next(iter(project.build.accepted("saying", "words")))

    def explained(text: str) -> list[str]:
        explain_record(sifted[text].key, tmp_path / "out")
        return capsys.readouterr().out.splitlines()

    rejected = explained("brave")
    place = next(number for number, line in enumerate(rejected) if "saying words · people · dropped" in line)
    decided = "decided by a1, reviewed by r1 (rubric saying-words), right with a probability of 93%"
    assert rejected[place + 2 : place + 4] == ["reason: rejected by people", decided]
    kept = explained("calm")
    assert kept.count(decided) == 1  # the fix, and not what it was before
    made = f"made of {fixed.id}: 2 records in saying echoes · echo"
    assert [line for line in kept if line.startswith("made of ")] == [made]
    assert kept.index(made) > next(n for n, line in enumerate(kept) if line.startswith(f"id {fixed.id} "))
    explain_record(fixed.provenance.parents[0], tmp_path / "out")
    source = capsys.readouterr().out
    assert f"made of {fixed.provenance.parents[0]}: 1 record in saying words · capitals" in source


def test_verify_proves_all_families_of_the_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(tmp_path, ["one"])
    verify_build(None, tmp_path / "out")
    assert "✓ saying-lines: 1 row, 0 faults" in capsys.readouterr().out
