"""Tasks for lm-evaluation-harness (0.4.13): a YAML file a config, which lies beside the family's scorer.

The harness looks for the functions of a task below the folder of its YAML file and never above it, so `scorers/` holds
both: `lm_eval run --include_path scorers --tasks NAME --apply_chat_template`. With a chat template the messages are
those of `touchstone evaluate`; without one, the system text stands right before the user's. CHARPEval is run without:
its text goes to every model as it is.

RefuteBench has none: its dialogues need turns that depend on the replies.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml
from jinja2 import Environment, TemplateSyntaxError

from data.publish.scorers import charpeval, lveval, reeval, uraq
from schemas.errors import WrongInput

COLUMNS_OF: Mapping[str, Mapping[str, str]] = {
    "uraq": {"need": "variant", "contexts": "contexts", "question": "question"},
    "reeval": {
        "question": "question",
        "evidence": '{"closed_book": none, "original": original_evidence, "swapped": evidence | default(none), '
        '"question_focused": evidence_question_focused | default(none), '
        '"evidence_focused": evidence_evidence_focused | default(none)}[variant]',
    },
    "lveval": {"context": "context", "question": "input"},
}
"""Family -> what its evaluation prompts are given -> where a document has it, as a Jinja expression."""
MARKS: Mapping[str, str] = {
    "uraq": "contexts",
    "reeval": "original_evidence",
    "lveval": "context",
    "charpeval": "distractors",
}
"""Family -> a column that the rows to be evaluated have, and those of its other configs not."""
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
    """What the template is given; that which a document has (`COLUMNS_OF`) is taken from there."""


class _Function(str):
    """A function of the scorer beside the file: `uraq.process_results`."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and functions by their tag."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


def _function(dumper: yaml.SafeDumper, value: _Function) -> yaml.ScalarNode:
    return dumper.represent_scalar(FUNCTION, str(value))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Function, _function)


def is_evaluated(family: str, columns: Collection[str]) -> bool:
    """Whether a config with these columns is put to a model by the harness."""
    return family in MARKS and MARKS[family] in columns


def written_task(
    task: str,
    family: str,
    columns: Collection[str],
    data: HarnessData,
    version: str,
    prompts: Mapping[str, HarnessPrompt],
) -> str:
    """The YAML of the task of that name, for replies; `prompts` by variant.

    Raises `WrongInput` for a template that is none, and for variants that cannot be asked as one task.
    """
    source = _source(data, version)
    if family == "lveval":
        return _dumped({"group": task, **source, "task": [_long_context(one, prompts[one]) for one in lveval.VARIANTS]})
    if family == "uraq":
        return _dumped({"task": task, **source, **_asked(family, _of_all(family, uraq.NEEDS, prompts)), **_uraq()})
    category = "category 1" if "original_answer" in columns else "category 2"
    variants = [one for one in reeval.VARIANTS[category] if one in prompts]
    return _dumped(
        {"task": task, **source, **_asked(family, _of_all(family, variants, prompts)), **_reeval(category, variants)}
    )


def _uraq() -> dict[str, Any]:
    return {
        "process_docs": _Function("uraq.each_need"),
        "doc_to_target": "{{ expected[variant] }}",
        "process_results": _Function("uraq.process_results"),
        "metric_list": [
            _metric("overall", "uraq.overall"),
            *(_metric(f"case_{need}", "uraq.case_level") for need in uraq.NEEDS),
            *(_metric(f"{need}_{setting}") for need in uraq.NEEDS for setting in uraq.SETTINGS),
            _metric("untagged", higher_is_better=False),
        ],
    }


def _reeval(category: str, variants: Sequence[str]) -> dict[str, Any]:
    metrics = [_metric(f"{name}_{variant}") for variant in variants for name in ("em", "f1")]
    if category == "category 2":
        metrics += [_metric("em_both", "reeval.both_right"), _metric("f1_both", "reeval.mean_of_both")]
    right = "answer" if category == "category 2" else "answer if variant == 'swapped' else original_answer"
    return {
        # Nothing is faithful to no evidence: that prompt has no closed book.
        "process_docs": _Function("reeval.each_variant" if "closed_book" in variants else "reeval.each_with_evidence"),
        "doc_to_target": f"{{{{ {right} }}}}",
        "process_results": _Function("reeval.process_results"),
        "metric_list": metrics,
    }


def weighed_task(task: str, data: HarnessData, version: str, prompt: str, row: Mapping[str, Any]) -> str:
    """The YAML of CHARPEval's task; `prompt` is what `touchstone evaluate` puts before the options of `row`.

    Raises `WrongInput` where it does not end as the exported scorer has it.
    """
    own = charpeval.prompt(row, "")
    if not prompt.endswith(own):
        raise WrongInput(
            "charpeval: the prompt does not end with the row's dialogue and knowledge; export it with its row"
        )
    before = prompt.removesuffix(own)
    load = {"path": data.path, **({"name": data.name} if data.name else {}), **data.more}
    return _dumped(
        {
            "task": task,
            "metadata": {"version": version},
            "custom_dataset": _Function("charpeval.dataset"),
            "dataset_kwargs": {"load": load, "before": before},
            "test_split": data.split,
            "output_type": "multiple_choice",
            "doc_to_text": "asked",
            "doc_to_choice": "choices",
            "doc_to_target": 0,
            "target_delimiter": "",
            "process_results": _Function("charpeval.process_results"),
            "metric_list": [
                _metric(
                    name if kind == "GTRS" else f"{name}_{kind}",
                    "charpeval.by_sequence" if name == "sequence" else None,
                    higher_is_better=kind == "GTRS",
                )
                for name in charpeval.SCORES
                for kind in charpeval.OPTION_TYPES
            ],
        }
    )


def harness_template(source: str, role: str, values: Mapping[str, str]) -> str:
    """The block of that name as a template of its own, for the harness; empty where there is no such block.

    Ours drop the line break behind a tag and the white space before one, and the white space around the whole; the
    harness's templates keep all, so it is taken out here. `values` are Jinja expressions by variable. Raises
    `WrongInput` for a text that is no template.
    """
    try:
        tokens = list(_environment().lex(source))
    except TemplateSyntaxError as error:
        raise WrongInput(f"prompt template: line {error.lineno}: {error.message}; correct it") from error
    body = _block(tokens, role)
    if not body:
        return ""
    given = "".join(f"{{% set {name} = {expression} %}}" for name, expression in values.items())
    return f"{given}{{% filter trim %}}{body}{{% endfilter %}}"


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


def _expressions(family: str, values: Mapping[str, Any]) -> dict[str, str]:
    """What a template is given, by a Jinja expression each, but for what has the same name in the document."""
    columns = COLUMNS_OF[family]
    fixed = {name: _literal(value) for name, value in values.items() if name not in columns}
    return {**fixed, **{name: one for name, one in columns.items() if name != one}}


def _literal(value: Any) -> str:
    """A JSON value as a Jinja expression."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_literal(name)}: {_literal(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _of_all(family: str, variants: Sequence[str], prompts: Mapping[str, HarnessPrompt]) -> HarnessPrompt:
    """The one prompt of all variants, with what is the same for all of them; the document tells them apart."""
    kept = [
        HarnessPrompt(
            one.template, one.max_tokens, {k: v for k, v in one.values.items() if k not in COLUMNS_OF[family]}
        )
        for one in (prompts[variant] for variant in variants)
    ]
    if any(one != kept[0] for one in kept):
        raise WrongInput(f"{family}: {', '.join(variants)} are not asked in one way; export one prompt for all of them")
    return kept[0]


def _source(data: HarnessData, version: str) -> dict[str, Any]:
    return {
        "metadata": {"version": version},
        "dataset_path": data.path,
        **({"dataset_name": data.name} if data.name else {}),
        **({"dataset_kwargs": dict(data.more)} if data.more else {}),
        "test_split": data.split,
    }


def _asked(family: str, prompt: HarnessPrompt) -> dict[str, Any]:
    """How a document is asked. Answers are greedy and end by themselves."""
    values = _expressions(family, prompt.values)
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


def _long_context(variant: str, prompt: HarnessPrompt) -> dict[str, Any]:
    """LV-Eval's variants are tasks of their own: their answers may be of different length."""
    return {
        "task": variant,
        **_asked("lveval", prompt),
        "doc_to_target": "{{ answers[0] }}",
        "process_results": _Function("lveval.process_results"),
        "metric_list": [_metric("score"), _metric("paper_score")],
    }


def _metric(name: str, aggregation: str | None = None, *, higher_is_better: bool = True) -> dict[str, Any]:
    return {
        "metric": name,
        "aggregation": _Function(aggregation) if aggregation else "mean",
        "higher_is_better": higher_is_better,
    }


def _dumped(made: Mapping[str, Any]) -> str:
    return yaml.dump(dict(made), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
