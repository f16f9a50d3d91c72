"""Where local models look: at chunks of a text (CHARPEval, appendix C), at turns of a dialogue (RefuteBench 2.0).

Chunks. Departures, where the paper leaves it open: a head points to the one token to which it gives the highest weight
(not to the chunk with the highest total weight, which would favour long chunks); and the response is the ground truth,
which is the same for every model.

Turns (section 5.3, figures 8 and 9). The paper pools attention scores by their maximum over layers and heads, and shows
them by rounds of a dialogue. It does not say how scores of tokens become scores of rounds. Here rounds are shown by
their turns, one message each. For each token of the attending turn we take the largest weight that it gives to a token
of the other turn, then average over the attending turn's tokens: a maximum over them too would be near 1 almost
everywhere. A long turn, which has more tokens that can be the largest, therefore scores higher than a short turn of
equal interest. Departure: the model that reads a dialogue has open weights, and need not be the model that answered in
it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from flows.construct.engine import Family
from flows.construct.evaluation import ChunkedText, DialogueCases
from flows.evaluate.rows import EvaluatedRows
from flows.llm.likelihood import TooLong
from flows.llm.local import LocalModel, TurnsAttended
from flows.scoring.tables import Layout, ScoreTables
from schemas.base import counted

BEFORE = "s"
"""The name of the tokens before the first turn."""
TOLD = (
    "attention: a line is a turn that looks, a column a turn that is looked at; for each token of the first, the "
    "largest weight that it gives a token of the second in any layer and head is taken, and a cell is the mean of that "
    f"over the first's tokens. {BEFORE} is what the model's chat template and tokenizer put before the dialogue, such "
    "as a system prompt; without it, the first turn has the text's first token, at which models look whatever it is"
)


# ---- chunks ----


def pointed_shares(model: LocalModel, text: ChunkedText) -> NDArray[np.float64]:
    """Return the share of (token, head) pairs that point to each chunk, by layer: shape (layers, names), rows sum to 1.

    The pairs are those of the last chunk's tokens. A token belongs to the chunk that holds its last
    character; special tokens before the text belong to the first one.
    """
    whole = "".join(chunk.text for chunk in text.chunks)
    attended = model.attended(whole, len(whole) - len(text.chunks[-1].text))
    edges = np.cumsum([len(chunk.text) for chunk in text.chunks])
    numbers = np.array([text.names.index(chunk.name) for chunk in text.chunks])
    kinds = numbers[np.searchsorted(edges, attended.ends, side="left")]
    pointed = kinds[attended.positions].reshape(len(attended.positions), -1)
    return np.stack([(pointed == number).mean(axis=1) for number in range(len(text.names))], axis=1)


def attention_tables(model: str, items: Iterable[tuple[ChunkedText, NDArray[np.float64]]]) -> ScoreTables:
    """Return a table for each group: a row for each layer, a column for each chunk; cells are mean shares."""
    groups: dict[str, tuple[Sequence[str], list[NDArray[np.float64]]]] = {}
    for text, shares in items:
        groups.setdefault(text.group, (text.names, []))[1].append(shares)
    frames: Mapping[str, pd.DataFrame] = {
        f"attention of {model}, {group}": _frame(names, np.mean(shares, axis=0), len(shares))
        for group, (names, shares) in sorted(groups.items())
    }
    return ScoreTables.of(frames, stacked=frames, layouts=dict.fromkeys(frames, Layout("layer", "chunk looked at")))


def _frame(names: Sequence[str], shares: NDArray[np.float64], items: int) -> pd.DataFrame:
    digits = len(str(len(shares)))
    return pd.DataFrame(
        {"row": f"layer {layer:0{digits}}", "column": name, "value": value, "n": items}
        for layer, line in enumerate(shares, 1)
        for name, value in zip(names, line.tolist(), strict=True)
    )


def attend(family: Family, model: LocalModel, rows: EvaluatedRows, progress: Callable[[int, int], None]) -> ScoreTables:
    """Return tables of what the tokens of the rows' responses attend to, by layer."""
    chunks = family.evaluation.chunks
    assert chunks is not None

    def shares() -> Iterator[tuple[ChunkedText, NDArray[np.float64]]]:
        for done, row in enumerate(rows, 1):
            text = chunks(row)
            yield text, pointed_shares(model, text)
            progress(done, len(rows))

    return attention_tables(model.name, shares())


# ---- turns ----


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


def turn_tables(model: LocalModel, cases: DialogueCases) -> ScoreTables:
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
            frames[table] = _turn_frame(dialogue.names, attended)
            passed = f", after {too_long:,} that are longer than the model's window" if too_long else ""
            notes.append(f"{table}: {dialogue.name}, drawn by the run's seed{passed}")
            break
        else:
            notes.append(f"{table}: none: of {counted(too_long, 'dialogue')}, each is longer than the model's window")
    return ScoreTables.of(frames, [f"{TOLD}; {cases.names}", *notes] if notes else [], grids=frames)


def _turn_frame(names: Sequence[str], attended: TurnsAttended) -> pd.DataFrame:
    names = (BEFORE, *names)
    weights = turn_weights(attended)
    return pd.DataFrame(
        {"row": names[looks], "column": names[at], "value": weights[looks, at], "n": (attended.turns == looks).sum()}
        for looks, at in zip(*np.nonzero(~np.isnan(weights)), strict=True)
    )
