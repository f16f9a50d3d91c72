"""What the commands speak to: stand-ins whose request of any number fails."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from flows.families.uraq.rubric import CHECK
from tests.batch_server import BatchServer
from tests.chat_server import Answer, ChatServer
from tests.forms import result
from tests.hub import Fault, HubServer
from tests.label_studio_stand_in import StandIn
from tests.test_flows_annotate_kills import queues_of

ACCEPTED = {ask.name: ask.accepts[0] for ask in CHECK.asks}
REFUSED, LOST, KILLED_BEFORE, KILLED_AFTER = "refused", "lost", "killed before", "killed after"


class Server(Protocol):
    """What a command speaks to."""

    def fail(self, number: int, kind: str, pid: int) -> None:
        """Have the request of this number, from 1, fail; it comes from the process with this id."""

    def arrived(self) -> Sequence[str]:
        """Every request, in order of arrival."""

    def told(self) -> Mapping[str, Any]:
        """What must be the same in the end."""

    def twice(self) -> Mapping[str, int]:
        """What was paid for, published or handed out more than once, and how often."""


class NoServer:
    """For commands that speak to nobody."""

    def fail(self, number: int, kind: str, pid: int) -> None:
        raise AssertionError

    def arrived(self) -> Sequence[str]:
        return ()

    def told(self) -> Mapping[str, Any]:
        return {}

    def twice(self) -> Mapping[str, int]:
        return {}


class _Nowhere:
    """Takes the answer of a request in place of its connection."""

    def write(self, content: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass


class Chat(ChatServer):
    """A model behind the line."""

    def __init__(self, answer: Answer, model: str, port: int, **more: Any) -> None:
        super().__init__(answer, model=model, port=port, **more)
        self._fails = 0, "", 0
        self._names: list[str] = []

    async def _respond(
        self, method: str, path: str, headers: dict[str, str], content: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        self._names.append(f"{method} {path}")
        number, kind, pid = self._fails
        if len(self._names) != number:
            return await super()._respond(method, path, headers, content, writer)
        if kind == REFUSED:
            return self._send(writer, 500, {"error": {"message": "The server had an error"}})
        if kind != KILLED_BEFORE:
            nowhere: Any = _Nowhere()
            await super()._respond(method, path, headers, content, nowhere)
        if kind != LOST:
            os.kill(pid, signal.SIGKILL)
        return False

    def fail(self, number: int, kind: str, pid: int) -> None:
        self._fails = number, kind, pid

    def arrived(self) -> Sequence[str]:
        return self._names

    def told(self) -> Mapping[str, Any]:
        return {"asked": sorted({request.hash for request in self.answered})}

    def twice(self) -> Mapping[str, int]:
        counts = Counter(request.hash for request in self.answered)
        return {name: count for name, count in counts.items() if count > 1}


class Batches(Chat, BatchServer):
    """A model that takes batches, which are answered at once."""

    def __init__(self, answer: Answer, model: str, port: int) -> None:
        super().__init__(answer, model, port, batch_s=0.0)


class Hub(HubServer):
    """The Hub: what its datasets have, and in how many commits."""

    def fail(self, number: int, kind: str, pid: int) -> None:
        fault = Fault(".", skip=number - 1)
        if kind == REFUSED:
            fault.status = 500
        else:
            fault.cut, fault.applied = True, kind != KILLED_BEFORE
        if kind == KILLED_BEFORE:
            fault.before = partial(os.kill, pid, signal.SIGKILL)
        elif kind == KILLED_AFTER:
            fault.after = partial(os.kill, pid, signal.SIGKILL)
        self.faults.append(fault)

    def arrived(self) -> Sequence[str]:
        return self.requests

    def told(self) -> Mapping[str, Any]:
        return {
            name: {
                "commits": [commit.title for commit in repo.commits],
                "tags": sorted(repo.tags),
                "files": {path: blob.sha256 for path, blob in sorted(repo.head.files.items())},
            }
            for name, repo in self.repos.items()
        }

    def twice(self) -> Mapping[str, int]:
        titles = Counter(commit.title for repo in self.repos.values() for commit in repo.commits)
        return {title: count for title, count in titles.items() if count > 1}


class LabelStudio(StandIn):
    """Label Studio: its accounts, and what is in each person's queues."""

    def fail(self, number: int, kind: str, pid: int) -> None:
        self.begin(number, {REFUSED: "failed before", LOST: "cut off after"}.get(kind, kind))  # type: ignore[arg-type]
        self._pid = pid

    def work(self, people: Mapping[str, str]) -> None:
        """Let each person accept the first of their tasks, and skip the second."""
        for queue, tasks in self.queues().items():
            person = people[queue.rpartition("/")[2]]
            for place, task in enumerate(tasks[:2]):
                self.hand_in(task, person, [] if place else result(CHECK, ACCEPTED)["result"], skipped=bool(place))

    def shutdown(self) -> None:
        """End `serve_for_ever`."""
        self._server.shutdown()

    def arrived(self) -> Sequence[str]:
        return self.asked

    def told(self) -> Mapping[str, Any]:
        accounts = sorted(row["email"] for row in self.content.users.values())
        return {"accounts": accounts, "queues": queues_of(self)}

    def twice(self) -> Mapping[str, int]:
        """Tasks that a queue has more than once."""
        queues = queues_of(self).items()
        tasks = Counter(f"{queue} {task}" for queue, projects in queues for one in projects for task in one["tasks"])
        return {task: count for task, count in tasks.items() if count > 1}
