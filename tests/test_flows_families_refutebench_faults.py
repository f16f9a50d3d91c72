"""RefuteBench's whole protocol over real HTTP, with everything going wrong that can."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pydantic import BaseModel

from flows.construct.counting import part_summary
from flows.construct.verification import VerifyContext
from flows.families.refutebench import FAMILY
from flows.families.refutebench.prompts import ANSWER_TOKENS, ToAnswer, ToCheck, ToRate, ToRateTask, ToRefute
from flows.llm.model import Said, TransportError
from flows.project.output_files import write_output_files
from flows.project.project import Project
from schemas.base import Record
from schemas.refutebench import Rating, RefutationDialogue
from tests.builds import scribed, write_config
from tests.chat_server import ChatServer, Faults, Messages, Reply, message_hash
from tests.imitations import Refuses, ollama, openai_window
from tests.toy import run_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
PASSING = Faults(
    seed=5, latency_s=(0.0, 0.01), rate_limited=0.1, retry_after_s=0.05, errors_500=0.1, dropped=0.05,
    dropped_in_reply=0.05, malformed=0.03, no_usage=0.2,
)  # fmt: skip
"""Faults of transport: whoever asks often enough gets the answer."""
REASK = "Your answer cannot be used:"
COMPLAINTS = ("Where is the salt in it?", "Not one clap of thunder!", "It is all stone and no velvet.")
KINDS = {
    "You play a user": "refute",
    "A user complains": "check_refutation",
    "A user was not content": "rate_refutation",
    "A user asked a model": "rate_task",
}
"""How each prompt begins; the evaluated model's has no system message."""
LASTING = {
    "respond": {"refused": 0.02, "empty answer": 0.02, "cut": 0.02},
    "refute": {"answer is not JSON": 0.04, "answer cut off": 0.03, "refused": 0.02},
    "check_refutation": {"answer is not JSON": 0.05},
    "rate_refutation": {"no rating": 0.05, "answer cut off": 0.05, "empty answer": 0.05, "refused": 0.05},
    "rate_task": {"no rating": 0.05, "refused": 0.02},
}
"""The share of the messages of each prompt that never get an answer, and what they get instead."""


def kind_of(messages: Messages) -> str:
    return next((kind for begin, kind in KINDS.items() if messages[0]["content"].startswith(begin)), "respond")


def without_reasks(messages: Messages) -> Messages:
    """As it was asked first."""
    while messages[-1]["content"].startswith(REASK):
        messages = messages[:-2]
    return messages


def lasting_fault(messages: Messages) -> str | None:
    """What is wrong with every answer to these messages, however often they are asked."""
    messages = without_reasks(messages)
    draw = random.Random(f"lasting {message_hash(messages)}").random()
    for fault, share in LASTING[kind_of(messages)].items():
        if draw < share:
            return fault
        draw -= share
    return None


def other_answer(messages: Messages) -> str:
    """What is said in a dialogue that took another course than the rules', after an answer that was cut off."""
    last = messages[-1]["content"]
    kind = kind_of(messages)
    if kind == "refute":
        return f'{{"refutation": "{COMPLAINTS[sum(one in last for one in COMPLAINTS)]}"}}'
    if kind == "check_refutation":
        return '{"met": false, "aspects": 1, "repeats": 0, "contradicts": 0}'
    return "Seen. Rating: [[3]]" if kind.startswith("rate") else f"I changed it {len(messages)} times."


def sound(table: Mapping[str, str], messages: Messages) -> str:
    return table.get(message_hash(messages)) or other_answer(messages)


def struck(table: Mapping[str, str], messages: Messages) -> Reply:
    """An answer as `lasting_fault` has it."""
    answer, kind = sound(table, messages), kind_of(messages)
    match lasting_fault(messages):
        case None:
            return Reply(answer)
        case "refused":
            return Reply("", finish_reason="content_filter")
        case "empty answer":
            return Reply("")
        case "answer is not JSON":
            return Reply('Certainly! {"refutation": "Please')
        case "no rating":
            return Reply("It is a good answer: [[very good]], or 5/5.")
        case _:
            half = answer[: len(answer) // 2] if kind == "respond" else "{" + "It is good, "
            return Reply(half, finish_reason="length")


# ---- what a dialogue asks, in order ----


def asked(prompt: str, inputs: BaseModel) -> Messages:
    messages = next(one for one in FAMILY.prompts if one.name == prompt).messages(inputs)
    return [{"role": one["role"], "content": one["content"]} for one in messages]


def asked_by_dialogue(row: RefutationDialogue) -> Iterator[Messages]:
    """All messages of a dialogue whose refutations passed at once."""
    for place in range(0, len(row.turns), 2):
        before, turn = row.turns[:place], row.turns[place]
        if turn.kind == "refutation":
            earlier = tuple(one.text for one in before if (one.role, one.kind) == ("user", "refutation"))
            response = before[-1].text
            yield asked(
                "refute",
                ToRefute(
                    task=row.task, query=row.query, response=response, earlier=earlier, focus=turn.focus, style=(),
                    strong="", standing=row.protocol == "persistent", refused=(),
                ),
            )  # fmt: skip
            checked = ToCheck(
                query=row.query, response=response, refutation=turn.text, focus=turn.focus, earlier=earlier
            )
            yield asked("check_refutation", checked)
        dialogue = tuple(Said(role=one.role, text=one.text) for one in before)
        yield asked(
            "respond", ToAnswer(dialogue=dialogue, said=turn.text, task=row.task, text="", reference="", forgetting=0)
        )


def asked_by_rating(row: Rating) -> Messages:
    if row.aspect == "task":
        return asked("rate_task", ToRateTask(query=row.query, response=row.response))
    return asked(
        "rate_refutation",
        ToRate(query=row.query, previous=row.previous, refutation=row.refutation, response=row.response),
    )


PREFIX = {"respond": "evaluated model: ", "refute": "refuter: ", "check_refutation": "check of the refutation: "}


def ends_with(row: RefutationDialogue) -> str | None:
    """What becomes of a dialogue: the reason of its drop, "cut" where it takes another course; None: nothing."""
    for messages in asked_by_dialogue(row):
        fault = lasting_fault(messages)
        if fault is not None:
            return fault if fault == "cut" else PREFIX[kind_of(messages)] + fault
    return None


# ---- builds ----


def sample_settings(per_task: int) -> dict[str, Any]:
    """RefuteBench's block of the packaged sample with one evaluated model, and so many seeds of each task."""
    config = yaml.safe_load((SAMPLES / "refutebench.yaml").read_text(encoding="utf-8"))
    family: dict[str, Any] = config["families"]["refutebench"]
    for specs in family["sources"].values():
        for spec in specs:
            spec["path"] = str(SAMPLES / spec["path"])
    return {**family, "evaluated": ["evaluated"], "forgetting": {}, "seeds_per_task": per_task}


def config_of(folder: Path, server: ChatServer | None, per_task: int = 12, **model: object) -> Path:
    """The packaged sample, asked over HTTP; of the rules where there is no server."""
    endpoint = server and {"provider": "endpoint", "name": "loopback", "base_url": server.url, **model}
    return write_config(
        folder,
        store=str(folder / "store"),
        model=endpoint or {"provider": "rules"},
        families={"refutebench": sample_settings(per_task)},
    )


def build(config: Path) -> Project:
    """A finished build. What it raises is raised after its connections are closed."""
    project = Project(config, config.parent / "out")
    try:
        project.loop.run(run_all(project.build))
        write_output_files(project)
    finally:
        project.close()
    return project


def rows(project: Project, part: str) -> dict[str, Any]:
    return {row.key: row for row in project.build.accepted("refutebench", part)}


def dropped(project: Project, part: str) -> dict[str, str]:
    """Reason by key."""
    stages = [project.build.read(ref) for ref in project.build.stages(FAMILY, FAMILY.part(part))]
    return {one.key: one.reason for stage in stages for one in stage.dropped()}


def bytes_by_key(found: Mapping[str, Record]) -> dict[str, str]:
    return {key: row.model_dump_json() for key, row in found.items()}


def problems(project: Project) -> list[str]:
    """What the verifiers find."""
    settings = project.build.families["refutebench"].settings
    context = VerifyContext(settings, project.embedder, lambda name: list(rows(project, name).values()))
    found = ((part, part.verify(rows(project, part.name).values(), context)) for part in FAMILY.parts)
    return [f"{part.name}: {fault.problem}" for part, faults in found for fault in faults]


class Ran(NamedTuple):
    project: Project
    outcomes: Counter[str]
    asked: Sequence[Messages]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("refutebench-faults")


@pytest.fixture(scope="module")
def table(folder: Path) -> dict[str, str]:
    """What the rules answer to the sample, by message hash."""
    return asyncio.run(scribed(config_of(folder / "rules", None), folder / "rules" / "out"))


@pytest.fixture(scope="module")
def undisturbed(folder: Path, table: dict[str, str]) -> Ran:
    with ChatServer(lambda messages: sound(table, messages), model="loopback") as server:
        project = build(config_of(folder / "undisturbed", server))
        return Ran(project, server.outcomes(), [request.messages for request in server.requests])


@pytest.fixture(scope="module")
def disturbed(folder: Path, table: dict[str, str]) -> Ran:
    with ChatServer(lambda messages: struck(table, messages), model="loopback", faults=PASSING) as server:
        project = build(config_of(folder / "disturbed", server, max_retries=8))
        assert server.answered_twice == []
        return Ran(project, server.outcomes(), [request.messages for request in server.requests])


# ---- a short window ----


def of_the_evaluated(refuses: Refuses) -> Refuses:
    return lambda body: refuses(body) if kind_of(body["messages"]) == "respond" else None


@pytest.mark.parametrize("told", [True, False], ids=["told by the server", "told by nobody"])
def test_a_dialogue_is_cut_to_the_window_that_is_known_and_keeps_its_refutations(
    folder: Path, table: dict[str, str], told: bool
) -> None:
    """Dialogues have up to about 1,500 tokens; an answer may have 2,048."""
    window = 500
    refuses = openai_window(window + ANSWER_TOKENS) if told else ollama(window)
    with ChatServer(
        lambda messages: sound(table, messages), model="loopback", refuses=of_the_evaluated(refuses)
    ) as server:
        project = build(config_of(folder / f"window-{told}", server, per_task=4))
        answered = [one.messages for one in server.answered if kind_of(one.messages) == "respond"]
    whole, reasons = rows(project, "dialogues").values(), dropped(project, "dialogues")
    cut = [one for one in whole if any(turn.prompt_cut for turn in one.turns)]
    assert problems(project) == []
    if not told:
        assert not cut
        assert "evaluated model: prompt longer than the model's window" in reasons.values()
        return
    assert not any("window" in reason for reason in reasons.values())
    assert 0 < len(cut) < len(whole)
    for one in cut:
        place = next(place for place, turn in enumerate(one.turns) if turn.prompt_cut)
        refuted = {turn.text for turn in one.turns[:place] if turn.kind == "refutation" and turn.role == "user"}
        assert refuted
        shown = ({said["content"] for said in messages} for messages in answered if len(messages) == place)
        assert any(refuted <= contents for contents in shown)


def test_a_window_that_an_answer_alone_fills_is_said_so(folder: Path, table: dict[str, str]) -> None:
    refuses = of_the_evaluated(openai_window(ANSWER_TOKENS))
    with ChatServer(lambda messages: sound(table, messages), model="loopback", refuses=refuses) as server:
        project = build(config_of(folder / "filled", server, per_task=4))
    assert set(dropped(project, "dialogues").values()) == {
        "evaluated model: an answer's tokens fill the model's window"
    }


# ---- what is shown ----


def test_a_build_asks_what_its_dialogues_say_and_nothing_else(undisturbed: Ran) -> None:
    dialogues, ratings = rows(undisturbed.project, "dialogues"), rows(undisturbed.project, "ratings")
    assert len(dialogues) == 72
    said = {message_hash(messages) for row in dialogues.values() for messages in asked_by_dialogue(row)}
    said |= {message_hash(asked_by_rating(row)) for row in ratings.values()}
    again = [messages for messages in undisturbed.asked if messages != without_reasks(messages)]
    assert {kind_of(messages) for messages in again} <= {"refute"}  # the rules have no refutation for some answers
    assert len(again) < 10
    assert {message_hash(messages) for messages in undisturbed.asked if messages not in again} == said
    assert len(undisturbed.asked) == len(said) + len(again)
    assert problems(undisturbed.project) == []


def test_every_dialogue_that_was_opened_is_finished_or_dropped_for_its_reason(undisturbed: Ran, disturbed: Ran) -> None:
    for fault in ("429", "500", "dropped", "dropped_in_reply", "malformed"):
        assert disturbed.outcomes[fault] > 0, disturbed.outcomes
    before, after = rows(undisturbed.project, "dialogues"), rows(disturbed.project, "dialogues")
    reasons = dropped(disturbed.project, "dialogues")
    assert not after.keys() & reasons.keys()
    assert after.keys() | reasons.keys() == before.keys()
    wanted = {key: ends_with(row) for key, row in before.items()}
    assert {reason for reason in wanted.values() if reason} >= {
        "evaluated model: refused", "evaluated model: empty answer", "refuter: answer is not JSON",
        "refuter: answer cut off", "check of the refutation: answer is not JSON", "cut",
    }  # fmt: skip
    whole = [key for key, reason in wanted.items() if reason is None]
    assert len(whole) > len(before) / 4
    assert {key: bytes_by_key(after).get(key) for key in whole} == {key: bytes_by_key(before)[key] for key in whole}
    for key, reason in wanted.items():
        if reason == "cut":  # what came is the answer, and the dialogue goes on from it
            assert key in reasons or any(turn.cut_off for turn in after[key].turns)
        elif reason is not None:
            assert reasons.get(key) == reason


def test_there_is_no_rating_where_none_was_given(undisturbed: Ran, disturbed: Ran) -> None:
    before, after = rows(undisturbed.project, "ratings"), rows(disturbed.project, "ratings")
    reasons = dropped(disturbed.project, "ratings")
    assert not after.keys() & reasons.keys()
    whole = {row.id for row in rows(undisturbed.project, "dialogues").values() if ends_with(row) is None}
    of_whole = {key: row for key, row in before.items() if row.dialogue in whole}
    faults = {key: lasting_fault(asked_by_rating(row)) for key, row in of_whole.items()}
    assert set(faults.values()) >= {"no rating", "answer cut off", "empty answer", "refused"}
    assert {key: reasons.get(key) for key in of_whole} == faults
    given = bytes_by_key(before)
    assert {key: bytes_by_key(after).get(key) for key in of_whole} == {
        key: None if fault else given[key] for key, fault in faults.items()
    }
    for row in after.values():
        assert lasting_fault(asked_by_rating(row)) is None


def test_faults_lose_no_record_and_leave_nothing_to_be_found(disturbed: Ran) -> None:
    build = disturbed.project.build
    for part in FAMILY.parts:
        for ref in build.stages(FAMILY, part):
            manifest = build.manifest(ref)
            assert manifest is not None
            assert manifest.planned == manifest.kept + sum(manifest.dropped.values()), ref
        summary = part_summary(build, FAMILY, part)
        assert summary.planned == summary.kept + summary.waiting + sum(
            sum(one.values()) for one in summary.dropped.values()
        )
    assert problems(disturbed.project) == []


@dataclass
class Dying:
    """Ends a server after so many answers: connections break, then nobody listens any more."""

    server: ChatServer
    after: int
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.server.__enter__()
        self.thread = threading.Thread(target=self._end, daemon=True)
        self.thread.start()

    def _end(self) -> None:
        while len(self.server.answered) < self.after:
            time.sleep(0.002)
        self.server.faults = Faults(dropped=1.0, times=10**9)
        while self.server.outcomes()["dropped"] < 5:
            time.sleep(0.002)
        self.server.__exit__(None, None, None)


@pytest.mark.parametrize("after", [60, 150])
def test_a_server_that_dies_in_the_middle_of_dialogues_is_paid_for_no_message_twice(
    tmp_path: Path, table: dict[str, str], after: int
) -> None:
    def answer(messages: Messages) -> str:
        return sound(table, messages)

    with ChatServer(answer, model="loopback") as whole:
        expected = build(config_of(tmp_path / "whole", whole, 4))
        in_all = len(whole.answered)
    slow = Faults(latency_s=(0.005, 0.02))
    first = Dying(ChatServer(answer, model="loopback", faults=slow), after)
    config = config_of(tmp_path / "broken", first.server, 4, max_retries=1, concurrency=8)
    with pytest.raises(TransportError, match="cannot be reached") as failure:
        build(config)
    assert "\n" not in str(failure.value)
    first.thread.join(30)
    assert not first.thread.is_alive()
    with ChatServer(answer, model="loopback", port=first.server.port) as second:
        again = build(config)
    answered = Counter(request.hash for request in [*first.server.answered, *second.answered])
    assert len(first.server.answered) >= after
    assert set(answered.values()) == {1}
    assert len(answered) == in_all
    for part in FAMILY.parts:
        assert bytes_by_key(rows(again, part.name)) == bytes_by_key(rows(expected, part.name))
