"""An evaluation's requests a second beside those of the engine, and how long intervals take.

    python tests/bench/bench_profile.py [--rows 2000] [--repeats 5]

The server sleeps 50 ms (that of `bench_engine.py`), and 256 requests are in flight at once. The reference asks the
model all that the evaluation asks, with a new cache, and does nothing else; ours asks about the rows of a build, batch
by batch, and writes the predictions in the rows' order. Runs of the two alternate; the ratio is that of the medians.

Then the intervals of a measure over 100,000 rows: a model under two conditions, and its change.
"""

import argparse
import asyncio
import gc
import random
import statistics
import sys
import tempfile
import time
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from flows.construct.engine import each
from flows.construct.evaluation import Evaluation, Request
from flows.construct.stages import Build
from flows.evaluate.predictions import predict
from flows.evaluate.rows import EvaluatedRows, evaluated_rows
from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.model import Prompt, Text, Usage
from flows.project.model_loop import ModelLoop
from flows.scoring.intervals import Measured
from flows.scoring.values import Value
from schemas.base import Frozen
from tests.bench.bench_engine import SENTENCES, SLEEP_S, served
from tests.toy import FAMILY, SHOUT, run_all, shout, toy_build

CONCURRENCY = 256
REQUIRED = 0.95
ITEMS, REQUIRED_S = 100_000, 10.0
TEMPLATE = """{% block system %}
You answer by the evidence.
{% endblock %}
{% block user %}
Evidence:
{% for sentence in evidence %}
- {{ sentence }}
{% endfor %}
{{ question }}
{% endblock %}
"""


class Asked(Frozen):
    question: str
    evidence: tuple[str, ...]


def family_of(prompt: Prompt[Any]) -> Any:
    """The toy's family, each of whose words is asked about with some evidence."""

    def requests(row: Any, settings: Any) -> list[Request]:
        return [Request("plain", prompt, Asked(question=f"What is {row.text}?", evidence=SENTENCES))]

    return replace(FAMILY, evaluation=Evaluation(("words",), (prompt,), requests))


def build_of(folder: Path, count: int, prompt: Prompt[Any]) -> Build:
    """A build of so many words."""
    folder.mkdir()
    build = toy_build(folder, [f"word{number}" for number in range(count)])
    toy = build.families["toy"]
    part = replace(FAMILY.part("words"), steps=(each(shout, prompts=[SHOUT]),))
    build.families["toy"] = replace(
        toy, family=replace(FAMILY, parts=(part,)), prompts={**toy.prompts, prompt.name: prompt}
    )
    asyncio.run(run_all(build))
    return build


def engine(url: str, folder: Path, prompt: Prompt[Any], rows: EvaluatedRows, family: Any) -> float:
    """Seconds for all questions at once through `Endpoint.complete`."""

    async def run() -> float:
        with closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
            settings = EndpointSettings(name="gpt-4o-mini", base_url=url, concurrency=CONCURRENCY)
            usage = Usage()
            async with aclosing(Endpoint(settings, cache)) as endpoint:
                await endpoint.complete(prompt, Asked(question="Ready?", evidence=SENTENCES), usage=usage)
                inputs = [request.inputs for row in rows for request in family.evaluation.requests(row, None)]
                started = time.perf_counter()
                await asyncio.gather(*(endpoint.complete(prompt, each, usage=usage) for each in inputs))
                return time.perf_counter() - started

    return asyncio.run(run())


def evaluation(url: str, folder: Path, prompt: Prompt[Any], rows: EvaluatedRows, family: Any, build: Build) -> float:
    """Seconds of the evaluation, with its file."""
    loop = ModelLoop()
    with closing(CompletionCache(f"sqlite:///{folder}/cache.db")) as cache:
        settings = EndpointSettings(name="gpt-4o-mini", base_url=url, concurrency=CONCURRENCY)
        endpoint = Endpoint(settings, cache)
        loop.run(endpoint.complete(prompt, Asked(question="Ready?", evidence=SENTENCES), usage=Usage()))
        project: Any = SimpleNamespace(build=build, only_keys=None, loop=loop, state=folder)
        path = folder / "predictions.jsonl"
        started = time.perf_counter()
        predict(project, family, endpoint, rows, path, lambda done, total: None)
        took = time.perf_counter() - started
        loop.close([endpoint], 1.0)
    assert sum(1 for _ in path.open()) == len(rows)
    return took


def intervals(items_of_a_source: int) -> float:
    """Seconds for the figures of a measure."""
    drawn = random.Random(1)
    values = [
        Value("m", "right", at, f"{number}", f"{number // items_of_a_source}", float(drawn.random() < 0.6))
        for at in ("first", "last")
        for number in range(ITEMS)
    ]
    started = time.perf_counter()
    measured = Measured(values)
    assert measured.change("m", "first", "last") is not None
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    took: dict[str, list[float]] = {"engine": [], "evaluation": []}
    with served() as url, tempfile.TemporaryDirectory() as place:
        (Path(place) / "ask.j2").write_text(TEMPLATE, encoding="utf-8")
        prompt = Prompt("ask", 1, Text, Path(place), inputs=Asked)
        family, build = family_of(prompt), build_of(Path(place) / "build", options.rows, prompt)
        known: Any = SimpleNamespace(build=build, only_keys=None)
        for repeat in range(options.repeats + 1):
            for name, seconds_of in took.items():
                gc.collect()
                rows = evaluated_rows(known, family, None)
                with tempfile.TemporaryDirectory() as folder:
                    if name == "engine":
                        seconds = engine(url, Path(folder), prompt, rows, family)
                    else:
                        seconds = evaluation(url, Path(folder), prompt, rows, family, build)
                if repeat:  # the first pair warms up
                    seconds_of.append(seconds)
    rates = {name: options.rows / statistics.median(times) for name, times in took.items()}
    ratio = rates["evaluation"] / rates["engine"]
    pairs = ", ".join(f"{e / o:.2f}" for e, o in zip(took["engine"], took["evaluation"], strict=True))
    print(f"{options.rows} rows, {SLEEP_S * 1000:.0f} ms a reply, {CONCURRENCY} at once")
    print(f"engine {rates['engine']:.0f}/s, evaluation {rates['evaluation']:.0f}/s (pairs: {pairs})")
    seconds = {items: intervals(items) for items in (1, 10)}
    for items, of_each in seconds.items():
        print(f"intervals over {ITEMS:,} rows, {items} of a source: {of_each:.1f} s")
    slowest = max(seconds.values())
    reached = ratio >= REQUIRED and slowest < REQUIRED_S
    print(
        f"ratio {ratio:.2f}, required {REQUIRED}; {slowest:.1f} s, required {REQUIRED_S:.0f}: "
        f"{'reached' if reached else 'MISSED'}"
    )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
