"""How a model is asked about a row, with its context and without, and how replies are scored (section 4).

Each dataset has a prompt of its own, `answer_<dataset>`, which a user's template can replace. In our own words it asks
what the authors' program asks:

| dataset                                       | passages that matter | the answer alone |
|-----------------------------------------------|----------------------|------------------|
| hotpotwikiqa-mixup                            | some                 | yes              |
| loogle-SD-, -CR-, -MR-, multifieldqa-en-mixup | one                  | yes              |
| multifieldqa-zh-mixup                         | one                  | yes, in Chinese  |
| cmrc-, lic-, dureader-mixup                   | one                  | not asked for    |
| factrecall-en, factrecall-zh                  | nothing is said      | not asked for    |

A dataset of one's own is asked by its task and language: one passage matters, in a multi-hop dataset some
(`answer_single-hop_en`, ...), and the answer alone is wanted; fact recall has the prompt of factrecall.

The program says "one" even for datasets whose answers need several passages (loogle-CR, loogle-MR, dureader); so do we,
because results are compared with tables A1 and A2. Prompts have the program's shape: instruction, article, instruction
again, question, cue. So a prompt cut in its middle (`truncation.py`) keeps its instructions. Answers are greedy.

How questions are asked without a context (table 3) was not released. We ask for the answer alone if
the dataset's own prompt does, so that the two differ only in the context. Departure: without a context every answer may
have 64 tokens, in fact recall too.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from data.publish.benchmark import HubScorer, HubTask, ReadyColumn
from data.publish.harness import Metric, ReplyScoring
from flows.construct.evaluation import Evaluation, Measure, Redrawn, Request, Scorer, Selection, columns
from flows.families.lveval import datasets
from flows.families.lveval.datasets import DATASETS, Ablation, Dataset, Hops, Variant
from flows.families.lveval.score import COLUMNS, FACTS, FORM, OPTIONAL, SHARED
from flows.families.lveval.score import score as scores_of
from flows.families.lveval.scored_reply import ORIGINAL, read_blacklist
from flows.families.lveval.settings import LVEvalSettings
from flows.language.keywords import undo
from flows.llm.model import Prompt, Text
from flows.scoring.scorer import CannotScore, Row
from flows.scoring.tables import Layout, ScoreTables, score_tables
from schemas.base import Frozen
from schemas.errors import WrongInput
from schemas.lveval import LongContext
from schemas.prediction import Prediction

HERE = Path(__file__).parent / "prompts"
SCORES = "scores of replies with the context"
DIRECT_TOKENS = 64  # longest answer to a question without a context


class InContext(Frozen):
    """A question, and the context to answer it from."""

    context: str
    question: str


class Direct(Frozen):
    """A question to be answered without a context (table 3)."""

    question: str
    brief: bool  # whether the answer alone is asked for


def _prompt(name: str, version: int, inputs: type[Frozen], tokens: int) -> Prompt[Text]:
    return Prompt(name, version, Text, HERE, role="evaluated", temperature=0.0, max_tokens=tokens, inputs=inputs)


ANSWER = MappingProxyType(  # by the dataset's name
    {dataset.name: _prompt(f"answer_{dataset.name}", 1, InContext, dataset.answer_tokens) for dataset in DATASETS}
)
DIRECT = MappingProxyType(  # by the language
    {language: _prompt(f"direct_{language}", 2, Direct, DIRECT_TOKENS) for language in ("en", "zh")}
)
OWN_ANSWER = MappingProxyType(  # of datasets of one's own, by hops and language
    {
        (hops, language): _prompt(f"answer_{hops}_{language}", 1, InContext, datasets.ANSWER_TOKENS)
        for hops in get_args(Hops)
        for language in ("en", "zh")
    }
)
ANSWERS: tuple[Prompt[Any], ...] = (*ANSWER.values(), *OWN_ANSWER.values(), *DIRECT.values())


def requests(row: LongContext, settings: LVEvalSettings) -> Sequence[Request]:
    """Return the requests for a row, as released and under each configured ablation that changes it."""
    changing = datasets.ablations_of(datasets.dataset_of_row(_released(row)), confused=bool(row.confusing_facts))
    chosen: list[Ablation | None] = [None, *(ablation for ablation in settings.ablations if ablation in changing)]
    return [_request(row, variant, ablation) for ablation in chosen for variant in datasets.variants_of(ablation)]


def _request(row: LongContext, variant: Variant, ablation: Ablation | None) -> Request:
    dataset = datasets.dataset_of_row(_released(row))
    question = without_rules(row, row.input) if ablation in datasets.WITHOUT_RULES else row.input
    if variant == "direct":
        return Request(variant, DIRECT[row.language], Direct(question=question, brief=dataset.brief), ablation)
    asked = InContext(context=context_of(row, ablation), question=question)
    return Request(variant, _prompt_of(dataset), asked, ablation)


def _prompt_of(dataset: Dataset) -> Prompt[Text]:
    """Return the dataset's prompt: of one's own, that of its kind."""
    if not dataset.own:
        return ANSWER[dataset.name]
    if dataset.recalls_fact:
        return ANSWER[f"factrecall-{dataset.language}"]
    return OWN_ANSWER[dataset.hops, dataset.language]


def context_of(row: LongContext, ablation: Ablation | None) -> str:
    """Return the row's context, unchanged or under an ablation."""
    context = without_facts(row) if ablation in datasets.WITHOUT_FACTS else row.context
    return without_rules(row, context) if ablation in datasets.WITHOUT_RULES else context


def without_facts(row: LongContext) -> str:
    """Return the context without its confusing facts; in English, without the space after each."""
    kept, begin = [], 0
    for fact in (position for position in row.positions if position.kind == "confusing"):
        kept.append(row.context[begin : fact.start])
        begin = fact.end + (row.language != "zh" and row.context[fact.end : fact.end + 1] == " ")
    return "".join([*kept, row.context[begin:]])


def without_rules(row: LongContext, text: str) -> str:
    """Return a text of the row as it was before replacement."""
    if not row.replacements:
        return text
    return undo(text, [(rule.old, rule.new) for rule in row.replacements], row.language)


# ---- scores ----

LAYOUTS: Mapping[str, Layout] = {
    "score by dataset": Layout("model / dataset", "level"),
    "score by level": Layout("model", "level"),
    "score by type": Layout("model / type of dataset", "level"),
    "metric ablation": Layout("model / dataset / stage of the metric", "level"),
    "fact recall by depth": Layout("model / dataset / place of the fact", "level"),
    "CFI and KPR": Layout("model / dataset / ablation", "level"),
    "leakage": Layout("model / dataset / what was asked", "level"),
    SHARED: Layout("language / word", "replies that share it with their answer"),
    FACTS: Layout("dataset", "pairs by how many confusing facts they have"),
}
_released = columns(*COLUMNS, *OPTIONAL)


def scored(row: LongContext) -> Row:
    """The part of a row that scoring needs: its answer and keywords also as they were before replacement."""
    answers, keywords = [without_rules(row, row.answers[0])], without_rules(row, row.answer_keywords)
    original: dict[str, Any] = {"answers": answers, "answer_keywords": keywords}
    return {**_released(row), ORIGINAL: original}


def score(
    rows: Iterable[Row], predictions: Iterable[Prediction], partial: bool, settings: LVEvalSettings
) -> ScoreTables:
    """Return every table. Raises `ScoreError` for unfit predictions, and `WrongInput` for an unreadable blacklist."""
    try:
        blacklists = {str(language): read_blacklist(path) for language, path in settings.blacklists.items()}
    except CannotScore as error:
        raise WrongInput(str(error)) from error
    score_rows = functools.partial(
        scores_of, metrics=settings.metrics, blacklists=blacklists, windows=settings.context_windows
    )  # fmt: skip
    return score_tables(
        score_rows, rows, predictions, partial, LAYOUTS.__getitem__,
        lambda table: "count" if table in (SHARED, FACTS) else "per cent",
    )  # fmt: skip


def reply_scoring(row: Row, prompting: str | None, variants: Sequence[str]) -> Sequence[ReplyScoring]:
    """The harness's tasks, one for each variant: their answers may be of different length.

    An ablation changes rows, which the harness cannot.
    """
    about = {"context": "each question with its context", "direct": "each question without its context"}
    return [
        ReplyScoring(
            about=about[variant],
            variants=[variant],
            columns={"context": "context", "question": "input"},
            target="{{ answers[0] }}",
            metrics=[Metric("score"), Metric("paper_score")],
            values="`score` goes by the metrics of the program that the authors released, `paper_score` by those of "
            "their paper; a group's value is the mean over its datasets and levels, as in the paper. Give the harness "
            "a model whose window holds the level: it cuts longer prompts at their beginning, where the authors (and "
            "`touchstone evaluate`) cut them in the middle.",
            suffix="" if variant == "context" else variant,
            weight_by_size=False,
        )
        for variant in (variants if prompting is None else ())
    ]


READY = (
    ReadyColumn("answer", "The first of the right answers", "answers", lambda answers: answers[0] if answers else ""),
)


def hub_tasks(row: LongContext) -> Sequence[HubTask]:
    """A task with the context, and one without. Replies share words with the answer; in Chinese, they hold it."""
    by_words = row.language == "en" and not datasets.dataset_of_row(_released(row)).recalls_fact
    return [
        HubTask(
            variant=variant,
            input="input",
            shows=("context",) if variant == "context" else (),
            target="answer",
            scorers=(HubScorer("f1" if by_words else "includes"),),
            figure=("score", row.level) if variant == "context" else None,
        )
        for variant in datasets.VARIANTS
    ]


EVALUATION = Evaluation(
    parts=("contexts",),
    settings=("metrics", "blacklists", "ablations", "context_windows"),
    selection=Selection("levels", lambda row: row.level),
    prompts=ANSWERS,
    requests=requests,
    level="level",
    scored=scored,
    score=score,
    scorer=Scorer(
        FORM,
        "`prediction` is the whole reply. `context` asks with the context, `direct` with the question alone.",
        score=scores_of,
        replies=reply_scoring,
        needs="Chinese rows need jieba, which divides texts into words: `pip install jieba==0.42.1`.",
        packages=("jieba==0.42.1",),
    ),
    hub_tasks=hub_tasks,
    limits=(
        "The contexts of LV-Eval mix texts of many sources, with confusing facts and replaced names that "
        "are false on purpose.",
        "A level of LV-Eval counts words (in Chinese: characters), not the tokens of a model.",
    ),
    headline={
        "score by level": "mean over datasets of their score with the context, from 0 to 1, by the authors' program"
    },
    measures=(
        Measure("score", "length", SCORES, "level", "per cent"),
        Measure("score, confusing facts", "near facts", SCORES, "confusing facts", "per cent"),
        Measure("score, replacement", "evidence", SCORES, "keywords and phrases", "per cent"),
    ),
    redrawn=Redrawn("contexts", "score", None, ("pair_id", "sources"), "replacements", "replacements"),
)
