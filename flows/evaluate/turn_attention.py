"""The turns of a dialogue that each turn attends to (RefuteBench 2.0, section 5.3, figures 8 and 9).

The paper pools attention scores by their maximum over layers and heads, and shows them by rounds of a dialogue. It
does not say how scores of tokens become scores of rounds. Here rounds are shown by their turns, one message each. For
each token of the attending turn we take the largest weight that it gives to a token of the other turn, then average
over the attending turn's tokens: a maximum over them too would be near 1 almost everywhere. A long turn, which has more
tokens that can be the largest, therefore scores higher than a short turn of equal interest.
Departure: the model that reads a dialogue has open weights, and need not be the model that answered in it.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from flows.construct.evaluation import DialogueCases
from flows.llm.likelihood import TooLong
from flows.llm.local import TurnsAttended
from flows.llm.model import Said
from flows.scoring.tables import ScoreTables

BEFORE = "s"
"""The name of the tokens before the first turn."""
TOLD = (
    "attention: a line is a turn that looks, a column a turn that is looked at; for each token of the first, the "
    "largest weight that it gives a token of the second in any layer and head is taken, and a cell is the mean of that "
    f"over the first's tokens. {BEFORE} is what the model's chat template and tokenizer put before the dialogue, such "
    "as a system prompt; without it, the first turn has the text's first token, at which models look whatever it is"
)


class TurnAttentionModel(Protocol):
    """A model that reports how much the tokens of a dialogue attend to each of its turns."""

    name: str

    def turns_attended(self, turns: Sequence[Said]) -> TurnsAttended: ...


def turn_weights(attended: TurnsAttended) -> NDArray[np.float64]:
    """Return the mean weight that each turn's tokens give to each turn: shape (turns + 1, turns + 1), from 0 to 1.

    Row and column 0 are the tokens before the first turn. Cells are NaN where there is no token, and above the
    diagonal, since no turn sees a later one.
    """
    turns = range(attended.weights.shape[1])
    has_tokens = [bool((attended.turns == turn).any()) for turn in turns]
    weights = np.full((len(turns), len(turns)), np.nan)
    for turn in turns:
        if has_tokens[turn]:
            means = attended.weights[attended.turns == turn].mean(axis=0)
            weights[turn, : turn + 1] = np.where(has_tokens, means, np.nan)[: turn + 1]
    return weights


def turn_tables(model: TurnAttentionModel, cases: DialogueCases) -> ScoreTables:
    """Return a table for each case: a row for each attending turn, a column for each turn attended to."""
    frames, notes = {}, []
    for what, candidates in cases.candidates.items():
        table, too_long = f"attention of {model.name}, {what}", 0
        for dialogue in candidates:
            try:
                attended = model.turns_attended(dialogue.turns)
            except TooLong:
                too_long += 1
                continue
            frames[table] = _frame(dialogue.names, attended)
            passed = f", after {too_long:,} that are longer than the model's window" if too_long else ""
            notes.append(f"{table}: {dialogue.name}, drawn by the run's seed{passed}")
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
