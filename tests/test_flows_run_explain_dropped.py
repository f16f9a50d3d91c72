"""`explain` answers for every reason for which a record of a family's sample is dropped."""

from pathlib import Path

import pytest

from flows.families import family_names
from flows.project.output_files import open_built
from flows.project.settings import packaged, sample_path
from flows.run.reading import explain_record
from schemas.base import Dropped
from tests.builds import share_vectors, touchstone


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", family_names())
def test_whatever_the_sample_drops_is_explained(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = sample_path() if family == "uraq" else packaged(f"{family}.yaml")
    share_vectors(tmp_path / ".touchstone")
    done = touchstone("run", path, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.chdir(tmp_path)
    build = open_built(tmp_path / "out").build
    first: dict[tuple[str, str], Dropped] = {}
    for name, part in build.parts():
        for ref in build.stages(name, part):
            for dropped in build.read(ref).dropped():
                first.setdefault((str(ref), dropped.reason), dropped)
    assert first
    for (ref, reason), dropped in first.items():
        capsys.readouterr()
        explain_record(dropped.item_id, tmp_path / "out")
        told = " ".join(capsys.readouterr().out.split())
        assert f"{ref} · dropped" in told
        assert f"reason: {reason}" in told
        assert "it was: " in told or "· kept" in told or ref.endswith("source"), f"{ref}: {reason}: of what?"
