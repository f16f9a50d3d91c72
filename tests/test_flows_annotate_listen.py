"""What follows from people's work reaches people while somebody listens, with no pull or push by hand."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from annotation.label_studio.listener import Listener
from annotation.label_studio.sync import one_writer
from annotation.practice import PRACTICE
from annotation.review import review_of, revision_of
from flows.annotate import listen
from flows.construct.people import every, sample
from schemas.errors import WrongInput
from tests.label_studio import Served
from tests.test_flows_annotate_work import ANIMALS, JUDGED, TWO, WORDS, Bench, judged, known, shouted, verdicts

SOON_S = 60
"""What people wait at most."""


@pytest.fixture
def bench(label_studio: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(listen, "LEAST_S", 0.5)
    return Bench(label_studio, tmp_path, TWO, every(WORDS))


@contextmanager
def listening(bench: Bench, opened: Callable[[], Any]) -> Iterator[list[str]]:
    """Listen inside the block; yields what is said."""
    said: list[str] = []
    with Listener(bench.served.folder.parent) as listener:
        rounds = listen.Rounds(opened, lambda project: nullcontext(bench.served.client), listener, said.append)
        thread = threading.Thread(target=rounds.run)
        thread.start()
        yield said
    thread.join(SOON_S)
    assert not thread.is_alive()


def soon(happened: Callable[[], object]) -> bool:
    deadline = time.monotonic() + SOON_S
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.5)
    return bool(happened())


@pytest.mark.slow
def test_the_queue_follows_practice(bench: Bench) -> None:
    bench.part = sample(JUDGED, judged, known)
    project = bench.project()
    answers = {
        one.shown["text"]: one.right_answers["decision"] for one in known(project.build.accepted("toy", "words"), (), 3)
    }
    practice = f"{JUDGED.name}-{PRACTICE}"
    with listening(bench, lambda: project) as said:
        assert soon(lambda: bench.queue(practice, "a1"))
        assert bench.queue(JUDGED.name, "a1") == []
        bench.do_all(practice, "a1", lambda data: {"decision": answers[data["shown_text"]]})
        assert soon(lambda: bench.queue(JUDGED.name, "a1"))
        assert bench.queue(JUDGED.name, "a2") == []
    assert any(line.startswith(f"{JUDGED.name}@1/a1: ") and line.endswith(" new tasks") for line in said)


@pytest.mark.slow
def test_returned_work_reviews_and_verdicts_follow(bench: Bench) -> None:
    review = review_of(WORDS)
    bench.part = every(WORDS, checks=shouted, review=review)
    project = bench.project(ANIMALS[:2])
    with listening(bench, lambda: project) as said:
        assert soon(lambda: bench.queue("toy-words", "a1"))
        (task,) = bench.queue("toy-words", "a1")
        bench.hand_in(task, "a1", {"decision": "yes", "upper": "quiet", "question-to-engineer": "Why capitals?"})
        assert soon(lambda: bench.queue(revision_of(WORDS).name, "a1"))
        (back,) = bench.queue(revision_of(WORDS).name, "a1")
        bench.hand_in(back, "a1", {"decision": "yes", "upper": "LOUD"})
        assert soon(lambda: bench.queue(review.name, "a2"))
        (asked,) = bench.queue(review.name, "a2")
        bench.hand_in(asked, "a2", {"upper_decision": "accept", "upper": "LOUD"})
        assert soon(lambda: verdicts(project))
    assert list(verdicts(project).values()) == ["fix"]
    assert sum("Why capitals?" in line for line in said) == 1, "a question is said once"


@pytest.mark.slow
def test_a_round_that_fails_is_said_once_and_made_up_for(bench: Bench) -> None:
    project = bench.project()
    problem = "out/manifest.json: the build is not finished"
    opening: list[Exception] = [OSError(28, "No space left on device"), WrongInput(problem), WrongInput(problem)]

    def opened() -> Any:
        if opening:
            raise opening.pop()
        return project

    with one_writer(project.state), listening(bench, opened) as said:
        assert soon(lambda: any("another push or pull is at work" in line for line in said))
        assert said[0] == problem
        assert "No space left on device" in said[1]
        assert len(said) == 3
        assert bench.queue("toy-words", "a1") == []
    with listening(bench, lambda: project):
        assert soon(lambda: bench.queue("toy-words", "a1"))
