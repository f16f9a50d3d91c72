"""Releases of the family `saying` through the flow, to a folder and a Hub on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from data.publish import hub_repository
from flows.prefect_server.embedded import quieten_prefect
from tests.hub import HubServer

REPO = "acme/sayings"
TOKEN = "hf_plantedSecret0123456789"


@contextmanager
def hub_of_the_client(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that the client takes for the Hub; retries do not wait."""
    monkeypatch.setattr(hub_repository, "WAITS_S", (0.0, 0.0, 0.0, 0.0))
    with HubServer(tokens={TOKEN: "write"}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def run(folder: Path, **options: Any) -> Any:
    """The flow's own function, outside Prefect: what Prefect adds is tested with the command."""
    from flows.release import flow as release

    quieten_prefect(folder / "prefect")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(release, "create_table_artifact", lambda **given: None)
        patched.setattr(release, "create_markdown_artifact", lambda **given: None)
        return release.release.fn(str(folder / "out"), to=str(folder / "releases"), **options)


def served(hub: HubServer, revision: str = "main") -> dict[str, bytes]:
    """The files at a revision, without the Hub's own."""
    commit = hub.repos[REPO].at(revision)
    assert commit is not None
    return {path: blob.data for path, blob in commit.files.items() if path != ".gitattributes"}
