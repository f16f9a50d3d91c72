"""Estimates: what is wanted where nothing is dropped, a pilot's yields, and after a build that build itself."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.evaluate.estimate import evaluation_lines
from flows.evaluate.rows import evaluated_rows
from flows.families import family_names, load_family
from flows.families.lveval.datasets import BY_NAME
from flows.families.refutebench import FAMILY
from flows.families.refutebench.plan import dialogues_of, ratings_of
from flows.families.refutebench.settings import RefuteBenchSettings
from flows.families.uraq.method import to_read
from flows.families.uraq.prompts import ANSWER_WITH_CONTEXT
from flows.llm.prices import estimate_prompt_tokens
from flows.project.output_files import remember, write_output_files
from flows.project.project import Project
from flows.run.estimate import Estimate, estimate
from flows.run.usual import usual_tokens
from schemas.base import Provenance
from schemas.manifest import BuildManifest, sum_usage
from schemas.refutebench import DialogueTurn, RefutationDialogue, Seed
from schemas.uraq import NEEDS
from tests.builds import ROOT, scribed, served, write_config
from tests.chat_server import ChatServer
from tests.test_flows_cli import Outcome
from tests.toy import run_all

SAMPLES = ROOT / "data" / "samples"
QUESTIONS = {"format": "jsonl", "path": str(SAMPLES / "questions.jsonl")}
MODEL = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": "http://127.0.0.1:9/v1"}
PLACES = ("mill", "bridge", "harbour", "orchard", "market", "tower", "garden", "quarry", "station", "library")
DOINGS = ("burned down in a storm", "was sold to a stranger", "was painted bright yellow", "stood empty for a decade")


TOLD = (
    "Nobody believed it at first, and there was a good reason for that. {} However, it couldn't be kept a secret for a "
    "long time, because somebody asked for the story every day. Who could have known what it meant? “It was "
    "beautiful,” said the old doctor; “I often think about it!” In the end everybody went home (although several "
    "people stayed), and years later they'd still speak of that strange night."
)
"""By whoever wrote it: the rules write by a reference."""


def write_sources(folder: Path, sentences: int, stories: int) -> Mapping[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, field, count in (("sentences", "text", sentences), ("stories", "prompt", stories)):
        texts = [f"The old {PLACES[n % 10]} of village {n} {DOINGS[n // 10 % 4]} last winter." for n in range(count)]
        rows = [{field: text, **({"reference": TOLD.format(text)} if name == "stories" else {})} for text in texts]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        "translation": [{"format": "jsonl", "path": "sentences.jsonl"}],
        "writing": [{"format": "jsonl", "path": "stories.jsonl"}],
    }


def project(folder: Path, limit: int | None = None, out: str = "out", **settings: Any) -> Project:
    block = {"style": [], "unrelated": [2], **settings}
    rules = {"provider": "rules"}
    models = dict.fromkeys(("default", "a", "b"), rules)
    config = write_config(folder, store=str(folder / "store"), models=models, families={"refutebench": block})
    return Project(config, folder / out, limit)


def built(one: Project) -> BuildManifest:
    one.loop.run(run_all(one.build))
    manifest = write_output_files(one)
    one.close()
    return manifest


def calls(told: Estimate) -> dict[str, tuple[int, int]]:
    """By prompt, the records and the calls."""
    return {line.step.rpartition(" ")[2]: (line.records, line.calls) for line in told.lines}


def taken(manifest: BuildManifest) -> dict[str, tuple[int, int]]:
    """The same, of a build as it was."""
    stages = [stage for part in manifest.parts for stage in part.stages]
    found = {
        name: (stage.planned, usage.calls + usage.cached) for stage in stages for name, usage in stage.usage.items()
    }
    return {**found, "all": (0, sum(count for _, count in found.values()))}


def test_before_a_build_seeds_that_are_not_wanted_cost_nothing(tmp_path: Path) -> None:
    sources = write_sources(tmp_path, 1200, 1100)
    one = project(tmp_path, sources=sources, seeds_per_task=20, evaluated=["a", "b"], refuters=["agent"], unrelated=[3])
    # 2 tasks of 20 seeds, with 2 models, transient and persistent: 160 dialogues, half of 4 answers and half of 6
    # (q, r0, three unrelated ones, q), half of 3 refutations and half of 1; 9 and 2 ratings.
    assert calls(estimate(one)) == {
        "respond": (160, 80 * 4 + 80 * 6),
        "refute": (160, 80 * 3 + 80 * 1),
        "check_refutation": (160, 80 * 3 + 80 * 1),
        "rate_refutation": (880, 80 * 5 + 80 * 2),
        "rate_task": (880, 80 * 4),
        "all": (0, 800 + 320 + 320 + 560 + 320),
    }


@pytest.mark.parametrize("rounds", [1, 3, 5])
@pytest.mark.parametrize("unrelated", [(), (0,), (3,), (0, 2, 4)])
@pytest.mark.parametrize("refuters", [("agent",), ("agent", "template")])
def test_the_bounds_are_what_a_seed_gives_where_nothing_is_dropped(
    rounds: int, unrelated: tuple[int, ...], refuters: tuple[Any, ...]
) -> None:
    settings = RefuteBenchSettings(
        rounds=rounds, unrelated=unrelated, refuters=refuters, evaluated=("a", "b"), evaluators=("judge", "other")
    )
    provenance = Provenance(seed=7)
    seed = Seed(key="s", task="writing", kind="request", query="q", text="q", source="by hand", provenance=provenance)
    slots = dialogues_of(seed, settings)
    rated = [slot for one in slots for slot in ratings_of(_held(seed, one, rounds), settings.evaluators)]
    (opens, holds), (opens_rating, rates) = (FAMILY.part(name).steps for name in ("dialogues", "ratings"))
    opens, holds, opens_rating, rates = (step.expected for step in (opens, holds, opens_rating, rates))
    assert opens.slots is not None
    assert opens_rating.slots is not None
    assert holds.calls is not None
    assert rates.calls is not None
    assert opens.slots(settings) == len(slots)
    assert opens_rating.slots(settings) * len(slots) == pytest.approx(len(rated))
    asked = {name: share * len(rated) for name, share in rates.calls(settings).items()}
    assert asked["rate_task"] == pytest.approx(sum(slot["aspect"] == "task" for slot in rated))
    assert asked["rate_refutation"] == pytest.approx(sum(slot["aspect"] == "refutation" for slot in rated))
    held = [(_held(seed, one, rounds), one["refuter"]) for one in slots]
    said = {name: share * len(slots) for name, share in holds.calls(settings).items()}
    assert said["respond"] == pytest.approx(sum(len(one.turns) / 2 for one, _ in held))
    assert said["refute"] == pytest.approx(sum(len(one.refutations) for one, refuter in held if refuter == "agent"))
    assert said["check_refutation"] == said["refute"]


def _held(seed: Seed, slot: Mapping[str, str | int], rounds: int) -> RefutationDialogue:
    kinds: list[Any] = ["query", *["refutation"] * rounds]
    if slot["protocol"] == "persistent":
        count = int(slot["unrelated"])
        kinds = ["query", "refutation", *["unrelated"] * count, *["query"] * (count > 0)]
    roles: tuple[Any, ...] = ("user", "assistant")
    turns = tuple(DialogueTurn(role=role, kind=kind, text="said") for kind in kinds for role in roles)
    given: dict[str, Any] = {name: slot[name] for name in ("protocol", "unrelated", "refuter", "model")}
    return RefutationDialogue(
        key="d", seed=seed.key, task=seed.task, query=seed.query, style="plain", turns=turns,
        provenance=seed.provenance, **given,
    )  # fmt: skip


def test_a_source_that_two_tasks_read_is_counted_once_and_gives_a_seed_of_each(tmp_path: Path) -> None:
    write_sources(tmp_path, 4, 0)
    shared = [{"format": "jsonl", "path": "sentences.jsonl"}]
    one = project(tmp_path, sources={"translation": shared, "summarisation": shared}, unrelated=[])
    assert calls(estimate(one))["respond"] == (8, 32)


@pytest.mark.slow
def test_after_a_build_the_estimate_is_that_build(tmp_path: Path) -> None:
    sources = write_sources(tmp_path, 9, 4)
    settings = {"sources": sources, "seeds_per_task": 6, "refuters": ["agent", "template"]}
    before = calls(estimate(project(tmp_path, **settings)))
    manifest = built(project(tmp_path, **settings))
    dropped = sum(part.planned - part.kept for part in manifest.parts if part.part == "dialogues")
    assert dropped, "a build that shows nothing of what is dropped"
    after = estimate(project(tmp_path, **settings))
    assert after.measured
    assert calls(after) == taken(manifest)
    assert all(bound >= calls(after)[name] for name, bound in before.items())


@pytest.mark.slow
def test_a_pilots_yields_are_used_and_what_is_wanted_still_bounds_them(tmp_path: Path) -> None:
    sources = write_sources(tmp_path, 30, 30)
    pilot = built(project(tmp_path, 6, sources=sources, seeds_per_task=20))
    part = pilot.part("refutebench", "dialogues")
    assert part is not None
    told = estimate(project(tmp_path, sources=sources, seeds_per_task=20))
    # 40 of the 60 seeds are wanted; what became of the dialogues of a seed in the pilot becomes of them here.
    assert told.measured
    assert calls(told)["respond"][0] == 80
    respond = taken(pilot)["respond"]
    assert calls(told)["respond"][1] == round(80 * respond[1] / respond[0])


@pytest.mark.slow
def test_how_many_a_build_of_fewer_seeds_kept_does_not_bound_one_of_more(tmp_path: Path) -> None:
    sources = write_sources(tmp_path, 12, 12)
    built(project(tmp_path, sources=sources, seeds_per_task=3))
    told = estimate(project(tmp_path, sources=sources, seeds_per_task=10))
    assert calls(told)["respond"][0] == 2 * 10 * 2


def test_pairs_that_are_not_wanted_cost_nothing_and_steps_count_the_datasets_that_have_them(tmp_path: Path) -> None:
    both = {name: {"pairs": 20, "sources": [QUESTIONS]} for name in ("multifieldqa-en-mixup", "loogle-SD-mixup")}
    config = write_config(
        tmp_path, store="store", model=MODEL, families={"lveval": {"levels": ["1k"], "datasets": both}}
    )
    told = calls(estimate(Project(config, tmp_path / "out")))
    # 120 questions for each; the second dataset has neither confusing facts nor rules, nor keywords (table 2).
    assert BY_NAME["multifieldqa-en-mixup"].confusing_facts
    assert not BY_NAME["loogle-SD-mixup"].confusing_facts
    assert told["confusing_facts"] == (20, 20)
    assert told["replacement_rules"] == (20, 20)
    assert told["all"][1] == sum(told[name][1] for name in ("confusing_facts", "replacement_rules", "answer_keywords"))


@pytest.mark.slow
def test_what_free_steps_refuse_is_not_estimated(tmp_path: Path) -> None:
    dialogues = {"format": "jsonl", "path": str(SAMPLES / "dialogues.jsonl")}
    config = write_config(tmp_path, store="store", model=MODEL, families={"charpeval": {"sources": [dialogues]}})
    told = calls(estimate(Project(config, tmp_path / "out")))
    assert told["draft_utterances"][0] == 12  # of 15: two are refused, and one comes twice


def test_usual_lengths_stand_in_before_a_pilot_and_the_longest_where_none_is_known(tmp_path: Path) -> None:
    for name in family_names():
        family = load_family(name)
        built = {prompt.name for prompt in family.prompts} - {prompt.name for prompt in family.evaluation.prompts}
        lines = (family.folder / "prompts" / "usual.tsv").read_text(encoding="utf-8").splitlines()[1:]
        assert built <= {line.split("\t")[0] for line in lines}, name
    uraq = load_family("uraq")
    manipulate = next(prompt for prompt in uraq.prompts if prompt.name == "manipulate")
    assert usual_tokens(uraq, manipulate).output < manipulate.max_tokens / 5
    (tmp_path / "of_my_own.j2").write_text("{% block user %}Say it.{% endblock %}")
    own = replace(manipulate, name="of_my_own", templates=tmp_path)
    assert usual_tokens(uraq, own).output == manipulate.max_tokens


def test_an_unknown_price_is_told_as_such(tmp_path: Path) -> None:
    def told(name: str) -> Estimate:
        model = {**MODEL, "name": name}
        config = write_config(
            tmp_path, f"{name}.yaml", store="store", model=model, families={"uraq": {"statements": 9}}
        )
        return estimate(Project(config, tmp_path / "out"))

    known, unknown = told("gpt-4o-mini").lines, told("nobody-knows").lines
    assert all(line.cost_usd for line in known if line.calls)
    assert all((line.cost_usd is None) == bool(line.calls) for line in unknown)
    assert [line.input_tokens for line in known] == [line.input_tokens for line in unknown]


def write_manifest(out: Path, manifest: BuildManifest) -> None:
    (out / "manifest.json").write_text(manifest.model_dump_json())


@pytest.mark.slow
def test_of_a_pilot_that_kept_nothing_nothing_follows(tmp_path: Path) -> None:
    sources = write_sources(tmp_path, 30, 30)
    wanted = {"sources": sources, "seeds_per_task": 20}
    before = estimate(project(tmp_path, **wanted))
    pilot = built(project(tmp_path, 6, **wanted))
    told = estimate(project(tmp_path, **wanted))
    assert told.measured
    assert not any("kept none" in note for note in told.notes)
    # A stage that kept none: what comes after it is told as a bound.
    parts = []
    for part in pilot.parts:
        changes: dict[str, Any] = {}
        if part.part == "dialogues":
            held = part.stages[-1].model_copy(update={"kept": 0})
            changes = {"kept": 0, "stages": (*part.stages[:-1], held)}
        if part.part == "ratings":
            nothing = {"planned": 0, "kept": 0, "usage": {}, "shards": ()}
            changes = {**nothing, "stages": tuple(one.model_copy(update=nothing) for one in part.stages)}
        parts.append(part.model_copy(update=changes))
    write_manifest(tmp_path / "out", pilot.model_copy(update={"parts": tuple(parts)}))
    bound = estimate(project(tmp_path, **wanted))
    [note] = bound.notes
    assert f"hold dialogue kept none of {held.planned} in the pilot" in note
    assert calls(bound)["rate_refutation"] == calls(before)["rate_refutation"]
    assert calls(bound)["respond"] == calls(told)["respond"]
    # One that kept few, for a reason.
    few = held.model_copy(update={"kept": 1, "dropped": {"known (SETTING: [] keeps it)": held.planned - 1}})
    parts = [
        part.model_copy(update={"stages": (*part.stages[:-1], few)}) if part.part == "dialogues" else part
        for part in pilot.parts
    ]
    write_manifest(tmp_path / "out", pilot.model_copy(update={"parts": tuple(parts)}))
    [note] = estimate(project(tmp_path, **wanted)).notes
    assert f"hold dialogue kept 1 of {held.planned} in the pilot; {held.planned - 1} dropped: known (SETTING" in note
    # A pilot that kept nothing at all.
    empty = tuple(part.model_copy(update={"kept": 0, "waiting": 0}) for part in pilot.parts)
    write_manifest(tmp_path / "out", pilot.model_copy(update={"parts": empty}))
    none = estimate(project(tmp_path, **wanted))
    assert none.notes == (f"what was built in {tmp_path / 'out'} kept nothing: it tells nothing of the whole build",)
    assert not none.measured
    assert calls(none) == calls(before)


def test_an_estimate_needs_no_key_and_no_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    models = {
        "default": {**MODEL, "api_key_env": "NO_SUCH_KEY"},
        "strange": {**MODEL, "name": "nobody-knows", "api_key_env": "NO_SUCH_KEY"},
    }
    families = {"uraq": {"statements": 9, "context_counts": [1]}}
    one = write_config(tmp_path, store="store", models=models, budget_usd=3, families=families)
    told = Outcome("estimate", str(one))
    assert told.code == 0, told.error
    assert "$" in told.output
    other = write_config(tmp_path, "b.yaml", store="store", model=models["strange"], budget_usd=3, families=families)
    told = Outcome("estimate", str(other))
    assert told.code == 0, told.error
    assert "?" in told.output
    assert "$" not in told.output
    assert "the price of nobody-knows is not known" in told.output
    # The same of an evaluation.
    rules = write_config(tmp_path, store="store", families=families)
    made = Project(rules, tmp_path / "out")
    built(made)
    remember(made)
    write_config(tmp_path, store="store", models={**models, "default": {"provider": "rules"}}, families=families)
    told = Outcome("estimate", "--evaluate", "strange")
    assert told.code == 0, told.error
    assert "?" in told.output
    assert "the price of nobody-knows is not known" in told.output
    wrong = Outcome("estimate", "--evaluate", "strangr")
    assert wrong.code == 2
    assert str(wrong.error).startswith("--evaluate strangr: no such model")
    # Who builds is told of both at once.
    assert "the price of nobody-knows is not known" in str(Outcome("run", str(other)).error)


WITHIN = 0.25


@pytest.mark.slow
@pytest.mark.parametrize(("family", "limit"), [("reeval", 40), ("lveval", 12), ("charpeval", 3), ("uraq", 20)])
async def test_after_a_pilot_the_estimate_is_within_a_quarter(
    tmp_path: Path, family: str, limit: int, shared: Path
) -> None:
    pages = {"format": "jsonl", "path": str(SAMPLES / "pages.jsonl")}
    related = {**pages, "path": str(SAMPLES / "related.jsonl")}
    topical = {"format": "topical-chat", "path": str(shared / "data" / "topical_chat_en" / "valid_freq.jsonl.gz")}
    block: Mapping[str, Any] = {
        "reeval": {"seeds": "all", "entailment": "off", "sources": [QUESTIONS], "passages": [pages, related]},
        "lveval": {
            "levels": ["1k"],
            "datasets": {"multifieldqa-en-mixup": {"pairs": 36, "sources": [QUESTIONS], "distractors": [pages]}},
        },
        "charpeval": {"sources": [{**topical, "limit": 600}]},
        "uraq": {"statements": 200, "context_counts": [1]},
    }[family]
    rules = write_config(tmp_path / "rules", store="store", families={family: block})
    table = {
        **await scribed(rules, tmp_path / "rules" / "out"),
        **await scribed(rules, tmp_path / "rules" / "pilot", limit),
    }
    with ChatServer(answer=served(table)) as server:
        model = {"provider": "endpoint", "name": "gpt-4o-mini", "base_url": server.url}
        config = write_config(tmp_path, store="store", model=model, families={family: block})
        await asyncio.to_thread(built, Project(config, tmp_path / "pilot", limit))
        told = estimate(Project(config, tmp_path / "pilot")).lines[-1]
        manifest = await asyncio.to_thread(built, Project(config, tmp_path / "out"))
    stages = [stage for part in manifest.parts for stage in part.stages]
    took = sum_usage({"all": usage} for stage in stages for usage in stage.usage.values())["all"]
    assert told.calls == pytest.approx(took.calls + took.cached, rel=WITHIN)
    assert told.input_tokens == pytest.approx(took.input_tokens + took.cached_input_tokens, rel=WITHIN)
    assert took.cost_usd is not None
    assert took.cached_cost_usd is not None
    assert told.calls - told.cached == pytest.approx(took.calls, rel=WITHIN), "the pilot's answers are in the cache"
    whole = took.cost_usd + took.cached_cost_usd
    assert told.cost_usd == pytest.approx(took.cost_usd, abs=WITHIN * whole)


@pytest.mark.slow
def test_an_evaluation_is_told_by_family_and_level(tmp_path: Path) -> None:
    uraq = {"statements": 12, "context_counts": [1, 3]}
    sources = write_sources(tmp_path, 6, 6)
    bench = {"style": [], "unrelated": [2], "seeds_per_task": 3, "sources": sources}
    models = {"default": {"provider": "rules"}, "asked": MODEL, "strange": {**MODEL, "name": "nobody-knows"}}
    config = write_config(tmp_path, store="store", models=models, families={"uraq": uraq, "refutebench": bench})
    manifest = built(Project(config, tmp_path / "out"))
    one = Project(config, tmp_path / "out", built=manifest, store=str(tmp_path / "store"))
    (family, _), *_ = one.build.parts()
    rows = list(evaluated_rows(one, family, None))
    lines = evaluation_lines(one, family, "asked", None, None)
    assert [line.step for line in lines] == ["uraq at 1 · answer_with_context", "uraq at 3 · answer_with_context"]
    assert sum(line.calls for line in lines) == len(NEEDS) * len(rows)
    exact = sum(
        estimate_prompt_tokens(ANSWER_WITH_CONTEXT.messages(to_read(row, need))) for row in rows for need in NEEDS
    )
    assert sum(line.input_tokens for line in lines) == pytest.approx(exact, rel=0.05)  # 40 rows of a level are read
    assert lines[0].input_tokens < lines[1].input_tokens
    assert all(line.cost_usd for line in lines)
    assert all(line.cost_usd is None for line in evaluation_lines(one, family, "strange", None, None))
    few = evaluation_lines(one, family, "asked", None, 6)
    assert sum(line.records for line in few) == 6
    held = {line.step.rpartition(" ")[2]: line for line in evaluation_lines(one, FAMILY, "asked", None, None)}
    # As many as the build's own dialogues took, which were held with another model.
    assert (held["respond"].records, held["respond"].calls) == taken(manifest)["respond"]
    assert held["respond"].cost_usd
    assert held["refute"].cost_usd == 0.0  # the rules refute
    one.close()
