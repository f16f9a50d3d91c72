"""The engine: what runs, what is counted, what is kept over a kill."""

import asyncio
import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from data.store import StoreError
from flows.construct import running
from flows.construct.counting import AccountingError, part_summary
from flows.construct.engine import Context, Drop, Slot, Step, each, expand
from flows.construct.estimates import Expected
from flows.construct.preparing import attempts, calls_ahead, expected_calls
from flows.construct.sampling import RebuiltParts, Sample
from flows.construct.settings import Undeclared
from flows.construct.stages import PEOPLE, Build, StageRef
from flows.llm.model import Out, Prompt, TransportError, Usage
from flows.llm.rules import Rules
from flows.project.project import Project
from flows.project.settings import packaged
from schemas.base import Dropped
from schemas.manifest import BuildManifest
from schemas.source import Statement
from schemas.verdict import Verdict
from tests.toy import FAMILY, SHOUT, ToShout, Word, run_all, run_stage, shout, shout_by_rule, toy_build

WORDS = ["ant", "bee", "apple", "two words", "mute", "zebra"]
SOURCE, SHORTEN, SHOUTED = (StageRef("toy", "words", name) for name in ("source", "shorten", "shout"))
ECHOED = StageRef("toy", "echoes", "echo")


def bytes_of(build: Build) -> dict[str, bytes]:
    """The records of every stage, by file without its writer's mark."""
    root = Path(build.store.root)
    paths = sorted(root.rglob("*.jsonl"))
    return {re.sub(r"-[0-9a-f]{8}\.", ".", str(path.relative_to(root))): path.read_bytes() for path in paths}


async def test_every_record_is_kept_or_dropped_with_its_reason(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS)
    await run_all(build)
    words = part_summary(build, FAMILY, FAMILY.part("words"))
    assert words.planned == len(WORDS)
    assert words.dropped == {
        "shorten": {"same first letter": 1},
        "shout": {"more than one word": 1, "cannot be shouted": 1},
    }
    assert words.planned == words.kept + words.waiting + sum(sum(one.values()) for one in words.dropped.values())
    dropped = {one.reason: one for one in [*build.read(SHORTEN).dropped(), *build.read(SHOUTED).dropped()]}
    assert dropped["same first letter"].value == 1.0
    assert dropped["more than one word"].evidence == "two words"
    assert [word.upper for word in build.accepted("toy", "words")] == ["ANT", "BEE", "ZEBRA"]


def with_step(build: Build, part: str, step: Step) -> Build:
    """The build with this step as the only one of a part."""
    parts = tuple(replace(one, steps=(step,)) if one.name == part else one for one in FAMILY.parts)
    build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=parts))
    return build


@pytest.mark.parametrize(
    ("reads", "what", "declaration"),
    [
        (lambda ctx: ctx.settings.times, "setting times", "settings=['times']"),
        (lambda ctx: ctx.settings.longest, "setting times", "settings=['times']"),
        (lambda ctx: ctx.note_asked(SHOUT), "prompt toy_shout", "prompts=[...]"),
        (lambda ctx: ctx.step.models["builder"], "model builder", "asks={...}"),
        (lambda ctx: ctx.step.embedder.embed(["text"]), "embedder", "embeds=True"),
    ],
)
async def test_a_step_cannot_read_what_it_does_not_declare(
    tmp_path: Path, reads: Callable[[Context], object], what: str, declaration: str
) -> None:
    """Its fingerprint does not cover it: the stage would stay as it is when it changes."""

    async def whisper(statement: Statement, ctx: Context) -> Word:
        reads(ctx)
        raise Drop("too quiet")

    with pytest.raises(Undeclared) as raised:
        await run_all(with_step(toy_build(tmp_path, WORDS), "words", each(whisper)))
    problem = f"reads the {what}, which the step does not declare; declare it with {declaration}"
    from_a_worker = pickle.loads(pickle.dumps(raised.value))
    assert str(from_a_worker) == str(raised.value) == f"toy words · whisper: {problem}"


async def test_a_step_may_read_the_only_source_of_its_part(tmp_path: Path) -> None:
    async def whisper(statement: Statement, ctx: Context) -> Word:
        raise Drop(f"one of {len(ctx.settings.sources)} sources")

    build = with_step(toy_build(tmp_path, WORDS), "words", each(whisper))
    await run_all(build)
    (dropped, *_) = build.read(StageRef("toy", "words", "whisper")).dropped()
    assert dropped.reason == "one of 1 sources"


async def test_what_a_step_reads_of_several_sources_it_declares(tmp_path: Path) -> None:
    """The stage of the sources is the same if one of them moves to another setting, or to another key of a setting."""

    async def whisper(statement: Statement, ctx: Context) -> Word:
        raise Drop(f"one of {len(ctx.settings.sources)} sources")

    build = with_step(toy_build(tmp_path, WORDS), "words", each(whisper))
    words, echoes = build.families["toy"].family.parts
    parts = (replace(words, sources=("sources", "more_sources")), echoes)
    build.families["toy"] = replace(build.families["toy"], family=replace(FAMILY, parts=parts))
    with pytest.raises(Undeclared, match="the setting sources"):
        await run_all(build)


async def test_expand_makes_a_record_for_each_slot_or_drops_that_slot(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS, times=(1, 2, 3))
    await run_all(build)
    echoes = part_summary(build, FAMILY, FAMILY.part("echoes"))
    assert (echoes.planned, echoes.kept) == (9, 8)
    assert echoes.dropped == {"echo": {"z is said twice at most": 1}}
    keys = [record.key for record in build.accepted("toy", "echoes")]
    keys += [record.key for record in build.read(ECHOED).dropped()]
    assert len(set(keys)) == 9


async def test_records_that_mention_an_id_are_read_without_the_others(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS)
    await run_all(build)
    word = next(iter(build.accepted("toy", "words")))
    echoes = build.read(ECHOED)
    assert [echo.key for echo in echoes.mentioning([word.id])] == [
        echo.key for echo in echoes if word.id in echo.provenance.parents
    ]
    mute = next(one for one in build.read(SHOUTED).dropped() if one.evidence == "mute")
    assert list(build.read(SHOUTED).dropped([mute.key, word.key])) == [mute]
    assert list(echoes.mentioning([])) == list(echoes.mentioning(["0" * 16])) == []


async def test_order_of_shards_and_restarts_change_no_byte(tmp_path: Path) -> None:
    words = [f"{chr(97 + i % 26)}{i}" for i in range(26)] + [chr(0x3B1 + i) + "x" for i in range(600)]
    forwards, backwards = (toy_build(tmp_path, words, store=name) for name in ("one", "two"))
    await run_all(forwards)
    await run_all(backwards, order=-1)
    assert len(forwards.read(SHOUTED).manifest.shards) == 3
    assert bytes_of(forwards) == bytes_of(backwards)


async def test_a_finished_shard_is_not_run_again(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting:
        name = "counting"
        fails_at: str | None = None

        async def complete(self, prompt: Prompt[Any], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Any:
            text = str(inputs.model_dump()["text"])
            if text == self.fails_at:
                raise TransportError("no answer")
            asked.append(text)
            return prompt.output.model_validate({"text": text.upper()})

        def identity(self) -> dict[str, object]:
            return {"model": "counting"}

    words = [chr(0x4E00 + i) for i in range(600)]
    model = Counting()
    model.fails_at = words[300]
    build = toy_build(tmp_path, words, model=model)
    await run_stage(build, SOURCE)
    await run_stage(build, SHORTEN)
    with pytest.raises(TransportError):
        await run_stage(build, SHOUTED)
    assert build.manifest(SHOUTED) is None
    first = asked[:256]
    model.fails_at = None
    asked.clear()
    await run_all(toy_build(tmp_path, words, model=model))
    assert set(asked) == set(words) - set(first)


async def test_a_setting_that_does_not_matter_to_a_step_leaves_it_as_it_is(tmp_path: Path) -> None:
    before = toy_build(tmp_path, WORDS)
    after = toy_build(tmp_path, WORDS, unrelated=5)
    changed = toy_build(tmp_path, WORDS, times=(3,))
    assert before.fingerprint(ECHOED) == after.fingerprint(ECHOED)
    assert before.fingerprint(SHOUTED) == changed.fingerprint(SHOUTED)
    assert before.fingerprint(ECHOED) != changed.fingerprint(ECHOED)
    assert before.fingerprint(SOURCE) != toy_build(tmp_path, [*WORDS, "more"]).fingerprint(SOURCE)


async def test_keys_stay_while_content_changes(tmp_path: Path) -> None:
    one, other = toy_build(tmp_path, WORDS, seed=1, store="a"), toy_build(tmp_path, WORDS, seed=2, store="b")
    await run_all(one)
    await run_all(other)
    first, second = list(one.accepted("toy", "echoes")), list(other.accepted("toy", "echoes"))
    assert [record.key for record in first] == [record.key for record in second]
    assert [record.id for record in first] != [record.id for record in second]


async def test_a_pilot_draws_from_what_has_cost_nothing_and_once(tmp_path: Path) -> None:
    words = [f"{letter}{number}" for letter in "abcdefghijklmnopqrst" for number in (1, 2)]

    async def made(seed: int, limit: int | None, store: str) -> Build:
        build = toy_build(tmp_path, words, seed=seed, limit=limit, store=store)
        await run_all(build)
        return build

    whole, pilot = await made(1, None, "store"), await made(1, 5, "store")
    assert pilot.fingerprint(SHORTEN) == whole.fingerprint(SHORTEN)
    assert pilot.fingerprint(SHOUTED) != whole.fingerprint(SHOUTED)
    told = part_summary(pilot, FAMILY, FAMILY.part("words"))
    assert [stage.planned for stage in told.stages] == [40, 40, 5]
    drawn = [word.text for word in pilot.accepted("toy", "words")]
    every = [word.text for word in whole.accepted("toy", "words")]
    assert [every.index(word) // 4 for word in drawn] == [0, 1, 2, 3, 4]  # one of each fifth
    assert len(pilot.accepted("toy", "echoes")) == 2 * len(drawn)  # the part made from them takes all of them
    again, other = await made(1, 5, "again"), await made(2, 5, "other")
    assert [word.text for word in again.accepted("toy", "words")] == drawn
    assert [word.text for word in other.accepted("toy", "words")] != drawn
    larger = await made(1, 50, "store")
    assert [word.text for word in larger.accepted("toy", "words")] == every


async def test_verdicts_reject_fix_and_accept_and_the_rest_waits(tmp_path: Path) -> None:
    plain = toy_build(tmp_path, WORDS)
    await run_all(plain)
    ant, bee, zebra = plain.accepted("toy", "words")

    def verdict(record: Any, **more: Any) -> Verdict:
        return Verdict(key=record.key, view_hash=record.view_hash, rubric="toy-words", **more)

    verdicts = {
        ant.key: verdict(ant, decision="reject", comment="no ants"),
        bee.key: verdict(bee, decision="fix", changes={"upper": "BUZZ"}),
    }
    build = toy_build(tmp_path, WORDS, verdicts=verdicts)
    await run_all(build)
    assert [word.upper for word in build.accepted("toy", "words")] == ["BUZZ", "ZEBRA"]
    summary = part_summary(build, FAMILY, FAMILY.part("words"))
    assert (summary.kept, summary.reviewed, summary.waiting) == (1, 1, 1)
    assert summary.dropped["people"] == {"rejected by people": 1}
    assert summary.planned == len(WORDS) == summary.kept + summary.waiting + 4
    assert {record.text for record in build.accepted("toy", "echoes")} == {"BUZZ", "BUZZBUZZ", "ZEBRA", "ZEBRAZEBRA"}
    # How sure people's decisions are changes with all that people do: it changes no row, and no name of a stage.
    surer = {key: given.model_copy(update={"posterior": 0.9}) for key, given in verdicts.items()}
    (people,) = (ref for ref in build.stages(FAMILY, FAMILY.part("words")) if ref.step == PEOPLE)
    assert toy_build(tmp_path, WORDS, verdicts=surer).fingerprint(people) == build.fingerprint(people)
    # The word that waits is built on, unreviewed; fixing made a new id under the old key.
    assert next(iter(build.accepted("toy", "words"))).key == bee.key
    assert zebra.key == list(build.accepted("toy", "words"))[1].key


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rubric": "other", "decision": "accept"}, "its rubric is 'other', where people are asked by 'toy-words'"),
        (
            {"decision": "fix", "changes": {"text": "wasp"}},
            "text is not for people to change; toy-words corrects upper",
        ),
    ],
)
def test_a_verdict_that_cannot_count_is_refused(more: dict[str, Any], said: str) -> None:
    given = Verdict.model_validate({"key": "k", "view_hash": "h", "rubric": "toy-words", **more})
    people = FAMILY.part("words").people
    assert people is not None
    assert said in str(people.refusal(given))


async def test_that_people_left_fewer_than_are_wanted_is_told(tmp_path: Path) -> None:
    def wanting(number: int, **more: Any) -> Build:
        build = toy_build(tmp_path, WORDS, **more)
        words, *others = FAMILY.parts
        steps = tuple(replace(step, expected=Expected(kept=lambda settings: number)) for step in words.steps)
        family = replace(FAMILY, parts=(replace(words, steps=steps), *others))
        build.families["toy"] = replace(build.families["toy"], family=family)
        return build

    plain = wanting(3)
    await run_all(plain)
    ant, *_ = plain.accepted("toy", "words")
    verdict = Verdict(key=ant.key, view_hash=ant.view_hash, rubric="toy-words", decision="reject")
    for number, told in ((3, ("2 of 3 wanted are left: verdicts dropped 1",)), (2, ())):
        build = wanting(number, verdicts={ant.key: verdict}, store=f"store-{number}")
        await run_all(build)
        manifest = build.manifest(StageRef("toy", "words", "people"))
        assert manifest is not None
        assert manifest.notes == told


async def test_verdicts_that_match_no_record_are_told_with_file_and_remedy(tmp_path: Path) -> None:
    plain = toy_build(tmp_path, WORDS)
    await run_all(plain)
    ant = next(iter(plain.accepted("toy", "words")))
    stale = Verdict(key=ant.key, view_hash="0" * 16, rubric="toy-words", decision="reject")
    strange = {key: stale.model_copy(update={"key": key}) for key in ("1" * 16, "2" * 16)}
    gone = stale.model_copy(update={"key": "3" * 16, "at": "2026-01-01T00:00:00Z"})
    build = toy_build(tmp_path, WORDS, verdicts={ant.key: stale, **strange, gone.key: gone})
    await run_all(build)
    assert len(build.accepted("toy", "words")) == 3
    manifest = build.manifest(StageRef("toy", "words", "people"))
    assert manifest is not None
    assert manifest.notes == (
        "verdicts/toy-words.jsonl: 1 of 4 verdicts rest: what they judged is no longer made, since a text that it was "
        "made from was rejected, dropped or changed",
        "verdicts/toy-words.jsonl: 1 of 4 verdicts do not count, as their `view_hash` is not that of the record, which "
        "has changed: decide again; sifted/toy-words.parquet has the records' names",
        "verdicts/toy-words.jsonl: 2 of 4 verdicts do not count, as their `key` is that of no record: correct it, "
        "unless what they judged was dropped since; sifted/toy-words.parquet has the records' names",
    )


async def test_a_step_that_loses_a_record_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgetful(records: Any, ctx: Any) -> Any:
        for number, record in enumerate(records):
            if number:
                yield record

    build = toy_build(tmp_path, WORDS)
    await run_stage(build, SOURCE)
    step = build.step(SHORTEN)
    assert step is not None
    monkeypatch.setitem(step.__dict__, "function", forgetful)
    forgetful.__name__ = "shorten"
    with pytest.raises(AccountingError, match="1 records were neither kept nor dropped"):
        await run_stage(build, SHORTEN)


@pytest.mark.parametrize("at_once", [1, 2, 4096])
@pytest.mark.parametrize(("places", "wrong"), [((0, 1, 1, 2, 3), 1), ((0, 1, 2, 3, 0), 0), ((0, 1, 2, 3, -1), -1)])
async def test_a_step_that_invents_a_record_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: Sequence[int], wrong: int, at_once: int
) -> None:
    async def shorten(records: Any, ctx: Any) -> Any:
        known = [*records, Statement(key="0" * 16, text="never read", topic="t")]
        for place in places:
            yield known[place]

    monkeypatch.setattr(running, "LOOKED_UP_AT_ONCE", at_once)
    build = toy_build(tmp_path, WORDS)
    await run_stage(build, SOURCE)
    step = build.step(SHORTEN)
    assert step is not None
    monkeypatch.setitem(step.__dict__, "function", shorten)
    keys = [*(record.key for record in build.read(SOURCE)), "0" * 16]
    with pytest.raises(AccountingError, match=f"record {keys[wrong]} was not among the step's input, or came twice"):
        await run_stage(build, SHORTEN)


async def test_a_damaged_stage_file_is_one_clear_line(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS)
    await run_all(build)
    kept = build.files(SHOUTED).kept(build.read(SHOUTED).manifest.shards[0])
    Path(kept).write_bytes(Path(kept).read_bytes()[:-5])
    with pytest.raises(StoreError, match=r"damaged.* stage file"):
        list(toy_build(tmp_path, WORDS).accepted("toy", "words"))


async def test_a_killed_writer_leaves_nothing_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = toy_build(tmp_path, WORDS)
    await run_stage(build, SOURCE)

    async def fails(records: Any, ctx: Any) -> Any:
        for record in records:
            yield record
            raise KeyboardInterrupt

    fails.__name__ = "shorten"
    step = build.step(SHORTEN)
    assert step is not None
    with monkeypatch.context() as patched:
        patched.setitem(step.__dict__, "function", fails)
        with pytest.raises(KeyboardInterrupt):
            await run_stage(build, SHORTEN)
    assert build.manifest(SHORTEN) is None
    assert not list(Path(build.files(SHORTEN).folder).glob("*.jsonl"))
    await run_all(build)
    assert len(build.accepted("toy", "words")) == 3


def test_a_drop_carries_what_it_collides_with() -> None:
    record = Dropped(item_id="a", key="k", step="s", reason="r", related_id="b", value=0.75)
    again = Drop("r", related_id="b", value=0.75)
    assert again.reason == record.reason
    assert (again.related_id, again.value) == (record.related_id, record.value)


def test_the_toy_prompt_renders() -> None:
    assert SHOUT.messages(ToShout(text="ant")) == [{"role": "user", "content": "Say it loudly: ant"}]
    assert asyncio.iscoroutinefunction(FAMILY.part("words").steps[1].function)


async def test_some_parts_of_a_build_are_made_anew_beside_it_on_the_others_as_built(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS, times=(1, 2))
    await run_all(build)
    before = bytes_of(build)
    parts = [part_summary(build, FAMILY, part) for part in FAMILY.parts]
    built = BuildManifest(
        name="toy", seed=1, limit=None, config={}, versions={}, models={}, prompts={}, parts=tuple(parts)
    )
    (one,) = build.families.values()

    def again(take: int | None, only: frozenset[str] | None = None, **changed: Any) -> Build:
        family = replace(one, settings=one.settings.model_copy(update=changed))
        return Build(
            [family], store=build.store, seed=1, limit=None, embedder=build.embedder, verdicts=build.verdicts,
            built=built, rebuilt=RebuiltParts("toy", ("echoes",), take, only),
        )  # fmt: skip

    echoes, words = FAMILY.part("echoes"), FAMILY.part("words")
    same = again(None)
    assert [same.fingerprint(ref) for ref in same.stages(FAMILY, echoes)] == [build.fingerprint(ECHOED)]
    assert again(len(build.accepted("toy", "words"))).fingerprint(ECHOED) == build.fingerprint(ECHOED)

    changed = again(None, times=(3,))
    assert changed.stages(FAMILY, words) == build.stages(FAMILY, words)
    assert changed.manifest(ECHOED) is None
    await run_stage(changed, ECHOED)
    assert {echo.times for echo in changed.accepted("toy", "echoes")} == {3}
    assert {name: bytes_of(build)[name] for name in before} == before

    few = again(1, times=(1, 2))
    assert few.fingerprint(ECHOED) not in (build.fingerprint(ECHOED), again(2).fingerprint(ECHOED))
    await run_stage(few, ECHOED)
    first = next(iter(build.accepted("toy", "words")))
    assert [echo.text for echo in few.accepted("toy", "echoes")] == [first.upper, first.upper * 2]

    accepted = list(build.accepted("toy", "words"))
    every = frozenset(word.key for word in accepted)
    assert again(None, every | {"of another family"}).fingerprint(ECHOED) == build.fingerprint(ECHOED)
    last = frozenset({accepted[-1].key})
    chosen = again(None, last, times=(1,))
    names = {again(take, only).fingerprint(ECHOED) for take in (None, 1) for only in (None, every, last)}
    assert len(names) == 3, "all, the first, and the last"
    await run_stage(chosen, ECHOED)
    assert [echo.text for echo in chosen.accepted("toy", "echoes")] == [accepted[-1].upper]
    assert [word.key for word in again(1, every - last).inputs(ECHOED)] == [accepted[0].key]


def test_records_are_taken_evenly() -> None:
    records: Any = range(300)
    assert list(Sample(records, 3)) == [0, 100, 200]
    assert list(Sample(records, 6)) == [0, 50, 100, 150, 200, 250]
    assert list(Sample(records, 300)) == list(records)
    assert list(Sample(records, 7).slice(5, 9)) == [214, 257]
    assert list(Sample(records, 2, group=lambda record: record < 298)) == [0, 149, 298, 299]


class Busy:
    """The rules, which answer those who ask last first, and count how many wait at once."""

    name = "busy"

    def __init__(self, *, late: bool = True) -> None:
        self.late = late
        self.rules = Rules({SHOUT.name: shout_by_rule}, 1)
        self.running = self.most_running = 0

    async def complete(self, prompt: Prompt[Out], inputs: BaseModel, *, draw: int = 0, usage: Usage) -> Out:
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        for _ in range((100 - 10 * self.running) * self.late):
            await asyncio.sleep(0)
        self.running -= 1
        return await self.rules.complete(prompt, inputs, draw=draw, usage=usage)

    def identity(self) -> dict[str, object]:
        return {"model": "busy"}


async def shout_at(statement: Statement, slot: Slot, ctx: Context) -> Word:
    return await shout(statement, ctx)


def slotted(folder: Path, model: Busy) -> Build:
    """A build whose words are made by a step with one slot a record."""
    folder.mkdir(exist_ok=True)
    step = expand(
        shout_at, slots=lambda record, prepared: [{}], expected=Expected(slots=lambda settings: 1), prompts=[SHOUT]
    )
    words = replace(FAMILY.part("words"), steps=(step,))
    build = toy_build(folder, ["ant", "bee", "cat", "mute", "dog", "elk"], model=model)
    one = build.families["toy"]
    build.families["toy"] = replace(one, family=replace(FAMILY, parts=(words, FAMILY.part("echoes"))))
    return build


async def test_steps_with_a_slot_a_record_ask_side_by_side(tmp_path: Path) -> None:
    model = Busy()
    build = slotted(tmp_path, model)
    told: list[tuple[str, int]] = []
    build.called = lambda ref, usage: told.append((str(ref), usage.calls))
    await run_all(build)
    assert model.most_running == 6
    assert [word.upper for word in build.accepted("toy", "words")] == ["ANT", "BEE", "CAT", "DOG", "ELK"]
    assert told == [("toy words · shout at", 1)] * 6


async def test_answers_in_any_order_give_the_same_bytes(tmp_path: Path) -> None:
    late, early = slotted(tmp_path / "one", Busy()), slotted(tmp_path / "other", Busy(late=False))
    await run_all(late)
    await run_all(early)
    assert bytes_of(late) == bytes_of(early)


async def test_a_stage_needs_what_it_is_made_from_and_what_its_part_uses(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS)
    assert build.needs(SOURCE) == ()
    assert build.needs(SHORTEN) == (SOURCE,)
    assert build.needs(ECHOED) == (SHOUTED,)
    words, echoes = FAMILY.parts
    using = replace(FAMILY, parts=(words, replace(echoes, uses=("words",))))
    build.families["toy"] = replace(build.families["toy"], family=using)
    assert build.needs(ECHOED) == (SHOUTED, SHOUTED)


def test_calls_ahead_are_those_of_a_stage_and_of_the_longest_line_behind_it(tmp_path: Path) -> None:
    def ahead(sample: str, *parts: str) -> dict[str, float]:
        build = Project(packaged(sample), tmp_path / "out", store=str(tmp_path / "store")).build
        return {ref.step: calls for ref, calls in calls_ahead(build).items() if ref.part in parts}

    assert ahead("refutebench.yaml", "dialogues", "ratings") == {
        "open_dialogue": 10,  # 5 answers, 2 refutations and 2 checks in the mean of the two protocols, and a rating
        "hold_dialogue": 10,
        "open_rating": 1,
        "rate": 1,
    }
    written = {"source": 3, "write_statements": 3, "deduplicate": 2, "manipulate": 2}
    assert ahead("sample.yaml", "statements") == written


async def test_a_stage_tells_how_many_records_it_will_try(tmp_path: Path) -> None:
    build = toy_build(tmp_path, WORDS, times=(1, 2, 3))
    await run_all(build)
    assert attempts(build, SHOUTED) == 5
    assert attempts(build, ECHOED) == 9
    assert expected_calls(build, [SHOUTED, ECHOED]) == [5, 0]
    assert expected_calls(build, [ECHOED]) == [0]
