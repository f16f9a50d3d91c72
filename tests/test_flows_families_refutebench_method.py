"""RefuteBench's dialogues and ratings, held with models that say what a test wants."""

import asyncio
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flows.construct.verification import VerifyContext
from flows.families.refutebench import FAMILY, problems
from flows.families.refutebench.prompts import (
    REFUTE,
    Checked,
    Refutation,
    ToAnswer,
    ToCheck,
    ToRate,
    ToRefute,
    rating_of,
)
from flows.families.refutebench.protocol import focus_of, strong_of
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.llm.model import Invalid, InvalidAnswer, Out, Prompt, Text, Usage
from flows.project.output_files import write_output_files
from flows.project.project import Project
from schemas.base import Record
from schemas.refutebench import FOCUSES, Rating, RefutationDialogue, Seed
from tests.builds import write_config
from tests.toy import run_all

pytestmark = pytest.mark.slow  # PyTorch

SENTENCES = [
    {"text": "The old mill by the river burned down last winter.", "reference": "河边的旧磨坊去年冬天烧毁了。"},
    {"text": "Nobody in the village could remember who had built the bridge.", "reference": "村里没人记得桥是谁建的。"},
    {
        "text": "She sold her boat and bought a small house near the sea.",
        "reference": "她卖了船，在海边买了一座小房子。",
    },
]
STORIES = [
    {"prompt": "A clock that runs backwards changes the life of a baker."},
    {"prompt": "Two lighthouse keepers have not spoken to each other for years."},
    {"prompt": "A child finds a letter in a library book and answers it."},
    {"prompt": "The last train of the night never reaches its station."},
]
Answer = Callable[[Any, int], BaseModel]


class Speaker:
    """A model that answers by prompt name; what it was asked is noted."""

    def __init__(self, name: str = "speaker", **answers: Answer) -> None:
        self.name = name
        self.asked: list[tuple[str, Any, int]] = []
        self._answers: dict[str, Answer] = {
            "respond": lambda asked, draw: Text(text=f"{self.name} answers {len(asked.dialogue)}: {asked.said[:40]}"),
            "refute": lambda asked, draw: Refutation(
                refutation=f"No. {['Salt', 'Thunder', 'Velvet'][len(asked.earlier)]} is what I am missing!"
            ),
            "check_refutation": lambda asked, draw: Checked(met=False, aspects=1, repeats=0, contradicts=0),
            "rate_refutation": lambda asked, draw: Text(text="It does some of it. Rating: [[4]]"),
            "rate_task": lambda asked, draw: Text(text="It is what was asked. Rating: [[5]]"),
            **answers,
        }

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        self.asked.append((prompt.name, inputs, draw))
        output: Any = self._answers[prompt.name](inputs, draw)
        try:
            for check in prompt.checks:
                check(inputs, output)
        except Invalid as error:
            raise InvalidAnswer(error.reason, output.text, error.detail) from error
        return output  # type: ignore[no-any-return]

    def identity(self) -> dict[str, object]:
        return {"model": self.name}


def table(path: Path, rows: Iterable[dict[str, str]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def project_of(folder: Path, **settings: Any) -> Project:
    sources = {
        "translation": [{"format": "jsonl", "path": table(folder / "sentences.jsonl", SENTENCES)}],
        "writing": [{"format": "jsonl", "path": table(folder / "stories.jsonl", STORIES)}],
    }
    family = {"sources": sources, "style": [], **settings}
    names = {name for key in ("evaluated", "evaluators") for name in settings.get(key, ())}
    models = {name: {"provider": "rules"} for name in sorted(names)}
    config = write_config(folder, store=str(folder / "store"), models=models, families={"refutebench": family})
    return Project(config, folder / "out")


def held(folder: Path, *speakers: Speaker, **settings: Any) -> Project:
    """A build with the speakers: the last is everybody's model that has none of its own name."""
    project = project_of(folder, **settings)
    models: Any = project.build.families["refutebench"].models
    own = {speaker.name: speaker for speaker in speakers}
    models.update({name: own.get(name, speakers[-1]) for name in models})
    asyncio.run(run_all(project.build))
    return project


def rows(project: Project, part: str) -> list[Any]:
    return list(project.build.accepted("refutebench", part))


def dropped(project: Project, part: str) -> list[tuple[str, str]]:
    build = project.build
    family = FAMILY.part(part)
    stages = [build.read(ref) for ref in build.stages(FAMILY, family)]
    return [(one.reason, one.evidence) for stage in stages for one in stage.dropped()]


def faults(project: Project, part: str, changed: Iterable[Record] | None = None) -> list[str]:
    settings = project.build.families["refutebench"].settings
    context = VerifyContext(settings, project.embedder, lambda name: rows(project, name))
    given = rows(project, part) if changed is None else changed
    return [fault.problem for fault in FAMILY.part(part).verify(given, context)]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Speaker]:
    speaker = Speaker()
    return held(tmp_path_factory.mktemp("refutebench"), speaker), speaker


# ---- the protocols ----


def test_a_transient_dialogue_is_a_query_and_three_refutations_each_answered(sample: tuple[Project, Speaker]) -> None:
    project, _ = sample
    transient = [one for one in rows(project, "dialogues") if one.protocol == "transient"]
    assert len(transient) == len(SENTENCES) + len(STORIES)
    for one in transient:
        assert [turn.role for turn in one.turns] == ["user", "assistant"] * 4
        assert [turn.kind for turn in one.turns[::2]] == ["query", "refutation", "refutation", "refutation"]
        assert one.turns[0].text == one.query
        assert len(one.answers) == 4
        assert len(set(one.refutations)) == 3


def test_a_persistent_dialogue_puts_the_very_query_again_after_unrelated_ones(sample: tuple[Project, Speaker]) -> None:
    project, speaker = sample
    task_of = {seed.query: seed.task for seed in rows(project, "seeds")}
    persistent = [one for one in rows(project, "dialogues") if one.protocol == "persistent"]
    assert len(persistent) == len(SENTENCES) + len(STORIES)
    for one in persistent:
        kinds = [turn.kind for turn in one.turns[::2]]
        assert kinds == ["query", "refutation", "unrelated", "unrelated", "unrelated", "query"]
        assert one.turns[0].text == one.turns[-2].text == one.query
        between = [turn.text for turn in one.turns[::2] if turn.kind == "unrelated"]
        assert len(set(between)) == 3
        assert all(task_of[query] != one.task for query in between)
        assert len(one.provenance.parents) == 4
        assert {source.source for source in one.provenance.sources} == {"sentences.jsonl", "stories.jsonl"}
    refuting = [asked for name, asked, _ in speaker.asked if name == "refute"]
    assert {asked.standing for asked in refuting if asked.earlier} == {False}
    assert sum(asked.standing for asked in refuting) == len(persistent)


def test_every_message_goes_with_all_that_was_said_before(sample: tuple[Project, Speaker]) -> None:
    project, speaker = sample
    sent = {(asked.dialogue, asked.said) for name, asked, _ in speaker.asked if name == "respond"}
    for one in rows(project, "dialogues"):
        for place in range(0, len(one.turns), 2):
            before = tuple((turn.role, turn.text) for turn in one.turns[:place])
            assert any(
                tuple((said.role, said.text) for said in dialogue) == before and message == one.turns[place].text
                for dialogue, message in sent
            )


def test_the_messages_of_a_dialogue_stand_one_by_one_in_the_request() -> None:
    prompt = next(one for one in FAMILY.prompts if one.name == "respond")
    said = ({"role": "user", "text": "Translate."}, {"role": "assistant", "text": "译文。"})
    asked = ToAnswer(dialogue=said, said="Warmer!", task="translation", text="x", reference="不给看", forgetting=0)
    assert prompt.temperature == 0
    assert prompt.messages(asked) == [
        {"role": "user", "content": "Translate."},
        {"role": "assistant", "content": "译文。"},
        {"role": "user", "content": "Warmer!"},
    ]


def test_a_smaller_c_has_the_first_of_a_larger_one_s_unrelated_queries(tmp_path: Path) -> None:
    project = held(tmp_path, Speaker(), unrelated=[0, 1, 3])
    by_seed: dict[str, dict[int, RefutationDialogue]] = {}
    for one in rows(project, "dialogues"):
        if one.protocol == "persistent":
            by_seed.setdefault(one.seed, {})[one.unrelated] = one
    for lengths in by_seed.values():
        assert [turn.kind for turn in lengths[0].turns[::2]] == ["query", "refutation"]
        assert lengths[1].turns[4].text == lengths[3].turns[4].text
    assert not faults(project, "dialogues")


def test_every_model_meets_the_same_focus_at_the_same_place(tmp_path: Path) -> None:
    """Section 4.2, fairness: whatever the models say, and however often a refutation had to be asked for."""
    twice = Speaker(
        "second",
        check_refutation=lambda asked, draw: Checked(
            met="No." in asked.refutation, aspects=1, repeats=0, contradicts=0
        ),
        refute=lambda asked, draw: Refutation(
            refutation=("No." if not asked.refused else "Well!") + f" Word {len(asked.earlier)} {draw} is wrong."
        ),
    )
    project = held(tmp_path, Speaker("first"), twice, evaluated=["first", "second"])
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for one in rows(project, "dialogues"):
        focuses = tuple(turn.focus for turn in one.turns if turn.focus)
        found.setdefault(f"{one.seed} {one.protocol}", []).append((one.model, focuses))
    assert len(found) == 2 * (len(SENTENCES) + len(STORIES))
    for pair in found.values():
        assert len({model for model, _ in pair}) == 2
        assert len({focuses for _, focuses in pair}) == 1
    everything = [focus_of(f"query {number}", turn, FOCUSES) for number in range(300) for turn in range(3)]
    for focus in FOCUSES:
        assert 0.28 < everything.count(focus) / len(everything) < 0.39


def test_released_seeds_make_the_same_dialogues_in_a_build_of_another_seed(tmp_path: Path) -> None:
    first = held(tmp_path / "first", Speaker(), unrelated=[0, 2], refuters=["agent", "template"])
    write_output_files(first)
    seeds = {"format": "touchstone", "path": str(first.out / "accepted" / "refutebench-seeds.parquet")}
    settings = {"unrelated": [0, 2], "refuters": ["agent", "template"], "sources": {"translation": [seeds]}}
    path = project_of(tmp_path / "other", **settings).config_path
    path.write_text(json.dumps({**json.loads(path.read_text()), "seed": 99}))
    other = Project(path, tmp_path / "other" / "out")
    models: Any = other.build.families["refutebench"].models
    models.update(dict.fromkeys(models, Speaker()))
    asyncio.run(run_all(other.build))

    def told(project: Project) -> dict[tuple[str, str, str, int], Any]:
        return {(one.query, one.refuter, one.protocol, one.unrelated): one.turns for one in rows(project, "dialogues")}

    assert len(told(first)) > 20
    assert told(other) == told(first)


# ---- the refuter ----


@pytest.mark.parametrize(
    ("checked", "reason"),
    [
        ({"met": True}, "refutation met already"),
        ({"off_focus": True}, "refutation off its focus"),
        ({"aspects": 2}, "refutation of several aspects"),
        ({"aspects": 0}, "refutation of several aspects"),
    ],
)
def test_a_refutation_that_does_not_pass_is_asked_again_and_then_drops_the_dialogue(
    tmp_path: Path, checked: dict[str, Any], reason: str
) -> None:
    found = {"met": False, "aspects": 1, "repeats": 0, "contradicts": 0, **checked}
    speaker = Speaker(check_refutation=lambda asked, draw: Checked(**found))
    project = held(tmp_path, speaker, unrelated=[])
    assert rows(project, "dialogues") == []
    assert {why for why, _ in dropped(project, "dialogues")} == {reason}
    draws = [draw for name, _, draw in speaker.asked if name == "refute"]
    assert sorted(set(draws)) == [0, 1, 2]
    again = [asked for name, asked, draw in speaker.asked if name == "refute" and draw == 2]
    assert all(len(asked.refused) == 2 for asked in again)


def test_the_check_sees_the_focus_and_the_refuter_is_told_what_it_missed(tmp_path: Path) -> None:
    speaker = Speaker(
        check_refutation=lambda asked, draw: Checked(
            met=False, off_focus="0" in asked.refutation, aspects=1, repeats=0, contradicts=0
        ),
        refute=lambda asked, draw: Refutation(refutation=f"No. {len(asked.earlier) + 1}{draw} is what I am missing!"),
    )
    project = held(tmp_path, speaker, unrelated=[])
    focuses = {(one.query, turn.text): turn.focus for one in rows(project, "dialogues") for turn in one.turns}
    for name, asked, draw in speaker.asked:
        if name == "check_refutation" and draw:
            assert asked.focus == focuses[asked.query, asked.refutation]
        if name == "refute" and draw:
            assert [why for _, why in asked.refused] == [f"it asks for something else than a change in {asked.focus}"]
    assert rows(project, "dialogues")


def test_which_style_is_strong_is_drawn_from_the_query_alone() -> None:
    """Figure 3's three at once are nobody's manner; one is strong in all refutations about a query, of any model."""
    style = ("ambiguous", "abstract", "emotional")
    for strong in style:
        asked = ToRefute(
            task="writing", query="q", response="a", earlier=("No.",), focus="style", style=style, strong=strong,
            standing=False, refused=(),
        )  # fmt: skip
        system, _ = REFUTE.messages(asked)
        assert system["content"].count("highly") == 1
        assert f"Be highly {strong}" in system["content"]
        assert system["content"].count("Be a little") == 2
    drawn = [strong_of(f"query {number}", style) for number in range(300)]
    assert all(80 < drawn.count(one) < 120 for one in style)
    assert strong_of("query", ()) == ""


def test_refutations_that_repeat_or_contradict_an_earlier_one_are_not_said(tmp_path: Path) -> None:
    def refute(asked: ToRefute, draw: int) -> Refutation:
        tries = ["Make it warmer, please.", "MAKE IT WARMER, PLEASE!", "Make it colder.", "Use shorter sentences."]
        if not asked.earlier:
            return Refutation(refutation=tries[0])
        if len(asked.earlier) == 1:
            return Refutation(refutation=tries[1 + draw])
        return Refutation(refutation="Leave out the adverbs.")

    def check(asked: ToCheck, draw: int) -> Checked:
        against = asked.earlier.index("Make it warmer, please.") + 1 if "colder" in asked.refutation else 0
        return Checked(met=False, aspects=1, repeats=0, contradicts=against)

    project = held(tmp_path, Speaker(refute=refute, check_refutation=check), unrelated=[])
    for one in rows(project, "dialogues"):
        assert one.refutations == ("Make it warmer, please.", "Use shorter sentences.", "Leave out the adverbs.")


def test_a_refutation_in_other_words_with_the_same_meaning_is_a_repetition(tmp_path: Path) -> None:
    """By the embedder, where refutations are not plain: plain ones differ in a word."""

    def refute(asked: ToRefute, draw: int) -> Refutation:
        if draw:
            return Refutation(refutation=f"Where has all the thunder gone in part {len(asked.earlier)}?")
        return Refutation(
            refutation="I am so angry, this text is much too long!" + "!" * len(asked.earlier) + " Really"
        )

    class NeverThere(Speaker):
        def identity(self) -> dict[str, object]:
            return {"model": "server"}

    speaker = NeverThere(refute=refute)
    project = project_of(tmp_path, unrelated=[])
    build = project.build.families["refutebench"]
    build.models.update(dict.fromkeys(build.models, speaker))  # type: ignore[attr-defined]
    object.__setattr__(build, "settings", build.settings.model_copy(update={"style": ("emotional",)}))
    asyncio.run(run_all(project.build))
    for one in rows(project, "dialogues"):
        assert one.style == "emotional"
        assert sum("angry" in text for text in one.refutations) == 1


def test_the_rules_do_not_refute_in_a_style() -> None:
    class ByRules:
        def identity(self) -> dict[str, object]:
            return {"provider": "rules"}

    source = {"translation": [{"format": "jsonl", "path": "s.jsonl"}]}
    settings = RefuteBenchSettings.model_validate({"sources": source})
    (told,) = problems(settings, {"refuter": ByRules()})  # type: ignore[dict-item]
    assert told.startswith("style: the rules refute in plain words alone; set style: []")
    (told,) = problems(RefuteBenchSettings(), {"refuter": Speaker()})
    assert told.startswith("sources: is empty")


# ---- the evaluated model ----


def test_a_model_that_does_not_answer_drops_the_dialogue_with_its_reason(tmp_path: Path) -> None:
    def respond(asked: ToAnswer, draw: int) -> Text:
        if "mill" in asked.text and len(asked.dialogue) >= 4:
            raise InvalidAnswer("refused", "I cannot help with mills.")
        return Text(text=f"Answer {len(asked.dialogue)} about {asked.text[:20]}")

    project = held(tmp_path, Speaker(respond=respond))
    refused = dropped(project, "dialogues")
    assert set(refused) == {("evaluated model: refused", "I cannot help with mills.")}
    assert len(rows(project, "dialogues")) + len(refused) == 2 * (len(SENTENCES) + len(STORIES))


# ---- ratings ----


def test_what_is_rated_of_a_dialogue(sample: tuple[Project, Speaker]) -> None:
    project, _ = sample
    dialogues = {one.id: one for one in rows(project, "dialogues")}
    rated: dict[str, set[tuple[int | None, int]]] = {}
    for one in rows(project, "ratings"):
        rated.setdefault(one.dialogue, set()).add((one.refutation_number, one.answer_number))
        assert one.rating == (4 if one.aspect == "refutation" else 5)
    assert set(rated) == set(dialogues)
    for name, pairs in rated.items():
        if dialogues[name].protocol == "transient":
            assert pairs == {(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (None, 0), (None, 1), (None, 2), (None, 3)}
        else:
            assert pairs == {(0, 1), (0, 2)}


def test_a_later_answer_is_rated_beside_the_answer_that_was_refuted(sample: tuple[Project, Speaker]) -> None:
    project, speaker = sample
    dialogues = {one.id: one for one in rows(project, "dialogues")}
    later = [one for one in rows(project, "ratings") if (one.refutation_number, one.answer_number) == (0, 3)]
    asked = {(one.previous, one.response) for name, one, _ in speaker.asked if name == "rate_refutation"}
    assert later
    for one in later:
        answers = dialogues[one.dialogue].answers
        assert (one.previous, one.response) == (answers[0], answers[3])
        assert (answers[0], answers[3]) in asked


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("Good. Rating: [[4]]", 4),
        ("Either [[2]] or [[3]]: I say [[5]]", 5),
        ("[[ 1 ]]", 1),
        ("Rating: 4", None),
        ("Rating: [4]", None),
        ("[[4]] out of [[10]]", None),
        ("[[0]]", None),
        ("[[3.5]]", None),
        ("[[rating]]", None),
        ("[[４]]", None),
        ("[[04]]", None),
        ("[[5]] says the answer. [[none]]", None),
        ("[[[4]]]", 4),
        ("It wrote [[ in the text. Rating: [[4]]", 4),
        ("Rating: [[3]] (the form was [[rating as asked.)", 3),
        ("", None),
    ],
)
def test_the_last_rating_counts_and_nothing_else(reply: str, rating: int | None) -> None:
    assert rating_of(reply) == rating


def test_a_reply_without_a_rating_is_a_failure_and_no_score(tmp_path: Path) -> None:
    def rate(asked: ToRate, draw: int) -> Text:
        return Text(text="I would rather not say." if "Salt" in asked.refutation else "Fine. [[3]]")

    strict = Speaker("strict", rate_refutation=rate)
    project = held(tmp_path, strict, Speaker("mild"), evaluators=["strict", "mild"], unrelated=[])
    failed = dropped(project, "ratings")
    dialogues = len(SENTENCES) + len(STORIES)
    assert len(failed) == 3 * dialogues
    assert {reason for reason, _ in failed} == {"no rating"}
    assert all(evidence.startswith("I would rather not say.") for _, evidence in failed)
    given = [(one.evaluator, one.refutation_number) for one in rows(project, "ratings")]
    assert ("strict", 0) not in given
    assert given.count(("mild", 0)) == 3 * dialogues
    assert not faults(project, "ratings")


def test_a_reply_that_breaks_off_is_no_rating_whatever_it_quotes(tmp_path: Path) -> None:
    quoting = Speaker(
        "quoting", rate_task=lambda asked, draw: Text(text="It says [[5]] of itself, but I find that", cut_off=True)
    )
    project = held(tmp_path, quoting, unrelated=[])
    assert {reason for reason, _ in dropped(project, "ratings")} == {"answer cut off"}
    assert {one.aspect for one in rows(project, "ratings")} == {"refutation"}


def test_no_query_stands_under_two_tasks(tmp_path: Path) -> None:
    same = f"Translate this sentence from English into Chinese.\n\n{SENTENCES[0]['text']}"
    sources = {
        "translation": [{"format": "jsonl", "path": table(tmp_path / "a.jsonl", SENTENCES)}],
        "writing": [{"format": "jsonl", "path": table(tmp_path / "b.jsonl", [{"request": same}, *STORIES])}],
    }
    project = held(tmp_path, Speaker(), sources=sources, unrelated=[3])
    assert [reason for reason, _ in dropped(project, "seeds")] == ["query of another task"]
    assert faults(project, "dialogues") == []


# ---- proofs ----


def test_the_rows_of_a_build_hold(sample: tuple[Project, Speaker]) -> None:
    project, _ = sample
    assert [faults(project, part) for part in ("seeds", "dialogues", "ratings")] == [[], [], []]


def revised(one: Any, **changes: Any) -> Any:
    return one.revised(**changes)


def test_dialogues_that_are_not_what_they_claim_are_found(sample: tuple[Project, Speaker]) -> None:
    project, _ = sample
    own = rows(project, "dialogues")
    transient = next(one for one in own if one.protocol == "transient")
    persistent = next(one for one in own if one.protocol == "persistent")
    turns = list(transient.turns)

    def found(one: RefutationDialogue, **changes: Any) -> list[str]:
        return faults(project, "dialogues", [revised(one, **changes)])

    assert "its turns are not those of a transient dialogue" in found(transient, turns=turns[:-2])
    swapped = [*turns[:-1], turns[-1].model_copy(update={"role": "user"})]
    assert "user and assistant do not take turns" in found(transient, turns=swapped)
    assert "a refutation is said twice" in found(transient, turns=[*turns[:4], turns[2], *turns[5:]])
    assert "its query is put in other words" in found(
        persistent,
        turns=[
            *persistent.turns[:-2],
            persistent.turns[-2].model_copy(update={"text": "Again?"}),
            persistent.turns[-1],
        ],
    )
    assert "somebody says nothing" in found(
        transient, turns=[turns[0], turns[1].model_copy(update={"text": " "}), *turns[2:]]
    )
    assert "no seed is called nothing" in found(transient, seed="nothing")
    own_task = next(seed for seed in rows(project, "seeds") if seed.task == persistent.task)
    replaced = [
        turn.model_copy(update={"text": own_task.query}) if turn.kind == "unrelated" and turn.role == "user" else turn
        for turn in persistent.turns
    ]
    assert "an unrelated query is no seed's of another task" in found(persistent, turns=replaced)
    other = next(focus for focus in FOCUSES if focus != turns[2].focus)
    beside = revised(transient, key="other", model="other",
                     turns=[*turns[:2], turns[2].model_copy(update={"focus": other}), *turns[3:]])  # fmt: skip
    assert any("is about" in problem for problem in faults(project, "dialogues", [transient, beside]))
    assert faults(project, "dialogues", [transient, transient]) == ["it stands twice"]


def test_ratings_that_are_not_what_they_claim_are_found(sample: tuple[Project, Speaker]) -> None:
    project, _ = sample
    one: Rating = next(one for one in rows(project, "ratings") if (one.refutation_number, one.answer_number) == (0, 3))

    def found(**changes: Any) -> list[str]:
        return faults(project, "ratings", [revised(one, **changes)])

    assert found(rating=5) == ["its explanation does not end with the rating 5"]
    assert found(explanation="[[4]], or rather [[2]]") == ["its explanation does not end with the rating 4"]
    assert found(response="Another") == ["the rated answer is not answer 3"]
    assert found(previous="Another") == ["it does not show refutation 0 and the answer that was refuted"]
    assert found(dialogue="none") == ["no dialogue is called none"]
    assert found(model="other") == ["it is of another dialogue"]


def test_seeds_that_are_not_what_they_claim_are_found(sample: tuple[Project, Speaker]) -> None:
    project, _ = sample
    one: Seed = next(one for one in rows(project, "seeds") if one.task == "translation")
    assert faults(project, "seeds", [revised(one, query="Translate.")]) == ["the query does not hold its text"]
    with_reference = revised(one, query=f"{one.query} ({one.reference})")
    assert faults(project, "seeds", [with_reference]) == ["the query gives its reference away"]
    assert faults(project, "seeds", [one, one]) == ["it stands twice"]


def test_released_seeds_come_back_as_the_same_seeds(sample: tuple[Project, Speaker], tmp_path: Path) -> None:
    """Listed once, under any task: each has its own."""
    project, _ = sample
    write_output_files(project)
    released = {"format": "touchstone", "path": str(project.out / "accepted" / "refutebench-seeds.parquet")}
    again = project_of(tmp_path, sources={"writing": [released]}, parts=["seeds"])
    asyncio.run(run_all(again.build))
    assert sorted(one.id for one in rows(again, "seeds")) == sorted(one.id for one in rows(project, "seeds"))
    assert not faults(again, "seeds")


def test_for_a_duplicate_the_next_in_order_comes_in(tmp_path: Path) -> None:
    texts = [
        "The harbour was closed on Monday because of the storm.",
        "The harbour was closed on Monday because of the storm!",
        "the harbour  was closed on Monday because of the storm.",
        "Her brother teaches history at a school in the hills.",
        "The bakery sells more bread on Sundays than on other days.",
    ]
    spec = {
        "format": "jsonl",
        "path": table(tmp_path / "s.jsonl", [{"id": str(n), "text": t} for n, t in enumerate(texts)]),
    }
    project = project_of(tmp_path, sources={"translation": [spec]}, parts=["seeds"], seeds_per_task=3)
    asyncio.run(run_all(project.build))
    chosen = {one.text for one in rows(project, "seeds")}
    assert len(chosen) == 3
    assert sum("harbour" in text for text in chosen) == 1
    assert sorted(reason for reason, _ in dropped(project, "seeds")) in (
        ["duplicate text", "near-duplicate"], ["near-duplicate", "near-duplicate"],
    )  # fmt: skip
