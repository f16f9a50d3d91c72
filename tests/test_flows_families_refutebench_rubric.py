"""What people rate of RefuteBench's dialogues (section 4.4), and how evaluators compare with them."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation.label_studio.sync import projects_of, tasks_of
from annotation.label_studio.task_data import data_fields, task_data
from flows.annotate.pull import pull, write_lines
from flows.annotate.push import push
from flows.annotate.report import comparison_lines, mean_lines, verdict_counts, write_annotation
from flows.annotate.terminal import print_status
from flows.annotate.work import Work, last_pull, works
from flows.construct.reviewed import is_current
from flows.families.refutebench.rubric import (
    AGENT_FIRST,
    AGENT_THIRD,
    EVALUATOR,
    REFUTE_RATING,
    TEMPLATE_FIRST,
    tasks,
)
from flows.llm.model import Text
from flows.project.build_report import write_report
from flows.project.output_files import open_built, remember, write_output_files
from flows.project.project import Project, read_verdicts
from flows.release.gate import gate
from flows.release.version import prepare
from schemas.annotation import Annotation
from schemas.base import Provenance
from schemas.refutebench import DialogueTurn, Rating
from schemas.rubric import Sample, Task
from tests.builds import practised
from tests.label_studio import Served
from tests.test_browser_annotation import Person
from tests.test_flows_families_refutebench_method import Speaker, faults, project_of, rows
from tests.toy import run_all

SIZES = {AGENT_FIRST: 6, TEMPLATE_FIRST: 6, AGENT_THIRD: 6, EVALUATOR: 12}
SMALL = REFUTE_RATING.model_copy(
    update={"samples": tuple(Sample(name=name, size=size) for name, size in SIZES.items())}
)


def rating(seed: int, number: int = 0, **changes: Any) -> Rating:
    given: dict[str, Any] = {
        "task": "translation", "protocol": "transient", "unrelated": 0, "refuter": "agent", "style": "plain",
        "model": "m1", "evaluator": "e1", "aspect": "refutation", "refutation_number": number,
        "answer_number": number + 1, "rating": 4, "explanation": "SECRET [[4]]", "provenance": Provenance(seed=1),
        **changes,
    }  # fmt: skip
    about = f"{seed}, {given['protocol']}, {given['model']}, {given['refuter']}"
    texts = {
        "key": f"{about}, {number}, {given['evaluator']}, {given['answer_number']}", "dialogue": about,
        "query": f"Translate sentence {seed}.",
        "earlier": [
            DialogueTurn(role=role, kind="query", text=f"{role} {place}")
            for place in range(number)
            for role in ("assistant", "user")
        ],
        "previous": f"Answer {number} ({about}).", "refutation": f"No {number} ({about})!",
        "response": f"Answer {given['answer_number']} ({about}).",
    }  # fmt: skip
    return Rating(**{**texts, **given})


def every_kind(seeds: int = 20) -> Iterator[Rating]:
    for seed in range(seeds):
        for model in ("m1", "m2", "m3"):
            for evaluator in ("e1", "e2"):
                more: dict[str, Any] = {"model": model, "evaluator": evaluator}
                for number in range(3):
                    yield rating(seed, number, **more)
                    yield rating(seed, number, refuter="template", **more)
                    yield rating(1000 + seed, number, task="writing", **more)
                yield rating(seed, 0, answer_number=3, **more)
                yield rating(seed, 0, protocol="persistent", **more)


ALL = list(every_kind())


def by_key(ratings: Sequence[Rating], task: Task) -> Rating:
    return next(one for one in ratings if one.key == task.item_key)


# ---- sampling ----


def test_the_samples_and_the_scales_are_those_of_section_4_4() -> None:
    assert [(one.name, one.size) for one in REFUTE_RATING.samples] == [
        ("agent-first", 50), ("template-first", 50), ("agent-third", 50), ("evaluator", 100),
    ]  # fmt: skip
    assert [(ask.name, ask.options, ask.ordered) for ask in REFUTE_RATING.asks] == [
        (name, ("1", "2", "3", "4", "5"), True) for name in ("human_likeness", "appropriateness", "following")
    ]
    assert [ask.accepts for ask in REFUTE_RATING.asks] == [(), (), ()]
    assert not REFUTE_RATING.decides
    assert REFUTE_RATING.people_per_item == 2


def test_each_sample_is_of_its_own_refutations_and_none_stands_in_two() -> None:
    drawn = tasks(ALL, 1, SMALL)
    assert Counter(task.sample for task in drawn) == SIZES
    assert len({task.id for task in drawn}) == len({task.key for task in drawn}) == sum(SIZES.values())
    for task in drawn:
        one = by_key(ALL, task)
        assert (one.protocol, one.aspect, one.evaluator) == ("transient", "refutation", "e1")
        assert one.answer_number == (one.refutation_number or 0) + 1
        assert one.refuter == ("template" if task.sample == TEMPLATE_FIRST else "agent")
        if task.sample == EVALUATOR:
            assert one.task == "translation"
        else:
            assert one.refutation_number == (2 if task.sample == AGENT_THIRD else 0)
    turns = {by_key(ALL, task).refutation_number for task in drawn if task.sample == EVALUATOR}
    assert turns == {0, 1, 2}


def test_the_evaluated_models_stand_in_a_sample_in_equal_numbers() -> None:
    for name, size in SIZES.items():
        models = Counter(by_key(ALL, task).model for task in tasks(ALL, 1, SMALL) if task.sample == name)
        assert models == dict.fromkeys(("m1", "m2", "m3"), size // 3)
    few = [one for one in ALL if one.model != "m3" or one.dialogue.startswith("0,")]
    models = Counter(by_key(few, task).model for task in tasks(few, 1, SMALL) if task.sample == TEMPLATE_FIRST)
    assert sorted(models.values()) == [1, 2, 3], "of one there is one alone"


def test_sampling_is_seeded_and_the_order_does_not_matter() -> None:
    shuffled = ALL.copy()
    random.Random(3).shuffle(shuffled)
    drawn = tasks(ALL, 1, SMALL)
    assert tasks(shuffled, 1, SMALL) == drawn
    assert {task.id for task in tasks(ALL, 2, SMALL)} != {task.id for task in drawn}


def test_another_evaluator_leaves_what_people_rate_as_it_is() -> None:
    alone = [one for one in ALL if one.evaluator == "e2"]
    assert [(task.key, task.id) for task in tasks(alone, 1, SMALL)] == [
        (task.key, task.id) for task in tasks(ALL, 1, SMALL)
    ]


def test_few_ratings_give_what_there_is() -> None:
    few = [rating(1), rating(1, 1), rating(1, 2), rating(2, task="writing"), rating(3, protocol="persistent")]
    few.append(rating(1, 0, answer_number=3))
    few.append(rating(4, aspect="task", refutation_number=None, answer_number=0, previous="", refutation=""))
    drawn = {(task.sample, by_key(few, task).key) for task in tasks(few, 1)}
    assert drawn == {
        (AGENT_FIRST, few[0].key), (AGENT_FIRST, few[3].key), (AGENT_THIRD, few[2].key), (EVALUATOR, few[1].key),
    }  # fmt: skip
    assert tasks([], 1) == []


def test_what_two_models_said_alike_is_rated_once() -> None:
    alike = {"query": "Q", "previous": "A", "refutation": "R", "response": "B"}
    (task,) = tasks([rating(1, **alike), rating(1, model="m2", **alike)], 1)
    assert task.sample == AGENT_FIRST


# ---- what people see ----


def test_people_see_the_dialogue_so_far_and_nothing_of_who_refuted_or_how_it_was_rated() -> None:
    ratings = [rating(1, 2, evaluator="e1"), rating(1, 0, refuter="template")]
    third, first = sorted(tasks(ratings, 1), key=lambda task: task.sample)
    assert [(turn.speaker, turn.text) for turn in third.shown["dialogue"] if not isinstance(turn, str)] == [
        ("User", "Translate sentence 1."), ("Assistant", "assistant 0"), ("User", "user 0"),
        ("Assistant", "assistant 1"), ("User", "user 1"), ("Assistant", ratings[0].previous),
    ]  # fmt: skip
    assert (third.shown["refutation"], third.shown["response"]) == (ratings[0].refutation, ratings[0].response)
    assert len(first.shown["dialogue"]) == 2
    said = {"query": "Q", "previous": "A", "refutation": "R", "response": "B"}
    alike = [rating(1, **said), rating(2, refuter="template", model="m2", rating=1, explanation="[[1]]", **said)]
    one, other = (task_data(REFUTE_RATING, *tasks([each], 1)) for each in alike)
    assert set(one) == {*data_fields(REFUTE_RATING), "Task"}
    names = {"ext_id", "item_id", "item_key"}  # hashes
    assert {name for name in one if one[name] != other[name]} == names


@pytest.mark.slow
def test_a_rating_shows_what_was_said_before_its_refutation(tmp_path: Path) -> None:
    project = built(tmp_path)
    for one in rows(project, "ratings"):
        dialogue = next(each for each in rows(project, "dialogues") if each.id == one.dialogue)
        said = [turn.text for turn in (*one.earlier, DialogueTurn(role="assistant", kind="query", text=one.previous))]
        if one.aspect == "task":
            assert not one.earlier
        else:
            place = next(n for n, turn in enumerate(dialogue.turns) if turn.text == one.refutation)
            assert said == [turn.text for turn in dialogue.turns[1:place]]
    assert faults(project, "ratings") == []
    changed = [one for one in rows(project, "ratings") if one.refutation_number == 2][:1]
    changed = [changed[0].revised(earlier=changed[0].earlier[:-1])]
    assert faults(project, "ratings", changed) == ["it does not show what was said before refutation 2"]


# ---- a build whose people rate ----

PEOPLE = {"a1": "anna@example.org", "a2": "ben@example.org"}
SCALES = ("human_likeness", "appropriateness", "following")


def strict_rating(*texts: str) -> int:
    """From 1 to 5, by the texts."""
    return sum(map(ord, "".join(texts))) % 5 + 1


def built(folder: Path, **config: Any) -> Project:
    """Three sentences and four stories: the evaluator gives 4 throughout, `strict` what `strict_rating` says."""
    path = project_of(folder, evaluators=["evaluator", "strict"]).config_path
    given = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**given, "annotation": {"people": PEOPLE}, **config}), encoding="utf-8")
    project = Project(path, folder / "out")
    models: Any = project.build.families["refutebench"].models
    strict = Speaker(
        "strict", rate_refutation=lambda asked, draw: Text(text=f"[[{strict_rating(asked.query, asked.response)}]]")
    )
    models.update({name: strict if name == "strict" else Speaker() for name in models})
    asyncio.run(run_all(project.build))
    return project


def ratings_of(task: Task, by: str) -> tuple[int, int, int]:
    """What somebody gives: a1 follows `strict`, a2 is two points off in the first sample's first task, by the text."""
    query, response = task.shown["dialogue"][0], task.shown["response"]
    assert not isinstance(query, str)
    following = strict_rating(query.text, str(response))
    return (5, 3, following) if by == "a1" else (4, 2, 6 - following if task.sample == AGENT_FIRST else following)


def hand_in(project: Project, **people: int) -> Work:
    """So many of the tasks as each person has rated, as a pull would write it down."""
    (work,) = works(project)
    made = [
        Annotation(task=task.id, key=task.key, rubric=task.rubric, version=task.version, by=by, seconds=60,
                   answers=dict(zip(SCALES, map(str, ratings_of(task, by)), strict=True)),
                   at="2026-11-02T09:00:00Z", source=f"{by}{task.key}")
        for by, number in people.items()
        for task in work.tasks[:number]
    ]  # fmt: skip
    write_lines(project, "annotations/refute-rating.jsonl", made)
    return work


@pytest.mark.slow
def test_evaluators_are_compared_with_people_on_what_people_rate(tmp_path: Path) -> None:
    project = built(tmp_path)
    work = hand_in(project, a1=100, a2=100)
    assert Counter(task.sample for task in work.tasks) == {AGENT_FIRST: 7, AGENT_THIRD: 7, EVALUATOR: 3}
    given = {(one.by, one.task): one.answers for one in work.programs}
    assert len(given) == 2 * len(work.tasks)
    for task in work.tasks:
        assert given["evaluator", task.id] == {"following": "4"}
        assert given["strict", task.id] == {"following": str(ratings_of(task, "a1")[2])}
    (collected,) = last_pull(project)
    rows_ = {(one.sample, one.program, one.people, one.measure): one for one in collected.compared(7, draws=200)}
    assert rows_[AGENT_THIRD, "strict", ("a1", "a2"), "Pearson"].value == pytest.approx(1)
    assert rows_[AGENT_FIRST, "strict", ("a1",), "Spearman"].value == pytest.approx(1)
    assert rows_[AGENT_FIRST, "strict", ("a2",), "Pearson"].value == pytest.approx(-1)
    assert rows_[AGENT_FIRST, "", ("a1", "a2"), "Pearson"].value == pytest.approx(-1)
    assert rows_[AGENT_THIRD, "strict", ("a1",), "Pearson"].low == pytest.approx(1)
    same = rows_[EVALUATOR, "evaluator", ("a1", "a2"), "Pearson"]
    assert (same.value, same.reason, same.items) == (None, "somebody gave the same rating throughout", 3)
    assert mean_lines(collected.means())[0].startswith(
        "agent-first (7 items, 2 people): human_likeness 4.50, appropriateness 2.50, following "
    )
    told = comparison_lines(collected.compared(7, draws=0))
    assert "agent-third following: strict and the mean of a1, a2 (7 items): Pearson 1.00, Spearman 1.00" in told
    assert "agent-first following: people among themselves (7 items): Pearson -1.00, Spearman -1.00" in told


@pytest.mark.slow
def test_ratings_decide_nothing_and_are_told_on_the_page(tmp_path: Path) -> None:
    project = built(tmp_path)
    hand_in(project, a1=10, a2=5)
    (collected,) = last_pull(project)
    assert Counter((one.state, one.reason) for one in collected.settlement.outcomes) == {
        ("rated", ""): 5, ("waiting", "waiting for more people"): 5, ("waiting", "to be done"): 7,
    }  # fmt: skip
    assert (collected.settlement.verdicts, collected.rated) == ((), 5)
    assert verdict_counts(collected) == "none; ratings decide nothing"
    page = write_annotation(project, [collected], []).read_text(encoding="utf-8")
    for said in ("5 rated, 12 waiting", "Mean ratings", "<bdi>agent-first</bdi>", "Programs and people",
                 "<bdi>strict and the mean of a1, a2</bdi>", "people among themselves"):  # fmt: skip
        assert said in page, said
    assert "SECRET" not in page


@pytest.mark.slow
def test_a_release_holds_nothing_back_and_its_card_tells_the_ratings(place: Path) -> None:
    project = built(place, release={"licence": "CC0-1.0"})
    write_output_files(project)
    remember(project)
    hand_in(project, a1=100, a2=100)
    project = open_built(place / "out")
    family = project.build.families["refutebench"].family
    part = family.part("ratings")
    assert is_current(project.build, family, part)
    assert not any(judgement.held_back for judgement in gate(project, family, part))
    report = write_report(project).read_text(encoding="utf-8")
    assert "people have reviewed" not in report
    made = prepare(project, place / "releases")
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "a sample, 17 of " in card
    assert "Rated by everybody who was asked: 17. Ratings decide nothing: no row is held back for them." in card
    assert r"| agent-first | human\_likeness 4.50, appropriateness 2.50, following " in card
    assert (
        "| agent-third | following | `strict` and the mean of `a1`, `a2` | Pearson | 1.00 | 1.00 to 1.00 | 7 |" in card
    )
    assert r"| agent-first | following | people among themselves | Spearman | \-1.00 | \-1.00 to \-1.00 | 7 |" in card


@pytest.mark.slow
async def test_two_people_rate_one_of_them_in_a_browser_through_to_the_correlation(
    label_studio: Served, browser: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = label_studio.folder.parent.parent
    project = await asyncio.to_thread(built, folder, store=str(label_studio.folder.parent))
    write_output_files(project)
    remember(project)
    (work,) = works(project)
    practised(project)
    push(project, label_studio.client)
    tasks_ = {task.key: task for task in work.tasks}
    queues = {by: projects_of(label_studio.client, "test")[f"test/refute-rating@2/{by}"] for by in PEOPLE}
    left = {by: tasks_of(label_studio.client, queue) for by, queue in queues.items()}
    assert [len(one) for one in left.values()] == [17, 17]

    def rate(row: Mapping[str, Any], by: str) -> None:
        given = zip(SCALES, map(str, ratings_of(tasks_[row["data"]["ext_id"]], by)), strict=True)
        result = [
            {"from_name": name, "to_name": "shown-dialogue", "type": "choices", "value": {"choices": [answer]}}
            for name, answer in given
        ]
        content = {"result": result, "completed_by": label_studio.client.users()[PEOPLE[by]], "lead_time": 60.0}
        label_studio.client._request("POST", f"api/tasks/{row['id']}/annotations/", json=content)

    for row in left["a2"]:
        rate(row, "a2")
    third = next(row for row in left["a1"] if tasks_[row["data"]["ext_id"]].sample == AGENT_THIRD)
    for row in left["a1"]:
        if row is not third:
            rate(row, "a1")
    person = await Person.log_in(browser, label_studio, "a1")
    await person.open(queues["a1"].id)
    page = await person.read()
    task = tasks_[third["data"]["ext_id"]]
    said = [turn.text for turn in task.shown["dialogue"] if not isinstance(turn, str)]
    assert len(said) == 6
    read = " ".join(page.split())
    shown = (*said, str(task.shown["refutation"]), str(task.shown["response"]))
    assert [text for text in shown if " ".join(text.split()) not in read] == []
    assert not any(word in page for word in ("evaluator", "strict", "[["))
    for question, answer in enumerate(ratings_of(task, "a1")):
        await person.choose(str(answer), question)
    await person.submit()

    (collected,) = pull(project, label_studio.client)
    assert collected.rated == len(work.tasks)
    rows_ = {(one.sample, one.program, one.people, one.measure): one for one in collected.compared(7, draws=200)}
    first = rows_[AGENT_THIRD, "strict", ("a1",), "Pearson"]
    assert (first.items, first.value) == (7, pytest.approx(1))
    assert rows_[AGENT_FIRST, "strict", ("a2",), "Pearson"].value == pytest.approx(-1)
    assert read_verdicts(project.out / "verdicts" / "refutebench-ratings.jsonl") == {}
    kept = (project.out / "annotations" / "refute-rating.jsonl").read_text(encoding="utf-8").splitlines()
    assert Counter(json.loads(line)["rubric"] for line in kept)["refute-rating"] == 34
    await asyncio.to_thread(print_status, project.out)
    told = capsys.readouterr().out
    assert "correlation: agent-third following: strict and the mean of a1" in told
    assert "mean rating: agent-third (7 items, 2 people): human_likeness 4.50" in told
    again = push(project, label_studio.client)
    assert [(one.imported, one.retired) for one in again.queues if "practice" not in one.queue] == [(0, 0), (0, 0)]
