"""`touchstone profile`: beside servers whose models are right so often; ranks, items and facts from values alone."""

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.families import load_family
from flows.llm.model import BudgetSpent
from flows.profile.page import questions
from flows.profile.questions import QUESTIONS
from flows.profile.results import FamilyResult, Outcome, alike, facts, of_first_way, ranks
from flows.scoring.intervals import Measured
from flows.scoring.on_disk import Rows
from flows.scoring.values import Value
from tests.builds import killed, touchstone, write_config
from tests.chat_server import ChatServer, Faults, Messages, Reply
from tests.profiled import FAMILIES, able, build, model, right_answers, work_in
from tests.test_flows_cli import Outcome as Ran

ASKED = ("uraq", "reeval", "documents", "lveval")


# ---- from values alone ----


def of_model(group: str, numbers: Sequence[float], measure: str = "exact match", at: str = "evidence") -> list[Value]:
    return [Value(group, measure, at, f"i{number}", f"s{number}", value) for number, value in enumerate(numbers)]


def right_on(share: float, count: int = 400, seed: int = 3) -> list[float]:
    """An abler model is right wherever a less able one is."""
    drawn = random.Random(seed)
    return [float(drawn.random() < share) for _ in range(count)]


def test_ranks_are_told_apart_only_where_the_intervals_of_differences_are() -> None:
    apart = Measured([
        value for group, share in (("weak", 0.5), ("strong", 0.9), ("middle", 0.7))
        for value in of_model(group, right_on(share))
    ])  # fmt: skip
    assert ranks(apart, "evidence") == {"weak": (3, 3), "strong": (1, 1), "middle": (2, 2)}
    # 2 of 400 items are no difference; both are above the third.
    good = right_on(0.9)
    swapped = [1 - good[0], 1 - good[1], *good[2:]]
    near = Measured([*of_model("weak", right_on(0.5)), *of_model("one", good), *of_model("other", swapped)])
    assert ranks(near, "evidence") == {"weak": (3, 3), "one": (1, 2), "other": (1, 2)}
    few = Measured([*of_model("one", [1.0] * 4), *of_model("other", [0.0] * 4)])
    assert ranks(few, "evidence") == {"one": (1, 2), "other": (1, 2)}, "over four sources there is no interval"


def test_items_that_all_have_right_and_items_that_none_has() -> None:
    measure, _ = load_family("documents").evaluation.measures
    measured = Measured([
        *of_model("m", [1, 0, 1, 0, 1]), *of_model("n", [1, 0, 0, 1]), *of_model("m", [1] * 5, at="last"),
        *of_model("n", [0] * 3, at="last"),
    ])  # fmt: skip
    both = Measured(
        value._replace(row="row of i1" if value.item == "i1" else "")
        for value in (*of_model("m", [1, 0, 1, 0, 1]), *of_model("n", [1, 0, 0, 1]))
    )
    same = alike(measure, both)
    assert same is not None
    assert (same.all_right, same.none_right, same.items) == (("i0",), ("row of i1",), 4), (
        "n was not asked about the fifth"
    )
    last = alike(measure, measured)
    assert last is not None
    assert (last.at, last.items, last.all_right, last.none_right) == ("last", 3, (), ())
    assert alike(measure, Measured(of_model("m", [1, 0]))) is None


def test_the_first_way_of_asking_is_compared() -> None:
    values = [*of_model("gpt, faithful, 0 shots", [1, 0]), *of_model("gpt, plain", [0, 0])]
    found, way = of_first_way(values, "gpt", "house")
    assert way == "faithful, 0 shots"
    assert [(value.group, value.value) for value in found] == [("house", 1), ("house", 0)]
    assert of_first_way([], "gpt", "house") == ((), "")


def result_of(family: str, measure: str, numbers: Mapping[str, Sequence[float]], source: str) -> FamilyResult:
    outcomes: dict[str, Any] = {
        name: Outcome(name, of_model(name, values, measure), "", None, None, {}, "")  # type: ignore[arg-type]
        for name, values in numbers.items()
    }
    sources = Rows((f"i{place}", [("notes.md", source if place < 2 else f"{family} {place}")]) for place in range(9))
    return FamilyResult(load_family(family), outcomes, {}, sources)


def test_one_fact_is_followed_through_the_families_that_rest_on_it() -> None:
    documents = result_of("documents", "exact match", {"m": [1, 0, 1], "n": [1, 1, 1]}, "moon")
    reeval = result_of("reeval", "exact match, category 1", {"m": [0, 0, 1], "n": [0, 1, 1]}, "moon")
    uraq = result_of("uraq", "accuracy, context-exclusive", {"m": [1]}, "sun")
    (moon,) = facts([documents, reeval, uraq])
    assert moon.source == ("notes.md", "moon")
    assert {place: (share.value, share.items) for place, share in moon.shares.items()} == {
        ("documents", "m"): (0.5, 2), ("documents", "n"): (1, 2), ("reeval", "m"): (0, 2), ("reeval", "n"): (0.5, 2)
    }  # fmt: skip


def test_a_family_answers_by_its_first_measure_and_by_the_first_over_other_items() -> None:
    documents = load_family("documents")
    exact, both = documents.evaluation.measures

    def told(item: str) -> list[str]:
        of_both = [value._replace(item=f"{item}{value.item}") for value in of_model("m", [1, 0], both.name, "in_order")]
        values = [*of_model("m", [1, 0, 1], exact.name), *of_both]
        outcome: Any = Outcome("m", values, "", None, None, {}, "")  # type: ignore[arg-type]
        (question,) = questions([FamilyResult(documents, {"m": outcome})], ["m"])
        return [glance.measure for (glances,) in [question.glances] for glance in glances]

    assert told("conflict ") == [f"documents: {exact.name}", f"documents: {both.name}"]
    assert told("") == [f"documents: {exact.name}"]


# ---- over HTTP ----


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, tuple[str, str]]]:
    """A folder with a build in `out`, and what is right about its rows."""
    folder = tmp_path_factory.mktemp("profiled")
    out = build(folder)
    (folder / "prices.yaml").write_text("gpt-4o-mini: {input_per_million: 0, output_per_million: 1000}")
    return folder, right_answers(out, *ASKED)


@pytest.fixture
def folder(made: tuple[Path, dict[str, tuple[str, str]]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder. Each test has parameters of its own, so that it is answered nothing from the cache."""
    return work_in(made[0], monkeypatch)


@pytest.fixture
def right(made: tuple[Path, dict[str, tuple[str, str]]]) -> dict[str, tuple[str, str]]:
    return made[1]


_TESTS = itertools.count(1)


@pytest.fixture
def anew() -> dict[str, Any]:
    """Settings of a model with which nothing was asked before."""
    return {"parameters": {"seed": next(_TESTS)}}


def configure(folder: Path, models: Mapping[str, Any], **config: Any) -> None:
    families = config.pop("families", FAMILIES)
    write_config(folder, store=str(folder / "store"), families=families, models=models, **config)


def figures(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out/profile/profile.json").read_text())
    return found


def timeless(profile: dict[str, Any]) -> dict[str, Any]:
    """A profile without its dates and seconds."""
    for family in profile["families"]:
        for one in family["models"]:
            for name in ("seconds", "median_s", "slow_s"):
                one["spent"].pop(name)
            one["signature"] = one["signature"].rpartition("|date:")[0]
    return profile


def by_family(profile: dict[str, Any]) -> dict[str, Any]:
    return {family["family"]: family for family in profile["families"]}


@pytest.mark.slow
def test_two_models_on_one_page_and_a_second_profile_asks_nothing(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    with ChatServer(able(right, 0.5)) as small, ChatServer(able(right, 0.95), model="large-1") as large:
        configure(folder, {"small": model(small, **anew), "large": model(large, **anew)})
        ran = Ran("profile", "out", "--model", "small", "--model", "large")
        assert ran.code == 0, ran.output
        assert {len(small.requests), len(large.requests)} == {len(right)}
        found, page = figures(folder), (folder / "out/profile/profile.html").read_text()
        again = Ran("profile", "out", "--model", "small", "--model", "large")
        assert again.code == 0
        assert {len(small.requests), len(large.requests)} == {len(right)}
        assert figures(folder) == found, "also what it took is kept"
    assert found["models"] == ["small", "large"]
    for name, asks in QUESTIONS.items():
        is_unanswered = f"{asks} Nothing that was evaluated here asks it." in page
        assert is_unanswered is (name not in ("use", "evidence", "absence", "length")), name
    of_family = by_family(found)
    assert set(of_family) == {*ASKED, "charpeval"}
    for model_ in ("small", "large"):
        assert "no rows to ask a model about" in of_family["charpeval"]["refused"][model_]
        assert f"charpeval: {model_} was not evaluated" in page
    (uraq,) = [
        one for one in of_family["uraq"]["differences"]
        if (one["measure"], one["at"]) == ("accuracy, context-exclusive", "5 contexts")
    ]  # fmt: skip
    assert (uraq["model"], uraq["against"]) == ("large", "small")
    assert 0.2 < uraq["low"] < uraq["value"] < uraq["high"] < 0.7
    assert [one["spent"]["calls"] for one in of_family["uraq"]["models"]] == [612, 612]
    same = of_family["uraq"]["alike"]
    assert f"Of {same['items']} items, all models have {len(same['all_right'])} right" in page
    assert same["all_right"], "an abler model is right wherever the less able one is"
    assert not {*same["all_right"]} & {*same["none_right"]}
    assert "One fact through several tests" in page, "LV-Eval reads the questions on documents"
    assert page.count("<script") == 0


@pytest.mark.slow
def test_a_fact_that_two_families_rest_on_is_in_one_line(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    with ChatServer(able(right, 1.0)) as server:
        configure(folder, {"m": model(server, **anew)})
        assert Ran("profile", "out", "--model", "m").code == 0
    page = (folder / "out/profile/profile.html").read_text()
    lines = page.partition("One fact through several tests")[2].partition("</section>")[0].split("<tr>")[2:]
    assert 0 < len(lines) <= 8
    assert all("documents/*.md · " in line for line in lines)
    assert all(line.count("100.0 of ") + line.count("–") == 3 for line in lines), "documents, ReEval and LV-Eval"
    assert all(line.count("100.0 of ") >= 2 for line in lines)


@pytest.mark.slow
def test_killed_and_begun_again_it_finds_the_same_and_asks_nothing_twice(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    with ChatServer(able(right, 0.7), faults=Faults(latency_s=(0.01, 0.02))) as server:
        configure(folder, {"m": model(server, concurrency=8, **anew)})
        for answered in (100, 620, 900):
            assert killed(
                "profile", "out", "--model", "m", folder=folder, when=lambda: len(server.answered) > answered  # noqa: B023
            )  # fmt: skip
        assert touchstone("profile", "out", "--model", "m", folder=folder).returncode == 0
        resumed = figures(folder)
        # What was in flight at a kill was sent, and its answer is lost.
        assert len(server.requests) <= len(right) + 3 * 8
    with ChatServer(able(right, 0.7)) as server:
        for file in (folder / "out" / "predictions").glob("*"):
            file.unlink()
        configure(folder, {"m": model(server, parameters={"seed": next(_TESTS)})})
        assert Ran("profile", "out", "--model", "m").code == 0
        whole = figures(folder)
    assert parameterless(timeless(resumed)) == parameterless(timeless(whole))


def parameterless(profile: dict[str, Any]) -> dict[str, Any]:
    """A profile whose models' settings are not told."""
    for family in profile["families"]:
        for one in family["models"]:
            one["signature"] = [part for part in one["signature"].split("|") if not part.startswith("parameters:")]
    return profile


@pytest.mark.slow
def test_where_the_budget_ends_it_shows_what_it_has_and_goes_on_later(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    """An answer costs 0.1 USD; URAQ has 612 of them, and questions on documents follow."""

    def answer(messages: Messages) -> Reply:
        known = able(right, 0.7)
        assert callable(known)
        return Reply(str(known(messages)), usage=(10, 100))

    with ChatServer(answer) as server:
        configure(folder, {"m": model(server, **anew)}, prices="prices.yaml", budget_usd=1000)
        ran = Ran("profile", "out", "--model", "m", "--budget", "64")
        assert isinstance(ran.error, BudgetSpent)
        assert "the ceiling of 64 USD is reached" in str(ran.error)
        assert 0 < len(server.requests) <= 640
        stopped = by_family(figures(folder))
        assert not stopped["uraq"]["models"][0]["partial"]
        assert stopped["reeval"]["models"][0]["partial"]
        assert stopped["lveval"]["refused"] == {"m": "the budget was spent before"}
        page = (folder / "out/profile/profile.html").read_text()
        assert "stopped by the budget" in page
        assert "lveval: m was not evaluated: the budget was spent before" in page
        assert list((folder / "out").rglob("*.tmp")) == []
        assert Ran("profile", "out", "--model", "m").code == 0
        assert len(server.requests) == len(right)
        assert server.answered_twice == []
        assert not any(one["partial"] for family in figures(folder)["families"] for one in family["models"])


@pytest.mark.slow
def test_of_a_server_that_is_not_there_it_is_told_and_the_others_go_on(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    with ChatServer(able(right, 0.7)) as server:
        gone = {"provider": "endpoint", "name": "gone", "base_url": "http://127.0.0.1:9/v1", "max_retries": 0}
        configure(folder, {"gone": gone, "m": model(server, **anew)})
        ran = Ran("profile", "out", "--model", "gone", "--model", "m")
    assert ran.code == 1, "what was not evaluated is no success"
    assert ran.output.count("  not evaluated: ") == len(ASKED)
    assert ran.output.count("  not evaluated: model gone at http://127.0.0.1:9/v1: ") == 1, "and then: as before"
    lacking = ", ".join(f"gone on {name}" for name in found_families(folder))
    assert str(ran.error) == f"not evaluated: {lacking}; out/profile/profile.html says why"
    assert "gone: not asked" in ran.output
    found = by_family(figures(folder))
    assert all([one["model"] for one in found[name]["models"]] == ["m"] for name in ASKED)
    assert all("gone" in found[name]["refused"] for name in ASKED)
    assert list((folder / "out").rglob("*.tmp")) == []


def found_families(folder: Path) -> list[str]:
    """The profiled families that have rows, in their order."""
    return [family["family"] for family in figures(folder)["families"] if family["family"] in ASKED]


@pytest.mark.slow
def test_two_keys_of_one_model_stay_apart_and_other_settings_are_asked_anew(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    with ChatServer(able(right, 0.0)) as low, ChatServer(able(right, 1.0)) as high:
        models = {"low": model(low, **anew), "high": model(high, **anew)}
        configure(folder, models)
        ran = Ran("profile", "out", "--model", "low", "--model", "high", "--limit", "3")
        assert ran.code == 0, ran.output
        found = by_family(figures(folder))["documents"]
        shown = {(one["model"], one["at"]): one["value"] for one in found["figures"] if one["against"] is None}
        assert shown == {
            ("low", "closed_book"): 0, ("low", "evidence"): 0, ("high", "closed_book"): 1, ("high", "evidence"): 1
        }  # fmt: skip
        before = len(low.requests)
        configure(folder, models | {"low": model(low, parameters={"seed": next(_TESTS)})})
        assert Ran("profile", "out", "--model", "low", "--limit", "3").code == 0
        assert len(low.requests) == 2 * before, "predictions of other parameters are not taken for these"


@pytest.mark.slow
def test_a_model_is_named_once(folder: Path) -> None:
    twice = Ran("profile", "out", "--model", "m", "--model", "m")
    assert twice.code == 2
    assert str(twice.error) == "--model m: stands twice; name each model once"


@pytest.mark.slow
def test_an_unknown_model_is_told_before_anything_is_asked(folder: Path, right: dict[str, tuple[str, str]]) -> None:
    with ChatServer(able(right, 1.0)) as server:
        configure(folder, {"small": model(server)})
        ran = Ran("profile", "out", "--model", "small", "--model", "smal")
        assert server.requests == []
    assert ran.code == 2
    where = folder / "config.yaml"
    assert str(ran.error) == f'--model smal: no such model in {where}, and no such folder; did you mean "small"?'
    assert "uraq →" not in ran.output


@pytest.mark.slow
def test_a_released_version_is_profiled_as_its_build_is_and_stays_as_it_is(
    folder: Path, right: dict[str, tuple[str, str]], anew: dict[str, Any]
) -> None:
    licensed = {"licence": "CC-BY-4.0", "maintainer": "somebody"}
    with ChatServer(able(right, 0.7)) as server:
        configure(folder, {"m": model(server, **anew)}, release=licensed)
        assert Ran("release", "--out", "out", "--allow-unreviewed").code == 0
        version = folder / "out" / "releases" / "1.0.0"
        before = contents(version)
        assert Ran("profile", "out", "--model", "m").code == 0
        asked = len(server.requests)
        own = folder / "of-release"
        (own / ".stages").mkdir(parents=True)
        (own / ".stages" / "half").write_text("of a reading that was interrupted")
        arguments = ("profile", str(version), "--config", "config.yaml", "--model", "m", "--to", str(own))
        ran = Ran(*arguments)
        assert ran.code == 0, ran.output
        assert len(server.requests) == 2 * asked, "the cache is the build's own"
        found = by_family(json.loads((own / "profile.json").read_text()))
        of_build = by_family(figures(folder))
        assert {name: found[name]["figures"] for name in ASKED} == {name: of_build[name]["figures"] for name in ASKED}
        assert f"@{version.name}|" in found["documents"]["models"][0]["signature"]
        assert Ran(*arguments).code == 0
        assert len(server.requests) == 2 * asked
        only_models = json.dumps({"name": "t", "store": str(folder / "store"), "models": {"m": model(server, **anew)}})
        (folder / "models.yaml").write_text(only_models)
        (folder / "empty.yaml").write_text(only_models[:-1] + ', "families": {"uraq": {}, "reeval": {"shots": [0]}}}')
        for config in ("models.yaml", "empty.yaml"):
            other = folder / f"of-{config}"
            ran = Ran(*arguments[:2], "--config", config, "--model", "m", "--to", str(other))
            assert ran.code == 0, ran.output
            assert (
                by_family(json.loads((other / "profile.json").read_text()))["uraq"]["figures"]
                == (found["uraq"]["figures"])
            ), "a family without settings of its own is asked about as the release says"
    assert contents(version) == before
    (folder / "other").mkdir(exist_ok=True)
    (folder / "other" / "notes.txt").write_text("mine")
    foreign = Ran(*arguments[:-1], str(folder / "other"))
    assert foreign.code == 2
    assert "holds something else" in str(foreign.error)
    manifest = version / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"data/', '"../data/'))
    assert "not a path in this folder" in str(Ran(*arguments).error), "nothing outside it is read"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
