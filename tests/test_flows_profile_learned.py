"""The contamination gap: a planted model that learned the old rows is found, and a clean one is not accused."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from flows.construct.evaluation import Redrawn
from flows.families import load_family
from flows.profile.learned import NEW, OLD, Learned, in_words
from flows.scoring.intervals import Figure, Measured
from flows.scoring.values import Value
from tests.chat_server import ChatServer, Messages, message_hash
from tests.profiled import able, model, right_answers
from tests.refreshed import CONTEXTS, SWAPS, built, configure, released, rows
from tests.test_flows_cli import Outcome as Ran

RIGHT = 0.6
"""The share of questions on new draws that both models have right."""


# ---- from values alone ----


def learned(seed: int, *, knows: float, sources: int = 40, each: int = 2) -> Figure:
    """The gap of a model that is right on `RIGHT` of the draws, and knows this share of the old ones by heart."""
    chance = random.Random(seed)
    values = []
    for source in range(sources):
        hard = chance.random() * 0.4 - 0.2  # questions on one source are alike
        for number in range(each):
            for at in (NEW, OLD):
                is_right = chance.random() < RIGHT + hard or (at == OLD and chance.random() < knows)
                item = f"{source} {number}"
                values.append(Value("m", "exact match, category 1", at, item, str(source), float(is_right)))
    values.sort(key=lambda value: value.at == OLD)
    gap = of_reeval(values).gap("m")
    assert gap is not None
    return gap


def of_reeval(values: list[Value]) -> Learned:
    evaluation = load_family("reeval").evaluation
    redrawn = evaluation.redrawn
    assert isinstance(redrawn, Redrawn)
    return Learned("reeval", redrawn, evaluation.measures[0], Measured(values), {}, {})


def test_a_model_that_learned_the_old_rows_is_found_and_a_clean_one_is_not() -> None:
    clean = [learned(seed, knows=0) for seed in range(200)]
    accused = sum(gap.differs for gap in clean)
    assert accused <= 20, "a 95 % interval leaves out 0 in 5 % of clean ones: of 200, 10, hardly more than 20"
    assert accused > 0, "and it is no wider than it has to be"
    assert all(gap.differs and gap.value > 0 for gap in (learned(seed, knows=1) for seed in range(100)))
    half = [learned(seed, knows=0.5) for seed in range(100)]
    assert sum(gap.differs for gap in half) > 60
    assert abs(sum(gap.value for gap in half) / len(half) - 0.5 * (1 - RIGHT)) < 0.03, "the gap is what was learned"


def test_a_gap_is_told_in_words() -> None:
    assert in_words(Figure(0.12, 0.08, 0.16, 90), "share") == (
        "answers the items that it may have seen 12.0 points (8.0 to 16.0) better than their new draws: "
        "it has learned them"
    )
    assert in_words(Figure(0.01, -0.03, 0.05, 90), "share") == (
        "is not shown to have learned the old draws: +1.0 points (−3.0 to +5.0) better on them"
    )
    assert in_words(Figure(-0.12, -0.16, -0.08, 90), "share") == (
        "answers the new draws 12.0 points (8.0 to 16.0) better than the old: nothing shows that it has learned the old"
    )
    assert in_words(Figure(0.5, None, None, 4), "share") == (
        "is +50.0 points better on the old draws, over too few sources for an interval"
    )


# ---- over HTTP ----


@pytest.mark.slow
def test_of_two_released_versions_it_is_told_who_learned_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    families = {"reeval": {**SWAPS, "prompting": ["open-book"], "shots": [0]}, "lveval": CONTEXTS}
    configure(tmp_path, families, "each")
    right: list[dict[str, tuple[str, str]]] = []
    cases: list[dict[str, dict[str, Any]]] = []
    for version in ("1.0.0", "1.1.0"):
        built(tmp_path)
        assert released(tmp_path) == version
        right.append(right_answers(tmp_path / "out", "reeval", "lveval"))
        cases.append(rows(tmp_path, "category1") | rows(tmp_path, "contexts"))
    redrawn = [key for key in cases[1] if cases[0][key]["id"] != cases[1][key]["id"]]

    def contaminated(messages: Messages) -> str:
        of_old = right[0].get(message_hash(messages))
        return of_old[1] if of_old is not None else clean(messages)

    everything = right[0] | right[1]
    clean = able(everything, RIGHT, "1")
    assert callable(clean)
    with ChatServer(contaminated) as bad, ChatServer(clean) as good:
        models = {"learned": model(bad), "clean": model(good)}
        (tmp_path / "touchstone.yaml").write_text(json.dumps({"name": "mine", "models": models}), encoding="utf-8")
        versions = tmp_path / "out" / "releases"
        arguments = ("profile", str(versions / "1.1.0"), "--before", str(versions / "1.0.0"),
                     "--model", "learned", "--model", "clean")  # fmt: skip
        ran = Ran(*arguments)
        assert ran.code == 0, ran.output
        asked = len(bad.requests), len(good.requests)
        assert len({request.hash for request in good.requests}) == asked[1], "what both versions ask is asked once"
        again = Ran(*arguments)
        assert (again.code, len(bad.requests), len(good.requests)) == (0, *asked), "nothing is asked twice"
    folder = tmp_path / "test-1.1.0-profile"
    found = json.loads((folder / "profile.json").read_text())["learned"]
    assert (found["before"], found["note"]) == ("test@1.0.0", "")
    by_family = {family["family"]: {gap["model"]: gap for gap in family["gaps"]} for family in found["families"]}
    assert sum(family["clean"]["items"] for family in by_family.values()) == len(redrawn)
    swaps = by_family["reeval"]
    assert swaps["learned"]["old"] == 1
    assert swaps["learned"]["low"] > 0
    assert abs(swaps["learned"]["value"] - (1 - RIGHT)) < 0.15
    assert swaps["clean"]["low"] < 0 < swaps["clean"]["high"]
    assert "data:test@1.0.0|" in swaps["clean"]["signature"]
    told = f"learned answers the items that it may have seen {100 * swaps['learned']['value']:.1f} points"
    page = (folder / "profile.html").read_text()
    for text in (ran.output, page):
        assert "Has it learned the draws of test@1.0.0?" in text
        assert told in text
        assert "clean is not shown to have learned the old draws" in text


@pytest.mark.slow
def test_it_is_told_why_two_versions_cannot_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    configure(tmp_path, {"reeval": {**SWAPS, "prompting": ["open-book"], "shots": [0]}}, "never")
    built(tmp_path)
    released(tmp_path)
    assert released(tmp_path, allow_unreviewed=True, version="1.1.0") == "1.1.0"
    right, version = right_answers(tmp_path / "out", "reeval"), str(tmp_path / "out" / "releases" / "1.0.0")
    newer = str(tmp_path / "out" / "releases" / "1.1.0")
    with ChatServer(able(right, RIGHT)) as server:
        (tmp_path / "touchstone.yaml").write_text(json.dumps({"name": "mine", "models": {"m": model(server)}}))
        ran = Ran("profile", newer, "--before", version, "--model", "m", "--limit", "3")
    assert ran.code == 0, ran.output
    assert "test@1.0.0 has no item of which this version has another draw" in ran.output
    assert str(Ran("profile", "out", "--before", version).error) == (
        "--before: is for a released version; name its folder, such as out/releases/1.1.0"
    )
    assert str(Ran("profile", version, "--before", "out").error) == (
        "--before out: is no released version; name the folder of an older one"
    )
    for older in (version, newer):
        assert str(Ran("profile", version, "--before", older).error) == (
            f"--before {older}: is version {Path(older).name}; name one before 1.0.0"
        )
    (rows_of_it,) = Path(version).glob("data/reeval-category1/*.parquet")
    rows_of_it.write_bytes(rows_of_it.read_bytes().replace(b"PAR1", b"PAR2", 1))
    damaged = Ran("profile", newer, "--before", version, "--model", "m")
    assert damaged.code == 1
    assert str(damaged.error).startswith(f"{version}: data/reeval-category1/test.parquet: SHA-256 ")
    assert str(damaged.error).endswith("; restore it as it was released")
