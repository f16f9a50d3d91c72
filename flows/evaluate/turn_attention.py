"""Where each turn of a dialogue looks (RefuteBench 2.0, section 5.3, figures 8 and 9).

The paper pools the attention scores by their maximum over layers and heads, and shows them by rounds of a dialogue;
how those of tokens become those of rounds it leaves open. Here rounds are shown by their turns, a message each, and for
each token of the turn that looks the largest weight is taken that it gives a token of the turn that is looked at; of
that the mean over the looking turn's tokens, since a maximum over them too would be near 1 almost everywhere.
So a long turn, which has more tokens to be the largest, is looked at more than a short one that is as interesting.
Departure: the model that reads a dialogue, one whose weights are at hand, need not be the one that answered in it.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from flows.construct.evaluation import DialogueCases
from flows.llm.local import TurnsAttended
from flows.llm.model import Said
from flows.llm.options import TooLong
from flows.scoring.tables import ScoreTables

BEFORE = "s"
"""What stands before the first turn."""
TOLD = (
    "attention: a line is a turn that looks, a column a turn that is looked at; for each token of the first, the "
    "largest weight that it gives a token of the second in any layer and head is taken, and a cell is the mean of that "
    f"over the first's tokens. {BEFORE} is what the model's chat template and tokenizer put before the dialogue, such "
    "as a system prompt; without it, the first turn has the text's first token, at which models look whatever it is"
)


class TurnAttentionModel(Protocol):
    """Something that tells how much the tokens of a dialogue look at each of its turns."""

    name: str

    def turns_attended(self, turns: Sequence[Said]) -> TurnsAttended: ...


def turn_weights(attended: TurnsAttended) -> NDArray[np.float64]:
    """The mean weight that the tokens of each turn give each turn, and 0: (turns + 1, turns + 1), from 0 to 1.

    Not a number where there is no token, as in line and column 0 where nothing stands before the first turn, and above
    the diagonal, since no turn sees a later one.
    """
    turns = range(attended.weights.shape[1])
    there = [bool((attended.turns == turn).any()) for turn in turns]
    found = np.full((len(turns), len(turns)), np.nan)
    for turn in turns:
        if there[turn]:
            means = attended.weights[attended.turns == turn].mean(axis=0)
            found[turn, : turn + 1] = np.where(there, means, np.nan)[: turn + 1]
    return found


def turn_tables(model: TurnAttentionModel, cases: DialogueCases) -> ScoreTables:
    """A table for each case: a line for each turn that looks and a column for each that is looked at."""
    frames, notes = {}, []
    for what, candidates in cases.candidates.items():
        table, too_long = f"attention of {model.name}, {what}", 0
        for one in candidates:
            try:
                attended = model.turns_attended(one.turns)
            except TooLong:
                too_long += 1
                continue
            frames[table] = _frame(one.names, attended)
            passed = f", after {too_long:,} that are longer than the model's window" if too_long else ""
            notes.append(f"{table}: {one.name}, drawn by the run's seed{passed}")
            break
        else:
            notes.append(f"{table}: none, for all {too_long:,} dialogues are longer than the model's window")
    return ScoreTables.of(frames, [f"{TOLD}; {cases.names}", *notes] if notes else [], grids=frames)


def _frame(names: Sequence[str], attended: TurnsAttended) -> pd.DataFrame:
    names = (BEFORE, *names)
    weights = turn_weights(attended)
    return pd.DataFrame(
        {"row": names[looks], "column": names[at], "value": weights[looks, at], "n": (attended.turns == looks).sum()}
        for looks, at in zip(*np.nonzero(~np.isnan(weights)), strict=True)
    )
