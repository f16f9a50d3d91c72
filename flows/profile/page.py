"""The page of a profile, and its figures as JSON."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import merge, nsmallest
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from data.whole_file import whole_file, write_whole
from flows.construct.evaluation import Measure, Question
from flows.evaluate.headline import FigureRow, MeasureView, figure_rows, in_words, measure_view, number, written
from flows.profile.learned import LEARNED, Before
from flows.profile.questions import QUESTIONS
from flows.profile.results import Alike, Fact, FamilyResult, alike, facts, ranks
from flows.report.template import style, template
from flows.scoring.intervals import Figure, Measured
from schemas.base import counted

TEMPLATE = Path(__file__).parent / "page.html.j2"
PAGE, FIGURES = "profile.html", "profile.json"
SHOWN_ITEMS = 10
"""Of the items that all or none of the models have right."""
SHOWN_FACTS = 20


@dataclass(frozen=True)
class Glance:
    """A model's answer to a question by a measure, in a cell."""

    figures: str
    says: str
    measure: str
    way: str
    """A class of the style sheet: `falls`, `holds`, `open`, or nothing."""


@dataclass(frozen=True)
class QuestionView:
    """A question, each model's answer at a glance, and the measures that it rests on."""

    name: Question
    asks: str
    glances: Sequence[Sequence[Glance]]
    """Of each model, one a family."""
    measures: Sequence[tuple[str, MeasureView]]
    """(family, measure)."""


@dataclass(frozen=True)
class SideBySide:
    """Models under a measure's last condition."""

    what: str
    """Family, measure and condition."""
    cells: Sequence[tuple[str, str]]
    """Of each model its figure and its rank, which is a range where the intervals leave it open."""
    differences: Sequence[str]
    """Of each two models of which one is higher, as the intervals have it."""
    open: int
    """How many pairs of models no interval tells apart."""


def questions(results: Sequence[FamilyResult], models: Sequence[str]) -> list[QuestionView]:
    """Return the questions that the results can answer."""
    views = []
    for name, asks in QUESTIONS.items():
        answering = [
            (result, measure, measured)
            for result in results
            for measure, measured in result.measures
            if measure.asks == name
        ]
        if answering:
            glances = [list(_glances(answering, model)) for model in models]
            views.append(
                QuestionView(
                    name,
                    asks,
                    glances,
                    [(result.family.name, measure_view(measure, measured)) for result, measure, measured in answering],
                )
            )
    return views


def _glances(answering: Sequence[tuple[FamilyResult, Measure, Measured]], model: str) -> Iterator[Glance]:
    """Yield a model's answer by the first measure of each family that it was asked under, and of other items."""
    told: dict[str, list[Measured]] = defaultdict(list)
    for result, measure, measured in answering:
        asked = [(at, figure) for at in measured.conditions if (figure := measured.of(model, at)) is not None]
        of_family = told[result.family.name]
        if not asked or any(_share_items(measured, before, model) for before in of_family):
            continue
        of_family.append(measured)
        (first, _), (last, ended) = asked[0], asked[-1]
        what, unit = f"{result.family.name}: {measure.name}", " %" if measure.is_share else ""
        change = measured.change(model, first, last) if measure.by_change else None
        ends = measured.over_both(model, first, last)
        if change is None or ends is None:
            yield Glance(f"{written(ended, measure.unit)}{unit}", f"at {last}", what, "")
            continue
        way = "open" if not change.differs else "holds" if change.value > 0 else "falls"
        figures = f"{number(ends[0], measure.unit)} → {number(ends[1], measure.unit)}{unit}"
        yield Glance(figures, f"{first} → {last}: {in_words(change, measure.unit)}", what, way)


def _share_items(measured: Measured, other: Measured, model: str) -> bool:
    """Return whether a model was asked about some of the same items under both measures."""
    names = merge(measured.names(model), other.names(model))
    return any(name == following for name, following in pairwise(names))


def side_by_side(results: Sequence[FamilyResult], models: Sequence[str]) -> Iterator[SideBySide]:
    """Yield each measure's comparison of two models or more, under its last condition."""
    for result in results:
        for measure, measured in result.measures:
            at = measured.conditions[-1]
            places = ranks(measured, at)
            if len(places) < 2:
                continue
            cells = []
            for model in models:
                figure, (best, worst) = measured.of(model, at), places.get(model, (0, 0))
                rank = str(best) if best == worst else f"{best} to {worst}"
                cells.append(("–", "") if figure is None else (written(figure, measure.unit), rank))
            pairs = [
                (model, other, difference)
                for model, other in combinations(places, 2)
                if (difference := measured.between(model, other, at)) is not None
            ]
            yield SideBySide(
                f"{result.family.name}: {measure.name}, {at}",
                cells,
                [
                    f"{other} beside {model}: {in_words(difference, measure.unit)}, {counted(difference.items, 'item')}"
                    for model, other, difference in pairs
                    if difference.differs
                ],
                sum(not difference.differs for _, _, difference in pairs),
            )


def alike_items(results: Sequence[FamilyResult]) -> list[tuple[str, Alike]]:
    """Return by family the items of its first measure that tell no model from another."""
    found = []
    for result in results:
        first = next(result.measures, None)
        if first is None:
            continue
        measure, measured = first
        same = alike(measure, measured)
        if same is not None and (same.all_right or same.none_right):
            found.append((result.family.name, same))
    return found


def fact_rows(results: Sequence[FamilyResult], models: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the families' names, and for each source on which several stand a cell for each model and family."""
    several: set[str] = set()

    def found() -> Iterator[Fact]:
        for fact in facts(results):
            several.update(fact.families)
            yield fact

    shown = nsmallest(SHOWN_FACTS, found(), key=lambda fact: (-len(fact.families), fact.source))
    families = [result.family.name for result in results if result.family.name in several]
    rows = []
    for fact in shown:
        cells = [
            f"{number(share.value, 'share')} of {share.items}" if (share := _share(fact, family, model)) else "–"
            for model in models
            for family in families
        ]
        rows.append((" · ".join(fact.source), cells))
    return families, rows


def _share(fact: Fact, family: str, model: str) -> Figure | None:
    return fact.shares.get((family, model))


def read_figures(folder: Path) -> Mapping[str, Any]:
    """Return the figures of the profile in a folder; empty without one, or if it is damaged."""
    try:
        figures = json.loads((folder / FIGURES).read_bytes())
    except (OSError, ValueError):
        return {}
    return figures if isinstance(figures, dict) else {}


def write_profile(
    folder: Path,
    name: str,
    models: Sequence[str],
    results: Sequence[FamilyResult],
    answered: Sequence[QuestionView],
    limit: int | None,
    notes: Sequence[str] = (),
    before: Before | None = None,
) -> tuple[Path, Path]:
    """Write the page and the figures; return their paths. `limit` is the number of rows of each part, if set.

    `before` has what the models have learned of an older version.
    """
    page, figures = folder / PAGE, folder / FIGURES
    families, fact_lines = fact_rows(results, models)
    rendered = template(TEMPLATE).render(
        title=f"{name}: which model uses its context?",
        style=style(),
        models=models,
        questions=answered,
        unanswered=[asks for asks in QUESTIONS.values() if asks not in {question.asks for question in answered}],
        limit=limit,
        notes=notes,
        before=before,
        learned=LEARNED.format(before.version) if before is not None else "",
        side_by_side=list(side_by_side(results, models)),
        over_time=[(result.family.name, measure_view(*timed)) for result in results if (timed := result.over_time)],
        alike=alike_items(results),
        shown_items=SHOWN_ITEMS,
        families=families,
        facts=fact_lines,
        outcomes=[(result.family.name, outcome) for result in results for outcome in result.outcomes.values()],
        refused=[(result.family.name, model, why) for result in results for model, why in result.refused.items()],
        figures=FIGURES,
    )
    with whole_file(page) as file:
        file.write(rendered)
    write_whole(
        figures,
        json.dumps(as_json(name, models, results, limit, before), ensure_ascii=False, indent=1).encode() + b"\n",
    )
    return page, figures


def as_json(
    name: str, models: Sequence[str], results: Sequence[FamilyResult], limit: int | None, before: Before | None = None
) -> Mapping[str, Any]:
    """Return all figures of a profile, each family's with its signatures and what stands beside its scores."""
    alike_of = dict(alike_items(results))
    learned = {} if before is None else {"learned": before.as_json()}
    return {
        "dataset": name,
        "models": list(models),
        "limit": limit,
        **learned,
        "families": [
            {
                "family": result.family.name,
                "refused": result.refused,
                "models": [
                    {
                        "model": outcome.model,
                        "way": outcome.way,
                        "signature": str(outcome.signature),
                        "partial": bool(outcome.lacks),
                        "lacks": outcome.lacks,
                        "spent": outcome.spent.model_dump(mode="json", exclude={"cached"}),
                        "beside": dict(outcome.beside),
                    }
                    for outcome in result.outcomes.values()
                ],
                "figures": [row.model_dump(mode="json") for row in _figures(result)],
                "differences": list(_json_differences(result)),
                **({"alike": asdict(same)} if (same := alike_of.get(result.family.name)) else {}),
            }
            for result in results
        ],
    }


def _figures(result: FamilyResult) -> Iterator[FigureRow]:
    yield from figure_rows(result.family.evaluation.measures, result.measured)
    if result.over_time is not None:
        measure, measured = result.over_time
        yield from figure_rows([measure], {measure.name: measured})


def _json_differences(result: FamilyResult) -> Iterator[Mapping[str, Any]]:
    for measure, measured in result.measures:
        for at in measured.conditions:
            for place, model in enumerate(measured.groups):
                for other in measured.groups[place + 1 :]:
                    if (figure := measured.between(model, other, at)) is not None:
                        yield {"measure": measure.name, "at": at, "model": other, "against": model, **figure._asdict()}
