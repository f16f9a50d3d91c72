"""While somebody listens, what follows from people's work reaches them by itself, and their texts are checked."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from annotation.label_studio.listener import CHECK, SECRET_HEADER, Listener, secret_of
from annotation.practice import PRACTICE
from annotation.review import review_of, revision_of
from flows.annotate import listen
from flows.construct.embed import SentenceBert
from flows.construct.people import every, sample
from flows.llm.model import Problem
from flows.project.locks import one_writer
from schemas.annotation import Finding
from schemas.base import Provenance
from schemas.errors import Failed, WrongInput
from schemas.rubric import Rubric, Written
from tests.label_studio import Served
from tests.test_flows_annotate_languages import CHINESE
from tests.test_flows_annotate_work import ANIMALS, JUDGED, TWO, WORDS, Bench, judged, known, shouted, verdicts
from tests.toy import Word

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
    checks = listen.TextChecks()
    with Listener(bench.served.folder.parent, check=checks) as listener:
        rounds = listen.Rounds(opened, lambda project: nullcontext(bench.served.client), listener, said.append, checks)
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

    with listening(bench, opened) as said:
        with one_writer(project.state, pytest.fail):
            assert soon(lambda: any("another push or pull is at work here; waiting for it" in line for line in said))
            assert said[0] == problem
            assert "No space left on device" in said[1]
            assert len(said) == 3
            assert bench.queue("toy-words", "a1") == []
        assert soon(lambda: bench.queue("toy-words", "a1"))


def test_an_error_that_nobody_expected_ends_no_listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "LEAST_S", 0.01)
    opening: list[Exception] = [Failed("the server is down"), KeyError("queue"), KeyError("queue")]
    said: list[str] = []
    with Listener(tmp_path) as listener:

        def opened() -> Any:
            listener.is_open = len(opening) > 1
            raise opening.pop()

        listen.Rounds(opened, lambda project: nullcontext(), listener, said.append, listen.TextChecks()).run()  # type: ignore[arg-type, return-value]
    unexpected = "unexpected KeyError: 'queue'; it is tried again; if it stays, report it"
    assert said == [unexpected, "the server is down"]


# ---- texts that are being written ----


UNWRITTEN = Finding(name="lower", problem="is empty", rejects=True)


def word(key: str, text: str) -> Word:
    return Word(key=key, text=text, upper=text.upper(), provenance=Provenance(seed=1))


def unfit(word: Word) -> Problem:
    return ("names a number", word.upper) if any(map(str.isdigit, word.upper)) else None


@pytest.fixture
def checks() -> listen.TextChecks:
    """Those of two records; one of the checks finds that a second text is missing."""
    people = every(WORDS, checks=lambda record, answers, embedder: [*shouted(record, answers, embedder), UNWRITTEN])
    words = {"k1": word("k1", "one"), "k2": word("k2", "two")}
    forms = {"practice": SimpleNamespace(name="toy-words-practice"), "work": WORDS, "revision": revision_of(WORDS)}
    checks, work = listen.TextChecks(), SimpleNamespace(people=people, records=words, forms=forms, tasks=())
    checks.know([SimpleNamespace(work=work)], SentenceBert())  # type: ignore[list-item]
    return checks


@pytest.mark.parametrize("form", [WORDS.name, revision_of(WORDS).name])
def test_a_problem_of_a_text_is_told_and_none_of_a_box_that_is_empty(checks: listen.TextChecks, form: str) -> None:
    assert [finding.problem for finding in checks(form, "k1", {"upper": "quiet"})] == ["not in capitals"]
    assert checks(form, "k1", {"upper": "LOUD"}) == []
    assert checks(form, "k1", {"upper": " "}) == []


def test_what_makes_no_valid_record_is_told_once_the_required_texts_are_there() -> None:
    required = WORDS.model_copy(
        update={"writes": (*WORDS.writes, Written(name="lower", title="In small letters", required=True))}
    )
    work = SimpleNamespace(
        people=every(required, unfit), records={"k1": word("k1", "one")}, forms={"work": required}, tasks=()
    )
    checks = listen.TextChecks()
    checks.know([SimpleNamespace(work=work)], SentenceBert())  # type: ignore[list-item]
    assert checks(WORDS.name, "k1", {"upper": "ROUTE 1"}) == []
    (finding,) = checks(WORDS.name, "k1", {"upper": "ROUTE 1", "lower": "route"})
    assert (finding.name, finding.problem) == ("upper", "names a number: ROUTE 1")


def test_problems_are_told_in_the_language_of_the_items_form() -> None:
    texts = {**CHINESE, "not in capitals": "没有大写", "names a number": "含有数字"}
    both = Rubric.model_validate({**dict(WORDS), "texts": {"zh": texts}})
    records = {key: word(key, "one") for key in ("k1", "k2")}
    part = every(both, unfit, checks=shouted)
    tasks = [
        task.model_copy(update={"language": "zh" if task.item_key == "k2" else "en"})
        for task in part.tasks(list(records.values()), 1)  # type: ignore[arg-type]
    ]
    work = SimpleNamespace(people=part, records=records, forms={"work": both}, tasks=tasks)
    checks = listen.TextChecks()
    checks.know([SimpleNamespace(work=work)], SentenceBert())  # type: ignore[list-item]
    said = {key: [one.problem for one in checks(both.name, key, {"upper": "quiet"})] for key in records}
    assert said == {"k1": ["not in capitals"], "k2": ["没有大写"]}
    (finding,) = checks(both.name, "k2", {"upper": "ROUTE 1"})
    assert finding.problem == "含有数字：ROUTE 1"


def test_nothing_is_said_of_other_forms_and_of_records_that_are_gone(checks: listen.TextChecks) -> None:
    assert checks("toy-words-practice", "k1", {"upper": "quiet"}) == []
    assert checks("other", "k1", {"upper": "quiet"}) == []
    assert checks(WORDS.name, "k3", {"upper": "quiet"}) == []


def test_a_page_is_answered_if_it_asks_properly(tmp_path: Path, checks: listen.TextChecks) -> None:
    written = {"from_name": "upper", "type": "textarea", "value": {"text": ["quiet"]}}
    with Listener(tmp_path, check=checks) as listener, httpx.Client(trust_env=False) as page:

        def answer(content: Any, secret: str = secret_of(tmp_path)) -> httpx.Response:
            return page.post(f"{listener.url}{CHECK}", json=content, headers={SECRET_HEADER: secret})

        asked = {"rubric": WORDS.name, "item_key": "k1", "result": [written]}
        problem = {"name": "upper", "problem": "not in capitals", "rejects": True}
        assert answer(asked).json() == [problem]
        assert answer(asked, "guessed").status_code == 403
        for foreign in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            page.headers = httpx.Headers(foreign)
            assert answer(asked).status_code == 403
        page.headers = httpx.Headers()
        for wrong in ([], {}, "text", {**asked, "result": "text"}, {**asked, "result": [[]]}):
            assert answer(wrong).status_code == 400, wrong
        assert not (tmp_path / "changed").exists(), "no work was reported"
        assert answer(asked).json() == [problem]


def test_who_hangs_up_before_the_answer_is_not_in_the_lead_s_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    answering: list[threading.Thread] = []
    asked, gone = threading.Event(), threading.Event()

    def check(form: str, item: str, answers: Mapping[str, str]) -> list[Finding]:
        answering.append(threading.current_thread())
        asked.set()
        assert gone.wait(SOON_S)
        return []

    body = b'{"rubric": "toy-words", "item_key": "1", "result": []}'
    with Listener(tmp_path, check=check) as listener:
        with socket.create_connection(("127.0.0.1", httpx.URL(listener.url).port or 0)) as page:
            page.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the end is known at once
            host = f"Host: {httpx.URL(listener.url).netloc.decode()}"
            secret = f"{SECRET_HEADER}: {secret_of(tmp_path)}"
            head = f"POST /{CHECK} HTTP/1.1\r\n{host}\r\n{secret}\r\nContent-Length: {len(body)}"
            page.sendall(f"{head}\r\n\r\n".encode() + body)
            assert asked.wait(SOON_S)
        gone.set()
        answering[0].join(SOON_S)
    assert capfd.readouterr() == ("", "")
