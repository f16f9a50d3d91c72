"""LV-Eval's scores by dataset, level and type, and the paper's ablations (section 4; appendices B and C).

Scores are shares of 1, which are shown in per cent with two decimals, as the paper prints them; n is the number of
replies that a score is taken over.
A reply is scored against the first answer, by the metric of its dataset (`metric_of`). Under an ablation
that undoes the replacements, question, answer and keywords are those from before.

Tables of figure 4 and A1 to A3 hold the rows as released. "confusing facts" counts pairs; it and the shared words are
the tables whose values are no scores. The ablations (`Prediction.prompting` is "no-cfi",
"no-kpr" or "neither") stand in tables of their own, with the rows as released beside them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import pandas as pd

from flows.families.lveval.datasets import BY_NAME, Dataset
from flows.families.lveval.inference import (
    ABLATIONS,
    VARIANTS,
    WITHOUT_RULES,
    ablations_of,
    dataset_of,
    variants_of,
    without_rules,
)
from flows.families.lveval.settings import Ablation, words_of
from flows.scoring.qa import METRICS
from flows.scoring.tables import ALL_LEVELS, AllFailed, Layout, ScoreError, ScoreTables, Unit, cells, fitting, means
from flows.scoring.words import chinese_words, english_words, read_blacklist
from schemas.base import Frozen
from schemas.lveval import LongContext
from schemas.prediction import Prediction

MetricsVariant = Literal["released", "paper"]
SHARED = "words shared with answers"
FACTS = "confusing facts"
NUMBERS = ("none", "one", "two")
"""The columns of that table, by the number of facts."""
MOST_SHARED = 100  # section 3.3: "the top 100 words that matched the GT answer most frequently"
TOKENS = {"en": english_words, "zh": chinese_words}
BY_DEPTH = "fact recall by depth"
LAYOUTS: Mapping[str, Layout] = {
    "score by dataset": Layout("model / dataset", "level"),
    "score by level": Layout("model", "level"),
    "score by type": Layout("model / type of dataset", "level"),
    "metric ablation": Layout("model / dataset / stage of the metric", "level"),
    BY_DEPTH: Layout("model / dataset / place of the fact", "level"),
    "CFI and KPR": Layout("model / dataset / ablation", "level"),
    "leakage": Layout("model / dataset / what was asked", "level"),
    SHARED: Layout("language / word", "replies that share it with their answer"),
    FACTS: Layout("dataset", "pairs by how many confusing facts they have"),
}
CEILING = "ceiling Lm/Ld"
AS_RELEASED = "as released"
KPR = {AS_RELEASED: ", with KPR", "no-kpr": ", without KPR"}
"""What table 3 calls the ablations that it holds."""
PLAIN: Mapping[str, str] = {"en": "qa_f1_score", "zh": "qa_f1_zh_score"}
WITH_KEYWORDS: Mapping[MetricsVariant, str] = {
    "released": "released_f1_with_keywords",
    "paper": "paper_f1_with_keywords",
}
WITH_BLACKLIST: Mapping[MetricsVariant, Mapping[str, str]] = {
    "released": {"en": "qa_f1_score_with_gold_ans", "zh": "qa_f1_zh_score_with_gold_ans"},
    "paper": {"en": "keyword_recall_f1", "zh": "keyword_recall_f1"},
}
STAGES = ("F1", "with keywords", "with keywords and blacklist")
"""The rows of table A3."""

METRICS_SAID: Mapping[MetricsVariant, str] = {
    "released": "keyword recall of at least 0.2 (en), 0.4 (zh), as the program of the authors has it",
    "paper": "keyword recall above 0.4 (en), 0.2 (zh), F1 without blacklisted words, as section 3.3 has it",
}
"""How a reader of the tables is told of the metrics."""


class ScoreSettings(Protocol):
    """The settings that scoring depends on."""

    @property
    def metrics(self) -> MetricsVariant: ...
    @property
    def context_windows(self) -> Mapping[str, int] | None:
        """Words that a model's window holds, by the model's name in the predictions."""
        ...

    @property
    def blacklists(self) -> Mapping[Literal["en", "zh"], str]:
        """Files of words that take the place of the released ones, by language."""
        ...


class Asked(Frozen):
    """What a reply is compared with."""

    answer: str
    keywords: str
    """Empty where the row has none."""


class ScoredContext(Frozen):
    """What scoring keeps of a row; its context, which is nearly all of it, is not."""

    id: str
    dataset: str
    """Name in the configuration and in the paper."""
    level: str
    depth: int | None
    language: str
    released: Asked
    original: Asked
    """From before replacement."""
    pair_id: str
    confusing_facts: int
    """How many it has: two, or fewer where none was to be had."""

    @classmethod
    def of(cls, row: LongContext) -> "ScoredContext":
        """The part of `row` that is kept."""
        answer, keywords = row.answers[0], row.answer_keywords
        return cls(
            id=row.id,
            dataset=dataset_of(row).name,
            level=row.level,
            depth=row.depth,
            language=row.language,
            released=Asked(answer=answer, keywords=keywords),
            original=Asked(answer=without_rules(row, answer), keywords=without_rules(row, keywords)),
            pair_id=row.pair_id,
            confusing_facts=len(row.confusing_facts),
        )


def metric_of(dataset: Dataset, variant: MetricsVariant) -> str:
    """Name of the dataset's metric: that of the released program, or that of section 4.

    Section 4: ROUGE-L with the blacklist for dureader, F1 with the blacklist for cmrc, and the
    keyword-recall-based F1 for the others, fact recall among them.
    """
    if variant == "released" or _is_rouge(dataset):
        return dataset.metric
    return "keyword_recall_f1" if dataset.keywords else "f1_with_blacklist"


def _is_rouge(dataset: Dataset) -> bool:
    return dataset.metric.startswith("rouge")


def score(
    rows: Iterable[ScoredContext], predictions: Iterable[Prediction], partial: bool, settings: ScoreSettings
) -> ScoreTables:
    """Every table.

    Raises `ScoreError` where a group (model, prompting, shots) lacks a reply to a row under a variant, has
    two, or has one to a row or variant that is not there, and `WrongInput` for a blacklist that is none. Under
    an ablation, the rows are those that it changes (`ablations_of`); replies to other rows are
    left out, and said in the notes. "no-cfi" and "neither" need no reply without a context. With `partial`,
    faulty replies are left out, and of two the first counts.
    """
    found = list(rows)
    if not found:
        raise ScoreError("rows: expected contexts, found none; check which build is scored")
    notes = [f"{settings.metrics} metrics: {METRICS_SAID[settings.metrics]}"]
    notes += [f"{language}: the blacklist is {path}" for language, path in sorted(settings.blacklists.items())]
    blacklists: dict[str, Set[str]] = {
        language: read_blacklist(Path(path)) for language, path in settings.blacklists.items()
    }
    given = _replies(found, predictions, partial, notes)
    replies = pd.DataFrame(_line(reply, settings, blacklists) for reply in given)
    asked = replies[replies["variant"] == "context"]
    released = asked[asked["ablation"] == AS_RELEASED]
    changed = asked[asked["changed"]]
    undone = replies[replies["ablation"].isin(list(KPR))]
    made: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], pd.DataFrame]] = {
        "score by dataset": (_by_dataset, released),
        "score by level": (_averages, released),
        "score by type": (_averages_by_type, released),
        "metric ablation": (_metric_ablation, released[released[STAGES[0]].notna()]),
        BY_DEPTH: (_by_depth, asked[asked["depth"].notna()]),
        "CFI and KPR": (_ablations, _beside(changed, changed["ablation"] != AS_RELEASED)),
        "leakage": (_leakage, _beside(undone, undone["variant"] == "direct")),
    }
    frames = {name: table(chosen) for name, (table, chosen) in made.items() if not chosen.empty}
    if not (shared := _shared_words(given)).empty:
        frames[SHARED] = shared
    if not (facts := _confusing_facts(found, notes)).empty:
        frames[FACTS] = facts
    units: dict[str, Unit] = {name: "count" if name in (SHARED, FACTS) else "per cent" for name in frames}
    return ScoreTables.of(frames, notes, units=units, layouts=LAYOUTS)


def heatmap(scored: ScoreTables, group: str, dataset: str) -> pd.DataFrame:
    """Figure 5's grid of a group and a fact-recall dataset: a line for each depth, a column for each level.

    Depths are numbers in order; a place without a reply is not a number. Raises `KeyError` where fact recall
    was not scored.
    """
    grid = scored.frames[BY_DEPTH]
    start = f"{group} / {dataset} / "
    chosen = grid[[str(row).startswith(start) for row in grid.index]]
    depths = [int(str(row).removeprefix(start)) for row in chosen.index]
    return chosen.set_axis(pd.Index(depths, name="depth")).sort_index()


# ---- replies ----


@dataclass(frozen=True)
class Reply:
    """A model's reply to a row under a variant, used whole."""

    row: ScoredContext
    variant: str
    model: str
    group: str
    base: str
    """The group without its ablation."""
    ablation: Ablation | None
    output: str

    @property
    def asked(self) -> Asked:
        """What it is compared with."""
        return self.row.original if self.ablation in WITHOUT_RULES else self.row.released


def _replies(
    rows: Sequence[ScoredContext], predictions: Iterable[Prediction], partial: bool, notes: list[str]
) -> list[Reply]:
    by_id = {row.id: row for row in rows}
    given: dict[Ablation | None, list[Prediction]] = {}
    unchanged: Counter[str] = Counter()
    for one in predictions:
        ablation = ablation_of(one)
        row = by_id.get(one.id)
        if ablation is not None and row is not None and not _has(row, ablation):
            unchanged[ablation] += 1
        else:
            given.setdefault(ablation, []).append(one)
    notes += [
        f"{count:,} replies under {ablation} are left out: it changes nothing in their rows"
        for ablation, count in sorted(unchanged.items())
    ]
    if not given:
        given[None] = []  # `fitting` says that there are none
    replies: list[Reply] = []
    failed: AllFailed | None = None
    for ablation, ours in given.items():
        try:
            replies += _fitting(by_id, ours, partial, ablation)
        except AllFailed as error:  # of one ablation: the others are scored
            failed = error
    if failed is not None and not replies:
        raise failed
    return replies


def _fitting(
    rows: Mapping[str, ScoredContext], predictions: Iterable[Prediction], partial: bool, ablation: Ablation | None
) -> list[Reply]:
    spared = set(VARIANTS) - set(variants_of(ablation))
    asked = {id_: row for id_, row in rows.items() if ablation is None or _has(row, ablation)}
    return fitting(asked, lambda row: VARIANTS, predictions, partial, _reply, may_lack=lambda prompting: spared)


def _has(row: ScoredContext, ablation: Ablation) -> bool:
    return ablation in ablations_of(BY_NAME[row.dataset], confused=row.confusing_facts > 0)


def ablation_of(prediction: Prediction) -> Ablation | None:
    """The ablation that a prediction's prompting names; any other prompting asks about the row as released."""
    return next((one for one in ABLATIONS if one == prediction.prompting), None)


def _reply(row: ScoredContext, one: Prediction) -> Reply:
    ablation = ablation_of(one)
    base = one.group if ablation is None else one.model_copy(update={"prompting": None}).group
    return Reply(row, one.variant, one.model, one.group, base, ablation, one.prediction)


def _line(reply: Reply, settings: ScoreSettings, blacklists: Mapping[str, Set[str]]) -> dict[str, object]:
    """Where a reply belongs, its score, and that of each stage of the metric in the rows of table A3."""
    row, asked = reply.row, reply.asked
    dataset, variant, own = BY_NAME[row.dataset], settings.metrics, blacklists.get(row.language)

    def by(metric: str) -> float:
        return METRICS[metric](reply.output, (asked.answer,), asked.keywords or None, row.language, own)

    stages = dict.fromkeys((*STAGES, CEILING), float("nan"))
    if reply.variant == "context" and reply.ablation is None and not _is_rouge(dataset):
        metrics = (PLAIN[row.language], WITH_KEYWORDS[variant], WITH_BLACKLIST[variant][row.language])
        stages |= {stage: by(metric) for stage, metric in zip(STAGES, metrics, strict=True)}
        if settings.context_windows and reply.model in settings.context_windows:
            stages[CEILING] = min(1.0, settings.context_windows[reply.model] / words_of(row.level))
    return {
        "id": row.id,
        "dataset": dataset.name,
        "kind": dataset.kind,
        "level": row.level,
        "depth": row.depth,
        "changed": row.confusing_facts > 0 or not dataset.confusing_facts,
        "variant": reply.variant,
        "group": reply.group,
        "base": reply.base,
        "ablation": reply.ablation or AS_RELEASED,
        "score": by(metric_of(dataset, variant)),
        **stages,
    }


# ---- tables ----


def _shared_words(replies: Iterable[Reply]) -> pd.DataFrame:
    """Section 3.3: the words that replies have most often in common with their answers.

    People mark the uninformative ones (`lveval-blacklist`), which make a blacklist (setting `blacklists`).
    """
    shared: dict[str, Counter[str]] = {language: Counter() for language in TOKENS}
    total: Counter[str] = Counter()
    for reply in replies:
        if reply.variant == "context" and reply.ablation is None:
            language, tokens = reply.row.language, TOKENS[reply.row.language]
            total[language] += 1
            shared[language].update(set(tokens(reply.output)) & set(tokens(reply.asked.answer)))
    lines = [
        {"row": f"{language} / {word}", "column": "replies", "value": float(count), "n": total[language]}
        for language, own in shared.items()
        for word, count in sorted(own.items(), key=lambda one: (-one[1], one[0]))[:MOST_SHARED]
    ]
    return pd.DataFrame(lines, columns=["row", "column", "value", "n"])


def _confusing_facts(rows: Iterable[ScoredContext], notes: list[str]) -> pd.DataFrame:
    """How many pairs of a dataset that is to have confusing facts have two of them, one or none; n is all of them."""
    lines: list[dict[str, object]] = []
    pairs: dict[str, dict[str, int]] = {}
    for row in rows:
        if BY_NAME[row.dataset].confusing_facts:
            pairs.setdefault(row.dataset, {})[row.pair_id] = row.confusing_facts
    for dataset, facts in sorted(pairs.items()):
        having = Counter(min(number, 2) for number in facts.values())
        lines += (
            {"row": dataset, "column": column, "value": float(having[number]), "n": len(facts)}
            for number, column in enumerate(NUMBERS)
        )
        if having[0]:
            notes.append(
                f"{dataset}: {having[0]:,} of {len(facts):,} pairs have no confusing fact; "
                "CFI and KPR is over the others"
            )
    return pd.DataFrame(lines, columns=["row", "column", "value", "n"])


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells with their columns in the order of the levels, and all levels together last."""

    def place(column: str) -> float:
        return float("inf") if column == ALL_LEVELS else words_of(column)

    return frame.sort_values(
        ["column", "row"], key=lambda one: one.map(place) if one.name == "column" else one, ignore_index=True
    )


def _by_level(replies: pd.DataFrame, by: Sequence[str], value: str = "score") -> pd.DataFrame:
    """Means over replies: a row for each combination of `by`, a column for each level."""
    return _in_order(means(replies.set_index([*by, "level"])[value], [*by, "level"]))


def _by_dataset(replies: pd.DataFrame) -> pd.DataFrame:
    """Tables A1 and A2, and figures A8 and A9: the mean over the levels of a dataset."""
    return _averages(replies, ["group", "dataset"])


def _averages_by_type(replies: pd.DataFrame) -> pd.DataFrame:
    """Figure 4b: averages over the datasets of a type (`Dataset.kind`)."""
    return _averages(replies, ["group", "kind"])


def _averages(replies: pd.DataFrame, by: Sequence[str] = ("group",)) -> pd.DataFrame:
    """Figure 4a: the mean over datasets of a dataset's score, at each level and over all levels of all of them.

    n counts the replies, of which a large dataset has more and weighs no more.
    """
    apart = list(dict.fromkeys([*by, "dataset", "level"]))
    scores = replies.groupby(apart)["score"].agg(["mean", "count"]).reset_index()
    both = pd.concat([scores, scores.assign(level=ALL_LEVELS)], ignore_index=True)
    found = both.groupby([*by, "level"]).agg(mean=("mean", "mean"), count=("count", "sum"))
    return _in_order(cells(found, [*by, "level"]))


def _metric_ablation(replies: pd.DataFrame) -> pd.DataFrame:
    """Table A3: what keywords and blacklist take off the F1, beside the score that a model's window allows.

    The ceiling Lm/Ld, at most 1, is that of a model that sees Lm words of the Ld of a level (section 4.2).
    dureader, whose metric is ROUGE-L, is not in it.
    """
    staged = replies.melt(["group", "dataset", "level"], [*STAGES, CEILING], var_name="stage")
    return _by_level(staged.dropna(subset=["value"]), ["group", "dataset", "stage"], "value")


def _by_depth(replies: pd.DataFrame) -> pd.DataFrame:
    """Figure 5, under every ablation: a row for each of the 200 places of the fact (`heatmap` makes a grid of it)."""
    padded = replies["depth"].map(lambda depth: f"{int(depth):03}")
    return _by_level(replies.assign(depth=padded), ["group", "dataset", "depth"])


def _ablations(replies: pd.DataFrame) -> pd.DataFrame:
    """Tables A4 to A7: the datasets that were asked under an ablation, as released and under each.

    Of a dataset that is to have confusing facts, the pairs that have some: in the others there is nothing to compare.
    "no-cfi" is the paper's "w. KPR", "no-kpr" its "w. CFI", "neither" its "w.o. both".
    """
    return _by_level(replies, ["base", "dataset", "ablation"])


def _leakage(replies: pd.DataFrame) -> pd.DataFrame:
    """Table 3: replies without the context beside those with it, with replacements (KPR) and without them.

    A reply without the context does not depend on the level: go by its column "all levels".
    """
    asked = [
        f"{variant}{KPR[ablation] if BY_NAME[dataset].replacements else ''}"
        for variant, ablation, dataset in zip(replies["variant"], replies["ablation"], replies["dataset"], strict=True)
    ]
    named = replies.assign(asked=asked)
    both = pd.concat([named, named.assign(level=ALL_LEVELS)], ignore_index=True)
    return _by_level(both, ["base", "dataset", "asked"])


def _beside(replies: pd.DataFrame, which: "pd.Series[bool]") -> pd.DataFrame:
    """The replies of each model and dataset of which at least one is `which`."""
    place = ["base", "dataset"]
    return replies.merge(replies.loc[which, place].drop_duplicates(), on=place)
