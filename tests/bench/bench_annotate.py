"""Push, pull and the board beside the bare API calls of the same number and size: 10,000 items and 20 people.

    python tests/bench/bench_annotate.py [items] [people]

The server is a stand-in in this process, so it runs anywhere; `bench_push.py` imports into a real Label Studio. "bare"
sends the very requests that the command sent, by httpx alone: bodies are made from objects and answers are read into
objects, and nothing is done with them. Processor time is that of the thread of the command, without the server; the
rest of the time, in brackets, is the server's. "again" is a push that finds that nothing is to be done.
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import httpx

from annotation.label_studio.client import Client, connect
from flows.annotate.board.reading import Board
from flows.annotate.progress import progress
from flows.annotate.pull import pull
from flows.annotate.push import push
from flows.annotate.report import write_annotation
from tests.label_studio_stand_in import TOKEN, StandIn
from tests.team import Team, words

ITEMS, PEOPLE = 10_000, 20
DONE = 0.6
"""The share of the tasks that people have submitted before the pull."""


class Requests:
    """What a client sends."""

    def __init__(self, client: Client) -> None:
        self.sent: list[tuple[str, str, dict[str, str], Any]] = []
        client._http.event_hooks["request"].append(self._keep)

    def _keep(self, request: httpx.Request) -> None:
        body = json.loads(request.content) if request.content else None
        headers = {name: request.headers[name] for name in ("authorization",) if name in request.headers}
        self.sent.append((request.method, str(request.url), headers, body))

    def send(self) -> None:
        """Send it all again."""
        with httpx.Client(timeout=600) as bare:
            for method, url, headers, body in self.sent:
                answer = bare.request(method, url, headers=headers, json=body)
                if answer.content:
                    answer.json()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of this thread, and seconds."""
    processor, clock = time.thread_time(), time.perf_counter()
    work()
    return time.thread_time() - processor, time.perf_counter() - clock


def measure(name: str, server: StandIn, work: Callable[[Client], object]) -> None:
    """Print how long the work takes, and the bare requests from the same state of the server."""
    before = server.copy()
    with connect(server.url, TOKEN) as client:
        requests = Requests(client)
        ours = timed(lambda: work(client))
    after, server.content = server.content, before
    bare = timed(requests.send)
    server.content = after
    print(
        f"{name:>8}{len(requests.sent):>10,}{ours[0]:>12.2f}{ours[1]:>8.1f}{bare[0]:>12.2f}{bare[1]:>8.1f}"
        f"{ours[0] / bare[0]:>12.2f}{ours[1] / bare[1]:>8.2f}",
        flush=True,
    )


def submit(server: StandIn, team: Team) -> None:
    """Everybody does the first tasks of their queue."""
    for queue, tasks in server.queues().items():
        by = queue.rpartition("/")[2]
        for task in tasks[: int(len(tasks) * DONE)]:
            text = server.content.tasks[task]["data"]["draft_upper"]
            server.hand_in(task, team.bench.people[by], [
                {"from_name": "decision", "to_name": "shown-text", "type": "choices", "value": {"choices": ["yes"]}},
                {"from_name": "upper", "to_name": "shown-text", "type": "textarea", "value": {"text": [text]}},
            ])  # fmt: skip


def main(items: int, people: int) -> None:
    """Print the table."""
    server = StandIn()
    threading.Thread(target=server.serve_for_ever, daemon=True).start()
    connect(server.url, TOKEN).close()  # imports its SDK, which is no part of the work
    print(
        f"{'':8}{'':10}{'ours':>20}{'bare':>20}{'ratio':>20}\n{'':8}{'requests':>10}"
        + f"{'processor':>12}{'all':>8}" * 3
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "state" / "label-studio").mkdir(parents=True)
        team = Team(folder, words(items), [f"a{number}" for number in range(1, people + 1)])
        project = team.project

        def board(client: Client) -> None:
            Board(project.out, project.config_path, lambda: project, lambda project: nullcontext(client)).renew()

        def pulls(client: Client) -> None:
            collected = pull(project, client)
            write_annotation(project, collected, progress(project, client, collected))

        measure("push", server, lambda client: push(project, client))
        measure("again", server, lambda client: push(project, client))
        submit(server, team)
        measure("pull", server, pulls)
        measure("push", server, lambda client: push(project, client))
        measure("board", server, board)


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main(*given, *(ITEMS, PEOPLE)[len(given) :])
