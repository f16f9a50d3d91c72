"""How a row is put to a model: with its context and without, and with what makes it hard undone (section 4).

The prompts are in our own words, in the shape of the paper's program: instruction, article, instruction
again, question, cue. So a prompt that is cut in its middle (`truncation.py`) keeps its instructions. Answers
are greedy. Departure: without a context every answer may have 64 tokens, those of fact recall too.
"""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

from flows.construct.engine import Request
from flows.families.lveval.datasets import BY_NAME, BY_RELEASED, Dataset
from flows.llm.model import Prompt, Text
from schemas.base import Frozen
from schemas.lveval import LongContext

HERE = Path(__file__).parent / "prompts"

Variant = Literal["context", "direct"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
Ablation = Literal["no-cfi", "no-kpr", "neither"]
"""A row without its confusing facts, without its replacements, or without both. Tables A4 to A7 call them
"w. KPR", "w. CFI" and "w.o. both"; a row as released is "w. both"."""
ABLATIONS: tuple[Ablation, ...] = get_args(Ablation)
WITHOUT_FACTS: tuple[Ablation, ...] = ("no-cfi", "neither")
WITHOUT_RULES: tuple[Ablation, ...] = ("no-kpr", "neither")


class InContext(Frozen):
    """A question, and the context to answer it from."""

    context: str
    question: str


class Direct(Frozen):
    """A question to be answered without a context (table 3)."""

    question: str


def _prompt(name: str, inputs: type[Frozen], dataset: str) -> Prompt[Text]:
    tokens = BY_NAME[dataset].answer_tokens
    return Prompt(name, 1, Text, HERE, role="evaluated", temperature=0.0, max_tokens=tokens, inputs=inputs)


ANSWER = MappingProxyType(
    {
        "en": _prompt("answer_en", InContext, "hotpotwikiqa-mixup"),
        "zh": _prompt("answer_zh", InContext, "cmrc-mixup"),
    }
)
RECALL = MappingProxyType(
    {"en": _prompt("recall_en", InContext, "factrecall-en"), "zh": _prompt("recall_zh", InContext, "factrecall-zh")}
)
DIRECT = MappingProxyType(
    {"en": _prompt("direct_en", Direct, "hotpotwikiqa-mixup"), "zh": _prompt("direct_zh", Direct, "cmrc-mixup")}
)
ANSWERS: tuple[Prompt[Any], ...] = (*ANSWER.values(), *RECALL.values(), *DIRECT.values())


class InferenceSettings(Protocol):
    """The settings that inference depends on."""

    @property
    def ablations(self) -> tuple[Ablation, ...]: ...


def dataset_of(row: LongContext) -> Dataset:
    """The dataset that the row is of."""
    return BY_RELEASED[row.dataset.removesuffix(f"_{row.level}")]


def ablations_of(dataset: Dataset, *, confused: bool) -> tuple[Ablation, ...]:
    """The ablations that change something in a row of the dataset (table 2): `confused` tells that it has facts."""
    if confused and dataset.replacements:
        return ABLATIONS
    if confused:
        return ("no-cfi",)
    return ("no-kpr",) if dataset.replacements else ()


def variants_of(ablation: Ablation | None) -> tuple[Variant, ...]:
    """What is asked under an ablation: a question without a context is another one only without replacements."""
    return VARIANTS if ablation in (None, "no-kpr") else ("context",)


def requests(row: LongContext, settings: InferenceSettings) -> Sequence[Request]:
    """The row as released, and under each of the configured ablations that change something in it."""
    changing = ablations_of(dataset_of(row), confused=bool(row.confusing_facts))
    chosen: list[Ablation | None] = [None, *(one for one in settings.ablations if one in changing)]
    return [_request(row, variant, ablation) for ablation in chosen for variant in variants_of(ablation)]


def _request(row: LongContext, variant: Variant, ablation: Ablation | None) -> Request:
    question = without_rules(row, row.input) if ablation in WITHOUT_RULES else row.input
    if variant == "direct":
        return Request(variant, DIRECT[row.language], Direct(question=question), ablation)
    prompts = RECALL if dataset_of(row).recalls_fact else ANSWER
    return Request(
        variant, prompts[row.language], InContext(context=context_of(row, ablation), question=question), ablation
    )


def context_of(row: LongContext, ablation: Ablation | None) -> str:
    """The row's context, as it stands or under an ablation."""
    context = without_facts(row) if ablation in WITHOUT_FACTS else row.context
    return without_rules(row, context) if ablation in WITHOUT_RULES else context


def without_facts(row: LongContext) -> str:
    """The context without its confusing facts; in English, the space that parts each from what follows goes too."""
    kept, begin = [], 0
    for fact in (one for one in row.positions if one.kind == "confusing"):
        kept.append(row.context[begin : fact.start])
        begin = fact.end + (row.language != "zh" and row.context[fact.end : fact.end + 1] == " ")
    return "".join([*kept, row.context[begin:]])


def without_rules(row: LongContext, text: str) -> str:
    """A text of the row as it was before replacement."""
    if not row.replacements:
        return text
    from flows.language.keywords import undo

    return undo(text, [(rule.old, rule.new) for rule in row.replacements], row.language)
