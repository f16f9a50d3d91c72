"""What tests share: the folder of public data, and projects to build."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kills N`: how often the soak kills a build."""
    parser.addoption("--kills", type=int, default=5, help="kills of a build in the resume tests")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Public data and reference scores, kept beside the repository; tests that need them skip without."""
    folder = Path(os.environ.get("TOUCHSTONE_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"{folder} is missing: CI needs the public data")
        pytest.skip(f"{folder} is not there (TOUCHSTONE_SHARED names another place)")
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
