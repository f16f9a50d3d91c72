"""RefuteBench's tables (sections 5.1 and 5.2)."""

import pandas as pd

from flows.construct.engine import HeldContext
from flows.scoring.tables import ScoreTables, cells
from schemas.refutebench import Rating


def tables(ctx: HeldContext) -> ScoreTables:
    """Table 4, from the ratings of finished dialogues."""
    ratings: list[Rating] = list(ctx.records("ratings"))
    lines = [
        {"model": one.model, "task": one.task, "rating": one.rating}
        for one in ratings
        if one.protocol == "transient" and one.refutation_number is not None
        and one.answer_number == one.refutation_number + 1
    ]  # fmt: skip
    frame = pd.DataFrame(lines, columns=["model", "task", "rating"])
    found = frame.groupby(["model", "task"])["rating"].agg(["mean", "count"])
    return ScoreTables.of({"overall": cells(found, ["model", "task"])})
