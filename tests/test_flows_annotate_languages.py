"""Items in several languages: who gets them, in which queue, and that all of people's work counts as one rubric's."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from annotation.label_studio.sync import VIEW, Queue
from annotation.practice import practice_for
from annotation.review import review_of
from flows.annotate import first_queues
from flows.annotate.board.numbers import task_links
from flows.annotate.progress import OnServer, progress
from flows.annotate.queues import form_names, queue_name, rubric_of
from flows.annotate.work import last_pull, works
from flows.construct.people import People, every
from flows.project.annotation_settings import AnnotationSettings
from schemas.errors import WrongInput
from schemas.rubric import Rubric, Task
from tests.team import Team, now
from tests.test_flows_annotate_lead import Pushes
from tests.toy import FAMILY, WORDS

CHINESE = {
    "Is it a word?": "这是一个词吗？", "yes": "是", "no": "否", "In capitals": "大写",
}  # fmt: skip
BOTH = Rubric.model_validate({**dict(WORDS), "texts": {"zh": CHINESE}, "version": 1})
ENGLISH, CHINESE_WORDS = ["apple", "bear", "cat"], ["苹果", "熊猫", "猫咪"]
TWO = ("a1", "a2")
EN, ZH = (f"toys/toy-words@1{ending}" for ending in ("", ".zh"))


def in_two_languages(rubric: Rubric = BOTH) -> People:
    """Ask people about words, some of which are Chinese."""
    asked = every(rubric)

    def tasks(records: Any, seed: int) -> Iterable[Task]:
        for task in asked.tasks(records, seed):
            yield task.model_copy(update={"language": "en" if str(task.shown["text"]).isascii() else "zh"})

    return dataclasses.replace(asked, tasks=tasks)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    (tmp_path / "guideline.zh.md").write_text("# 词\n\n说说它是不是一个词。\n", encoding="utf-8")
    return Team(tmp_path, [*ENGLISH, *CHINESE_WORDS], TWO, part=in_two_languages())


def shown(pushes: Pushes) -> Mapping[str, set[str]]:
    """By queue, the words in it."""
    return {
        name: {str(task.data["shown_text"]) for task in queue.tasks}
        for name, queue in pushes.queues.items() if queue.tasks
    }  # fmt: skip


def test_chinese_items_are_in_a_queue_of_their_own_with_a_form_in_chinese(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushes = Pushes(team, monkeypatch)
    pushes.push(None)
    of = shown(pushes)
    assert {name.rpartition("/")[0] for name in of} == {EN, ZH}
    for language, words in ((EN, ENGLISH), (ZH, CHINESE_WORDS)):
        assert set().union(*(of.get(f"{language}/{by}", set()) for by in TWO)) == set(words)
    name = next(name for name in of if name.startswith(ZH))
    assert rubric_of(name) == BOTH.name
    assert "这是一个词吗？" in pushes.queues[name].config
    assert 'value="是" alias="yes"' in pushes.queues[name].config
    assert "说说它是不是一个词。" in pushes.queues[name].instruction
    english = next(name for name in of if name.startswith(f"{EN}/"))
    assert 'value="yes" alias="yes"' in pushes.queues[english].config


def test_items_go_to_people_who_read_their_language(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    pushes = Pushes(team, monkeypatch)
    pushes.push(None, languages={"a1": ["en"]})
    of = shown(pushes)
    assert of[f"{ZH}/a2"] == set(CHINESE_WORDS)
    assert f"{ZH}/a1" not in of
    assert of[f"{EN}/a1"] < set(ENGLISH)


def test_too_few_readers_are_told_before_anything_is_pushed(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    pushes = Pushes(team, monkeypatch)
    with pytest.raises(WrongInput) as told:
        pushes.push(None, languages={"a1": ["en"], "a2": ["en"]})
    assert str(told.value) == (
        "annotation.languages: 3 tasks of toy-words in Chinese, for 1 person each, but 0 of a1, a2 read Chinese: add "
        "zh to somebody's languages, or name somebody who reads it"
    )
    assert not pushes.queues


def test_work_on_items_of_both_languages_gives_verdicts_of_one_rubric(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, task in enumerate(team.tasks):
        team.do(
            task, TWO[place % 2], now() - timedelta(hours=1), 60, {"decision": "yes", "upper": task.drafts["upper"]}
        )
    team.pull()
    (collected,) = last_pull(team.project)
    assert [verdict.rubric for verdict in collected.settlement.verdicts] == [BOTH.name] * 6
    server: Any = team.server
    assert sum(line.done for line in progress(team.project, server)) == 6
    # What was done in the English queue before there was a Chinese one stays there, and goes to nobody again.
    pushes = Pushes(team, monkeypatch)
    pushes.push(None)
    assert {name.rpartition("/")[0] for name in shown(pushes)} == {EN}
    assert pushes.open() == {}


def test_open_chinese_items_of_an_english_queue_move_to_the_same_persons_chinese_one(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    chinese = [task for task in team.tasks if task.language == "zh"]
    for task in chinese:
        team.give(task, "a2", submitted=False)
    pushes = Pushes(team, monkeypatch)
    pushes.push(None)
    assert shown(pushes)[f"{ZH}/a2"] == set(CHINESE_WORDS)
    assert pushes.queues[f"{EN}/a2"].tasks == []


def test_what_is_in_queues_of_all_languages_is_counted_and_linked(team: Team) -> None:
    for task in team.tasks:
        team.give(task, "a1", submitted=False)
    rows = team.server.rows.pop(f"{EN}/a1")
    ids = {task.id for task in team.tasks if task.language == "zh"}
    for name, is_in in ((EN, False), (ZH, True)):
        team.server.rows[f"{name}/a1"] = [row for row in rows if (row["data"][VIEW] in ids) == is_in]
    server: Any = team.server
    assert [(line.by, line.left) for line in progress(team.project, server)] == [("a1", 6)]
    on_server = OnServer(server, "toys")
    for info in on_server.projects.values():
        on_server.tasks(info)
    link = task_links(on_server, "toys")
    assert all(link(BOTH.name, 1, by, task.id) for task in team.tasks for by in ("a1", ""))


def test_a_review_of_chinese_work_has_the_chinese_guideline_for_reviews(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = dataclasses.replace(in_two_languages(), review=review_of(BOTH, "guideline.review.md"))
    team = Team(tmp_path, [*ENGLISH, *CHINESE_WORDS], TWO, part=part)
    (tmp_path / "guideline.zh.md").write_text("# 词\n\n说说它是不是一个词。\n", encoding="utf-8")
    for place, task in enumerate(team.tasks):
        team.do(task, TWO[place % 2], now(), 60, {"decision": "yes", "upper": f"{task.drafts['upper']}!"})
    team.pull()
    pushes = Pushes(team, monkeypatch)
    pushes.push(None)
    review = {ending: f"toys/toy-words-review@1{ending}/a1" for ending in ("", ".zh")}
    for ending, heading in (("", "Review of an author"), (".zh", "审核作者的工作")):
        queue = pushes.queues[review[ending]]
        assert queue.tasks
        assert heading in queue.instruction
    assert "说说它是不是一个词。" in pushes.queues[review[".zh"]].instruction
    assert "现在这样对吗？" in pushes.queues[review[".zh"]].config


def test_an_item_without_a_form_in_its_language_stays_in_the_english_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(tmp_path, [*ENGLISH, *CHINESE_WORDS], TWO, part=in_two_languages(WORDS))
    pushes = Pushes(team, monkeypatch)
    pushes.push(None, languages={"a1": ["en"]})
    of = shown(pushes)
    assert set(of) == {f"{EN}/a1", f"{EN}/a2"}
    assert set(CHINESE_WORDS) <= of[f"{EN}/a2"]


def test_a_person_practises_in_the_first_language_that_they_read(team: Team) -> None:
    team.project.config.annotation = AnnotationSettings(
        people={by: f"{by}@example.org" for by in ("a1", "a2", "a3")}, languages={"a1": ["zh", "en"], "a2": ["en"]}
    )
    (work,) = works(team.project)
    assert [work.language_for(by) for by in ("a1", "a2", "a3")] == ["zh", "en", "en"]
    assert work.practice_of("a1")[1].language == "zh"


def test_nobody_practises_for_tasks_that_they_do_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def right(records: Any, tasks: Any, seed: int) -> list[Task]:
        return [task.model_copy(update={"right_answers": {"decision": "yes"}}) for task in tasks]

    english = dataclasses.replace(in_two_languages(WORDS), gold=right)
    for words, other in ((ENGLISH, "zh"), (CHINESE_WORDS, "en")):
        team = Team(tmp_path, words, TWO, part=english)
        pushes = Pushes(team, monkeypatch)
        pushes.push(None, languages={"a2": [other]})
        assert {name for name in shown(pushes) if "-practice" in name} == {"toys/toy-words-practice@1/a1"}
        assert not any(name.endswith("/a2") for name in shown(pushes))
        (work,) = works(team.project)
        assert [bool(work.practice_of(by)[0]) for by in TWO] == [True, False]
        # Who reads items that have no form in their language is shown the English one, and practises in it.
        pushes.push(None, languages={"a2": ["en" if other == "zh" else "zh"]})
        assert "toys/toy-words-practice@1/a2" in shown(pushes)


def practise(team: Team, by: str, language: str) -> None:
    """Do a practice set rightly, in the queue of its language."""
    (work,) = works(team.project)
    practice, rubric = work.practice_of(by, language)
    for task in practice_for(by, practice, [], rubric):
        team.do(task, by, now(), 60, {name: str(answer) for name, answer in task.right_answers.items()})
        queue = f"toys/{task.rubric}@{task.version}"
        if language != "en":
            team.server.rows.setdefault(f"{queue}.{language}/{by}", []).append(team.server.rows[f"{queue}/{by}"].pop())
    team.pull()


PRACTICE = f"toys/{BOTH.name}-practice@1"


@pytest.mark.parametrize("first", ["zh", "en"])
def test_who_has_passed_the_worked_examples_in_one_language_has_passed(
    team: Team, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    for ending, words in (("", ENGLISH), (".zh", CHINESE_WORDS)):
        examples = [{"shown": {"text": text}, "right_answers": {"decision": "yes"}} for text in words]
        (team.bench.folder / f"examples.{BOTH.name}{ending}.yaml").write_text(json.dumps(examples), encoding="utf-8")
    second = "en" if first == "zh" else "zh"
    pushes = Pushes(team, monkeypatch)
    pushes.push(None, languages={"a1": [first, second]})
    queue = f"{PRACTICE}{'.zh' if first == 'zh' else ''}/a1"
    assert len(pushes.open()[queue]) == 3
    practise(team, "a1", first)
    for languages in ([first, second], [second, first], [second]):
        pushes.push(None, languages={"a1": languages})
        assert not [name for name in pushes.open() if name.startswith(PRACTICE) and name.endswith("/a1")], languages
        assert len(pushes.queues[queue].tasks) == 3, "what is done stays done"
        assert any(name.endswith("/a1") for name in pushes.open()), "and the real tasks come"


def test_other_known_answers_are_practised_by_who_reads_none_of_the_languages_they_practised_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def right(records: Any, tasks: Any, seed: int) -> list[Task]:
        return [task.model_copy(update={"right_answers": {"decision": "yes"}}) for task in tasks]

    (tmp_path / "guideline.zh.md").write_text("# 词\n\n说说它是不是一个词。\n", encoding="utf-8")
    part = dataclasses.replace(in_two_languages(), gold=right)
    team = Team(tmp_path, [*ENGLISH, *CHINESE_WORDS], TWO, part=part)
    team.project.config.annotation = AnnotationSettings(people={by: f"{by}@example.org" for by in TWO})
    practise(team, "a1", "zh")
    pushes = Pushes(team, monkeypatch)

    def asked(*languages: str) -> list[str]:
        pushes.push(None, languages={"a1": list(languages)})
        return [name for name in pushes.open() if name.startswith(PRACTICE) and name.endswith("/a1")]

    assert asked("zh", "en") == []
    assert asked("en", "zh") == []
    assert asked("en") == [f"{PRACTICE}/a1"]


def test_before_a_build_nobody_has_a_queue_in_a_language_that_they_do_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Queue] = []
    monkeypatch.setattr(first_queues, "projects_of", lambda client, benchmark: {})
    monkeypatch.setattr(first_queues, "push_queue", lambda client, queue, existing: made.append(queue))
    (tmp_path / "guideline.zh.md").write_text("# 词\n\n说说它是不是一个词。\n", encoding="utf-8")
    (tmp_path / WORDS.guideline).write_text("# Words\n\nSay whether it is one.\n", encoding="utf-8")
    people = {by: f"{by}@example.org" for by in ("a1", "a2", "lead")}
    settings = AnnotationSettings(people=people, lead="lead", languages={"a2": ("zh",), "lead": ("zh",)})
    names = []
    for rubric in (WORDS, BOTH):
        made.clear()
        asked = {rubric.name: (dataclasses.replace(FAMILY, folder=tmp_path), every(rubric))}
        config: Any = SimpleNamespace(name="toys", annotation=settings, asking=lambda asked=asked: asked)
        client: Any = None
        first_queues.open_queues(config, client)
        names.append({queue.name for queue in made})
    assert names == [{f"{EN}/a1"}, {f"{EN}/a1", f"{ZH}/a2", "toys/toy-words-adjudication@1.zh/lead"}]


def test_by_value_the_readers_of_an_items_language_are_enough_to_decide_it(tmp_path: Path) -> None:
    judged = BOTH.model_copy(update={"writes": (), "people_per_item": 1})
    (tmp_path / "guideline.zh.md").write_text("# 词\n\n说说它是不是一个词。\n", encoding="utf-8")
    team = Team(tmp_path, [*ENGLISH, *CHINESE_WORDS], (*TWO, "a3"), part=in_two_languages(judged))
    team.project.config.annotation = AnnotationSettings(
        people={by: f"{by}@example.org" for by in team.people},
        languages={"a1": ("en",), "a2": ("zh",), "a3": ("en",)},
        certainty=0.9,
        overlap_first=6,
    )
    for task in team.tasks:
        team.do(task, "a2" if task.language == "zh" else "a1", now(), 60, {"decision": "yes"})
    team.pull()
    (collected,) = last_pull(team.project)
    language = {task.key: task.language for task in team.tasks}
    states = {(language[one.key], one.state) for one in collected.settlement.outcomes}
    assert states == {("zh", "decided"), ("en", "waiting")}


def test_languages_are_those_of_people_in_the_configuration() -> None:
    people = {"a1": "a1@example.org"}
    with pytest.raises(ValidationError, match="a2: expected the code of one of `people`: a1"):
        AnnotationSettings(people=people, languages={"a2": ("zh",)})
    for wrong in ((), ("cn",)):
        with pytest.raises(ValidationError):
            AnnotationSettings.model_validate({"people": people, "languages": {"a1": wrong}})


def test_a_rubric_says_which_text_it_lacks_in_a_language() -> None:
    texts = {text: said for text, said in CHINESE.items() if text != "no"}
    with pytest.raises(ValidationError, match="rubric toy-words: in zh it has no text for 'no'"):
        Rubric.model_validate({**dict(WORDS), "texts": {"zh": texts}})


def test_names_of_english_queues_are_as_they_were() -> None:
    assert queue_name("sample", WORDS, "a1") == "sample/toy-words@1/a1"
    assert queue_name("sample", BOTH.in_language("zh"), "a1") == "sample/toy-words@1.zh/a1"
    assert form_names("toy-words", 1) == ("toy-words@1", "toy-words@1.zh")
