"""The scores of models that were evaluated on rows of a release, for its card.

Predictions lie beside the build, where `touchstone evaluate` wrote them. Of these, only predictions on rows count about
which the model would be asked the same now. The release's own scorer scores them, so whoever has the predictions gets
the same numbers. Dialogues are themselves the rows of a release, and are scored as they are.

A model's scores on the rows of a private share stand beside those on the public rows: it may have seen these. Only main
tables that the family names are shown of them, which tell no row; none of rows that are private for their sources.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from data.checksum import checksum
from data.publish.reading import read_released
from flows.construct.engine import Family
from flows.construct.evaluation import DialogueContext
from flows.evaluate.scores_file import ENDING, read_scores
from flows.project.evaluated import (
    Evaluated,
    Fingerprints,
    fingerprints_in,
    notes_in,
    predictions_of,
    read_note,
    read_predictions,
)
from flows.project.project import Project
from flows.project.release_as_build import record_of
from flows.release.rows import GatheredConfig
from flows.scoring.on_disk import Rows
from flows.scoring.scorer import CannotScore
from flows.scoring.tables import ScoreError
from schemas.prediction import TableCell
from schemas.release import Baseline


class Baselines(NamedTuple):
    """The scores, and the evaluations that have none."""

    scores: Sequence[Baseline]
    left_out: Sequence[str]
    """A line on each evaluation beside the build that is not of these rows."""


def evaluations_of(project: Project) -> list[Path]:
    """Return the files of the evaluations beside a build: predictions, and notes on them. None if none may count."""
    notes = notes_in(project.out) if project.config.release.baselines else []
    return [path for note in notes for path in (note, predictions_of(note)) if path.is_file()]


def baselines_of(project: Project, folder: Path, private: Path, configs: Sequence[GatheredConfig]) -> Baselines:
    """Return the scores on the public rows that were written to `folder`, by family and model.

    After each, those on the rows of the private share, in the folder `private`. None if the configuration wants none.
    """
    if not project.config.release.baselines:
        return Baselines((), ())
    scores: list[Baseline] = []
    left_out: list[str] = []
    notes = [(predictions_of(path), read_note(path)) for path in notes_in(project.out)]
    for family in {config.family.name: config.family for config in configs if config.rows.rows}.values():
        of_family = [config for config in configs if config.family is family]
        rows, held_out = _Rows(folder, of_family), _Rows(private, of_family, private=True)
        if family.evaluation.dialogues is not None:
            scores += _of_dialogues(project, family, rows)
            continue
        for path, note in notes:
            if note.family != family.name:
                continue
            try:
                scores.append(_of_predictions(project, family, rows, path, note))
            except (CannotScore, ScoreError) as error:
                advice = f"`touchstone evaluate {family.name} --model {note.model}` evaluates it again"
                left_out.append(f"{path}: the card has no scores of it: {error}; {advice}")
                continue
            if family.evaluation.headline:
                with suppress(CannotScore, ScoreError):  # the model was not asked about private rows
                    scores.append(_of_predictions(project, family, held_out, path, note))
    return Baselines(scores, left_out)


@dataclass(frozen=True)
class _Rows:
    """The public rows of a family, or the private ones."""

    folder: Path
    configs: Sequence[GatheredConfig]
    private: bool = False

    def _of(self, parts: Iterable[str]) -> Iterator[GatheredConfig]:
        for config in self.configs:
            if config.part.name in parts and not (self.private and config.rows.of_private_sources):
                yield config

    def of(self, parts: Iterable[str]) -> Iterator[Any]:
        for config in self._of(parts):
            files = config.rows.private_files if self.private else config.rows.files
            yield from (record_of(config.part, row) for row in read_released(self.folder, files))

    def number(self, parts: Iterable[str]) -> int:
        return sum(config.rows.held_out if self.private else config.rows.rows for config in self._of(parts))


def _of_predictions(project: Project, family: Family, rows: _Rows, path: Path, note: Evaluated) -> Baseline:
    """Return a model's scores. Raises `CannotScore` or `ScoreError` if no prediction is on these rows."""
    scorer, parts = family.evaluation.scorer, family.evaluation.parts
    assert scorer is not None
    if not path.is_file() or checksum(path) != note.predictions:
        raise CannotScore("it was changed since it was written")
    found = read_scores(path.with_suffix(ENDING))
    if found is not None and found.partial:
        raise CannotScore("some rows have no answer")
    fingerprint = Fingerprints(project, family)
    asked = Rows(fingerprints_in(note.rows))
    same = Rows(
        (row.id, family.evaluation.scored(row)) for row in rows.of(parts) if asked.get(row.id) == fingerprint(row)
    )
    predictions = (prediction for prediction in read_predictions(path, family) if same.get(prediction.id) is not None)
    first = next(predictions, None)
    if first is None:
        raise CannotScore("the model would be asked something else about each released row now")
    tables = scorer.score((row for _, row in same), map(dict, chain([first], predictions)), True).tables
    cells = [(table, *cell) for table in family.evaluation.shown(tables) for cell in tables[table]]
    return Baseline(
        family=family.name,
        model=first.model,
        rows=len(same),
        of=rows.number(parts),
        **({"private": True} if rows.private else {}),
        scores=tuple(
            TableCell(table=table, row=row, column=str(column), value=value, n=n)
            for table, row, column, value, n in cells
        ),
    )


def _of_dialogues(project: Project, family: Family, rows: _Rows) -> Iterator[Baseline]:
    """Yield the scores of the models that the released dialogues were held with."""
    held, settings = family.evaluation.held, project.build.families[family.name].settings
    rated = held.parts[-1]
    if not rows.number([rated]):
        return
    context = DialogueContext(
        settings,
        project.manifest.seed,
        lambda part: rows.of([part]) if part == rated else (),
        lambda part: (),
    )
    cells = held.tables(context).tables
    shown = family.evaluation.shown(cell.table for cell in cells)
    names = [project.manifest.models.get(f"{family.name}.{name}", name) for name in getattr(settings, held.models)]
    model, number = ", ".join(dict.fromkeys(names)), rows.number([rated])
    scores = tuple(cell for cell in cells if cell.table in shown)
    yield Baseline(family=family.name, model=model, rows=number, of=number, scores=scores)
