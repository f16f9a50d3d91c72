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
import math
from collections import Counter
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
from flows.scoring.scorer import (
    Account,
    AllFailed,
    CannotScore,
    Cell,
    Row,
    Scores,
    Value,
    command_line,
    matched,
    mean,
    means,
    predictions_of,
    rows_of,
    run,
    show,
)
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

# ---- the tables ----


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
    by_id, account = {row["id"]: row for row in rows}, Account()
    if not by_id:
        raise CannotScore("rows: expected contexts, found none; check which build or release is scored")
    notes = [f"{metrics} metrics: {GATES[metrics]}"]
    notes += [f"{lang}: the blacklist is {blacklist.path}" for lang, blacklist in sorted((blacklists or {}).items())]
    scoring = Metrics(metrics, blacklists or {}, windows or {})
    replies = _replies(by_id, predictions, partial, scoring, account, notes)
    asked = [reply for reply in replies if reply.variant == "context"]
    released = [reply for reply in asked if reply.ablation == AS_RELEASED]
    changed = [reply for reply in asked if reply.changed]
    leaking = [reply for reply in replies if reply.ablation in KPR]
    tables = {
        "score by dataset": _averages(released, lambda reply: (reply.group, reply.dataset.name)),
        "score by level": _averages(released, lambda reply: (reply.group,)),
        "score by type": _averages(released, lambda reply: (reply.group, reply.dataset.kind)),
        "metric ablation": _metric_ablation(released),
        "fact recall by depth": _by_depth(asked),
        "CFI and KPR": _ablations(_beside(changed, lambda reply: reply.ablation != AS_RELEASED)),
        "leakage": _leakage(_beside(leaking, lambda reply: reply.variant == "direct")),
        SHARED: _shared_words(released),
        FACTS: _confusing_facts(by_id.values(), notes),
    }
    values = list(_values(asked, released))
    return Scores({name: cells for name, cells in tables.items() if cells}, notes, account, values)


def _replies(
    by_id: Mapping[str, Row],
    predictions: Iterable[Row],
    partial: bool,
    scoring: Metrics,
    account: Account,
    notes: list[str],
) -> list[Reply]:
    """The replies that fit; each ablation needs the rows that it changes."""
    by_ablation: dict[Ablation | None, list[Row]] = {}
    unchanged: Counter[str] = Counter()
    for prediction in predictions:
        ablation, row = ablation_of(prediction), by_id.get(prediction["id"])
        if ablation is not None and row is not None and not _is_changed(row, ablation):
            unchanged[ablation] += 1
        elif ablation in WITHOUT_RULES and row is not None and ORIGINAL not in row:
            raise CannotScore(
                f"predictions: {row['id']} {ablation}: replies without replacements are scored by `touchstone score`; "
                "leave them out here"
            )
        else:
            by_ablation.setdefault(ablation, []).append(prediction)
    notes += [
        f"{count:,} replies under {ablation} are left out: it changes nothing in their rows"
        for ablation, count in sorted(unchanged.items())
    ]
    replies: list[Reply] = []
    failed: AllFailed | None = None
    for ablation, under_it in (by_ablation or {None: []}).items():  # `matched` reports that there are no predictions
        asked = {id_: row for id_, row in by_id.items() if ablation is None or _is_changed(row, ablation)}
        try:
            replies += matched(asked, lambda row: VARIANTS, under_it, partial, scoring.reply, account, _may_lack)
        except AllFailed as error:  # of one ablation: the others are scored
            failed = error
    if failed is not None and not replies:
        raise failed
    return replies


def _may_lack(prompting: str | None) -> Set[str]:
    return set(VARIANTS) - set(variants_of(ablation_of({"prompting": prompting})))


def _is_changed(row: Row, ablation: Ablation) -> bool:
    return ablation in ablations_of(dataset_of(row), confused=bool(row["confusing_facts"]))


def _in_levels(cells: Iterable[Cell]) -> list[Cell]:
    """Cells by level, all levels together last, and then by row."""
    return sorted(
        cells, key=lambda cell: (math.inf if cell[1] == ALL_LEVELS else words_of(str(cell[1])), cell[0])
    )  # fmt: skip


def _averages(replies: Iterable[Reply], by: Callable[[Reply], tuple[str, ...]]) -> list[Cell]:
    """The mean over datasets of a dataset's score, at each level and over all levels of all of them.

    Figure 4a; by type of dataset, figure 4b; by dataset, tables A1 and A2 with figures A8 and A9. n counts the
    replies, of which a large dataset has more and weighs no more.
    """
    scores: dict[tuple[str, ...], list[float]] = {}
    for reply in replies:
        scores.setdefault((*by(reply), reply.dataset.name, reply.level), []).append(reply.score)
    averages: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for (*place, _, level), of_dataset in sorted(scores.items()):
        average = math.fsum(of_dataset) / len(of_dataset), len(of_dataset)
        for column in (level, ALL_LEVELS):
            averages.setdefault((" / ".join(place), column), []).append(average)
    return _in_levels(
        (row, column, mean([value for value, _ in values]), sum(count for _, count in values))
        for (row, column), values in averages.items()
    )


def _values(asked: Iterable[Reply], released: Sequence[Reply]) -> Iterator[Value]:
    """The score by level, and without and with each of `CHANGES` on the rows that were asked without it.

    Every reply weighs the same here: over several datasets the mean is not that of "score by level".
    """
    for reply in sorted(released, key=lambda reply: words_of(reply.level)):
        item = reply.pair if reply.depth is None else f"{reply.pair} {reply.depth}"
        yield Value(reply.group, "score", reply.level, item, reply.pair, reply.score, reply.row, "context")
    for change, ablation in CHANGES.items():
        without = [reply for reply in asked if reply.ablation == ablation]
        rows = {(reply.base, reply.row) for reply in without}
        changed = [reply for reply in released if (reply.base, reply.row) in rows]
        for at, replies in ((f"without {change}", without), (f"with {change}", changed)):
            for reply in replies:
                yield Value(
                    reply.base, f"score, {change}", at, reply.row, reply.pair, reply.score, reply.row, "context"
                )


def _metric_ablation(replies: Iterable[Reply]) -> list[Cell]:
    """Table A3: how much keywords and blacklist reduce the F1, beside the score that a model's window allows.

    The ceiling Lm/Ld, at most 1, is that of a model that sees Lm words of the Ld of a level (section 4.2).
    dureader, whose metric is ROUGE-L, is not in it.
    """
    return _in_levels(
        means(
            ((reply.group, reply.dataset.name, stage, reply.level), value)
            for reply in replies
            for stage, value in reply.stages.items()
        )
    )


def _by_depth(replies: Iterable[Reply]) -> list[Cell]:
    """Figure 5, under every ablation: a row for each of the 200 places of the fact."""
    return _in_levels(
        means(
            ((reply.group, reply.dataset.name, reply.depth, reply.level), reply.score)
            for reply in replies
            if reply.depth is not None
        )
    )


def _ablations(replies: Iterable[Reply]) -> list[Cell]:
    """Tables A4 to A7: the datasets that were asked under an ablation, as released and under each ablation.

    Of a dataset with confusing facts, the pairs that have some: in the others there is nothing to compare.
    "no-cfi" is the paper's "w. KPR", "no-kpr" its "w. CFI", "neither" its "w.o. both".
    """
    return _in_levels(
        means(((reply.base, reply.dataset.name, reply.ablation, reply.level), reply.score) for reply in replies)
    )


def _leakage(replies: Iterable[Reply]) -> list[Cell]:
    """Table 3: replies without the context beside those with it, with replacements (KPR) and without them.

    A reply without the context does not depend on the level: go by its column "all levels".
    """
    return _in_levels(
        means(
            ((reply.base, reply.dataset.name, _asked(reply), level), reply.score)
            for reply in replies
            for level in (reply.level, ALL_LEVELS)
        )
    )


def _asked(reply: Reply) -> str:
    return f"{reply.variant}{KPR[reply.ablation] if reply.dataset.replacements else ''}"


def _beside(replies: Sequence[Reply], which: Callable[[Reply], bool]) -> list[Reply]:
    """The replies of each model and dataset of which at least one is `which`."""
    wanted = {(reply.base, reply.dataset.name) for reply in replies if which(reply)}
    return [reply for reply in replies if (reply.base, reply.dataset.name) in wanted]


def _shared_words(replies: Iterable[Reply]) -> list[Cell]:
    """Section 3.3: the words that replies have most often in common with their answers.

    People mark the uninformative words (`lveval-blacklist`), which make your own blacklist.
    """
    shared: dict[str, Counter[str]] = {language: Counter() for language in WORDS}
    total: Counter[str] = Counter()
    for reply in replies:
        total[reply.language] += 1
        shared[reply.language].update(reply.shared)
    return [
        (f"{lang} / {word}", "replies", float(count), total[lang])
        for lang, counts in shared.items()
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_SHARED]
    ]


def _confusing_facts(rows: Iterable[Row], notes: list[str]) -> list[Cell]:
    """How many pairs of a dataset with confusing facts have two, one or none; n is the number of pairs."""
    pairs: dict[str, dict[str, int]] = {}
    for row in rows:
        dataset = dataset_of(row)
        if dataset.confusing_facts:
            pairs.setdefault(dataset.name, {})[row["pair_id"]] = len(row["confusing_facts"])
    cells: list[Cell] = []
    for name, facts in sorted(pairs.items()):
        having = Counter(min(number, 2) for number in facts.values())
        cells += ((name, column, float(having[at]), len(facts)) for at, column in enumerate(("none", "one", "two")))
        if having[0]:
            notes.append(
                f"{name}: {having[0]:,} of {len(facts):,} pairs have no confusing fact; CFI and KPR is over the others"
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
