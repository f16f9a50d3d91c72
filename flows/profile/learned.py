"""The contamination gap: a model on items that it may have seen, beside itself on the new draws of the same items.

A version that refreshes (`release.refresh`) has what was drawn anew in it, and nothing else of an item changed. So if a
model is better on the old draws than on the new ones, it has learned them. The gap is a paired difference over items,
with the interval of all other differences (`flows/scoring/intervals.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.console import Console

from data.publish.folder import Release
from data.publish.reading import read_batches
from flows.construct.evaluation import Measure, Redrawn
from flows.evaluate.headline import MeasureView, measure_view, number
from flows.families import family_names, load_family
from flows.llm.model import BudgetSpent
from flows.profile.asking import profile_families
from flows.profile.results import FamilyResult, Outcome
from flows.project.project import Project
from flows.project.release_as_build import STORE, open_release
from flows.scoring.intervals import Figure, Measured
from flows.scoring.on_disk import Rows
from flows.scoring.tables import Unit
from flows.scoring.values import Value, Values
from schemas.base import content_hash, counted

NEW, OLD = "new draws", "old draws"
LEARNED = "Has it learned the draws of {}?"
"""The question, with a version."""
FOLDER = "before-"
"""With the version before and its rows, the folder of their evaluation beside that of the newer one."""
SHORT = 8
"""Digits of the rows' hash there."""


@dataclass(frozen=True)
class Learned:
    """What models have learned of the draws of a family."""

    family: str
    redrawn: Redrawn
    measure: Measure
    measured: Measured
    """Its measure over the items that both versions have, under `NEW` and `OLD`."""
    outcomes: Mapping[str, Outcome]
    """Of the older version, by model."""
    refused: Mapping[str, str]
    """Model -> why it has no gap."""

    @property
    def view(self) -> MeasureView:
        """The measure as a page shows it, with a sentence for each model."""
        view = measure_view(replace(self.measure, condition="draws"), self.measured)
        return replace(view, name=f"{self.measure.name}, {self.redrawn.what}", sentences=tuple(self.sentences()))

    def gap(self, model: str) -> Figure | None:
        """Return by how much a model is higher on the old draws; None if it did not answer both."""
        return self.measured.change(model, NEW, OLD)

    def sentences(self) -> Iterator[str]:
        """Yield what the gap of each model says."""
        for model in self.measured.groups:
            if (gap := self.gap(model)) is not None:
                yield f"{model} {in_words(gap, self.measure.unit)} ({counted(gap.items, 'item')})."

    def as_json(self) -> Mapping[str, Any]:
        """Return its figures, each with the signature of what the older version was asked as."""
        gaps = []
        for model in self.measured.groups:
            gap, ends = self.gap(model), self.measured.over_both(model, NEW, OLD)
            if gap is not None and ends is not None:
                signature = str(self.outcomes[model].signature)
                gaps.append({"model": model, "new": ends[0], "old": ends[1], "signature": signature, **gap._asdict()})
        return {
            "family": self.family,
            "measure": self.measure.name,
            "at": self.redrawn.at,
            "gaps": gaps,
            "refused": self.refused,
        }


@dataclass
class Before:
    """An older version, and what models have learned of it."""

    version: str
    learned: list[Learned] = field(default_factory=list)
    note: str = ""
    """Why there is nothing to tell."""
    stopped: BudgetSpent | None = None

    def as_json(self) -> Mapping[str, Any]:
        """Return the gaps of all families."""
        return {"before": self.version, "note": self.note, "families": [one.as_json() for one in self.learned]}


def in_words(gap: Figure, unit: Unit) -> str:
    """Return what a gap says of a model; its measure is a share."""
    if gap.low is None or gap.high is None:
        points = number(gap.value, unit, signed=True)
        return f"is {points} points better on the old draws, over too few sources for an interval"
    if not gap.differs:
        points, *ends = (number(value, unit, signed=True) for value in (gap.value, gap.low, gap.high))
        return f"is not shown to have learned the old draws: {points} points ({' to '.join(ends)}) better on them"
    low, high = sorted((abs(gap.low), abs(gap.high)))
    points = f"{number(abs(gap.value), unit)} points ({number(low, unit)} to {number(high, unit)})"
    if gap.value > 0:
        return f"answers the items that it may have seen {points} better than their new draws: it has learned them"
    return f"answers the new draws {points} better than the old: nothing shows that it has learned the old"


def version_of(release: Release) -> str:
    """Return the name of a version: `sample@1.0.0`."""
    return f"{release.manifest.name}@{release.manifest.version}"


def redrawn_rows(old: Release, new: Release) -> Mapping[str, Rows]:
    """Return by family the rows of the cases that were drawn anew: the key of a case by its id in either version."""
    by_family: dict[str, Rows] = {}
    for name in sorted({config.family for config in new.manifest.configs} & set(family_names())):
        redrawn = load_family(name).evaluation.redrawn
        if redrawn is None:
            continue
        before, now = (Rows(_cases(release, name, redrawn)) for release in (old, new))
        rows = Rows(_drawn_anew(before, now))
        for id_, key in _drawn_anew(now, before):
            rows.add(id_, key)
        if len(rows):
            by_family[name] = rows
    return by_family


def _drawn_anew(cases: Rows, others: Rows) -> Iterator[tuple[str, str]]:
    """Yield the id and the key of each case that the others have with another draw."""
    for key, (id_, case, drawn) in cases:
        _, other_case, other_drawn = others.get(key) or (None, None, drawn)
        if case == other_case and drawn != other_drawn:
            yield id_, key


def _cases(release: Release, family: str, redrawn: Redrawn) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Yield each row by key: its id, and hashes of what its draws have in common, and of what was drawn."""
    files = [
        release.folder / path
        for config in release.manifest.configs
        if (config.family, config.part) == (family, redrawn.part)
        for path in config.files
    ]
    for path in files:
        for batch in read_batches(path, ["key", "id", *redrawn.case, redrawn.drawn]):
            for row in batch.rows():
                case = hash(tuple(str(row[name]) for name in redrawn.case))
                yield row["key"], (row["id"], case, hash(str(row[redrawn.drawn])))


def compare_with(
    console: Console,
    old: Release,
    new: Release,
    project: Project,
    results: Sequence[FamilyResult],
    models: Sequence[str],
) -> Before:
    """Ask the models about the old draws of the rows of `new` that they answered, and compare.

    `project` is the new version as a build, with `results`; it is closed. What money it has left may be spent.
    """
    version = version_of(old)
    rows = redrawn_rows(old, new)
    answered = {
        result.family.name: Rows(
            (key, True) for value in _values(result) if (key := of_family.get(value.row or value.item))
        )
        for result in results
        if (of_family := rows.get(result.family.name))
    }
    wanted = {id_ for family, keys in answered.items() for id_, key in rows[family] if keys.get(key)}
    if not wanted:
        what = "was not compared: nothing answered" if rows else "has no item of which this version has another draw"
        return Before(version, note=f"{version} {what}")
    out, ceiling = project.out, project.config.budget_usd
    folder = out / f"{FOLDER}{old.manifest.version}-{content_hash(sorted(wanted))[:SHORT]}"
    older = open_release(old, project.config_path, folder, console, only=wanted, store=out / STORE)
    if ceiling is not None:
        older.spend_at_most(max(ceiling - project.spent_usd, 0))
    console.print(f"the old draws of {version}", soft_wrap=True, markup=False)
    try:
        before, stopped = profile_families(console, older, models, None, only=answered.keys())
    finally:
        older.close()
    by_family = {result.family.name: result for result in results}
    learned = [_learned(result, by_family[result.family.name], rows[result.family.name]) for result in before]
    return Before(version, learned, stopped=stopped)


def _values(result: FamilyResult) -> Iterator[Value]:
    """Yield the values of what was drawn."""
    redrawn = result.family.evaluation.redrawn
    for outcome in result.outcomes.values() if redrawn is not None else ():
        yield from (
            value
            for value in outcome.values
            if redrawn is not None and value.measure == redrawn.measure and redrawn.at in (None, value.at)
        )


def _learned(old: FamilyResult, new: FamilyResult, keys: Rows) -> Learned:
    """Return what models have learned, of those that were asked in the same way about both versions."""
    redrawn = old.family.evaluation.redrawn
    assert redrawn is not None
    refused = {**new.refused, **old.refused}
    for model in old.outcomes.keys() & new.outcomes.keys():
        signatures = old.outcomes[model].signature, new.outcomes[model].signature
        if others := [name for name in signatures[0].differences(signatures[1]) if name not in ("dataset", "asked")]:
            refused[model] = f"the versions were asked or scored with other {' and '.join(others)}"
    values = Values(
        Value(value.group, value.measure, at, key, value.shared, value.value)
        for at, result in ((NEW, new), (OLD, old))
        for value in _values(result)
        if value.group not in refused and (key := keys.get(value.row or value.item)) is not None
    )
    measure = next(one for one in old.family.evaluation.measures if one.name == redrawn.measure)
    return Learned(old.family.name, redrawn, measure, Measured(values, shares=measure.is_share), old.outcomes, refused)
