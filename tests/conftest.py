"""What tests share: the folder of public data, and projects to build."""

import gc
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from flows.prefect_server.embedded import API, KEY, EmbeddedServer
from tests.builds import ROOT, cache_folder
from tests.fork_server import Forks
from tests.inspect_program import make_inspect
from tests.label_studio import Served, SharedServer, copy_seed, make_seed
from tests.lm_harness import make_harness
from tests.prefect_server import make_database, with_database

if TYPE_CHECKING:
    from tests.hub import HubServer

os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
"""Read when the Hub's client is imported: the stand-in of tests/hub.py takes large files by the LFS protocol."""

ssl.create_default_context = cache(ssl.create_default_context)
"""Tests speak plain HTTP, and each client would read the certificates of the world anew, for 20 ms."""

settings.register_profile("tests", deadline=None)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kills N`: how often the soak kills a build, or a rebuild."""
    parser.addoption("--kills", type=int, default=5, help="kills in each of the resume tests")


def pytest_configure(config: pytest.Config) -> None:
    """One process forks the commands of all workers."""
    if not hasattr(config, "workerinput"):
        forks = Forks()
        config.add_cleanup(forks.stop)


LONGEST = (
    "test_faults",
    "test_flows_rebuild_flow",
    "test_flows_serve_deployments",
    "test_documentation",
    "test_flows_families_reeval_method",
    "test_flows_evaluate_held",
    "test_flows_cli",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests, and let those of a browser on Label Studio try twice.

    The files that take minutes come first: begun last, one of them would be waited for alone. A page of Label Studio
    whose request for a draft is cut off, as a busy machine may do, never submits.
    """
    items.sort(key=lambda item: not item.path.name.startswith(LONGEST))
    for item in items:
        if isinstance(item, pytest.Function) and {"browser", "label_studio"} <= set(item.fixturenames):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Leave what the tests import out of the garbage collector's sight: to scan it again and again takes a tenth."""
    gc.collect()
    gc.freeze()
    frozen = gc.get_freeze_count()
    gc.get_freeze_count = lambda: frozen  # it goes through all of them
    gc.unfreeze = lambda: None  # after an evaluation, every stage would look through all of it again
    gc.set_threshold(50_000, 20, 50)


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


@pytest.fixture
def saying() -> Iterator[None]:
    """The family `saying` is installed."""
    from tests.saying import known

    with known():
        yield


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator["HubServer"]:
    """A Hub on loopback that the client takes for the Hub."""
    from tests.releasing import hub_of_the_client

    with hub_of_the_client(monkeypatch) as server:
        yield server


@pytest.fixture(scope="session")
def prefect_database() -> Path:
    """An empty database of Prefect's, to begin with a copy of it."""
    return make_database(cache_folder())


@pytest.fixture(scope="session", autouse=True)
def _unsynced(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fast tests do not wait for the disk, a quarter of a release's time: none of them can tell; slow ones do wait."""
    with pytest.MonkeyPatch.context() as patch:
        if not _has_slow(request):
            patch.setattr(os, "fsync", lambda file: None)
        yield


def _has_slow(request: pytest.FixtureRequest) -> bool:
    return any(item.get_closest_marker("slow") for item in request.session.items)


@pytest.fixture(scope="session", autouse=True)
def prefect_api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """The commands of slow tests share a Prefect server, as those of a team do: each would start one of its own."""
    if not _has_slow(request):
        yield None
        return
    server = EmbeddedServer(
        with_database(tmp_path_factory.mktemp("prefect"), request.getfixturevalue("prefect_database"))
    )
    server.wait()
    os.environ[API], os.environ[KEY] = server.api, server.login
    yield server.api
    del os.environ[API], os.environ[KEY]
    server.stop()


@pytest.fixture
def embedded_prefect(
    prefect_database: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command starts a server of its own."""
    monkeypatch.delenv(API, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(with_database(tmp_path_factory.mktemp("prefect"), prefect_database)))


@pytest.fixture(scope="session")
def label_studio_seed() -> Path:
    """A Label Studio that was installed and started once on this machine; tests run copies of it."""
    return make_seed(cache_folder())


@pytest.fixture(scope="session")
def lm_eval() -> Path:
    """The program of a real lm-evaluation-harness, installed once on this machine."""
    return make_harness(cache_folder())


@pytest.fixture(scope="session")
def inspect_program() -> Path:
    """The program of a real Inspect, installed once on this machine."""
    return make_inspect(cache_folder())


@pytest.fixture
def label_studio_folder(label_studio_seed: Path, tmp_path: Path) -> Path:
    """The state folder of a Label Studio of the test's own, with a database, not started."""
    return copy_seed(label_studio_seed, tmp_path / "state" / "label-studio")


@pytest.fixture(scope="session")
def shared_label_studio(label_studio_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """The Label Studio that this worker's tests use one after the other."""
    shared = SharedServer(label_studio_seed, tmp_path_factory.mktemp("label-studio") / "state")
    yield shared
    shared.stop()


@pytest.fixture
def label_studio(shared_label_studio: SharedServer, tmp_path: Path) -> Iterator[Served]:
    """A real Label Studio, empty and running, with its client."""
    with shared_label_studio.emptied(tmp_path / "state" / "label-studio") as server:
        yield server


@pytest.fixture
async def browser() -> AsyncIterator[Any]:
    """Chromium."""
    from playwright.async_api import async_playwright

    quiet = ("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
             "disable-component-update", "disable-sync")  # fmt: skip
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=[f"--{flag}" for flag in quiet]
        )
        yield chromium
        await chromium.close()
