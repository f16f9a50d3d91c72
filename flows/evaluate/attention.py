"""The chunks of a text that the tokens of its response attend to (CHARPEval, appendix C).

Departures, where the paper leaves it open: a head points to the one token to which it gives the highest weight (not to
the chunk with the highest total weight, which would favour long chunks); and the response is the ground truth, which is
the same for every model.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from flows.construct.engine import Family
from flows.construct.evaluation import ChunkedText
from flows.evaluate.rows import EvaluatedRows
from flows.llm.local import Attended
from flows.scoring.tables import Layout, ScoreTables


class AttentionModel(Protocol):
    """A model that reports which tokens the tokens after a character of a text attend to."""

    name: str

    def attended(self, text: str, start: int) -> Attended: ...


def pointed_shares(model: AttentionModel, text: ChunkedText) -> NDArray[np.float64]:
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


def attend(
    family: Family, model: AttentionModel, rows: EvaluatedRows, progress: Callable[[int, int], None]
) -> ScoreTables:
    """Return tables of what the tokens of the rows' responses attend to, by layer."""
    chunks = family.evaluation.chunks
    assert chunks is not None

    def shares() -> Iterator[tuple[ChunkedText, NDArray[np.float64]]]:
        for done, row in enumerate(rows, 1):
            text = chunks(row)
            yield text, pointed_shares(model, text)
            progress(done, len(rows))

    return attention_tables(model.name, shares())
