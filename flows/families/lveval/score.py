"""Scores replies to LV-Eval's contexts.

    python lveval.py PREDICTIONS.jsonl DATA [DATA ...]        (DATA: Parquet, which needs pyarrow, or JSONL)

Yuan et al., "LV-Eval: A Balanced Long-Context Benchmark with 5 Length Levels Up to 256K", 2024: section 4, figures 4,
5, A8 and A9, tables 3 and A1 to A7. Part of Touchstone; Apache License 2.0. Needs Python 3.10; for Chinese rows also
jieba (0.42.1), which divides texts into words.

A prediction's variant is context, or direct: the question alone. Scores are printed in per cent with two decimals, as
in the paper, and written (--output) as shares of 1; n is the number of replies that a score is taken over. A reply is
compared with the first answer, by its dataset's metric. Metrics are those of the program that the authors released;
`--metrics paper` takes those of their paper, which differ (see the table on keyword recall below).

A prediction's prompting can be an ablation: "no-cfi" (asked without the confusing facts), "no-kpr" (without the
replacements) or "neither". They stand in tables of their own, with the rows as released beside them. The last two are
compared with question, answer and keywords from before the replacements, which only `touchstone score` knows.
"""

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from flows.families.lveval.datasets import VARIANTS, WITHOUT_RULES, Ablation, ablations_of, variants_of, words_of
from flows.families.lveval.scored_reply import (
    AS_RELEASED,
    GATES,
    ORIGINAL,
    Blacklist,
    Metrics,
    Reply,
    ablation_of,
    dataset_of,
    metric_of,
    read_blacklist,
)
from flows.scoring.metrics import METRICS
from flows.scoring.on_disk import Lines, Rows, Spooled
from flows.scoring.scorer import (
    Account,
    AllFailed,
    CannotScore,
    Cell,
    Means,
    Row,
    Scores,
    command_line,
    matched,
    predictions_of,
    rows_of,
    run,
    show,
)
from flows.scoring.values import Value, Values
from flows.scoring.words import WORDS

COLUMNS = ("id", "dataset", "level", "depth", "language", "answers", "answer_keywords", "pair_id", "confusing_facts")
OPTIONAL = ("features",)  # the rows of a dataset that is none of the paper's have it
FORM = {"id": "THE ROW'S id", "variant": "context", "prediction": "in Paris"}  # a row of predictions
ALL_LEVELS = "all levels"
SHARED = "words shared with answers"
FACTS = "confusing facts"  # this table and the one above hold counts; the others hold scores
MOST_SHARED = 100  # section 3.3: "the top 100 words that matched the GT answer most frequently"
KPR = {AS_RELEASED: ", with KPR", "no-kpr": ", without KPR"}
"""Table 3's names of its ablations."""
CHANGES: Mapping[str, Ablation] = {"confusing facts": "no-cfi", "replacement": "no-kpr"}
"""What was done to a row, and the ablation without it: models are compared by both."""
LATER = 10**12
"""More than the words of any level: the values of changes come after those of levels."""

# ---- the tables ----

Key = tuple[str, str, str, str]
"""Model, dataset, what else names the line, and level."""


def score(
    rows: Iterable[Row],
    predictions: Iterable[Row],
    partial: bool = False,
    metrics: str = "released",
    blacklists: Mapping[str, Blacklist] | None = None,
    windows: Mapping[str, int] | None = None,
) -> Scores:
    """Return every table. `windows` are the words that models hold, by their names.

    Raises `CannotScore` if a group (model, prompting, shots) lacks a reply to a row under a variant, has two, or has
    one to a row or variant that does not exist. Under an ablation, the rows are those that it changes; replies to other
    rows are left out, and a note says so. With `partial`, faulty replies are left out, and of two the first counts.
    """
    by_id, account, values = Rows((row["id"], row) for row in rows), Account(), Values()
    if not len(by_id):
        raise CannotScore("rows: expected contexts, found none; check which build or release is scored")
    notes = [f"{metrics} metrics: {GATES[metrics]}"]
    notes += [f"{lang}: the blacklist is {blacklist.path}" for lang, blacklist in sorted((blacklists or {}).items())]
    scoring = Metrics(metrics, blacklists or {}, windows or {})
    scores, means, changed = Means(), {table: Means() for table in MEANS}, Lines(6)
    shared: dict[str, Counter[str]] = {language: Counter() for language in WORDS}
    total: Counter[str] = Counter()
    for number, reply in enumerate(_replies(by_id, predictions, partial, scoring, account, notes)):
        for table, added in MEANS.items():
            for key, value in added(reply):
                means[table].add(key, value)
        if reply.variant == "context":
            changed.add([(reply.base, reply.row, reply.pair, reply.ablation, reply.score, number)])
        if _is_released(reply):
            scores.add((reply.group, reply.dataset.kind, reply.dataset.name, reply.level), reply.score)
            shared[reply.language].update(reply.shared)
            total[reply.language] += 1
            values.add([_value(number, reply)])
    values.add(_change_values(changed))
    tables = {
        "score by dataset": _averages(scores, lambda group, kind, dataset: (group, dataset)),
        "score by level": _averages(scores, lambda group, kind, dataset: (group,)),
        "score by type": _averages(scores, lambda group, kind, dataset: (group, kind)),
        **{table: _in_levels(means[table].cells()) for table in ("metric ablation", "fact recall by depth")},
        "CFI and KPR": _beside(means["CFI and KPR"], lambda ablation: ablation != AS_RELEASED),
        "leakage": _beside(means["leakage"], lambda asked: asked.startswith("direct")),
        SHARED: _shared_words(shared, total),
        FACTS: _confusing_facts(by_id, notes),
    }
    return Scores({name: cells for name, cells in tables.items() if cells}, notes, account, values)


def _replies(
    by_id: Rows, predictions: Iterable[Row], partial: bool, scoring: Metrics, account: Account, notes: list[str]
) -> Iterator[Reply]:
    """The replies that fit; each ablation needs the rows that it changes."""
    by_ablation: defaultdict[Ablation | None, Spooled] = defaultdict(Spooled)
    unchanged: Counter[str] = Counter()
    for prediction in predictions:
        ablation = ablation_of(prediction)
        row = by_id.get(prediction["id"]) if ablation is not None else None
        if ablation is not None and row is not None and not _is_changed(row, ablation):
            unchanged[ablation] += 1
        elif ablation in WITHOUT_RULES and row is not None and ORIGINAL not in row:
            raise CannotScore(
                f"predictions: {row['id']} {ablation}: replies without replacements are scored by `touchstone score`; "
                "leave them out here"
            )
        else:
            by_ablation[ablation].append(prediction)
    notes += [
        f"{count:,} replies under {ablation} are left out: it changes nothing in their rows"
        for ablation, count in sorted(unchanged.items())
    ]
    number = 0
    failed: AllFailed | None = None
    groups = by_ablation or {None: Spooled()}  # `matched` reports that there are no predictions
    for ablation, asked in groups.items():

        def variants(row: Row, ablation: Ablation | None = ablation) -> Sequence[str]:
            return VARIANTS if ablation is None or _is_changed(row, ablation) else ()

        try:
            for reply in matched(by_id, variants, asked, partial, scoring.reply, account, _may_lack):
                number += 1
                yield reply
        except AllFailed as error:  # of one ablation: the others are scored
            failed = error
    if failed is not None and not number:
        raise failed


def _may_lack(prompting: str | None) -> Set[str]:
    return set(VARIANTS) - set(variants_of(ablation_of({"prompting": prompting})))


def _is_changed(row: Row, ablation: Ablation) -> bool:
    return ablation in ablations_of(dataset_of(row), confused=bool(row["confusing_facts"]))


def _in_levels(cells: Iterable[Cell]) -> list[Cell]:
    """Cells by level, all levels together last, and then by row."""
    return sorted(
        cells, key=lambda cell: (math.inf if cell[1] == ALL_LEVELS else words_of(str(cell[1])), cell[0])
    )  # fmt: skip


def _averages(scores: Means, by: Callable[[str, str, str], tuple[str, ...]]) -> list[Cell]:
    """The mean over datasets of a dataset's score, at each level and over all levels of all of them.

    Figure 4a; by type of dataset, figure 4b; by dataset, tables A1 and A2 with figures A8 and A9. n counts the
    replies, of which a large dataset has more and weighs no more. `scores` are by model, type, dataset and level.
    """
    averages, numbers = Means(), Counter[tuple[str, ...]]()
    for (*place, level), score, number in scores:
        for column in (level, ALL_LEVELS):
            key = (*by(*place), column)
            averages.add(key, score)
            numbers[key] += number
    return _in_levels((" / ".join(key[:-1]), key[-1], average, numbers[key]) for key, average, _ in averages)


def _value(number: int, reply: Reply) -> tuple[float, int, Value]:
    """The score by level.

    Every reply weighs the same here: over several datasets the mean is not that of "score by level".
    """
    item = reply.pair if reply.depth is None else f"{reply.pair} {reply.depth}"
    value = Value(reply.group, "score", reply.level, item, reply.pair, reply.score, reply.row, "context")
    return words_of(reply.level), number, value


def _change_values(asked: Lines) -> Iterator[tuple[float, int, Value]]:
    """The score without and with each of `CHANGES`, on the rows that were asked without it."""
    for (model, row), lines in asked.groups(2):
        replies = list(lines)
        for rank, (change, ablation) in enumerate(CHANGES.items()):
            if not any(of_reply == ablation for _, of_reply, _, _ in replies):
                continue
            for pair, of_reply, score, number in replies:
                if of_reply in (ablation, AS_RELEASED):
                    at = f"{'with' if of_reply == AS_RELEASED else 'without'} {change}"
                    value = Value(model, f"score, {change}", at, row, pair, score, row, "context")
                    yield LATER + 2 * rank + (of_reply == AS_RELEASED), number, value


def _is_released(reply: Reply) -> bool:
    return reply.variant == "context" and reply.ablation == AS_RELEASED


def _metric_ablation(reply: Reply) -> Iterator[tuple[Key, float]]:
    """Table A3: how much keywords and blacklist reduce the F1, beside the score that a model's window allows.

    The ceiling Lm/Ld, at most 1, is that of a model that sees Lm words of the Ld of a level (section 4.2).
    dureader, whose metric is ROUGE-L, is not in it.
    """
    if _is_released(reply):
        for stage, value in reply.stages.items():
            yield (reply.group, reply.dataset.name, stage, reply.level), value


def _by_depth(reply: Reply) -> Iterator[tuple[Key, float]]:
    """Figure 5, under every ablation: a row for each of the 200 places of the fact."""
    if reply.variant == "context" and reply.depth is not None:
        yield (reply.group, reply.dataset.name, reply.depth, reply.level), reply.score


def _ablations(reply: Reply) -> Iterator[tuple[Key, float]]:
    """Tables A4 to A7: the datasets that were asked under an ablation, as released and under each ablation.

    Of a dataset with confusing facts, the pairs that have some: in the others there is nothing to compare.
    "no-cfi" is the paper's "w. KPR", "no-kpr" its "w. CFI", "neither" its "w.o. both".
    """
    if reply.variant == "context" and reply.changed:
        yield (reply.base, reply.dataset.name, reply.ablation, reply.level), reply.score


def _leakage(reply: Reply) -> Iterator[tuple[Key, float]]:
    """Table 3: replies without the context beside those with it, with replacements (KPR) and without them.

    A reply without the context does not depend on the level: go by its column "all levels".
    """
    if reply.ablation in KPR:
        asked = f"{reply.variant}{KPR[reply.ablation] if reply.dataset.replacements else ''}"
        for level in (reply.level, ALL_LEVELS):
            yield (reply.base, reply.dataset.name, asked, level), reply.score


MEANS: Mapping[str, Callable[[Reply], Iterator[tuple[Key, float]]]] = {
    "metric ablation": _metric_ablation,
    "fact recall by depth": _by_depth,
    "CFI and KPR": _ablations,
    "leakage": _leakage,
}
"""What a reply adds to each of these tables."""


def _beside(means: Means, which: Callable[[str], bool]) -> list[Cell]:
    """The cells of each model and dataset of which at least one line is `which`."""
    wanted = {key[:2] for key, _, _ in means if which(key[2])}
    return _in_levels((" / ".join(key[:-1]), key[-1], mean, number) for key, mean, number in means if key[:2] in wanted)


def _shared_words(shared: Mapping[str, Counter[str]], total: Mapping[str, int]) -> list[Cell]:
    """Section 3.3: the words that replies have most often in common with their answers.

    People mark the uninformative words (`lveval-blacklist`), which make your own blacklist.
    """
    return [
        (f"{lang} / {word}", "replies", float(count), total[lang])
        for lang, counts in shared.items()
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_SHARED]
    ]


def _confusing_facts(rows: Rows, notes: list[str]) -> list[Cell]:
    """How many pairs of a dataset with confusing facts have two, one or none; n is the number of pairs."""
    facts = Rows()
    for _, row in rows:
        dataset = dataset_of(row)
        if dataset.confusing_facts:
            facts.add(json.dumps([dataset.name, row["pair_id"]]), [dataset.name, len(row["confusing_facts"])])
    pairs: dict[str, Counter[int]] = {}
    for _, (name, number) in facts:
        pairs.setdefault(name, Counter())[min(number, 2)] += 1
    cells: list[Cell] = []
    for name, having in sorted(pairs.items()):
        number = having.total()
        cells += ((name, column, float(having[at]), number) for at, column in enumerate(("none", "one", "two")))
        if having[0]:
            notes.append(
                f"{name}: {having[0]:,} of {number:,} pairs have no confusing fact; CFI and KPR is over the others"
            )
    return cells


# ---- for Inspect (`inspect_tasks.py` beside this file) ----


def grade(row: Row, variant: str, reply: str) -> float:
    """Return the score of a reply, with the context or without it, by the released metric of its dataset."""
    return process_results(row, [reply])["score"]


# ---- for lm-evaluation-harness (the YAML files beside this one) ----


def process_results(doc: Row, results: Sequence[str]) -> dict[str, float]:
    """The score of a reply by the released metric of its dataset, and by that of the paper."""
    dataset, answer, keywords = dataset_of(doc), doc["answers"][:1], doc["answer_keywords"] or None
    scores = {
        metrics: METRICS[metric_of(dataset, metrics)](results[0], answer, keywords, doc["language"])
        for metrics in GATES
    }
    return {"score": scores["released"], "paper_score": scores["paper"]}


def _blacklist(text: str) -> tuple[str, Blacklist]:
    lang, _, path = text.partition("=")
    if lang not in WORDS:
        raise argparse.ArgumentTypeError(f"{text}: expected en=FILE or zh=FILE, a file with one word per line")
    return lang, read_blacklist(path)


def _window(text: str) -> tuple[str, int]:
    model, _, words = text.rpartition("=")
    return model, int(words)


def main() -> None:
    """The command line."""
    parser = command_line(__doc__)
    parser.add_argument("--metrics", choices=tuple(GATES), default="released", help="whose variant of them")
    parser.add_argument("--blacklist", type=_blacklist, action="append", default=[], metavar="LANG=FILE",
                        help="words in place of the released ones, one word per line")  # fmt: skip
    parser.add_argument("--window", type=_window, action="append", default=[], metavar="MODEL=WORDS",
                        help="words that the model holds, for the ceiling of table A3")  # fmt: skip
    arguments = parser.parse_args()
    scores = score(
        rows_of(arguments.data, COLUMNS, OPTIONAL),
        predictions_of(arguments.predictions, FORM),
        arguments.partial,
        arguments.metrics,
        dict(arguments.blacklist),
        dict(arguments.window),
    )
    show(scores, arguments.output, in_per_cent=lambda table: table not in (SHARED, FACTS))


if __name__ == "__main__":
    run(main)
