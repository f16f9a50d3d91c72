"""Tasks for lm-evaluation-harness (0.4.13): a YAML file for each config, beside the family's scorer.

The harness looks for the functions of a task below the folder of its YAML file and never above it, so `scorers/` holds
both: `lm_eval run --include_path scorers --tasks NAME --apply_chat_template`. With a chat template the messages are
those of `touchstone evaluate`; without one, the system text stands right before the user's. Tasks whose options are
weighed are run without: their text goes to every model as it is.

A family says how its documents are scored (`ReplyScoring`, `OptionScoring`); a family without a scorer has no task.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml
from jinja2 import Environment, TemplateSyntaxError

from schemas.errors import WrongInput

FUNCTION = "!function"


@dataclass(frozen=True)
class HarnessData:
    """Where a config's rows are loaded from: the arguments of `datasets.load_dataset`, and the split."""

    path: str
    """A repository of the Hub, or `parquet`."""
    name: str | None = None
    """The config."""
    split: str = "test"
    more: Mapping[str, Any] = field(default_factory=dict)
    """`revision`, or `data_files` by split."""


@dataclass(frozen=True)
class HarnessPrompt:
    """How a variant is asked."""

    template: str
    """The text of the prompt's template file, with a `user` block and maybe a `system` block."""
    max_tokens: int
    values: Mapping[str, Any] = field(default_factory=dict)
    """The template's variables; those that a document has (`ReplyScoring.columns`) are taken from there."""


@dataclass(frozen=True)
class Metric:
    """A value that the scorer's `process_results` gives for a document."""

    name: str
    aggregation: str | None = None
    """The function of the scorer that takes the values of all documents; without one, their mean is taken."""
    higher_is_better: bool = True


@dataclass(frozen=True)
class ReplyScoring:
    """How the replies to a config's documents are scored, by the functions of the scorer beside the file."""

    columns: Mapping[str, str]
    """Variable of the prompts -> where a document has it, as a Jinja expression."""
    target: str
    """The right answer, as a template."""
    metrics: Sequence[Metric]
    documents: str | None = None
    """The function of the scorer that makes a document of each row and variant (`process_docs`). Without one, each
    variant is a task of its own: their answers may be of different length."""


@dataclass(frozen=True)
class OptionScoring:
    """How the weighed options of a config's documents are scored."""

    before: str
    """The part of the prompt that is the same for every document."""
    metrics: Sequence[Metric]


class _Function(str):
    """A function of the scorer beside the file: `uraq.process_results`."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and functions by their tag."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)
_Dumper.add_representer(_Function, lambda dumper, function: dumper.represent_scalar(FUNCTION, str(function)))


def reply_task(
    task: str, family: str, scoring: ReplyScoring, data: HarnessData, version: str, prompts: Mapping[str, HarnessPrompt]
) -> str:
    """The YAML of the task of that name, for replies; `prompts` by variant.

    Raises `WrongInput` for an invalid template, and for variants that cannot be asked as one task.
    """
    source = _source(data, version)
    if scoring.documents is None:
        tasks = [
            {"task": variant, **_asked(scoring, prompt), **_scored(family, scoring)}
            for variant, prompt in prompts.items()
        ]
        return _dumped({"group": task, **source, "task": tasks})
    documents = {"process_docs": _Function(f"{family}.{scoring.documents}")}
    prompt = _of_all(family, scoring, prompts)
    return _dumped({"task": task, **source, **_asked(scoring, prompt), **documents, **_scored(family, scoring)})


def option_task(task: str, family: str, scoring: OptionScoring, data: HarnessData, version: str) -> str:
    """The YAML of the task of that name, for options that are weighed."""
    load = {"path": data.path, **({"name": data.name} if data.name else {}), **data.more}
    return _dumped(
        {
            "task": task,
            "metadata": {"version": version},
            "custom_dataset": _Function(f"{family}.dataset"),
            "dataset_kwargs": {"load": load, "before": scoring.before},
            "test_split": data.split,
            "output_type": "multiple_choice",
            "doc_to_text": "asked",
            "doc_to_choice": "choices",
            "doc_to_target": 0,
            "target_delimiter": "",
            **_results(family, scoring.metrics),
        }
    )


def harness_template(source: str, role: str, values: Mapping[str, str]) -> str:
    """The block of that name as a template of its own, for the harness; empty if there is no such block.

    Our templates drop the line break after a tag and the white space before one, and the white space around the whole.
    The harness's keep all of it, so it is taken out here. `values` are Jinja expressions by variable. Raises
    `WrongInput` for a text that is no template.
    """
    try:
        tokens = list(_environment().lex(source))
    except TemplateSyntaxError as error:
        raise WrongInput(f"prompt template: line {error.lineno}: {error.message}; correct it") from error
    body = _block(tokens, role)
    if not body:
        return ""
    variables = "".join(f"{{% set {name} = {expression} %}}" for name, expression in values.items())
    return f"{variables}{{% filter trim %}}{body}{{% endfilter %}}"


@cache
def _environment() -> Environment:
    return Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)  # noqa: S701 - plain text


def _block(tokens: Sequence[tuple[int, str, str]], role: str) -> str:
    """The text between the block's tags, without the white space that our environment drops."""
    begin = start = depth = 0
    for place, (_, kind, _) in enumerate(tokens):
        if kind == "block_begin":
            begin = place
        elif kind == "block_end":
            names = [value for _, sort, value in tokens[begin:place] if sort == "name"]
            if names[0] == "block":
                start = place + 1 if depth == 0 and names[1] == role else start
                depth += 1
            elif names[0] == "endblock":
                depth -= 1
                if depth == 0 and start:
                    return "".join(map(_kept, tokens[start:begin]))
    return ""


def _kept(token: tuple[int, str, str]) -> str:
    _, kind, value = token
    return value.removesuffix("\n") if kind in ("block_end", "comment_end", "raw_end") else value


def _literal(value: Any) -> str:
    """A JSON value as a Jinja expression."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_literal(name)}: {_literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _of_all(family: str, scoring: ReplyScoring, prompts: Mapping[str, HarnessPrompt]) -> HarnessPrompt:
    """The common prompt of all variants, with the values that they share; the document has the others."""
    kept = [
        HarnessPrompt(
            prompt.template,
            prompt.max_tokens,
            {name: value for name, value in prompt.values.items() if name not in scoring.columns},
        )
        for prompt in prompts.values()
    ]
    if any(prompt != kept[0] for prompt in kept):
        raise WrongInput(f"{family}: {', '.join(prompts)} are not asked alike; export one prompt for all of them")
    return kept[0]


def _source(data: HarnessData, version: str) -> dict[str, Any]:
    return {
        "metadata": {"version": version},
        "dataset_path": data.path,
        **({"dataset_name": data.name} if data.name else {}),
        **({"dataset_kwargs": dict(data.more)} if data.more else {}),
        "test_split": data.split,
    }


def _asked(scoring: ReplyScoring, prompt: HarnessPrompt) -> dict[str, Any]:
    """How a document is asked. Answers are greedy and end by themselves."""
    fixed = {name: _literal(value) for name, value in prompt.values.items() if name not in scoring.columns}
    renamed = {name: expression for name, expression in scoring.columns.items() if name != expression}
    values = {**fixed, **renamed}
    return {
        "output_type": "generate_until",
        "description": harness_template(prompt.template, "system", values),
        "doc_to_text": harness_template(prompt.template, "user", values),
        "generation_kwargs": {
            "until": [],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": prompt.max_tokens,
        },
    }


def _scored(family: str, scoring: ReplyScoring) -> dict[str, Any]:
    return {"doc_to_target": scoring.target, **_results(family, scoring.metrics)}


def _results(family: str, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "process_results": _Function(f"{family}.process_results"),
        "metric_list": [
            {
                "metric": metric.name,
                "aggregation": _Function(f"{family}.{metric.aggregation}") if metric.aggregation else "mean",
                "higher_is_better": metric.higher_is_better,
            }
            for metric in metrics
        ],
    }


def _dumped(task: Mapping[str, Any]) -> str:
    return yaml.dump(dict(task), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
