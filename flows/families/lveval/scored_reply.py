"""A reply to one of LV-Eval's rows: its ablation, the metric of its dataset, and its scores (section 4).

This module needs the standard library alone: a release ships it as part of the scorer.
"""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import NamedTuple

from flows.families.lveval.datasets import ABLATIONS, WITHOUT_RULES, Ablation, Dataset, dataset_of_row, words_of
from flows.scoring.metrics import METRICS
from flows.scoring.scorer import CannotScore, Row, group_of, model_of
from flows.scoring.words import WORDS, released_blacklist

ORIGINAL = "original"
"""The column with `answers` and `answer_keywords` from before the replacements, if they are known."""
AS_RELEASED = "as released"
STAGES = ("F1", "with keywords", "with keywords and blacklist")  # the rows of table A3
CEILING = "ceiling Lm/Ld"
PLAIN = {"en": "qa_f1_score", "zh": "qa_f1_zh_score"}
GATED = {
    "released": {"en": "qa_f1_score_with_gold_ans", "zh": "qa_f1_zh_score_with_gold_ans"},
    "paper": {"en": "keyword_recall_f1", "zh": "keyword_recall_f1"},
}
GATES = {
    "released": "keyword recall of at least 0.2 (en), 0.4 (zh), as the program of the authors has it",
    "paper": "keyword recall above 0.4 (en), 0.2 (zh), F1 without blacklisted words, as section 3.3 has it",
}
"""The two variants of the metrics, as the tables describe them."""


class Blacklist(NamedTuple):
    """Words in place of the released ones."""

    path: str
    words: Set[str]


def read_blacklist(path: str) -> Blacklist:
    """Read a blacklist: one word per line, in any case. Raises `CannotScore` if the file is not a blacklist."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotScore(f"{path}: cannot be read as a blacklist: {error}") from error
    words = [line.strip().lower() for line in lines if line.strip()]
    if several := next((word for word in words if len(word.split()) > 1), None):
        raise CannotScore(f"{path}: {several!r} is more than a word; a blacklist has one per line")
    if not words:
        raise CannotScore(f"{path}: has no words; leave it out for the released blacklist")
    return Blacklist(path, frozenset(words))


def metric_of(dataset: Dataset, metrics: str) -> str:
    """Name of the dataset's metric: that of the released program, or that of section 4.

    Section 4: ROUGE-L with the blacklist for dureader, F1 with the blacklist for cmrc, and the
    keyword-recall-based F1 for the others, fact recall among them.
    """
    if metrics == "released" or is_rouge(dataset):
        return dataset.metric
    return "keyword_recall_f1" if dataset.keywords else "f1_with_blacklist"


def is_rouge(dataset: Dataset) -> bool:
    """Return whether the dataset's metric is ROUGE-L, which has no stages."""
    return dataset.metric.startswith("rouge")


def dataset_of(row: Row) -> Dataset:
    """The dataset that the row is of. Raises `CannotScore` for any other."""
    try:
        return dataset_of_row(row)
    except (KeyError, TypeError) as error:
        raise CannotScore(f"rows: {row['dataset']} is no dataset of LV-Eval; name the data of LV-Eval") from error


def ablation_of(prediction: Row) -> Ablation | None:
    """The ablation that a prediction's prompting names; any other prompting asks about the row as released."""
    return next((ablation for ablation in ABLATIONS if ablation == prediction.get("prompting")), None)


class Reply(NamedTuple):
    """The reply's place in the tables, and its scores."""

    row: str  # its id
    pair: str  # its dataset and pair, the same at every level
    dataset: Dataset
    level: str
    depth: str | None
    language: str
    variant: str
    group: str
    base: str  # the group without its ablation
    ablation: str
    changed: bool
    """Whether the row has confusing facts, if its dataset has some: for some pairs none could be made."""
    score: float
    stages: Mapping[str, float]  # the score at each stage of the metric, in the rows of table A3
    shared: Set[str]  # the words that it shares with its answer


class Metrics(NamedTuple):
    """How replies are scored."""

    variant: str  # "released" or "paper"
    blacklists: Mapping[str, Blacklist]  # by language
    windows: Mapping[str, int]  # by model, the words that fit its window

    def reply(self, row: Row, prediction: Row) -> Reply:
        """A reply to a row under a variant, scored."""
        dataset, lang, ablation = dataset_of(row), row["language"], ablation_of(prediction)
        asked = row[ORIGINAL] if ablation in WITHOUT_RULES else row
        answer, keywords = asked["answers"][0], asked["answer_keywords"] or None
        words = self.blacklists[lang].words if lang in self.blacklists else released_blacklist(lang)

        def by(metric: str) -> float:
            return METRICS[metric](prediction["prediction"], (answer,), keywords, lang, words)

        stages: dict[str, float] = {}
        shared: Set[str] = frozenset()
        if prediction["variant"] == "context" and ablation is None:
            shared = set(WORDS[lang](prediction["prediction"])) & set(WORDS[lang](answer))
            if not is_rouge(dataset):
                metrics = (PLAIN[lang], f"{self.variant}_f1_with_keywords", GATED[self.variant][lang])
                stages = {stage: by(metric) for stage, metric in zip(STAGES, metrics, strict=True)}
                if (window := self.windows.get(model_of(prediction))) is not None:
                    stages[CEILING] = min(1.0, window / words_of(row["level"]))
        return Reply(
            row=row["id"],
            pair=f"{dataset.name} {row['pair_id']}",
            dataset=dataset,
            level=row["level"],
            depth=None if row["depth"] is None else f"{row['depth']:03}",
            language=lang,
            variant=prediction["variant"],
            group=group_of(prediction),
            base=group_of({**prediction, "prompting": None} if ablation else prediction),
            ablation=ablation or AS_RELEASED,
            changed=bool(row["confusing_facts"]) or not dataset.confusing_facts,
            score=by(metric_of(dataset, self.variant)),
            stages=stages,
            shared=shared,
        )
