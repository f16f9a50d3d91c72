"""What a release's card tells of a family: its paper, and how other programs ask and score by its files."""

import json
from collections.abc import Sequence

from data.publish.card_facts import FamilyFacts, PredictionFacts
from data.publish.folder import DATA, SCORERS
from data.publish.harness import run_command
from data.publish.inspect_package import InspectTask, inspect_command
from data.publish.rows import ReleasedRows
from flows.construct.engine import Family
from flows.construct.evaluation import Scorer
from flows.families import citation
from flows.release.rows import GatheredConfig

NAMED = 4
"""Files that the card's command line for the scorer names, and tasks that the one for Inspect names.

For more files, it has a pattern; of more tasks, it has the first.
"""


def family_facts(family: Family, configs: Sequence[GatheredConfig]) -> FamilyFacts:
    """Return the facts of a family with released configs."""
    scored = [config for config in configs if config.task]
    groups = dict.fromkeys(config.group for config in scored)
    paper, name, scorer = family.paper, family.name, family.evaluation.scorer
    return FamilyFacts(
        name=name, short=paper.short, title=paper.title, authors=paper.authors, year=paper.year,
        citation=citation(name), task=_task(family),
        scorer=f"{SCORERS}/{name}.py" if scorer else None,
        score_command=_score_command(name, [config.rows for config in scored], [config.rows for config in configs]),
        predictions=_predictions(scorer, scored) if scored and scorer else None,
        harness=SCORERS if scored else None,
        harness_command=(
            run_command(SCORERS, ",".join(groups), chat=family.evaluation.choices is None) if groups else ""
        ),
        inspect_command=_inspect_command([config.inspect for config in configs if config.inspect is not None]),
        hub_task=next((task for config in configs for task in config.hub_tasks), None),
        in_dialogues=family.evaluation.dialogues is not None,
        headline=family.evaluation.headline,
    )  # fmt: skip


def _inspect_command(tasks: Sequence[InspectTask]) -> str:
    return inspect_command(SCORERS, *tasks[: 1 if len(tasks) > NAMED else None]) if tasks else ""


def _task(family: Family) -> str:
    """Return the Hub's name for the task of a family."""
    if family.evaluation.dialogues is not None:
        return "text-generation"
    return "question-answering" if family.evaluation.choices is None else "multiple-choice"


def _score_command(family: str, scored: Sequence[ReleasedRows], every: Sequence[ReleasedRows]) -> str:
    """Return the command that scores all rows with the scorer file."""
    if not scored:
        return ""
    files = [path for rows in scored for path in rows.files]
    if len(files) > NAMED and len(scored) == sum(1 for rows in every if rows.rows):
        files = [f"{DATA}/{family}-*/*.parquet"]
    return f"python {SCORERS}/{family}.py predictions.jsonl {' '.join(files)}"


def _predictions(scorer: Scorer, scored: Sequence[GatheredConfig]) -> PredictionFacts:
    asked = [prediction for config in scored for prediction in config.asked]
    reply = {name: value for name, value in scorer.form.items() if name in ("prediction", "scores")}
    return PredictionFacts(
        example=json.dumps({**asked[0], **reply}, ensure_ascii=False),
        read=scorer.reading,
        variants={
            config.rows.name: tuple(dict.fromkeys(prediction["variant"] for prediction in config.asked))
            for config in scored
        },
        prompting=tuple(dict.fromkeys(way["prompting"] for way in asked if "prompting" in way)),
        shots=tuple(dict.fromkeys(way["shots"] for way in asked if "shots" in way)),
    )
