"""Misdate: does a model take a year from its context, where the context contradicts what it remembers?"""

from pathlib import Path

from flows.construct.engine import Family, Paper, Part, each
from flows.construct.release import Released
from flows.families.misdate.evaluation import EVALUATION
from flows.families.misdate.method import MisdateSettings, misdate
from flows.families.misdate.prompts import ASK_YEAR, PROMPTS
from flows.families.misdate.rubric import PEOPLE
from flows.families.misdate.verify import verify_items
from schemas.misdate import MisdatedItem
from schemas.source import Statement


def show(item: MisdatedItem) -> str:
    """The item as a person reads it."""
    return f"{item.context}\n\n{item.question} **{item.answer}** (in truth {item.answer_original})"


FAMILY = Family(
    name="misdate",
    paper=Paper(title="Misdated: Years That Contexts Change", short="Misdate", year=2026, authors="Example et al."),
    settings=MisdateSettings,
    prompts=PROMPTS,
    parts=(
        Part(
            "items",
            source=Statement,
            item=MisdatedItem,
            steps=(each(misdate, prompts=[ASK_YEAR], settings=["shift"]),),
            people=PEOPLE,
            verify=verify_items,
            released=Released("id"),
        ),
    ),
    show=show,
    evaluation=EVALUATION,
    reads="items",
    folder=Path(__file__).parent,
)
