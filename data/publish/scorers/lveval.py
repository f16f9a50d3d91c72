"""Scores replies to LV-Eval's contexts.

    python lveval.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Yuan et al., "LV-Eval: A Balanced Long-Context Benchmark with 5 Length Levels Up to 256K", 2024: section 4, figures 4,
5, A8 and A9, tables 3 and A1 to A5. Part of Touchstone; Apache License 2.0. Needs Python 3.10; for Chinese rows also
jieba (0.42.1), which divides texts into words.

A prediction's variant is context, or direct: the question alone. Scores are printed in per cent with two decimals, as
in the paper, and written (--output) as shares of 1. A reply is compared with the first answer, by its dataset's metric.
Metrics are those of the program that the authors released; `--metrics paper` takes those of their paper, which differ:

|                  | released                                              | paper                               |
|------------------|-------------------------------------------------------|-------------------------------------|
| gate             | keyword recall of at least 0.2 (en), 0.4 (zh)         | above 0.4 (en), 0.2 (zh)            |
| blacklist        | its words count as not recalled                       | its words are left out of the F1    |
| without keywords | en: no gate; zh: the answer's words are the keywords  | no gate                             |

A prediction's prompting can be the ablation "no-cfi" (asked without the confusing facts). Those that undo the
replacements, "no-kpr" and "neither", are scored by `touchstone score` alone, which can undo them.
"""

from __future__ import annotations

import argparse
import logging
import math
import re
import string
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from data.publish.scorers.common import (
    AllFailed,
    CannotScore,
    Cell,
    Row,
    Tables,
    command_line,
    fitting,
    group_of,
    mean,
    means,
    predictions_of,
    rows_of,
    tell,
)

COLUMNS = ("id", "dataset", "level", "depth", "language", "answers", "answer_keywords", "pair_id", "confusing_facts")
VARIANTS = ("context", "direct")
FORM = {"id": "THE ROW'S id", "variant": "context", "prediction": "in Paris"}
"""A row of predictions."""
AS_RELEASED = "as released"
WITHOUT_FACTS = "no-cfi"
WITHOUT_RULES = ("no-kpr", "neither")
ALL_LEVELS = "all levels"
SHARED = "words shared with answers"
FACTS = "confusing facts"
MOST_SHARED = 100  # section 3.3: "the top 100 words that matched the GT answer most frequently"
STAGES = ("F1", "with keywords", "with keywords and blacklist")
"""The rows of table A3."""
CEILING = "ceiling Lm/Ld"
RELEASED_GATES = {"en": 0.2, "zh": 0.4}
PAPER_GATES = {"en": 0.4, "zh": 0.2}  # section 3.3, "exceeds a certain threshold"
EPSILON = 1e-8
"""In the denominator of ROUGE-L's F, which so stays a little below 1."""


class Dataset(NamedTuple):
    """What scoring knows of a dataset (table 2)."""

    name: str
    kind: str
    metric: str
    """As released."""
    facts: bool
    """Whether it has confusing facts."""
    replaced: bool
    keywords: bool


GATED_EN, GATED_ZH, ROUGE = "qa_f1_score_with_gold_ans", "qa_f1_zh_score_with_gold_ans", "rouge_zh_score_blacklist"
DATASETS = {
    "hotpotwikiqa_mixup": Dataset("hotpotwikiqa-mixup", "multi-hop CQA", GATED_EN, True, True, True),
    "loogle_SD_mixup": Dataset("loogle-SD-mixup", "single-hop QA", GATED_EN, False, False, True),
    "loogle_CR_mixup": Dataset("loogle-CR-mixup", "multi-hop QA", GATED_EN, False, False, True),
    "loogle_MIR_mixup": Dataset("loogle-MR-mixup", "multi-hop QA", GATED_EN, False, False, True),
    "multifieldqa_en_mixup": Dataset("multifieldqa-en-mixup", "single-hop CQA", GATED_EN, True, True, True),
    "multifieldqa_zh_mixup": Dataset("multifieldqa-zh-mixup", "single-hop CQA", GATED_ZH, True, True, True),
    "factrecall_en": Dataset("factrecall-en", "fact recall", "qa_f1_score", True, True, True),
    "factrecall_zh": Dataset("factrecall-zh", "fact recall", "qa_f1_zh_score", True, True, True),
    "cmrc_mixup": Dataset("cmrc-mixup", "single-hop QA", GATED_ZH, False, True, False),
    "lic_mixup": Dataset("lic-mixup", "single-hop CQA", GATED_ZH, True, False, True),
    "dureader_mixup": Dataset("dureader-mixup", "multi-hop QA", ROUGE, False, False, False),
}
"""By their names in the data, without the level."""

_ENGLISH_BLACKLIST = """
and to of in her was with for it from is that his he by she they or at because be on are their what as had
were about being this who but have has when which does
"""
_CHINESE_BLACKLIST = """
的 和 是 等 在 年 可以 为 与 ‰ 了 或 一种 月 c 至 日 有 进行 于 不 中 × 根据 小 由
亩 也 要 指 法 会 元 主要 以及 通过 首先 对 然后 号 以 所 后 丁 包括 无 将 用 能 形
方面 因素 位于 而 从 到 一定 用于 但 使用 让 具有 并 亿元 万元 上 类 基于 才 来 地 片
其他 个 或者 变得 时 给 你 使 条 受 已经 带 度
"""
BLACKLISTS: Mapping[str, Set[str]] = {
    "en": frozenset(_ENGLISH_BLACKLIST.split()),
    "zh": frozenset(_CHINESE_BLACKLIST.split()),
}
"""Words that tell nothing of an answer, as released (section 3.3)."""
CHINESE_PUNCTUATION = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃"
    "》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
"""What is deleted beside ASCII punctuation, as released; 《 〈 〉 and · are not among it."""
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BOTH_PUNCTUATIONS = str.maketrans("", "", string.punctuation + CHINESE_PUNCTUATION)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


# ---- words ----


def english_words(text: str) -> list[str]:
    """The words of SQuAD's normal form: lower case, no ASCII punctuation, no articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split()


def chinese_segments(text: str) -> list[str]:
    """The stretches that jieba divides `text` into."""
    return list(_segmenter().cut(text, cut_all=False))


def normal_segments(text: str) -> list[str]:
    """jieba's segments in lower case, without punctuation and white space: some are empty then."""
    return ["".join(one.lower().translate(_BOTH_PUNCTUATIONS).split()) for one in chinese_segments(text)]


def chinese_words(text: str) -> list[str]:
    """The normal segments, but for the empty ones."""
    return [word for word in normal_segments(text) if word]


@cache
def _segmenter() -> Any:
    try:
        import jieba
    except ImportError as error:
        raise CannotScore("Chinese texts are divided into words by jieba: pip install jieba==0.42.1") from error
    jieba.setLogLevel(logging.WARNING)
    return jieba.Tokenizer()


WORDS: Mapping[str, Callable[[str], list[str]]] = {"en": english_words, "zh": chinese_words}


# ---- metrics: of a prediction and an answer ----

Metric = Callable[[str, str, "str | None", str, "Set[str] | None"], float]
"""(prediction, answer, keywords, lang, blacklist) -> score; by the released blacklist where none is given."""


def f1(prediction: str, answer: str, lang: str, left_out: Set[str] = frozenset()) -> float:
    """F1 = 2PR / (P + R) on bags of words; 0 where no word is shared."""
    predicted, gold = ([word for word in WORDS[lang](text) if word not in left_out] for text in (prediction, answer))
    shared = sum((Counter(predicted) & Counter(gold)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def recall(prediction: str, asked: Sequence[str], lang: str, not_recalled: Set[str] = frozenset()) -> float:
    """The share of the words asked for that the prediction has."""
    shared = Counter(WORDS[lang](prediction)) & Counter(asked)
    return sum(count for word, count in shared.items() if word not in not_recalled) / len(asked) if asked else 0.0


def released_f1(prediction: str, answer: str, keywords: str | None, lang: str, not_recalled: Set[str]) -> float:
    """Released: behind the gate; keywords of which no word is left are no gate."""
    asked = WORDS[lang](keywords or (answer if lang == "zh" else ""))
    if asked and recall(prediction, asked, lang, not_recalled) < RELEASED_GATES[lang]:
        return 0.0
    return f1(prediction, answer, lang)


def paper_f1(prediction: str, answer: str, keywords: str | None, lang: str, left_out: Set[str]) -> float:
    """Paper: behind the gate, without the words left out."""
    asked = WORDS[lang](keywords or "")
    if asked and recall(prediction, asked, lang) <= PAPER_GATES[lang]:
        return 0.0
    return f1(prediction, answer, lang, left_out)


def rouge_l(hypothesis: str, reference: str) -> float:
    """F = 2PR / (P + R + 1e-8), P = |U| / n and R = |U| / m; 0 where a text has no sentence.

    U are the words on a longest common subsequence of any sentence of the one text with any of the other; m and n
    are the distinct words of reference and hypothesis. Sentences end at full stops.
    """
    ours, theirs = (
        [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece] for text in (hypothesis, reference)
    )
    if not ours or not theirs:
        return 0.0
    union = {word for gold in theirs for predicted in ours for word in common_subsequence(gold, predicted)}
    precision = len(union) / len({word for sentence in ours for word in sentence})
    recalled = len(union) / len({word for sentence in theirs for word in sentence})
    return 2 * precision * recalled / (precision + recalled + EPSILON)


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """One longest common subsequence: of several, the one that backtracking from the ends meets."""
    lengths = [array("i", [0] * (len(second) + 1))]
    for word in first:
        above, row = lengths[-1], array("i", [0])
        for column, other in enumerate(second):
            row.append(above[column] + 1 if word == other else max(above[column + 1], row[column]))
        lengths.append(row)
    found = []
    place, column = len(first), len(second)
    while place and column:
        if first[place - 1] == second[column - 1]:
            found.append(first[place - 1])
            place, column = place - 1, column - 1
        elif lengths[place - 1][column] > lengths[place][column - 1]:
            place -= 1
        else:
            column -= 1
    return found[::-1]


def _spaced(text: str, blacklist: Set[str] | None = None) -> str:
    """Chinese words with spaces between; with a blacklist divided twice and without its words, as released.

    Spaces that stood between the words stay as empty words: texts of nothing but blacklisted words can be alike.
    """
    segments = " ".join(chinese_segments(text))
    if blacklist is None:
        return segments
    return " ".join(word for word in normal_segments(segments) if word not in blacklist)


METRICS: Mapping[str, Metric] = {
    # Released: F1, the share of the answer's words, and F1 behind the gate.
    "qa_f1_score": lambda p, a, k, lang, b: f1(p, a, "en"),
    "qa_f1_zh_score": lambda p, a, k, lang, b: f1(p, a, "zh"),
    "qa_f1_score_factrecall": lambda p, a, k, lang, b: recall(p, WORDS["en"](a), "en"),
    "qa_f1_zh_score_factrecall": lambda p, a, k, lang, b: recall(p, WORDS["zh"](a), "zh"),
    "qa_f1_score_with_gold_ans": lambda p, a, k, lang, b: released_f1(p, a, k, "en", listed(b, "en")),
    "qa_f1_zh_score_with_gold_ans": lambda p, a, k, lang, b: released_f1(p, a, k, "zh", listed(b, "zh")),
    "rouge_score": lambda p, a, k, lang, b: rouge_l(p, a),
    "rouge_zh_score": lambda p, a, k, lang, b: rouge_l(_spaced(p), _spaced(a)),
    "rouge_zh_score_blacklist": lambda p, a, k, lang, b: rouge_l(
        _spaced(p, listed(b, "zh")), _spaced(a, listed(b, "zh"))
    ),
    # The middle row of table A3, and the paper's own.
    "released_f1_with_keywords": lambda p, a, k, lang, b: released_f1(p, a, k, lang, frozenset()),
    "paper_f1_with_keywords": lambda p, a, k, lang, b: paper_f1(p, a, k, lang, frozenset()),
    "keyword_recall_f1": lambda p, a, k, lang, b: paper_f1(p, a, k, lang, listed(b, lang)),
    "f1_with_blacklist": lambda p, a, k, lang, b: f1(p, a, lang, listed(b, lang)),
}


def listed(blacklist: Set[str] | None, lang: str) -> Set[str]:
    """The blacklist, or the released one."""
    return BLACKLISTS[lang] if blacklist is None else blacklist


def metric_of(dataset: Dataset, metrics: str) -> str:
    """The dataset's metric: the released, or that of section 4."""
    if metrics == "released" or dataset.metric == ROUGE:
        return dataset.metric
    return "keyword_recall_f1" if dataset.keywords else "f1_with_blacklist"


def dataset_of(row: Row) -> Dataset:
    """The dataset that the row is of."""
    try:
        return DATASETS[row["dataset"].removesuffix(f"_{row['level']}")]
    except KeyError as error:
        raise CannotScore(f"rows: {row['dataset']} is no dataset of LV-Eval; name the data of LV-Eval") from error


def words_of(level: str) -> int:
    """The words of a level: 16,000 of `16k`."""
    return int(level.removesuffix("k")) * (1000 if level.endswith("k") else 1)


# ---- the tables ----


def score(
    rows: Iterable[Row],
    predictions: Iterable[Row],
    partial: bool = False,
    metrics: str = "released",
    blacklists: Mapping[str, Set[str]] | None = None,
    windows: Mapping[str, int] | None = None,
) -> tuple[Tables, list[str]]:
    """Every table, and notes to their reader. `windows` are the words that models hold, by their names."""
    by_id, notes = {row["id"]: row for row in rows}, [f"{metrics} metrics"]
    if not by_id:
        raise CannotScore("rows: expected contexts, found none; name the data of LV-Eval")
    replies = [
        _reply(by_id[one["id"]], one, metrics, blacklists or {}, windows or {})
        for one in _fitting(by_id, predictions, partial, notes)
    ]
    asked = [one for one in replies if one["variant"] == "context"]
    released = [one for one in asked if one["ablation"] == AS_RELEASED]
    direct = [one for one in replies if one["ablation"] == AS_RELEASED]
    tables = {
        "score by dataset": _averages(released, "group", "dataset"),
        "score by level": _averages(released, "group"),
        "score by type": _averages(released, "group", "kind"),
        "metric ablation": _metric_ablation(released),
        "fact recall by depth": _by_level([one for one in asked if one["depth"]], "group", "dataset", "depth"),
        "CFI and KPR": _by_level(
            _beside([one for one in asked if one["changed"]], lambda one: one["ablation"] != AS_RELEASED),
            "base",
            "dataset",
            "ablation",
        ),
        "leakage": _leakage(_beside(direct, lambda one: one["variant"] == "direct")),
        SHARED: _shared_words(released),
        FACTS: _confusing_facts(by_id.values(), notes),
    }
    return {name: cells for name, cells in tables.items() if cells}, notes


def _fitting(by_id: Mapping[str, Row], predictions: Iterable[Row], partial: bool, notes: list[str]) -> list[Row]:
    """The predictions that fit; each ablation needs those rows that it changes."""
    given: dict[str | None, list[Row]] = {}
    unchanged = 0
    for one in predictions:
        prompting = one.get("prompting")
        if prompting in WITHOUT_RULES:
            raise CannotScore(
                f"predictions: {one['id']} {prompting}: replies without replacements are scored by `touchstone score`; "
                "leave them out here"
            )
        ablation = WITHOUT_FACTS if prompting == WITHOUT_FACTS else None
        if ablation and one["id"] in by_id and not has_facts(by_id[one["id"]]):
            unchanged += 1
        else:
            given.setdefault(ablation, []).append(one)
    if unchanged:
        notes.append(f"{unchanged} replies under {WITHOUT_FACTS} are left out: it changes nothing in their rows")
    kept: list[Row] = []
    failed: AllFailed | None = None
    for ablation, ours in (given or {None: []}).items():
        rows = {id_: row for id_, row in by_id.items() if ablation is None or has_facts(row)}
        try:
            kept += fitting(rows, lambda row: VARIANTS, ours, partial, notes, _may_lack)
        except AllFailed as error:  # with or without confusing facts: what there is of the others is scored
            failed = error
    if failed is not None and not kept:
        raise failed
    return kept


def has_facts(row: Row) -> bool:
    """Whether confusing facts stand in the row: of some pairs none was to be had."""
    return dataset_of(row).facts and bool(row["confusing_facts"])


def _may_lack(prompting: str | None) -> Sequence[str]:
    """Without a context, a question without the confusing facts is no other question."""
    return ("direct",) if prompting == WITHOUT_FACTS else ()


def _reply(
    row: Row, one: Row, metrics: str, blacklists: Mapping[str, Set[str]], windows: Mapping[str, int]
) -> dict[str, Any]:
    """Where a reply belongs, its score, and that of each stage of the metric in the rows of table A3."""
    dataset, lang, answer = dataset_of(row), row["language"], row["answers"][0]
    ablated = one.get("prompting") == WITHOUT_FACTS

    def by(metric: str) -> float:
        return METRICS[metric](one["prediction"], answer, row["answer_keywords"] or None, lang, blacklists.get(lang))

    stages: dict[str, float] = {}
    if one["variant"] == "context" and not ablated and dataset.metric != ROUGE:
        plain, gated = ("qa_f1_score", GATED_EN) if lang == "en" else ("qa_f1_zh_score", GATED_ZH)
        last = gated if metrics == "released" else "keyword_recall_f1"
        stages = dict(zip(STAGES, map(by, (plain, f"{metrics}_f1_with_keywords", last)), strict=True))
        if (model := one.get("model", "model")) in windows:
            stages[CEILING] = min(1.0, windows[model] / words_of(row["level"]))
    return {
        "dataset": dataset.name,
        "kind": dataset.kind,
        "level": row["level"],
        "depth": None if row["depth"] is None else f"{row['depth']:03}",
        "changed": has_facts(row) or not dataset.facts,
        "variant": one["variant"],
        "group": group_of(one),
        "base": group_of({**one, "prompting": None} if ablated else one),
        "ablation": WITHOUT_FACTS if ablated else AS_RELEASED,
        "language": lang,
        "words": (WORDS[lang](one["prediction"]), WORDS[lang](answer)),
        "replaced": dataset.replaced,
        "score": by(metric_of(dataset, metrics)),
        "stages": stages,
    }


def _in_levels(cells: Iterable[Cell]) -> list[Cell]:
    """Cells by level, all levels together last, and then by row."""
    return sorted(
        cells, key=lambda cell: (math.inf if cell[1] == ALL_LEVELS else words_of(cell[1]), cell[0])
    )  # fmt: skip


def _by_level(replies: Iterable[Row], *by: str) -> list[Cell]:
    """Means over replies: a row for each combination of `by`, a column for each level. Tables A4, A5, figure 5."""
    return _in_levels(means(((*(one[name] for name in by), one["level"]), one["score"]) for one in replies))


def _averages(replies: Iterable[Row], *by: str) -> list[Cell]:
    """The mean over datasets of a dataset's score, at each level and over all levels of all of them.

    Figure 4; by dataset, tables A1 and A2 with figures A8 and A9.
    """
    scores: dict[tuple[str, ...], list[float]] = {}
    for one in replies:
        scores.setdefault((*(one[name] for name in by), one["dataset"], one["level"]), []).append(one["score"])
    joined: dict[tuple[str, str], tuple[list[float], list[int]]] = {}
    for (*place, _, level), own in sorted(scores.items()):
        for column in (level, ALL_LEVELS):
            means_, counts = joined.setdefault((" / ".join(place), column), ([], []))
            means_.append(math.fsum(own) / len(own))
            counts.append(len(own))
    return _in_levels((row, column, mean(means_), sum(counts)) for (row, column), (means_, counts) in joined.items())


def _metric_ablation(replies: Iterable[Row]) -> list[Cell]:
    """Table A3: what keywords and blacklist take off the F1, beside the score that a model's window allows."""
    return _in_levels(
        means(
            ((one["group"], one["dataset"], stage, one["level"]), value)
            for one in replies
            for stage, value in one["stages"].items()
        )
    )


def _leakage(replies: Iterable[Row]) -> list[Cell]:
    """Table 3: replies without the context beside those with it."""
    return _in_levels(
        means(
            ((one["base"], one["dataset"], f"{one['variant']}{', with KPR' if one['replaced'] else ''}", level),
             one["score"])
            for one in replies
            for level in (one["level"], ALL_LEVELS)
        )
    )  # fmt: skip


def _beside(replies: Sequence[Row], which: Callable[[Row], bool]) -> list[Row]:
    """The replies of each model and dataset of which at least one is `which`."""
    wanted = {(one["base"], one["dataset"]) for one in replies if which(one)}
    return [one for one in replies if (one["base"], one["dataset"]) in wanted]


def _shared_words(replies: Iterable[Row]) -> list[Cell]:
    """Section 3.3: the words that replies have most often in common with their answers."""
    shared: dict[str, Counter[str]] = {"en": Counter(), "zh": Counter()}
    total: Counter[str] = Counter()
    for one in replies:
        predicted, gold = one["words"]
        total[one["language"]] += 1
        shared[one["language"]].update(set(predicted) & set(gold))
    return [
        (f"{lang} / {word}", "replies", float(count), total[lang])
        for lang, own in shared.items()
        for word, count in sorted(own.items(), key=lambda one: (-one[1], one[0]))[:MOST_SHARED]
    ]


def _confusing_facts(rows: Iterable[Row], notes: list[str]) -> list[Cell]:
    """How many pairs of a dataset that is to have confusing facts have two of them, one or none; n is all of them."""
    pairs: dict[str, dict[str, int]] = {}
    for row in rows:
        if dataset_of(row).facts:
            pairs.setdefault(dataset_of(row).name, {})[row["pair_id"]] = len(row["confusing_facts"])
    cells: list[Cell] = []
    for name, facts in sorted(pairs.items()):
        having = Counter(min(number, 2) for number in facts.values())
        cells += ((name, column, float(having[at]), len(facts)) for at, column in enumerate(("none", "one", "two")))
        if having[0]:
            notes.append(
                f"{name}: {having[0]:,} of {len(facts):,} pairs have no confusing fact; CFI and KPR is over the others"
            )
    return cells


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def process_results(doc: Row, results: Sequence[str]) -> dict[str, float]:
    """The score of a reply by the released metric of its dataset, and by that of the paper."""
    dataset, lang = dataset_of(doc), doc["language"]
    scores = {
        metrics: METRICS[metric_of(dataset, metrics)](
            results[0], doc["answers"][0], doc["answer_keywords"] or None, lang, None
        )
        for metrics in ("released", "paper")
    }
    return {"score": scores["released"], "paper_score": scores["paper"]}


def _blacklist(text: str) -> tuple[str, Set[str]]:
    lang, _, path = text.partition("=")
    words = frozenset(Path(path).read_text(encoding="utf-8-sig").lower().split())
    if lang not in BLACKLISTS or not words:
        raise argparse.ArgumentTypeError(f"{text}: expected en=FILE or zh=FILE, a file with a word a line")
    return lang, words


def _window(text: str) -> tuple[str, int]:
    model, _, words = text.rpartition("=")
    return model, int(words)


def main() -> None:
    """The command line."""
    parser = command_line(__doc__)
    parser.add_argument("--metrics", choices=("released", "paper"), default="released", help="whose variant of them")
    parser.add_argument("--blacklist", type=_blacklist, action="append", default=[], metavar="LANG=FILE",
                        help="words in place of the released ones, a word a line")  # fmt: skip
    parser.add_argument("--window", type=_window, action="append", default=[], metavar="MODEL=WORDS",
                        help="words that the model holds, for the ceiling of table A3")  # fmt: skip
    given = parser.parse_args()
    rows, predictions = rows_of(given.data, COLUMNS), predictions_of(given.predictions, FORM)
    scored = score(rows, predictions, given.partial, given.metrics, dict(given.blacklist), dict(given.window))
    tell(*scored, given.output, in_per_cent=lambda table: table not in (SHARED, FACTS))


if __name__ == "__main__":
    try:
        main()
    except (CannotScore, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
