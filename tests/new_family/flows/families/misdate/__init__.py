"""Misdate: does a model take a year from its context, where the context contradicts what it remembers?"""

from pathlib import Path

from flows.construct.engine import Family, Part, each
from flows.construct.paper import Paper
from flows.construct.release import Released
from flows.construct.view import Line, View
from flows.families.misdate.evaluation import EVALUATION
from flows.families.misdate.method import MisdateSettings, misdate
from flows.families.misdate.prompts import ASK_YEAR, PROMPTS
from flows.families.misdate.proposal import propose
from flows.families.misdate.rubric import PEOPLE
from flows.families.misdate.verify import verify_items
from schemas.misdate import MisdatedItem
from schemas.source import Statement


def view(item: MisdatedItem) -> View:
    """Lay out the item for a reader."""
    return View(
        title=item.question,
        columns=("in the context", "in truth"),
        lines=(Line("context", (item.context,)), Line("answer", (item.answer, item.answer_original), strong=True)),
    )


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
            released=Released("id", ("question",)),
        ),
    ),
    view=view,
    evaluation=EVALUATION,
    reads="items",
    folder=Path(__file__).parent,
    propose=propose,
)
