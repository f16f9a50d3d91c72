"""Estimates the calls, tokens and cost of evaluating a model on a finished build, by family and level.

Requests are rendered as they would be sent, so input tokens are counted, not guessed. Answers are assumed to have their
usual length (`usual_tokens`). What the cache has answers to costs nothing, but for dialogues, whose questions depend on
the answers before.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from flows.construct.engine import Family
from flows.construct.evaluation import Choice, Request
from flows.evaluate.dialogues import build_with
from flows.evaluate.rows import evaluated_rows
from flows.llm.endpoint_settings import EndpointSettings
from flows.llm.kept import KeptAnswers
from flows.llm.likelihood import LikelihoodModel, Options
from flows.llm.model import Model, Prompt
from flows.llm.prices import estimate_prompt_tokens, estimate_tokens
from flows.project.evaluated import settings_now
from flows.project.models import Served
from flows.project.project import Project
from flows.run.costs import costs_of
from flows.run.estimate import EstimateLine, part_lines
from flows.run.usual import usual_tokens
from schemas.base import content_hash

LONG_ROWS = 3
"""Rows read from each file of long texts; the other rows are about as long."""
SAMPLED = 40
"""Most rows of a level whose requests are rendered; all rows are counted."""


class CallTokens(NamedTuple):
    """Calls and tokens of one kind of request for one row."""

    name: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached: int = 0
    """Of the calls, those that the cache answers."""
    cached_input_tokens: int = 0
    cached_output_tokens: int = 0


@dataclass
class _Level:
    """The number of rows of a level, and a sample of them."""

    rows: float = 0.0
    sample: list[tuple[Any, float]] = field(default_factory=list)
    """Each row with the number of rows that it represents."""
    _seen: int = 0

    def add(self, row: Any, weight: float, rng: Random) -> None:
        """Count a row and maybe sample it: every row is equally likely to end up in the sample."""
        self.rows += weight
        self._seen += 1
        if len(self.sample) < SAMPLED:
            self.sample.append((row, weight))
        elif (place := rng.randrange(self._seen)) < SAMPLED:
            self.sample[place] = row, weight


def evaluation_lines(
    project: Project, family: Family, name: str, weighs: LikelihoodModel | None, limit: int | None
) -> list[EstimateLine]:
    """Estimate `touchstone evaluate` of a family with the model called `name`, or with one that `weighs` options.

    Raises `WrongInput` if the build has no rows for it, or the model cannot answer.
    """
    if family.evaluation.dialogues is not None:
        return _held_lines(project, family, name, limit)
    levels: dict[str, _Level] = defaultdict(_Level)
    rng = Random(content_hash("estimate", family.name))
    for row, weight in evaluated_rows(project, family, limit).sampled(LONG_ROWS):
        level = str(getattr(row, family.evaluation.level)) if family.evaluation.level else ""
        levels[level].add(row, weight, rng)
    prompts, now = project.build.families[family.name].prompts, settings_now(project, family)
    model: Model | LikelihoodModel = weighs if weighs is not None else project.models.model(name, family)
    settings = project.config.model_for(name) if weighs is None else getattr(weighs, "settings", None)
    kept = KeptAnswers(settings, project.models.cache) if isinstance(settings, EndpointSettings) else None
    lines = []
    for level, rows in levels.items():
        total: dict[str, list[float]] = defaultdict(lambda: [0.0] * 6)
        for row, weight in rows.sample:
            for tokens in _calls_for(family, row, now, prompts, model, kept):
                for place, count in enumerate(tokens[1:]):
                    total[tokens.name][place] += weight * count
        represented = sum(weight for _, weight in rows.sample)
        for prompt, counts in total.items():
            calls, tokens_in, tokens_out, *before = (round(count * rows.rows / represented) for count in counts)
            left = [now - there for now, there in zip((calls, tokens_in, tokens_out), before, strict=True)]
            costs = costs_of([model], *left, in_batches=weighs is None)
            where = f"{family.name} at {level}" if level else family.name
            line = EstimateLine(f"{where} · {prompt}", round(rows.rows), calls, tokens_in, tokens_out, costs, before[0])
            lines.append(line)
    return lines


def _calls_for(
    family: Family,
    row: Any,
    settings: Any,
    prompts: Mapping[str, Prompt[Any]],
    model: Model | LikelihoodModel,
    kept: KeptAnswers | None,
) -> list[CallTokens]:
    evaluation = family.evaluation
    if evaluation.choices is not None:
        return [_weighed(choice, kept) for choice in evaluation.choices(row, settings)]
    window = model.settings.window if isinstance(model, Served) else None
    return [
        _asked(family, request, prompts[request.prompt.name], window, kept)
        for request in evaluation.requests(row, settings)
    ]


def _asked(
    family: Family, request: Request, prompt: Prompt[Any], window: int | None, kept: KeptAnswers | None
) -> CallTokens:
    tokens = estimate_prompt_tokens(prompt.messages(request.inputs))
    counts = 1, min(tokens, window or tokens), usual_tokens(family, prompt).output
    is_kept = kept is not None and kept.has_answer(prompt, request.inputs)
    return CallTokens(prompt.name, *counts, *(counts if is_kept else (0, 0, 0)))


def _weighed(choice: Choice, kept: KeptAnswers | None) -> CallTokens:
    """Count a prompt alone and with each of its options; each call returns one token."""
    asked = Options(choice.prompt, tuple(choice.options.values())).split
    texts = (asked.prompt, *(asked.prompt + option for option in asked.options))
    there = [text for text in texts if kept is not None and kept.has_text(text)]
    counts = (count for part in (texts, there) for count in (len(part), sum(map(estimate_tokens, part)), len(part)))
    shots = "" if choice.shots is None else f", {choice.shots} shots"
    return CallTokens(f"options weighed{shots}", *counts)


def _held_lines(project: Project, family: Family, name: str, limit: int | None) -> list[EstimateLine]:
    """Estimate the dialogue parts, which are made again; the parts that they build on stay as they were built."""
    held = family.evaluation.held
    build = build_with(project, family, name, limit)
    records: dict[tuple[str, str], int] = {}
    for part in held.parts:
        for maker in family.makers(family.part(part)):
            if maker.name not in held.parts:
                accepted = len(project.build.accepted(family.name, maker.name))
                records[family.name, maker.name] = min(accepted, limit or accepted)
    built = project.built
    lines: list[EstimateLine] = []
    for part in held.parts:
        lines += part_lines(build, family, family.part(part), built, records, lambda ref: True)
    return lines
