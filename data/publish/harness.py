"""Tasks for lm-evaluation-harness (0.4.13): YAML files, which lie beside the scorers of their families.

The harness looks for the functions of a task below the folder of its YAML file and never above it, so `scorers/` holds
everything that a task needs: `lm-eval run --include_path scorers --tasks NAME --apply_chat_template`. The classes of
the tasks are in `utils.py` there (ours: `lm_eval_utils.py.txt`). They load the rows of the release, and put a document
to the model once under each variant. A document is what is scored as a whole, so every value is a mean over documents,
and has a standard error.

A family says how its documents are scored (`ReplyScoring`, `OptionScoring`); a family without a scorer has no task.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from jinja2 import Environment, TemplateSyntaxError

from schemas.errors import WrongInput

FUNCTION: Final = "!function"
BESIDE: Final = ".."
"""The path of rows that lie in the folder above the tasks."""
UTILS: Final = "utils.py"
_UTILS_TEXT: Final = Path(__file__).parent / "lm_eval_utils.py.txt"


@dataclass(frozen=True)
class HarnessData:
    """Where a config's rows are loaded from: the arguments of `datasets.load_dataset`, and the split."""

    path: str
    """A repository of the Hub, or `BESIDE`."""
    name: str
    """The config."""
    split: str = "test"
    revision: str | None = None


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
    """A value that the scorer's `process_results` gives for a document; the harness takes the mean."""

    name: str
    higher_is_better: bool = True


@dataclass(frozen=True, kw_only=True)
class ReplyScoring:
    """A task for replies: the variants that are asked, and how the functions of the scorer score the replies."""

    about: str
    """The question of the task, for a reader: a sentence without a full stop."""
    variants: Sequence[str]
    columns: Mapping[str, str]
    """Variable of the prompts -> where a document has it, as a Jinja expression."""
    target: str
    """The right answer, as a template."""
    metrics: Sequence[Metric]
    values: str
    """The metrics, described for a reader."""
    suffix: str = ""
    """Added to the name of the config for the task's name; the main task of a config adds nothing."""
    together: Sequence[str] = ()
    """The columns in which rows agree that are scored together, as one document; by default each row is one."""
    demonstrations: Sequence[Mapping[str, Any]] = ()
    """The demonstrations for `--num_fewshot`, in order: those of the row's `language`. Without any, it is ignored."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Arguments that `process_results` takes from `--metadata`, each with an example; by default they are none."""
    weight_by_size: bool = True
    """Whether a group's value is the mean over all documents; otherwise it is the mean over its tasks."""


@dataclass(frozen=True, kw_only=True)
class OptionScoring:
    """A task for options that are weighed: the prompt, but for the row, and how the scorer scores the options."""

    about: str
    instruction: str
    demonstrations: Sequence[Mapping[str, Any]]
    """Rows with their `response`; `--num_fewshot` takes from them, in order."""
    metrics: Sequence[Metric]
    values: str
    suffix: str = ""
    weight_by_size: bool = True


@dataclass(frozen=True)
class HarnessTask:
    """A task of a config."""

    name: str
    text: str
    """Of its YAML file."""
    scoring: ReplyScoring | OptionScoring
    prompting: str | None = None
    """The way of asking, if the family has several."""

    @property
    def variants(self) -> Mapping[str, str]:
        """Variant -> the name of the task that asks under it alone; empty if there is one variant."""
        names = self.scoring.variants if isinstance(self.scoring, ReplyScoring) else ()
        return {variant: f"{self.name}-{variant}" for variant in names if len(names) > 1}

    @property
    def group_of_variants(self) -> str:
        """The name of the group of these."""
        return f"{self.name}-variants"


class _Function(str):
    """A function of a file beside: `uraq.process_results`."""


class LiteralDumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


class _Dumper(LiteralDumper):
    """Also writes functions by their tag."""


LiteralDumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)
_Dumper.add_representer(_Function, lambda dumper, function: dumper.represent_scalar(FUNCTION, str(function)))


def utils_text() -> str:
    """The text of the `utils.py` beside the tasks."""
    return _UTILS_TEXT.read_text(encoding="utf-8")


def reply_task(
    config: str,
    family: str,
    scoring: ReplyScoring,
    data: HarnessData,
    version: str,
    prompts: Mapping[str, HarnessPrompt],
    prompting: str | None = None,
) -> HarnessTask:
    """The task of a config (by the task's name) for replies under a way of asking; `prompts` by variant.

    Raises `WrongInput` for an invalid template, and for variants that cannot be asked as one task.
    """
    name = named(config, scoring.suffix)
    prompt = _of_all(family, scoring, [prompts[variant] for variant in scoring.variants])
    shots: dict[str, Any] = {"num_fewshot": 0}
    if scoring.demonstrations:
        shots = {"fewshot_config": {"sampler": "first_n", "samples": [dict(shown) for shown in scoring.demonstrations]}}
    text = _dumped(
        {
            "task": name,
            "class": _Function("utils.Replies"),
            "metadata": {"version": version, **dict.fromkeys(scoring.options)},
            **source_of(data),
            "variants": list(scoring.variants),
            **({"together": list(scoring.together)} if scoring.together else {}),
            **({"options": list(scoring.options)} if scoring.options else {}),
            **shots,
            **_asked(scoring, prompt),
            "doc_to_target": scoring.target,
            **_results(family, scoring.metrics),
        }
    )
    return HarnessTask(name, text, scoring, prompting)


def option_task(config: str, family: str, scoring: OptionScoring, data: HarnessData, version: str) -> HarnessTask:
    """The task of a config (by the task's name) for options that are weighed."""
    name = named(config, scoring.suffix)
    text = _dumped(
        {
            "task": name,
            "class": _Function("utils.Options"),
            "metadata": {"version": version},
            **source_of(data),
            "fewshot_config": {
                "sampler": "first_n",
                "target_delimiter": " ",
                "doc_to_choice": None,
                "doc_to_target": "{{ response }}",
                "samples": [dict(shown) for shown in scoring.demonstrations],
            },
            "output_type": "multiple_choice",
            "description": scoring.instruction,
            "doc_to_text": _Function(f"{family}.prompt"),
            "doc_to_choice": _Function(f"{family}.texts"),
            "doc_to_target": 0,
            "target_delimiter": "",
            **_results(family, scoring.metrics),
        }
    )
    return HarnessTask(name, text, scoring)


def group_of_tasks(group: str, tasks: Sequence[HarnessTask], version: str) -> str:
    """The YAML of a group of tasks: the values that all of them have, as means over them."""
    shared = [
        metric.name for metric in tasks[0].scoring.metrics if all(metric in task.scoring.metrics for task in tasks)
    ]
    return _dumped(
        {
            "group": group,
            "task": [task.name for task in tasks],
            "aggregate_metric_list": [
                {"metric": name, "aggregation": "mean", "weight_by_size": tasks[0].scoring.weight_by_size}
                for name in shared
            ],
            "metadata": {"version": version},
        }
    )


def tasks_of_variants(task: HarnessTask, family: str, version: str) -> Iterator[tuple[str, str]]:
    """Yield (name, YAML) of a task for each variant alone, whose replies are scored one by one, and of their group."""
    for variant, name in task.variants.items():
        yield (
            name,
            _dumped(
                {
                    "include": f"{task.name}.yaml",
                    "task": name,
                    "class": _Function("utils.Variant"),
                    "variants": [variant],
                    "together": [],
                    "grade": _Function(f"{family}.grade"),
                    "metric_list": [{"metric": "score", "aggregation": "mean", "higher_is_better": True}],
                }
            ),
        )
    if task.variants:
        group = {"group": task.group_of_variants, "task": list(task.variants.values())}
        yield task.group_of_variants, _dumped({**group, "metadata": {"version": version}})


def run_command(folder: str, tasks: str, *, chat: bool) -> str:
    """The command that puts the tasks of a folder to a model."""
    template = " --apply_chat_template" if chat else ""
    return (
        f"lm-eval run --model hf --model_args pretrained=MODEL --include_path {shlex.quote(folder)} "
        f"--tasks {shlex.quote(tasks)}{template}"
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


def named(config: str, suffix: str) -> str:
    """The name of a task or group, by that of the config or family and what a way of asking adds."""
    return f"{config}-{suffix}" if suffix else config


def _of_all(family: str, scoring: ReplyScoring, prompts: Sequence[HarnessPrompt]) -> HarnessPrompt:
    """The common prompt of all variants, with the values that they share; the document has the others."""
    kept = [
        HarnessPrompt(
            prompt.template,
            prompt.max_tokens,
            {name: value for name, value in prompt.values.items() if name not in scoring.columns},
        )
        for prompt in prompts
    ]
    if any(prompt != kept[0] for prompt in kept):
        raise WrongInput(
            f"{family}: {', '.join(scoring.variants)} are not asked alike; export one prompt for all of them"
        )
    return kept[0]


def source_of(data: HarnessData) -> dict[str, Any]:
    """Where rows are loaded from, in the words of the harness."""
    return {
        "dataset_path": data.path,
        "dataset_name": data.name,
        **({"dataset_kwargs": {"revision": data.revision}} if data.revision else {}),
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


def _results(family: str, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "process_results": _Function(f"{family}.process_results"),
        "metric_list": [
            {"metric": metric.name, "aggregation": "mean", "higher_is_better": metric.higher_is_better}
            for metric in metrics
        ],
    }


def _dumped(task: Mapping[str, Any]) -> str:
    return yaml.dump(dict(task), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
