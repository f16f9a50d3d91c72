"""The method of Misdate: the year of a statement is moved, and a question asks for it (section 2)."""

import re

from pydantic import Field

from data.sources import SourceSpec
from flows.construct.engine import Context, Drop
from flows.construct.settings import FamilySettings
from flows.families.misdate.prompts import ASK_YEAR, ToAsk
from schemas.misdate import MisdatedItem
from schemas.source import Statement

FARTHEST = 20  # section 2, "within two decades"
YEAR = re.compile(r"\b1[5-9]\d\d\b")


class MisdateSettings(FamilySettings):
    """The block `families.misdate` of the configuration."""

    sources: tuple[SourceSpec, ...] = Field((), description="Statements")
    shift: int = Field(FARTHEST, gt=0, description="The most years by which a year is moved (section 2)")


async def misdate(statement: Statement, ctx: Context[MisdateSettings]) -> MisdatedItem:
    """Move the statement's year, and ask for it. Drops a statement that does not have exactly one year."""
    years = YEAR.findall(statement.text)
    if len(years) != 1:
        raise Drop("not one year", evidence=", ".join(years))
    question = await ctx.ask(ASK_YEAR, ToAsk(statement=statement.text))
    moved = str(int(years[0]) + ctx.random(statement.key).randint(1, ctx.settings.shift))
    return MisdatedItem(
        key=ctx.key,
        context=statement.text.replace(years[0], moved),
        question=question.text,
        answer=moved,
        answer_original=years[0],
        provenance=ctx.provenance(statement, sources=[statement.source] if statement.source else []),
    )
