"""Evaluates models on every family of a build; what was answered before is read, and not asked for again."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from data.checksum import checksum
from flows.construct.engine import Family
from flows.evaluate.asking import Asked, Held, ask_about_rows, hold_dialogues
from flows.evaluate.headline import figure_rows, measured_by
from flows.evaluate.models import predictions_path, weighing_model
from flows.evaluate.predictions import EVALUATED, Unanswered
from flows.evaluate.records import seeds_of
from flows.evaluate.rows import NoRows, evaluated_rows
from flows.evaluate.score import Counted, scores_of, tell_replaced
from flows.evaluate.scores_file import ENDING, EvaluationScores, read_scores, write_scores
from flows.evaluate.signature import asked_as, signature_of
from flows.evaluate.source_time import DateOf, dated, dates_of_rows
from flows.llm.model import BudgetSpent
from flows.profile.results import FamilyResult, Outcome, beside_scores, of_first_way
from flows.project.evaluated import AskedRows, Fingerprints, fingerprint_lines, note_of, read_note
from flows.project.project import Project
from schemas.errors import Failed, WrongInput

BUILDER = "builder"
"""The role of the model that makes rows, whose part in a dialogue is over."""


def profile_families(
    console: Console, project: Project, models: Sequence[str], limit: int | None, only: Collection[str] = ()
) -> tuple[list[FamilyResult], BudgetSpent | None]:
    """Evaluate the models on each family, or `only` on these, that has measures and rows.

    If the money runs out, it stops with what is there.
    """
    results: list[FamilyResult] = []
    stopped: BudgetSpent | None = None
    date_of = dates_of_rows(project)
    for configured in project.build.families.values():
        family = configured.family
        if not family.evaluation.measures or (only and family.name not in only):
            continue
        result = FamilyResult(family)
        results.append(result)
        for model in models:
            if stopped is not None:
                result.refused[model] = "the budget was spent before"
                continue
            console.print(f"{family.name} → {escape(model)}", soft_wrap=True)
            try:
                stopped = _evaluate(console, project, result, model, limit, date_of)
            except NoRows as error:
                result.refused[model], result.has_rows = str(error), False
                console.print(f"  {escape(str(error))}", soft_wrap=True)
            except BudgetSpent as spent:
                result.refused[model], stopped = "the budget was spent before its first rating", spent
            except (WrongInput, Failed) as error:
                is_told = str(error) in {before.refused.get(model) for before in results}
                result.refused[model] = str(error)
                why = "as before" if is_told else escape(str(error))
                console.print(f"  [yellow]not evaluated: {why}[/]", soft_wrap=True)
    return results, stopped


def _evaluate(
    console: Console, project: Project, result: FamilyResult, model: str, limit: int | None, date_of: DateOf
) -> BudgetSpent | None:
    """Add the outcome of a model on a family; return the error if the money ran out."""
    family = result.family
    if family.evaluation.dialogues is not None:
        held = hold_dialogues(console, project, family, model, limit)
        tables = family.evaluation.held.tables(held.context)
        rows: Iterable[Any] = seeds_of(family, held.context)
        dates = dated(seeds_of(family, held.context), date_of)
        values, way = of_first_way(tables.values, model, model)
        path = held.stem.with_name(f"{held.stem.name}{ENDING}")
        outcome = Outcome(
            model, values, ", ".join(filter(None, [way, *_others(project, family)])), held.signature, held.spent,
            {**beside_scores(tables), **_dropped(family, held)}, _lacks(held.stopped),
        )  # fmt: skip
        stopped = held.stopped
    else:
        asked = _answered_before(project, family, model, limit)
        if asked is None:
            asked = ask_about_rows(console, project, family, model, weighing_model(project, family, model), limit)
            tell_replaced(console, asked.path, asked.before)
        if asked.signature is None:
            result.refused[model] = "the budget was spent before its first answer"
            assert isinstance(asked.stopped, BudgetSpent)
            return asked.stopped
        scored = scores_of(project, family, asked.rows, asked.path, date_of, partial=asked.stopped is not None)
        values, way = of_first_way(scored.result.values, asked.signature.model, model)
        outcome = Outcome(
            model, values, way, asked.signature, asked.spent, beside_scores(scored.result), _lacks(asked.stopped)
        )  # fmt: skip
        rows, dates, stopped, path = asked.rows, scored.dates, asked.stopped, asked.path.with_suffix(ENDING)
    result.outcomes[model] = outcome
    figures = tuple(figure_rows(family.evaluation.measures, measured_by(family.evaluation.measures, outcome.values)))
    write_scores(
        path,
        EvaluationScores(
            signature=outcome.signature,
            figures=figures,
            spent=outcome.spent,
            partial=bool(outcome.lacks),
            way=outcome.way,
        ),
    )
    for id_, date in dates:
        result.dates.add(id_, date)
    if not len(result.sources):
        for row in rows:
            result.sources.add(row.id, [(source.source, source.id) for source in row.provenance.sources])
    return stopped if isinstance(stopped, BudgetSpent) else None


def _lacks(stopped: BudgetSpent | Unanswered | None) -> str:
    """Return why not all was answered; nothing if all was."""
    return "stopped by the budget" if isinstance(stopped, BudgetSpent) else str(stopped or "")


def _others(project: Project, family: Family) -> Iterator[str]:
    """Yield who else takes part in a family's dialogues: `refuter: gpt-4o`."""
    roles = dict.fromkeys(prompt.role for prompt in family.prompts)
    for role in roles:
        if role not in (BUILDER, EVALUATED):
            yield f"{role}: {asked_as(project, role, None).name}"


def _dropped(family: Family, held: Held) -> Mapping[str, int]:
    """Return how many dialogues and ratings were dropped, by reason."""
    drops = Counter(drop.reason for part in family.evaluation.held.parts for drop in held.context.dropped(part))
    return {f"dropped: {reason}": number for reason, number in sorted(drops.items())}


def _answered_before(project: Project, family: Family, model: str, limit: int | None) -> Asked | None:
    """Return the predictions that are there, if they are whole, on these rows, and would be asked for like this now."""
    path = predictions_path(project, family, model)
    scores = read_scores(path.with_suffix(ENDING))
    if scores is None or scores.partial or not (path.is_file() and note_of(path).is_file()):
        return None
    note = read_note(note_of(path))
    if note.predictions != checksum(path):
        return None
    rows = evaluated_rows(project, family, limit)
    fingerprint = Fingerprints(project, family)
    asked = fingerprint_lines((row.id, fingerprint(row)) for row in rows)
    if asked != note.rows:
        return None
    now = asked_as(project, model, weighing_model(project, family, model))
    signature = signature_of(project, family, now, AskedRows(asked, fingerprint.prompts), scores.signature.date)
    if signature.model != scores.signature.model or {"window", "parameters"} & {
        *signature.differences(scores.signature)
    }:
        return None
    signature = signature.model_copy(update={"served": scores.signature.served})
    return Asked(rows, path, Counted(0, 0), scores.spent, (), None, signature)
