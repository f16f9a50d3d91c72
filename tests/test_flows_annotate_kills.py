"""`touchstone annotate` killed, refused and cut off at every request: run again, it ends where it would have ended.

Each command runs in a fork of this process, which the server kills, so no `finally` runs. What is on the server and on
disk after the next run is compared with what an undisturbed run leaves.
"""

import asyncio
import dataclasses
import importlib
import itertools
import json
import os
import pickle
import re
import shutil
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from annotation.adjudicate import NOTHING, USE
from annotation.label_studio.accounts import PEOPLE_FILE
from annotation.label_studio.client import Client, connect
from annotation.label_studio.failures import Refused
from annotation.label_studio.listener import SECRET_FILE, Listener
from annotation.label_studio.sync import KEY, LISTED_FIELDS, MARK, RETIRED, VIEW
from annotation.latest import time_of
from annotation.review import AGREED, COMMENT, corrected_of, decision_name, review_of, revision_of
from flows.annotate import listen
from flows.annotate.board.reading import Board
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.queues import rubric_of
from flows.annotate.report import write_annotation
from flows.annotate.server import KEY as API_KEY
from flows.construct.embed import SentenceBert
from flows.construct.people import every, sample
from flows.project.annotation_settings import AnnotationSettings
from flows.project.locks import one_writer
from schemas.errors import Failed, WrongInput
from schemas.rubric import Task, task_of
from tests.builds import begun
from tests.label_studio import Served
from tests.label_studio_stand_in import NOT_REPEATED, TOKEN, Fault, StandIn
from tests.test_flows_annotate_command import build
from tests.test_flows_annotate_survey import SURVEY
from tests.test_flows_annotate_work import JUDGED, known, shouted
from tests.toy import FAMILY, WORDS, NoEmbedder, run_all, toy_build

WORDS_HERE = ["animal", "bear", "cat", "dog"]
PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org", "lea": "lea@example.org"}
LEAVES = {"a3": "cara@example.org"}
AUTHORED = WORDS.model_copy(update={"overlaps": True})
REVIEW, REVISION, CORRECTED = review_of(AUTHORED), revision_of(AUTHORED), corrected_of(AUTHORED)
TEXTS = {"upper", COMMENT, "why_decided"}
MOST_ROUNDS = 100
Command = Callable[[Any, Client], str]
"""Does its work, and returns what it prints, if that is compared."""
State = Mapping[str, Any]


def judged(records: Sequence[Any], seed: int) -> list[Task]:
    return [task_of(one, JUDGED, {"text": one.text}, sample="words") for one in records]


def pushes(project: Any, client: Client) -> str:
    with one_writer(project.state, pytest.fail):
        push(project, client)
    return ""


def pulls(project: Any, client: Client) -> str:
    with one_writer(project.state, pytest.fail):
        collected = pull(project, client)
        write_annotation(project, collected, progress(project, client, collected))
    return ""


def shows(project: Any, client: Client) -> str:
    """What the board shows."""
    board = Board(project.out, project.config_path, lambda: project, lambda project: nullcontext(client))
    board.renew()
    if problem := board.state.files_problem or board.state.server_problem:
        raise Failed(problem)
    return repr(dataclasses.replace(board.state, asked=None, pulled=None))


class UntilQuiet(Listener):
    """A listener that hears nothing, at an address that stays. It closes when there is nothing to do, or soon."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url, self.rounds = "http://127.0.0.1:9/", 0

    def wait(self, most_s: float) -> None:
        self.rounds += 1
        self.is_open = most_s != listen.MOST_S and self.rounds < MOST_ROUNDS


def says(project: Any, client: Client) -> str:
    """Listen, and return what is said."""
    said: list[str] = []
    checks, listener = listen.TextChecks(), UntilQuiet(project.state)
    listen.Rounds(lambda: project, lambda project: connect(client.url, TOKEN), listener, said.append, checks).run()
    return "\n".join(said)


def listens(project: Any, client: Client) -> str:
    """Listen, and return what goes wrong: other lines begin with the name of a form."""
    return "\n".join(line for line in says(project, client).splitlines() if not line.startswith("toy"))


def answers(form: str, by: str, data: Mapping[str, Any]) -> Mapping[str, str]:
    """Right practice, and all kinds of work: what a check or a reviewer refuses, fixes or skips, and no answer."""
    number, text = int(data["ext_id"][:6], 16), str(data.get("shown_text", "")).upper()
    if form.endswith("-survey"):
        return {"clear": "yes", "effort": "2", "upper": "More examples."}
    if form.endswith("-adjudication"):
        return {"decision": "yes", USE: NOTHING, "why_decided": "It is one."}
    if form == CORRECTED.name:
        return {AGREED: "yes"}
    if form == REVIEW.name:
        verdict = "accept" if "AGAIN" in data["shown_author_upper"] else ("fix", "reject")[number % 2]
        return {decision_name("upper"): verdict, "upper": f"{text} FIXED", COMMENT: "Louder, please."}
    if form == REVISION.name:
        return {"decision": "yes", "upper": f"{text} AGAIN"}
    if form == AUTHORED.name:
        return {"decision": "yes", "upper": text.lower() if text == "CAT" else text}
    if "practice" in form:
        return {"decision": "yes" if text.endswith("0") else "no"}
    says = "perhaps" if number % 4 == 0 else "no" if by == "a2" else "yes"
    return {} if number % 5 == 0 else {"decision": says}


def kill_at_file(number: int) -> None:
    """Have this process killed when its file of this number, from 1, would take its name; 0: never."""
    takes_name, taken = Path.replace, itertools.count(1)

    def replace(path: Path, name: Path) -> Path:
        if next(taken) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return takes_name(path, name)

    Path.replace = replace  # type: ignore[method-assign, assignment]


def result_of(name: str, answer: str) -> State:
    """An answer as Label Studio has it."""
    kind, field = ("textarea", "text") if name in TEXTS else ("choices", "choices")
    return {"from_name": name, "to_name": "shown-text", "type": kind, "value": {field: [answer]}}


class Scene:
    """A build with authors and judges, and its server."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.server = folder, StandIn()
        (folder / "out").mkdir()
        (folder / "state" / "label-studio").mkdir(parents=True)
        self.people = {**PEOPLE, **LEAVES}
        self.build(WORDS_HERE)

    def build(self, words: Sequence[str], certainty: float | None = 0.9) -> None:
        build = toy_build(self.folder, words, times=(1,))
        asyncio.run(run_all(build))
        (self.folder / WORDS.guideline).write_text("# Words\n\nSay whether it is one.\n", encoding="utf-8")
        people = {"words": every(AUTHORED, checks=shouted, review=REVIEW), "echoes": sample(JUDGED, judged, known)}
        parts = tuple(dataclasses.replace(part, people=people[part.name]) for part in FAMILY.parts)
        family = dataclasses.replace(FAMILY, parts=parts, folder=self.folder)
        build.families["toy"] = dataclasses.replace(build.families["toy"], family=family)
        annotation = AnnotationSettings(
            people=self.people, lead="lea", overlap_first=2, gold_share=0.3, certainty=certainty,
            surveys={AUTHORED.name: SURVEY, JUDGED.name: SURVEY},
        )  # fmt: skip
        config = SimpleNamespace(name="toys", seed=3, annotation=annotation, state=self.folder / "state")
        self.project: Any = SimpleNamespace(
            build=build, config=config, limit=None, out=self.folder / "out", state=self.folder / "state",
            embedder=NoEmbedder(), bert=SentenceBert(), config_path=self.folder / "words.jsonl",
            close=lambda wait_s=0.0: None,
        )  # fmt: skip

    def work(self, forms: str = "", by: str = "") -> int:
        """Let people do their open tasks: all, or those whose form's name has `forms` in it; return how many."""
        before = sum(self.server.content.last.values())
        for queue, tasks in self.server.queues().items():
            form, person = rubric_of(queue), queue.rpartition("/")[2]
            for task in tasks if forms in form and by in person else ():
                self.do(task, form, person)
        return sum(self.server.content.last.values()) - before

    def do(self, task: int, form: str, by: str) -> None:
        given = answers(form, by, self.server.content.tasks[task]["data"])
        result = [result_of(name, answer) for name, answer in given.items()]
        self.server.hand_in(task, {**PEOPLE, **LEAVES}[by], result, skipped=not given)

    # ---- the commands ----

    def run(self, command: Command, at: int = 0, fault: Fault | None = None, write: int = 0) -> tuple[int, str]:
        """Run a command in a fork: its exit status, negative if it was killed; and the message, or what it prints.

        It is killed when its file number `write`, from 1, would take its name.
        """
        said = self.folder / "said"
        said.write_text("")
        self.server.begin(at, fault)
        pid = os.fork()
        if not pid:
            status, text = 99, ""
            try:
                kill_at_file(write)
                with connect(self.server.url, TOKEN) as client:
                    status, text = 0, command(self.project, client)
            except Failed as error:
                status, text = 1, str(error)
            except WrongInput as error:
                status, text = 2, str(error)
            except BaseException as error:  # noqa: BLE001 - the test says what it was
                text = repr(error)
            said.write_text(text, encoding="utf-8")
            os._exit(status)
        self.server.serve(pid)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status, said.read_text(encoding="utf-8")

    def does(self, command: Command) -> str:
        """Run a command undisturbed."""
        status, said = self.run(command)
        assert status == 0, said
        return said

    def warm(self) -> None:
        """Import what the commands import, or each fork would do so."""
        before = self.save()

        def all_of_them(project: Any, client: Client) -> str:
            for command in (pushes, pulls, shows, listens):
                command(project, client)
            return " ".join(sys.modules)

        for name in (*self.does(all_of_them).split(), "crowdkit.aggregation"):
            with suppress(ImportError):
                importlib.import_module(name)
        httpx.Client().close()
        self.restore(before)

    # ---- what there is ----

    def save(self) -> bytes:
        """All that is on the server and on disk."""
        return pickle.dumps((self.server.content, {str(path): path.read_bytes() for path in self._files()}))

    def restore(self, saved: bytes) -> None:
        self.server.content, files = pickle.loads(saved)
        for path in self._files():
            if str(path) not in files:
                path.unlink()
        for path, content in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)

    def _files(self) -> list[Path]:
        folders = (self.folder / "out", self.folder / "state")
        paths = (path for folder in folders for path in folder.rglob("*"))
        return sorted(path for path in paths if path.is_file() and ".tmp-" not in path.name)  # no name, so never read

    def told(self) -> State:
        """All that must be the same in the end, without the server's numbers; of a password, whether it is right."""
        passwords = {row["email"]: row.get("password", "") for row in self.server.content.users.values()}
        files = {str(path.relative_to(self.folder)): path.read_text(encoding="utf-8") for path in self._files()}
        files = {name: re.sub(r"projects/\d+/data(\?task=\d+)?", "", text) for name, text in files.items()}
        if (name := f"state/label-studio/{PEOPLE_FILE}") in files:
            logins = [line.split("\t") for line in files[name].splitlines() if not line.startswith("#")]
            files[name] = repr([(code, email, password == passwords.get(email)) for code, email, password in logins])
        files.pop("state/annotate.lock", None)  # only who has it open holds it
        files.pop(f"state/{SECRET_FILE}", None)  # made at random by whoever listens first
        return {"accounts": sorted(passwords), "queues": queues_of(self.server), "files": files}


def queues_of(server: StandIn) -> Mapping[str, Sequence[State]]:
    """The projects of each queue with all that is in them, without the server's numbers."""
    there, queues = server.content, defaultdict[str, list[State]](list)
    people = {number: row["email"] for number, row in there.users.items()}
    for number, project in sorted(there.projects.items()):
        tasks = []
        for task in there.by_project[number]:
            done = [(people[row["completed_by"]], row["result"], row["was_cancelled"])
                    for row in (there.annotations[place] for place in there.by_task[task])]  # fmt: skip
            tasks.append(repr((there.tasks[task]["data"], sorted(done, key=repr))))
        described = {name: text for name, text in project.items() if name != "id"}
        views = [row["data"] for row in there.views.values() if row["project"] == number]
        hooks = sum(row["project"] == number for row in there.webhooks.values())
        queues[server.name(number)].append({**described, "tasks": sorted(tasks), "views": views, "webhooks": hooks})
    return dict(queues)


REQUESTS = {
    "GET /api/version", "GET /api/current-user/whoami", "GET /api/users/", "GET /api/invite", "GET /user/signup/",
    "POST /user/signup/", "GET /api/projects/", "POST /api/projects/", "PATCH /api/projects/N/",
    "POST /api/projects/N/import", "GET /api/projects/N/export", "GET /api/tasks/", "PATCH /api/tasks/N/",
    "GET /api/tasks/N/annotations/", "POST /api/tasks/N/annotations/", "DELETE /api/annotations/N/",
    "GET /api/dm/views/", "POST /api/dm/views/",
    "GET /api/webhooks/", "POST /api/webhooks/", "DELETE /api/webhooks/N/",
}  # fmt: skip
"""All that the commands ask, but for the deletion of a project: that takes a push from another machine."""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, bytes]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("label_studio_sdk.core.http_client.INITIAL_RETRY_DELAY_SECONDS", 0.001)
        patch.setattr(listen, "LEAST_S", 0.001)
        scene = Scene(tmp_path_factory.mktemp("scene"))
        scene.warm()
        yield scene, scene.save()
        scene.server.close()


@pytest.fixture
def scene(fresh: tuple[Scene, bytes]) -> Scene:
    scene, saved = fresh
    scene.restore(saved)
    scene.people = {**PEOPLE, **LEAVES}
    scene.build(WORDS_HERE)
    return scene


def first_push(scene: Scene) -> Command:
    return pushes


def pull_of_all_work(scene: Scene) -> Command:
    """Practice is done; work was submitted, skipped, reviewed, revised and judged, and somebody took an answer back."""
    scene.does(pushes)
    scene.work()
    scene.does(pulls)
    scene.does(pushes)
    scene.work()
    first = next(iter(scene.server.content.annotations))
    scene.server.answer("DELETE", f"/api/annotations/{first}/", b"")
    return pulls


def board_of_all_work(scene: Scene) -> Command:
    scene.does(pull_of_all_work(scene))
    return shows


def push_of_all_changes(scene: Scene) -> Command:
    """Reviews, corrections, revisions, decisions and questionnaires follow; a word changed, one comes back; a person
    left; a form, a guideline and a card were edited by hand, and what does not count goes out again.
    """
    scene.does(pull_of_all_work(scene))
    scene.does(pushes)
    scene.build(WORDS_HERE[:3])
    scene.does(pushes)
    scene.work("toy-judged", "a")
    scene.does(pulls)
    first, second, third, *_ = scene.server.content.projects.values()
    first["label_config"] = first["label_config"].replace('alias="no"', 'alias="never"')
    second["expert_instruction"] = "<p>Mine.</p>"
    third["description"] = f"By hand.\n{third['description']}"
    scene.people = PEOPLE
    scene.build(["ant", *WORDS_HERE[1:]])
    return pushes


def listen_to_all_work(scene: Scene) -> Command:
    """One who practised late gets a first queue; revisions and reviews follow, corrections, decisions, questionnaires;
    somebody listened before, at another address."""
    scene.build(WORDS_HERE, certainty=None)
    scene.does(listens)
    scene.work(by="a1")
    scene.work(by="a2")
    scene.does(listens)
    scene.work("toy", "a1")
    scene.work("toy", "a2")
    scene.work("practice", "a3")
    next(iter(scene.server.content.webhooks.values()))["url"] = "http://127.0.0.1:7/"
    return listens


SCENES = [first_push, pull_of_all_work, board_of_all_work, push_of_all_changes, listen_to_all_work]
Makes = Callable[[Scene], Command]


def undisturbed(scene: Scene, make: Makes) -> tuple[Command, bytes, State, list[str], list[bytes]]:
    """The command; what is there before it; what is there after it; its requests; and what is there at each moment at
    which it can be killed: when each request comes, and when it is done.
    """
    command = make(scene)
    before, moments = scene.save(), list[bytes]()
    scene.server.watch = lambda request: moments.append(scene.save())
    said = scene.does(command)
    scene.server.watch = lambda request: None
    return command, before, {**scene.told(), "said": said}, scene.server.asked, moments


def check(scene: Scene, command: Command, expected: State, where: str) -> None:
    """Run again: the end is as expected."""
    said = scene.does(command)
    found = {**scene.told(), "said": said}
    for part in expected:
        assert found[part] == expected[part], f"{where}: {part}"


@pytest.mark.slow
@pytest.mark.parametrize(("make", "step"), [(first_push, 13), (push_of_all_changes, 41)])
def test_a_kill_at_some_requests_leaves_what_the_next_run_completes(scene: Scene, make: Makes, step: int) -> None:
    command, before, expected, asked, moments = undisturbed(scene, make)
    for number in range(step, len(asked) + 1, step):
        for after, fault in enumerate[Fault](("killed before", "killed after")):
            scene.restore(before)
            status, _ = scene.run(command, number, fault)
            assert status == -signal.SIGKILL
            killed = scene.told()
            scene.restore(moments[2 * (number - 1) + after])
            assert scene.told() == killed, "a moment is what a kill leaves"
            check(scene, command, expected, f"{fault} {number}, {asked[number - 1]}")


@pytest.mark.slow
@pytest.mark.parametrize("make", SCENES)
def test_a_kill_at_any_request_leaves_what_the_next_run_completes(scene: Scene, make: Makes) -> None:
    command, _, expected, asked, moments = undisturbed(scene, make)
    assert len(moments) == 2 * len(asked)
    for place, moment in {moment: place for place, moment in enumerate(moments)}.items():
        scene.restore(place)
        check(scene, command, expected, f"killed {('before', 'after')[moment % 2]} {asked[moment // 2]}")


@pytest.mark.slow
def test_a_kill_at_any_file_leaves_what_the_next_pull_completes(scene: Scene) -> None:
    command, before, expected, _, _ = undisturbed(scene, pull_of_all_work)
    for number in itertools.count(1):
        scene.restore(before)
        if scene.run(command, write=number)[0] != -signal.SIGKILL:
            break
        check(scene, command, expected, f"killed at file {number}")
    assert number > 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [first_push, push_of_all_changes])
def test_a_push_killed_after_each_thing_that_it_does_ends_as_one_that_is_not(scene: Scene, make: Makes) -> None:
    command, before, expected, asked, _ = undisturbed(scene, make)
    scene.restore(before)
    scene.server.killing = True
    kills = 0
    while scene.run(command)[0]:
        kills += 1
    scene.server.killing = False
    assert kills == sum(not request.startswith("GET") for request in asked)
    check(scene, command, expected, f"after {kills} kills")


@pytest.mark.slow
def test_listening_goes_on_whatever_fails_and_says_each_failure_in_a_line(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round fails at the first request that was never asked; the next one makes up for it, until all is done."""
    for name in ("REACH_S", "ANSWER_S"):
        monkeypatch.setattr(f"annotation.label_studio.client.{name}", 1.0)
    command, before, expected, asked, _ = undisturbed(scene, listen_to_all_work)
    scene.restore(before)
    scene.server.all_fail_once = True
    status, said = scene.run(command)
    scene.server.all_fail_once = False
    lines = said.splitlines()
    assert status == 0, said
    assert {*asked} <= {*scene.server.faults}
    assert all(line.startswith(scene.server.url) for line in lines), said
    assert all(line != after for line, after in itertools.pairwise(lines)), "what goes on is said once"
    assert {**scene.told(), "said": ""} == expected


@pytest.mark.slow
def test_what_was_handed_out_is_said_though_the_round_fails_afterwards(scene: Scene) -> None:
    before, told = scene.save(), scene.does(says)
    last = len(scene.server.asked) - scene.server.asked[::-1].index("POST /api/webhooks/")
    scene.restore(before)
    status, said = scene.run(says, last, "reset after")
    assert (status, said.count(scene.server.url)) == (0, 1)
    assert [line for line in said.splitlines() if scene.server.url not in line] == told.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("make", SCENES[:-1])
def test_a_request_that_fails_is_repeated_or_said_in_one_line(scene: Scene, make: Makes) -> None:
    command, before, expected, asked, _ = undisturbed(scene, make)
    scene.restore(before)
    scene.server.reads_fail_once = True
    check(scene, command, expected, "each read fails once")
    scene.server.reads_fail_once = False
    for number, request in enumerate(asked, 1):
        if request.startswith("GET") and not request.endswith(NOT_REPEATED):
            continue
        for fault in ("failed before", "cut off after"):
            scene.restore(before)
            status, said = scene.run(command, number, fault)
            if status:
                assert (status, said.count("\n")) == (1, 0), f"{fault} {request}: {said}"
                assert said.startswith(scene.server.url)
            check(scene, command, expected, f"{fault} {number}, {request}")


@pytest.mark.slow
def test_the_scenes_ask_all_that_the_commands_can_ask(scene: Scene, fresh: tuple[Scene, bytes]) -> None:
    asked = set()
    for make in SCENES:
        scene.restore(fresh[1])
        scene.people = {**PEOPLE, **LEAVES}
        scene.build(WORDS_HERE)
        command = make(scene)
        scene.does(command)
        asked |= {*scene.server.asked}
    assert asked == REQUESTS


def typed(server: StandIn, folder: Path, command: str, at: int = 0) -> int:
    """Run a command as it is typed, which is killed after its request `at`, and return its status.

    Listening is stopped when a round has ended: with its page, and with the webhooks of what it made.
    """
    page = folder / "out" / "annotation.html"
    page.unlink(missing_ok=True)
    server.begin(at, "killed after")
    process = begun("annotate", command, folder=folder, err=folder / "said", **{API_KEY: TOKEN})

    def stop(request: str) -> None:
        if page.exists() and len(server.content.webhooks) == len(server.content.projects):
            process.send_signal(signal.SIGINT)

    server.watch = stop
    server.serve(process.pid)
    return process.wait(60)


def middle_import(server: StandIn) -> int:
    imports = [number for number, request in enumerate(server.asked, 1) if request.endswith("/import")]
    return imports[len(imports) // 2]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "stopped"), [("push", 0), ("listen", 130)])
def test_a_command_that_is_killed_as_it_runs_is_completed_when_it_is_typed_again(
    tmp_path: Path, command: str, stopped: int
) -> None:
    server, out = StandIn(), tmp_path / "out"
    for email in PEOPLE.values():
        server.sign_up(email)
    build(tmp_path, "typed", tmp_path / "store", url=server.url)
    if command == "listen":  # what follows from practice
        lines = [line for path in (out / "annotations").iterdir() for line in path.read_text().splitlines()]
        right = {task["key"]: task["answers"] for task in map(json.loads, lines)}
        shutil.rmtree(out / "annotations")
        assert typed(server, tmp_path, command) == stopped
        for queue, tasks in server.queues().items():
            for task in tasks:
                data = server.content.tasks[task]["data"]
                result = [result_of(name, answer) for name, answer in right[data[KEY]].items()]
                server.hand_in(task, PEOPLE[queue.rpartition("/")[2]], result)
    before = server.copy()
    shutil.copytree(out, tmp_path / "before")
    assert typed(server, tmp_path, command) == stopped, (tmp_path / "said").read_text()
    expected, number = queues_of(server), middle_import(server)
    server.content = before
    shutil.rmtree(out)
    (tmp_path / "before").rename(out)
    assert typed(server, tmp_path, command, number) == -signal.SIGKILL
    assert queues_of(server) != expected
    assert typed(server, tmp_path, command) == stopped, (tmp_path / "said").read_text()
    assert queues_of(server) == expected


def exercised(client: Client) -> list[Any]:
    """What a server answers to the client, without its own numbers and times."""
    told: list[Any] = []
    client.sign_up("anna@example.org", "a long password 1")
    with pytest.raises(Refused, match="anna@example"):
        client.sign_up("anna@example.org", "a long password 1")
    form = '<View><Text name="t" value="$text"/><TextArea name="w" toName="t"/></View>'
    project = client.make_project("A project", form, description=f"{MARK} b/q@1/a", comes_back=True)
    told += [[one.model_dump(exclude={"id"}) for one in client.projects()], sorted(client.users())]
    told.append(client.import_tasks(project, [{"data": {"text": text, VIEW: f"00{text}"}} for text in "abc"]))
    rows = client.list_tasks(project, LISTED_FIELDS)
    client.annotate(rows[0]["id"], [])
    client.annotate(rows[1]["id"], [])
    client.patch_task(rows[0]["id"], {**rows[0]["data"], RETIRED: "1"})
    told += [[(one["result"], one.get("was_cancelled")) for one in client.annotations(row["id"])] for row in rows]
    client.delete_annotation(client.annotations(rows[1]["id"])[0]["id"])
    listed = client.list_tasks(project, LISTED_FIELDS)
    told.append([{**row, "id": 0, "created_at": bool(time_of(row["created_at"]))} for row in listed])
    told.append([(row["data"], len(row["annotations"]), row["total_annotations"]) for row in client.export(project)])
    client.make_view(project, "To do", people=1, done=False, first="text")
    client.set_description(project, "Another.")
    client.set_instruction(project, "<p>Do it.</p>")
    hook = client.webhook(project, "http://127.0.0.1:9/", {"X-Mine": "1"})
    told += [client.views(project), [(one["url"], one["headers"]) for one in client.webhooks(project)]]
    client.delete_webhook(hook)
    told += [client.webhooks(project), client.project(project).model_dump(exclude={"id"})]
    client.delete_project(project)
    told.append(client.projects())
    with pytest.raises(Refused) as refusal:
        client.project(project)
    return [*told, refusal.value.status]


@pytest.mark.slow
def test_the_stand_in_answers_as_a_real_label_studio_does(label_studio: Served) -> None:
    stand_in = StandIn()
    threading.Thread(target=stand_in.serve_for_ever, daemon=True).start()
    with connect(stand_in.url, TOKEN) as client:
        assert exercised(client) == exercised(label_studio.client)
