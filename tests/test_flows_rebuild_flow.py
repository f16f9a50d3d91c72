"""A rebuild as a scheduled one runs: from the sources to the Hub, and nothing where nothing changed."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annotation.label_studio.sync import projects_of, tasks_of
from data.checksum import checksum
from flows.annotate.server import KEY
from flows.construct.progress import ProgressListener
from flows.families.uraq.rubric import CHECK
from flows.prefect_server.embedded import API
from flows.project.locks import building, no_build, one_rebuild
from flows.project.project import EMBEDDINGS
from flows.project.settings import packaged
from flows.rebuild.finished import rebuild_finished
from flows.rebuild.reasons import DRAWN, MADE_OF
from tests.builds import begun, bytes_of, scribed, served, touchstone, write_config
from tests.chat_server import ChatServer
from tests.forms import result
from tests.hub import HubServer
from tests.label_studio import Served
from tests.rebuilds import ANOTHER, FACTS, dataset, facts, modules_of, rebuild, versions
from tests.web import WebServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
REPO = "acme/facts-qa"
ALONE = {API: ""}
"""No Prefect server is named."""


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


def on(hub: HubServer) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_test", "HF_HUB_DISABLE_XET": "1"}


def succeeds(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fails(done: subprocess.CompletedProcess[str], said: str, status: int = 1) -> str:
    assert (done.returncode, done.stderr.count("\n")) == (status, 1), done.stdout + done.stderr
    assert said in done.stderr
    return done.stdout


def written(folder: Path) -> dict[str, str]:
    """Checksum of each file of the build and its store; Prefect's state, databases and locks apart.

    The vectors are a link to those of all tests: another test may add to them at any time.
    """
    apart = ("prefect", "completions", EMBEDDINGS, "rebuild-", "stages.lock", "__pycache__")
    return {
        str(path): checksum(path)
        for path in folder.rglob("*")
        if path.is_file() and not any(name in str(path.relative_to(folder)) for name in apart)
    }


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The files that came, went or hold something else."""
    return sorted(path for path in {**before, **after} if before.get(path) != after.get(path))


async def test_nothing_changed_does_nothing(tmp_path: Path, hub: HubServer) -> None:
    table = await scribed(
        dataset(tmp_path / "rules", store=str(tmp_path / "rules" / "store")), tmp_path / "rules" / "out"
    )
    with ChatServer(answer=served(table), model="loopback") as server:
        model = {"provider": "endpoint", "name": "loopback", "base_url": server.url}
        prices = tmp_path / "prices.yaml"
        prices.write_text("loopback: {input_per_million: 1, output_per_million: 1}\n")
        dataset(tmp_path, model=model, prices=str(prices))
        assert "version 1.0.0 is new" in succeeds(rebuild(tmp_path, "--hub", REPO, **on(hub)))
        asked, before = len(server.requests), written(tmp_path)
        assert asked > 0
        hub.requests.clear()
        said, heavy = modules_of(tmp_path, "rebuild", "config.yaml", "--hub", REPO, **on(hub), **ALONE)
        assert "rows: none differs from the last rebuild" in said
        assert "nothing differs from version 1.0.0" in said
        assert heavy == [], "no embedding model, no Prefect"
        assert len(server.requests) == asked, "no call"
        assert {one.split()[0] for one in hub.requests} <= {"GET", "HEAD"}, "no upload"
        assert not changed(before, written(tmp_path))
        # Where a model costs money the preview asks it nothing: it tells the source records, and the stages.
        (tmp_path / "facts.jsonl").write_bytes(facts(ANOTHER, without=1))
        previewed = succeeds(rebuild(tmp_path, "--preview", **on(hub)))
        assert "a model costs money here" in previewed
        assert "uraq statements · source: 1 added, 1 removed" in previewed
        assert "would run: uraq statements · manipulate" in previewed
        assert len(server.requests) == asked
    assert versions(tmp_path) == ["1.0.0"]


def test_what_is_finished_is_rebuilt_as_it_is_with_prefect(tmp_path: Path) -> None:
    config, out = dataset(tmp_path, schedule={"max_changed_items": 0}), tmp_path / "out"
    succeeds(touchstone("run", "config.yaml", folder=tmp_path))
    with one_rebuild(tmp_path / ".touchstone", "test"):
        fails(rebuild(tmp_path, **ALONE), "another rebuild of test is running here; this one did nothing")
    with no_build(tmp_path / ".touchstone"):
        fails(rebuild(tmp_path, **ALONE), "`touchstone gc` is running here")
    assert not versions(tmp_path)
    first = succeeds(rebuild(tmp_path, **ALONE))
    assert "version 1.0.0 is new" in first
    assert "rows: none differs from the last build" in first
    (tmp_path / "touchstone.yaml").write_text(config.read_text())
    assert "no stage would run" in succeeds(touchstone("rebuild", "--preview", folder=tmp_path)), "the folder's own"
    (tmp_path / "touchstone.yaml").unlink()
    shutil.copytree(tmp_path, tmp_path / "copy")
    assert "to start the engine" in succeeds(rebuild(tmp_path / "copy")), "a server is named: the run is seen there"
    (tmp_path / "facts.jsonl").write_bytes(facts(ANOTHER))
    succeeds(touchstone("run", "config.yaml", folder=tmp_path))
    said = fails(rebuild(tmp_path, **ALONE), "schedule.max_changed_items allows 0")
    assert "starting the engine" not in said
    assert versions(tmp_path) == ["1.0.0"]
    (tmp_path / "facts.jsonl").write_bytes(facts(ANOTHER, without=1))
    before = written(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.delenv(API)
        assert rebuild_finished(config, out, None, None, ProgressListener()) is None, "something has to be built"
    assert not changed(before, written(tmp_path))


def test_a_changed_row_is_previewed_limited_and_released(tmp_path: Path, hub: HubServer) -> None:
    dataset(tmp_path, embeds=True, schedule={"max_changed_items": 3})
    first = succeeds(rebuild(tmp_path, "--preview"))
    assert "rows since nothing: there is no build yet: uraq-items: 12 added" in first
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / ".touchstone").exists()
    dataset(tmp_path, schedule={"max_changed_items": 3})
    succeeds(rebuild(tmp_path, "--hub", REPO, **on(hub)))
    (tmp_path / "facts.jsonl").write_bytes(facts(ANOTHER, without=1))
    before = written(tmp_path)
    told = succeeds(rebuild(tmp_path, "--preview"))
    assert "rows since the last rebuild: uraq-items: 1 added, 1 removed" in told
    assert "release: none, although version 1.1.0 is due: it would stop before anything goes to people or out" in told
    assert "money: none, the models are free" in told
    rows = int(re.findall(r"uraq-evaluation: .*?(\d+) changed,", told)[0])
    reasons = re.findall(r"^uraq-evaluation: (\d+) changed because (.*): ", told, re.MULTILINE)
    assert sum(int(count) for count, _ in reasons) == rows > 0, "each changed row has a reason"
    assert {reason for _, reason in reasons} <= {DRAWN, MADE_OF}
    assert not changed(before, written(tmp_path)), "a preview writes nothing"
    for _ in range(2):  # what is built by the first is no excuse for the second
        fails(rebuild(tmp_path, "--hub", REPO, **on(hub)), "schedule.max_changed_items allows 3")
    after = succeeds(rebuild(tmp_path, "--preview"))
    assert re.findall(r"^uraq-evaluation: (\d+) changed because (.*): ", after, re.MULTILINE) == reasons
    assert (versions(tmp_path), list(hub.repos[REPO].tags)) == (["1.0.0"], ["1.0.0"])
    dataset(tmp_path, schedule={"max_changed_items": 300})
    (tmp_path / "facts.jsonl").write_bytes(facts(ANOTHER, without=1))
    said = succeeds(rebuild(tmp_path, "--hub", REPO, **on(hub)))
    lines = [line for line in told.splitlines() if line.startswith("rows since")]
    assert lines == [line for line in said.splitlines() if line.startswith("rows since")], "as was previewed"
    assert list(hub.repos[REPO].tags) == versions(tmp_path) == ["1.0.0", "1.1.0"]


def test_of_two_rebuilds_at_once_one_declines(tmp_path: Path, hub: HubServer) -> None:
    dataset(tmp_path)
    with one_rebuild(tmp_path / ".touchstone", "test"):
        fails(rebuild(tmp_path), "another rebuild of test is running here; this one did nothing")
    assert not (tmp_path / "out").exists()
    command = ("rebuild", "config.yaml", "--hub", REPO)
    both = [begun(*command, folder=tmp_path, err=tmp_path / name, **on(hub)) for name in ("err-1", "err-2")]
    statuses = [process.wait(600) for process in both]
    assert 0 in statuses, [(tmp_path / name).read_text() for name in ("err-1", "err-2")]
    assert versions(tmp_path) == ["1.0.0"]
    assert [commit.title for commit in hub.repos[REPO].commits] == ["initial commit", "Version 1.0.0"]


def test_a_label_studio_that_is_down_stops_nothing_else(tmp_path: Path) -> None:
    dataset(tmp_path, annotation={"url": "http://127.0.0.1:9"})
    said = fails(rebuild(tmp_path, **{KEY: "0" * 40}), "nothing was pulled from people and nothing handed out")
    assert "version 1.0.0 is new" in said
    assert versions(tmp_path) == ["1.0.0"]


def test_no_money_left_stops_before_anything_goes_out(tmp_path: Path) -> None:
    with ChatServer(answer=lambda messages: "{}", model="loopback") as server:
        model = {"provider": "endpoint", "name": "loopback", "base_url": server.url}
        (tmp_path / "prices.yaml").write_text("loopback: {input_per_million: 1000, output_per_million: 1000}\n")
        dataset(tmp_path, model=model, prices="prices.yaml", budget_usd=0.000001)
        fails(rebuild(tmp_path), "raise budget_usd and run again")
    assert not versions(tmp_path)


def test_people_get_what_is_new_and_their_verdicts_are_released(tmp_path: Path, label_studio: Served) -> None:
    dataset(tmp_path, annotation={"url": label_studio.url})
    environment = {KEY: label_studio.token}
    assert "12 new tasks" in succeeds(rebuild(tmp_path, **environment))
    client = label_studio.client
    (queue,) = [one for name, one in projects_of(client, "test").items() if f"/{CHECK.name}@" in name]
    first, second, *_ = tasks_of(client, queue)
    yes = {ask.name: ask.accepts[0] for ask in CHECK.asks}
    client.annotate(first["id"], result(CHECK, yes)["result"])
    client.annotate(second["id"], result(CHECK, {**yes, "original_true": "no"})["result"])
    said = succeeds(rebuild(tmp_path, **environment))
    assert "verdicts applied" in said
    assert "no new task" in said
    assert "version 1.1.0 is new" in said
    table = pq.read_table(tmp_path / "out" / "releases" / "1.1.0" / "data" / "uraq-items" / "test.parquet")
    assert (table.num_rows, sum(table["reviewed"].to_pylist())) == (11, 1), "one rejected, one reviewed"
    assert "no new verdict" in succeeds(rebuild(tmp_path, **environment))
    (tmp_path / "facts.jsonl").write_bytes(facts(ANOTHER))
    said = succeeds(rebuild(tmp_path, **environment))
    assert "1 new task\n" in said, "unchanged views keep their verdicts"
    table = pq.read_table(tmp_path / "out" / "releases" / "1.2.0" / "data" / "uraq-items" / "test.parquet")
    assert (table.num_rows, sum(table["reviewed"].to_pylist())) == (12, 1)


def test_a_data_set_on_the_hub_changes_only_with_a_refresh(tmp_path: Path, hub: HubServer) -> None:
    hub.made("acme/facts")
    hub.somebody_commits("acme/facts", "facts.jsonl", facts())
    dataset(tmp_path, {"format": "hub", "path": "acme/facts", "fields": {"text": "text", "id": "id"}})
    environment = {**on(hub), "HF_HOME": str(tmp_path / "hf")}
    succeeds(rebuild(tmp_path, **environment))
    before = bytes_of(tmp_path / "out")
    hub.somebody_commits("acme/facts", "facts.jsonl", facts(ANOTHER))
    hub.requests.clear()
    assert "nothing differs" in succeeds(rebuild(tmp_path, **environment))
    assert hub.requests == [], "a pinned source asks nobody"
    assert bytes_of(tmp_path / "out") == before
    said = succeeds(rebuild(tmp_path, "--refresh", **environment))
    assert "pin moved: hub:acme/facts" in said
    assert "uraq-items: 1 added" in said
    assert versions(tmp_path) == ["1.0.0", "1.1.0"]


def test_a_url_changes_only_with_a_refresh(tmp_path: Path) -> None:
    with WebServer({"/facts.jsonl": facts()}, {"/facts.jsonl": '"one"'}) as web:
        dataset(tmp_path, {"format": "jsonl", "path": f"{web.url}/facts.jsonl?signature=planted"})
        succeeds(rebuild(tmp_path))
        web.files["/facts.jsonl"], web.etags["/facts.jsonl"] = facts(ANOTHER), '"two"'
        assert "nothing differs" in succeeds(rebuild(tmp_path))
        assert len(web.requests) == 1
        assert "pin would move" in succeeds(rebuild(tmp_path, "--preview", "--refresh"))
        lock = json.loads((tmp_path / "config.lock.json").read_text())
        assert [one["revision"] for one in lock["sources"].values()] == ['"one"'], "a preview moves no pin"
        assert "uraq-items: 1 added" in succeeds(rebuild(tmp_path, "--refresh"))
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or b"planted" not in path.read_bytes(), path


def test_gc_keeps_what_the_last_builds_and_releases_need(tmp_path: Path) -> None:
    dataset(tmp_path)
    succeeds(rebuild(tmp_path))
    for more in (FACTS[0][::-1], ANOTHER):  # two builds that nobody releases, and back
        (tmp_path / "facts.jsonl").write_bytes(facts(more))
        succeeds(touchstone("run", "config.yaml", folder=tmp_path))
    before = written(tmp_path)
    assert "would free" in succeeds(touchstone("gc", "--keep", "1", "--dry-run", folder=tmp_path))
    assert not changed(before, written(tmp_path))
    with building(tmp_path / ".touchstone"):
        fails(touchstone("gc", "--keep", "1", folder=tmp_path), "a build is running here")
    succeeds(touchstone("gc", "--keep", "1", folder=tmp_path))
    assert 0 < len(before) - len(written(tmp_path)) < len(before)
    assert "0 stages" in succeeds(touchstone("gc", "--keep", "1", folder=tmp_path))
    with no_build(tmp_path / ".touchstone"):
        fails(touchstone("run", "config.yaml", folder=tmp_path), "`touchstone gc` is running here")
    # What the last build and the release were made of is all there.
    assert "done before" in succeeds(touchstone("run", "config.yaml", folder=tmp_path))
    succeeds(touchstone("verify", "uraq", folder=tmp_path))
    (tmp_path / "facts.jsonl").write_bytes(facts())
    again = succeeds(touchstone("run", "config.yaml", folder=tmp_path))
    assert again.count("done before") == 9, "the release's stages"


def test_what_leaves_unreviewed_stays_and_nothing_is_withdrawn_unasked(tmp_path: Path) -> None:
    pages = {"format": "jsonl", "path": str(packaged("reeval.yaml").parent / "pages.jsonl"), "licence": "Apache-2.0"}
    questions = {**pages, "path": str(packaged("reeval.yaml").parent / "questions.jsonl")}
    pairs = {"pairs": 6, "sources": [questions], "distractors": [pages]}
    recalled = {"factrecall-en": {"sources": [pages]}}

    def datasets(**more: Any) -> None:
        block = {"levels": ["1k"], "datasets": {"multifieldqa-en-mixup": pairs, **more}}
        write_config(tmp_path, families={"lveval": block})

    datasets(**recalled)
    succeeds(touchstone("run", "config.yaml", folder=tmp_path))
    succeeds(touchstone("release", "--allow-unreviewed", folder=tmp_path))
    previewed = succeeds(rebuild(tmp_path, "--preview"))
    assert "release: version 1.0.0 stays: nothing differs" in previewed
    said = succeeds(rebuild(tmp_path))
    assert "unreviewed rows are released, as in the previous version" in said
    assert "nothing differs from version 1.0.0" in said
    datasets()
    previewed = succeeds(rebuild(tmp_path, "--preview"))
    assert "release: none, although version 2.0.0 is due: it would stop before lveval-factrecall_en_1k (" in previewed
    assert "would come" not in previewed
    fails(rebuild(tmp_path), "would disappear from the dataset; nothing is released")
    assert versions(tmp_path) == ["1.0.0"]
    assert "withdrawn: lveval-factrecall_en_1k (" in succeeds(touchstone("release", "--out", "out", folder=tmp_path))
    assert "nothing differs from version 2.0.0" in succeeds(rebuild(tmp_path))
