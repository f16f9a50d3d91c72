"""ReEval's exact match, F1 and entailment accuracy (section 4.1; tables 1 to 6, 13 and 14).

Every value lies in 0..1; n is the number of cases that it is taken over, and a share of nothing is None.
A model's rows are told apart by prompting and shots, and by source; where there are several sources, rows
of all of them together stand beside. What a reply is compared with:

- swapped: the new answer.
- original and closed_book: the source's own answer, or another wording of it that the source gives. So
  closed-book tells what the model knows of the world, in category 1 too.
- question_focused, evidence_focused: the source's own answer, likewise; the evidence was enriched, not changed.

A reply is right by entailment where "question + reply" entails "question + answer"; one that is blank is wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import pandas as pd

from flows.construct.entailment import DEFAULT_MODEL, Entailment, EntailmentModelUnusableError, premise_and_hypothesis
from flows.families.reeval.inference import CATEGORY_1, CATEGORY_2, Variant
from flows.scoring.qa import exact_match, f1
from flows.scoring.tables import Layout, ScoreError, ScoreTables, fitting, means
from schemas.base import Frozen, Provenance, content_hash
from schemas.errors import WrongInput
from schemas.prediction import Prediction
from schemas.reeval import AnswerPosition, EnrichedCase, SwapCase

Part = Literal["category1", "category2"]
VARIANTS: Mapping[Part, tuple[Variant, ...]] = {"category1": CATEGORY_1, "category2": CATEGORY_2}
TITLES: Mapping[Part, str] = {"category1": "category 1", "category2": "category 2"}
EXPANSIONS: tuple[Variant, ...] = ("question_focused", "evidence_focused")
THIRDS: tuple[AnswerPosition, ...] = ("first", "middle", "last")  # table 14
ALL_SOURCES = "all sources"
PIVOT = "pivot"


class ScoreSettings(Protocol):
    """The settings that scoring depends on."""

    @property
    def entailment(self) -> str: ...
    @property
    def matrix_seeds(self) -> int: ...


class Judge(Protocol):
    """Tells of each (premise, hypothesis) whether the one entails the other."""

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]: ...


class ScoredCase(Frozen):
    """What scoring keeps of a case; its evidence, which is most of it, is not."""

    id: str
    part: Part
    row: str
    """The source's row, the same for every pivot."""
    question: str
    answer: str
    gold: tuple[str, ...]
    """The source's answer and its other wordings."""
    answer_position: AnswerPosition | None
    language: str
    pivot: str
    source: str

    @classmethod
    def of(cls, case: SwapCase | EnrichedCase) -> "ScoredCase":
        """The part of `case` that is kept."""
        swapped = isinstance(case, SwapCase)
        return cls(
            id=case.id,
            part="category1" if swapped else "category2",
            row=" ".join(f"{one.source} {one.id}" for one in case.provenance.sources[:1]),
            question=case.question,
            answer=case.answer,
            gold=(case.original_answer if isinstance(case, SwapCase) else case.answer, *case.aliases),
            answer_position=case.answer_position if isinstance(case, SwapCase) else None,
            language=case.language,
            pivot=_pivot(case.provenance),
            source=case.source,
        )

    def answers(self, variant: str) -> tuple[str, ...]:
        """What is right under a variant."""
        return (self.answer,) if variant == "swapped" else self.gold


def _pivot(provenance: Provenance) -> str:
    """Name of the model that played the pivot; of several named models, that which was asked first."""
    asked = [one for one in provenance.prompts if one.role == PIVOT] or provenance.prompts
    return asked[0].model if asked else PIVOT


def judge_of(settings: ScoreSettings) -> Entailment | None:
    """The entailment model, loaded; None where it is off. Raises `WrongInput` where it is not to be had."""
    if settings.entailment == "off":
        return None
    judge = Entailment(settings.entailment)
    try:
        judge.load()
    except EntailmentModelUnusableError as error:
        raise WrongInput(f"families.reeval.entailment: {error} (`entailment: off`)") from error
    return judge


def check_judge(settings: ScoreSettings) -> None:
    """Raise `WrongInput` where the entailment model is not to be had."""
    judge_of(settings)


def score(
    rows: Iterable[ScoredCase], predictions: Iterable[Prediction], partial: bool, settings: ScoreSettings
) -> ScoreTables:
    """Every table, by the configured entailment model, which is loaded before anything is read.

    Raises `ScoreError` where a group (model, prompting, shots) lacks a reply to a case under a variant, has
    two, or has one to a case or variant that is not there; a faithful group needs none to closed_book.
    With `partial`, such replies are left out, and of two the first counts.
    """
    return tables(rows, predictions, partial, settings, judge_of(settings))


def tables(
    rows: Iterable[ScoredCase],
    predictions: Iterable[Prediction],
    partial: bool,
    settings: ScoreSettings,
    judge: Judge | None,
) -> ScoreTables:
    """Every table, by the given judge; without one, entailment is left out."""
    cases = list(dict.fromkeys(rows))  # two pivots that are one model make the same case
    graded = _graded(cases, predictions, partial, judge)
    measures = ("EM", "F1") if judge is None else ("EM", "F1", "Entail.")
    frames: dict[str, pd.DataFrame] = {}
    for part, title in TITLES.items():
        asked = graded[graded["part"] == part]
        if asked.empty:
            continue
        matrix = _matrix(asked, part, measures, settings.matrix_seeds)
        if asked["source"].nunique() > 1:
            asked = pd.concat([asked, asked.assign(source=ALL_SOURCES)], ignore_index=True)
        frames |= _perturbed(asked, part, title, measures)
        for variant, named in (("original", "original evidence"), ("closed_book", "closed-book")):
            if (asked["variant"] == variant).any():
                frames[f"{title}, {named}"] = _unperturbed(asked, variant, measures)
        if ((asked["variant"] == "swapped") & asked["position"].notna()).any():
            frames[f"{title}, by third of the evidence"] = _by_position(asked, measures)
        if matrix is not None:
            frames[f"{title}, by pivot"] = matrix
    layouts = {name: _layout(name) for name in frames}
    return ScoreTables.of(frames, _notes(cases, settings, judge), layouts=layouts)


def _layout(table: str) -> Layout:
    if table.endswith("by third of the evidence"):
        return Layout("model / source / measure", "third of the evidence that the answer starts in")
    if table.endswith("by pivot"):
        return Layout("model", "measures on the cases of each pivot")
    return Layout("model / source", "measure: exact match, F1 of the words, entailment")


def _notes(cases: Sequence[ScoredCase], settings: ScoreSettings, judge: Judge | None) -> list[str]:
    if judge is None:
        return ["entailment is off: Entail. and Norm. entail. are left out"]
    others = sum(case.language != "en" for case in cases)
    if others and settings.entailment == DEFAULT_MODEL:
        return [f"{others} cases are not English, which {DEFAULT_MODEL} does not read: go by their EM and F1"]
    return []


# ---- replies ----


@dataclass(frozen=True)
class Reply:
    """A model's reply to a case under a variant, used whole."""

    case: ScoredCase
    variant: str
    model: str
    group: str
    output: str


def _graded(
    cases: Sequence[ScoredCase], predictions: Iterable[Prediction], partial: bool, judge: Judge | None
) -> pd.DataFrame:
    """A line a reply and case: where it belongs, and its measures. One reply serves all cases of its id."""
    by_id = {case.id: case for case in reversed(cases)}
    if not cases:
        raise ScoreError("rows: expected cases, found none; check which build is scored")
    replies = fitting(
        by_id,
        lambda case: VARIANTS[case.part],
        predictions,
        partial,
        lambda case, one: Reply(case, one.variant, one.model, one.group, one.prediction),
        may_lack=lambda prompting: ("closed_book",) if prompting == "faithful" else (),
    )
    lines = pd.DataFrame(
        {
            "id": reply.case.id,
            "variant": reply.variant,
            "model": reply.model,
            "group": reply.group,
            "EM": exact_match(reply.output, reply.case.answers(reply.variant), reply.case.language),
            "F1": f1(reply.output, reply.case.answers(reply.variant), reply.case.language),
            "Entail.": entailed,
        }
        for reply, entailed in zip(replies, _entailed(replies, judge), strict=True)
    )
    places = pd.DataFrame(
        {
            "id": case.id,
            "case": number,
            "part": case.part,
            "source": case.source,
            "row": case.row,
            "pivot": case.pivot,
            "position": case.answer_position,
        }
        for number, case in enumerate(cases)
    )
    return lines.merge(places, on="id")


def _entailed(replies: Sequence[Reply], judge: Judge | None) -> list[float]:
    """1 where the reply entails one of the answers, else 0; not a number without a judge."""
    if judge is None:
        return [float("nan")] * len(replies)
    pairs = [
        (number, premise_and_hypothesis(reply.case.question, reply.output, answer))
        for number, reply in enumerate(replies)
        if reply.output.strip()
        for answer in reply.case.answers(reply.variant)
    ]
    right = [0.0] * len(replies)
    for (number, _), entails in zip(pairs, judge.entails([pair for _, pair in pairs]), strict=True):
        right[number] = max(right[number], float(entails))
    return right


# ---- tables ----


def _table(values: Mapping[str, "pd.Series[float]"], rows: Sequence[str]) -> pd.DataFrame:
    """Means of the values, a column each and a row for each combination of the levels `rows`."""
    found = means(pd.concat(values, names=["column"]), [*rows, "column"])
    columns = list(values)
    return found.sort_values(
        ["row", "column"], key=lambda one: one.map(columns.index) if one.name == "column" else one, ignore_index=True
    )


def _measured(graded: pd.DataFrame, part: Part, measures: Sequence[str]) -> dict[str, dict[str, "pd.Series[float]"]]:
    """By table, the measures of each case's perturbed evidence, with a line for each group, source and case."""
    place = ["group", "source", "case"]
    wide = {
        measure: graded.pivot(index=place, columns="variant", values=measure).reindex(columns=VARIANTS[part])
        for measure in measures
    }
    if part == "category1":
        measured = {"": {measure: one["swapped"] for measure, one in wide.items()}}
    else:
        pairs = {measure: one[list(EXPANSIONS)] for measure, one in wide.items()}
        measured = {
            "": {
                measure: pair.mean(axis=1, skipna=False) if measure == "F1" else pair.min(axis=1, skipna=False)
                for measure, pair in pairs.items()
            }
        }
        for variant in EXPANSIONS:
            alone = {measure: one[variant] for measure, one in wide.items()}
            measured[f", {variant.replace('_', '-')} alone"] = alone
    if "Entail." in wide:
        known = wide["Entail."]["original"] == 1
        for found in measured.values():
            found["Norm. entail."] = found["Entail."].where(known)
    return measured


def _perturbed(graded: pd.DataFrame, part: Part, title: str, measures: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Tables 1 and 2 (category 1), 3 and 4 (category 2, both expansions) and 13 (each expansion alone).

    In category 2, EM and entailment need both expansions right; F1 is their mean. "Norm. entail." is the
    entailment accuracy over the cases that the model answers rightly, by entailment, with the original evidence.
    """
    return {
        f"{title}{named}": _table(found, ["group", "source"])
        for named, found in _measured(graded, part, measures).items()
    }


def _unperturbed(graded: pd.DataFrame, variant: str, measures: Sequence[str]) -> pd.DataFrame:
    """The rows "Closed-Book" of table 13, and the accuracy before perturbation that tables 1 to 4 normalise by."""
    asked = graded[graded["variant"] == variant].set_index(["group", "source"])
    return _table({measure: asked[measure] for measure in measures}, ["group", "source"])


def _by_position(graded: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Table 14: category 1 by the third of the evidence in which the answer starts, where it occurs once."""
    asked = graded[(graded["variant"] == "swapped") & graded["position"].notna()]
    asked = asked.melt(["group", "source", "position"], list(measures), var_name="measure")
    asked = asked.set_index(["group", "source", "measure"])
    return _table(
        {third: asked["value"].where(asked["position"] == third) for third in THIRDS}, ["group", "source", "measure"]
    )


def _matrix(asked: pd.DataFrame, part: Part, measures: Sequence[str], seeds: int) -> pd.DataFrame | None:
    """Tables 5 and 6: every model on every pivot's cases, over the same seeds; None for one of one.

    The seeds are the source rows of which every pivot has a case, the first `seeds` in a fixed random order
    ("we randomly sample 500 examples"), of all sources together; without any there is no table.
    """
    of_pivot = {str(pivot): set(rows) for pivot, rows in asked.groupby("pivot")["row"]}
    common = sorted(set.intersection(*of_pivot.values()), key=lambda row: content_hash("reeval matrix", row))
    if not common or (len(of_pivot) < 2 and asked["model"].nunique() < 2):
        return None
    chosen = asked[asked["row"].isin(common[:seeds])]
    measured = _measured(chosen.assign(source=chosen["pivot"]), part, measures)[""]
    columns = {
        f"{pivot}: {measure}": measured[measure].where(measured[measure].index.get_level_values("source") == pivot)
        for pivot in of_pivot
        for measure in measures
    }
    return _table(columns, ["group"])
