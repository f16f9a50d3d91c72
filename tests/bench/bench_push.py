"""A push of 2,000 items with five texts each beside the bare import of the same rows into an empty project.

    python tests/bench/bench_push.py CACHE [items]        (CACHE: where the tests keep their Label Studio)

Both go to one server, a real one with SQLite, by turns, three times; the ratio is the median of the three. "bare" is
the one call that imports the rows, into a project that is there already. "push" makes its project as well, looks at
what is there, and sends what is missing. "again" is the same push once more, which finds that nothing is to be done.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from annotation.label_studio.client import Client
from annotation.label_studio.config import label_config
from annotation.label_studio.sync import Queue, QueuedTask, projects_of, push_queue
from annotation.label_studio.task_data import task_data
from schemas.rubric import Task
from tests.forms import AUTHORING, AUTHORING_TASK, WRITTEN
from tests.label_studio import copy_seed, make_seed, served

ITEMS = 2_000
TURNS = 3


def wanted(number: int) -> QueuedTask:
    """A dialogue whose five boxes have a text each."""
    texts = {name: f"{text} ({number})" for name, text in WRITTEN.items() if name not in ("decision", "note")}
    task = Task(
        key=f"k{number}", rubric=AUTHORING.name, version=AUTHORING.version, item_id="item", item_key="item",
        item_view="view", shown={**AUTHORING_TASK.shown, "response": f"It is number {number}."}, drafts=texts,
    )  # fmt: skip
    return QueuedTask(task.key, task.id, task_data(AUTHORING, task))


def bare(client: Client, tasks: list[QueuedTask], turn: int) -> float:
    """Seconds of the import alone."""
    project = client.make_project(f"Bare {turn}", label_config(AUTHORING))
    rows = [{"data": dict(one.data)} for one in tasks]
    started = time.perf_counter()
    made = client.import_tasks(project, rows)
    seconds = time.perf_counter() - started
    assert made == len(tasks)
    return seconds


def pushed(client: Client, queue: Queue) -> tuple[float, int]:
    """Seconds of a push, as `annotate push` does it, and how many tasks it sent."""
    started = time.perf_counter()
    done = push_queue(client, queue, projects_of(client, "bench").get(queue.name))
    return time.perf_counter() - started, done.imported


def main(cache: Path, items: int) -> None:
    """Print the table."""
    tasks = [wanted(number) for number in range(items)]
    print(f"{'bare, seconds':>16}{'push':>8}{'ratio':>8}{'again':>8}")
    ratios = []
    with tempfile.TemporaryDirectory() as place, served(copy_seed(make_seed(cache), Path(place) / "state")) as server:
        for turn in range(TURNS):
            queue = Queue(f"bench/authoring@1/a{turn}", f"a{turn} · Authoring", label_config(AUTHORING), "", tasks)
            alone = bare(server.client, tasks, turn)
            first, sent = pushed(server.client, queue)
            again, more = pushed(server.client, queue)
            assert (sent, more) == (items, 0)
            ratios.append(first / alone)
            print(f"{alone:>16.2f}{first:>8.2f}{ratios[-1]:>8.2f}{again:>8.2f}", flush=True)
    print(f"{items:,} items; median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else ITEMS)
