"""Money and time of calls at once and in batches, worked by hand."""

from pathlib import Path

import pytest

from flows.project.models import Models, OnDemand
from flows.project.project import Project
from flows.project.settings import load_config
from flows.run.costs import Costs, both_ways, costs_of, sum_of
from flows.run.estimate import estimate
from tests.builds import write_config

PRICES = "mine: {input_per_million: 4, output_per_million: 8}\n"


def a_model(folder: Path, **settings: object) -> OnDemand:
    """A model at 4 and 8 USD for a million tokens."""
    (folder / "prices.yaml").write_text(PRICES)
    model = {"provider": "endpoint", "name": "mine", "concurrency": 10, **settings}
    path = write_config(folder, prices="prices.yaml", model=model, families={"uraq": {}})
    models = Models(path, load_config(path))
    models.asks = False
    made = models.likelihood_model("default")
    assert isinstance(made, OnDemand)
    return made


def test_both_ways_by_hand(tmp_path: Path) -> None:
    # 1 million tokens in at 4 USD, 0.6 million out at 8 USD: 8.8 USD, or half of it.
    # 1,000 calls of 1 s and 600 tokens at 60 a second, 10 at once: 1,000 x 11 / 10 s.
    asked = 1000, 1_000_000, 600_000
    assert costs_of([a_model(tmp_path)], *asked) == pytest.approx(Costs(8.8, 8.8, 4.4, 1100))
    batched = a_model(tmp_path, batch=True)
    assert costs_of([batched], *asked) == pytest.approx(Costs(4.4, 8.8, 4.4, 1100))
    assert costs_of([batched], *asked, in_batches=False) == pytest.approx(Costs(8.8, 8.8, 8.8, 1100))
    # Two models share the calls; the rules cost nothing.
    assert costs_of([batched, object()], *asked) == pytest.approx(Costs(2.2, 4.4, 2.2, 550))
    # 100 calls a minute: 10 minutes; 1.6 million tokens at 40,000 a minute: 40 minutes.
    assert costs_of([a_model(tmp_path, requests_per_minute=10)], *asked).seconds == 6000
    assert costs_of([a_model(tmp_path, tokens_per_minute=40_000)], *asked).seconds == 2400
    assert costs_of([a_model(tmp_path, name="strange")], *asked) == Costs(None, None, None, 1100)
    assert costs_of([batched], 0, 0, 0) == Costs()


def test_sums_and_parts() -> None:
    assert sum_of([Costs(1, 2, 1, 10), Costs(3, 6, 3, 5)]) == Costs(4, 8, 4, 15)
    assert sum_of([Costs(1, 2, 1, 10), Costs(None, None, None, 5)]) == Costs(None, None, None, 15)
    assert Costs(1, 2, 1, 10).times(0.5) == Costs(0.5, 1, 0.5, 5)
    assert Costs(None, None, None, 10).times(0) == Costs()


def test_both_ways_in_words() -> None:
    assert both_ways(Costs(4.4, 8.8, 4.4, 1100), 1, is_batched=True) == [
        "at once: $8.80, about 18 min; in batches: $4.40, up to 24 hours"
    ]
    assert both_ways(Costs(8.8, 8.8, 4.4, 7200), 3, is_batched=False) == [
        "at once: $8.80, about 2.0 hours; in batches (batch: true): $4.40, up to 24 hours for each of 3 rounds or more"
    ]
    assert both_ways(Costs(8.8, 8.8, 8.8, 7200), 3, is_batched=False) == []
    assert both_ways(Costs(), 3, is_batched=True) == []


def test_an_estimate_of_a_build_tells_both(tmp_path: Path) -> None:
    model = {"provider": "endpoint", "name": "gpt-4o-mini", "batch": True}
    config = write_config(tmp_path, model=model, families={"uraq": {"statements": 9}})
    project = Project(config, tmp_path / "out")
    project.models.asks = False
    result = estimate(project)
    total = result.lines[-1].costs
    assert total.as_set == total.batched == pytest.approx(total.at_once and total.at_once / 2)
    assert [note.partition(":")[0] for note in result.notes] == ["at once"]
    assert "up to 24 hours for each of 3 rounds or more" in result.notes[0]
