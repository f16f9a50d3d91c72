"""The eleven datasets of LV-Eval (table 2, appendix A), those of one's own, and how a model is asked about their rows.

This module needs the standard library alone: a release ships it as part of the scorer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Hops = Literal["single-hop", "multi-hop"]

LONGEST_DUREADER_ANSWER = 360  # appendix A: "answers are longer than 360 words" (characters, in Chinese)
DEPTHS = 200  # appendix A: "inserting the fact at 200 evenly spaced positions"
ANSWER_TOKENS, RECALL_TOKENS = 64, 16  # methods: the program's `max_new_tokens`; the second for fact recall
LEVELS = ("16k", "32k", "64k", "128k", "256k")  # section 3.1


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A dataset's name, source and features."""

    name: str  # in the configuration
    released: str  # in the released benchmark, without the level
    language: str
    hops: Hops
    pairs: int  # how many pairs the paper selects (table 2)
    original: str  # its source in the paper (appendix A)
    metric: str  # name of the released metric (`touchstone metric`)
    confusing_facts: bool = False
    replacements: int = 0  # how many rules the paper has; none if it replaces nothing
    keywords: bool = False  # whether keywords are marked in the answers
    scattered: bool = False
    """Whether the supporting documents are scattered among the distractors, and not kept together (section 3.2.1)."""
    titled: bool = False  # whether each document follows its title, which says whose page it is
    longest_answer: int | None = None  # words (characters) beyond which an answer is not selected
    unknown: bool = False  # whether questions that can be answered without the context are left out
    brief: bool = False  # whether the released prompt asks for the answer alone
    recalls_fact: bool = False  # whether it is a single fact at many places of a book
    answer_tokens: int = ANSWER_TOKENS  # longest answer of an evaluated model
    own: bool = False  # whether it is none of the paper's

    @property
    def kind(self) -> str:
        """Return the type of dataset in the tables (figure 4): confusing facts make QA a CQA."""
        if self.recalls_fact:
            return "fact recall"
        return f"{self.hops} {'CQA' if self.confusing_facts else 'QA'}"

    @property
    def features(self) -> dict[str, Any]:
        """Return what the rows of a dataset of one's own say of it: the rest of `own_dataset`."""
        return {
            "task": self.kind.lower().replace(" ", "-"), "metric": self.metric, "replacements": bool(self.replacements)
        }  # fmt: skip

    def at(self, level: str) -> str:
        """Return the released name with its level."""
        return f"{self.released}_{level}"


GATED_EN, GATED_ZH = "qa_f1_score_with_gold_ans", "qa_f1_zh_score_with_gold_ans"

DATASETS = (
    Dataset(
        name="hotpotwikiqa-mixup", released="hotpotwikiqa_mixup", language="en", hops="multi-hop", pairs=124,
        original="HotpotQA and 2WikiMultihopQA", metric=GATED_EN, confusing_facts=True, replacements=232,
        keywords=True, scattered=True, titled=True, brief=True,
    ),
    Dataset(
        name="loogle-SD-mixup", released="loogle_SD_mixup", language="en", hops="single-hop", pairs=160,
        original="LooGLE, short-dependency QA", metric=GATED_EN, keywords=True, brief=True,
    ),
    Dataset(
        name="loogle-CR-mixup", released="loogle_CR_mixup", language="en", hops="multi-hop", pairs=99,
        original="LooGLE, comprehension and reasoning", metric=GATED_EN, keywords=True, brief=True,
    ),
    Dataset(
        name="loogle-MR-mixup", released="loogle_MIR_mixup", language="en", hops="multi-hop", pairs=139,
        original="LooGLE, multiple information retrieval", metric=GATED_EN, keywords=True, brief=True,
    ),
    Dataset(
        name="multifieldqa-en-mixup", released="multifieldqa_en_mixup", language="en", hops="single-hop", pairs=101,
        original="LongBench, MultiFieldQA-en", metric=GATED_EN, confusing_facts=True, replacements=476,
        keywords=True, unknown=True, brief=True,
    ),
    Dataset(
        name="multifieldqa-zh-mixup", released="multifieldqa_zh_mixup", language="zh", hops="single-hop", pairs=133,
        original="LongBench, MultiFieldQA-zh", metric=GATED_ZH, confusing_facts=True, replacements=424,
        keywords=True, unknown=True, brief=True,
    ),
    Dataset(
        name="factrecall-en", released="factrecall_en", language="en", hops="single-hop", pairs=1,
        original="PG-19 and a written fact", metric="qa_f1_score", confusing_facts=True, replacements=3,
        keywords=True, recalls_fact=True, answer_tokens=RECALL_TOKENS,
    ),
    Dataset(
        name="factrecall-zh", released="factrecall_zh", language="zh", hops="single-hop", pairs=1,
        original="Journey to the West and a written fact", metric="qa_f1_zh_score", confusing_facts=True,
        replacements=3, keywords=True, recalls_fact=True, answer_tokens=RECALL_TOKENS,
    ),
    Dataset(
        name="cmrc-mixup", released="cmrc_mixup", language="zh", hops="single-hop", pairs=200,
        original="CMRC 2018", metric=GATED_ZH, replacements=786,
    ),
    Dataset(
        name="lic-mixup", released="lic_mixup", language="zh", hops="single-hop", pairs=197,
        original="Long-instruction-en2zh", metric=GATED_ZH, confusing_facts=True, keywords=True,
    ),
    Dataset(
        name="dureader-mixup", released="dureader_mixup", language="zh", hops="multi-hop", pairs=176,
        original="DuReader", metric="rouge_zh_score_blacklist", scattered=True,
        longest_answer=LONGEST_DUREADER_ANSWER,
    ),
)  # fmt: skip
BY_NAME = {dataset.name: dataset for dataset in DATASETS}  # by their names in the configuration
BY_RELEASED = {dataset.released: dataset for dataset in DATASETS}  # by their released names, without the level


# ---- datasets of one's own ----

Task = Literal["single-hop-qa", "single-hop-cqa", "multi-hop-qa", "multi-hop-cqa", "fact-recall"]
"""The types of datasets in figure 4: confusing facts make QA a CQA. Fact recall has some, too."""
OwnMetric = Literal["keyword-recall-f1", "f1", "rouge-l"]
METRICS_OF: Mapping[str, Mapping[OwnMetric, str]] = {
    "en": {"keyword-recall-f1": GATED_EN, "f1": "qa_f1_score"},
    "zh": {"keyword-recall-f1": GATED_ZH, "f1": "qa_f1_zh_score", "rouge-l": "rouge_zh_score_blacklist"},
}
"""By language, the released metrics that a dataset of one's own can have. ROUGE-L is the metric of dureader alone."""


OF_DATASET = ("dataset", "language", "features")
"""The fields of a context that say which dataset it is of; those of the paper have no features."""


def metrics_for(task: str, language: str) -> dict[OwnMetric, str]:
    """Return the metrics of a task in a language; the first is the paper's choice, as its program has it."""
    metrics = METRICS_OF[language]
    return {name: metrics[name] for name in (("f1", "keyword-recall-f1") if task == "fact-recall" else metrics)}


def own_dataset(name: str, language: str, *, task: str, metric: str, replacements: bool, pairs: int = 1) -> Dataset:
    """Return a dataset that is none of the paper's: it has what the paper's datasets of its task have.

    Table 2: the keyword-recall-based F1 has keywords marked in the answers. Section 3.2.1 and HotpotWikiQA: of a
    multi-hop dataset the supporting documents are scattered, each under its title. `metric` is a released one.
    """
    recalls_fact, multi_hop = task == "fact-recall", task.startswith("multi-hop")
    return Dataset(
        name=name,
        released=name,
        language=language,
        hops="multi-hop" if multi_hop else "single-hop",
        pairs=pairs,
        original="",
        metric=metric,
        confusing_facts=recalls_fact or task.endswith("-cqa"),
        replacements=int(replacements),
        keywords=recalls_fact or metric in (GATED_EN, GATED_ZH),
        scattered=multi_hop,
        titled=multi_hop,
        unknown=not recalls_fact,
        brief=not recalls_fact,
        recalls_fact=recalls_fact,
        answer_tokens=RECALL_TOKENS if recalls_fact else ANSWER_TOKENS,
        own=True,
    )


def dataset_of_row(row: Mapping[str, Any]) -> Dataset:
    """Return the dataset of a context, by its fields `OF_DATASET`.

    Raises `KeyError` if it is none of the paper's and has no features.
    """
    name = row["dataset"].rpartition("_")[0]  # without its level
    features = row.get("features")
    return own_dataset(name, row["language"], **features) if features else BY_RELEASED[name]


_LEVEL = re.compile(r"([1-9]\d{0,6})(k?)")


def words_of(level: str) -> int:
    """Return the words of a level: 16,000 for `16k`. Raises `ValueError` if `level` is no level."""
    written = _LEVEL.fullmatch(level)
    if written is None:
        raise ValueError(f"{level!r} is no level; write words as `16k` or `800`")
    return int(written[1]) * (1000 if written[2] else 1)


# ---- variants and ablations (tables 3 and A4 to A7) ----

Variant = Literal["context", "direct"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
Ablation = Literal["no-cfi", "no-kpr", "neither"]
"""A row without its confusing facts, without its replacements, or without both. Tables A4 to A7 call them
"w. KPR", "w. CFI" and "w.o. both"; a row as released is "w. both"."""
ABLATIONS: tuple[Ablation, ...] = get_args(Ablation)
WITHOUT_FACTS: tuple[Ablation, ...] = ("no-cfi", "neither")
WITHOUT_RULES: tuple[Ablation, ...] = ("no-kpr", "neither")


def ablations_of(dataset: Dataset, *, confused: bool) -> tuple[Ablation, ...]:
    """The ablations that change a row of the dataset (table 2), with or without confusing facts."""
    if confused and dataset.replacements:
        return ABLATIONS
    if confused:
        return ("no-cfi",)
    return ("no-kpr",) if dataset.replacements else ()


def variants_of(ablation: Ablation | None) -> tuple[Variant, ...]:
    """The variants of an ablation: without the context, only the replacements change the question."""
    return VARIANTS if ablation in (None, "no-kpr") else ("context",)
