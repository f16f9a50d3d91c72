"""Which Label Studio a configuration means, and what is said where there is none or no key."""

from pathlib import Path

import pytest

from flows.annotate.server import KEY, connect_configured, server_folder
from flows.annotate.server_terminal import start_server
from flows.project.project import Project
from flows.project.settings import load_config
from schemas.errors import Failed, WrongInput
from tests.builds import touchstone, write_config
from tests.label_studio import Served

ELSEWHERE = "https://labels.example.org"


def test_a_local_server_that_does_not_run_is_said(tmp_path: Path) -> None:
    path = write_config(tmp_path, store=str(tmp_path / "store"), families={"uraq": {}})
    assert server_folder(load_config(path)) == tmp_path / "store" / "label-studio"
    with pytest.raises(Failed, match=f"not running, or does not answer; `touchstone label-studio up {path}` starts it"):
        connect_configured(Project(path, tmp_path / "out"))


def test_a_server_elsewhere_needs_a_key_and_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    path = write_config(tmp_path, families={"uraq": {}}, annotation={"url": ELSEWHERE})
    with pytest.raises(WrongInput, match=f"{ELSEWHERE}: its key is missing: .*{KEY}"):
        connect_configured(Project(path, tmp_path / "out"))
    with pytest.raises(WrongInput, match=r"config.yaml: annotation.url is https://labels.example.org, which is used"):
        start_server(path, None, show_password=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_local_and_elsewhere_are_the_same_to_who_asks(
    label_studio: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config(tmp_path, store=str(label_studio.folder.parent), families={"uraq": {}})
    with connect_configured(Project(path, tmp_path / "out")) as client:
        assert client.url == label_studio.url
    path = write_config(tmp_path, families={"uraq": {}}, annotation={"url": f"{label_studio.url}/"})
    monkeypatch.setenv(KEY, label_studio.token)
    with connect_configured(Project(path, tmp_path / "out")) as client:
        assert client.url == label_studio.url
        assert client.projects() == []
    monkeypatch.setenv(KEY, "0" * 40)
    with pytest.raises(WrongInput, match="does not accept the key"):
        connect_configured(Project(path, tmp_path / "out"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_goes_wrong_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    write_config(tmp_path, embeds=True, store="store", families={"uraq": {}})
    (tmp_path / "store").write_text("")
    done = touchstone("label-studio", "up", "config.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "store: a file is in its place" in done.stderr
