"""URAQ's method on the packaged facts, the packaged SentenceBERT model, and on real data."""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from data.parquet import arrow_fields
from flows.construct.counting import part_summary
from flows.construct.embed import FloatMatrix
from flows.construct.stages import StageRef
from flows.construct.verification import VerifyContext
from flows.families.uraq import FAMILY, checks, verify
from flows.families.uraq.method import batches, expected_answers, to_read
from flows.families.uraq.prompts import ANSWER_WITH_CONTEXT, OTHER_TYPE, Manipulated, Question, ToAsk, ToManipulate
from flows.families.uraq.rules import RULES
from flows.families.uraq.settings import ANSWER_SHARES, UraqSettings
from flows.llm.model import Invalid, Prompt, Text, Usage
from flows.llm.rules import Rules
from flows.project.models import rules_of
from flows.project.output_files import write_output_files
from flows.project.project import Project
from schemas.base import Provenance
from schemas.uraq import NEEDS, SETTINGS, Conflict, EvaluationRow, StatementPair, UraqItem
from tests.builds import write_config
from tests.toy import run_all, run_stage

SMALL: dict[str, Any] = {"statements": 40, "context_counts": [1, 5, 20, 5000]}


async def built(folder: Path, models: dict[str, Any] | None = None, **uraq: Any) -> Project:
    """A URAQ build in `folder`, by the rules and without Prefect."""
    config = write_config(folder, store=str(folder / "store"), families={"uraq": uraq}, models=models or {})
    project = Project(config, folder / "out")
    await run_all(project.build)
    return project


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One small build for the tests that only read it."""
    import asyncio

    return asyncio.run(built(tmp_path_factory.mktemp("small"), **SMALL))


def rows(project: Project, part: str) -> list[Any]:
    return list(project.build.accepted("uraq", part))


def faults(project: Project, part: str, changed: list[Any] | None = None) -> list[str]:
    """What the verifier finds in a part, or in changed rows of it."""
    context = VerifyContext(project.build.families["uraq"].settings, project.embedder, lambda name: rows(project, name))
    return [fault.problem for fault in FAMILY.part(part).verify(changed or rows(project, part), context)]


def test_every_part_adds_up(small: Project) -> None:
    for family, part in small.build.parts():
        summary = part_summary(small.build, family, part)
        assert summary.planned == summary.kept + summary.waiting + sum(
            sum(one.values()) for one in summary.dropped.values()
        )


def test_survivors_are_apart_and_each_removed_statement_is_near_the_one_it_names(small: Project) -> None:
    written = {one.id: one for one in small.build.read(StageRef("uraq", "statements", "write_statements"))}
    stage = small.build.read(StageRef("uraq", "statements", "deduplicate"))
    kept = list(stage)
    vectors = small.embedder.embed([one.text for one in kept])
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, 0)
    assert cosines.max() <= 0.5
    for dropped in stage.dropped():
        assert dropped.related_id in {one.id for one in kept}
        pair = small.embedder.embed([written[dropped.item_id].text, written[dropped.related_id].text])
        assert float(pair[0] @ pair[1]) == pytest.approx(dropped.value, abs=1e-4)
        assert dropped.value is not None
        assert dropped.value > 0.5


def test_items_have_four_steps_and_two_answers_of_one_type(small: Project) -> None:
    items = rows(small, "items")
    assert len(items) > 25
    for item in items:
        assert item.hops == len(item.steps) == 4
        assert item.answer_original != item.answer_manipulated
        assert item.steps[-1].original == item.answer_original
        assert {prompt.name for prompt in item.provenance.prompts} >= {"write_statements", "manipulate", "ask_question"}


def test_evaluation_rows_are_figure_2(small: Project) -> None:
    items = {item.id: item for item in rows(small, "items")}
    evaluation = rows(small, "evaluation")
    assert Counter(row.setting for row in evaluation) == dict.fromkeys(SETTINGS, 3 * len(items))
    for row in evaluation:
        item = items[row.item_id]
        assert row.expected == expected_answers(item, row.setting)
        assert len(row.contexts) == row.n_contexts
        if row.setting == "irrelevant":
            assert row.relevant_index is None
            assert item.original not in row.contexts
            assert item.manipulated not in row.contexts
        else:
            right = item.original if row.setting == "match" else item.manipulated
            assert row.contexts[row.relevant_index] == right
            assert row.contexts.count(right) == 1


def test_rows_of_a_question_differ_in_setting_and_length_alone(small: Project) -> None:
    by_place = {(row.item_id, row.setting, row.n_contexts): row for row in rows(small, "evaluation")}
    for (item_id, setting, count), row in by_place.items():
        if setting != "match":
            continue
        conflict, irrelevant = by_place[item_id, "conflict", count], by_place[item_id, "irrelevant", count]
        assert row.relevant_index == conflict.relevant_index
        others = [text for place, text in enumerate(row.contexts) if place != row.relevant_index]
        assert others == [text for place, text in enumerate(conflict.contexts) if place != row.relevant_index]
        assert others == list(irrelevant.contexts[: count - 1])


def test_a_count_that_the_pool_cannot_fill_is_left_out_and_named(small: Project) -> None:
    manifest = small.build.manifest(StageRef("uraq", "evaluation", "arrange_contexts"))
    assert manifest is not None
    assert "5000" in manifest.notes[0]
    assert {row.n_contexts for row in rows(small, "evaluation")} == {1, 5, 20}


async def test_a_topic_without_a_statement_is_told(tmp_path: Path) -> None:
    project = await built(tmp_path, statements=4, topics=["geography", "musik"], parts=["statements"])
    manifest = project.build.manifest(StageRef("uraq", "statements", "write_statements"))
    assert manifest is not None
    assert list(manifest.notes) == ["the builder wrote no statement on 'musik'"]


def test_messages_show_every_context_and_the_question(small: Project) -> None:
    row = rows(small, "evaluation")[0]
    for need in NEEDS:
        system, user = ANSWER_WITH_CONTEXT.messages(to_read(row, need))
        assert (system["role"], user["role"]) == ("system", "user")
        assert "<output>" in system["content"]
        assert user["content"].count("<info>") == row.n_contexts + 1
        assert f"<question>{row.question}</question>" in user["content"]
    texts = {ANSWER_WITH_CONTEXT.messages(to_read(row, need))[0]["content"] for need in NEEDS}
    assert len(texts) == 3


def test_the_verifier_passes_and_finds_planted_damage(small: Project) -> None:
    for part in ("statements", "items", "conflicts", "evaluation"):
        assert faults(small, part) == []
    item = rows(small, "items")[0]
    pair = rows(small, "statements")[0]
    row = next(one for one in rows(small, "evaluation") if one.setting == "match" and one.n_contexts == 5)

    def item_with(**changes: Any) -> list[str]:
        return faults(small, "items", [item.revised(**changes)])

    assert "declared" in item_with(hops=3)[0]
    assert "last step" in item_with(answer_original="nonsense 7", answer_type="entity")[0]
    assert any("same" in one for one in item_with(answer_manipulated=item.answer_original))
    assert "not among the statements" in item_with(original="Nobody said this.")[0]
    number = next(one for one in rows(small, "items") if one.answer_type == "number")
    assert any("type number" in one for one in faults(small, "items", [number.revised(answer_original="7 km")]))

    def row_with(**changes: Any) -> list[str]:
        return [one for one in faults(small, "evaluation", [row.revised(**changes)]) if "missing" not in one]

    swapped = list(row.contexts)
    swapped[0], swapped[-1] = swapped[-1], swapped[0]
    if row.relevant_index in (0, 4):
        assert "not where the row says" in row_with(contexts=tuple(swapped))[0]
    assert "contexts declared" in row_with(contexts=row.contexts[:-1] + (row.contexts[0],) * 2)[0]
    assert any("twice" in one for one in row_with(contexts=(row.contexts[0],) * 5))
    assert "figure 2" in row_with(expected=dict.fromkeys(NEEDS, "42"))[0]
    assert any("does not go with" in one for one in row_with(relevant_index=None))
    assert any(
        "not of the pool" in one
        for one in row_with(contexts=("Made up.", *row.contexts[1:]))
        + row_with(contexts=(*row.contexts[:-1], "Made up."))
    )
    assert "neither items nor conflicts" in row_with(item_id="0" * 16)[0]
    twin = pair.revised(key="another", original=pair.original.replace(".", ", they say."))
    assert any("cosine" in one for one in faults(small, "statements", [pair, twin]))
    same = pair.revised(manipulated=pair.original)
    assert "say the same" in faults(small, "statements", [same])[0]


def test_a_verifier_takes_rows_as_they_come_and_compares_all_in_blocks(
    small: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "BLOCK", 2)
    pairs = rows(small, "statements")[:5]
    twins = [pair.revised(key=f"twin {n}", original=pair.original.replace(".", ", they say."))
             for n, pair in enumerate(pairs[:2])]  # fmt: skip
    assert sum("cosine" in fault for fault in faults(small, "statements", [*twins, *pairs])) == 2
    same = pairs[0].revised(manipulated=pairs[0].original)
    context = VerifyContext(small.build.families["uraq"].settings, small.embedder, lambda name: rows(small, name))

    def endless() -> Iterator[StatementPair]:
        while True:
            yield same

    assert "say the same" in next(FAMILY.part("statements").verify(endless(), context)).problem


async def test_statements_are_compared_beside_the_event_loop_on_which_other_steps_ask(tmp_path: Path) -> None:
    config = write_config(tmp_path, store=str(tmp_path / "store"), families={"uraq": SMALL})
    project = Project(config, tmp_path / "out")
    threads: list[threading.Thread] = []

    class Noting:
        name, reads = project.embedder.name, project.embedder.reads

        def embed(self, texts: Sequence[str]) -> FloatMatrix:
            threads.append(threading.current_thread())
            return project.embedder.embed(texts)

    project.build.embedder = Noting()
    for step in ("source", "write_statements"):
        await run_stage(project.build, StageRef("uraq", "statements", step))
    assert threads
    assert threading.current_thread() not in threads


@pytest.mark.parametrize("statements", [12, 40, 200])
async def test_calls_that_write_statements_are_estimated_round_by_round(tmp_path: Path, statements: int) -> None:
    project = await built(tmp_path, statements=statements, parts=["statements"])
    manifest = project.build.manifest(StageRef("uraq", "statements", "write_statements"))
    assert manifest is not None
    took = manifest.usage["write_statements"].calls
    assert batches(UraqSettings(statements=statements)) == pytest.approx(took, rel=0.25)
    assert batches(UraqSettings(statements=5000)) >= 250  # no more than 26 topics of 20 statements a round


async def test_the_paper_variant_removes_both_of_a_pair(tmp_path: Path) -> None:
    facts = ["The sun is a star.", "The Sun is a star of our galaxy.", "Cats purr.", "Iron rusts in damp air."]
    source = tmp_path / "facts.jsonl"
    source.write_text("".join(json.dumps({"fact": fact}) + "\n" for fact in facts))
    spec = {"format": "jsonl", "path": str(source), "fields": {"text": "fact"}}
    for rule, kept in (("independent-set", 3), ("paper", 2)):
        project = await built(tmp_path / rule, statements_from=spec, parts=["statements"], dedupe=rule)
        stage = project.build.read(StageRef("uraq", "statements", "deduplicate"))
        assert len(stage) == kept
        assert all(dropped.related_id and dropped.value for dropped in stage.dropped())


async def test_a_statement_that_the_embedder_cannot_read_is_a_drop(tmp_path: Path) -> None:
    source = tmp_path / "facts.jsonl"
    source.write_text('{"fact": "Cats purr."}\n{"fact": "水在一百度沸腾。"}\n', encoding="utf-8")
    spec = {"format": "jsonl", "path": str(source), "fields": {"text": "fact"}}
    project = await built(tmp_path, statements_from=spec, parts=["statements"])
    summary = part_summary(project.build, FAMILY, FAMILY.part("statements"))
    assert summary.planned == 2
    assert summary.dropped["write_statements"] == {"in a language that the embedder does not read": 1}


async def test_prescreening_drops_what_a_model_does_not_know_and_names_it(tmp_path: Path) -> None:
    class Forgetful:
        name = "forgetful"

        async def complete(self, prompt: Prompt[Any], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Any:
            if len(inputs.model_dump()["question"]) % 2:
                return Text(text="I don't know")
            rules = Rules(rules_of("uraq"), 7)
            return await rules.complete(prompt, inputs, draw=draw, usage=usage)

        def identity(self) -> dict[str, object]:
            return {"model": "forgetful"}

    config = write_config(
        tmp_path, store=str(tmp_path / "store"), models={"small-model": {"provider": "rules"}},
        families={"uraq": {**SMALL, "parts": ["items"], "prescreen": ["small-model"]}},
    )  # fmt: skip
    project = Project(config, tmp_path / "out")
    project.build.families["uraq"].models["small-model"] = Forgetful()  # type: ignore[index]
    await run_all(project.build)
    summary = part_summary(project.build, FAMILY, FAMILY.part("items"))
    assert summary.dropped["prescreen"]["fact not known by small-model"] > 0
    for item in rows(project, "items"):
        assert len(item.single_hop_question) % 2 == 0
        assert "small-model" in {prompt.role for prompt in item.provenance.prompts}


async def test_types_of_answers_are_asked_for_by_their_shares(tmp_path: Path) -> None:
    wanted: Counter[str | None] = Counter()

    class Counting:
        name = "counting"

        async def complete(self, prompt: Prompt[Any], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Any:
            if isinstance(inputs, ToAsk):
                wanted[inputs.answer_type] += 1
            return await Rules(rules_of("uraq"), 7).complete(prompt, inputs, draw=draw, usage=usage)

        def identity(self) -> dict[str, object]:
            return {"model": "counting"}

    types = {}
    for name, shares in {"all": None, "guessed": {"boolean": 1.0}, "not": {"number": 0.5, "entity": 0.5}}.items():
        uraq = {**SMALL, "parts": ["items"], **({"answer_shares": shares} if shares else {})}
        folder = tmp_path / name
        project = Project(write_config(folder, store=str(folder / "store"), families={"uraq": uraq}), folder / "out")
        family = project.build.families["uraq"]
        family.models.update(dict.fromkeys(family.models, Counting()))  # type: ignore[attr-defined]
        wanted.clear()
        await run_all(project.build)
        items = rows(project, "items")
        types[name] = {item.answer_type for item in items}
        dropped = part_summary(project.build, FAMILY, FAMILY.part("items")).dropped["ask_question"]
        assert set(wanted) == set(shares or ANSWER_SHARES)
        # The rules know what is wanted, and ask for nothing else.
        assert OTHER_TYPE not in dropped
        if shares is None:
            assert sum(item.answer_type != "boolean" for item in items) >= len(items) / 2
    assert types == {"all": {"number", "entity", "boolean"}, "guessed": {"boolean"}, "not": {"number", "entity"}}


async def test_a_builder_that_asks_for_yes_or_no_alone_keeps_the_shares(tmp_path: Path) -> None:
    def ask(asked: ToAsk, rng: Random) -> BaseModel:
        return RULES["ask_question"](asked.model_copy(update={"answer_type": "boolean"}), rng)

    uraq = {**SMALL, "parts": ["items"]}
    project = Project(write_config(tmp_path, store=str(tmp_path / "store"), families={"uraq": uraq}), tmp_path / "out")
    family = project.build.families["uraq"]
    lazy = Rules({**RULES, "ask_question": ask}, 7)
    family.models.update(dict.fromkeys(family.models, lazy))  # type: ignore[attr-defined]
    await run_all(project.build)
    assert part_summary(project.build, FAMILY, FAMILY.part("items")).dropped["ask_question"][OTHER_TYPE] > 0
    carried = [checks.carries(item.original, item.manipulated) for item in rows(project, "items")]
    types = [item.answer_type for item in rows(project, "items")]
    assert types.count("boolean") <= carried.count(None) + 1  # the share is a whole number of questions


async def test_yes_or_no_is_asked_first_of_pairs_that_carry_nothing_else(tmp_path: Path) -> None:
    letters, rivers = "ABCDEFGHIJ", ("Loire", "Tagus", "Congo", "Shannon", "Douro", "Hudson")
    facts = {
        **{f"Team {letter} has {number} players.": "number" for number, letter in enumerate(letters, 5)},
        **{f"The river {name} flows into the Atlantic Ocean.": "entity" for name in rivers},
        "Penguins cannot fly.": None, "Cats can swim.": None, "Bats are blind.": None, "Owls can see at night.": None,
    }  # fmt: skip
    source = tmp_path / "facts.jsonl"
    source.write_text("".join(json.dumps({"text": fact}) + "\n" for fact in facts))
    wishes: dict[str, str | None] = {}

    def manipulate(asked: ToManipulate, rng: Random) -> Manipulated:
        for one, other in (
            (" cannot ", " can "),
            (" can ", " cannot "),
            (" are ", " are not "),
            ("Atlantic", "Pacific"),
        ):
            if one in asked.statement:
                return Manipulated(manipulated=asked.statement.replace(one, other), manipulation="negation")
        number = next(word for word in asked.statement.split() if word.isdigit())
        return Manipulated(
            manipulated=asked.statement.replace(number, str(int(number) + 20)), manipulation="substitution"
        )

    def ask(asked: ToAsk, rng: Random) -> Question:
        wishes.setdefault(asked.original, asked.answer_type)
        raise Invalid("no question", asked.original)

    spec = {"format": "jsonl", "path": str(source), "fields": {"text": "text"}}
    uraq = {"statements_from": spec, "parts": ["items"], "cosine_above": 0.99}
    project = Project(write_config(tmp_path, store=str(tmp_path / "store"), families={"uraq": uraq}), tmp_path / "out")
    family = project.build.families["uraq"]
    rules = Rules({"manipulate": manipulate, "ask_question": ask}, 7)
    family.models.update(dict.fromkeys(family.models, rules))  # type: ignore[attr-defined]
    await run_all(project.build)
    assert Counter(wishes.values()) == {"number": 8, "entity": 7, "boolean": 5}
    for fact, detail in facts.items():
        assert detail is not None or wishes[fact] == "boolean"
        assert detail != "entity" or wishes[fact] == "entity"


def test_numbers_and_entities_are_most_of_what_is_asked_for() -> None:
    assert ANSWER_SHARES["number"] + ANSWER_SHARES["entity"] >= 0.5
    with pytest.raises(ValueError, match=r"the shares add up to 0\.8; they must to 1"):
        UraqSettings.model_validate({"answer_shares": {"number": 0.5, "boolean": 0.3}})


@pytest.mark.slow
async def test_conflicts_enter_the_evaluation_rows(tmp_path: Path, shared: Path) -> None:
    sources = [
        {"format": "conflictqa", "path": str(shared / "data/conflictqa_en/strategyqa-chatgpt.jsonl.gz"), "limit": 40},
        {"format": "hotpotqa", "path": str(shared / "data/hotpotqa_en/dev_subsampled.jsonl.gz"), "limit": 40},
    ]
    project = await built(tmp_path, **SMALL, qa_sources=sources)
    conflicts = rows(project, "conflicts")
    kinds = Counter(one.source.removesuffix(one.source.rpartition(":")[2]) for one in conflicts)
    assert kinds["natural:conflictqa:"] >= 30
    assert kinds["hotpotqa:"] >= 10
    summary = part_summary(project.build, FAMILY, FAMILY.part("conflicts"))
    assert summary.planned == 80
    by_item: dict[str, set[int]] = {}
    for row in rows(project, "evaluation"):
        by_item.setdefault(row.item_id, set()).add(row.n_contexts)
    for one in conflicts:
        counts = by_item[one.id]
        largest = 64 if "conflictqa" in one.source else 32
        assert counts == {count for count in (1, 2, 4, 8, 16, 32, 64) if count <= min(largest, max(counts))}
    for part in ("conflicts", "evaluation"):
        assert faults(project, part) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "total"), [("creak", 2943), ("strategyqa", 4121)])
async def test_real_statements_are_all_kept_or_dropped(tmp_path: Path, shared: Path, name: str, total: int) -> None:
    spec = {"format": name, "path": str(shared / f"data/{name}_en/train.jsonl.gz")}
    project = await built(tmp_path, statements_from=spec, parts=["statements"])
    summary = part_summary(project.build, FAMILY, FAMILY.part("statements"))
    assert summary.planned == total
    assert summary.kept + sum(sum(one.values()) for one in summary.dropped.values()) == total
    survivors = {"creak": 980, "strategyqa": 2280}[name]
    assert len(project.build.read(StageRef("uraq", "statements", "deduplicate"))) >= survivors
    manifest = write_output_files(project)
    assert manifest.part("uraq", "statements").planned == total  # type: ignore[union-attr]


def test_public_fields_are_those_promised() -> None:
    provenance = Provenance(seed=1)
    promised = {
        UraqItem: "id original manipulated manipulation question hops steps answer_type answer_original "
        "answer_manipulated single_hop_question single_hop_answer topic provenance",
        EvaluationRow: "id item_id setting n_contexts contexts relevant_index question expected provenance",
        Conflict: "id question original manipulated answer_original answer_manipulated answer_type source provenance",
        StatementPair: "id original manipulated manipulation topic provenance",
    }
    for record, fields in promised.items():
        assert set(fields.split()) <= set(record.model_fields)
        assert arrow_fields(record)
    assert provenance.seed == 1
